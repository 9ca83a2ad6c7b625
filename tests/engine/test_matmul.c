/* test_matmul.c - products in every mix of ranks and transposes against plain loops. */
#include "one_op.h"

#include "engine/program.h"

typedef struct mix {
    bool a3, b3, ta, tb; /* ranks of 3, transposes */
    int64_t m, n, k, p;
} mix;

static double at(const double *x, bool batched, bool t, int64_t rows, int64_t cols, int64_t m,
                 int64_t i, int64_t j) /* element (i, j) of op(x_m), which is (rows, cols) */
{
    return x[(batched ? m * rows * cols : 0) + (t ? j * rows + i : i * cols + j)];
}

static void add(double *x, bool batched, bool t, int64_t rows, int64_t cols, int64_t m, int64_t i,
                int64_t j, double v)
{
    x[(batched ? m * rows * cols : 0) + (t ? j * rows + i : i * cols + j)] += v;
}

static void check(mix z, one_build b, bool fresh)
{
    const bool batched = z.a3 || z.b3;
    const int64_t m = batched ? z.m : 1;
    const int64_t na = (z.a3 ? m : 1) * z.n * z.k, nb = (z.b3 ? m : 1) * z.k * z.p;
    const int64_t ny = m * z.n * z.p;
    double *va = one_op_values(1, na), *vb = one_op_values(2, nb), *dy = one_op_values(3, ny);
    double *y = one_op_zeros(ny), *da = one_op_zeros(na), *db = one_op_zeros(nb);
    const wmi_matmul_attr attr = {z.ta, z.tb};
    one_input in[2] = {{.rank = 0, .val = va, .grad = true}, {.rank = 0, .val = vb, .grad = true}};
    /* sums of up to N products of numbers up to 1, N below 1000; gradients may sum over m as well
     */
    const double tol = b.dtype == WMI_F32 ? 2e-5 : 1e-13;
    one_op o;

    if (z.a3)
        in[0].dim[in[0].rank++] = m;
    in[0].dim[in[0].rank++] = z.ta ? z.k : z.n;
    in[0].dim[in[0].rank++] = z.ta ? z.n : z.k;
    if (z.b3)
        in[1].dim[in[1].rank++] = m;
    in[1].dim[in[1].rank++] = z.tb ? z.p : z.k;
    in[1].dim[in[1].rank++] = z.tb ? z.k : z.p;

    for (int64_t i = 0; i < na && !fresh; i++)
        da[i] = ONE_OP_BEFORE;
    for (int64_t i = 0; i < nb && !fresh; i++)
        db[i] = ONE_OP_BEFORE;
    for (int64_t g = 0; g < m; g++)
        for (int64_t i = 0; i < z.n; i++)
            for (int64_t j = 0; j < z.p; j++)
                for (int64_t l = 0; l < z.k; l++) {
                    const double u = at(va, z.a3, z.ta, z.n, z.k, g, i, l);
                    const double v = at(vb, z.b3, z.tb, z.k, z.p, g, l, j);
                    const double d = dy[(g * z.n + i) * z.p + j];

                    y[(g * z.n + i) * z.p + j] += u * v;
                    add(da, z.a3, z.ta, z.n, z.k, g, i, l, d * v);
                    add(db, z.b3, z.tb, z.k, z.p, g, l, j, d * u);
                }
    one_op_run(&o, "matmul", b, &attr, 2, in, dy, fresh);
    assert_int_equal(o.nd.shape.rank, batched ? 3 : 2);
    assert_int_equal(o.nd.n, ny);
    assert_array("y", b, o.y, y, ny, tol);
    assert_array("da", b, o.dx[0], da, na, tol);
    assert_array("db", b, o.dx[1], db, nb, tol);
    one_op_free(&o);
    wmi_free(va);
    wmi_free(vb);
    wmi_free(dy);
    wmi_free(y);
    wmi_free(da);
    wmi_free(db);
}

static void all_mixes(int64_t m, int64_t n, int64_t k, int64_t p, one_build b)
{
    for (int bits = 0; bits < 16; bits++)
        check((mix){bits & 1, bits & 2, bits & 4, bits & 8, m, n, k, p}, b, (bits + n) & 1);
}

static void small_products_match_loops(void **state)
{
    const int64_t sizes[] = {0, 1, 2, 7, 33};
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 2, &b); i++)
        for (int c = 0; c < 125; c++)
            for (int64_t m = 0; m < 4; m++)
                all_mixes(m, sizes[c % 5], sizes[c / 5 % 5], sizes[c / 25], b);
}

/* Either side of the size from which products use threads of their own. */
static void large_products_match_loops(void **state)
{
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 2, &b); i++) {
        check(
            (mix){
                true,
                true,
                false,
                false,
                3,
                170,
                165,
                161,
            },
            b, true);
        check((mix){true, false, false, true, 3, 170, 165, 161}, b, false);
        check((mix){false, true, true, false, 5, 61, 130, 127}, b, true);
        check((mix){true, true, true, true, 9, 61, 130, 127}, b, false);
    }
}

static void repeats_give_the_same_bits(void **state)
{
    double *va = one_op_values(1, 5 * 97 * 301), *vb = one_op_values(2, 301 * 83);
    double *dy = one_op_values(3, 5 * 97 * 83);
    const wmi_matmul_attr attr = {false, false};
    const one_input in[] = {{3, {5, 97, 301}, va, true}, {2, {301, 83}, vb, true}};
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 2, &b); i++) {
        one_op first, again;

        one_op_run(&first, "matmul", b, &attr, 2, in, dy, true);
        for (int r = 0; r < 5; r++) {
            one_op_run(&again, "matmul", b, &attr, 2, in, dy, true);
            assert_memory_equal(first.y, again.y, (size_t)first.nd.n * sizeof(double));
            for (int k = 0; k < 2; k++)
                assert_memory_equal(first.dx[k], again.dx[k],
                                    (size_t)first.in[k].n * sizeof(double));
            one_op_free(&again);
        }
        one_op_free(&first);
    }
    wmi_free(va);
    wmi_free(vb);
    wmi_free(dy);
}

/* x x': both operands are one node, whose gradient is written by the first and added to by the
 * second. d/dx sum(x x') = 2 * (sum of the rows of x) in every row. */
static void one_node_can_be_both_operands(void **state)
{
    enum { N = 5, K = 3 };
    wmi_graph *g;
    wmi_program *p;
    wm_error err;
    void *x;
    const double *dx;

    (void)state;
    assert_ok(wmi_graph_new(&g, WMI_F64, NULL, &err), err);
    wmi_node *in = wmi_input(g, "x", 2, (const int64_t[]){N, K});
    wmi_node *loss = wmi_sum(g, wmi_matmul(g, in, in, false, true), WMI_ALL_AXES);
    assert_ok(wmi_compile(&p, g,
                          &(wmi_compile_opts){.loss = loss, .grad_inputs = &in, .n_grad_inputs = 1},
                          &err),
              err);
    assert_ok(wmi_program_input(p, "x", &x, &err), err);
    for (int i = 0; i < N * K; i++)
        ((double *)x)[i] = one_op_value(7, i);
    assert_ok(wmi_program_backward(p, &err), err);
    dx = wmi_program_grad(p, in);
    for (int j = 0; j < K; j++) {
        double sum = 0;

        for (int i = 0; i < N; i++)
            sum += ((double *)x)[i * K + j];
        for (int i = 0; i < N; i++)
            assert_near(dx[i * K + j], 2 * sum, 1e-13);
    }
    wmi_program_free(p);
    wmi_graph_free(g);
}

static void wrong_shapes_are_named(void **state)
{
    const struct {
        one_input a, b;
        bool ta, tb;
        const char *says;
    } bad[] = {
        {ONE_SHAPE(2, 2, 3), ONE_SHAPE(2, 4, 5), false, false, "a has 3 columns, b has 4 rows"},
        {ONE_SHAPE(2, 2, 3), ONE_SHAPE(2, 3, 5), true, false, "a' has 2 columns, b has 3 rows"},
        {ONE_SHAPE(2, 2, 3), ONE_SHAPE(3, 7, 3, 5), false, true, "a has 3 columns, b' has 5 rows"},
        {ONE_SHAPE(3, 2, 3, 4), ONE_SHAPE(3, 3, 4, 5), false, false, "batches of 2 and 3"},
        {ONE_SHAPE(1, 3), ONE_SHAPE(2, 3, 5), false, false, "rank 2 or 3"},
        {ONE_SHAPE(4, 1, 1, 2, 3), ONE_SHAPE(2, 3, 5), false, false, "rank 2 or 3"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const one_input in[] = {bad[i].a, bad[i].b};
        const wmi_matmul_attr attr = {bad[i].ta, bad[i].tb};
        wm_error err = {0};
        one_op o;

        assert_int_equal(
            one_op_infer(&o, "matmul", (one_build){WMI_F32, WMI_ISA_BASE, 1}, &attr, 2, in, &err),
            WM_ESHAPE);
        if (!strstr(err.text, bad[i].says))
            fail_msg("'%s' does not say '%s'", err.text, bad[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_products_match_loops), cmocka_unit_test(large_products_match_loops),
        cmocka_unit_test(repeats_give_the_same_bits),
        cmocka_unit_test(one_node_can_be_both_operands), cmocka_unit_test(wrong_shapes_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
