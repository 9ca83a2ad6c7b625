/* test_diagnose_words.c - each fault brings its sentence, in order of gravity, and health none. */
#include <string.h>

#include "asserts.h"

#include "waymark/sample.h"

static double rhat[3], bulk[3], tail[3], bfmi[4];

static wm_diagnosis healthy(void)
{
    for (int i = 0; i < 3; i++) {
        rhat[i] = 1.005;
        bulk[i] = tail[i] = 900 + i;
    }
    for (int i = 0; i < 4; i++)
        bfmi[i] = 0.9;
    return (wm_diagnosis){.chains = 4,
                          .draws = 1000,
                          .dim = 3,
                          .rhat = rhat,
                          .ess_bulk = bulk,
                          .ess_tail = tail,
                          .e_bfmi = bfmi,
                          .max_depth = 10};
}

/* The checks that speak against the draws, in order. */
static int64_t warnings(const wm_diagnosis *d, wm_checks *out)
{
    wm_checks all = {0};

    wm_diagnose_checks(d, &all);
    out->n = 0;
    for (int64_t i = 0; i < all.n; i++)
        if (all.check[i].outcome != WM_CHECK_OK)
            out->check[out->n++] = all.check[i];
    return out->n;
}

static void health_is_silent(void **state)
{
    const wm_diagnosis d = healthy();
    wm_checks found;

    (void)state;
    assert_int_equal(warnings(&d, &found), 0);
}

static void each_fault_has_its_sentence(void **state)
{
    wm_diagnosis d = healthy();
    wm_checks found;
    static const char *const words[] = {
        "20 of 4000 (0.5%) transitions ended with a divergence",
        "400 of 4000 (10%) transitions hit the maximum treedepth limit of 10",
        "1 of 4 chains had an E-BFMI below 0.3 (least: 0.20, chain 2)",
        "R-hat cannot be computed for 1 of 3 dimensions",
        "1 of 3 dimensions have an R-hat above 1.01 (largest: 1.3, dimension 1)",
        "2 of 3 dimensions have a bulk effective sample size below 400, 100 a chain (least: 40, "
        "dimension 2)",
        "1 of 3 dimensions have a tail effective sample size below 400, 100 a chain (least: 50, "
        "dimension 1)",
    };

    (void)state;
    d.divergent = 20;
    d.saturated = 400;
    bfmi[2] = 0.2;
    rhat[0] = (double)NAN;
    rhat[1] = 1.3;
    bulk[1] = 300;
    bulk[2] = 40;
    tail[1] = 50;
    assert_int_equal(warnings(&d, &found), 7);
    assert_int_equal(wm_checks_verdict(&found), WM_DOUBT);
    for (int i = 0; i < 7; i++) {
        const char *text = found.check[i].meaning;

        if (strncmp(text, words[i], strlen(words[i])) != 0)
            fail_msg("%s\n is not\n%s", text, words[i]);
        assert_true(strlen(text) < sizeof found.check[i].meaning - 1); /* not cut */
        assert_int_equal(text[strlen(text) - 1], '.');                 /* advice to its end */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(health_is_silent),
        cmocka_unit_test(each_fault_has_its_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
