/* test_diagnose.c - diagnostics against ArviZ's, and at the edges. */
#include <stdlib.h>

#include "asserts.h"

#include "base/alloc.h"
#include "diagnose_values.h"
#include "waymark/sample.h"

/* The noise and recursion of make_diagnose_values.py. */
static double noise(uint64_t *s)
{
    double u = 0;

    for (int i = 0; i < 4; i++) {
        *s = *s * 6364136223846793005U + 1442695040888963407U;
        u += (double)(*s >> 40) / 16777216.0;
    }
    return u - 2;
}

enum { MOST = 4 * 501 };

typedef struct room {
    double x[2 * MOST], other[MOST];
    int64_t count[MOST];
    unsigned char divergent[MOST];
} room;

static room r;

static wm_draws draws_of(int64_t chains, int64_t n, int64_t dim)
{
    return (wm_draws){.chains = chains,
                      .draws = n,
                      .dim = dim,
                      .x = r.x,
                      .lp = r.other,
                      .accept = r.other,
                      .step_size = r.other,
                      .energy = r.other,
                      .depth = r.count,
                      .n_leapfrog = r.count,
                      .divergent = r.divergent};
}

/* Column 0 holds the case, column 1 its negative, of which all but the mean is the same up to the
 * ties of a quantile; the energy is the case as well. */
static void values_are_those_of_arviz(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
        const int64_t m = stored[i].chains, n = stored[i].draws;
        const wm_draws draws = draws_of(m, n, 2);
        wm_diagnosis *d = NULL;
        wm_error err = {0};

        for (int64_t c = 0; c < m; c++) {
            uint64_t s = stored[i].seed + 1000 * (uint64_t)c;
            double v = 0;

            for (int64_t t = 0; t < n; t++) {
                v = stored[i].phi * v + stored[i].scale * noise(&s);
                r.other[c * n + t] = v + (double)c * stored[i].shift;
                r.x[2 * (c * n + t)] = r.other[c * n + t];
                r.x[2 * (c * n + t) + 1] = -r.other[c * n + t];
            }
        }
        assert_ok(wm_diagnose(&d, &draws, &err), err);
        assert_near(d->mean[0], stored[i].mean, 1e-12);
        assert_near(d->mean[1], -stored[i].mean, 1e-12);
        assert_near(d->sd[0], stored[i].sd, 1e-12);
        for (int k = 0; k < 2; k++) {
            assert_near(d->rhat[k], stored[i].rhat, 1e-10 * stored[i].rhat);
            assert_near(d->ess_bulk[k], stored[i].ess_bulk, 1e-8 * stored[i].ess_bulk);
            assert_near(d->mcse_mean[k], stored[i].mcse_mean, 1e-9 * stored[i].mcse_mean);
        }
        assert_near(d->ess_tail[0], stored[i].ess_tail, 1e-8 * stored[i].ess_tail);
        for (int64_t c = 0; c < m; c++)
            assert_near(d->e_bfmi[c], stored[i].bfmi[c], 1e-10 * stored[i].bfmi[c]);
        assert_true(d->worst_rhat >= d->rhat[0] && d->least_bulk <= d->ess_bulk[0]);
        wm_diagnosis_free(d);
    }
}

static void counts_divergences_and_full_trees(void **state)
{
    wm_draws draws = draws_of(2, 10, 1);
    wm_diagnosis *d = NULL;
    wm_error err = {0};

    (void)state;
    for (int i = 0; i < 20; i++) {
        r.x[i] = i * 7 % 20;
        r.other[i] = 0.5 + 0.01 * i;
        r.count[i] = i % 11;
        r.divergent[i] = i % 5 == 0;
    }
    draws.max_depth = 9;
    assert_ok(wm_diagnose(&d, &draws, &err), err);
    assert_int_equal(d->divergent, 4);
    assert_int_equal(d->saturated, 2); /* 9 and 10 */
    assert_near(d->accept, 0.595, 1e-12);
    assert_near(d->total_leapfrogs, 55 + 36, 0);
    wm_diagnosis_free(d);
}

/* Too few draws, draws that stand still, draws that are not finite: NaN, not a number that looks
 * right. */
static void says_nothing_where_nothing_is_known(void **state)
{
    wm_draws draws = draws_of(2, 3, 1);
    wm_diagnosis *d = NULL;
    wm_error err = {0};

    (void)state;
    for (int i = 0; i < 20; i++)
        r.x[i] = r.other[i] = i * 7 % 20;
    assert_ok(wm_diagnose(&d, &draws, &err), err);
    assert_true(isnan(d->rhat[0]) && isnan(d->ess_bulk[0]) && isnan(d->worst_rhat));
    wm_diagnosis_free(d);
    draws = draws_of(2, 10, 1);
    r.x[13] = (double)INFINITY;
    assert_ok(wm_diagnose(&d, &draws, &err), err);
    assert_true(isnan(d->rhat[0]) && isnan(d->least_tail));
    wm_diagnosis_free(d);
    for (int i = 0; i < 20; i++)
        r.x[i] = 3;
    assert_ok(wm_diagnose(&d, &draws, &err), err);
    assert_true(isnan(d->rhat[0]) && d->sd[0] == 0);
    wm_diagnosis_free(d);
    draws.draws = 0;
    assert_int_equal(wm_diagnose(&d, &draws, &err), WM_EINVAL);
    assert_null(d);
}

static void survives_lack_of_memory(void **state)
{
    const wm_draws draws = draws_of(2, 10, 1);
    const int64_t live = wmi_alloc_live();
    wm_diagnosis *d = NULL;
    wm_error err = {0};
    wm_status st;
    int64_t k = 1;

    (void)state;
    do {
        wmi_alloc_fail_at(k++);
        st = wm_diagnose(&d, &draws, &err);
        wmi_alloc_fail_at(0);
        assert_true(st == WM_OK || st == WM_ENOMEM);
        assert_true((st == WM_OK) == (d != NULL));
    } while (st);
    assert_true(k > 8);
    wm_diagnosis_free(d);
    assert_int_equal(wmi_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_arviz),
        cmocka_unit_test(counts_divergences_and_full_trees),
        cmocka_unit_test(says_nothing_where_nothing_is_known),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
