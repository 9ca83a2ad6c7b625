/* fit_ratio.c - the smallest use of the library: two samples, the ratio of their densities, and how
 * far apart they are.
 *
 *   cc fit_ratio.c -o fit_ratio $(pkg-config --cflags --libs waymark) && ./fit_ratio
 *
 * Here p and q are drawn, so that the answer is known: N(0, 0.1^2) against N(0, 1) in each of five
 * columns. */
#include <stdio.h>
#include <stdlib.h>

#include <waymark/waymark.h>

static int fail(const char *what, const wm_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    return EXIT_FAILURE;
}

int main(void)
{
    enum { N = 20000, DIM = 5 };
    wm_data *p = NULL, *q = NULL, *fresh = NULL;
    wm_ratio *ratio = NULL;
    wm_ratio_opts opts;
    wm_error err;
    static double log_r[N];
    double kl = 0;

    /* Your own samples: wm_data_new(&p, rows, columns, values, &err). */
    if (wm_data_normal(&p, N, DIM, 0, 0.1, 1, "p", &err) ||
        wm_data_normal(&q, N, DIM, 0, 1, 1, "q", &err) ||
        wm_data_normal(&fresh, N, DIM, 0, 0.1, 1, "fresh", &err))
        return fail("samples", &err);

    wm_ratio_opts_init(&opts);
    opts.bridges = 8;
    if (wm_ratio_fit(&ratio, p, q, &opts, &err))
        return fail("fit", &err);

    for (int k = 0; k < 8; k++) {
        wm_bridge b;

        wm_ratio_get_bridge(ratio, k, &b);
        printf("bridge %d: alpha %.3f to %.3f, held-out loss %.3f, accuracy %.3f\n", k,
               b.alpha_from, b.alpha_to, b.loss, b.accuracy);
    }

    /* KL(p, q) is the mean of log p/q over fresh rows of p. */
    if (wm_ratio_log(ratio, fresh, log_r, &err))
        return fail("log-ratio", &err);
    for (int i = 0; i < N; i++)
        kl += log_r[i] / N;
    printf("KL(p, q) = %.3f nats; the truth is 9.038\n", kl); /* 5 (log 10 + 0.005 - 0.5) */

    if (wm_ratio_save(ratio, "ratio.safetensors", &err))
        return fail("save", &err);
    wm_ratio_free(ratio);
    wm_data_free(fresh);
    wm_data_free(q);
    wm_data_free(p);
    return EXIT_SUCCESS;
}
