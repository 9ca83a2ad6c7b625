/* make_waymarks.c - samples between two samples: what the bridges of a telescope see.
 *
 *   cc make_waymarks.c -o make_waymarks $(pkg-config --cflags --libs waymark) -lm &&
 * ./make_waymarks
 *
 * Two columns: a number that moves from N(0, 1e-6^2) to N(0, 1), with the spacing of the paper's
 * one-dimensional experiment, and one that is exchanged, from 0 to 1, when its turn has come. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <waymark/waymark.h>

enum { N = 10000, DIM = 2, BRIDGES = 4 };
static const int64_t columns[DIM] = {WM_COLUMN_LINEAR, 0 /* block 0 */};

/* (N, 2): a normal number, and a constant. */
static wm_status table(wm_data **out, double sd, double constant, const char *name, wm_error *err)
{
    const wm_status st = wm_data_normal(out, N, DIM, 0, sd, 1, name, err);

    for (int i = 0; !st && i < N; i++)
        wm_data_rows_mut(*out)[DIM * i + 1] = constant;
    return st;
}

int main(void)
{
    static double waymark[N * DIM];
    static int64_t row0[N], rowm[N];
    wm_data *p0 = NULL, *pm = NULL;
    wm_chain *chain = NULL;
    wm_spacing spacing;
    wm_alphas alphas;
    wm_ends_f64 ends;
    wm_error err;

    wm_spacing_init(&spacing);
    if (wm_spacing_parse(&spacing, "power:7", &err) ||
        wm_spacing_alphas(&alphas, &spacing, BRIDGES, &err) ||
        wm_chain_new(&chain, BRIDGES, &alphas, DIM, columns, &err) ||
        table(&p0, 1e-6, 0, "p0", &err) || table(&pm, 1, 1, "pm", &err)) {
        fprintf(stderr, "%s\n", err.text);
        return EXIT_FAILURE;
    }
    wm_pairing_draw(1, 0, N, N, N, row0, rowm); /* which rows meet at step 0 of training */
    ends = (wm_ends_f64){
        .rows = N, .x0 = wm_data_rows(p0), .xm = wm_data_rows(pm), .row0 = row0, .rowm = rowm};
    for (int k = 0; k <= BRIDGES; k++) {
        double squares = 0, exchanged = 0;

        wm_chain_waymark_f64(chain, k, &ends, waymark);
        for (int i = 0; i < N; i++) {
            squares += waymark[DIM * i] * waymark[DIM * i] / N;
            exchanged += waymark[DIM * i + 1] / N;
        }
        printf("waymark %d: alpha %.6f, standard deviation %.3g; exchanged %.0f\n", k,
               alphas.alpha[k], sqrt(squares), exchanged);
    }
    wm_chain_free(chain);
    wm_data_free(pm);
    wm_data_free(p0);
    return EXIT_SUCCESS;
}
