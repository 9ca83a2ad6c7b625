/* test_ops_values.c - forward values of the elementwise, broadcasting and reducing operations
 * against plain loops, at sizes 0, 1, odd and large, and their tails. */
#include "engine/op_values.h"

/* ---- elementwise ---- */

static wmi_node *build_affine(wmi_graph *g, wmi_node *x)
{
    return wmi_affine(g, x, -1.75, 0.375);
}

static wmi_node *build_leaky(wmi_graph *g, wmi_node *x)
{
    return wmi_leaky_relu(g, x, 0.25);
}

static wmi_node *build_bend(wmi_graph *g, wmi_node *x)
{
    return wmi_bent_relu(g, x, 0.25);
}

static double ref_affine(double x)
{
    return -1.75 * x + 0.375;
}

static double ref_leaky(double x)
{
    return x < 0 ? 0.25 * x : x;
}

static double ref_bend(double x)
{
    return fabs(x) >= 0.5 ? ref_leaky(x) : 0.25 * x + 0.75 * (x + 0.5) * (x + 0.5) / 2;
}

static void elementwise_functions_match_libm(void **state)
{
    static const struct {
        const char *name;
        wmi_node *(*build)(wmi_graph *, wmi_node *);
        double (*ref)(double);
    } functions[] = {{"affine", build_affine, ref_affine},
                     {"leaky_relu", build_leaky, ref_leaky},
                     {"bent_relu", build_bend, ref_bend},
                     {"exp", wmi_exp, exp}};
    static const int64_t sizes[] = {0, 1, 3, 17, 50001};
    (void)state;
    for (int t = 0; t < 2; t++) {
        for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
            for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
                bench b = begin(dtypes[t]);
                const double *got =
                    values(&b, functions[f].build(b.g, leaf(&b, NULL, 1, &sizes[k])));
                for (int64_t i = 0; i < sizes[k]; i++) {
                    const double want = functions[f].ref(b.x[0][i]);
                    if (!(fabs(got[i] - want) <= 8 * eps(&b) * (1 + fabs(want))))
                        fail_msg("%s(%.9g) = %.17g, expected %.17g", functions[f].name, b.x[0][i],
                                 got[i], want);
                }
                end(&b);
            }
        }
    }
}

/* A NaN must reach the loss, where it is reported. */
static void nan_goes_through(void **state)
{
    static const double x[] = {NAN, 1, 2, 0.5};
    (void)state;
    for (int t = 0; t < 2; t++) {
        wmi_node *(*const functions[])(wmi_graph *, wmi_node *) = {build_affine, build_leaky,
                                                                   wmi_exp, wmi_logsumexp};
        for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
            bench b = begin(dtypes[t]);
            /* cppcheck-suppress uninitvar ; the initializer of function pointers is beyond it */
            assert_true(isnan(values(&b, functions[f](b.g, leaf(&b, x, DIMS(1, 4))))[0]));
            end(&b);
        }
        for (int at = 0; at < 4; at++) { /* wherever it stands in the window */
            double w[] = {1, 2, 3, 4};
            bench b = begin(dtypes[t]);
            w[at] = NAN;
            assert_true(
                isnan(values(&b, wmi_pool2d(b.g, leaf(&b, w, DIMS(1, 2, 2, 1)), true, 2))[0]));
            end(&b);
        }
    }
}

/* ---- broadcasting ---- */

/* Where an operand of shape s stands at element i of the result, axis by axis. */
static int64_t operand_at(const wmi_shape *over, const wmi_shape *s, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int k = 1; k <= over->rank; k++) {
        const int64_t dim = over->dim[over->rank - k], index = i % dim;
        i /= dim;
        if (k > s->rank)
            continue;
        at += s->dim[s->rank - k] == 1 ? 0 : index * step;
        step *= s->dim[s->rank - k];
    }
    return at;
}

static void binary_functions_broadcast(void **state)
{
    static const struct {
        wmi_shape a, b, y;
    } shapes[] = {
        {{0, {0}}, {0, {0}}, {0, {0}}},
        {{1, {1}}, {1, {1}}, {1, {1}}},
        {{1, {0}}, {1, {1}}, {1, {0}}},
        {{2, {0, 3}}, {1, {3}}, {2, {0, 3}}},
        {{2, {3, 5}}, {2, {3, 5}}, {2, {3, 5}}},
        {{2, {3, 5}}, {0, {0}}, {2, {3, 5}}},
        {{1, {5}}, {2, {3, 5}}, {2, {3, 5}}},
        {{2, {3, 1}}, {2, {3, 5}}, {2, {3, 5}}},
        {{2, {3, 1}}, {2, {1, 5}}, {2, {3, 5}}},
        {{3, {3, 1, 4}}, {3, {1, 5, 1}}, {3, {3, 5, 4}}},
        {{6, {2, 1, 3, 1, 2, 1}}, {5, {2, 1, 3, 2, 3}}, {6, {2, 2, 3, 3, 2, 3}}},
        {{4, {2, 3, 1, 7}}, {4, {1, 3, 5, 1}}, {4, {2, 3, 5, 7}}},
        {{2, {301, 173}}, {1, {173}}, {2, {301, 173}}},
        {{2, {301, 1}}, {2, {301, 173}}, {2, {301, 173}}},
        {{3, {3, 40, 501}}, {3, {3, 1, 501}}, {3, {3, 40, 501}}},
        {{1, {50001}}, {1, {50001}}, {1, {50001}}},
    };
    wmi_node *(*const functions[])(wmi_graph *, wmi_node *, wmi_node *) = {wmi_add, wmi_sub,
                                                                           wmi_mul, wmi_div};
    (void)state;
    for (int t = 0; t < 2; t++) {
        for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
            for (int f = 0; f < 4; f++) {
                bench b = begin(dtypes[t]);
                wmi_node *p = leaf(&b, NULL, shapes[k].a.rank, shapes[k].a.dim);
                wmi_node *q = leaf(&b, NULL, shapes[k].b.rank, shapes[k].b.dim);
                wmi_node *y = functions[f](b.g, p, q); /* cppcheck-suppress uninitvar ; likewise */
                const double *got = values(&b, y);
                assert_shape(y, shapes[k].y.rank, shapes[k].y.dim);
                for (int64_t i = 0; i < y->n; i++) {
                    const double u = b.x[0][operand_at(&y->shape, &p->shape, i)];
                    const double v = b.x[1][operand_at(&y->shape, &q->shape, i)];
                    const double want = f == 0 ? u + v : f == 1 ? u - v : f == 2 ? u * v : u / v;
                    if (!(fabs(got[i] - want) <= 2 * eps(&b) * fabs(want)))
                        fail_msg("function %d, shapes %d, element %d: %.17g, expected %.17g", f,
                                 (int)k, (int)i, got[i], want);
                }
                end(&b);
            }
        }
    }
}

/* ---- reductions ---- */

/* In float the error is one rounding of a sum made in double: a float accumulator would fail the
 * long ones. Terms are shifted to be positive, so that the sum is large against its terms. */
static void sums_are_double_inside(void **state)
{
    static const wmi_shape shapes[] = {{0, {0}},
                                       {1, {1}},
                                       {1, {0}},
                                       {2, {0, 3}},
                                       {2, {3, 0}},
                                       {3, {3, 4, 5}},
                                       {1, {70001}},
                                       {2, {3, 50001}},
                                       {2, {50001, 3}},
                                       {2, {300, 700}},
                                       {4, {2, 300, 2, 40}},
                                       {6, {2, 3, 2, 3, 2, 3}}};
    (void)state;
    for (int t = 0; t < 2; t++) {
        for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
            for (unsigned axes = 0; axes < 1u << shapes[k].rank; axes++) {
                bench b = begin(dtypes[t]);
                wmi_node *x = leaf(&b, NULL, shapes[k].rank, shapes[k].dim);
                wmi_node *y = wmi_sum(b.g, x, axes);
                double *want;
                const double *got;
                wmi_shape kept = {.rank = x->shape.rank};
                for (int64_t i = 0; i < x->n; i++)
                    b.x[0][i] = (double)(float)(b.x[0][i] + 4);
                got = values(&b, y);
                want = doubles(y->n);
                for (int i = 0; i < kept.rank; i++)
                    kept.dim[i] = axes >> i & 1u ? 1 : x->shape.dim[i];
                for (int64_t i = 0; i < x->n; i++)
                    want[operand_at(&x->shape, &kept, i)] += b.x[0][i];
                for (int64_t i = 0; i < y->n; i++)
                    assert_near(got[i], want[i], (eps(&b) + 1e-12) * want[i]);
                free(want);
                end(&b);
            }
        }
    }
}

static void logsumexp_matches_loops(void **state)
{
    static const wmi_shape shapes[] = {{1, {1}},    {1, {4}},    {2, {3, 1}},    {3, {2, 3, 5}},
                                       {2, {0, 3}}, {2, {3, 0}}, {2, {700, 33}}, {2, {2, 20001}}};
    (void)state;
    for (int t = 0; t < 2; t++) {
        for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
            const int64_t d = shapes[k].dim[shapes[k].rank - 1];
            bench b = begin(dtypes[t]);
            wmi_node *y = wmi_logsumexp(b.g, leaf(&b, NULL, shapes[k].rank, shapes[k].dim));
            const double *got = values(&b, y);
            assert_shape(y, shapes[k].rank - 1, shapes[k].dim);
            for (int64_t i = 0; i < y->n; i++) {
                const double *row = b.x[0] + i * d;
                const double tol = 16 * eps(&b) + (double)d * 0x1p-53; /* of a sum in double */
                double sum = 0;
                for (int64_t j = 0; j < d; j++)
                    sum += exp(row[j]);
                if (d == 0) /* of nothing: log 0 */
                    assert_same(got[i], -INFINITY);
                else
                    assert_near(got[i], log(sum), tol * (1 + fabs(log(sum))));
            }
            end(&b);
        }
    }
}

static void logsumexp_has_exact_tails(void **state)
{
    static const double x[][2] = {{1000, 1000},   {-1000, -1000},         {1000, 0},
                                  {-INFINITY, 3}, {-INFINITY, -INFINITY}, {INFINITY, 1}};
    (void)state;
    for (int t = 0; t < 2; t++) {
        bench a = begin(dtypes[t]), d = begin(dtypes[t]);
        const double *lse = values(&a, wmi_logsumexp(a.g, leaf(&a, x[0], DIMS(6, 2))));
        const double *grad;
        assert_near(lse[0], 1000 + log(2), 2000 * eps(&a));
        assert_near(lse[1], -1000 + log(2), 2000 * eps(&a));
        assert_same(lse[2], 1000.0);
        assert_same(lse[3], 3.0);
        assert_same(lse[4], -INFINITY);
        assert_same(lse[5], INFINITY);
        /* rows of -inf alone have a loss of exp(-inf) = 0 and must not make NaN of the gradient */
        grad = gradient(&d, wmi_exp(d.g, wmi_logsumexp(d.g, leaf(&d, x[4], DIMS(1, 2)))));
        assert_same(grad[0], 0.0);
        assert_same(grad[1], 0.0);
        end(&a);
        end(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_functions_match_libm),
        cmocka_unit_test(nan_goes_through),
        cmocka_unit_test(binary_functions_broadcast),
        cmocka_unit_test(sums_are_double_inside),
        cmocka_unit_test(logsumexp_matches_loops),
        cmocka_unit_test(logsumexp_has_exact_tails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
