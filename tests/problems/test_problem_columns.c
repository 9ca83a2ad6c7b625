/* test_problem_columns.c - divergences of shifts, scales, mixtures and tails by another route. */
#include "problem_sample.h"

#define PI 3.14159265358979323846

static wm_problem_truth truth(const char *name, const wm_problem_setting *s, int n)
{
    wm_problem *p = problem_make(name, s, n);
    const wm_problem_truth t = wm_problem_answer(p);

    wm_problem_free(p);
    return t;
}

/* The shifts on which the authors' own code is known to fall short. */
static void normals_have_their_closed_forms(void **state)
{
    const wm_problem_setting near[] = {
        {"mean-p", -1}, {"sd-p", 0.08}, {"mean-q", 2}, {"sd-q", 0.15}};
    const wm_problem_setting far[] = {
        {"mean-p", -2}, {"sd-p", 0.08}, {"mean-q", 2}, {"sd-q", 0.15}, {"dim", 3}};
    wm_problem_truth t = truth("shift", NULL, 0);

    (void)state;
    assert_near(t.kl_pq, 50, 1e-13);
    assert_near(t.kl_qp, 50, 1e-13);
    assert_true(t.error == 0);
    t = truth("shift", near, 4);
    assert_near(t.kl_pq, 200.27, 5e-3);
    assert_near(t.kl_pq, log(0.15 / 0.08) + (0.0064 + 9) / (2 * 0.0225) - 0.5, 1e-12);
    assert_near(t.kl_qp, log(0.08 / 0.15) + (0.0225 + 9) / (2 * 0.0064) - 0.5, 1e-12);
    assert_near(truth("shift", far, 5).kl_pq, 3 * 355.8, 0.15);
    t = truth("peaked", NULL, 0);
    assert_near(t.kl_pq, 6 * log(10) - 0.5, 1e-11); /* 13.3 */
    assert_near(t.kl_qp, 0.5e12, 1e2);
    assert_near(truth("scale", NULL, 0).kl_pq, 5 * (log(3) + 1.0 / 18 - 0.5), 1e-13);
    t = truth("same", NULL, 0);
    assert_true(t.kl_pq == 0 && t.kl_qp == 0);
}

/* log of the mean of `modes` unit normals, `gap` apart about 0; x up to 40, where exp underflows
 * for none of them that matters. */
static double log_modes(double x, double gap, int modes)
{
    double sum = 0;

    for (int k = 0; k < modes; k++) {
        const double z = x - gap * (k - 0.5 * (modes - 1));

        sum += exp(-0.5 * z * z);
    }
    return log(sum / modes) - 0.5 * log(2 * PI);
}

/* Against a plain sum on a fine grid: 3 modes, 4 apart, and the normal of variance 1 + 32/3. */
static void mixtures_agree_with_a_sum_on_a_grid(void **state)
{
    const wm_problem_setting s[] = {{"dim", 4}, {"shift", 0.5}};
    const double sd = sqrt(1 + 32.0 / 3), h = 1e-3;
    double pq = 0, qp = 0;
    wm_problem_truth t = truth("mixture", s, 2);

    (void)state;
    for (int i = -38000; i <= 38000; i++) {
        const double x = h * i, z = x / sd + 0.5;
        const double log_p = log_modes(x, 4, 3), log_q = -0.5 * z * z - log(sd * sqrt(2 * PI));

        pq += h * exp(log_p) * (log_p - log_q);
        qp += h * exp(log_q) * (log_q - log_p);
    }
    assert_near(t.kl_pq, 4 * pq, 1e-9);
    assert_near(t.kl_qp, 4 * qp, 1e-9);
    assert_true(t.kl_pq > 0.1);
}

/* Quadratic heads see the first two moments: those of p and q must agree at shift 0. */
static void mixture_and_normal_share_their_moments(void **state)
{
    enum { N = 100000, D = 2 };
    problem_sample s = problem_draw(problem_make("mixture", NULL, 0), N);
    double m[2][5] = {{0}}; /* means, variances, covariance */

    (void)state;
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < N; i++) {
            const double *x = wm_data_rows(k ? s.b : s.a) + i * D;

            m[k][0] += x[0] / N, m[k][1] += x[1] / N;
            m[k][2] += x[0] * x[0] / N, m[k][3] += x[1] * x[1] / N, m[k][4] += x[0] * x[1] / N;
        }
    for (int k = 0; k < 2; k++) { /* variance 11.67; var(x^2) <= 2 var^2 for both */
        assert_near(m[k][0], 0, 5 * sqrt(11.67 / N));
        assert_near(m[k][1], 0, 5 * sqrt(11.67 / N));
        assert_near(m[k][2], 35.0 / 3, 5 * 11.67 * sqrt(2.0 / N));
        assert_near(m[k][3], 35.0 / 3, 5 * 11.67 * sqrt(2.0 / N));
        assert_near(m[k][4], 0, 5 * 11.67 / sqrt(N));
    }
    problem_drop(&s);
}

/* Cauchy at distance m and of scale s: KL = log(((1 + s)^2 + m^2) / (4 s)), the same both ways. And
 * a Student of many degrees is a normal. */
static void tails_have_the_closed_form_of_cauchy(void **state)
{
    const wm_problem_setting cauchy[] = {
        {"dim", 1}, {"dof-p", 1}, {"dof-q", 1}, {"shift", 3}, {"sd-q", 2}};
    const wm_problem_setting normal[] = {
        {"dim", 1}, {"dof-p", 1e6}, {"dof-q", 1e6}, {"shift", 3}, {"sd-q", 2}};
    wm_problem_truth t = truth("tails", cauchy, 5);

    (void)state;
    assert_near(t.kl_pq, log((9.0 + 9.0) / 8), 1e-11);
    assert_near(t.kl_qp, log((9.0 + 9.0) / 8), 1e-11);
    t = truth("tails", normal, 5);
    assert_near(t.kl_pq, log(2) + (1.0 + 9) / 8 - 0.5, 1e-4);
    assert_near(t.kl_qp, -log(2) + (4.0 + 9) / 2 - 0.5, 1e-3);
}

/* At the corners of what is allowed the stated error must stay small, and the truth positive. */
static void errors_stay_small_at_the_edges(void **state)
{
    const wm_problem_setting tails[][5] = {
        {{"dof-p", 0.5}, {"dof-q", 0.5}, {"shift", 1000}, {"sd-q", 0.001}, {"dim", 1}},
        {{"dof-p", 1e6}, {"dof-q", 0.5}, {"shift", 0}, {"sd-q", 1000}, {"dim", 1}},
        {{"dof-p", 0.5}, {"dof-q", 5}, {"shift", 0}, {"sd-q", 1}, {"dim", 1}},
    };
    const wm_problem_setting comb[] = {{"modes", 50}, {"gap", 20}, {"dim", 1}};

    (void)state;
    for (int i = 0; i < 3; i++) {
        const wm_problem_truth t = truth("tails", tails[i], 5);

        assert_true(t.kl_pq > 0 && t.kl_qp > 0);
        assert_true(t.error <= 1e-4 * fmin(t.kl_pq, t.kl_qp));
    }
    assert_true(truth("mixture", comb, 3).error < 1e-5 * truth("mixture", comb, 3).kl_qp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normals_have_their_closed_forms),
        cmocka_unit_test(mixtures_agree_with_a_sum_on_a_grid),
        cmocka_unit_test(mixture_and_normal_share_their_moments),
        cmocka_unit_test(tails_have_the_closed_form_of_cauchy),
        cmocka_unit_test(errors_stay_small_at_the_edges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
