/* test_adam.c - the step against long-hand arithmetic and against numpy; groups, threads, failures.
 */
#include "asserts.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "adam_values.h"
#include "base/alloc.h"
#include "optim/adam.h"

/* Two steps of one parameter by hand, lr = 0.1, g = 2 then -1, from x = 1:
 *   m1 = .2, v1 = .004; x -= .1 sqrt(.001)/.1 * .2/(sqrt(.004) + 1e-8), which is nearly .1
 *   m2 = .9 * .2 - .1 = .08, v2 = .999 * .004 + .001 = .004996, step .1 sqrt(1 - .999^2)/(1 - .81)
 */
static void two_steps_by_hand(void **state)
{
    wm_error err = {0};
    wmi_adam *a = NULL;
    double x = 1, g = 2, expected = 1;

    (void)state;
    assert_ok(wmi_adam_new(&a, 1, 64, NULL, 0, NULL, &err), err);
    assert_ok(wmi_adam_step_f64(a, 0.1, &g, &x, &err), err);
    expected -= 0.1 * sqrt(0.001) / 0.1 * 0.2 / (sqrt(0.004) + 1e-8);
    assert_near(x, expected, 1e-14);
    assert_near(x, 0.9, 1e-7); /* the first step has length lr, but for eps */
    g = -1;
    assert_ok(wmi_adam_step_f64(a, 0.1, &g, &x, &err), err);
    expected -= 0.1 * sqrt(1 - 0.998001) / 0.19 * 0.08 / (sqrt(0.004996) + 1e-8);
    assert_near(x, expected, 1e-14);
    assert_near(*(double *)a->m, 0.08, 1e-15);
    assert_near(*(double *)a->v, 0.004996, 1e-17);
    assert_int_equal(a->t, 2);
    wmi_adam_free(a);
}

/* eps is added to the uncorrected sqrt(v): with g = eps the first step is
 * lr sqrt(1-b2)/(1-b1) * .1 eps / (sqrt(.001) eps + eps) = lr * .0316 / 1.0316, where the
 * textbook's form gives lr / 2. */
static void eps_is_that_of_tensorflow(void **state)
{
    wm_error err = {0};
    wmi_adam *a = NULL;
    double x = 0;
    const double g = 1e-8;

    (void)state;
    assert_ok(wmi_adam_new(&a, 1, 64, NULL, 0, NULL, &err), err);
    assert_ok(wmi_adam_step_f64(a, 1, &g, &x, &err), err);
    assert_near(x, -sqrt(0.001) / (sqrt(0.001) + 1), 1e-12);
    wmi_adam_free(a);
}

static const wmi_adam_group three_groups[] = {{0, 4, 1, 0}, {4, 2, 10, 0}, {6, 1, 1, 0}};

static double gradient(int i, double x)
{
    return -(i + 1) * sin(x + 0.3 * i) / 2 + 0.01;
}

/* Double: 25 steps add up some 100 roundings of numbers below 4. Float: 25 roundings of x < 4, each
 * at most 2^-23, make 3e-6. */
static void numpy_agrees_in_double_and_float(void **state)
{
    wm_error err = {0};
    wmi_adam *a = NULL, *b = NULL;
    double x[STORED_N], g[STORED_N];
    float x32[STORED_N], g32[STORED_N];
    size_t row = 0;

    (void)state;
    assert_ok(wmi_adam_new(&a, STORED_N, 64, three_groups, 3, NULL, &err), err);
    assert_ok(wmi_adam_new(&b, STORED_N, 32, three_groups, 3, NULL, &err), err);
    for (int i = 0; i < STORED_N; i++) {
        x[i] = 0.1 * (i + 1);
        x32[i] = (float)x[i];
    }
    for (int t = 1; t <= STORED_STEPS; t++) {
        for (int i = 0; i < STORED_N; i++) {
            g[i] = gradient(i, x[i]);
            g32[i] = (float)gradient(i, (double)x32[i]);
        }
        assert_ok(wmi_adam_step_f64(a, 0.05, g, x, &err), err);
        assert_ok(wmi_adam_step_f32(b, 0.05, g32, x32, &err), err);
        if (t != stored[row].t)
            continue;
        for (int i = 0; i < STORED_N; i++) {
            assert_near(x[i], stored[row].x[i], 1e-13);
            assert_near(((double *)a->m)[i], stored[row].m[i], 1e-13);
            assert_near(((double *)a->v)[i], stored[row].v[i], 1e-13);
            assert_near((double)x32[i], stored[row].x[i], 3e-6);
            assert_near((double)((float *)b->m)[i], stored[row].m[i], 3e-6);
            assert_near((double)((float *)b->v)[i], stored[row].v[i], 3e-6);
        }
        row++;
    }
    assert_int_equal(row, sizeof stored / sizeof *stored);
    wmi_adam_free(a);
    wmi_adam_free(b);
}

/* Equal gradients everywhere: each group moves by lr times its multiplier. */
static void groups_move_at_their_own_rate(void **state)
{
    static const wmi_adam_group groups[] = {
        {0, 3, 1, 0}, {3, 0, 5, 0}, {3, 2, 10, 0}, {5, 4, 0, 0}};
    static const double moved[] = {1, 1, 1, 10, 10, 0, 0, 0, 0};
    wm_error err = {0};
    wmi_adam *a = NULL;
    float x[9] = {0}, g[9];

    (void)state;
    for (int i = 0; i < 9; i++)
        g[i] = 3;
    assert_ok(wmi_adam_new(&a, 9, 32, groups, 4, NULL, &err), err);
    assert_ok(wmi_adam_step_f32(a, 1e-3, g, x, &err), err);
    for (int i = 0; i < 9; i++)
        assert_near((double)x[i], -1e-3 * moved[i], 1e-8);
    wmi_adam_free(a);
}

/* By hand, lr = 0.1: a first step of length lr (1 - tiny) and, decoupled from it, a shrinkage by lr
 * lr_mult decay. A gradient of zero leaves the shrinkage alone; a group that does not move keeps
 * its values whatever its decay. */
static void decay_is_decoupled(void **state)
{
    static const wmi_adam_group groups[] = {{0, 1, 1, 0.5}, {1, 1, 2, 0.5}, {2, 1, 0, 0.5}};
    const double g[3] = {1, 0, 1};
    double x[3] = {2, 2, 2};
    wm_error err = {0};
    wmi_adam *a = NULL;

    (void)state;
    assert_ok(wmi_adam_new(&a, 3, 64, groups, 3, NULL, &err), err);
    assert_ok(wmi_adam_step_f64(a, 0.1, g, x, &err), err);
    assert_near(x[0], 2 * (1 - 0.1 * 0.5) - 0.1, 1e-7);
    assert_near(x[1], 2 * (1 - 0.2 * 0.5), 1e-14);
    assert_true(x[2] == 2);
    wmi_adam_free(a);
}

/* 3 ^ 2 + 4 ^ 2 = 5 ^ 2, spread over 40 numbers. Adam's own step does not change when all gradients
 * are scaled alike, so it is m, the mean of g, that shows the clipping. */
static void a_long_gradient_is_scaled_down(void **state)
{
    enum { N = 40 };
    const wmi_adam_opts opts = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .clip = 1};
    float g[N] = {0}, x[N] = {0};
    wm_error err = {0};
    wmi_adam *a = NULL;

    (void)state;
    g[1] = 3;
    g[N - 1] = -4;
    assert_ok(wmi_adam_new(&a, N, 32, NULL, 0, &opts, &err), err);
    assert_ok(wmi_adam_step_f32(a, 0.1, g, x, &err), err);
    assert_near((double)((float *)a->m)[1], 0.1 * 0.6, 1e-8);
    assert_near((double)((float *)a->m)[N - 1], 0.1 * -0.8, 1e-8);
    assert_near((double)((float *)a->v)[1], 0.001 * 0.36, 1e-10);
    wmi_adam_free(a);
    g[1] = 0.3F;
    g[N - 1] = -0.4F; /* short enough */
    assert_ok(wmi_adam_new(&a, N, 32, NULL, 0, &opts, &err), err);
    assert_ok(wmi_adam_step_f32(a, 0.1, g, x, &err), err);
    assert_near((double)((float *)a->m)[1], 0.1 * 0.3, 1e-8);
    wmi_adam_free(a);
}

static void bits_do_not_depend_on_threads(void **state)
{
    enum { N = 200003 }; /* above the threshold of both groups, odd */
    static const wmi_adam_group groups[] = {{0, 70001, 1, 0}, {70001, N - 70001, 10, 0}};
    const int before = omp_get_max_threads(), threads[] = {1, 2, 7};
    float *g = malloc(N * sizeof *g), *x[3];
    wm_error err = {0};

    (void)state;
    assert_non_null(g);
    for (int k = 0; k < 3; k++) {
        wmi_adam *a = NULL;

        x[k] = calloc(N, sizeof *x[k]);
        assert_non_null(x[k]);
        omp_set_num_threads(threads[k]);
        assert_ok(wmi_adam_new(&a, N, 32, groups, 2, NULL, &err), err);
        for (int t = 0; t < 3; t++) {
            for (int i = 0; i < N; i++)
                g[i] = sinf((float)(i * 7 + t)) * (float)(i % 13);
            assert_ok(wmi_adam_step_f32(a, 1e-3, g, x[k], &err), err);
        }
        wmi_adam_free(a);
        assert_true(x[k][N - 1] != 0);
        assert_memory_equal(x[0], x[k], N * sizeof *g);
    }
    omp_set_num_threads(before);
    for (int k = 0; k < 3; k++)
        free(x[k]);
    free(g);
}

static void a_bad_gradient_changes_nothing(void **state)
{
    const float bad[] = {NAN, INFINITY, -INFINITY};
    wm_error err = {0};
    wmi_adam *a = NULL, *b = NULL;
    float x[5] = {1, 2, 3, 4, 5}, g[5] = {1, 1, 1, 1, 1}, x_before[5], m_before[5];
    double y = 1, h = NAN;

    (void)state;
    assert_ok(wmi_adam_new(&a, 5, 32, NULL, 0, NULL, &err), err);
    assert_ok(wmi_adam_step_f32(a, 0.1, g, x, &err), err);
    memcpy(x_before, x, sizeof x);
    memcpy(m_before, a->m, sizeof m_before);
    for (int k = 0; k < 3; k++) {
        g[3] = bad[k];
        assert_int_equal(wmi_adam_step_f32(a, 0.1, g, x, &err), WM_EDIVERGED);
        assert_non_null(strstr(err.text, "gradient 3 of 5"));
        assert_memory_equal(x, x_before, sizeof x);
        assert_memory_equal(a->m, m_before, sizeof m_before);
        assert_int_equal(a->t, 1);
    }
    assert_ok(wmi_adam_new(&b, 1, 64, NULL, 0, NULL, &err), err);
    assert_int_equal(wmi_adam_step_f64(b, 0.1, &h, &y, NULL), WM_EDIVERGED);
    assert_true(y == 1);
    wmi_adam_free(a);
    wmi_adam_free(b);
}

/* Copying t, m and v into a new optimiser continues as if nothing had happened. */
static void a_checkpoint_continues_bit_for_bit(void **state)
{
    wm_error err = {0};
    wmi_adam *a = NULL, *b = NULL;
    float x[3] = {1, 2, 3}, y[3];
    const float g[3] = {0.5F, -2, 1e-3F};

    (void)state;
    assert_ok(wmi_adam_new(&a, 3, 32, NULL, 0, NULL, &err), err);
    for (int t = 0; t < 5; t++)
        assert_ok(wmi_adam_step_f32(a, 0.1, g, x, &err), err);
    assert_ok(wmi_adam_new(&b, 3, 32, NULL, 0, NULL, &err), err);
    memcpy(y, x, sizeof x);
    memcpy(b->m, a->m, sizeof x);
    memcpy(b->v, a->v, sizeof x);
    b->t = a->t;
    assert_ok(wmi_adam_step_f32(a, 0.1, g, x, &err), err);
    assert_ok(wmi_adam_step_f32(b, 0.1, g, y, &err), err);
    assert_memory_equal(x, y, sizeof x);
    wmi_adam_free(a);
    wmi_adam_free(b);
}

static void wrong_arguments_are_refused(void **state)
{
    static const wmi_adam_group gap[] = {{0, 2, 1, 0}, {3, 2, 1, 0}},
                                overlap[] = {{0, 3, 1, 0}, {2, 3, 1, 0}}, short_[] = {{0, 4, 1, 0}},
                                beyond[] = {{0, 6, 1, 0}},
                                negative[] = {{0, -1, 1, 0}, {-1, 6, 1, 0}},
                                rate[] = {{0, 5, -1, 0}}, decay[] = {{0, 5, 1, NAN}};
    static const struct {
        const wmi_adam_group *groups;
        int64_t n_groups;
        const char *text;
    } cases[] = {{gap, 2, "expected to start at 2"},
                 {overlap, 2, "expected to start at 3"},
                 {short_, 1, "cover 4 of 5 parameters"},
                 {beyond, 1, "to end by 5"},
                 {negative, 2, "group 0 is 0 + -1"},
                 {rate, 1, "lr_mult -1"},
                 {decay, 1, "decay nan"},
                 {gap, -1, "in -1 groups"}};
    const wmi_adam_opts opts = {.beta1 = 1, .beta2 = 0.999, .eps = 1e-8};
    const wmi_adam_opts clip = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .clip = -1};
    wm_error err = {0};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        wmi_adam *a = (wmi_adam *)&err; /* must become NULL */

        assert_int_equal(wmi_adam_new(&a, 5, 32, cases[k].groups, cases[k].n_groups, NULL, &err),
                         WM_EINVAL);
        assert_null(a);
        assert_non_null(strstr(err.text, cases[k].text));
    }
    {
        const float g = NAN; /* beyond the end of an empty vector, so not looked at */
        float x = 1;
        wmi_adam *a = NULL;

        assert_int_equal(wmi_adam_new(&a, 5, 16, NULL, 0, NULL, &err), WM_EINVAL);
        assert_int_equal(wmi_adam_new(&a, -5, 32, NULL, 0, NULL, &err), WM_EINVAL);
        assert_int_equal(wmi_adam_new(&a, 5, 32, NULL, 0, &opts, &err), WM_EINVAL);
        assert_int_equal(wmi_adam_new(&a, 5, 32, NULL, 0, &clip, &err), WM_EINVAL);
        assert_ok(wmi_adam_new(&a, 0, 32, NULL, 0, NULL, &err), err); /* nothing to learn is fine */
        assert_ok(wmi_adam_step_f32(a, 0.1, &g, &x, &err), err);
        assert_true(x == 1);
        wmi_adam_free(a);
        wmi_adam_free(NULL);
    }
}

static void no_memory_leaks_nothing(void **state)
{
    const int64_t live = wmi_alloc_live();
    wm_error err = {0};

    (void)state;
    for (int k = 1; k <= 4; k++) {
        wmi_adam *a = NULL;

        wmi_alloc_fail_at(k);
        assert_int_equal(wmi_adam_new(&a, 5, 32, NULL, 0, NULL, &err), WM_ENOMEM);
        assert_null(a);
        assert_int_equal(wmi_alloc_live(), live);
    }
    wmi_alloc_fail_at(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_steps_by_hand),
        cmocka_unit_test(eps_is_that_of_tensorflow),
        cmocka_unit_test(numpy_agrees_in_double_and_float),
        cmocka_unit_test(groups_move_at_their_own_rate),
        cmocka_unit_test(decay_is_decoupled),
        cmocka_unit_test(a_long_gradient_is_scaled_down),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(a_bad_gradient_changes_nothing),
        cmocka_unit_test(a_checkpoint_continues_bit_for_bit),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(no_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
