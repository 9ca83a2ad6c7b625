/* test_weights.c - weights against numpy's, by their definitions, in pieces, and out of the range
 * of double. */
#include "asserts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "waymark/weights.h"

#include "weights_values.h"

#define ROOT2 0.4142135623730951
#define GOLDEN 0.6180339887498949

/* The inputs of make_weights_values.py. */
static void stored_input(int which, double *l)
{
    for (int i = 0; i < STORED_N; i++) {
        double whole;
        const double u = modf((i + 1) * GOLDEN, &whole), v = modf((i + 1) * ROOT2, &whole);
        const double t = modf((i + 1) * 0.7320508, &whole);
        const double all[] = {-0.8 * log1p(-u), log(0.05 + u), 4 * (u + v + t - 1.5),
                              300 - 2.5 * log1p(-u)};

        l[i] = all[which];
    }
}

static wm_weights_opts with(wm_weights_tail tail, wm_weights_scale scale)
{
    wm_weights_opts o;

    wm_weights_opts_init(&o);
    o.tail = tail;
    o.scale = scale;
    return o;
}

static wm_weights_info make(double *out, const double *l, int64_t n, const wm_weights_opts *o)
{
    wm_weights_info info;
    wm_error err = {0};

    assert_ok(wm_weights_make(out, &info, l, n, o, &err), err);
    assert_int_equal(info.n, n);
    return info;
}

static void smoothed_weights_are_those_of_numpy(void **state)
{
    const wm_weights_opts o = with(WM_TAIL_PARETO, WM_SCALE_MEAN_ONE);
    double l[STORED_N], w[STORED_N];

    (void)state;
    for (int s = 0; s < 4; s++) {
        wm_weights_info info;

        stored_input(s, l);
        info = make(w, l, STORED_N, &o);
        assert_near(info.pareto_k, stored[s].k, 1e-9);
        assert_near(info.log_mean, stored[s].log_mean, 1e-12 * (1 + fabs(stored[s].log_mean)));
        assert_near(info.ess_ratio, stored[s].ess_ratio, 1e-9);
        assert_near(info.ess, stored[s].ess, 1e-8 * stored[s].ess);
        assert_near(info.max_share, stored[s].max_share, 1e-9);
        assert_int_equal(info.changed, 60);
        for (int i = 0; i < 20; i++)
            assert_near(w[i], stored[s].weight[i], 1e-9 * stored[s].weight[i]);
    }
}

static void scales_are_what_they_say(void **state)
{
    const wm_weights_tail tails[] = {WM_TAIL_KEEP, WM_TAIL_CLIP, WM_TAIL_PARETO};
    double l[STORED_N], w[STORED_N], logs[STORED_N];

    (void)state;
    stored_input(0, l);
    for (int t = 0; t < 3; t++) {
        wm_weights_opts o = with(tails[t], WM_SCALE_SUM_ONE);
        double sum = 0, squares = 0, most = 0;
        wm_weights_info info = make(w, l, STORED_N, &o);

        o.logs = true;
        make(logs, l, STORED_N, &o);
        for (int i = 0; i < STORED_N; i++) {
            sum += w[i];
            squares += w[i] * w[i];
            most = fmax(most, w[i]);
            assert_near(exp(logs[i]), w[i], 1e-15);
        }
        assert_near(sum, 1, 1e-13);
        assert_near(info.ess, 1 / squares, 1e-9);
        assert_near(info.max_share, most, 1e-14);
        o = with(tails[t], WM_SCALE_MEAN_ONE);
        make(logs, l, STORED_N, &o);
        for (int i = 0; i < STORED_N; i++)
            assert_near(logs[i], STORED_N * w[i], 1e-12);
        o = with(tails[t], WM_SCALE_RATIO);
        make(logs, l, STORED_N, &o);
        for (int i = 0; i < STORED_N; i++)
            if (l[i] <= info.threshold)
                assert_near(logs[i], exp(l[i]), 1e-14 * exp(l[i]));
            else
                assert_true(t > 0 && logs[i] >= exp(info.threshold) * (1 - 1e-14));
    }
}

/* log of the mean of r with its standard error, and the effective size of known weights. */
static void sums_are_those_of_the_definition(void **state)
{
    const double l[] = {0, log(2), log(3), -INFINITY};
    const wm_weights_opts o = with(WM_TAIL_KEEP, WM_SCALE_MEAN_ONE);
    double w[4];
    const wm_weights_info info = make(w, l, 4, &o);

    (void)state;
    assert_near(info.log_mean, log(1.5), 1e-15);
    assert_near(info.ess, 36.0 / 14, 1e-14);
    assert_near(info.log_mean_se, sqrt(14.0 / 36 - 0.25), 1e-15);
    assert_near(info.max_share, 0.5, 1e-15);
    assert_near(w[1], 4.0 / 3, 1e-15);
    assert_true(w[3] == 0 && isnan(info.pareto_k) && info.threshold == INFINITY);
}

static void clips_cut_where_they_are_told(void **state)
{
    wm_weights_opts o = with(WM_TAIL_CLIP, WM_SCALE_RATIO);
    double l[1000], w[1000];
    wm_weights_info info;

    (void)state;
    for (int i = 0; i < 1000; i++)
        l[i] = log((double)(1 + (i * 7) % 1000)); /* 1 to 1000 in no order */
    info = make(w, l, 1000, &o);                  /* the largest hundredth: 991 to 1000 */
    assert_int_equal(info.changed, 10);
    assert_near(info.threshold, log(990), 1e-14);
    for (int i = 0; i < 1000; i++)
        assert_near(w[i], fmin(exp(l[i]), 990), 1e-10);
    assert_near(info.ess_ratio, 500500.0 * 500500.0 / 333833500.0, 1e-9);
    o.clip_quantile = 0.9; /* (1 - 0.9) 600 is 60 less a rounding error */
    assert_int_equal(make(w, l, 600, &o).changed, 60);
    o.clip_quantile = 1;
    assert_int_equal(make(w, l, 1000, &o).changed, 0);
    o.clip_quantile = 0.3; /* more than the Pareto tail holds */
    assert_near(make(w, l, 1000, &o).threshold, log(300), 1e-14);
    o.clip_quantile = 1e-9;
    assert_near(make(w, l, 1000, &o).threshold, 0, 1e-14);
    o.clip_value = 400;
    info = make(w, l, 1000, &o);
    assert_int_equal(info.changed, 600);
    for (int i = 0; i < 1000; i++)
        assert_near(w[i], fmin(exp(l[i]), 400), 1e-10);
    o.scale = WM_SCALE_MEAN_ONE;
    make(w, l, 1000, &o);
    assert_near(w[0], 1 / (0.6 * 400 + 0.4 * 200.5), 1e-14); /* r = 1 over the mean */
}

static void relative_ratios_are_bounded(void **state)
{
    const double l[] = {-2e14, -800, -1, 0, 1, 800, 1e6};
    wm_weights_opts o = with(WM_TAIL_KEEP, WM_SCALE_RATIO);
    double w[7];

    (void)state;
    o.alpha = 0.2;
    make(w, l, 7, &o);
    assert_true(w[0] == 0);
    assert_near(w[2], exp(-1) / (0.2 * exp(-1) + 0.8), 1e-15);
    assert_near(w[3], 1, 1e-15);
    assert_near(w[4], exp(1) / (0.2 * exp(1) + 0.8), 1e-14);
    assert_near(w[5], 5, 1e-14);
    assert_near(w[6], 5, 1e-14);
    o.logs = true;
    make(w, l, 7, &o);
    assert_near(w[0], -2e14 - log(0.8), 1);
    assert_near(w[1], -800 - log(0.8), 1e-12);
}

/* What exp() cannot hold must not matter: the same weights under any shift, zeros where they are
 * due, and finite numbers everywhere. */
static void far_log_ratios_are_as_good_as_near_ones(void **state)
{
    const wm_weights_tail tails[] = {WM_TAIL_KEEP, WM_TAIL_CLIP, WM_TAIL_PARETO};
    double l[STORED_N], far[STORED_N], w[STORED_N], v[STORED_N];

    (void)state;
    for (int t = 0; t < 3; t++)
        for (int s = 0; s < 3; s++) {
            const double shift[] = {800, -800, -1e5};
            wm_weights_opts o = with(tails[t], WM_SCALE_MEAN_ONE);

            stored_input(0, l);
            l[5] = -2e14;
            for (int i = 0; i < STORED_N; i++)
                far[i] = l[i] + shift[s];
            make(w, l, STORED_N, &o);
            make(v, far, STORED_N, &o);
            assert_true(v[5] == 0 && w[5] == 0);
            for (int i = 0; i < STORED_N; i++)
                assert_near(v[i], w[i], 1e-9 * (1 + w[i]));
            o.logs = true;
            for (int i = 0; i < STORED_N; i++)
                far[i] = -5e11 * i; /* every one beyond the next */
            make(v, far, STORED_N, &o);
            if (t == 2) /* smoothed with so large a k, a few are as large as the largest */
                assert_true(v[0] <= log(STORED_N) && v[0] > log(STORED_N / 20.0));
            else
                assert_near(v[0], t == 1 ? v[4] : log(STORED_N), 1e-9);
            for (int i = 1; i < STORED_N; i++)
                assert_true(isfinite(v[i]) && v[i] <= v[i - 1]);
        }
}

/* Any pieces, any order of the second pass, and other points between those scanned. */
static void pieces_change_no_bit(void **state)
{
    const int64_t n = 20000;
    const wmi_rng rng = wmi_rng_make(1, "weights");
    double *l = malloc((size_t)n * sizeof *l), *w = malloc((size_t)n * sizeof *w),
           *v = malloc((size_t)n * sizeof *v);

    (void)state;
    assert_true(l && w && v);
    wmi_rng_normal_f64(&rng, 0, n, l);
    for (int64_t i = 0; i < n; i++)
        l[i] = i % 50 ? 3 * l[i] : 6; /* and ties, within the tail */
    for (int t = 0; t < 3; t++) {
        const wm_weights_tail tails[] = {WM_TAIL_KEEP, WM_TAIL_CLIP, WM_TAIL_PARETO};
        const wm_weights_opts o = with(tails[t], WM_SCALE_MEAN_ONE);
        wm_weights_info whole = make(w, l, n, &o), parts;
        wm_error err = {0};
        wm_weights *p;
        double between[3] = {4.9999, 5, 100}, got[3];

        assert_ok(wm_weights_new(&p, n, &o, &err), err);
        for (int64_t at = 0, size = 1; at < n; at += size, size = (size * 3) % 1009 + 1) {
            size = at + size > n ? n - at : size;
            assert_ok(wm_weights_scan(p, l + at, size, &err), err);
        }
        assert_ok(wm_weights_settle(p, &parts, &err), err);
        for (int64_t at = n - 100; at >= 0; at -= 100)
            wm_weights_apply(p, l + at, 100, v + at);
        assert_memory_equal(v, w, (size_t)n * sizeof *w);
        assert_memory_equal(&whole, &parts, sizeof whole);
        wm_weights_apply(p, between, 3, got);
        assert_true(got[0] <= got[1] && got[1] <= got[2] && isfinite(got[0]));
        if (t == 2)
            for (int64_t i = 100; i < n; i += 50)
                assert_true(w[i] == w[50]); /* equal ratios, equal weights */
        memcpy(v, l, (size_t)n * sizeof *v);
        assert_ok(wm_weights_make(v, NULL, v, n, &o, &err), err); /* in place */
        assert_memory_equal(v, w, (size_t)n * sizeof *w);
        wm_weights_free(p);
    }
    free(l), free(w), free(v);
}

static void bad_input_is_refused(void **state)
{
    double l[] = {0, 1, NAN}, w[3], zero[] = {-INFINITY, -INFINITY};
    wm_error err = {0};
    wm_weights_opts o;
    wm_weights *p;

    (void)state;
    assert_int_equal(wm_weights_make(w, NULL, l, 3, NULL, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "log-ratio 3 is NaN"));
    l[2] = INFINITY;
    assert_int_equal(wm_weights_make(w, NULL, l, 3, NULL, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "log-ratio 3 is inf"));
    assert_int_equal(wm_weights_make(w, NULL, zero, 2, NULL, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "all 2 log-ratios are -inf"));
    assert_int_equal(wm_weights_make(w, NULL, l, 0, NULL, &err), WM_EINVAL);
    o = with(WM_TAIL_CLIP, WM_SCALE_MEAN_ONE);
    o.clip_quantile = 1.5;
    assert_int_equal(wm_weights_make(w, NULL, l, 2, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "clip quantile is 1.5"));
    o.clip_value = -3;
    assert_int_equal(wm_weights_make(w, NULL, l, 2, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "clip value is -3"));
    o = with(WM_TAIL_KEEP, (wm_weights_scale)7);
    assert_int_equal(wm_weights_make(w, NULL, l, 2, &o, &err), WM_EINVAL);
    o = with(WM_TAIL_KEEP, WM_SCALE_MEAN_ONE);
    o.alpha = 1;
    assert_int_equal(wm_weights_make(w, NULL, l, 2, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "alpha is 1"));
    o = (wm_weights_opts){0};
    assert_int_equal(wm_weights_make(w, NULL, l, 2, &o, &err), WM_EINVAL);
    assert_ok(wm_weights_new(&p, 2, NULL, &err), err);
    assert_int_equal(wm_weights_scan(p, l, 3, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "more than the 2"));
    assert_ok(wm_weights_scan(p, l, 1, &err), err);
    assert_int_equal(wm_weights_settle(p, NULL, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "1 log-ratios, 2 were announced"));
    wm_weights_free(p);
    wm_weights_free(NULL);
}

static void memory_may_be_short(void **state)
{
    const double l[] = {0, 1};
    const int64_t live = wmi_alloc_live();
    double w[2];

    (void)state;
    for (int64_t k = 1; k <= 3; k++) {
        wmi_alloc_fail_at(k);
        assert_int_equal(wm_weights_make(w, NULL, l, 2, NULL, NULL), WM_ENOMEM);
        assert_int_equal(wmi_alloc_live(), live);
    }
    wmi_alloc_fail_at(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smoothed_weights_are_those_of_numpy),
        cmocka_unit_test(scales_are_what_they_say),
        cmocka_unit_test(sums_are_those_of_the_definition),
        cmocka_unit_test(clips_cut_where_they_are_told),
        cmocka_unit_test(relative_ratios_are_bounded),
        cmocka_unit_test(far_log_ratios_are_as_good_as_near_ones),
        cmocka_unit_test(pieces_change_no_bit),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(memory_may_be_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
