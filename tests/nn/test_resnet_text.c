/* test_resnet_text.c - networks as lines of text: there and back, and what is not understood. */
#include <string.h>

#include "asserts.h"
#include "nn/cond_resnet.h"

static void names_and_lists_come_back(void **state)
{
    static const char *const texts[] = {
        "laptop",
        "paper",
        "stem 3/1 64, 64 down, attention, 64, 128 down project, dense 10",
        "stem 5/2 8, max, per-channel, dropout 0.25, 16, dense 4",
        "stem 3/1 4, 8, dense 4, cells 2x7, join 30",
        "stem 3/1 4, 8, dense 4, cells 2x7",
        "stem 5/2 8, flat, dense 4"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        wmi_resnet_opts a = {.height = 28, .width = 14, .channels = 3}, b = a;
        char text[512];
        wm_error err;

        assert_ok(wmi_resnet_parse(&a, texts[i], &err), err);
        assert_ok(wmi_resnet_parse(&b, wmi_resnet_text(&a, text, sizeof text), &err), err);
        assert_int_equal(b.height, 28);
        assert_int_equal(b.width, 14);
        assert_int_equal(b.channels, 3);
        assert_memory_equal(&a.stem, &b.stem, sizeof a.stem);
        assert_int_equal(a.n_blocks, b.n_blocks);
        for (int k = 0; k < a.n_blocks; k++) {
            assert_int_equal(a.block[k].width, b.block[k].width);
            assert_int_equal(a.block[k].down, b.block[k].down);
            assert_int_equal(a.block[k].project, b.block[k].project);
        }
        assert_int_equal(a.attention, b.attention);
        assert_int_equal(a.max_pool, b.max_pool);
        assert_int_equal(a.per_channel, b.per_channel);
        assert_int_equal(a.flat, i == 6);
        assert_int_equal(b.flat, a.flat);
        assert_int_equal(a.dense, b.dense);
        assert_int_equal(a.cells_down, b.cells_down);
        assert_int_equal(a.cells_across, b.cells_across);
        assert_int_equal(a.join, b.join);
        assert_int_equal(wmi_resnet_features(&a), i == 4 ? 30 : i == 5 ? 56 : a.dense);
        assert_near(a.dropout, b.dropout, 0);
        assert_near(a.slope, b.slope, 0);
    }
}

static void a_list_says_what_it_says(void **state)
{
    wmi_resnet_opts o = {.height = 28, .width = 28, .channels = 1};
    wm_error err;

    (void)state;
    assert_ok(wmi_resnet_parse(&o, "stem 3/1 64, 64 down, attention, 128 project, dense 10", &err),
              err);
    assert_int_equal(o.stem.window, 3);
    assert_int_equal(o.stem.width, 64);
    assert_int_equal(o.n_blocks, 2);
    assert_true(o.block[0].down && !o.block[1].down && o.block[1].project);
    assert_int_equal(o.block[1].width, 128);
    assert_int_equal(o.attention, 1);
    assert_int_equal(o.dense, 10);
}

static void nonsense_is_named(void **state)
{
    static const struct {
        const char *text, *names;
    } bad[] = {
        {"stem 3/1 64, 64 up, dense 10", "64 up"},
        {"stem 3/1 64, 64", "no dense"},
        {"64, dense 3", "no stem"},
        {"stem 3/0 64, dense 3", "stem 3/0"},
        {"stem 3/1 64, dropout 1, dense 3", "dropout 1"},
        {"attention, stem 3/1 64, dense 3", "attention"},
        {"stem 3/1 4, dense 3, join 9", "cells 3x3"},
        {"stem 3/1 4, dense 3, cells 2, join 9", "cells 2"},
        {"a network", "a network"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        wmi_resnet_opts o = {.height = 28, .width = 28, .channels = 1};
        wm_error err;

        assert_int_equal(wmi_resnet_parse(&o, bad[i].text, &err), WM_EINVAL);
        if (!strstr(err.text, bad[i].names))
            fail_msg("%s: %s", bad[i].text, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_and_lists_come_back),
                                       cmocka_unit_test(a_list_says_what_it_says),
                                       cmocka_unit_test(nonsense_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
