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

static wmi_node *build_log(wmi_graph *g, wmi_node *x)
{
    return wmi_log(g, wmi_exp(g, x));
}

static double ref_affine(double x)
{
    return -1.75 * x + 0.375;
}

static double ref_leaky(double x)
{
    return x < 0 ? 0.25 * x : x;
}

static double ref_relu(double x)
{
    return x < 0 ? 0 : x;
}

static double ref_softplus(double x)
{
    return log(1 + exp(x)); /* |x| < 3: the naive formula will do */
}

static double ref_log(double x)
{
    return x;
}

static void elementwise_functions_match_libm(void **state)
{
    static const struct {
        const char *name;
        wmi_node *(*build)(wmi_graph *, wmi_node *);
        double (*ref)(double);
    } functions[] = {{"affine", build_affine, ref_affine},
                     {"leaky_relu", build_leaky, ref_leaky},
                     {"relu", wmi_relu, ref_relu},
                     {"tanh", wmi_tanh, tanh},
                     {"softplus", wmi_softplus, ref_softplus},
                     {"exp", wmi_exp, exp},
                     {"log of exp", build_log, ref_log}};
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

static void softplus_has_exact_tails(void **state)
{
    static const double x[] = {-1e4, -800, -80, -30, 30, 80, 800, 1e4};
    (void)state;
    for (int t = 0; t < 2; t++) {
        bench b = begin(dtypes[t]), d = begin(dtypes[t]);
        const double *y = values(&b, wmi_softplus(b.g, leaf(&b, x, DIMS(8))));
        const double *dy = gradient(&d, wmi_softplus(d.g, leaf(&d, x, DIMS(8))));
        for (int i = 0; i < 8; i++) {
            const double low = exp(-fabs(x[i])); /* below 1e-13: two terms of a series suffice */
            const double want = x[i] > 0 ? x[i] + low : low - low * low / 2;
            const double slope = x[i] > 0 ? 1 - low : low - low * low;
            assert_near(y[i], want, 4 * eps(&b) * want);
            assert_near(dy[i], slope, 4 * eps(&b) * slope);
        }
        assert_true(y[0] == 0 && y[7] == 1e4); /* log(1 + exp(x)) as written gives inf */
        end(&b);
        end(&d);
    }
}

/* A NaN must reach the loss, where it is reported. */
static void nan_goes_through(void **state)
{
    static const double x[] = {NAN, 1, 2, 0.5};
    (void)state;
    for (int t = 0; t < 2; t++) {
        wmi_node *(*const functions[])(wmi_graph *, wmi_node *) = {
            wmi_relu, wmi_tanh,      wmi_softplus, wmi_exp,
            wmi_log,  wmi_logsumexp, wmi_softmax,  wmi_log_softmax};
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

static void logsumexp_and_softmax_match_loops(void **state)
{
    static const wmi_shape shapes[] = {{1, {1}},    {1, {4}},    {2, {3, 1}},    {3, {2, 3, 5}},
                                       {2, {0, 3}}, {2, {3, 0}}, {2, {700, 33}}, {2, {2, 20001}}};
    (void)state;
    for (int t = 0; t < 2; t++) {
        for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
            const int64_t d = shapes[k].dim[shapes[k].rank - 1];
            bench b[3];
            wmi_node *y[3];
            const double *got[3];
            for (int f = 0; f < 3; f++) {
                wmi_node *x;
                b[f] = begin(dtypes[t]);
                x = leaf(&b[f], NULL, shapes[k].rank, shapes[k].dim);
                y[f] = f == 0   ? wmi_logsumexp(b[f].g, x)
                       : f == 1 ? wmi_softmax(b[f].g, x)
                                : wmi_log_softmax(b[f].g, x);
                got[f] = values(&b[f], y[f]);
            }
            assert_shape(y[0], shapes[k].rank - 1, shapes[k].dim);
            for (int64_t i = 0; i < y[0]->n; i++) {
                const double *row = b[0].x[0] + i * d;
                const double tol =
                    16 * eps(&b[0]) + (double)d * 0x1p-53; /* of a sum of d in double */
                double sum = 0;
                for (int64_t j = 0; j < d; j++)
                    sum += exp(row[j]);
                if (d == 0) { /* of nothing: log 0 */
                    assert_same(got[0][i], -INFINITY);
                    continue;
                }
                assert_near(got[0][i], log(sum), tol * (1 + fabs(log(sum))));
                for (int64_t j = 0; j < d; j++) {
                    const double log_p = row[j] - log(sum);
                    assert_near(got[1][i * d + j], exp(log_p), tol * exp(log_p));
                    assert_near(got[2][i * d + j], log_p, tol * (1 + fabs(log_p)));
                }
            }
            for (int f = 0; f < 3; f++)
                end(&b[f]);
        }
    }
}

static void logsumexp_and_softmax_have_exact_tails(void **state)
{
    static const double x[][2] = {{1000, 1000},   {-1000, -1000},         {1000, 0},
                                  {-INFINITY, 3}, {-INFINITY, -INFINITY}, {INFINITY, 1},
                                  {-90, -90 - 20}};
    (void)state;
    for (int t = 0; t < 2; t++) {
        bench a = begin(dtypes[t]), b = begin(dtypes[t]), c = begin(dtypes[t]),
              d = begin(dtypes[t]);
        const double *lse = values(&a, wmi_logsumexp(a.g, leaf(&a, x[0], DIMS(7, 2))));
        const double *p = values(&b, wmi_softmax(b.g, leaf(&b, x[0], DIMS(7, 2))));
        const double *log_p = values(&c, wmi_log_softmax(c.g, leaf(&c, x[0], DIMS(7, 2))));
        const double *grad;
        assert_near(lse[0], 1000 + log(2), 2000 * eps(&a));
        assert_near(lse[1], -1000 + log(2), 2000 * eps(&a));
        assert_same(lse[2], 1000.0);
        assert_same(lse[3], 3.0);
        assert_same(lse[4], -INFINITY);
        assert_same(lse[5], INFINITY);
        assert_near(p[0], 0.5, 0);
        assert_near(p[2], 0.5, 0);
        assert_same(p[4], 1.0);
        assert_same(p[5], 0.0);
        assert_same(p[6], 0.0);
        assert_same(p[7], 1.0);
        assert_true(isnan(p[8])); /* no such distribution */
        assert_near(log_p[0], -log(2), 2 * eps(&a));
        assert_same(log_p[4], 0.0);
        assert_same(log_p[5], -1000.0);
        assert_same(log_p[6], -INFINITY);
        assert_near(log_p[12], -log1p(exp(-20)), 2 * eps(&a));
        /* rows of -inf alone have a loss of exp(-inf) = 0 and must not make NaN of the gradient */
        grad = gradient(&d, wmi_exp(d.g, wmi_logsumexp(d.g, leaf(&d, x[4], DIMS(1, 2)))));
        assert_same(grad[0], 0.0);
        assert_same(grad[1], 0.0);
        end(&a);
        end(&b);
        end(&c);
        end(&d);
    }
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_functions_match_libm),
        cmocka_unit_test(softplus_has_exact_tails),
        cmocka_unit_test(nan_goes_through),
        cmocka_unit_test(binary_functions_broadcast),
        cmocka_unit_test(sums_are_double_inside),
        cmocka_unit_test(logsumexp_and_softmax_match_loops),
        cmocka_unit_test(logsumexp_and_softmax_have_exact_tails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
