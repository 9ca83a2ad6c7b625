/* test_study_rivals.c - answers that must own up to what their model lacks: columns that are only
 * nearly what the form has, many small products, pairs that neighbours see more of. */
#include <math.h>

#include "asserts.h"
#include "base/rng.h"
#include "waymark/study.h"

enum { MOST_ROWS = 4000, MOST_COLUMNS = 40 };

static double rows_of[2][MOST_ROWS * MOST_COLUMNS];

static void draw_normals(double *out, int64_t n, uint64_t seed, const char *stream)
{
    const wmi_rng rng = wmi_rng_make(seed, stream);

    wmi_rng_normal_f64(&rng, 0, n, out);
}

static wm_study *study_of(int64_t n, int64_t d, int64_t pairs)
{
    wm_study_opts o;
    wm_data *table[2] = {NULL, NULL};
    wm_study *s;
    wm_error err;

    wm_study_opts_init(&o);
    o.pairs = pairs;
    o.by_rank = pairs > 0;
    for (int t = 0; t < (pairs ? 1 : 2); t++)
        assert_ok(wm_data_new(&table[t], n, d, rows_of[t], &err), err);
    assert_ok(wm_study_run(&s, table[0], table[1], NULL, &o, &err), err);
    wm_data_free(table[0]);
    wm_data_free(table[1]);
    return s;
}

static bool holds(const wm_estimate *e, double truth)
{
    return e->lo <= truth && truth <= e->hi;
}

/* Weibull times of shapes 1.5 and 0.9: 0.1735 nats (integrated). A bent column looks normal in the
 * middle, and moments made of it 0.12 with a standard error of 0.009, trusted, in most draws. */
static void bent_columns_are_only_nearly_normal(void **state)
{
    enum { N = 3000 };
    static const double shape[] = {1.5, 0.9};

    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        wm_study_info info;
        wm_study *s;

        for (int t = 0; t < 2; t++) {
            const wmi_rng rng = wmi_rng_make(seed, t ? "q" : "p");

            wmi_rng_uniform_f64(&rng, 0, N, rows_of[t]);
            for (int i = 0; i < N; i++)
                rows_of[t][i] = pow(-log1p(-rows_of[t][i]), 1 / shape[t]);
        }
        s = study_of(N, 1, 0);
        wm_study_get_info(s, &info);
        assert_true(holds(&info.kl_pq, 0.17345));
        wm_study_free(s);
    }
}

/* 30 columns that share a factor in p, correlations 0.09, and are independent in q: log det is 29
 * log 0.91 + log 3.61, so KL(p, q) = 0.726. No curve of a column sees any of it: a 31st column,
 * shifted by 0.5, another 0.125, is what they see. */
static void small_products_add_up(void **state)
{
    enum { N = 1500, D = 31 };
    static double factor[N];
    wm_study_info info;
    wm_study *s;

    (void)state;
    draw_normals(factor, N, 5, "factor");
    for (int t = 0; t < 2; t++) {
        draw_normals(rows_of[t], N * D, 5, t ? "q" : "p");
        for (int i = 0; i < N && !t; i++) {
            for (int j = 0; j < D - 1; j++)
                rows_of[t][i * D + j] = 0.3 * factor[i] + sqrt(0.91) * rows_of[t][i * D + j];
            rows_of[t][i * D + D - 1] += 0.5;
        }
    }
    s = study_of(N, D, 0);
    wm_study_get_info(s, &info);
    assert_true(holds(&info.kl_pq, -0.5 * (29 * log(0.91) + log(3.61)) + 0.125));
    wm_study_free(s);
}

/* The same normal column twice: near 0 the error of the rows is nearly nothing, and an interval of
 * no width beside 0 says that p and q differ. */
static void nothing_is_held(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        wm_study_info info;
        wm_study *s;

        draw_normals(rows_of[0], 2000, seed, "p");
        draw_normals(rows_of[1], 2000, seed, "q");
        s = study_of(2000, 1, 0);
        wm_study_get_info(s, &info);
        assert_true(holds(&info.kl_pq, 0) && holds(&info.kl_qp, 0));
        assert_int_equal(info.verdict, WM_TRUST);
        wm_study_free(s);
    }
}

/* v = u^2 and noise in 600 rows, 0.33 nats: whatever is kept, it must not be trusted where it has
 * left that out. */
static void few_curved_pairs_are_not_trusted(void **state)
{
    enum { N = 600 };
    double *x = rows_of[0];
    wm_study_info info;
    wm_study *s;

    (void)state;
    draw_normals(x, 2 * N, 6, "pairs");
    for (int i = 0; i < N; i++)
        x[2 * i + 1] += (x[2 * i] * x[2 * i] - 1) / sqrt(2);
    s = study_of(N, 2, 1);
    wm_study_get_info(s, &info);
    assert_true(info.kl_pq.value > 0.2);
    assert_non_null(wm_checks_find(wm_study_checks(s), "neighbours"));
    wm_study_free(s);
}

/* More rows than waymarks are placed by: what other candidates said of some of them is not held
 * against the answer of all. N(0.5, 1) against N(0, 1), 0.125 nats, 100,000 rows: a standard error
 * of sqrt(0.25 * 2 / 100,000) = 0.0022, both sides alike. */
static void many_rows_have_narrow_intervals(void **state)
{
    enum { N = 100000 };
    wm_study_info info;
    wm_study *s;

    (void)state;
    for (int t = 0; t < 2; t++) {
        draw_normals(rows_of[t], N, 7, t ? "q" : "p");
        for (int i = 0; i < N && !t; i++)
            rows_of[t][i] += 0.5;
    }
    s = study_of(N, 1, 0);
    wm_study_get_info(s, &info);
    assert_true(holds(&info.kl_pq, 0.125));
    assert_near(info.kl_pq.hi - info.kl_pq.value, 1.96 * 0.0022, 0.2 * 1.96 * 0.0022);
    assert_near(info.kl_pq.value - info.kl_pq.lo, 1.96 * 0.0022, 0.2 * 1.96 * 0.0022);
    wm_study_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bent_columns_are_only_nearly_normal),
        cmocka_unit_test(small_products_add_up),
        cmocka_unit_test(nothing_is_held),
        cmocka_unit_test(few_curved_pairs_are_not_trusted),
        cmocka_unit_test(many_rows_have_narrow_intervals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
