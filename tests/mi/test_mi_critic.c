/* test_mi_critic.c - the losses of critics against their formulas, and steps that lower them. */
#include <string.h>

#include "asserts.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "base/sums.h"
#include "mi/mi_critic.h"

enum { B = 16, DU = 2, DV = 3 };

/* Pairs of correlated normals in the first half of the slots, of independent ones in the second. */
static void put_pairs(const wmi_critic *c, uint64_t seed)
{
    const wmi_rng rng = wmi_rng_make(seed, "pairs");

    for (int64_t i = 0; i < c->slots; i++) {
        float x[DU + DV];

        wmi_rng_normal_f32(&rng, (uint64_t)(i * (DU + DV)), DU + DV, x);
        if (i < c->batch)
            x[DU] = 0.9F * x[0] + 0.43F * x[DU];
        wmi_critic_put(c, i, x, x + DU);
    }
}

static void open_critic(wmi_critic *c, wmi_mi_method kind, double mine)
{
    wmi_mi_method_opts o;
    wm_error err;

    wmi_mi_method_opts_init(&o);
    o.width = 8;
    o.embed = 4;
    o.mine = mine;
    assert_ok(wmi_critic_open(c, kind, DU, DV, B, &o, &err), err);
}

/* Parameters that are no longer those of the start. */
static void disturb(wmi_critic *c)
{
    const wmi_rng rng = wmi_rng_make(5, "theta");

    wmi_rng_normal_f32(&rng, 0, c->n, c->theta);
    for (int64_t i = 0; i < c->n; i++)
        c->theta[i] *= 0.5F;
}

static void every_critic_starts_at_zero_and_learns(void **state)
{
    (void)state;
    for (int kind = 0; kind < WMI_MI_KSG; kind++) {
        const float *t;
        int64_t allocations;
        double first = 0, last = 0;
        wmi_critic c;
        wm_error err;

        open_critic(&c, (wmi_mi_method)kind, 1);
        put_pairs(&c, 1);
        assert_ok(wmi_critic_scores(&c, &t, &err), err);
        for (int64_t i = 0; i < (kind == WMI_MI_INFONCE ? B * B : 2 * B); i++)
            assert_true(t[i] == 0);
        allocations = wmi_alloc_count();
        for (int step = 0; step < 200; step++) {
            put_pairs(&c, 1);
            assert_ok(wmi_critic_step(&c, step, 0.01, &err), err);
            last = wmi_program_scalar(c.program, c.loss);
            if (step == 0)
                first = last;
        }
        assert_int_equal(wmi_alloc_count(), allocations);
        assert_true(last < first - 0.3); /* 32 pairs can be learned by heart */
        wmi_critic_close(&c);
    }
}

/* The derivative by the last bias, which adds to every T: E_q[e^T] / a - 1 with a = (1 - r)
 * a_before
 * + r E_q[e^T]. Floats of order 1: 1e-5. */
static void dv_has_the_gradient_of_mine(void **state)
{
    static const double shares[] = {0.01, 0.3, 1};

    (void)state;
    for (int k = 0; k < 3; k++) {
        const double r = shares[k], before = 1.7;
        double mean = 0, a;
        const float *t;
        int64_t bias;
        wmi_critic c;
        wm_error err;

        open_critic(&c, WMI_MI_DV, r);
        disturb(&c);
        put_pairs(&c, 2);
        bias = wmi_params_find(c.params, "out/b")->offset;
        *c.past = (float)log((1 - r) * before);
        assert_ok(wmi_critic_scores(&c, &t, &err), err);
        for (int i = B; i < 2 * B; i++)
            mean += exp((double)t[i]) / B;
        a = (1 - r) * before + r * mean;
        assert_ok(wmi_critic_step(&c, 0, 1e-3, &err), err);
        assert_true(fabs(mean / a - 1) > 1e-3 || r == 1); /* a gradient worth the name */
        assert_near((double)c.grad[bias], mean / a - 1, 1e-5);
        if (r < 1)
            assert_near((double)*c.past, log((1 - r) * a), 1e-5);
        else
            assert_true(*c.past == -INFINITY);
        wmi_critic_close(&c);
    }
}

static void losses_are_their_formulas(void **state)
{
    static const wmi_mi_method kinds[] = {WMI_MI_INFONCE, WMI_MI_NWJ, WMI_MI_JS, WMI_MI_SMILE};

    (void)state;
    for (int k = 0; k < 4; k++) {
        const float *t;
        double loss = 0;
        wmi_critic c;
        wm_error err;

        open_critic(&c, kinds[k], 0.01);
        disturb(&c);
        put_pairs(&c, 3);
        assert_ok(wmi_critic_scores(&c, &t, &err), err);
        for (int i = 0; i < B; i++) {
            if (kinds[k] == WMI_MI_INFONCE) {
                double row[B];

                for (int j = 0; j < B; j++)
                    row[j] = (double)t[i * B + j];
                loss += (wmi_log_sum_exp(row, B) - row[i]) / B;
            } else if (kinds[k] == WMI_MI_NWJ) {
                loss += (exp((double)t[B + i]) - (double)t[i] - 1) / B;
            } else {
                loss += (wmi_log1pexp(-(double)t[i]) + wmi_log1pexp((double)t[B + i])) / B;
            }
        }
        assert_near(wmi_program_scalar(c.program, c.loss), loss, 1e-5 * (1 + fabs(loss)));
        wmi_critic_close(&c);
    }
}

/* T(u_i, v_j) of InfoNCE is that of the pair, wherever it stands in the batch. */
static void separable_scores_are_those_of_the_pairs(void **state)
{
    const float *t;
    float own[B], crossed;
    const float u[DU] = {1, -1}, v[DV] = {0.5F, 2, -1};
    wmi_critic c;
    wm_error err;

    (void)state;
    open_critic(&c, WMI_MI_INFONCE, 1);
    disturb(&c);
    put_pairs(&c, 4);
    wmi_critic_put(&c, 3, u, v);
    memcpy(c.v + 5 * DV, v, sizeof v); /* slot 5 has the same v, another u */
    assert_ok(wmi_critic_scores(&c, &t, &err), err);
    for (int i = 0; i < B; i++)
        own[i] = t[i * B + i];
    crossed = t[3 * B + 5];
    assert_near((double)crossed, (double)own[3], 1e-5);
    assert_true(fabs((double)(t[5 * B + 3] - t[5 * B + 5])) < 1e-5);
    assert_true(fabs((double)(t[5 * B + 5] - own[3])) > 1e-3);
    wmi_critic_close(&c);
}

static void a_loss_beyond_floats_is_said_and_changes_nothing(void **state)
{
    const int64_t live = wmi_alloc_live();
    float before[1024];
    wmi_critic c;
    wm_error err;

    (void)state;
    open_critic(&c, WMI_MI_NWJ, 1);
    assert_true(c.n <= 1024);
    c.theta[wmi_params_find(c.params, "out/b")->offset] = 100; /* e^100 > 3e38 */
    memcpy(before, c.theta, (size_t)c.n * sizeof *before);
    put_pairs(&c, 1);
    assert_int_equal(wmi_critic_step(&c, 7, 1e-3, &err), WM_EDIVERGED);
    assert_non_null(strstr(err.text, "step 7"));
    assert_memory_equal(before, c.theta, (size_t)c.n * sizeof *before);
    wmi_critic_close(&c);
    assert_int_equal(wmi_alloc_live(), live);
}

static void neighbours_have_no_critic(void **state)
{
    wmi_mi_method_opts o;
    wmi_critic c;
    wm_error err;

    (void)state;
    wmi_mi_method_opts_init(&o);
    assert_int_equal(wmi_critic_open(&c, WMI_MI_KSG, 1, 1, 8, &o, &err), WM_EINVAL);
    wmi_critic_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_critic_starts_at_zero_and_learns),
        cmocka_unit_test(dv_has_the_gradient_of_mine),
        cmocka_unit_test(losses_are_their_formulas),
        cmocka_unit_test(separable_scores_are_those_of_the_pairs),
        cmocka_unit_test(a_loss_beyond_floats_is_said_and_changes_nothing),
        cmocka_unit_test(neighbours_have_no_critic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
