/* test_loss.c - the objectives: closed forms, tails, and that the true log-ratio minimises
 * them. */
#include "nn/loss.h"

#include "base/sums.h"
#include "engine/program.h"
#include "one_op.h"

static const char *const bridge_ops[] = {"logistic_loss", "nwj_loss", "lsq_loss"};

/* The formulas as written, for moderate s: one row of the numerator (side 0) or denominator. */
static double term(int op, int side, double s, double *slope)
{
    const double p = 1 / (1 + exp(-s));

    switch (op) {
    case 0:
        *slope = side ? p : p - 1;
        return side ? log(1 + exp(s)) : log(1 + exp(-s));
    case 1:
        *slope = side ? exp(s) : -1;
        return side ? exp(s) : -s - 1;
    default:
        *slope = side ? p * p * (1 - p) : (p - 1) * p * (1 - p);
        return side ? 0.5 * p * p : 0.5 * (p - 1) * (p - 1);
    }
}

/* weights may be NULL */
static void run_bridges(one_op *o, int op, one_build b, int64_t m, int64_t n, int64_t n_num,
                        const double *s, const double *weights, const double *dy, bool fresh)
{
    const wmi_bridge_loss_attr attr = {n_num};
    const one_input in[] = {{2, {m, n}, s, true}, {2, {m, n}, weights, false}};

    one_op_run(o, bridge_ops[op], b, &attr, weights ? 2 : 1, in, dy, fresh);
    o->nd.attr = NULL; /* attr ends here */
}

static void bridge_losses_match_their_formulas(void **state)
{
    const struct {
        int64_t m, n, n_num;
    } sizes[] = {{1, 2, 1}, {3, 9, 4}, {0, 4, 2}, {2, 20000, 9000}};
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 1 + i % 3, &b); i++)
        for (int c = 0; c < 24; c++) {
            const int op = c % 3;
            const bool weighted = c / 3 & 1;
            const int64_t m = sizes[c / 6].m, n = sizes[c / 6].n, n_num = sizes[c / 6].n_num;
            const bool fresh = (i + c / 6) & 1;
            double *s = one_op_values(1, m * n), *w = one_op_values(2, m * n);
            double *dy = one_op_values(3, m), *y = one_op_zeros(m), *ds = one_op_zeros(m * n);
            const double tol = b.dtype == WMI_F32 ? 2e-6 : 1e-12;
            one_op o;

            for (int64_t j = 0; j < m * n; j++) {
                s[j] *= 4;
                w[j] += 1.125; /* positive */
            }
            for (int64_t k = 0; k < m; k++) {
                double total[2] = {0};

                for (int64_t j = 0; j < n; j++)
                    total[j >= n_num] += weighted ? w[k * n + j] : 1;
                for (int64_t j = 0; j < n; j++) {
                    const int side = j >= n_num;
                    const double share = (weighted ? w[k * n + j] : 1) / total[side];
                    double slope;

                    y[k] += share * term(op, side, s[k * n + j], &slope);
                    ds[k * n + j] = (fresh ? 0 : ONE_OP_BEFORE) + dy[k] * share * slope;
                }
            }
            run_bridges(&o, op, b, m, n, n_num, s, weighted ? w : NULL, dy, fresh);
            assert_array(bridge_ops[op], b, o.y, y, m, tol);
            assert_array("ds", b, o.dx[0], ds, m * n, tol);
            /* the gradient is a share of 1 / n: compare it in its own units as well */
            for (int64_t j = 0; j < m * n && fresh; j++)
                assert_near(o.dx[0][j], ds[j], (b.dtype == WMI_F32 ? 1e-5 : 1e-12) * fabs(ds[j]));
            one_op_free(&o);
            wmi_free(s);
            wmi_free(w);
            wmi_free(dy);
            wmi_free(y);
            wmi_free(ds);
        }
}

/* s is the score of the only numerator row, t that of the only denominator row. */
static void one_pair(int op, one_build b, double s, double t, double *y, double ds[2])
{
    const double scores[] = {s, t}, one = 1;
    one_op o;

    run_bridges(&o, op, b, 1, 2, 1, scores, NULL, &one, true);
    *y = o.y[0];
    ds[0] = o.dx[0][0];
    ds[1] = o.dx[0][1];
    one_op_free(&o);
}

static void bridge_tails_are_exact(void **state)
{
    const double far[] = {800, 1e4};
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 1, &b); i++)
        for (int f = 0; f < 2; f++) {
            double y, ds[2];

            one_pair(0, b, far[f], -far[f], &y, ds); /* both right */
            assert_true(y == 0 && ds[0] == 0 && ds[1] == 0);
            one_pair(0, b, -far[f], far[f], &y, ds); /* both wrong */
            assert_true(y == 2 * far[f] && ds[0] == -1 && ds[1] == 1);

            one_pair(1, b, far[f], -far[f], &y, ds);
            assert_true(y == -far[f] - 1 && ds[0] == -1 && ds[1] == 0);
            one_pair(1, b, 0, far[f], &y, ds); /* the true value, exp(800), is beyond double */
            assert_true(isinf(y) && y > 0);

            one_pair(2, b, far[f], -far[f], &y, ds);
            assert_true(y == 0 && ds[0] == 0 && ds[1] == 0);
            one_pair(2, b, -far[f], far[f], &y, ds); /* saturated: loss 1/2 a side, no slope */
            assert_true(y == 1 && ds[0] == 0 && ds[1] == 0);
        }
}

/* Rows of weight 0 do not count even where their scores are useless; a side of such rows is NaN. */
static void rows_of_weight_zero_do_not_count(void **state)
{
    const double s[] = {0.5, INFINITY, -1, NAN, 2, INFINITY}, w[] = {2, 0, 1, 0, 3, 0}, one = 1;
    const double dense[] = {0.5, -1, 2}, dense_w[] = {2, 1, 3}, none[] = {1, 1, 1, 0, 0, 0};
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 1, &b); i++)
        for (int op = 0; op < 3; op++) {
            one_op o, d;

            run_bridges(&o, op, b, 1, 6, 3, s, w, &one, true);
            run_bridges(&d, op, b, 1, 3, 2, dense, dense_w, &one, true);
            assert_true(o.y[0] == d.y[0]);
            for (int k = 0; k < 6; k++)
                assert_true(o.dx[0][k] == (k % 2 ? 0 : d.dx[0][k / 2]));
            one_op_free(&o);
            one_op_free(&d);
            run_bridges(&o, op, b, 1, 6, 3, w, none, NULL, true);
            assert_true(isnan(o.y[0]));
            one_op_free(&o);
        }
}

static void bridge_bits_do_not_depend_on_threads(void **state)
{
    enum { M = 2, N = 40000 };
    double *s = one_op_values(1, M * N), *w = one_op_values(2, M * N), dy[] = {1, 0.5};
    one_build b;

    (void)state;
    for (int64_t j = 0; j < M * N; j++)
        w[j] = w[j] * w[j];
    for (int i = 0; one_op_build(i, 1, &b); i++)
        for (int op = 0; op < 3; op++) {
            one_op one, many;

            b.threads = 1;
            run_bridges(&one, op, b, M, N, 17000, s, w, dy, true);
            for (b.threads = 2; b.threads <= 7; b.threads += 5) {
                run_bridges(&many, op, b, M, N, 17000, s, w, dy, true);
                assert_memory_equal(one.y, many.y, M * sizeof(double));
                assert_memory_equal(one.dx[0], many.dx[0], M * N * sizeof(double));
                one_op_free(&many);
            }
            one_op_free(&one);
        }
    wmi_free(s);
    wmi_free(w);
}

/* ---- multinomial ---- */

static void run_multinomial(one_op *o, one_build b, int64_t m, int64_t n, const double *s,
                            const double *label, const double *weights, const double *dy,
                            bool fresh)
{
    const one_input in[] = {{2, {m, n}, s, true}, {1, {n}, label, false}, {1, {n}, weights, false}};

    one_op_run(o, "multinomial_loss", b, NULL, weights ? 3 : 2, in, dy, fresh);
}

static void multinomial_matches_its_formula(void **state)
{
    const int64_t sizes[][2] = {{1, 1}, {0, 3}, {3, 7}, {10, 1501}};
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 1 + i % 3, &b); i++)
        for (int c = 0; c < 8; c++) {
            const int64_t m = sizes[c / 2][0], n = sizes[c / 2][1];
            const bool weighted = c & 1, fresh = (c + i) & 1;
            double *s = one_op_values(1, m * n), *w = one_op_values(2, n), *label = one_op_zeros(n);
            double *ds = one_op_zeros(m * n), *p = one_op_zeros(m + 1), y = 0, total = 0;
            const double dy = 0.75, tol = b.dtype == WMI_F32 ? 1e-6 : 1e-13;
            one_op o;

            for (int64_t r = 0; r < n; r++) {
                w[r] = weighted ? w[r] + 1.25 : 1;
                total += w[r];
                label[r] = (double)(r * 5 % (m + 1));
            }
            for (int64_t r = 0; r < n; r++) {
                double sum = 0;

                for (int64_t j = 0; j <= m; j++) {
                    double logit = 0;

                    for (int64_t k = j; k < m; k++)
                        logit += s[k * n + r];
                    sum += p[j] = exp(logit);
                }
                y -= w[r] / total * log(p[(int64_t)label[r]] / sum);
                for (int64_t k = 0; k < m; k++) {
                    ds[k * n + r] = fresh ? 0 : ONE_OP_BEFORE;
                    for (int64_t j = 0; j <= k; j++) /* s_k stands in the logits of 0..k */
                        ds[k * n + r] += dy * w[r] / total * (p[j] / sum - (label[r] == (double)j));
                }
            }
            run_multinomial(&o, b, m, n, s, label, weighted ? w : NULL, &dy, fresh);
            assert_int_equal(o.nd.shape.rank, 0);
            assert_array("multinomial", b, o.y, &y, 1, tol);
            assert_array("ds", b, o.dx[0], ds, m * n, tol);
            one_op_free(&o);
            wmi_free(s);
            wmi_free(w);
            wmi_free(label);
            wmi_free(ds);
            wmi_free(p);
        }
}

/* With one bridge and as many rows on each side it is half the logistic loss. */
static void multinomial_of_one_bridge_is_logistic(void **state)
{
    enum { N = 50 };
    double *s = one_op_values(1, N), label[N], one = 1, two = 2;
    one_build b;

    (void)state;
    for (int i = 0; i < N; i++) {
        s[i] *= 8;
        label[i] = i >= N / 2;
    }
    for (int i = 0; one_op_build(i, 1, &b); i++) {
        const double tol = b.dtype == WMI_F32 ? 1e-6 : 1e-14;
        double y;
        one_op l, o;

        run_bridges(&l, 0, b, 1, N, N / 2, s, NULL, &one, true);
        run_multinomial(&o, b, 1, N, s, label, NULL, &two, true);
        y = 2 * o.y[0];
        assert_array("loss", b, &y, l.y, 1, tol);
        assert_array("ds", b, o.dx[0], l.dx[0], N, tol);
        one_op_free(&l);
        one_op_free(&o);
    }
    wmi_free(s);
}

static void multinomial_tails_are_exact(void **state)
{
    const double s[] = {800, -800, 1e4, -1e4}; /* one bridge, four rows */
    const double right[] = {0, 1, 0, 1}, wrong[] = {1, 0, 1, 0}, four = 4;
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 1, &b); i++) {
        one_op o;

        run_multinomial(&o, b, 1, 4, s, right, NULL, &four, true);
        assert_true(o.y[0] == 0);
        for (int k = 0; k < 4; k++)
            assert_true(o.dx[0][k] == 0);
        one_op_free(&o);
        run_multinomial(&o, b, 1, 4, s, wrong, NULL, &four, true);
        assert_true(o.y[0] == (2 * 800 + 2 * 1e4) / 4);
        for (int k = 0; k < 4; k++)
            assert_true(o.dx[0][k] == (k % 2 ? -1 : 1));
        one_op_free(&o);
    }
}

static void a_label_that_is_none_gives_nan(void **state)
{
    const double bad[] = {-1, 3, 0.5, NAN, INFINITY}, s[] = {1, 2, 3, 4}, with[] = {1, 1};
    const double without[] = {1, 0};
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 1, &b); i++)
        for (int k = 0; k < 5; k++) {
            const double label[] = {2, bad[k]};
            one_op o;

            run_multinomial(&o, b, 2, 2, s, label, with, NULL, true);
            assert_true(isnan(o.y[0]));
            one_op_free(&o);
            run_multinomial(&o, b, 2, 2, s, label, without, NULL, true); /* does not count */
            assert_true(isfinite(o.y[0]));
            one_op_free(&o);
        }
}

/* ---- what the objectives are for ---- */

/* A grid wide enough that the trapezoid rule integrates the normal densities to rounding. */
enum { GRID = 801 };
static double grid_x(int i)
{
    return -18 + i * 0.05;
}

static double normal(double x, double mean)
{
    return exp(-0.5 * (x - mean) * (x - mean)) / sqrt(2 * acos(-1));
}

/* Directions in which a log-ratio can be wrong. */
static double wrong(int way, double x)
{
    switch (way) {
    case 0:
        return 1;
    case 1:
        return x / 2;
    case 2:
        return sin(2 * x);
    default:
        return x * x / 8;
    }
}

enum { WAYS = 4 };

/* Expected loss of s + eps wrong(x) for N(0, 1) against N(1, 1), exact by quadrature: the rows are
 * the grid, the weights the densities. The slope along the direction goes to *slope. */
static double expected_bridge(int op, int way, double eps, double *slope)
{
    static double s[2 * GRID], w[2 * GRID];
    const double one = 1;
    double y;
    one_op o;

    for (int i = 0; i < 2 * GRID; i++) {
        const double x = grid_x(i % GRID);

        s[i] = 0.5 - x + eps * wrong(way, x);
        w[i] = normal(x, i / GRID);
    }
    run_bridges(&o, op, (one_build){WMI_F64, wmi_isa_best(), 1}, 1, 2 * GRID, GRID, s, w, &one,
                true);
    y = o.y[0];
    *slope = 0;
    for (int i = 0; i < 2 * GRID; i++)
        *slope += o.dx[0][i] * wrong(way, grid_x(i % GRID));
    one_op_free(&o);
    return y;
}

/* The same for the waymarks N(0, 1), N(1, 1), N(3, 1), drawn equally often; bridge `bridge` is
 * wrong. */
static double expected_multinomial(int bridge, int way, double eps, double *slope)
{
    static double s[2 * 3 * GRID], w[3 * GRID], label[3 * GRID];
    static const double mean[] = {0, 1, 3};
    const double one = 1;
    double y;
    one_op o;

    for (int i = 0; i < 3 * GRID; i++) {
        const double x = grid_x(i % GRID);

        s[i] = 0.5 - x;              /* log N(0, 1) / N(1, 1) */
        s[3 * GRID + i] = 4 - 2 * x; /* log N(1, 1) / N(3, 1) */
        s[bridge * 3 * GRID + i] += eps * wrong(way, x);
        label[i] = i / GRID;
        w[i] = normal(x, mean[i / GRID]);
    }
    run_multinomial(&o, (one_build){WMI_F64, wmi_isa_best(), 1}, 2, 3 * GRID, s, label, w, &one,
                    true);
    y = o.y[0];
    *slope = 0;
    for (int i = 0; i < 3 * GRID; i++)
        *slope += o.dx[0][bridge * 3 * GRID + i] * wrong(way, grid_x(i % GRID));
    one_op_free(&o);
    return y;
}

/* A convex-looking bowl: no slope at the truth, and more loss to both sides by about eps^2 times a
 * curvature that is far above rounding. */
static void check_minimum(double (*expected)(int, int, double, double *), int which)
{
    for (int way = 0; way < WAYS; way++) {
        double slope, side;
        const double truth = expected(which, way, 0, &slope);

        assert_near(slope, 0, 1e-12);
        for (double eps = -0.1; eps < 0.15; eps += 0.2) {
            const double off = expected(which, way, eps, &side);

            assert_true(off > truth + 1e-5);
            assert_true(side * eps > 0);
        }
    }
}

static void truth_minimises_every_objective(void **state)
{
    (void)state;
    for (int op = 0; op < 3; op++)
        check_minimum(expected_bridge, op);
    for (int bridge = 0; bridge < 2; bridge++)
        check_minimum(expected_multinomial, bridge);
}

/* At the truth, -nwj is KL(p || q), here 1/2 nat; at s = 0 the logistic loss is 2 log 2 (not log
 * 2). */
static void known_values(void **state)
{
    double slope, y, ds[2];
    one_build b;

    (void)state;
    assert_near(expected_bridge(1, 0, 0, &slope), -0.5, 1e-12);
    for (int i = 0; one_op_build(i, 1, &b); i++) {
        const double tol = b.dtype == WMI_F32 ? 1e-7 : 1e-15;

        one_pair(0, b, 0, 0, &y, ds);
        assert_near(y, 2 * log(2), tol);
        one_pair(1, b, 0, 0, &y, ds);
        assert_near(y, 0, tol);
        one_pair(2, b, 0, 0, &y, ds);
        assert_near(y, 0.25, tol);
    }
}

/* ---- the room ---- */

static void objectives_have_names(void **state)
{
    const char *const names[] = {"logistic", "nwj", "lsq", "multinomial", "infonce", "denoise"};

    (void)state;
    for (int i = 0; i < 6; i++)
        assert_string_equal(wmi_objective_name((wmi_objective)i), names[i]);
}

/* The scalar is the mean of the bridges, its gradient 1/m of theirs, and weights stay constants. */
static void objective_is_the_mean_over_bridges(void **state)
{
    enum { M = 3, N = 8, NUM = 5 };
    double *s = one_op_values(1, M * N), *w = one_op_values(2, M * N), dy[M];

    (void)state;
    for (int i = 0; i < M * N; i++)
        w[i] += 1.5;
    for (int i = 0; i < M; i++)
        dy[i] = 1.0 / M;
    for (int o = WMI_LOGISTIC; o <= WMI_LSQ; o++) {
        wmi_graph *g;
        wmi_program *p;
        wmi_node *per_bridge, *in[2], *loss, *outputs[2];
        wm_error err;
        one_op alone;
        void *at;
        double mean = 0;

        run_bridges(&alone, o, (one_build){WMI_F64, wmi_isa_best(), 1}, M, N, NUM, s, w, dy, true);
        assert_ok(wmi_graph_new(&g, WMI_F64, NULL, &err), err);
        in[0] = wmi_input(g, "s", 2, (const int64_t[]){M, N});
        in[1] = wmi_input(g, "w", 2, (const int64_t[]){M, N});
        loss = wmi_loss_bridges(g, (wmi_objective)o, in[0], in[1], NUM, &per_bridge);
        outputs[0] = loss;
        outputs[1] = per_bridge;
        assert_ok(wmi_compile(&p, g,
                              &(wmi_compile_opts){.outputs = outputs,
                                                  .n_outputs = 2,
                                                  .loss = loss,
                                                  .grad_inputs = in,
                                                  .n_grad_inputs = 2},
                              &err),
                  err);
        assert_ok(wmi_program_input(p, "s", &at, &err), err);
        memcpy(at, s, M * N * sizeof *s);
        assert_ok(wmi_program_input(p, "w", &at, &err), err);
        memcpy(at, w, M * N * sizeof *w);
        assert_ok(wmi_program_backward(p, &err), err);
        for (int k = 0; k < M; k++) {
            assert_near(((const double *)wmi_program_value(p, per_bridge))[k], alone.y[k], 1e-15);
            mean += alone.y[k] / M;
        }
        assert_near(wmi_program_scalar(p, loss), mean, 1e-15);
        for (int i = 0; i < M * N; i++) {
            assert_near(((const double *)wmi_program_grad(p, in[0]))[i], alone.dx[0][i], 1e-16);
            assert_true(((const double *)wmi_program_grad(p, in[1]))[i] == 0);
        }
        wmi_program_free(p);
        wmi_graph_free(g);
        one_op_free(&alone);
    }
    wmi_free(s);
    wmi_free(w);
}

static void a_bad_label_stops_the_program(void **state)
{
    wmi_graph *g;
    wmi_program *p;
    wm_error err;
    void *at;

    (void)state;
    assert_ok(wmi_graph_new(&g, WMI_F32, NULL, &err), err);
    wmi_node *s = wmi_input(g, "s", 2, (const int64_t[]){2, 3});
    wmi_node *label = wmi_input(g, "label", 1, (const int64_t[]){3});
    wmi_node *loss = wmi_multinomial_loss(g, s, label, NULL);
    assert_ok(wmi_compile(&p, g,
                          &(wmi_compile_opts){.loss = loss, .grad_inputs = &s, .n_grad_inputs = 1},
                          &err),
              err);
    assert_ok(wmi_program_input(p, "s", &at, &err), err);
    memset(at, 0, 6 * sizeof(float));
    assert_ok(wmi_program_input(p, "label", &at, &err), err);
    ((float *)at)[0] = 0;
    ((float *)at)[1] = 2;
    ((float *)at)[2] = 1;
    assert_ok(wmi_program_backward(p, &err), err);
    ((float *)at)[1] = 3;
    assert_int_equal(wmi_program_backward(p, &err), WM_EDIVERGED);
    wmi_program_free(p);
    wmi_graph_free(g);
}

static void bad_graphs_are_named(void **state)
{
    const char *const says[] = {"labelled rows", "leave one side empty", "leave one side empty",
                                "weights differ", "labels must be (rows)"};

    (void)state;
    for (int c = 0; c < 5; c++) {
        wmi_graph *g;
        wm_error err;
        wmi_node *per_bridge, *loss;

        assert_ok(wmi_graph_new(&g, WMI_F32, NULL, &err), err);
        wmi_node *s = wmi_input(g, "s", 2, (const int64_t[]){2, 6});
        wmi_node *w = wmi_input(g, "w", 2, (const int64_t[]){2, 5});
        if (c == 4)
            loss = wmi_multinomial_loss(g, s, w, NULL);
        else
            loss = wmi_loss_bridges(g, c ? WMI_NWJ : WMI_MULTINOMIAL, s, c == 3 ? w : NULL,
                                    c == 1   ? 0
                                    : c == 2 ? 6
                                             : 3,
                                    &per_bridge);
        assert_null(loss);
        assert_int_equal(wmi_graph_status(g, &err), c ? WM_ESHAPE : WM_EINVAL);
        if (!strstr(err.text, says[c]))
            fail_msg("'%s' does not say '%s'", err.text, says[c]);
        wmi_graph_free(g);
    }
}

/* mean_i [log sum_j exp(s_ij) - s_ii] and its gradient (softmax - 1 on the diagonal) / n, far out
 * in the tails too. */
static void infonce_matches_its_formula(void **state)
{
    enum { N = 3 };
    const double s[N][N] = {{1, -2, 0.5}, {700, 690, -800}, {0, 0, 0}};
    wmi_node *scores, *own, *loss;
    wmi_node *inputs[2];
    wmi_program *p;
    wmi_graph *g;
    const double *ds, *down;
    double want = 0, *at;
    void *in;
    wm_error err;

    (void)state;
    assert_ok(wmi_graph_new(&g, WMI_F64, NULL, &err), err);
    inputs[0] = scores = wmi_input(g, "s", 2, (const int64_t[]){N, N});
    inputs[1] = own = wmi_input(g, "own", 1, (const int64_t[]){N});
    loss = wmi_infonce_loss(g, scores, own);
    assert_ok(
        wmi_compile(&p, g,
                    &(wmi_compile_opts){.loss = loss, .grad_inputs = inputs, .n_grad_inputs = 2},
                    &err),
        err);
    assert_ok(wmi_program_input(p, "s", &in, &err), err);
    memcpy(in, s, sizeof s);
    assert_ok(wmi_program_input(p, "own", &in, &err), err);
    at = in;
    for (int i = 0; i < N; i++) {
        at[i] = s[i][i];
        want += (wmi_log_sum_exp(s[i], N) - s[i][i]) / N;
    }
    assert_ok(wmi_program_backward(p, &err), err);
    assert_near(wmi_program_scalar(p, loss), want, 1e-12 * fabs(want));
    ds = wmi_program_grad(p, scores);
    down = wmi_program_grad(p, own);
    for (int i = 0; i < N; i++) {
        assert_near(down[i], -1.0 / N, 1e-15);
        for (int j = 0; j < N; j++)
            assert_near(ds[i * N + j], exp(s[i][j] - wmi_log_sum_exp(s[i], N)) / N, 1e-13);
    }
    wmi_program_free(p);
    wmi_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bridge_losses_match_their_formulas),
        cmocka_unit_test(bridge_tails_are_exact),
        cmocka_unit_test(rows_of_weight_zero_do_not_count),
        cmocka_unit_test(bridge_bits_do_not_depend_on_threads),
        cmocka_unit_test(multinomial_matches_its_formula),
        cmocka_unit_test(multinomial_of_one_bridge_is_logistic),
        cmocka_unit_test(multinomial_tails_are_exact),
        cmocka_unit_test(a_label_that_is_none_gives_nan),
        cmocka_unit_test(truth_minimises_every_objective),
        cmocka_unit_test(known_values),
        cmocka_unit_test(objectives_have_names),
        cmocka_unit_test(objective_is_the_mean_over_bridges),
        cmocka_unit_test(a_bad_label_stops_the_program),
        cmocka_unit_test(bad_graphs_are_named),
        cmocka_unit_test(infonce_matches_its_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
