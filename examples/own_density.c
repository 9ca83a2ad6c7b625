/* own_density.c - the normaliser of a density of one's own, by annealed importance sampling, and
 * draws of it.
 *
 *   cc own_density.c -o own_density $(pkg-config --cflags --libs waymark) -lm && ./own_density
 *
 * f(x) = exp(-|x - m|^2 / (2 s^2)) in two columns, whose normaliser is known: 2 pi s^2. Chains walk
 * to it from N(0, I), along one bridge log r(x) = log f(x) - log N(x). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <waymark/waymark.h>

enum { DIM = 2, CHAINS = 400 };
static const double middle[DIM] = {2, -1}, width = 0.5, log_2pi = 1.8378770664093454;

/* log N(x) + w (log f(x) - log N(x)) at n points, its gradient, and the bridge by itself. */
static wm_status density(void *ctx, int64_t n, const double *x, const double *weights,
                         double *log_f, double *grad, double *terms, wm_error *err)
{
    (void)ctx;
    (void)err;
    for (int64_t i = 0; i < n; i++) {
        const double w = weights[i];
        double log_normal = -log_2pi, log_own = 0;

        for (int j = 0; j < DIM; j++) {
            const double at = x[i * DIM + j], off = (at - middle[j]) / width;

            log_normal -= 0.5 * at * at;
            log_own -= 0.5 * off * off;
            if (grad)
                grad[i * DIM + j] = -(1 - w) * at - w * off / width;
        }
        log_f[i] = log_normal + w * (log_own - log_normal);
        if (terms)
            terms[i] = log_own - log_normal;
    }
    return WM_OK;
}

int main(void)
{
    const wm_path path = {.dim = DIM, .bridges = 1, .eval = density};
    const wm_annealed *end;
    wm_anneal_opts opts;
    wm_anneal *walk = NULL;
    wm_data *start = NULL;
    double mean[DIM] = {0};
    wm_error err;
    wm_ais ais;

    wm_anneal_opts_init(&opts);
    opts.steps = 300;
    if (wm_data_normal(&start, CHAINS, DIM, 0, 1, 1, "start", &err) ||
        wm_anneal_new(&walk, &path, CHAINS, wm_data_rows(start), NULL, &opts, &err) ||
        wm_anneal_run(walk, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return EXIT_FAILURE;
    }
    end = wm_anneal_result(walk);
    if (wm_ais_make(&ais, end->log_w, CHAINS, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return EXIT_FAILURE;
    }
    for (int i = 0; i < CHAINS * DIM; i++)
        mean[i % DIM] += end->x[i] / CHAINS;
    printf("log Z = %.3f, standard error %.3f; the truth is %.3f\n", ais.log_z, ais.se,
           log_2pi + 2 * log(width));
    printf("mean of the draws: %.2f %.2f\n", mean[0], mean[1]);
    wm_anneal_free(walk);
    wm_data_free(start);
    return EXIT_SUCCESS;
}
