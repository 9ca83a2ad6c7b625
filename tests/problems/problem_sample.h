/* problem_sample.h - a problem with its samples and true log-ratios, for the tests of problems. */
#ifndef WM_TESTS_PROBLEM_SAMPLE_H
#define WM_TESTS_PROBLEM_SAMPLE_H

#include "asserts.h"

#include <stdlib.h>
#include <string.h>

#include "waymark/generators.h"

typedef struct problem_sample {
    wm_problem *problem;
    wm_data *a, *b; /* p and q, or u and v */
    double *log_a;  /* log-ratio under p, or at the pairs */
    double *log_b;  /* under q, or at u with the v of the next row, which is the product's sample */
    int64_t n;
} problem_sample;

static inline wm_problem *problem_make(const char *name, const wm_problem_setting *s, int n)
{
    wm_error err = {0};
    wm_problem *p;

    assert_ok(wm_problem_new(&p, name, s, n, 7, &err), err);
    return p;
}

static inline problem_sample problem_draw(wm_problem *p, int64_t n)
{
    problem_sample s = {.problem = p, .n = n};
    wm_error err = {0};

    s.log_a = malloc((size_t)n * sizeof *s.log_a);
    s.log_b = malloc((size_t)n * sizeof *s.log_b);
    assert_non_null(s.log_a);
    assert_non_null(s.log_b);
    assert_ok(wm_problem_draw(&s.a, &s.b, p, n, n, 3, "test", &err), err);
    if (wm_problem_about(p)->kind == WM_PROBLEM_RATIO) {
        assert_ok(wm_problem_log_ratio(p, s.a, NULL, s.log_a, &err), err);
        assert_ok(wm_problem_log_ratio(p, s.b, NULL, s.log_b, &err), err);
    } else {
        const int64_t dim = wm_data_dim(s.b);
        wm_data *next;

        assert_ok(wm_data_new(&next, n, dim, NULL, &err), err);
        memcpy(wm_data_rows_mut(next), wm_data_rows(s.b) + dim,
               (size_t)((n - 1) * dim) * sizeof(double));
        memcpy(wm_data_rows_mut(next) + (n - 1) * dim, wm_data_rows(s.b),
               (size_t)dim * sizeof(double));
        assert_ok(wm_problem_log_ratio(p, s.a, s.b, s.log_a, &err), err);
        assert_ok(wm_problem_log_ratio(p, s.a, next, s.log_b, &err), err);
        wm_data_free(next);
    }
    return s;
}

static inline void problem_drop(problem_sample *s)
{
    wm_data_free(s->a);
    wm_data_free(s->b);
    free(s->log_a);
    free(s->log_b);
    wm_problem_free(s->problem);
}

/* Mean of f(x) and its standard error. */
typedef struct sample_mean {
    double mean, se;
} sample_mean;

static inline sample_mean mean_of(const double *x, int64_t n, double (*f)(double))
{
    sample_mean m = {0, 0};
    double var = 0;

    for (int64_t i = 0; i < n; i++)
        m.mean += (f ? f(x[i]) : x[i]) / (double)n;
    for (int64_t i = 0; i < n; i++) {
        const double r = (f ? f(x[i]) : x[i]) - m.mean;

        var += r * r / (double)n;
    }
    m.se = sqrt(var / (double)n);
    return m;
}

#endif
