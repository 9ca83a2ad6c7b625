/* test_problem.c - what holds of every problem: its samples, its log-ratio and its truth agree. */
#include "problem_sample.h"

#include <omp.h>

#define P(...)                                                                                     \
    ((const wm_problem_setting[]){__VA_ARGS__}),                                                   \
        sizeof((const wm_problem_setting[]){__VA_ARGS__}) / sizeof(wm_problem_setting)

enum { N = 20000 };

static void the_table_is_whole(void **state)
{
    (void)state;
    assert_true(wm_problem_count() >= 17);
    for (int i = 0; i < wm_problem_count(); i++) {
        const wm_problem_info *info = wm_problem_at(i);

        assert_ptr_equal(wm_problem_find(info->name), info); /* so names are unique */
        assert_true(strlen(info->about) > 10 && strlen(info->about) < 70);
        for (int k = 0; k < info->n_params; k++) {
            const wm_problem_param *row = &info->params[k];

            assert_true(row->lo < row->hi && *row->about);
            if (!isnan(row->standard))
                assert_true(row->standard >= row->lo && row->standard <= row->hi);
        }
    }
    assert_null(wm_problem_at(-1));
    assert_null(wm_problem_at(wm_problem_count()));
    assert_null(wm_problem_find("nought"));
}

/* E_p[log r] is KL(p, q), -E_q[log r] is KL(q, p), E over pairs is the MI: within 5 standard errors
 * at the defaults of every problem. The sample knows nothing of how the truth was found. */
static void truths_are_the_means_of_the_log_ratio(void **state)
{
    (void)state;
    for (int i = 0; i < wm_problem_count(); i++) {
        const char *name = wm_problem_at(i)->name;
        problem_sample s = problem_draw(problem_make(name, NULL, 0), N);
        const wm_problem_truth t = wm_problem_answer(s.problem);
        const sample_mean a = mean_of(s.log_a, N, NULL), b = mean_of(s.log_b, N, NULL);
        const double want = wm_problem_about(s.problem)->kind == WM_PROBLEM_MI ? t.mi : t.kl_pq;

        if (!(fabs(a.mean - want) <= 5 * a.se + 1e-12))
            fail_msg("%s: %g +- %g, truth %g", name, a.mean, a.se, want);
        if (wm_problem_about(s.problem)->kind == WM_PROBLEM_RATIO) {
            assert_true(isnan(t.mi));
            if (!(fabs(-b.mean - t.kl_qp) <= 5 * b.se + 1e-12))
                fail_msg("%s, backwards: %g +- %g, truth %g", name, -b.mean, b.se, t.kl_qp);
        } else {
            assert_true(isnan(t.kl_pq) && isnan(t.kl_qp));
        }
        assert_true(t.error >= 0 && t.error < 1e-9);
        problem_drop(&s);
    }
}

/* Where p and q overlap well: E_q[r] = 1 and E_p[1/r] = 1, so the log-ratio has no constant off. */
static void ratios_are_normalised(void **state)
{
    const struct {
        const char *name;
        const wm_problem_setting *s;
        int n;
        bool backwards; /* 1/r has a variance too */
    } mild[] = {
        {"shift", P({"mean-p", -0.3}, {"mean-q", 0.2}), true},
        {"shift", P({"dim", 3}, {"mean-p", 0.1}, {"mean-q", 0}, {"sd-p", 0.9}), true},
        {"scale", P({"dim", 2}, {"sd-q", 1.2}), true},
        {"same", NULL, 0, true},
        {"mixture", P({"dim", 2}, {"modes", 2}, {"gap", 2}), true},
        {"mixture", P({"dim", 1}, {"modes", 4}, {"gap", 1.5}, {"shift", 0.3}), true},
        {"tails", P({"dof-p", 3}, {"dof-q", 2}, {"shift", 0.5}, {"sd-q", 1.1}), true},
        {"normals", P({"kl", 0.2}, {"spread", 0.1}), true},
        {"normals", P({"dim", 50}, {"kl", 0.2}, {"spread", 0.02}), true},
        {"gaussian", P({"mi", 0.2}), true},
        {"gaussian", P({"dx", 3}, {"dy", 6}, {"mi", 0.1}, {"pairs", 2}, {"dense", 1}), true},
        {"cube", P({"dx", 2}, {"dy", 1}, {"mi", 0.1}), true},
        {"asinh", P({"mi", 0.1}, {"stretch", 100}), true},
        {"uniform", P({"mi", 0.3}), true},
        {"student", P({"dx", 2}, {"dy", 1}, {"rho", 0.3}, {"dof", 5}), false},
        {"spiral", P({"mi", 0.2}), true},
        {"swissroll", P({"mi", 0.2}), true},
        {"discrete", P({"columns", 2}, {"agree", 0.3}, {"skew", 1}), true},
        {"mixed", P({"levels", 3}, {"gap", 0.7}), true},
        {"additive", P({"noise", 2}), false}, /* r = 0 has mass under q, none under p */
    };

    (void)state;
    for (size_t i = 0; i < sizeof mild / sizeof *mild; i++) {
        problem_sample s = problem_draw(problem_make(mild[i].name, mild[i].s, mild[i].n), N);
        sample_mean m = mean_of(s.log_b, N, exp);

        if (!(fabs(m.mean - 1) <= 5 * m.se + 1e-12 && m.se < 0.1))
            fail_msg("%s: E_q[r] = %g +- %g", mild[i].name, m.mean, m.se);
        for (int64_t k = 0; k < N; k++)
            s.log_a[k] = -s.log_a[k];
        m = mean_of(s.log_a, N, exp);
        if (mild[i].backwards && !(fabs(m.mean - 1) <= 5 * m.se + 1e-12 && m.se < 0.1))
            fail_msg("%s: E_p[1/r] = %g +- %g", mild[i].name, m.mean, m.se);
        problem_drop(&s);
    }
}

static void same_bits(const wm_data *a, const wm_data *b, int64_t rows)
{
    assert_memory_equal(wm_data_rows(a), wm_data_rows(b),
                        (size_t)(rows * wm_data_dim(a)) * sizeof(double));
}

static void samples_are_a_function_of_seed_stream_and_row(void **state)
{
    const int threads = omp_get_max_threads();

    (void)state;
    for (int i = 0; i < wm_problem_count(); i++) {
        wm_problem *p = problem_make(wm_problem_at(i)->name, NULL, 0);
        wm_data *a[5] = {NULL}, *b[5] = {NULL};
        wm_error err = {0};

        omp_set_num_threads(1);
        assert_ok(wm_problem_draw(&a[0], &b[0], p, 5000, 5000, 1, "s", &err), err);
        omp_set_num_threads(3);
        assert_ok(wm_problem_draw(&a[1], &b[1], p, 5000, 5000, 1, "s", &err), err);
        omp_set_num_threads(threads);
        assert_ok(wm_problem_draw(&a[2], &b[2], p, 1500, 1500, 1, "s", &err), err);
        assert_ok(wm_problem_draw(&a[3], &b[3], p, 100, 100, 2, "s", &err), err);
        assert_ok(wm_problem_draw(&a[4], &b[4], p, 100, 100, 1, "other", &err), err);
        same_bits(a[0], a[1], 5000);
        same_bits(b[0], b[1], 5000);
        same_bits(a[0], a[2], 1500);
        same_bits(b[0], b[2], 1500);
        for (int k = 3; k < 5; k++) {
            assert_memory_not_equal(wm_data_rows(a[0]), wm_data_rows(a[k]), 100 * sizeof(double));
            assert_memory_not_equal(wm_data_rows(b[0]), wm_data_rows(b[k]), 100 * sizeof(double));
        }
        assert_int_equal(wm_data_dim(a[0]), wm_problem_dim(p, 0));
        assert_int_equal(wm_data_dim(b[0]), wm_problem_dim(p, 1));
        for (int k = 0; k < 5; k++)
            wm_data_free(a[k]), wm_data_free(b[k]);
        wm_problem_free(p);
    }
}

static void parameters_are_checked(void **state)
{
    const struct {
        const char *name, *says;
        const wm_problem_setting *s;
        int n;
    } bad[] = {
        {"nought", "no problem 'nought'", NULL, 0},
        {"shift", "shift has no parameter 'mi'; it has dim, mean-p, sd-p", P({"mi", 1})},
        {"shift", "sd-p is -1", P({"sd-p", -1})},
        {"shift", "mean-p is nan", P({"mean-p", NAN})},
        {"same", "dim is 2.5, must be a whole number from 1", P({"dim", 2.5})},
        {"gaussian", "mi 1 and rho 0.5: give one", P({"mi", 1}, {"rho", 0.5})},
        {"gaussian", "6 pairs of 5 and 8 columns: at most 5", P({"dy", 8}, {"pairs", 6})},
        {"gaussian", "with 5 pairs at most 75", P({"mi", 90})},
        {"student", "mi is 0.01, and with dof 2 and 5 + 5 columns at least", P({"mi", 0.01})},
        {"discrete", "with 4 such levels and 1 columns at most 1.38629", P({"mi", 1.5})},
        {"discrete", "give one", P({"mi", 0.5}, {"agree", 0.5})},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        wm_error err = {0};
        wm_problem *p = (wm_problem *)&err;

        assert_int_equal(wm_problem_new(&p, bad[i].name, bad[i].s, bad[i].n, 1, &err), WM_EINVAL);
        assert_null(p);
        if (!strstr(err.text, bad[i].says))
            fail_msg("'%s' does not say '%s'", err.text, bad[i].says);
    }
}

static void points_and_rows_are_checked(void **state)
{
    wm_problem *gaussian = problem_make("gaussian", NULL, 0), *same = problem_make("same", NULL, 0);
    wm_error err = {0};
    wm_data *a, *b, *wide;
    double out[4];

    (void)state;
    assert_int_equal(wm_problem_draw(&a, &b, gaussian, 4, 5, 1, "s", &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "4 rows of u and 5 of v"));
    assert_true(!a && !b);
    assert_int_equal(wm_problem_draw(&a, &b, same, 4, 0, 1, "s", &err), WM_EINVAL);
    assert_true(!a && !b);
    assert_ok(wm_problem_draw(&a, &b, gaussian, 4, 4, 1, "s", &err), err);
    assert_ok(wm_data_new(&wide, 3, 5, NULL, &err), err);
    assert_int_equal(wm_problem_log_ratio(gaussian, a, NULL, out, &err), WM_EINVAL);
    assert_int_equal(wm_problem_log_ratio(same, a, NULL, out, &err), WM_ESHAPE);
    assert_non_null(strstr(err.text, "5 columns, it has 10"));
    assert_int_equal(wm_problem_log_ratio(gaussian, a, wide, out, &err), WM_ESHAPE);
    assert_ok(wm_problem_log_ratio(gaussian, a, b, out, &err), err);
    wm_data_free(a), wm_data_free(b), wm_data_free(wide);
    assert_ok(wm_problem_draw(&a, &b, same, 4, 9, 1, "s", &err), err);
    assert_int_equal(wm_data_count(b), 9);
    wm_data_free(a), wm_data_free(b);
    wm_problem_free(gaussian), wm_problem_free(same), wm_problem_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_whole),
        cmocka_unit_test(truths_are_the_means_of_the_log_ratio),
        cmocka_unit_test(ratios_are_normalised),
        cmocka_unit_test(samples_are_a_function_of_seed_stream_and_row),
        cmocka_unit_test(parameters_are_checked),
        cmocka_unit_test(points_and_rows_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
