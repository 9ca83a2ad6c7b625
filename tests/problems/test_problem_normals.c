/* test_problem_normals.c - Gaussians with a wanted divergence: the wish, the samples, the seed. */
#include "problem_sample.h"

enum { N = 20000, D = 3 };

static void the_wanted_divergence_is_had(void **state)
{
    const double ladder[] = {0, 0.3, 9, 18, 36, 54, 500};

    (void)state;
    for (int i = 0; i < 7; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            const wm_problem_setting s[] = {{"kl", ladder[i]}};
            wm_error err = {0};
            wm_problem *p;
            problem_sample got;
            sample_mean m;

            assert_ok(wm_problem_new(&p, "normals", s, 1, seed, &err), err);
            assert_true(wm_problem_answer(p).kl_pq == ladder[i]);
            got = problem_draw(p, N);
            m = mean_of(got.log_a, N, NULL);
            assert_near(m.mean, ladder[i], 5 * m.se + 1e-12);
            m = mean_of(got.log_b, N, NULL);
            assert_near(-m.mean, wm_problem_answer(p).kl_qp, 5 * m.se + 1e-12);
            problem_drop(&got);
        }
}

static void solve(double a[D][D + 1])
{
    for (int k = 0; k < D; k++)
        for (int i = 0; i < D; i++) {
            const double f = i == k ? 0 : a[i][k] / a[k][k];

            for (int j = k; j <= D; j++)
                a[i][j] -= f * a[k][j];
        }
}

/* An estimate that knows nothing of the problem's coordinates: the Gaussian divergence of sample
 * means and covariances, which is within a few per cent of the truth. */
static void samples_are_gaussians_of_that_divergence(void **state)
{
    problem_sample s = problem_draw(problem_make("normals", NULL, 0), N);
    double mean[2][D] = {{0}}, cov[2][D][D] = {{{0}}}, kl = -0.5 * D, a[D][D + 1];

    (void)state;
    for (int k = 0; k < 2; k++) {
        const double *x = wm_data_rows(k ? s.b : s.a);

        for (int i = 0; i < N * D; i++)
            mean[k][i % D] += x[i] / N;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < D * D; j++)
                cov[k][j / D][j % D] +=
                    (x[i * D + j / D] - mean[k][j / D]) * (x[i * D + j % D] - mean[k][j % D]) / N;
    }
    for (int j = 0; j <= D; j++) { /* S_q^-1 times each column of S_p, and times the shift */
        for (int r = 0; r < D; r++) {
            for (int c = 0; c < D; c++)
                a[r][c] = cov[1][r][c];
            a[r][D] = j < D ? cov[0][r][j] : mean[0][r] - mean[1][r];
        }
        solve(a);
        for (int r = 0; r < D; r++)
            kl += j < D ? (r == j ? 0.5 * a[r][D] / a[r][r] : 0)
                        : 0.5 * (mean[0][r] - mean[1][r]) * a[r][D] / a[r][r];
    }
    for (int k = 0; k < 2; k++) { /* log determinants: the pivots of the elimination */
        for (int r = 0; r < D; r++)
            for (int c = 0; c <= D; c++)
                a[r][c] = c < D ? cov[k][r][c] : 0;
        solve(a);
        for (int r = 0; r < D; r++)
            kl += (k ? 0.5 : -0.5) * log(a[r][r]);
    }
    assert_near(kl, 9, 0.03 * 9); /* its own error: a few times sqrt(2 kl / n) = 0.03 */
    problem_drop(&s);
}

static void seeds_make_other_problems(void **state)
{
    wm_error err = {0};
    wm_problem *p, *q;

    (void)state;
    assert_ok(wm_problem_new(&p, "normals", NULL, 0, 1, &err), err);
    assert_ok(wm_problem_new(&q, "normals", NULL, 0, 2, &err), err);
    assert_true(fabs(wm_problem_answer(p).kl_qp - wm_problem_answer(q).kl_qp) > 1e-3);
    wm_problem_free(p), wm_problem_free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wanted_divergence_is_had),
        cmocka_unit_test(samples_are_gaussians_of_that_divergence),
        cmocka_unit_test(seeds_make_other_problems),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
