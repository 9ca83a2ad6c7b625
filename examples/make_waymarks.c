/* make_waymarks.c - samples between two samples: what the bridges of a telescope see.
 *
 *   cc make_waymarks.c -o make_waymarks $(pkg-config --cflags --libs waymark) -lm &&
 * ./make_waymarks
 *
 * The standard deviations of the waymarks between N(0, 1e-6^2) and N(0, 1), with the spacing of the
 * paper's one-dimensional experiment. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <waymark/waymark.h>

int main(void)
{
    enum { N = 10000 };
    static double waymark[N];
    wm_data *p0, *pm;
    wm_spacing spacing;
    wm_alphas alphas;
    wm_error err;

    wm_spacing_init(&spacing);
    if (wm_spacing_parse(&spacing, "power:7", &err) ||
        wm_spacing_alphas(&alphas, &spacing, 4, &err) ||
        wm_data_normal(&p0, N, 1, 0, 1e-6, 1, "p0", &err) ||
        wm_data_normal(&pm, N, 1, 0, 1, 1, "pm", &err)) {
        fprintf(stderr, "%s\n", err.text);
        return EXIT_FAILURE;
    }
    for (int k = 0; k <= 4; k++) {
        double sum = 0;

        wm_waymark_linear_f64(alphas.alpha[k], N, wm_data_rows(p0), wm_data_rows(pm), waymark);
        for (int i = 0; i < N; i++)
            sum += waymark[i] * waymark[i];
        printf("waymark %d: alpha %.6f, standard deviation %.3g\n", k, alphas.alpha[k],
               sqrt(sum / N));
    }
    wm_data_free(pm);
    wm_data_free(p0);
    return EXIT_SUCCESS;
}
