/* test_mi_methods.c - every method where the truth is known, quick settings. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "mi/mi_methods.h"

typedef struct pairs {
    int64_t n, d;
    double *u, *v; /* (n, d) */
} pairs;

/* Standard normals, correlated column by column, mi nats in all. */
static pairs gaussian_pairs(double mi, int64_t n, int64_t d)
{
    const double rho = sqrt(-expm1(-2 * mi / (double)d));
    const wmi_rng a = wmi_rng_make(1, "u"), b = wmi_rng_make(1, "v");
    pairs p = {n, d, malloc((size_t)(n * d) * sizeof(double)),
               malloc((size_t)(n * d) * sizeof(double))};

    assert_true(p.u && p.v);
    wmi_rng_normal_f64(&a, 0, n * d, p.u);
    wmi_rng_normal_f64(&b, 0, n * d, p.v);
    for (int64_t i = 0; i < n * d; i++)
        p.v[i] = rho * p.u[i] + sqrt(1 - rho * rho) * p.v[i];
    return p;
}

static void free_pairs(pairs *p)
{
    free(p->u);
    free(p->v);
}

static wmi_mi_method_opts quick(void)
{
    wmi_mi_method_opts o;

    wmi_mi_method_opts_init(&o);
    o.adam.iterations = 300;
    o.adam.batch = 128;
    o.width = 64;
    o.adam.lr = 2e-3;
    o.adam.eval_every = 20;
    return o;
}

static wmi_mi_method_result run(wmi_mi_method kind, const pairs *p, const wmi_mi_method_opts *o)
{
    wmi_mi_method_result r;
    wm_error err;

    assert_ok(wmi_mi_method_run(kind, &(wmi_mi_rows){p->n, p->d, p->d, p->u, p->v}, o, &r, &err),
              err);
    return r;
}

/* The log-ratio has a standard deviation near 1.2 under p: its mean over 800 held-out rows has a
 * standard error of 0.043, plus what comes through q. */
static void one_nat_is_found_within_a_quarter(void **state)
{
    pairs p = gaussian_pairs(1, 4000, 5);
    const wmi_mi_method_opts o = quick();

    (void)state;
    for (int k = 0; k < WMI_MI_METHODS; k++) {
        const wmi_mi_method_result r = run((wmi_mi_method)k, &p, &o);

        assert_near(r.mi, 1, 0.25);
        assert_true(r.se > (k == WMI_MI_KSG ? 0.01 : 0.03) && r.se < 0.08);
        assert_int_equal(r.n_train + r.n_held_out, 4000);
        assert_true(k == WMI_MI_INFONCE ? fabs(r.bound - log(128)) < 1e-12 : r.bound == INFINITY);
        assert_true(k == WMI_MI_KSG ? r.steps == 0 : r.steps > 0 && r.steps <= 300);
        assert_true(!r.diverged && !r.doubtful && r.seconds > 0);
    }
    free_pairs(&p);
}

/* A critic that has fitted noise is a little negative; one that was kept from the start is 0. */
static void independence_gives_zero(void **state)
{
    pairs p = gaussian_pairs(0, 2000, 3);
    wmi_mi_method_opts o = quick();

    (void)state;
    o.adam.patience = 3;
    for (int k = 0; k < WMI_MI_METHODS; k++) {
        const wmi_mi_method_result r = run((wmi_mi_method)k, &p, &o);

        assert_near(r.mi, 0, 0.02 + 5 * r.se);
        assert_true(r.se < 0.03);
    }
    free_pairs(&p);
}

/* 10 nats, and a batch of 16: log 16 is all that it can say. */
static void infonce_stops_at_its_bound(void **state)
{
    pairs p = gaussian_pairs(10, 2000, 5);
    wmi_mi_method_opts o = quick();
    wmi_mi_method_result r;

    (void)state;
    o.adam.batch = 16;
    r = run(WMI_MI_INFONCE, &p, &o);
    assert_near(r.bound, log(16), 1e-12);
    assert_true(r.mi <= r.bound && r.mi > 0.8 * r.bound);
    free_pairs(&p);
}

/* SMILE's clipped tail lets it go beyond JS, which has the same critic. */
static void the_tail_is_what_separates_smile_from_js(void **state)
{
    pairs p = gaussian_pairs(6, 2000, 5);
    wmi_mi_method_opts o = quick();
    double wide, js, smile;

    (void)state;
    js = run(WMI_MI_JS, &p, &o).mi;
    smile = run(WMI_MI_SMILE, &p, &o).mi;
    o.tau = 100; /* nothing is clipped: DV of the critic, which is never below NWJ of it */
    wide = run(WMI_MI_SMILE, &p, &o).mi;
    assert_true(wide >= js);
    assert_true(smile > wide);
    free_pairs(&p);
}

static void the_seed_decides(void **state)
{
    pairs p = gaussian_pairs(1, 400, 2);
    wmi_mi_method_opts o = quick();

    (void)state;
    o.adam.iterations = 40;
    for (int k = 0; k < WMI_MI_METHODS; k++) {
        wmi_mi_method_result a, b, c;

        o.control.seed = 1;
        a = run((wmi_mi_method)k, &p, &o);
        b = run((wmi_mi_method)k, &p, &o);
        o.control.seed = 2;
        c = run((wmi_mi_method)k, &p, &o);
        assert_true(a.mi == b.mi && a.se == b.se);
        assert_true(a.se != c.se);
        assert_true(k == WMI_MI_KSG || a.mi != c.mi);
    }
    free_pairs(&p);
}

/* Two threads side by side, four that share two cores, and one: the bits of a single run. */
static void side_by_side_they_say_the_same(void **state)
{
    static const wmi_mi_method kinds[] = {WMI_MI_SMILE, WMI_MI_KSG, WMI_MI_INFONCE, WMI_MI_NWJ};
    const int before = omp_get_max_threads();
    pairs p = gaussian_pairs(1, 400, 2);
    wmi_mi_method_opts o = quick();

    (void)state;
    o.adam.iterations = 40;
    for (int threads = 1; threads <= 4; threads *= 2) {
        wmi_mi_method_result many[4];
        wm_error err;

        omp_set_num_threads(threads);
        assert_ok(wmi_mi_methods_run(4, kinds, &(wmi_mi_rows){p.n, 2, 2, p.u, p.v}, &o, many, &err),
                  err);
        assert_int_equal(omp_get_max_threads(), threads); /* left as it was */
        for (int k = 0; k < 4; k++) {
            const wmi_mi_method_result one = run(kinds[k], &p, &o);

            assert_true(many[k].mi == one.mi && many[k].se == one.se);
            assert_int_equal(many[k].steps, one.steps);
        }
    }
    omp_set_num_threads(before);
    o.adam.lr = -1;
    {
        wmi_mi_method_result many[4];
        wm_error err;

        assert_int_equal(
            wmi_mi_methods_run(1, kinds, &(wmi_mi_rows){p.n, 2, 2, p.u, p.v}, &o, many, &err),
            WM_EINVAL);
        assert_non_null(strstr(err.text, "lr -1"));
        assert_int_equal(
            wmi_mi_methods_run(7, kinds, &(wmi_mi_rows){p.n, 2, 2, p.u, p.v}, &o, many, &err),
            WM_EINVAL);
    }
    free_pairs(&p);
}

/* A wish to stop before the first step leaves the critic of the start: 0 nats. KSG reads a chosen
 * part where it is told to. */
static void limits_are_kept(void **state)
{
    pairs p = gaussian_pairs(1, 1000, 1);
    wmi_mi_method_opts o = quick();
    volatile sig_atomic_t stop = 1;
    wmi_mi_method_result r;

    (void)state;
    o.control.stop = &stop;
    r = run(WMI_MI_JS, &p, &o);
    assert_true(r.steps == 0 && fabs(r.mi) < 1e-12 && r.se < 1e-12);
    o.control.stop = NULL;
    o.control.time_limit = 1e-9;
    assert_int_equal(run(WMI_MI_NWJ, &p, &o).steps, 0);
    o.control.time_limit = 0;
    o.adam.patience = 1;
    o.adam.lr = 0.5; /* soon one look is worse than the last */
    assert_true(run(WMI_MI_JS, &p, &o).steps < 300);
    o.ksg_rows = 300;
    r = run(WMI_MI_KSG, &p, &o);
    assert_int_equal(r.n_held_out, 300);
    assert_near(r.mi, 1, 0.3); /* sd 0.07 at 300 rows */
    free_pairs(&p);
}

static void refusals_say_why(void **state)
{
    pairs p = gaussian_pairs(1, 60, 1);
    wmi_mi_method_opts o = quick();
    wmi_mi_method_result r;
    wm_error err;

    (void)state;
    assert_int_equal(wmi_mi_method_run(WMI_MI_JS, &(wmi_mi_rows){39, 1, 1, p.u, p.v}, &o, &r, &err),
                     WM_EINVAL);
    assert_non_null(strstr(err.text, "39 rows: at least 40"));
    assert_int_equal(wmi_mi_method_run(WMI_MI_JS, &(wmi_mi_rows){60, 0, 1, p.u, p.v}, &o, &r, &err),
                     WM_ESHAPE);
    o.held_out = 0.03;
    assert_int_equal(wmi_mi_method_run(WMI_MI_JS, &(wmi_mi_rows){60, 1, 1, p.u, p.v}, &o, &r, &err),
                     WM_EINVAL);
    o.held_out = 0.2;
    o.mine = 0;
    assert_int_equal(wmi_mi_method_run(WMI_MI_DV, &(wmi_mi_rows){60, 1, 1, p.u, p.v}, &o, &r, &err),
                     WM_EINVAL);
    o.mine = 0.01;
    p.v[9] = 1e39; /* no float */
    assert_int_equal(wmi_mi_method_run(WMI_MI_DV, &(wmi_mi_rows){60, 1, 1, p.u, p.v}, &o, &r, &err),
                     WM_EINVAL);
    assert_non_null(strstr(err.text, "v: row 10, column 1 is 1e+39"));
    p.v[9] = 0;
    o.adam.iterations = 2;
    for (int kind = 0; kind <= WMI_MI_NWJ; kind++)
        for (int k = 1;; k++) {
            const int64_t live = wmi_alloc_live();
            wm_status st;

            wmi_alloc_fail_at(k);
            st = wmi_mi_method_run((wmi_mi_method)kind, &(wmi_mi_rows){60, 1, 1, p.u, p.v}, &o, &r,
                                   &err);
            wmi_alloc_fail_at(0);
            assert_int_equal(wmi_alloc_live(), live);
            if (!st)
                break;
            assert_int_equal(st, WM_ENOMEM);
        }
    free_pairs(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_nat_is_found_within_a_quarter),
        cmocka_unit_test(independence_gives_zero),
        cmocka_unit_test(infonce_stops_at_its_bound),
        cmocka_unit_test(the_tail_is_what_separates_smile_from_js),
        cmocka_unit_test(the_seed_decides),
        cmocka_unit_test(side_by_side_they_say_the_same),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(refusals_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
