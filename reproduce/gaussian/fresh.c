/* fresh.c - what a fit says at rows that it has not seen: the mean of log r under p, and that of
 * every bridge under its own waymark. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gaussian.h"
#include "waymark/data.h"
#include "waymark/generators.h"

enum { BLOCK = 10000, BLOCKS = 5 }; /* rows at a time: (BLOCK, 320) doubles are 26 MB */

typedef struct fresh {
    wm_chain *chain;
    wm_data *x;          /* (BLOCK, dim) rows of a waymark */
    double *own;         /* (m, BLOCK) every bridge */
    double sum, squares; /* of log r at rows of p */
    double *bridge;      /* (m) sums, each at its own waymark */
} fresh;

static wm_status add_block(fresh *s, const wm_ratio *r, const gaussian_job *job, uint64_t seed,
                           int block, wm_error *err)
{
    const double rho = wm_gaussian_pairs_rho(job->dim, job->mi);
    wm_data *p = NULL, *q = NULL;
    char stream[2][32];
    wm_status st;

    snprintf(stream[0], sizeof stream[0], "gaussian/fresh p %d", block);
    snprintf(stream[1], sizeof stream[1], "gaussian/fresh q %d", block);
    if ((st = wm_data_gaussian_pairs(&p, BLOCK, job->dim, rho, seed, stream[0], err)) ||
        (st = wm_data_gaussian_pairs(&q, BLOCK, job->dim, 0, seed, stream[1], err)))
        goto done;
    for (int64_t k = 0; k < job->bridges; k++) {
        const wm_ends_f64 ends = {.rows = BLOCK, .x0 = wm_data_rows(p), .xm = wm_data_rows(q)};

        wm_chain_waymark_f64(s->chain, k, &ends, wm_data_rows_mut(s->x));
        if ((st = wm_ratio_log_bridges(r, s->x, s->own, err)))
            goto done;
        for (int64_t i = 0; i < BLOCK; i++)
            s->bridge[k] += s->own[k * BLOCK + i];
        for (int64_t i = 0; i < BLOCK && k == 0; i++) { /* waymark 0 is p */
            double log_r = 0;

            for (int64_t j = 0; j < job->bridges; j++)
                log_r += s->own[j * BLOCK + i];
            s->sum += log_r;
            s->squares += log_r * log_r;
        }
    }
done:
    wm_data_free(p);
    wm_data_free(q);
    return st;
}

wm_status gaussian_evaluate(gaussian_outcome *out, const wm_ratio *r, const gaussian_job *job,
                            uint64_t seed, wm_error *err)
{
    const int64_t m = job->bridges;
    const double n = (double)BLOCK * BLOCKS;
    fresh s = {.own = malloc((size_t)(m * BLOCK) * sizeof *s.own),
               .bridge = calloc((size_t)m, sizeof *s.bridge)};
    wm_spacing spacing;
    wm_alphas alphas;
    wm_status st = WM_ENOMEM;

    wm_spacing_init(&spacing);
    if (!s.own || !s.bridge || (st = wm_spacing_alphas(&alphas, &spacing, m, err)) ||
        (st = wm_chain_new(&s.chain, m, &alphas, job->dim, NULL, err)) ||
        (st = wm_data_new(&s.x, BLOCK, job->dim, NULL, err)))
        goto done;
    for (int block = 0; block < BLOCKS; block++)
        if ((st = add_block(&s, r, job, seed, block, err)))
            goto done;
    out->mi = s.sum / n;
    out->mi_se = sqrt(fmax(0, s.squares / n - out->mi * out->mi) / n);
    for (int64_t k = 0; k < m && k < GAUSSIAN_BRIDGES; k++) {
        wm_ratio_get_bridge(r, k, &out->bridge[k]);
        out->bridge[k].mean_log_ratio = s.bridge[k] / n;
    }
done:
    wm_chain_free(s.chain);
    wm_data_free(s.x);
    free(s.own);
    free(s.bridge);
    return st;
}
