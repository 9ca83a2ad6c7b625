/* test_problem_pairs.c - closed forms of Gaussian and Student information, and maps that keep it.
 */
#include "problem_sample.h"

#include "base/special.h"
#include "waymark/generators.h"

#define PI 3.14159265358979323846

enum { N = 5000 };

static double mi_of(const char *name, const wm_problem_setting *s, int n)
{
    wm_problem *p = problem_make(name, s, n);
    const double mi = wm_problem_answer(p).mi;

    wm_problem_free(p);
    return mi;
}

static void gaussian_information_is_that_of_its_pairs(void **state)
{
    const wm_problem_setting two[] = {{"dx", 4}, {"dy", 3}, {"rho", -0.6}, {"pairs", 2}};
    const wm_problem_setting high[] = {{"dx", 40}, {"dy", 40}, {"mi", 20}};
    wm_problem *p = problem_make("gaussian", high, 3);

    (void)state;
    assert_near(mi_of("gaussian", two, 4), -log(0.64), 1e-14);
    assert_true(wm_problem_answer(p).mi == 20);
    assert_near(wm_problem_value(p, 3), wm_gaussian_pairs_rho(80, 20), 1e-14); /* rho, filled in */
    assert_true(wm_problem_value(p, 4) == 40);                                 /* pairs */
    assert_true(isnan(wm_problem_value(p, 99)));
    wm_problem_free(p);
}

/* Bivariate Cauchy: entropies log(4 pi) each and log(2 pi) + 3 together, so log(8 pi) - 3 at
 * rho = 0. With many degrees Student's is Gauss's. And 5 + 5 with 2 degrees, by a sum over the
 * distribution of the three lengths below. */
static void student_information_has_its_closed_form(void **state)
{
    const wm_problem_setting cauchy[] = {{"dx", 1}, {"dy", 1}, {"dof", 1}, {"rho", 0}};
    const wm_problem_setting tilted[] = {{"dx", 1}, {"dy", 1}, {"dof", 1}, {"rho", 0.8}};
    const wm_problem_setting normal[] = {{"dx", 2}, {"dy", 3}, {"dof", 1e6}, {"rho", 0.5}};
    const wm_problem_setting wanted[] = {{"dof", 2}, {"mi", 3}};
    wm_problem *p = problem_make("student", wanted, 2);
    const wm_problem_setting back[] = {{"dof", 2}, {"rho", wm_problem_value(p, 3)}};

    (void)state;
    assert_near(mi_of("student", cauchy, 4), log(8 * PI) - 3, 1e-14);
    assert_near(mi_of("student", tilted, 4), log(8 * PI) - 3 - 0.5 * log(0.36), 1e-14);
    assert_near(mi_of("student", normal, 4), -log(0.75), 1e-5);
    assert_near(mi_of("student", back, 2), 3, 1e-13);
    wm_problem_free(p);
}

/* The same, by a route that shares nothing with it: E[log r] under the joint density of two Student
 * columns, summed on a grid of (r, angle): u = r cos a, v = r sin a, rho = 0. */
static void student_information_agrees_with_a_sum(void **state)
{
    const double nu = 2;
    const wm_problem_setting s[] = {{"dx", 1}, {"dy", 1}, {"dof", nu}, {"rho", 0}};
    const int steps = 4000, angles = 720;
    double sum = 0, mass = 0;

    (void)state;
    for (int i = 0; i < steps; i++) {
        /* For 2 degrees P(length > r) = 1 / (1 + r^2 / 2): r by equal steps of probability. */
        const double rest = 1 - (i + 0.5) / steps, r2 = 2 * (1 / rest - 1);

        for (int k = 0; k < angles; k++) {
            const double a = 2 * PI * (k + 0.5) / angles, u2 = r2 * cos(a) * cos(a), v2 = r2 - u2;
            /* densities: (1 + q/2)^-2 / (2 pi) and (1 + x^2/2)^-1.5 / (2 sqrt 2) */
            const double log_r = -2 * log1p(r2 / 2) - log(2 * PI) + 1.5 * log1p(u2 / 2) +
                                 1.5 * log1p(v2 / 2) + 2 * log(2 * sqrt(2));

            sum += log_r;
            mass += 1;
        }
    }
    assert_near(mi_of("student", s, 4), sum / mass, 2e-3); /* the last step of r holds log steps */
}

/* Maps act on the normals of the same seed and stream: the log-ratio of a mapped pair is that of
 * the normals it came from. */
static void maps_keep_the_log_ratio(void **state)
{
    const struct {
        const char *name;
        wm_problem_setting s[6];
        int n;
        double tol; /* digits that the way back loses, at |z| < 4.5 */
    } maps[] = {
        {"cube", {{"dx", 3}, {"dy", 2}, {"rho", 0.7}}, 3, 1e-9},
        {"cube", {{"dx", 3}, {"dy", 2}, {"rho", 0.7}, {"power", 0.5}}, 4, 1e-9},
        {"asinh", {{"dx", 3}, {"dy", 2}, {"rho", 0.7}, {"stretch", 20}}, 4, 1e-9},
        {"uniform", {{"dx", 3}, {"dy", 2}, {"rho", 0.7}}, 3, 1e-5},
        {"spiral", {{"dx", 3}, {"dy", 2}, {"rho", 0.7}, {"speed", 3}}, 4, 1e-9},
        {"cube", {{"dx", 3}, {"dy", 2}, {"rho", 0.7}, {"dense", 1}}, 4, 1e-9},
    };
    const wm_problem_setting plain[] = {{"dx", 3}, {"dy", 2}, {"rho", 0.7}};
    problem_sample g = problem_draw(problem_make("gaussian", plain, 3), N);

    (void)state;
    for (size_t k = 0; k < sizeof maps / sizeof *maps; k++) {
        problem_sample s = problem_draw(problem_make(maps[k].name, maps[k].s, maps[k].n), N);

        assert_memory_not_equal(wm_data_rows(s.a), wm_data_rows(g.a), 100 * sizeof(double));
        assert_memory_not_equal(wm_data_rows(s.b), wm_data_rows(g.b), 100 * sizeof(double));
        assert_near(wm_problem_answer(s.problem).mi, wm_problem_answer(g.problem).mi, 1e-14);
        for (int64_t i = 0; i < N; i++)
            assert_near(s.log_a[i], g.log_a[i], maps[k].tol);
        problem_drop(&s);
    }
    problem_drop(&g);
}

static void maps_do_what_they_say(void **state)
{
    const wm_problem_setting plain[] = {{"dx", 1}, {"dy", 1}, {"mi", 1}};
    const wm_problem_setting roll[] = {{"mi", 1}};
    const wm_problem_setting three[] = {{"dx", 3}, {"dy", 3}};
    problem_sample g = problem_draw(problem_make("gaussian", plain, 3), N);
    problem_sample c = problem_draw(problem_make("cube", plain, 3), N);
    problem_sample a = problem_draw(problem_make("asinh", plain, 3), N);
    problem_sample r = problem_draw(problem_make("swissroll", roll, 1), N);
    problem_sample s = problem_draw(problem_make("spiral", NULL, 0), N);
    problem_sample t = problem_draw(problem_make("gaussian", three, 2), N);

    (void)state;
    for (int64_t i = 0; i < N; i++) {
        const double u = wm_data_rows(g.a)[i], v = wm_data_rows(g.b)[i];
        const double *roll_u = wm_data_rows(r.a) + 2 * i;
        const double turn = 1.5 * PI * (1 + 2 * wmi_normal_cdf(u)); /* angle and radius */
        const double *x = wm_data_rows(s.a) + 3 * i, *y = wm_data_rows(t.a) + 3 * i;

        assert_near(wm_data_rows(c.a)[i], u * u * u, 1e-14 * (1 + fabs(u * u * u)));
        assert_near(wm_data_rows(a.b)[i], log(v + sqrt(v * v + 1)), 1e-13);
        assert_near(roll_u[0], turn * cos(turn), 1e-12);
        assert_near(roll_u[1], turn * sin(turn), 1e-12);
        assert_near(wm_data_rows(r.b)[i], wmi_normal_cdf(v), 1e-15);
        assert_near(r.log_a[i], g.log_a[i], 1e-5);
        assert_true(x[2] == y[2]); /* the third column of u is not turned */
        assert_near(x[0] * x[0] + x[1] * x[1], y[0] * y[0] + y[1] * y[1], 1e-12);
    }
    assert_int_equal(wm_data_dim(r.a), 2);
    assert_int_equal(wm_data_dim(r.b), 1);
    problem_drop(&g), problem_drop(&c), problem_drop(&a);
    problem_drop(&r), problem_drop(&s), problem_drop(&t);
}

/* Turned, every column of u has a part in v; each side stays white. */
static void dense_pairs_have_many_correlations(void **state)
{
    enum { D = 4, ROWS = 40000 };
    const wm_problem_setting s[] = {{"dx", D}, {"dy", D}, {"rho", 0.9}, {"pairs", 1}, {"dense", 1}};
    problem_sample g = problem_draw(problem_make("gaussian", s, 5), ROWS);
    int correlated = 0;

    (void)state;
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) {
            double uv = 0, uu = 0;

            for (int64_t k = 0; k < ROWS; k++) {
                uv += wm_data_rows(g.a)[k * D + i] * wm_data_rows(g.b)[k * D + j] / ROWS;
                uu += wm_data_rows(g.a)[k * D + i] * wm_data_rows(g.a)[k * D + j] / ROWS;
            }
            assert_near(uu, i == j, 5 * sqrt(2.0 / ROWS));
            correlated += fabs(uv) > 5 / sqrt(ROWS);
        }
    assert_true(correlated > D); /* sparse would have 1 */
    problem_drop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaussian_information_is_that_of_its_pairs),
        cmocka_unit_test(student_information_has_its_closed_form),
        cmocka_unit_test(student_information_agrees_with_a_sum),
        cmocka_unit_test(maps_keep_the_log_ratio),
        cmocka_unit_test(maps_do_what_they_say),
        cmocka_unit_test(dense_pairs_have_many_correlations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
