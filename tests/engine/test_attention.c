/* test_attention.c - softmax(q k') v and its gradients against plain loops in double. */
#include "one_op.h"

#include "engine/program.h"

typedef struct size {
    int64_t n, t, e, c;
} size;

/* y, and with dy the gradients, of one row of the batch. p, dp (t, t) are working memory. */
static void plain_row(size z, const double *q, const double *k, const double *v, double *y,
                      const double *dy, double *dq, double *dk, double *dv, double *p, double *ds)
{
    for (int64_t i = 0; i < z.t; i++) {
        double most = -INFINITY, total = 0, mean = 0;

        for (int64_t j = 0; j < z.t; j++) {
            p[i * z.t + j] = 0;
            for (int64_t a = 0; a < z.e; a++)
                p[i * z.t + j] += q[i * z.e + a] * k[j * z.e + a];
            most = fmax(most, p[i * z.t + j]);
        }
        for (int64_t j = 0; j < z.t; j++)
            total += exp(p[i * z.t + j] - most);
        for (int64_t j = 0; j < z.t; j++) {
            p[i * z.t + j] = exp(p[i * z.t + j] - most) / total;
            ds[i * z.t + j] = 0;
            for (int64_t a = 0; a < z.c; a++) {
                y[i * z.c + a] += p[i * z.t + j] * v[j * z.c + a];
                ds[i * z.t + j] += dy[i * z.c + a] * v[j * z.c + a];
                dv[j * z.c + a] += p[i * z.t + j] * dy[i * z.c + a];
            }
            mean += p[i * z.t + j] * ds[i * z.t + j];
        }
        for (int64_t j = 0; j < z.t; j++)
            for (int64_t a = 0; a < z.e; a++) {
                const double d = p[i * z.t + j] * (ds[i * z.t + j] - mean);

                dq[i * z.e + a] += d * k[j * z.e + a];
                dk[j * z.e + a] += d * q[i * z.e + a];
            }
    }
}

/* scale stretches the scores, which are sums of e products of numbers up to 1. */
static void check(size z, double scale, one_build b, bool fresh)
{
    const int64_t nq = z.n * z.t * z.e, nv = z.n * z.t * z.c;
    double *q = one_op_values(1, nq), *k = one_op_values(2, nq), *v = one_op_values(3, nv);
    double *dy = one_op_values(4, nv), *y = one_op_zeros(nv), *dq = one_op_zeros(nq);
    double *dk = one_op_zeros(nq), *dv = one_op_zeros(nv);
    double *p = one_op_zeros(z.t * z.t), *ds = one_op_zeros(z.t * z.t);
    const one_input in[] = {{3, {z.n, z.t, z.e}, q, true},
                            {3, {z.n, z.t, z.e}, k, true},
                            {3, {z.n, z.t, z.c}, v, true}};
    /* A score's rounding error, eps |s|, is a relative error of its probability: |s| up to e scale.
     */
    const double tol = (b.dtype == WMI_F32 ? 3e-6 : 1e-14) * (5 + scale * (double)z.e);
    one_op o;

    for (int64_t i = 0; i < nq; i++) {
        q[i] *= scale; /* a power of two: exact in float */
        dq[i] = dk[i] = fresh ? 0 : ONE_OP_BEFORE;
    }
    for (int64_t i = 0; i < nv; i++)
        dv[i] = fresh ? 0 : ONE_OP_BEFORE;
    for (int64_t i = 0; i < z.n; i++)
        plain_row(z, q + i * z.t * z.e, k + i * z.t * z.e, v + i * z.t * z.c, y + i * z.t * z.c,
                  dy + i * z.t * z.c, dq + i * z.t * z.e, dk + i * z.t * z.e, dv + i * z.t * z.c, p,
                  ds);
    one_op_run(&o, "attention", b, NULL, 3, in, dy, fresh);
    assert_array("y", b, o.y, y, nv, tol);
    assert_array("dq", b, o.dx[0], dq, nq, tol);
    assert_array("dk", b, o.dx[1], dk, nq, tol * scale); /* a sum of terms of size q */
    assert_array("dv", b, o.dx[2], dv, nv, tol);
    one_op_free(&o);
    wmi_free(q);
    wmi_free(k);
    wmi_free(v);
    wmi_free(dy);
    wmi_free(y);
    wmi_free(dq);
    wmi_free(dk);
    wmi_free(dv);
    wmi_free(p);
    wmi_free(ds);
}

static void matches_loops(void **state)
{
    const size sizes[] = {{0, 3, 2, 4},  {2, 0, 3, 4},   {1, 1, 1, 1},   {3, 5, 0, 2},
                          {3, 5, 2, 0},  {2, 1, 3, 5},   {1, 7, 3, 5},   {5, 13, 2, 9},
                          {3, 16, 8, 8}, {4, 49, 8, 64}, {3, 196, 8, 64}};
    one_build b;

    (void)state;
    for (int threads = 1; threads <= 7; threads += 3)
        for (int i = 0; one_op_build(i, threads, &b); i++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                check(sizes[s], 1, b, (s + (size_t)i) & 1);
}

/* Scores of some 200: most probabilities are 0, and exp of a score would overflow. */
static void wide_scores_match_loops(void **state)
{
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 2, &b); i++)
        for (double scale = 4; scale <= 256; scale *= 8)
            check((size){3, 21, 4, 6}, scale, b, true);
}

/* With the first place of the keys far ahead, every place reads the first value exactly. */
static void a_dominant_key_is_exact(void **state)
{
    enum { T = 11, E = 1, C = 3 };
    double q[T], k[T], v[T * C];
    const one_input in[] = {
        {3, {1, T, E}, q, true}, {3, {1, T, E}, k, true}, {3, {1, T, C}, v, true}};
    one_build b;

    (void)state;
    for (int i = 0; i < T; i++) {
        q[i] = 100;
        k[i] = i ? -50 : 50;
    }
    for (int i = 0; i < T * C; i++)
        v[i] = one_op_value(3, i);
    for (int i = 0; one_op_build(i, 1, &b); i++) {
        one_op o;

        one_op_run(&o, "attention", b, NULL, 3, in, NULL, false);
        for (int j = 0; j < T * C; j++)
            assert_true(o.y[j] == v[j % C]);
        one_op_free(&o);
    }
}

/* Two places with scores 0 and -s, of which only the second has a value: y = 1 / (1 + exp(s)),
 * whose relative error is that of the exponential, 2 ulp, and a few roundings. Below float's range
 * it is 0. */
static void small_probabilities_are_accurate(void **state)
{
    enum { ROWS = 87 * 32 };
    double q[ROWS * 2], k[ROWS * 2], v[ROWS * 2];
    const one_input in[] = {
        {3, {ROWS, 2, 1}, q, true}, {3, {ROWS, 2, 1}, k, true}, {3, {ROWS, 2, 1}, v, true}};
    one_build b;

    (void)state;
    for (int i = 0; i < ROWS * 2; i++) {
        q[i] = (i / 2) / 32.0;
        k[i] = i % 2 ? -1 : 0;
        v[i] = i % 2;
    }
    for (int i = 0; one_op_build(i, 2, &b); i++) {
        const double tol = b.dtype == WMI_F32 ? 5e-7 : 1e-15;
        one_op o;

        one_op_run(&o, "attention", b, NULL, 3, in, NULL, false);
        for (int j = 0; j < ROWS * 2; j++)
            assert_near(o.y[j] * (1 + exp(q[j])), 1, tol);
        one_op_free(&o);
    }
}

/* A query that is NaN spoils its own place and no other. */
static void nan_stays_where_it_is(void **state)
{
    enum { T = 19, C = 2 };
    double q[T], k[T], v[T * C];
    const one_input in[] = {
        {3, {1, T, 1}, q, true}, {3, {1, T, 1}, k, true}, {3, {1, T, C}, v, true}};
    one_build b;

    (void)state;
    for (int i = 0; i < T; i++) {
        q[i] = i == 4 ? NAN : one_op_value(1, i);
        k[i] = one_op_value(2, i);
    }
    for (int i = 0; i < T * C; i++)
        v[i] = one_op_value(3, i);
    for (int i = 0; one_op_build(i, 1, &b); i++) {
        one_op o;

        one_op_run(&o, "attention", b, NULL, 3, in, NULL, false);
        for (int j = 0; j < T * C; j++)
            assert_int_equal(isnan(o.y[j]), j / C == 4);
        one_op_free(&o);
    }
}

static void repeats_give_the_same_bits(void **state)
{
    double *x = one_op_values(1, 9 * 50 * 8), *dy = one_op_values(2, 9 * 50 * 8);
    const one_input in[] = {
        {3, {9, 50, 8}, x, true}, {3, {9, 50, 8}, x, true}, {3, {9, 50, 8}, x, true}};
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 2, &b); i++) {
        one_op first, again;

        one_op_run(&first, "attention", b, NULL, 3, in, dy, true);
        for (int r = 0; r < 5; r++) {
            one_op_run(&again, "attention", b, NULL, 3, in, dy, true);
            assert_memory_equal(first.y, again.y, (size_t)first.nd.n * sizeof(double));
            for (int k = 0; k < 3; k++)
                assert_memory_equal(first.dx[k], again.dx[k],
                                    (size_t)first.in[k].n * sizeof(double));
            one_op_free(&again);
        }
        one_op_free(&first);
    }
    wmi_free(x);
    wmi_free(dy);
}

/* q, k and v from one node: its gradient must be the sum of the three, although only the first of
 * them finds it fresh. */
static void one_node_can_be_all_three(void **state)
{
    const size z = {2, 6, 3, 3};
    const int64_t n = z.n * z.t * z.e;
    double *y = one_op_zeros(n), *want = one_op_zeros(n), *ones = one_op_zeros(n);
    double p[36], ds[36];
    wmi_graph *g;
    wmi_program *prog;
    wm_error err;
    void *at;

    (void)state;
    assert_ok(wmi_graph_new(&g, WMI_F64, NULL, &err), err);
    wmi_node *x = wmi_input(g, "x", 3, (const int64_t[]){z.n, z.t, z.e});
    wmi_node *loss = wmi_sum(g, wmi_attention(g, x, x, x), WMI_ALL_AXES);
    assert_ok(wmi_compile(&prog, g,
                          &(wmi_compile_opts){.loss = loss, .grad_inputs = &x, .n_grad_inputs = 1},
                          &err),
              err);
    assert_ok(wmi_program_input(prog, "x", &at, &err), err);
    for (int64_t i = 0; i < n; i++) {
        ((double *)at)[i] = one_op_value(5, i);
        ones[i] = 1;
    }
    for (int64_t i = 0; i < z.n; i++) {
        const double *row = (double *)at + i * z.t * z.e;
        double *d = want + i * z.t * z.e;

        plain_row(z, row, row, row, y + i * z.t * z.e, ones, d, d, d, p, ds);
    }
    assert_ok(wmi_program_backward(prog, &err), err);
    assert_array("dx", (one_build){WMI_F64, wmi_isa_best(), 0}, wmi_program_grad(prog, x), want, n,
                 1e-13);
    wmi_program_free(prog);
    wmi_graph_free(g);
    wmi_free(y);
    wmi_free(want);
    wmi_free(ones);
}

static void wrong_shapes_are_named(void **state)
{
    const struct {
        one_input in[3];
        const char *says;
    } bad[] = {
        {{ONE_SHAPE(3, 2, 3, 4), ONE_SHAPE(3, 2, 3, 5), ONE_SHAPE(3, 2, 3, 4)},
         "queries and keys differ"},
        {{ONE_SHAPE(3, 2, 3, 4), ONE_SHAPE(3, 2, 3, 4), ONE_SHAPE(3, 2, 4, 4)}, "values differ"},
        {{ONE_SHAPE(3, 2, 3, 4), ONE_SHAPE(2, 3, 4), ONE_SHAPE(3, 2, 3, 4)},
         "(rows, places, channels)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        wm_error err = {0};
        one_op o;

        assert_int_equal(one_op_infer(&o, "attention", (one_build){WMI_F32, WMI_ISA_BASE, 1}, NULL,
                                      3, bad[i].in, &err),
                         WM_ESHAPE);
        if (!strstr(err.text, bad[i].says))
            fail_msg("'%s' does not say '%s'", err.text, bad[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_loops),
        cmocka_unit_test(wide_scores_match_loops),
        cmocka_unit_test(a_dominant_key_is_exact),
        cmocka_unit_test(small_probabilities_are_accurate),
        cmocka_unit_test(nan_stays_where_it_is),
        cmocka_unit_test(repeats_give_the_same_bits),
        cmocka_unit_test(one_node_can_be_all_three),
        cmocka_unit_test(wrong_shapes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
