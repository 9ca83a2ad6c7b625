/* test_peaked.c - the 1-d experiment: its errors against statistical theory and an independent
 * implementation, the same bits for any number of threads. */
#include "asserts.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "reproduce/peaked/peaked.h"

/* The two sides' contributions to the slope of a loss in w at one sample, and what the slope itself
 * changes by: d/dw of N' and D' (sign included). z = log r = c - w u. */
typedef struct scores {
    double p, q, dp, dq;
} scores;

static scores scores_at(peaked_loss loss, double u, double z)
{
    const double s = 1 / (1 + exp(z)), t = 1 - s; /* sigmoid(-z), sigmoid(z) */

    switch (loss) {
    case PEAKED_LOGISTIC:
        return (scores){u * s, -u * t, u * u * s * t, u * u * s * t};
    case PEAKED_NWJ:
        return (scores){u, -u * exp(z), 0, u * u * exp(z)};
    default: /* N' = u s^2 t, D' = -u t^2 s, and ds/dw = u s t */
        return (scores){u * s * s * t, -u * t * t * s, u * u * s * s * t * (2 * t - s),
                        u * u * t * t * s * (2 * s - t)};
    }
}

/* Standard deviation of theta from n samples a side, for large n: for a minimiser of a mean,
 * n Var(w) = (Var_p N' + Var_q D') / (E_p dN' + E_q dD')^2, and theta = log(w) / 2. Expectations
 * under the two Gaussians by the trapezoid rule on +-10 standard deviations, which is exact to
 * rounding for such integrands. The sides are independent but for the coupling of waymarks, which
 * the first bridge (correlation 0.016) does not feel. */
static double theory_sd(peaked_loss loss, const peaked_chain *chain, int64_t k, int64_t n)
{
    const double sd0 = chain->sd[k], sd1 = chain->sd[k + 1], c = log(sd1 / sd0);
    const double w = exp(2 * peaked_true_theta(chain, k));
    double p = 0, pp = 0, q = 0, qq = 0, curve = 0, mass = 0;

    for (int i = -200000; i <= 200000; i++) { /* the q side varies on the scale of sd0: 1/60 sd1 */
        const double t = i * 5e-5, weight = exp(-0.5 * t * t);
        const double u0 = sd0 * sd0 * t * t, u1 = sd1 * sd1 * t * t;
        const scores a = scores_at(loss, u0, c - w * u0), b = scores_at(loss, u1, c - w * u1);

        mass += weight;
        p += weight * a.p;
        pp += weight * a.p * a.p;
        q += weight * b.q;
        qq += weight * b.q * b.q;
        curve += weight * (a.dp + b.dq);
    }
    p /= mass, pp /= mass, q /= mass, qq /= mass, curve /= mass;
    assert_near((p + q) / p, 0, 1e-6); /* the truth is stationary */
    return sqrt((pp - p * p + qq - q * q) / (double)n) / curve / (2 * w);
}

/* The first bridge carries all but 0.03 % of w, so its theory is the telescope's. |N(0, s)| has
 * mean s sqrt(2/pi) and standard deviation s sqrt(1 - 2/pi). At n = 1000 what the linear theory
 * leaves out is below a twentieth of s. */
static void errors_are_what_theory_says(void **state)
{
    enum { N = 1000, REPEATS = 300 };
    double *u = malloc((PEAKED_BRIDGES + 1) * N * sizeof *u);
    peaked_chain chain;
    wm_error err = {0};

    (void)state;
    assert_non_null(u);
    assert_ok(peaked_chain_make(&chain, 7, &err), err);
    for (int loss = 0; loss < PEAKED_LOSSES; loss++) {
        const double s = theory_sd((peaked_loss)loss, &chain, 0, N);
        const double truth = peaked_true_theta(&chain, 0);
        double error = 0, bias = 0;

        for (int64_t i = 0; i < REPEATS; i++) {
            peaked_bridge b;
            double theta;

            assert_ok(peaked_squares(&chain, 21, N, i, u, &err), err);
            b = peaked_bridge_of(&chain, u, N, 0);
            assert_ok(peaked_minimise(&theta, (peaked_loss)loss, &b, &err), err);
            error += fabs(theta - truth) / REPEATS;
            bias += (theta - truth) / REPEATS;
        }
        assert_near(error / s, sqrt(2 / 3.141592653589793),
                    5 * sqrt((1 - 2 / 3.141592653589793) / REPEATS) + 0.05);
        assert_near(bias / s, 0, 5 / sqrt(REPEATS) + 0.05);
    }
    free(u);
}

/* The summary of a run of the smoke preset, as text; to be freed. */
static char *run_smoke(int threads, uint64_t seed)
{
    const int before = omp_get_max_threads();
    const reproduce_settings settings = {.preset = "smoke", .control = {.seed = seed}};
    reproduce_result r = {0};
    wm_error err = {0};
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(f);
    assert_ok(wm_summary_new(&r.summary, &err), err);
    omp_set_num_threads(threads);
    assert_ok(reproduce_peaked(&r, &settings, &err), err);
    omp_set_num_threads(before);
    assert_non_null(r.table);
    assert_int_equal(r.n_figures, PEAKED_LOSSES + 2);
    assert_ok(wm_summary_print(r.summary, f, &err), err);
    fclose(f);
    reproduce_result_clear(&r);
    wm_summary_free(r.summary);
    return text;
}

static double number(const json_t *row, const char *key)
{
    const json_t *v = json_object_get(row, key);

    if (!json_is_number(v))
        fail_msg("row without a number %s", key);
    return json_number_value(v);
}

static int is(const json_t *row, const char *key, const char *text)
{
    const char *v = json_string_value(json_object_get(row, key));

    return v && strcmp(v, text) == 0;
}

/* Each mean with its own standard error against the mean of an independent implementation (100
 * repeats at these sizes, the same spread). The two must agree to 5 standard errors of the
 * difference; a wrong constant, a wrong loss or a grid would be far outside. */
static void check_rows(const json_t *root)
{
    const json_t *rows = json_object_get(root, "rows");
    int compared = 0, held_out = 0;
    size_t i;
    json_t *row;

    assert_int_equal(json_array_size(rows), 3 * 3 * (PEAKED_METHODS + 1));
    json_array_foreach(rows, i, row)
    {
        const double error = number(row, "error"), sd = number(row, "error_sd");
        const double n = number(row, "n"), seeds = number(row, "seeds");

        assert_true(error > 0 && sd > 0 && seeds >= 10 && n >= 10);
        assert_true(is(row, "method", "single") || is(row, "method", "tre"));
        if (json_object_get(row, "expected_error")) {
            const double want = number(row, "expected_error");

            assert_near(error, want, 5 * sd * sqrt(1 / seeds + 1.0 / 100));
            compared++;
        }
        if (is(row, "p", "held-out")) {
            json_t *count = json_object_get(row, "p_chosen"), *p;
            double sum = 0;
            size_t j;

            json_array_foreach(count, j, p) sum += json_number_value(p);
            assert_near(sum, seeds, 0);
            held_out++;
        }
        if (is(row, "loss", "logistic") && is(row, "method", "tre") && n == 100 &&
            json_is_integer(json_object_get(row, "p")) && number(row, "p") == 7)
            assert_true(error <= 0.15);
    }
    assert_int_equal(compared, 18); /* single and p = 7, three losses, three sizes */
    assert_int_equal(held_out, 9);
}

static void smoke_run_is_right_and_repeats(void **state)
{
    char *one = run_smoke(1, 1), *two = run_smoke(2, 1);
    json_error_t why;
    json_t *root = json_loads(one, 0, &why);
    size_t i;
    json_t *check;

    (void)state;
    assert_non_null(root);
    assert_string_equal(one, two); /* doubles are printed with all their digits */
    check_rows(root);
    assert_near(number(json_object_get(root, "truth"), "theta"), 13.46894, 5e-6);
    assert_near(number(json_object_get(root, "truth"), "kl_pq"), 13.3155, 5e-5);
    assert_int_equal(json_array_size(json_object_get(root, "checks")), 4);
    json_array_foreach(json_object_get(root, "checks"), i, check)
        assert_true(json_is_true(json_object_get(check, "ok")));
    assert_true(is(root, "verdict", "trust"));
    json_decref(root);
    free(one), free(two);
}

static void samples_depend_on_seed_size_and_repeat(void **state)
{
    enum { N = 10 };
    double u[4][2 * N];
    peaked_chain chain;
    wm_error err = {0};

    (void)state;
    assert_ok(peaked_chain_make(&chain, 0, &err), err);
    assert_ok(peaked_squares(&chain, 1, N, 0, u[0], &err), err);
    assert_ok(peaked_squares(&chain, 1, N, 1, u[1], &err), err);
    assert_ok(peaked_squares(&chain, 2, N, 0, u[2], &err), err);
    assert_ok(peaked_squares(&chain, 1, N, 0, u[3], &err), err);
    assert_memory_not_equal(u[0], u[1], sizeof u[0]);
    assert_memory_not_equal(u[0], u[2], sizeof u[0]);
    assert_memory_equal(u[0], u[3], sizeof u[0]);
}

static void unknown_preset_is_refused(void **state)
{
    const reproduce_settings settings = {.preset = "huge", .control = {.seed = 1}};
    reproduce_result r = {0};
    wm_error err = {0};

    (void)state;
    assert_int_equal(reproduce_peaked(&r, &settings, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "'huge'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_what_theory_says),
        cmocka_unit_test(smoke_run_is_right_and_repeats),
        cmocka_unit_test(samples_depend_on_seed_size_and_repeat),
        cmocka_unit_test(unknown_preset_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
