/* test_recomputed.c - what a study says, computed once more from the model that it saves.
 *
 * Every row is judged by the fits that have not seen it. Where these are networks they all stand in
 * the file, one member each, and give the log-ratios of the study to the bit, or to rounding where
 * a constant was taken off them; where they are curves the file has their mean, from which those
 * that have seen a row follow. Both then give the divergences, by Donsker and Varadhan's bound
 * written down anew. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asserts.h"
#include "base/rng.h"
#include "ratio/ratio_impl.h"
#include "scratch.h"
#include "waymark/study.h"

enum { N = 300, DIM = 2, FOLDS = 3, BRIDGES = 2 };

/* Rows with means and standard deviations of their own. */
static wm_data *rows(const char *name, double mean, double sd)
{
    const wmi_rng rng = wmi_rng_make(4, name);
    wm_data *d;
    wm_error err;

    assert_ok(wm_data_new(&d, N, DIM, NULL, &err), err);
    wmi_rng_normal_f64(&rng, 0, N * DIM, wm_data_rows_mut(d));
    for (int64_t i = 0; i < N; i++)
        wm_data_rows_mut(d)[i * DIM] = mean + sd * wm_data_rows_mut(d)[i * DIM];
    return d;
}

/* A study with its tables, and the ratio that its file gives. */
typedef struct answer {
    wm_data *table[2];
    wm_study *study;
    wm_ratio *file;
    wm_study_info info;
} answer;

static answer ask(wm_ratio_model model, double mean, double sd)
{
    answer a = {.table = {rows("p", 0, 1), rows("q", mean, sd)}};
    const char *path = scratch("recomputed.safetensors");
    wm_study_opts o;
    wm_error err;

    wm_study_opts_init(&o);
    o.models[0] = model;
    o.n_models = 1;
    o.folds = FOLDS;
    o.bridges = BRIDGES;
    o.width = 4;
    o.adam.iterations = 150;
    assert_ok(wm_study_run(&a.study, a.table[0], a.table[1], NULL, &o, &err), err);
    assert_ok(wm_ratio_save(wm_study_ratio(a.study), path, &err), err);
    assert_ok(wm_ratio_load(&a.file, path, &err), err);
    wm_study_get_info(a.study, &a.info);
    return a;
}

static void answer_free(answer *a)
{
    wm_ratio_free(a->file);
    wm_study_free(a->study);
    wm_data_free(a->table[1]);
    wm_data_free(a->table[0]);
}

/* ---- log-ratios ---- */

/* At the rows of a table by all members, or by one of them alone. */
static void log_ratios(wm_ratio *r, const wm_data *x, int64_t member, double *out)
{
    const int64_t members = r->members;
    double *theta = r->theta;
    wm_error err;

    if (member >= 0) {
        r->members = 1;
        r->theta = theta + member * wmi_params_count(r->params);
    }
    assert_ok(wm_ratio_log(r, x, out, &err), err);
    r->members = members;
    r->theta = theta;
}

static void the_file_is_the_ratio(void **state)
{
    static const wm_ratio_model models[] = {WM_RATIO_LINEAR, WM_RATIO_QUADRATIC, WM_RATIO_ADDITIVE,
                                            WM_RATIO_MLP};
    double own[N], file[N];
    wm_error err;

    (void)state;
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        answer a = ask(models[k], 0.7, 1.2);

        for (int t = 0; t < 2; t++) {
            assert_ok(wm_ratio_log(wm_study_ratio(a.study), a.table[t], own, &err), err);
            log_ratios(a.file, a.table[t], -1, file);
            assert_memory_equal(own, file, sizeof own);
        }
        for (int64_t i = 0; i < a.info.bridges; i++) {
            wm_bridge said, saved;

            wm_study_get_bridge(a.study, i, &said);
            wm_ratio_get_bridge(a.file, i, &saved);
            assert_memory_equal(&said, &saved, sizeof said);
        }
        answer_free(&a);
    }
}

static void every_row_is_judged_by_a_member_of_the_file(void **state)
{
    answer a = ask(WM_RATIO_MLP, 0.7, 1.2);
    static double by[FOLDS][N];

    (void)state;
    assert_int_equal(a.file->members, FOLDS);
    for (int t = 0; t < 2; t++) {
        int64_t n, judged[FOLDS] = {0};
        const double *said = wm_study_log_ratios(a.study, t, &n);

        assert_int_equal(n, N);
        for (int64_t f = 0; f < FOLDS; f++)
            log_ratios(a.file, a.table[t], f, by[f]);
        for (int64_t i = 0; i < N; i++) {
            int64_t f = 0;

            while (f < FOLDS && fabs(by[f][i] - said[i]) > 1e-13 * (1 + fabs(said[i])))
                f++;
            if (f == FOLDS)
                fail_msg("row %d is judged by no member", (int)i);
            else
                judged[f]++;
        }
        for (int64_t f = 0; f < FOLDS; f++)
            assert_int_equal(judged[f], N / FOLDS);
    }
    answer_free(&a);
}

/* ---- divergences ---- */

/* E[sign log r] over own rows less log E[r^sign] over the others'. */
static double bound(const double *own, const double *other, double sign)
{
    double mean = 0, sum = 0;

    for (int64_t i = 0; i < N; i++) {
        mean += sign * own[i] / N;
        sum += exp(sign * other[i]) / N;
    }
    return mean - log(sum);
}

static double log_mean(const double *x, double sign)
{
    double sum = 0;

    for (int64_t i = 0; i < N; i++)
        sum += exp(sign * x[i]) / N;
    return log(sum);
}

static void divergences_follow_from_the_file(void **state)
{
    static const wm_ratio_model models[] = {WM_RATIO_ADDITIVE, WM_RATIO_MLP};
    static double fresh[2][N], seen[2][N];

    (void)state;
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        answer a = ask(models[k], 0.7, 1.2);
        double lo = INFINITY, hi = -INFINITY;

        for (int t = 0; t < 2; t++) {
            int64_t n;

            memcpy(fresh[t], wm_study_log_ratios(a.study, t, &n), sizeof fresh[t]);
            log_ratios(a.file, a.table[t], -1, seen[t]);
            for (int64_t i = 0; i < N; i++) { /* the mean of all, less the one that has not */
                seen[t][i] = (FOLDS * seen[t][i] - fresh[t][i]) / (FOLDS - 1);
                lo = fmin(lo, seen[t][i]);
                hi = fmax(hi, seen[t][i]);
            }
        }
        assert_near(a.info.under_q.log_mean, log_mean(fresh[1], 1), 1e-12);
        assert_near(a.info.under_p.log_mean, log_mean(fresh[0], -1), 1e-12);
        for (int t = 0; t < 2; t++) /* curves are held back where no row was seen */
            for (int64_t i = 0; i < N && models[k] == WM_RATIO_ADDITIVE; i++)
                fresh[t][i] = fmin(fmax(fresh[t][i], lo), hi);
        assert_near(a.info.kl_pq.value,
                    0.5 * (bound(fresh[0], fresh[1], 1) + bound(seen[0], seen[1], 1)), 1e-12);
        assert_near(a.info.kl_qp.value,
                    0.5 * (bound(fresh[1], fresh[0], -1) + bound(seen[1], seen[0], -1)), 1e-12);
        answer_free(&a);
    }
}

/* All bridges at the rows of p add up to the log-ratio there: N is small enough for every row to be
 * on a path. The constant that normalises p = r q is in both, or in neither. */
static void bridges_add_up_to_the_log_ratio(void **state)
{
    static const double sds[] = {1, 1.1, 1.3};

    (void)state;
    for (size_t k = 0; k < sizeof sds / sizeof *sds; k++) {
        answer a = ask(WM_RATIO_LINEAR | WM_RATIO_MLP, 0.8, sds[k]);
        const double *grid = wm_study_bridge_means(a.study);
        int64_t n;
        const double *said = wm_study_log_ratios(a.study, 0, &n);
        double mean = 0, sum = 0;
        wm_bridge first;

        for (int64_t i = 0; i < N; i++)
            mean += said[i] / N;
        for (int64_t i = 0; i < a.info.bridges; i++)
            sum += grid[i * (a.info.bridges + 1)];
        wm_study_get_bridge(a.study, 0, &first); /* at rows of p, its own */
        assert_near(first.mean_log_ratio, grid[0], 1e-12);
        assert_near(sum, mean, 1e-12 * (1 + fabs(mean)));
        answer_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_is_the_ratio),
        cmocka_unit_test(every_row_is_judged_by_a_member_of_the_file),
        cmocka_unit_test(divergences_follow_from_the_file),
        cmocka_unit_test(bridges_add_up_to_the_log_ratio),
    };

    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
