/* test_heads.c - the bilinear and the additive head against plain loops in double, and what a
 * spline must be beside: a partition of unity, twice continuously differentiable, constant in the
 * tails. */
#include "one_op.h"

#include <stdlib.h>

/* ---- bilinear ---- */

typedef struct bilinear_case {
    int64_t m, gu, gv, n, e, f; /* gu, gv: groups of u and v, m or 1 */
} bilinear_case;

static void check_bilinear(bilinear_case z, one_build b, bool fresh)
{
    const int64_t nu = z.gu * z.n * z.e, nw = z.m * z.e * z.f, nv = z.gv * z.n * z.f;
    double *u = one_op_values(1, nu), *w = one_op_values(2, nw), *v = one_op_values(3, nv);
    double *dy = one_op_values(4, z.m * z.n), *y = one_op_zeros(z.m * z.n);
    double *du = one_op_zeros(nu), *dw = one_op_zeros(nw), *dv = one_op_zeros(nv);
    const one_input in[] = {{3, {z.gu, z.n, z.e}, u, true},
                            {3, {z.m, z.e, z.f}, w, true},
                            {3, {z.gv, z.n, z.f}, v, true}};
    const double tol = b.dtype == WMI_F32 ? 5e-5 : 1e-13; /* sums of up to 1600 numbers up to 1 */
    one_op o;

    for (int64_t i = 0; i < nu && !fresh; i++)
        du[i] = ONE_OP_BEFORE;
    for (int64_t i = 0; i < nw && !fresh; i++)
        dw[i] = ONE_OP_BEFORE;
    for (int64_t i = 0; i < nv && !fresh; i++)
        dv[i] = ONE_OP_BEFORE;
    for (int64_t k = 0; k < z.m; k++)
        for (int64_t i = 0; i < z.n; i++)
            for (int64_t p = 0; p < z.e; p++)
                for (int64_t q = 0; q < z.f; q++) {
                    const int64_t iu = ((z.gu == 1 ? 0 : k) * z.n + i) * z.e + p;
                    const int64_t iv = ((z.gv == 1 ? 0 : k) * z.n + i) * z.f + q;
                    const int64_t iw = (k * z.e + p) * z.f + q;
                    const double d = dy[k * z.n + i];

                    y[k * z.n + i] += u[iu] * w[iw] * v[iv];
                    du[iu] += d * w[iw] * v[iv];
                    dw[iw] += d * u[iu] * v[iv];
                    dv[iv] += d * u[iu] * w[iw];
                }
    one_op_run(&o, "bilinear", b, NULL, 3, in, dy, fresh);
    assert_array("y", b, o.y, y, z.m * z.n, tol);
    assert_array("du", b, o.dx[0], du, nu, tol);
    assert_array("dw", b, o.dx[1], dw, nw, tol);
    assert_array("dv", b, o.dx[2], dv, nv, tol);
    one_op_free(&o);
    wmi_free(u);
    wmi_free(w);
    wmi_free(v);
    wmi_free(dy);
    wmi_free(y);
    wmi_free(du);
    wmi_free(dw);
    wmi_free(dv);
}

static void bilinear_matches_loops(void **state)
{
    const int64_t rows[] = {0, 1, 5, 300}; /* 300: more than one block of rows */
    const int64_t widths[][2] = {{1, 1}, {1, 7}, {7, 3}, {33, 40}};
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 1 + i % 3, &b); i++)
        for (int r = 0; r < 4; r++)
            for (int w = 0; w < 4; w++)
                for (int64_t m = 1; m <= 3; m += 2)
                    for (int shared = 0; shared < 4; shared++)
                        check_bilinear((bilinear_case){m, shared & 1 ? 1 : m, shared & 2 ? 1 : m,
                                                       rows[r], widths[w][0], widths[w][1]},
                                       b, (r + shared) & 1);
}

/* Without a bridge there is nothing to compute, but fresh gradients must still become 0. */
static void bilinear_without_bridges(void **state)
{
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 2, &b); i++)
        check_bilinear((bilinear_case){0, 1, 1, 5, 2, 3}, b, true);
}

/* Each gradient alone: what the others would need may be gone by then. */
static void bilinear_gradients_stand_alone(void **state)
{
    double *u = one_op_values(1, 24), *w = one_op_values(2, 24), *v = one_op_values(3, 16);
    double *dy = one_op_values(4, 8);
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 2, &b); i++) {
        one_input in[] = {
            {3, {2, 4, 3}, u, true}, {3, {2, 3, 4}, w, true}, {3, {1, 4, 4}, v, true}};
        one_op all, one;

        one_op_run(&all, "bilinear", b, NULL, 3, in, dy, true);
        for (int k = 0; k < 3; k++) {
            for (int l = 0; l < 3; l++)
                in[l].grad = l == k;
            one_op_run(&one, "bilinear", b, NULL, 3, in, dy, true);
            assert_memory_equal(all.dx[k], one.dx[k], (size_t)all.in[k].n * sizeof(double));
            one_op_free(&one);
        }
        one_op_free(&all);
    }
    wmi_free(u);
    wmi_free(w);
    wmi_free(v);
    wmi_free(dy);
}

/* ---- additive ---- */

typedef struct additive_case {
    int64_t m, groups, n, d, b;
} additive_case;

typedef struct additive {
    additive_case z;
    double *x, *coef, *knots, *dy; /* (groups, n, d), (m, d, b), (d, b + 4), (m, n) */
} additive;

/* Knots at uneven distances, of which float holds every one; x inside, at knots, at the ends,
 * beyond. */
static additive additive_new(additive_case z)
{
    additive t = {z, one_op_values(1, z.groups * z.n * z.d), one_op_values(2, z.m * z.d * z.b),
                  one_op_zeros(z.d * (z.b + 4)), one_op_values(4, z.m * z.n)};

    for (int64_t j = 0; j < z.d; j++) {
        double *knot = t.knots + j * (z.b + 4);

        knot[0] = -2 - (double)(j % 5) / 8;
        for (int64_t r = 1; r < z.b + 4; r++)
            knot[r] = knot[r - 1] + (1 + (double)((j * 7 + r * 5) % 11)) / 16;
        for (int64_t i = j; i < z.groups * z.n * z.d; i += z.d) {
            const double low = knot[3], high = knot[z.b], mid = (low + high) / 2;

            if (i % 13 == 5)
                t.x[i] = knot[3 + i % (z.b - 2)];
            else
                t.x[i] = (double)(float)(mid + 0.6 * (high - low) * t.x[i]); /* a sixth beyond */
        }
    }
    return t;
}

static void additive_free(additive *t)
{
    wmi_free(t->x);
    wmi_free(t->coef);
    wmi_free(t->knots);
    wmi_free(t->dy);
}

static void additive_run(one_op *o, const additive *t, one_build b, bool dx, bool dcoef, bool fresh)
{
    const additive_case z = t->z;
    const one_input in[] = {{3, {z.groups, z.n, z.d}, t->x, dx},
                            {3, {z.m, z.d, z.b}, t->coef, dcoef},
                            {2, {z.d, z.b + 4}, t->knots, false}};

    one_op_run(o, "additive", b, NULL, 3, in, dx || dcoef ? t->dy : NULL, fresh);
}

/* The definition: the B-spline of this degree that starts at t[0], with 0/0 = 0. end is the right
 * end of the domain, which belongs to the interval on its left. */
static double basis(const double *t, int degree, double x, double end)
{
    const double left = t[degree] - t[0], right = t[degree + 1] - t[1];
    double y = 0;

    if (degree == 0)
        return x == end ? t[0] < x && x == t[1] : t[0] <= x && x < t[1];
    if (left > 0)
        y += (x - t[0]) / left * basis(t, degree - 1, x, end);
    if (right > 0)
        y += (t[degree + 1] - x) / right * basis(t + 1, degree - 1, x, end);
    return y;
}

static double basis_slope(const double *t, double x, double end)
{
    const double left = t[3] - t[0], right = t[4] - t[1];

    return (left > 0 ? 3 / left * basis(t, 2, x, end) : 0) -
           (right > 0 ? 3 / right * basis(t + 1, 2, x, end) : 0);
}

/* y, dx, dcoef by the definition; the arrays hold what gradients start from. */
static void additive_plain(const additive *t, double *y, double *dx, double *dcoef)
{
    const additive_case z = t->z;

    for (int64_t k = 0; k < z.m; k++)
        for (int64_t i = 0; i < z.n; i++)
            for (int64_t j = 0; j < z.d; j++) {
                const int64_t at = ((z.groups == 1 ? 0 : k) * z.n + i) * z.d + j;
                const double *knot = t->knots + j * (z.b + 4), low = knot[3], high = knot[z.b];
                const double x = t->x[at] < low ? low : t->x[at] > high ? high : t->x[at];
                const bool tail = t->x[at] < low || t->x[at] > high;

                for (int64_t r = 0; r < z.b; r++) {
                    const double c = t->coef[(k * z.d + j) * z.b + r];
                    const double value = basis(knot + r, 3, x, high);

                    y[k * z.n + i] += c * value;
                    dcoef[(k * z.d + j) * z.b + r] += t->dy[k * z.n + i] * value;
                    if (!tail)
                        dx[at] += t->dy[k * z.n + i] * c * basis_slope(knot + r, x, high);
                }
            }
}

static void check_additive(additive_case z, one_build b, bool fresh)
{
    const int64_t nx = z.groups * z.n * z.d, nc = z.m * z.d * z.b;
    additive t = additive_new(z);
    double *y = one_op_zeros(z.m * z.n), *dx = one_op_zeros(nx), *dcoef = one_op_zeros(nc);
    /* float: a position in its span has error eps x / h, some 1e-5 of slopes up to 10, and y has d
     * terms of it; double: the same times 2e-9 */
    const double tol = b.dtype == WMI_F32 ? 3e-5 : 1e-12;
    one_op o;

    for (int64_t i = 0; i < nx && !fresh; i++)
        dx[i] = ONE_OP_BEFORE;
    for (int64_t i = 0; i < nc && !fresh; i++)
        dcoef[i] = ONE_OP_BEFORE;
    additive_plain(&t, y, dx, dcoef);
    additive_run(&o, &t, b, true, true, fresh);
    assert_array("y", b, o.y, y, z.m * z.n, tol);
    assert_array("dx", b, o.dx[0], dx, nx, tol);
    assert_array("dcoef", b, o.dx[1], dcoef, nc, tol);
    one_op_free(&o);
    wmi_free(y);
    wmi_free(dx);
    wmi_free(dcoef);
    additive_free(&t);
}

static void additive_matches_the_definition(void **state)
{
    /* columns: one, part of a strip, a strip, strips and a rest, more strips than parts; rows:
     * none, one, around a tile, more than a block; 4 coefficients make one span, 60 are found by
     * bisection */
    const additive_case cases[] = {{1, 1, 1, 1, 4},    {2, 2, 0, 3, 5},   {2, 1, 3, 0, 5},
                                   {3, 1, 7, 1, 5},    {3, 3, 33, 5, 8},  {2, 1, 32, 16, 20},
                                   {2, 2, 31, 17, 9},  {1, 1, 5, 530, 6}, {2, 1, 1030, 3, 7},
                                   {3, 3, 70, 40, 12}, {2, 2, 20, 9, 60}, {10, 1, 40, 49, 11}};
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 1 + i % 3, &b); i++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
            check_additive(cases[c], b, (c + (size_t)i) & 1);
}

/* Own kernels keep their bits whatever the number of threads, and whatever else is asked for. */
static void additive_bits_do_not_depend_on_threads(void **state)
{
    const additive_case cases[] = {{3, 3, 1100, 40, 12}, {3, 1, 1100, 40, 12}};
    one_build b;

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int i = 0; one_op_build(i, 1, &b); i++) {
            additive t = additive_new(cases[c]);
            one_op one, many;

            additive_run(&one, &t, b, true, true, true);
            for (int asked = 0; asked < 4; asked++)
                for (b.threads = 1; b.threads <= 7; b.threads += b.threads == 1 ? 1 : 5) {
                    additive_run(&many, &t, b, asked & 1, asked & 2, true);
                    assert_memory_equal(one.y, many.y, (size_t)one.nd.n * sizeof(double));
                    for (int k = 0; k < 2; k++)
                        if (asked >> k & 1)
                            assert_memory_equal(one.dx[k], many.dx[k],
                                                (size_t)one.in[k].n * sizeof(double));
                    one_op_free(&many);
                }
            one_op_free(&one);
            additive_free(&t);
        }
}

/* One column, one bridge, at n points: values and slopes. */
static void spline(one_build b, int64_t n_coef, const double *coef, const double *knots, int64_t n,
                   const double *x, double *y, double *slope)
{
    double *ones = one_op_zeros(n);
    const one_input in[] = {{3, {1, n, 1}, x, true},
                            {3, {1, 1, n_coef}, coef, false},
                            {2, {1, n_coef + 4}, knots, false}};
    one_op o;

    for (int64_t i = 0; i < n; i++)
        ones[i] = 1;
    one_op_run(&o, "additive", b, NULL, 3, in, ones, true);
    memcpy(y, o.y, (size_t)n * sizeof *y);
    memcpy(slope, o.dx[0], (size_t)n * sizeof *slope);
    one_op_free(&o);
    wmi_free(ones);
}

enum { B = 9, POINTS = 401 };
static const double uneven[B + 4] = {-3,  -2.5, -1.75, -1.5, -1,   -0.875, -0.5,
                                     0.5, 0.75, 1.5,   2,    2.75, 4};

/* Coefficients of 1 give 1 everywhere; those at the means of three knots (Greville) give x. */
static void spline_reproduces_lines(void **state)
{
    double x[POINTS], y[POINTS], slope[POINTS], ones[B], greville[B];
    one_build b;

    (void)state;
    for (int r = 0; r < B; r++) {
        ones[r] = 1;
        greville[r] = (uneven[r + 1] + uneven[r + 2] + uneven[r + 3]) / 3;
    }
    for (int i = 0; i < POINTS; i++)
        x[i] = -2.5 + i / 64.0; /* from below the domain [-1.5, 1.5] to above */
    for (int i = 0; one_op_build(i, 1, &b); i++) {
        const double tol = b.dtype == WMI_F32 ? 2e-6 : 4e-15, low = uneven[3], high = uneven[B];

        spline(b, B, ones, uneven, POINTS, x, y, slope);
        for (int k = 0; k < POINTS; k++) {
            assert_near(y[k], 1, tol);
            assert_near(slope[k], 0, 20 * tol);
        }
        spline(b, B, greville, uneven, POINTS, x, y, slope);
        for (int k = 0; k < POINTS; k++) {
            assert_near(y[k], fmin(fmax(x[k], low), high), 2 * tol);
            assert_near(slope[k], x[k] >= low && x[k] <= high, 20 * tol);
        }
    }
}

/* At an inner knot value, slope and curvature are the same from both sides. The slope is a
 * quadratic on each side, for which the three-point formula is exact: only rounding, some 10 eps /
 * h, is left. */
static void spline_is_twice_differentiable_at_knots(void **state)
{
    double coef[B];
    one_build b;

    (void)state;
    for (int r = 0; r < B; r++)
        coef[r] = 3 * one_op_value(11, r);
    for (int i = 0; one_op_build(i, 1, &b); i++) {
        if (b.dtype == WMI_F32)
            continue;
        for (int r = 4; r < B; r++) {
            const double t = uneven[r], hl = (t - uneven[r - 1]) / 4, hr = (uneven[r + 1] - t) / 4;
            /* the knot itself belongs to the right; 1e-13 to its left is still the left cubic */
            const double x[] = {t - 2 * hl, t - hl, t - 1e-13, t, t + hr, t + 2 * hr};
            double y[6], s[6];

            spline(b, B, coef, uneven, 6, x, y, s);
            assert_near(y[2], y[3], 1e-11);
            assert_near(s[2], s[3], 1e-11);
            const double left = (3 * s[2] - 4 * s[1] + s[0]) / (2 * hl);
            const double right = (-3 * s[3] + 4 * s[4] - s[5]) / (2 * hr);
            assert_near(left, right, 1e-9);
            assert_true(fabs(left) > 1e-3); /* or the comparison would say nothing */
        }
    }
}

/* Beyond the ends, far beyond and at infinity, value and slope are those of the end and 0. */
static void spline_tails_are_constant(void **state)
{
    const double x[] = {uneven[3], -1.5625, -40, -1e30, -INFINITY,
                        uneven[B], 1.75,    40,  1e30,  INFINITY};
    double coef[B], y[10], slope[10];
    one_build b;

    (void)state;
    for (int r = 0; r < B; r++)
        coef[r] = one_op_value(12, r);
    for (int i = 0; one_op_build(i, 1, &b); i++) {
        spline(b, B, coef, uneven, 10, x, y, slope);
        for (int k = 0; k < 10; k++) {
            assert_true(y[k] == y[k / 5 * 5]);
            assert_int_equal(slope[k] != 0, k % 5 == 0);
        }
    }
}

static void nan_in_a_row_stays_in_the_row(void **state)
{
    additive t = additive_new((additive_case){2, 1, 37, 18, 8});
    one_build b;

    (void)state;
    t.x[11 * 18 + 3] = NAN;
    for (int i = 0; one_op_build(i, 1, &b); i++) {
        one_op o;

        additive_run(&o, &t, b, false, false, true);
        for (int64_t k = 0; k < o.nd.n; k++)
            assert_int_equal(isnan(o.y[k]), k % 37 == 11);
        one_op_free(&o);
    }
    additive_free(&t);
}

/* Repeated end knots are the usual clamped spline; a column whose knots all coincide (a constant
 * column) must not poison the others. */
static void repeated_knots_stay_finite(void **state)
{
    enum { N = 9 };
    const double clamped[] = {-1, -1, -1, -1, -0.25, 0.5, 1, 1, 1, 1};
    double x[N * 2], coef[2 * 6], knots[2 * 10], dy[N];
    one_build b;

    (void)state;
    for (int r = 0; r < 10; r++) {
        knots[r] = clamped[r];
        knots[10 + r] = 3;
    }
    for (int r = 0; r < 12; r++)
        coef[r] = one_op_value(13, r);
    for (int i = 0; i < N; i++) {
        x[2 * i] = -1 + i / 4.0;
        x[2 * i + 1] = 2 + i / 4.0;
        dy[i] = 1;
    }
    const one_input in[] = {
        {3, {1, N, 2}, x, true}, {3, {1, 2, 6}, coef, true}, {2, {2, 10}, knots, false}};
    for (int i = 0; one_op_build(i, 1, &b); i++) {
        const double tol = b.dtype == WMI_F32 ? 1e-5 : 1e-13;
        double constant;
        one_op o;

        one_op_run(&o, "additive", b, NULL, 3, in, dy, true);
        /* a clamped spline ends at its outer coefficients: what is left is the constant column */
        constant = o.y[0] - coef[0];
        assert_near(o.y[N - 1], coef[5] + constant, tol);
        for (int k = 0; k < N; k++) {
            double want = constant;

            for (int r = 0; r < 6; r++)
                want += coef[r] * basis(clamped + r, 3, x[2 * k], 1);
            assert_near(o.y[k], want, tol);
            assert_true(isfinite(o.dx[0][2 * k]));
            assert_true(o.dx[0][2 * k + 1] == 0);
        }
        for (int r = 0; r < 12; r++)
            assert_true(isfinite(o.dx[1][r]));
        one_op_free(&o);
    }
}

/* ---- both ---- */

static void wrong_shapes_are_named(void **state)
{
    const struct {
        const char *op;
        one_input in[3];
        const char *says;
    } bad[] = {
        {"bilinear",
         {ONE_SHAPE(3, 2, 5, 3), ONE_SHAPE(3, 3, 3, 4), ONE_SHAPE(3, 3, 5, 4)},
         "one for each W"},
        {"bilinear",
         {ONE_SHAPE(3, 3, 5, 3), ONE_SHAPE(3, 3, 3, 4), ONE_SHAPE(3, 3, 6, 4)},
         "differ in rows"},
        {"bilinear",
         {ONE_SHAPE(3, 3, 5, 3), ONE_SHAPE(3, 3, 4, 3), ONE_SHAPE(3, 3, 5, 4)},
         "width of u"},
        {"bilinear", {ONE_SHAPE(2, 5, 3), ONE_SHAPE(3, 3, 3, 4), ONE_SHAPE(3, 3, 5, 4)}, "rank 3"},
        {"additive",
         {ONE_SHAPE(3, 2, 5, 3), ONE_SHAPE(3, 3, 3, 6), ONE_SHAPE(2, 3, 10)},
         "one for each bridge"},
        {"additive",
         {ONE_SHAPE(3, 1, 5, 3), ONE_SHAPE(3, 3, 4, 6), ONE_SHAPE(2, 3, 10)},
         "each column"},
        {"additive",
         {ONE_SHAPE(3, 1, 5, 3), ONE_SHAPE(3, 3, 3, 3), ONE_SHAPE(2, 3, 7)},
         "at least 4"},
        {"additive",
         {ONE_SHAPE(3, 1, 5, 3), ONE_SHAPE(3, 3, 3, 6), ONE_SHAPE(2, 3, 9)},
         "6 coefficients need 10 knots"},
        {"additive", {ONE_SHAPE(2, 5, 3), ONE_SHAPE(3, 3, 3, 6), ONE_SHAPE(2, 3, 10)}, "of rank 3"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        wm_error err = {0};
        one_op o;

        assert_int_equal(one_op_infer(&o, bad[i].op, (one_build){WMI_F32, WMI_ISA_BASE, 1}, NULL, 3,
                                      bad[i].in, &err),
                         WM_ESHAPE);
        if (!strstr(err.text, bad[i].says))
            fail_msg("'%s' does not say '%s'", err.text, bad[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bilinear_matches_loops),
        cmocka_unit_test(bilinear_without_bridges),
        cmocka_unit_test(bilinear_gradients_stand_alone),
        cmocka_unit_test(additive_matches_the_definition),
        cmocka_unit_test(additive_bits_do_not_depend_on_threads),
        cmocka_unit_test(spline_reproduces_lines),
        cmocka_unit_test(spline_is_twice_differentiable_at_knots),
        cmocka_unit_test(spline_tails_are_constant),
        cmocka_unit_test(nan_in_a_row_stays_in_the_row),
        cmocka_unit_test(repeated_knots_stay_finite),
        cmocka_unit_test(wrong_shapes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
