/* test_average.c - the running average against its weights written out; swapping keeps all bits. */
#include "asserts.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "optim/average.h"

enum { N = 5, STEPS = 40 };

static double value(int t, int i)
{
    return sin(3.0 * t + i) + 0.1 * i;
}

/* After T vectors the weight of x_t is decay^(T-t) (1-decay) / (1 - decay^T), or, from the first
 * vector, (1-decay) decay^(T-t) with decay^(T-1) for t = 1. */
static void mean_is_the_weighted_sum(void **state)
{
    const double d = 0.9;
    wm_error err = {0};

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        const wmi_average_start start = kind ? WMI_AVERAGE_FROM_FIRST : WMI_AVERAGE_CORRECTED;
        wmi_average *a = NULL, *b = NULL;

        assert_ok(wmi_average_new(&a, N, d, start, &err), err);
        assert_ok(wmi_average_new(&b, N, d, start, &err), err);
        for (int last = 1; last <= STEPS; last++) {
            double x[N];
            float x32[N];

            for (int i = 0; i < N; i++)
                x32[i] = (float)(x[i] = value(last, i));
            wmi_average_update_f64(a, x);
            wmi_average_update_f32(b, x32);
            for (int i = 0; i < N; i++) {
                double expected = 0, expected32 = 0;

                for (int t = 1; t <= last; t++) {
                    const double w = kind ? (t == 1 ? pow(d, last - 1) : (1 - d) * pow(d, last - t))
                                          : pow(d, last - t) * (1 - d) / (1 - pow(d, last));

                    expected += w * value(t, i);
                    expected32 += w * (double)(float)value(t, i);
                }
                assert_near(a->mean[i], expected, 1e-14);
                assert_near(b->mean[i], expected32, 1e-14); /* float in, double inside */
            }
        }
        assert_int_equal(a->count, STEPS);
        wmi_average_free(a);
        wmi_average_free(b);
    }
}

static void decay_zero_follows_and_a_constant_stays(void **state)
{
    wm_error err = {0};
    wmi_average *follow = NULL, *slow = NULL;
    const double x[] = {1, 2, 3}, y[] = {-4, 5, 0.1};

    (void)state;
    assert_ok(wmi_average_new(&follow, 3, 0, WMI_AVERAGE_CORRECTED, &err), err);
    wmi_average_update_f64(follow, x);
    wmi_average_update_f64(follow, y);
    for (int i = 0; i < 3; i++)
        assert_near(follow->mean[i], y[i], 1e-15);
    assert_ok(wmi_average_new(&slow, 3, 0.9999, WMI_AVERAGE_CORRECTED, &err), err);
    for (int t = 0; t < 1000; t++)
        wmi_average_update_f64(slow, y);
    for (int i = 0; i < 3; i++)
        assert_true(slow->mean[i] == y[i]);
    wmi_average_free(follow);
    wmi_average_free(slow);
}

static void swapping_in_and_out_loses_nothing(void **state)
{
    wm_error err = {0};
    wmi_average *a = NULL;
    float x[N], before[N];
    double y[N], y_before[N], mean[N];

    (void)state;
    assert_ok(wmi_average_new(&a, N, 0.99, WMI_AVERAGE_FROM_FIRST, &err), err);
    for (int t = 1; t <= 3; t++) {
        for (int i = 0; i < N; i++)
            x[i] = (float)(y[i] = value(t, i));
        wmi_average_update_f32(a, x);
    }
    memcpy(before, x, sizeof x);
    memcpy(y_before, y, sizeof y);
    memcpy(mean, a->mean, sizeof mean);
    wmi_average_swap_in_f32(a, x);
    for (int i = 0; i < N; i++)
        assert_true(x[i] == (float)mean[i] && x[i] != before[i]);
    wmi_average_swap_out_f32(a, x);
    assert_memory_equal(x, before, sizeof x);
    wmi_average_swap_in_f64(a, y);
    assert_memory_equal(y, mean, sizeof y);
    wmi_average_swap_out_f64(a, y);
    assert_memory_equal(y, y_before, sizeof y);
    assert_memory_equal(a->mean, mean, sizeof mean);
    wmi_average_free(a);
}

static void bits_do_not_depend_on_threads(void **state)
{
    enum { LONG = 100003 };
    const int before = omp_get_max_threads(), threads[] = {1, 2, 7};
    float *x = malloc(LONG * sizeof *x);
    wmi_average *a[3] = {NULL};
    wm_error err = {0};

    (void)state;
    assert_non_null(x);
    for (int k = 0; k < 3; k++) {
        omp_set_num_threads(threads[k]);
        assert_ok(wmi_average_new(&a[k], LONG, 0.9, WMI_AVERAGE_CORRECTED, &err), err);
        for (int t = 0; t < 3; t++) {
            for (int i = 0; i < LONG; i++)
                x[i] = sinf((float)(i + 5 * t));
            wmi_average_update_f32(a[k], x);
        }
        assert_memory_equal(a[0]->mean, a[k]->mean, LONG * sizeof(double));
    }
    omp_set_num_threads(before);
    for (int k = 0; k < 3; k++)
        wmi_average_free(a[k]);
    free(x);
}

static void failures_are_reported(void **state)
{
    const int64_t live = wmi_alloc_live();
    wm_error err = {0};
    wmi_average *a = NULL;

    (void)state;
    assert_int_equal(wmi_average_new(&a, 3, 1, WMI_AVERAGE_CORRECTED, &err), WM_EINVAL);
    assert_int_equal(wmi_average_new(&a, 3, NAN, WMI_AVERAGE_CORRECTED, &err), WM_EINVAL);
    assert_int_equal(wmi_average_new(&a, -3, 0.9, WMI_AVERAGE_CORRECTED, &err), WM_EINVAL);
    for (int k = 1; k <= 3; k++) {
        wmi_alloc_fail_at(k);
        assert_int_equal(wmi_average_new(&a, 3, 0.9, WMI_AVERAGE_CORRECTED, &err), WM_ENOMEM);
        assert_null(a);
    }
    wmi_alloc_fail_at(0);
    assert_int_equal(wmi_alloc_live(), live);
    wmi_average_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_is_the_weighted_sum),
        cmocka_unit_test(decay_zero_follows_and_a_constant_stays),
        cmocka_unit_test(swapping_in_and_out_loses_nothing),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(failures_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
