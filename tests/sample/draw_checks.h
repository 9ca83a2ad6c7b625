/* draw_checks.h - draws against a truth, in Monte Carlo standard errors. */
#ifndef WM_TESTS_SAMPLE_DRAW_CHECKS_H
#define WM_TESTS_SAMPLE_DRAW_CHECKS_H

#include <stdlib.h>

#include "asserts.h"
#include "waymark/sample.h"

/* The mean of f(x, column) over all draws is `truth` within 5 standard errors, in every column of
 * [first, end). The error is that of wm_diagnose() for f, which its own test holds to ArviZ's; it
 * is itself known to some percent with the thousand effective draws used here. With 5 of them a
 * right sampler fails with probability 6e-7 in each of a few hundred comparisons. */
static inline void check_mean(const wm_draws *draws, int64_t first, int64_t end,
                              double f(double x, int64_t column), double truth)
{
    wm_draws other = *draws;
    wm_diagnosis *d = NULL;
    wm_error err = {0};
    const int64_t n = draws->chains * draws->draws;

    other.x = malloc((size_t)(n * draws->dim) * sizeof *other.x);
    assert_non_null(other.x);
    for (int64_t i = 0; i < n * draws->dim; i++)
        other.x[i] = f(draws->x[i], i % draws->dim);
    assert_ok(wm_diagnose(&d, &other, &err), err);
    for (int64_t k = first; k < end; k++) {
        if (d->mcse_mean[k] < 1e-12 || d->mcse_mean[k] > 0.3 * (d->sd[k] + 1e-12))
            fail_msg("column %d: error of the mean %g, standard deviation %g", (int)k,
                     d->mcse_mean[k], d->sd[k]);
        assert_near(d->mean[k], truth, 5 * d->mcse_mean[k]);
    }
    wm_diagnosis_free(d);
    free(other.x);
}

/* A sampler that ran. */
static inline wm_sampler *sampled(const wm_path *path, int64_t chains, const double *start,
                                  const wm_sample_opts *opts)
{
    wm_sampler *s = NULL;
    wm_error err = {0};

    assert_ok(wm_sampler_new(&s, path, chains, start, opts, &err), err);
    assert_ok(wm_sampler_run(s, &err), err);
    return s;
}

#endif
