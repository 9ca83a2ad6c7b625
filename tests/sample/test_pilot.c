/* test_pilot.c - the step sizes that the pilot finds give the acceptance that was asked for, along
 * the whole path, upwards and downwards. */
#include "asserts.h"
#include "densities.h"

#include "base/rng.h"

enum { DIM = 20, BRIDGES = 4, CHAINS = 60 };

/* Standard deviations fall from 1 to 0.02: so must the steps. */
static const double means[] = {0.3, 0.25, 0.2, 0.1}, sds[] = {0.02, 0.06, 0.15, 0.4},
                    shifts[] = {0, 0, 0, 0};

/* 8 chains adapt over 10 transitions at the end of each bridge. The acceptance that comes out is
 * that of 8 short averages: 0.1 around the target is generous to their noise, and far from the 0 or
 * 1 of a step that is wrong by a factor of three. In between, where steps are interpolated and the
 * target moves fastest, 0.15. */
static void steps_give_the_target_acceptance(void **state)
{
    static double start[CHAINS * DIM], log_f[CHAINS];
    const wmi_rng rng = wmi_rng_make(1, "start");
    ladder l = {.dim = DIM, .bridges = BRIDGES, .mean = means, .sd = sds, .shift = shifts};
    const wm_path path = ladder_path(&l);
    const double targets[] = {0.65, 0.8};

    (void)state;
    wmi_rng_normal_f64(&rng, 0, CHAINS * DIM, start);
    for (int i = 0; i < 2; i++) {
        wm_anneal_opts o;
        wm_anneal *a = NULL, *down = NULL;
        wm_error err = {0};
        const wm_annealed *r, *d;

        wm_anneal_opts_init(&o);
        o.moves.target_accept = targets[i];
        o.steps = 200;
        assert_ok(wm_anneal_new(&a, &path, CHAINS, start, NULL, &o, &err), err);
        assert_ok(wm_anneal_run(a, &err), err);
        r = wm_anneal_result(a);
        for (int k = 0; k < BRIDGES; k++) {
            assert_near(r->accept[k], targets[i], 0.15);
            assert_true(r->table[k] < r->table[k + 1]);
            assert_int_equal(r->divergent[k], 0);
            /* a normal's step goes with its standard deviation */
            assert_near(log(r->table[k] / r->table[BRIDGES]), log(sds[k]), 0.4);
        }
        o.way = WM_ANNEAL_RAISE;
        o.table = r->table;
        for (int c = 0; c < CHAINS; c++)
            log_f[c] = ladder_log_p(&l, 0, &r->x[c * DIM], NULL, 0);
        assert_ok(wm_anneal_new(&down, &path, CHAINS, r->x, log_f, &o, &err), err);
        assert_ok(wm_anneal_run(down, &err), err);
        d = wm_anneal_result(down);
        for (int k = 0; k < BRIDGES; k++)
            assert_near(d->accept[k], r->accept[k], 0.1);
        wm_anneal_free(down);
        wm_anneal_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_give_the_target_acceptance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
