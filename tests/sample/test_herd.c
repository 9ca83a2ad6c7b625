/* test_herd.c - rounds: who wants a point gets an answer for it, nobody else takes room. */
#include <string.h>

#include "asserts.h"

#include "sample/herd.h"

enum { CHAINS = 5, DIM = 2, BRIDGES = 3 };

typedef struct owner {
    wmi_herd herd;
    double point[CHAINS][DIM];
    int64_t left[CHAINS], rounds, rows[32], watched;
    bool last;
} owner;

static wm_status eval(void *ctx, int64_t n, const double *x, const double *weights, double *log_f,
                      double *grad, double *terms, wm_error *err)
{
    owner *o = ctx;

    (void)err;
    o->rows[o->rounds++] = n;
    for (int64_t i = 0; i < n; i++) {
        log_f[i] = x[i * DIM] + 10 * x[i * DIM + 1];
        memcpy(&grad[i * DIM], &x[i * DIM], DIM * sizeof *x);
        memcpy(&terms[i * BRIDGES], &weights[i * BRIDGES], BRIDGES * sizeof *weights);
    }
    return WM_OK;
}

static bool take(void *ctx, int64_t c, double log_f, const double *grad, const double *terms)
{
    owner *o = ctx;

    assert_near(log_f, o->point[c][0] + 10 * o->point[c][1], 0);
    assert_memory_equal(grad, o->point[c], sizeof o->point[c]);
    for (int k = 0; k < BRIDGES; k++)
        assert_near(terms[k], (double)(10 * c + k), 0);
    o->point[c][0] += 100;
    return --o->left[c] > 0;
}

static wm_status watch(void *ctx, bool last, wm_error *err)
{
    owner *o = ctx;

    (void)err;
    o->watched++;
    o->last = last;
    return WM_OK;
}

static void prepare(owner *o, const int64_t left[CHAINS])
{
    const wm_path path = {.dim = DIM, .bridges = BRIDGES, .eval = eval, .ctx = o};
    wm_moves moves, settled;
    wm_error err = {0};

    *o = (owner){0};
    wmi_moves_init(&moves);
    assert_ok(wmi_moves_settle(&settled, &moves, DIM, &err), err);
    assert_ok(wmi_herd_init(&o->herd, &path, CHAINS, &settled, 3, wmi_rng_make(1, "x"), &err), err);
    for (int c = 0; c < CHAINS; c++) {
        o->left[c] = left[c];
        o->point[c][0] = c;
        o->point[c][1] = c * c;
        o->herd.wants[c] = left[c] > 0;
        o->herd.chain[c].at = o->point[c];
        for (int k = 0; k < BRIDGES; k++)
            o->herd.weights[c * BRIDGES + k] = 10 * c + k;
    }
}

static void serves_those_who_want(void **state)
{
    static const int64_t left[CHAINS] = {3, 0, 5, 1, 3}, rows[] = {4, 3, 3, 1, 1};
    static owner o;
    wm_error err = {0};

    (void)state;
    prepare(&o, left);
    assert_ok(wmi_herd_run(&o.herd, take, watch, &o, NULL, &err), err);
    assert_int_equal(o.rounds, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(o.rows[i], rows[i]);
    assert_int_equal(o.herd.evals, 12);
    assert_int_equal(o.watched, 5);
    wmi_herd_clear(&o.herd);
}

static void stops_before_the_next_round(void **state)
{
    static const int64_t left[CHAINS] = {3, 1, 5, 1, 3};
    static owner o;
    volatile sig_atomic_t stop = 1;
    wm_error err = {0};

    (void)state;
    prepare(&o, left);
    assert_int_equal(wmi_herd_run(&o.herd, take, watch, &o, &stop, &err), WM_EINTERRUPTED);
    assert_int_equal(o.rounds, 0);
    assert_true(o.last); /* the last chance to save */
    stop = 0;
    assert_ok(wmi_herd_run(&o.herd, take, watch, &o, &stop, &err), err);
    assert_int_equal(o.herd.evals, 13);
    wmi_herd_clear(&o.herd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serves_those_who_want),
        cmocka_unit_test(stops_before_the_next_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
