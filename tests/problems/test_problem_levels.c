/* test_problem_levels.c - levels, levels in noise, uniform noise: frequencies and closed forms. */
#include "problem_sample.h"

#define PI 3.14159265358979323846

static double mi_of(const char *name, const wm_problem_setting *s, int n)
{
    wm_problem *p = problem_make(name, s, n);
    const double mi = wm_problem_answer(p).mi;

    wm_problem_free(p);
    return mi;
}

/* With even shares P(u = v) = a + (1 - a)/k =: s and I = log k + s log s + (1 - s)
 * log((1-s)/(k-1)).
 */
static void even_levels_have_a_closed_form(void **state)
{
    (void)state;
    for (int k = 2; k <= 30; k += 7)
        for (double a = 0.1; a < 1; a += 0.2) {
            const wm_problem_setting s[] = {{"levels", k}, {"agree", a}, {"columns", 3}};
            const double same = a + (1 - a) / k;
            const double one = log(k) + same * log(same) + (1 - same) * log((1 - same) / (k - 1));

            assert_near(mi_of("discrete", s, 3), 3 * one, 1e-12);
        }
}

static void the_wanted_information_is_had(void **state)
{
    const wm_problem_setting s[] = {{"mi", 1.5}, {"columns", 2}, {"skew", 1}};
    const wm_problem_setting none[] = {{"mi", 0}};
    const wm_problem_setting copy[] = {{"agree", 1}, {"levels", 8}};

    (void)state;
    assert_near(mi_of("discrete", s, 3), 1.5, 1e-13);
    assert_near(mi_of("discrete", none, 1), 0, 1e-13);
    assert_near(mi_of("discrete", copy, 2), log(8), 1e-14);
}

static void levels_come_as_often_as_the_table_says(void **state)
{
    enum { N = 100000, K = 3 };
    const wm_problem_setting s[] = {{"levels", K}, {"agree", 0.4}, {"skew", 1}};
    const double share[K] = {6.0 / 11, 3.0 / 11, 2.0 / 11}; /* 1, 1/2, 1/3 */
    problem_sample d = problem_draw(problem_make("discrete", s, 3), N);
    double seen[K][K] = {{0}};

    (void)state;
    for (int64_t i = 0; i < N; i++) {
        const double u = wm_data_rows(d.a)[i], v = wm_data_rows(d.b)[i];

        assert_true(u >= 0 && u < K && u == floor(u) && v >= 0 && v < K && v == floor(v));
        seen[(int)u][(int)v] += 1.0 / N;
    }
    for (int i = 0; i < K; i++)
        for (int j = 0; j < K; j++) {
            const double p = 0.4 * share[i] * (i == j) + 0.6 * share[i] * share[j];

            assert_near(seen[i][j], p, 5 * sqrt(p * (1 - p) / N));
        }
    problem_drop(&d);
}

/* log k - H(v | u), summed over a grid of u. */
static void mixed_information_agrees_with_a_sum(void **state)
{
    const wm_problem_setting s[] = {{"levels", 3}, {"gap", 1.5}, {"columns", 2}};
    const wm_problem_setting close[] = {{"gap", 0}}, far[] = {{"gap", 20}};
    double sum = 0;
    const double h = 1e-3;

    (void)state;
    for (int i = -10000; i <= 13000; i++) {
        double p[3], total = 0;

        for (int k = 0; k < 3; k++) {
            const double z = h * i - 1.5 * k;

            p[k] = exp(-0.5 * z * z) / sqrt(2 * PI) / 3;
            total += p[k];
        }
        for (int k = 0; k < 3; k++)
            sum += h * p[k] * log(3 * p[k] / total);
    }
    assert_near(mi_of("mixed", s, 3), 2 * sum, 1e-10);
    assert_near(mi_of("mixed", close, 1), 0, 1e-12);
    assert_near(mi_of("mixed", far, 1), log(4), 1e-11);
}

/* 1/(4 e) for e >= 1/2, e - log(2 e) below; both are 1/2 there. */
static void additive_noise_has_its_closed_form(void **state)
{
    const double noise[] = {0.01, 0.1, 0.5, 0.75, 3},
                 want[] = {3.922023, 1.709438, 0.5, 1.0 / 3, 1.0 / 12};

    (void)state;
    for (int i = 0; i < 5; i++) {
        const wm_problem_setting s[] = {{"noise", noise[i]}, {"columns", 2}};

        assert_near(mi_of("additive", s, 2), 2 * want[i], 2e-6);
    }
}

static void impossible_points_are_told(void **state)
{
    const double u[] = {0.5, 0.5, 0}, v[] = {0.55, 0.7, 5};
    wm_problem *p = problem_make("additive", NULL, 0), *d = problem_make("discrete", NULL, 0);
    wm_error err = {0};
    wm_data *a, *b;
    double out[3];

    (void)state;
    assert_ok(wm_data_new(&a, 3, 1, u, &err), err);
    assert_ok(wm_data_new(&b, 3, 1, v, &err), err);
    assert_ok(wm_problem_log_ratio(p, a, b, out, &err), err);
    assert_near(out[0], -log(0.2), 1e-14);
    assert_true(out[1] == -INFINITY && out[2] == -INFINITY);
    assert_ok(wm_problem_log_ratio(d, a, b, out, &err), err);
    assert_true(isnan(out[0]) && isnan(out[2])); /* no such levels */
    wm_data_free(a), wm_data_free(b);
    wm_problem_free(p), wm_problem_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(even_levels_have_a_closed_form),
        cmocka_unit_test(the_wanted_information_is_had),
        cmocka_unit_test(levels_come_as_often_as_the_table_says),
        cmocka_unit_test(mixed_information_agrees_with_a_sum),
        cmocka_unit_test(additive_noise_has_its_closed_form),
        cmocka_unit_test(impossible_points_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
