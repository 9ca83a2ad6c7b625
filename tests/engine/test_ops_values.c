/* test_ops_values.c - forward values of the elementwise, reducing and rearranging operations
 * against plain loops, in float and double, at sizes 0, 1, odd and large; tails; and what builders
 * say about bad shapes. References are computed in double from the inputs as the graph holds them.
 */
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "engine/ops.h"
#include "engine/program.h"

enum { MAX_LEAVES = 6 };

/* A graph with its leaves and their values; made by begin(), run by values() or gradients(). */
typedef struct bench {
    wmi_dtype dtype;
    wmi_graph *g;
    wmi_program *p;
    wmi_node *leaf[MAX_LEAVES];
    double *x[MAX_LEAVES]; /* rounded to dtype */
    int n_leaves;
    double *out; /* what the last run gave */
    bool training;
    uint64_t seed, step;
    wm_error err;
} bench;

#define DIMS(...)                                                                                  \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), ((const int64_t[]){__VA_ARGS__})

static const wmi_dtype dtypes[] = {WMI_F32, WMI_F64};

/* Half a unit in the last place of 1. */
static double eps(const bench *b)
{
    return b->dtype == WMI_F32 ? 0x1p-24 : 0x1p-53;
}

static bench begin(wmi_dtype dtype)
{
    bench b = {.dtype = dtype};
    assert_ok(wmi_graph_new(&b.g, dtype, NULL, &b.err), b.err);
    return b;
}

static void end(bench *b)
{
    wmi_program_free(b->p);
    wmi_graph_free(b->g);
    for (int i = 0; i < b->n_leaves; i++)
        free(b->x[i]);
    free(b->out);
}

static double *doubles(int64_t n)
{
    double *x = calloc((size_t)n + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

/* A leaf with the given values, or with uniform draws from (-3, 3) where x is NULL. */
static wmi_node *leaf(bench *b, const double *x, int rank, const int64_t *dim)
{
    const int k = b->n_leaves++;
    const wmi_rng root = wmi_rng_make(4, "values"), rng = wmi_rng_sub(&root, (uint64_t)k);
    char name[8];
    assert_true(k < MAX_LEAVES);
    snprintf(name, sizeof name, "x%d", k);
    b->leaf[k] = wmi_input(b->g, name, rank, dim);
    assert_ok(wmi_graph_status(b->g, &b->err), b->err);
    b->x[k] = doubles(b->leaf[k]->n);
    wmi_rng_uniform_f64(&rng, 0, b->leaf[k]->n, b->x[k]);
    for (int64_t i = 0; i < b->leaf[k]->n; i++) {
        b->x[k][i] = x ? x[i] : 6 * b->x[k][i] - 3;
        if (b->dtype == WMI_F32)
            b->x[k][i] = (double)(float)b->x[k][i];
    }
    return b->leaf[k];
}

static const double *read_out(bench *b, const void *from, int64_t n)
{
    free(b->out);
    b->out = doubles(n);
    for (int64_t i = 0; i < n; i++)
        b->out[i] =
            b->dtype == WMI_F32 ? (double)((const float *)from)[i] : ((const double *)from)[i];
    return b->out;
}

static void compile(bench *b, const wmi_compile_opts *opts)
{
    assert_ok(wmi_compile(&b->p, b->g, opts, &b->err), b->err);
    wmi_program_step(b->p, b->seed, b->step, b->training);
    for (int k = 0; k < b->n_leaves; k++) {
        for (int64_t i = 0; b->leaf[k]->val && i < b->leaf[k]->n; i++) {
            if (b->dtype == WMI_F32)
                ((float *)b->leaf[k]->val)[i] = (float)b->x[k][i];
            else
                ((double *)b->leaf[k]->val)[i] = b->x[k][i];
        }
    }
}

static const double *values(bench *b, wmi_node *y)
{
    compile(b, &(wmi_compile_opts){.outputs = &y, .n_outputs = 1});
    assert_ok(wmi_program_forward(b->p, &b->err), b->err);
    return read_out(b, wmi_program_value(b->p, y), y->n);
}

/* Of the sum of y, for leaf 0. */
static const double *gradient(bench *b, wmi_node *y)
{
    compile(b, &(wmi_compile_opts){.loss = y, .grad_inputs = &b->leaf[0], .n_grad_inputs = 1});
    assert_ok(wmi_program_backward(b->p, &b->err), b->err);
    return read_out(b, wmi_program_grad(b->p, b->leaf[0]), b->leaf[0]->n);
}

static void assert_shape(const wmi_node *nd, int rank, const int64_t *dim)
{
    assert_int_equal(nd->shape.rank, rank);
    for (int i = 0; i < rank; i++)
        assert_int_equal(nd->shape.dim[i], dim[i]);
}

/* Equal, NaN and infinities included. */
#define assert_same(a, b) assert_true((a) == (b) || (isnan(a) && isnan(b)))

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

/* ---- rearranging ---- */

static void permute_agrees_with_index_arithmetic(void **state)
{
    static const int64_t shapes[][4] = {
        {2, 3, 4, 5}, {33, 2, 40, 1}, {3, 0, 2, 2}, {1, 1, 1, 1}, {70, 5, 3, 65}};
    (void)state;
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        for (int code = 0; code < 256; code++) { /* four digits of base 4, of which 24 are orders */
            const int axis[] = {code / 64, code / 16 % 4, code / 4 % 4, code % 4};
            const int64_t *dim = shapes[k];
            const int64_t stride[] = {dim[1] * dim[2] * dim[3], dim[2] * dim[3], dim[3], 1};
            bench b;
            const double *got;
            int64_t at = 0;
            if ((1 << axis[0] | 1 << axis[1] | 1 << axis[2] | 1 << axis[3]) != 15)
                continue;
            b = begin(dtypes[code % 2]);
            got = values(&b, wmi_permute(b.g, leaf(&b, NULL, 4, dim), axis));
            for (int64_t i = 0; i < dim[axis[0]]; i++)
                for (int64_t j = 0; j < dim[axis[1]]; j++)
                    for (int64_t l = 0; l < dim[axis[2]]; l++)
                        for (int64_t m = 0; m < dim[axis[3]]; m++)
                            if (got[at++] != b.x[0][i * stride[axis[0]] + j * stride[axis[1]] +
                                                    l * stride[axis[2]] + m * stride[axis[3]]])
                                fail_msg("shape %d, axes %d %d %d %d, element %d", (int)k, axis[0],
                                         axis[1], axis[2], axis[3], (int)at - 1);
            end(&b);
        }
    }
}

static void slice_and_concat_undo_each_other(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        for (int axis = 0; axis < 3; axis++) {
            const int64_t dim[] = {7, 50, 61}, cut = dim[axis] / 3;
            bench b = begin(dtypes[t]);
            wmi_node *x = leaf(&b, NULL, 3, dim), *part[3], *y;
            const double *got;
            part[0] = wmi_slice(b.g, x, axis, 0, cut);
            part[1] = wmi_slice(b.g, x, axis, cut, cut); /* empty */
            part[2] = wmi_slice(b.g, x, axis, cut, dim[axis]);
            assert_int_equal(part[0]->shape.dim[axis], cut);
            assert_int_equal(part[1]->n, 0);
            y = wmi_concat(b.g, 3, part, axis);
            assert_shape(y, 3, dim);
            got = values(&b, y);
            for (int64_t i = 0; i < x->n; i++)
                assert_true(got[i] == b.x[0][i]);
            end(&b);
        }
    }
}

static void slice_takes_the_middle(void **state)
{
    bench b = begin(WMI_F64);
    const double *got = values(&b, wmi_slice(b.g, leaf(&b, NULL, DIMS(3, 5, 4)), 1, 2, 4));
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 4; k++)
                assert_true(got[(i * 2 + j) * 4 + k] == b.x[0][(i * 5 + j + 2) * 4 + k]);
    end(&b);
}

static void gather_reads_rows_and_nothing_else(void **state)
{
    static const double index[] = {2, 0, 0, 3, -1, 0.5, NAN, INFINITY, -0.0};
    static const int row[] = {2, 0, 0, -1, -1, -1, -1, -1, 0}; /* -1: comes out as NaN */
    (void)state;
    for (int t = 0; t < 2; t++) {
        bench b = begin(dtypes[t]);
        wmi_node *x = leaf(&b, NULL, DIMS(3, 2, 2));
        const double *got = values(&b, wmi_gather(b.g, x, leaf(&b, index, DIMS(9))));
        for (int i = 0; i < 9; i++)
            for (int j = 0; j < 4; j++)
                assert_same(got[i * 4 + j], row[i] < 0 ? NAN : b.x[0][row[i] * 4 + j]);
        end(&b);
    }
}

static void squeeze_moves_pixels_to_channels(void **state)
{
    const int64_t n = 2, h = 6, w = 4, c = 3;
    (void)state;
    for (int t = 0; t < 2; t++) {
        bench b = begin(dtypes[t]), back = begin(dtypes[t]);
        wmi_node *y = wmi_squeeze2x2(b.g, leaf(&b, NULL, DIMS(n, h, w, c)));
        const double *got = values(&b, y);
        assert_shape(y, DIMS(n, h / 2, w / 2, 4 * c));
        for (int64_t i = 0; i < n; i++)
            for (int64_t p = 0; p < h; p++)
                for (int64_t q = 0; q < w; q++)
                    for (int64_t k = 0; k < c; k++)
                        assert_true(got[((i * h / 2 + p / 2) * w / 2 + q / 2) * 4 * c + k * 4 +
                                        2 * (p % 2) + q % 2] ==
                                    b.x[0][((i * h + p) * w + q) * c + k]);
        y = wmi_unsqueeze2x2(back.g,
                             wmi_squeeze2x2(back.g, leaf(&back, NULL, DIMS(n, 4 * h, w, 5 * c))));
        got = values(&back, y);
        assert_shape(y, DIMS(n, 4 * h, w, 5 * c));
        for (int64_t i = 0; i < y->n; i++)
            assert_true(got[i] == back.x[0][i]);
        end(&b);
        end(&back);
    }
}

/* ---- dropout ---- */

static void dropout_is_the_identity_in_evaluation(void **state)
{
    bench b = begin(WMI_F32);
    const double *got = values(&b, wmi_dropout(b.g, leaf(&b, NULL, DIMS(20001)), 0.3));
    (void)state;
    for (int i = 0; i < 20001; i++)
        assert_true(got[i] == b.x[0][i]);
    end(&b);
}

/* 1 for each element that was kept. */
static void mask(wmi_dtype dtype, uint64_t seed, uint64_t step, int nodes_before, int64_t n,
                 bool *kept)
{
    bench b = begin(dtype);
    wmi_node *x = leaf(&b, NULL, 1, &n);
    const double *got;
    b.training = true;
    b.seed = seed;
    b.step = step;
    for (int i = 0; i < nodes_before; i++)
        x = wmi_affine(b.g, x, 1, 0);
    got = values(&b, wmi_dropout(b.g, x, 0.25));
    for (int64_t i = 0; i < n; i++) {
        kept[i] = got[i] != 0;
        assert_near(got[i], kept[i] ? b.x[0][i] / 0.75 : 0, 4 * eps(&b) * 4);
    }
    end(&b);
}

/* The number kept is binomial (n, 3/4), and so is, with (n, 5/8), the number in which two
 * independent masks agree: bounds of 5 standard deviations. */
static void dropout_masks_depend_on_seed_node_step(void **state)
{
    enum { N = 100001 };
    static bool first[N], other[N];
    int64_t count = 0;
    (void)state;
    mask(WMI_F64, 1, 2, 0, N, first);
    for (int i = 0; i < N; i++)
        count += first[i];
    assert_near((double)count, 0.75 * N, 5 * sqrt(0.75 * 0.25 * N));
    mask(WMI_F32, 1, 2, 0, N, other);
    assert_memory_equal(first, other, sizeof first);
    for (int change = 0; change < 3; change++) {
        mask(WMI_F32, 1 + (change == 0), 2 + (change == 1), change == 2, N, other);
        count = 0;
        for (int i = 0; i < N; i++)
            count += first[i] == other[i];
        assert_near((double)count, 0.625 * N, 5 * sqrt(0.625 * 0.375 * N));
    }
}

/* ---- pooling ---- */

static void pooling_matches_loops(void **state)
{
    static const int64_t shapes[][4] = {{2, 5, 3, 1}, {1, 1, 1, 3}, {3, 6, 4, 70},
                                        {0, 4, 4, 2}, {2, 7, 8, 5}, {4, 33, 31, 9}};
    (void)state;
    for (int t = 0; t < 2; t++) {
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            for (int size = 1; size <= 4; size++) {
                for (int max = 0; max < 2; max++) {
                    const int64_t *d = shapes[s], c = d[3];
                    const int64_t ho = (d[1] + size - 1) / size, wo = (d[2] + size - 1) / size;
                    bench b = begin(dtypes[t]);
                    wmi_node *y = wmi_pool2d(b.g, leaf(&b, NULL, 4, d), max, size);
                    const double *got = values(&b, y);
                    assert_shape(y, DIMS(d[0], ho, wo, c));
                    for (int64_t i = 0; i < y->n; i++) {
                        const int64_t k = i % c, q = i / c % wo, p = i / c / wo % ho,
                                      n = i / c / wo / ho;
                        double sum = 0, most = -INFINITY;
                        int cells = 0;
                        for (int64_t u = p * size; u < (p + 1) * size && u < d[1]; u++)
                            for (int64_t v = q * size; v < (q + 1) * size && v < d[2]; v++) {
                                const double x = b.x[0][((n * d[1] + u) * d[2] + v) * c + k];
                                sum += x;
                                most = fmax(most, x);
                                cells++;
                            }
                        assert_near(got[i], max ? most : sum / cells, 8 * eps(&b) * 3);
                    }
                    end(&b);
                }
            }
        }
    }
}

static void max_pooling_sends_a_tie_to_the_first(void **state)
{
    static const double x[] = {1, 2, 2, 2}, want[] = {0, 1, 0, 0};
    bench b = begin(WMI_F64);
    const double *dx = gradient(&b, wmi_pool2d(b.g, leaf(&b, x, DIMS(1, 2, 2, 1)), true, 2));
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_true(dx[i] == want[i]);
    end(&b);
}

/* ---- threads ---- */

/* A graph through all kernels of this file that work in parallel, large enough that they do. */
static wmi_node *large_graph(bench *b, wmi_node **sums)
{
    wmi_graph *g = b->g;
    wmi_node *x = leaf(b, NULL, DIMS(301, 173)), *bias = leaf(b, NULL, DIMS(173));
    wmi_node *scale = leaf(b, NULL, DIMS(301, 1)), *image = leaf(b, NULL, DIMS(7, 33, 31, 10));
    wmi_node *h = wmi_tanh(g, wmi_add(g, wmi_mul(g, x, scale), bias));
    wmi_node *d = wmi_dropout(g, wmi_leaky_relu(g, wmi_affine(g, h, 3, 0.1), 0.2), 0.3);
    wmi_node *p =
        wmi_permute(g, wmi_div(g, wmi_softplus(g, d), wmi_exp(g, h)), (const int[]){1, 0});
    wmi_node *s = wmi_sub(g, wmi_softmax(g, p), wmi_log_softmax(g, p));
    wmi_node *cut = wmi_slice(g, s, 0, 3, 170), *both[2], *pools[2];
    both[0] = cut;
    both[1] = s;
    pools[0] = wmi_pool2d(g, image, true, 2);
    pools[1] = wmi_pool2d(g, image, false, 2);
    s = wmi_concat(g, 2, both, 0);
    *sums = wmi_sum(g, s, 1u << 0);
    return wmi_add(g,
                   wmi_add(g, wmi_sum(g, wmi_logsumexp(g, s), WMI_ALL_AXES),
                           wmi_sum(g, wmi_mul(g, *sums, *sums), WMI_ALL_AXES)),
                   wmi_sum(g, wmi_mul(g, pools[0], pools[1]), WMI_ALL_AXES));
}

static void results_have_the_same_bits_for_any_number_of_threads(void **state)
{
    static const int threads[] = {1, 2, 7};
    const int before = omp_get_max_threads();
    (void)state;
    for (int t = 0; t < 2; t++) {
        bench b[3];
        wmi_node *sums[3], *loss[3];
        for (int k = 0; k < 3; k++) {
            b[k] = begin(dtypes[t]);
            b[k].training = true;
            omp_set_num_threads(threads[k]);
            loss[k] = large_graph(&b[k], &sums[k]);
            compile(&b[k], &(wmi_compile_opts){.outputs = &sums[k],
                                               .n_outputs = 1,
                                               .loss = loss[k],
                                               .grad_inputs = b[k].leaf,
                                               .n_grad_inputs = b[k].n_leaves});
            assert_ok(wmi_program_backward(b[k].p, &b[k].err), b[k].err);
        }
        omp_set_num_threads(before);
        for (int k = 1; k < 3; k++) {
            const size_t size = dtypes[t] == WMI_F32 ? sizeof(float) : sizeof(double);
            assert_memory_equal(loss[k]->val, loss[0]->val, size);
            assert_memory_equal(sums[k]->val, sums[0]->val, (size_t)sums[0]->n * size);
            for (int i = 0; i < b[0].n_leaves; i++)
                assert_memory_equal(b[k].leaf[i]->grad, b[0].leaf[i]->grad,
                                    (size_t)b[0].leaf[i]->n * size);
        }
        for (int k = 0; k < 3; k++)
            end(&b[k]);
    }
}

/* ---- complaints ---- */

/* A graph that fails in one call. */
#define BAD(name, ...)                                                                             \
    static void name(bench *b)                                                                     \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }

static void bad_add(bench *b)
{
    wmi_node *x = leaf(b, NULL, DIMS(2, 3));
    wmi_add(b->g, x, leaf(b, NULL, DIMS(4, 3)));
}

static void bad_mul(bench *b)
{
    wmi_node *x = leaf(b, NULL, DIMS(2, 3, 5));
    wmi_mul(b->g, x, leaf(b, NULL, DIMS(3)));
}

BAD(bad_leaky, wmi_leaky_relu(b->g, leaf(b, NULL, DIMS(3)), -0.1))
BAD(bad_sum, wmi_sum(b->g, leaf(b, NULL, DIMS(3, 4)), 1u << 2))
BAD(bad_logsumexp, wmi_logsumexp(b->g, leaf(b, NULL, 0, NULL)))
BAD(bad_softmax, wmi_softmax(b->g, leaf(b, NULL, 0, NULL)))
BAD(bad_reshape, wmi_reshape(b->g, leaf(b, NULL, DIMS(3, 4)), DIMS(5, 2)))
BAD(bad_permute, wmi_permute(b->g, leaf(b, NULL, DIMS(3, 4)), (const int[]){1, 1}))
BAD(bad_permute_axis, wmi_permute(b->g, leaf(b, NULL, DIMS(3, 4)), (const int[]){0, 2}))
BAD(bad_slice, wmi_slice(b->g, leaf(b, NULL, DIMS(3, 4)), 1, 2, 5))
BAD(bad_slice_axis, wmi_slice(b->g, leaf(b, NULL, DIMS(3, 4)), 2, 0, 1))

static void bad_concat(bench *b)
{
    wmi_node *x[2];
    x[0] = leaf(b, NULL, DIMS(3, 4));
    x[1] = leaf(b, NULL, DIMS(3, 5));
    wmi_concat(b->g, 2, x, 0);
}

BAD(bad_concat_count, wmi_concat(b->g, 0, NULL, 0))

static void bad_gather(bench *b)
{
    wmi_node *x = leaf(b, NULL, DIMS(3, 4));
    wmi_gather(b->g, x, leaf(b, NULL, DIMS(2, 1)));
}

BAD(bad_squeeze, wmi_squeeze2x2(b->g, leaf(b, NULL, DIMS(1, 4, 3, 2))))
BAD(bad_unsqueeze, wmi_unsqueeze2x2(b->g, leaf(b, NULL, DIMS(1, 4, 3, 6))))
BAD(bad_pool, wmi_pool2d(b->g, leaf(b, NULL, DIMS(4, 3, 6)), false, 2))
BAD(bad_pool_size, wmi_pool2d(b->g, leaf(b, NULL, DIMS(1, 4, 3, 6)), false, 0))
BAD(bad_dropout, wmi_dropout(b->g, leaf(b, NULL, DIMS(3)), 1))

static void complaints_name_op_and_shapes(void **state)
{
    static const struct {
        void (*build)(bench *);
        wm_status code;
        const char *texts[4];
    } bad[] = {
        {bad_add, WM_ESHAPE, {"add", "(2, 3)", "(4, 3)", "2 and 4"}},
        {bad_mul, WM_ESHAPE, {"mul", "(2, 3, 5)", "(3)", "5 and 3"}},
        {bad_leaky, WM_ESHAPE, {"leaky_relu", "slope -0.1"}},
        {bad_sum, WM_ESHAPE, {"sum", "(3, 4)", "axes 0x4"}},
        {bad_logsumexp, WM_ESHAPE, {"logsumexp", "()", "scalar"}},
        {bad_softmax, WM_ESHAPE, {"softmax", "()", "scalar"}},
        {bad_reshape, WM_ESHAPE, {"reshape", "(3, 4)", "(5, 2)", "12"}},
        {bad_permute, WM_ESHAPE, {"permute", "(3, 4)", "axis 1", "twice"}},
        {bad_permute_axis, WM_ESHAPE, {"permute", "(3, 4)", "axis 2", "not an axis"}},
        {bad_slice, WM_ESHAPE, {"slice", "(3, 4)", "[2, 5)", "axis 1"}},
        {bad_slice_axis, WM_ESHAPE, {"slice", "(3, 4)", "axis 2"}},
        {bad_concat, WM_ESHAPE, {"concat", "(3, 4), (3, 5)", "input 1"}},
        {bad_concat_count, WM_ESHAPE, {"concat", "nothing"}},
        {bad_gather, WM_ESHAPE, {"gather", "(3, 4), (2, 1)", "index"}},
        {bad_squeeze, WM_ESHAPE, {"squeeze2x2", "(1, 4, 3, 2)", "even"}},
        {bad_unsqueeze, WM_ESHAPE, {"unsqueeze2x2", "(1, 4, 3, 6)", "multiple of 4"}},
        {bad_pool, WM_ESHAPE, {"pool2d", "(4, 3, 6)"}},
        {bad_pool_size, WM_ESHAPE, {"pool2d", "(1, 4, 3, 6)", "window of 0"}},
        {bad_dropout, WM_EINVAL, {"dropout", "rate 1"}},
    };
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        bench b = begin(dtypes[k % 2]);
        bad[k].build(&b);
        assert_int_equal(wmi_compile(&b.p, b.g, &(wmi_compile_opts){.n_outputs = 0}, &b.err),
                         bad[k].code);
        for (int i = 0; i < 4 && bad[k].texts[i]; i++)
            if (!strstr(b.err.text, bad[k].texts[i]))
                fail_msg("'%s' does not say '%s'", b.err.text, bad[k].texts[i]);
        end(&b);
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
        cmocka_unit_test(permute_agrees_with_index_arithmetic),
        cmocka_unit_test(slice_and_concat_undo_each_other),
        cmocka_unit_test(slice_takes_the_middle),
        cmocka_unit_test(gather_reads_rows_and_nothing_else),
        cmocka_unit_test(squeeze_moves_pixels_to_channels),
        cmocka_unit_test(dropout_is_the_identity_in_evaluation),
        cmocka_unit_test(dropout_masks_depend_on_seed_node_step),
        cmocka_unit_test(pooling_matches_loops),
        cmocka_unit_test(max_pooling_sends_a_tie_to_the_first),
        cmocka_unit_test(results_have_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(complaints_name_op_and_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
