/* test_lr_schedule.c - the schedules against their formulas. */
#include "asserts.h"

#include "optim/lr_schedule.h"

static const double pi = 3.141592653589793;

static void constant_is_constant(void **state)
{
    const wmi_lr_schedule s = {.kind = WMI_LR_CONSTANT, .lr0 = 3e-4};

    (void)state;
    for (int64_t t = 0; t < 1000; t += 37)
        assert_true(wmi_lr_at(&s, t) == 3e-4);
}

static void cosine_is_the_paper_s(void **state)
{
    const wmi_lr_schedule s = {.kind = WMI_LR_COSINE, .lr0 = 1e-4, .total = 200};

    (void)state;
    assert_true(wmi_lr_at(&s, 0) == 1e-4);
    for (int64_t t = 0; t <= 200; t++)
        assert_near(wmi_lr_at(&s, t), 1e-4 * 0.5 * (1 + cos(pi * (double)t / 200)), 1e-19);
    for (int64_t t = 1; t < 200; t++)
        assert_true(wmi_lr_at(&s, t) < wmi_lr_at(&s, t - 1) && wmi_lr_at(&s, t) > 0);
    assert_true(wmi_lr_at(&s, 200) == 0);
    assert_true(wmi_lr_at(&s, 500) == 0); /* it does not rise again */
}

/* Close to the end (1 + cos) / 2 is (pi / 2 (T - t) / T)^2: keeps its digits after 1e9 steps. */
static void cosine_does_not_cancel_at_the_end(void **state)
{
    const int64_t total = 1000000000;
    const wmi_lr_schedule s = {.kind = WMI_LR_COSINE, .lr0 = 1, .total = total};
    const double a = pi / 2 / (double)total;

    (void)state;
    assert_near(wmi_lr_at(&s, total - 1), a * a, 1e-6 * a * a);
}

static void warmup_multiplies_and_ends(void **state)
{
    const wmi_lr_schedule flat = {.kind = WMI_LR_CONSTANT, .lr0 = 1, .warmup = 4};
    wmi_lr_schedule cosine = {.kind = WMI_LR_COSINE, .lr0 = 1, .total = 100, .warmup = 10};
    wmi_lr_schedule plain = cosine;

    (void)state;
    assert_near(wmi_lr_at(&flat, 0), 0.25, 1e-15);
    assert_near(wmi_lr_at(&flat, 2), 0.75, 1e-15);
    assert_true(wmi_lr_at(&flat, 3) == 1 && wmi_lr_at(&flat, 4) == 1);
    plain.warmup = 0;
    assert_near(wmi_lr_at(&cosine, 4), 0.5 * wmi_lr_at(&plain, 4), 1e-15);
    for (int64_t t = 9; t < 110; t++)
        assert_true(wmi_lr_at(&cosine, t) == wmi_lr_at(&plain, t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_is_constant),
        cmocka_unit_test(cosine_is_the_paper_s),
        cmocka_unit_test(cosine_does_not_cancel_at_the_end),
        cmocka_unit_test(warmup_multiplies_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
