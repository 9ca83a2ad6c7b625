/* test_ratio_eval.c - log-ratios at new points: what they are, and that neither threads nor the
 * rows beside a row change a bit of it. */
#include "asserts.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "ratio/ratio_impl.h"
#include "scratch.h"
#include "study/mixed_study.h"
#include "waymark/generators.h"
#include "waymark/study.h"

enum { N = 600, D = 5, M = 3 };

static wm_data *normal(int64_t n, double mean, double sd, const char *stream)
{
    wm_data *x;
    wm_error err;

    assert_ok(wm_data_normal(&x, n, D, mean, sd, 1, stream, &err), err);
    return x;
}

/* A ratio of M bridges with `members` members that differ. */
static wm_ratio *make_ratio(wm_ratio_model model, int64_t members)
{
    wm_data *p = normal(400, 0, 1, "p"), *q = normal(400, 0.5, 1.5, "q");
    wm_ratio_opts o;
    wm_ratio *r;
    wm_error err;
    double *theta;
    int64_t count;

    wm_ratio_opts_init(&o);
    o.model = model;
    o.bridges = M;
    o.adam.iterations = 5;
    o.adam.batch = 64;
    o.width = 19; /* neither whole vectors nor whole panels */
    o.squares = members > 1;
    o.adam.average = 0;
    assert_ok(wm_ratio_fit(&r, p, q, &o, &err), err);
    count = wmi_params_count(r->params);
    assert_ok(wmi_alloc(&theta, members * count, sizeof *theta, "members", &err), err);
    for (int64_t i = 0; i < members * count; i++)
        theta[i] = r->theta[i % count] * (1 + 0.01 * (double)(i / count)) +
                   0.01 * sin((double)i); /* no parameter is 0 */
    wmi_free(r->theta);
    r->theta = theta;
    r->members = r->info.members = members;
    wm_data_free(q);
    wm_data_free(p);
    return r;
}

static const struct {
    wm_ratio_model model;
    int64_t members;
} models[] = {{WM_RATIO_LINEAR, 1},
              {WM_RATIO_QUADRATIC, 1},
              {WM_RATIO_MLP, 1},
              {WM_RATIO_QUADRATIC | WM_RATIO_MLP, 3},
              {WM_RATIO_QUADRATIC | WM_RATIO_ADDITIVE, 2},
              {WM_RATIO_MIXTURE, 2}};
enum { N_MODELS = sizeof models / sizeof *models };

/* sum_k -(w_k' z + c_k), z = (x - shift) / scale */
static void values_are_those_of_the_formula(void **state)
{
    wm_data *x = normal(N, 0.2, 1.2, "x");
    wm_ratio *r = make_ratio(WM_RATIO_LINEAR, 1);
    const double *w = r->theta + wmi_params_find(r->params, "linear/w")->offset;
    const double *c = r->theta + wmi_params_find(r->params, "c")->offset;
    double *log_r = malloc(N * sizeof *log_r);
    wm_error err;

    (void)state;
    assert_ok(wm_ratio_log(r, x, log_r, &err), err);
    for (int64_t i = 0; i < N; i++) {
        double want = 0;

        for (int k = 0; k < M; k++) {
            want -= c[k];
            for (int j = 0; j < D; j++)
                want -= w[k * D + j] *
                        ((wm_data_rows(x)[i * D + j] - r->encoder.shift[j]) / r->encoder.scale[j]);
        }
        assert_near(log_r[i], want, 1e-12 * (1 + fabs(want)));
    }
    free(log_r);
    wm_ratio_free(r);
    wm_data_free(x);
}

static void members_are_averaged(void **state)
{
    enum { MEMBERS = 3 };
    wm_data *x = normal(N, 0.2, 1.2, "x");
    wm_ratio *r = make_ratio(WM_RATIO_QUADRATIC | WM_RATIO_MLP, MEMBERS);
    const int64_t count = wmi_params_count(r->params);
    double *all = malloc(N * sizeof *all), *one = malloc(N * sizeof *one),
           *mean = calloc(N, sizeof *mean), *theta = r->theta;
    wm_error err;

    (void)state;
    assert_ok(wm_ratio_log(r, x, all, &err), err);
    r->members = 1;
    for (int k = 0; k < MEMBERS; k++) {
        r->theta = theta + k * count;
        assert_ok(wm_ratio_log(r, x, one, &err), err);
        for (int64_t i = 0; i < N; i++)
            mean[i] += one[i] / MEMBERS;
    }
    r->theta = theta;
    r->members = MEMBERS;
    for (int64_t i = 0; i < N; i++)
        assert_near(all[i], mean[i], 1e-12 * (1 + fabs(mean[i])));
    free(mean);
    free(one);
    free(all);
    wm_ratio_free(r);
    wm_data_free(x);
}

/* Every model, in pieces of several sizes, with several numbers of threads: the same bits. */
static void neither_pieces_nor_threads_matter(void **state)
{
    static const int64_t pieces[] = {1, 7, 127, 128, 129, 300, N};
    static const int threads[] = {1, 2, 7};
    const int before = omp_get_max_threads();
    wm_data *x = normal(N, 0.2, 1.2, "x");
    double *want = malloc(N * sizeof *want), *got = malloc(N * sizeof *got),
           *each = malloc(M * N * sizeof *each);
    wm_error err;

    (void)state;
    for (int k = 0; k < N_MODELS; k++) {
        wm_ratio *r = make_ratio(models[k].model, models[k].members);

        omp_set_num_threads(1);
        assert_ok(wm_ratio_log(r, x, want, &err), err);
        for (int t = 0; t < 3; t++) {
            omp_set_num_threads(threads[t]);
            for (int p = 0; p < 7; p++) {
                const int64_t upto = pieces[p] < 10 ? 40 : N; /* a piece costs a batch */
                wm_scorer *s;

                memset(got, 0, N * sizeof *got);
                assert_ok(wm_scorer_new(&s, r, &err), err);
                for (int64_t i = 0; i < upto; i += pieces[p]) {
                    const int64_t n = upto - i < pieces[p] ? upto - i : pieces[p];

                    assert_ok(wm_scorer_log(s, n, wm_data_rows(x) + i * D, got + i, &err), err);
                }
                assert_memory_equal(got, want, (size_t)upto * sizeof *got);
                wm_scorer_free(s);
                if (threads[t] > 2)
                    break; /* one size is enough for the many threads */
            }
            assert_ok(wm_ratio_log_bridges(r, x, each, &err), err);
            for (int64_t i = 0; i < N; i++) {
                const double sum = each[i] + each[N + i] + each[2 * N + i];

                if (models[k].model & WM_RATIO_MIXTURE) /* the ends alone: rounding differs */
                    assert_near(sum, want[i], 1e-12 * (1 + fabs(want[i])));
                else
                    assert_true(sum == want[i]);
            }
        }
        wm_ratio_free(r);
    }
    omp_set_num_threads(before);
    free(each);
    free(got);
    free(want);
    wm_data_free(x);
}

/* As a study does it: every thread scores with a fit of its own. */
static void parallel_callers_get_the_same(void **state)
{
    const int before = omp_get_max_threads();
    wm_data *x = normal(N, 0.2, 1.2, "x");
    wm_ratio *r = make_ratio(WM_RATIO_QUADRATIC | WM_RATIO_MLP, 3);
    double *want = malloc(M * N * sizeof *want), *got = malloc(3 * M * N * sizeof *got);
    double *z = malloc(N * D * sizeof *z);
    wm_status st[3];
    wm_error err;

    (void)state;
    assert_ok(wmi_encoder_apply(&r->encoder, N, wm_data_rows(x), z, &err), err);
    assert_ok(wmi_ratio_scores(r, N, z, want, &err), err);
    omp_set_num_threads(3);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 3; i++)
        st[i] = wmi_ratio_scores(r, N, z, got + i * M * N, NULL);
    omp_set_num_threads(before);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(st[i], WM_OK);
        assert_memory_equal(got + i * M * N, want, M * N * sizeof *want);
    }
    free(z);
    free(got);
    free(want);
    wm_ratio_free(r);
    wm_data_free(x);
}

static void rows_far_outside_are_counted(void **state)
{
    wm_data *x = normal(300, 0, 1, "x");
    wm_ratio *r = make_ratio(WM_RATIO_LINEAR, 1);
    double log_r[300], *rows = wm_data_rows_mut(x);
    wm_scorer *s;
    wm_error err;

    (void)state;
    assert_ok(wm_scorer_new(&s, r, &err), err);
    assert_ok(wm_scorer_log(s, 300, rows, log_r, &err), err);
    assert_int_equal(wm_scorer_far(s), 0);
    rows[0] = rows[1] = 1e3; /* one row, twice */
    rows[299 * D + 4] = -1e3;
    rows[7] = r->encoder.shift[2] + 9.9 * r->encoder.scale[2];
    assert_ok(wm_scorer_log(s, 300, rows, log_r, &err), err);
    assert_int_equal(wm_scorer_far(s), 2);
    assert_ok(wm_scorer_log(s, 1, rows, log_r, &err), err);
    assert_int_equal(wm_scorer_far(s), 3); /* in all calls */
    rows[0] = NAN;
    assert_ok(wm_scorer_log(s, 0, rows, log_r, &err), err);
    assert_ok(wm_scorer_log(s, 2, rows, log_r, &err), err);
    assert_true(isnan(log_r[0]) && isfinite(log_r[1]));
    wm_scorer_free(s);
    wm_ratio_free(r);
    wm_data_free(x);
}

/* Columns by rank and categories: the range of the samples, and levels that are none. */
static void mixed_columns_are_looked_at(void **state)
{
    const int before = omp_get_max_threads();
    wm_study *study = mixed_study("x,c", "abc", true);
    double rows[2 * 400], log_r[400];
    wm_scorer *s;
    wm_error err;

    (void)state;
    omp_set_num_threads(2);
    assert_ok(wm_scorer_new(&s, wm_study_ratio(study), &err), err);
    for (int i = 0; i < 400; i++) {
        rows[2 * i] = i % 100;
        rows[2 * i + 1] = i % 3;
    }
    rows[0] = -99; /* the samples are within 0.5 and 100.5 */
    rows[2] = -102;
    rows[4] = 1e300;
    assert_ok(wm_scorer_log(s, 400, rows, log_r, &err), err);
    assert_int_equal(wm_scorer_far(s), 2);
    rows[2 * 390 + 1] = 4;
    rows[2 * 140 + 1] = 3; /* the first is told, whichever thread has it */
    assert_int_equal(wm_scorer_log(s, 400, rows, log_r, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "category 3"));
    omp_set_num_threads(before);
    wm_scorer_free(s);
    wm_study_free(study);
}

static void memory_that_runs_out_is_told(void **state)
{
    wm_data *x = normal(300, 0, 1, "x");
    wm_ratio *r = make_ratio(WM_RATIO_QUADRATIC | WM_RATIO_MLP, 2);
    const int64_t live = wmi_alloc_live();
    double log_r[300];
    wm_status st;
    int k = 0;

    (void)state;
    do {
        wm_error err = {0};

        wmi_alloc_fail_at(++k);
        st = wm_ratio_log(r, x, log_r, &err);
        wmi_alloc_fail_at(0);
        assert_int_equal(wmi_alloc_live(), live);
        assert_true(st == WM_OK || (st == WM_ENOMEM && err.code == WM_ENOMEM));
    } while (st && k < 10000);
    assert_true(k > 10 && !st);
    wm_ratio_free(r);
    wm_data_free(x);
}

static void another_width_is_refused(void **state)
{
    wm_ratio *r = make_ratio(WM_RATIO_LINEAR, 1);
    double log_r[10];
    wm_data *x;
    wm_error err;

    (void)state;
    assert_ok(wm_data_normal(&x, 10, D + 1, 0, 1, 1, "x", &err), err);
    assert_int_equal(wm_ratio_log(r, x, log_r, &err), WM_ESHAPE);
    assert_string_equal(err.text, "the points have 6 columns, the model 5");
    assert_int_equal(wm_ratio_log_bridges(r, x, log_r, &err), WM_ESHAPE);
    wm_scorer_free(NULL);
    wm_data_free(x);
    wm_ratio_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_formula),
        cmocka_unit_test(members_are_averaged),
        cmocka_unit_test(neither_pieces_nor_threads_matter),
        cmocka_unit_test(parallel_callers_get_the_same),
        cmocka_unit_test(rows_far_outside_are_counted),
        cmocka_unit_test(mixed_columns_are_looked_at),
        cmocka_unit_test(memory_that_runs_out_is_told),
        cmocka_unit_test(another_width_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
