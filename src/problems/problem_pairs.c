/* problem_pairs.c - u and v of which some columns are correlated in pairs, Gaussian or Student, and
 * invertible maps of u and of v, which leave the mutual information as it is.
 *
 * Gaussian: each of k pairs has -log(1 - rho^2) / 2 nats. Student with nu degrees: entropy is that
 * of the dispersion matrix plus
 *     f(d) = log Gamma(nu/2) - log Gamma((nu+d)/2) + (d/2) log(nu pi)
 *            + ((nu+d)/2) (psi((nu+d)/2) - psi(nu/2)),
 * so that the information is the Gaussian one plus f(dx) + f(dy) - f(dx+dy): the two share the
 * divisor that makes them Student, and are not independent even at rho = 0. */
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/special.h"
#include "problems/draws.h"
#include "problems/problem.h"

#define PI 3.14159265358979323846
#define MOST_PER_PAIR 15 /* nats: 1 - rho is then 5e-14, near the end of double */

typedef enum map { MAP_NONE, MAP_POWER, MAP_ASINH, MAP_CDF, MAP_SPIRAL, MAP_ROLL } map;

typedef struct pairs {
    int64_t dim[2];   /* of the Gaussian or Student variables under the map */
    int64_t n;        /* pairs that are correlated, the first columns of u and v */
    double rho, rest; /* rest: sqrt(1 - rho^2) */
    double dof;       /* inf: Gaussian */
    double constant;  /* of the Student log-ratio */
    map map;
    double arg;            /* of the map */
    const double *turn[2]; /* rotations before the map, or NULL */
    double rotations[];
} pairs;

/* --- the truth ---------------------------------------------------------------------------------*/

/* f above, and the constant of the log-density, log Gamma((nu+d)/2) - log Gamma(nu/2) -
 * (d/2) log(nu pi). */
static double student_entropy(double nu, double d)
{
    return wmi_log_gamma(0.5 * nu) - wmi_log_gamma(0.5 * (nu + d)) + 0.5 * d * log(nu * PI) +
           0.5 * (nu + d) * (wmi_psi(0.5 * (nu + d)) - wmi_psi(0.5 * nu));
}

static double student_constant(double nu, double d)
{
    return wmi_log_gamma(0.5 * (nu + d)) - wmi_log_gamma(0.5 * nu) - 0.5 * d * log(nu * PI);
}

/* Correlation from the wanted information or the other way round; what is known is filled in. */
static wm_status resolve(wm_problem *p, pairs *c, wm_error *err)
{
    const char *name = p->type->info.name;
    const double dx = (double)c->dim[0], dy = (double)c->dim[1], most = fmin(dx, dy);
    double *n = wmi_problem_param(p, "pairs"), *rho = wmi_problem_param(p, "rho");
    double *mi = wmi_problem_param(p, "mi"), beyond = 0, per_pair;

    if (n && isnan(*n))
        *n = most;
    c->n = n ? (int64_t)*n : 1;
    if ((double)c->n > most)
        return wmi_fail(err, WM_EINVAL, "%s: %" PRId64 " pairs of %g and %g columns: at most %g",
                        name, c->n, dx, dy, most);
    if (wmi_problem_given(p, "rho") && wmi_problem_given(p, "mi"))
        return wmi_fail(err, WM_EINVAL, "%s: mi %g and rho %g: give one, the other follows", name,
                        *mi, *rho);
    if (isfinite(c->dof))
        beyond = student_entropy(c->dof, dx) + student_entropy(c->dof, dy) -
                 student_entropy(c->dof, dx + dy);
    if (wmi_problem_given(p, "rho") || isnan(*mi)) {
        c->rho = *rho;
        c->rest = sqrt((1 - *rho) * (1 + *rho));
        *mi = beyond - (double)c->n * log(c->rest);
    } else {
        per_pair = (*mi - beyond) / (double)c->n;
        if (per_pair < 0)
            return wmi_fail(err, WM_EINVAL,
                            "%s: mi is %g, and with dof %g and %g + %g columns at least %.6g", name,
                            *mi, c->dof, dx, dy, beyond);
        if (per_pair > MOST_PER_PAIR)
            return wmi_fail(err, WM_EINVAL, "%s: mi is %g, with %" PRId64 " pairs at most %g", name,
                            *mi, c->n, beyond + MOST_PER_PAIR * (double)c->n);
        c->rest = exp(-per_pair);
        c->rho = sqrt(-expm1(-2 * per_pair));
        *rho = c->rho;
    }
    p->truth.mi = *mi;
    return WM_OK;
}

static wm_status begin(wm_problem *p, const wmi_rng *rng, map m, const char *arg, wm_error *err)
{
    const int64_t dx = (int64_t)wmi_problem_get(p, "dx", 1);
    const int64_t dy = (int64_t)wmi_problem_get(p, "dy", 1);
    const bool dense = wmi_problem_get(p, "dense", 0) > 0;
    const int64_t size[2] = {wmi_rotation_size(dx), wmi_rotation_size(dy)};
    const int64_t room = dense ? size[0] + size[1] : 0;
    pairs *c;
    wm_status st = wmi_alloc(&p->own, 1, sizeof *c + (size_t)room * sizeof(double), "problem", err);

    if (st)
        return st;
    c = p->own;
    c->dim[0] = dx;
    c->dim[1] = dy;
    c->dof = wmi_problem_get(p, "dof", INFINITY);
    c->map = m;
    c->arg = arg ? wmi_problem_get(p, arg, 0) : 0;
    if (isfinite(c->dof))
        c->constant = student_constant(c->dof, (double)(dx + dy)) -
                      student_constant(c->dof, (double)dx) - student_constant(c->dof, (double)dy);
    for (int k = 0; k < 2 && dense; k++) {
        const wmi_rng own = wmi_rng_sub(rng, (uint64_t)k);
        double *at = c->rotations + k * size[0];

        wmi_rotation_make(&own, c->dim[k], at);
        c->turn[k] = at;
    }
    p->dim[0] = m == MAP_ROLL ? 2 : dx;
    p->dim[1] = dy;
    return resolve(p, c, err);
}

/* --- maps, of one row of u (side 0) or v (side 1) ----------------------------------------------*/

/* A turn of the plane of two columns, the first two of u and the last two of v, by an angle that
 * depends on the length of the row, which it does not change. */
static void spiral(const pairs *c, int side, double sign, double *x)
{
    const int64_t d = c->dim[side], i = side ? d - 2 : 0;
    double length2 = 0, angle, x0, x1;

    if (d < 2)
        return;
    for (int64_t j = 0; j < d; j++)
        length2 += x[j] * x[j];
    angle = sign * c->arg * length2;
    x0 = x[i];
    x1 = x[i + 1];
    x[i] = cos(angle) * x0 - sin(angle) * x1;
    x[i + 1] = sin(angle) * x0 + cos(angle) * x1;
}

static double forward(const pairs *c, double x)
{
    switch (c->map) {
    case MAP_POWER:
        return copysign(pow(fabs(x), 1 + c->arg), x);
    case MAP_ASINH:
        return asinh(c->arg * x);
    case MAP_CDF:
    case MAP_ROLL: /* v; and u, before it is rolled up */
        return wmi_normal_cdf(x);
    default:
        return x;
    }
}

static double backward(const pairs *c, double y)
{
    switch (c->map) {
    case MAP_POWER:
        return copysign(pow(fabs(y), 1 / (1 + c->arg)), y);
    case MAP_ASINH:
        return sinh(y) / c->arg;
    case MAP_CDF:
    case MAP_ROLL: /* the ends are values that rounding alone can give */
        return wmi_normal_inverse(fmin(fmax(y, 0x1p-60), 1 - 0x1p-53));
    default:
        return y;
    }
}

/* The roll: angle and distance from the centre are both t, from 1.5 pi to 4.5 pi. */
static double roll_angle(double x)
{
    return 1.5 * PI * (1 + 2 * x);
}

static void map_row(const pairs *c, int side, double *x)
{
    if (c->turn[side])
        wmi_rotation_apply(c->turn[side], c->dim[side], x);
    if (c->map == MAP_SPIRAL)
        spiral(c, side, 1, x);
    else
        for (int64_t j = 0; j < c->dim[side]; j++)
            x[j] = forward(c, x[j]);
}

static void unmap_row(const pairs *c, int side, double *x)
{
    if (c->map == MAP_ROLL && side == 0)
        x[0] = (hypot(x[0], x[1]) / (1.5 * PI) - 1) / 2;
    if (c->map == MAP_SPIRAL)
        spiral(c, side, -1, x);
    else
        for (int64_t j = 0; j < c->dim[side]; j++)
            x[j] = backward(c, x[j]);
    if (c->turn[side])
        wmi_rotation_undo(c->turn[side], c->dim[side], x);
}

/* --- samples and ratio -------------------------------------------------------------------------*/

static void draw(const wm_problem *p, const wmi_rng *rng, int64_t first, int64_t n, double *a,
                 double *b)
{
    const pairs *c = p->own;
    const int64_t dx = c->dim[0], dy = c->dim[1];
    const wmi_rng of_u = wmi_rng_sub(rng, 0), of_v = wmi_rng_sub(rng, 1);
    const wmi_rng divisors = wmi_rng_sub(rng, 2);

    wmi_rng_normal_f64(&of_u, (uint64_t)(first * dx), n * dx, a);
    wmi_rng_normal_f64(&of_v, (uint64_t)(first * dy), n * dy, b);
    for (int64_t i = 0; i < n; i++) {
        double *u = a + i * dx, *v = b + i * dy;

        for (int64_t j = 0; j < c->n; j++)
            v[j] = c->rho * u[j] + c->rest * v[j];
        if (isfinite(c->dof)) {
            const double s = wmi_draw_student_divisor(&divisors, (uint64_t)(first + i), c->dof);

            for (int64_t j = 0; j < dx; j++)
                u[j] /= s;
            for (int64_t j = 0; j < dy; j++)
                v[j] /= s;
        }
        map_row(c, 0, u);
        map_row(c, 1, v);
    }
    if (c->map == MAP_ROLL) /* from the last row: u has one number a row so far, and gets two */
        for (int64_t i = n - 1; i >= 0; i--) {
            const double t = roll_angle(a[i]);

            a[2 * i] = t * cos(t);
            a[2 * i + 1] = t * sin(t);
        }
}

static double log_ratio(const wm_problem *p, double *a, double *b)
{
    const pairs *c = p->own;
    const double nu = c->dof, dx = (double)c->dim[0], dy = (double)c->dim[1];
    double qx = 0, qy = 0, qxy = 0; /* squared lengths, the last in the joint dispersion */

    unmap_row(c, 0, a);
    unmap_row(c, 1, b);
    for (int64_t j = 0; j < c->dim[0]; j++)
        qx += a[j] * a[j];
    for (int64_t j = 0; j < c->dim[1]; j++) {
        const double r = j < c->n ? (b[j] - c->rho * a[j]) / c->rest : b[j];

        qy += b[j] * b[j];
        qxy += r * r;
    }
    qxy += qx;
    if (!isfinite(nu))
        return -(double)c->n * log(c->rest) - 0.5 * (qxy - qx - qy);
    return c->constant - (double)c->n * log(c->rest) - 0.5 * (nu + dx + dy) * log1p(qxy / nu) +
           0.5 * (nu + dx) * log1p(qx / nu) + 0.5 * (nu + dy) * log1p(qy / nu);
}

/* --- the problems ------------------------------------------------------------------------------*/

static wm_status start_plain(wm_problem *p, const wmi_rng *rng, wm_error *err)
{
    return begin(p, rng, MAP_NONE, NULL, err);
}

static wm_status start_cube(wm_problem *p, const wmi_rng *rng, wm_error *err)
{
    return begin(p, rng, MAP_POWER, "power", err);
}

static wm_status start_asinh(wm_problem *p, const wmi_rng *rng, wm_error *err)
{
    return begin(p, rng, MAP_ASINH, "stretch", err);
}

static wm_status start_uniform(wm_problem *p, const wmi_rng *rng, wm_error *err)
{
    return begin(p, rng, MAP_CDF, NULL, err);
}

static wm_status start_spiral(wm_problem *p, const wmi_rng *rng, wm_error *err)
{
    return begin(p, rng, MAP_SPIRAL, "speed", err);
}

static wm_status start_roll(wm_problem *p, const wmi_rng *rng, wm_error *err)
{
    return begin(p, rng, MAP_ROLL, NULL, err);
}

#define DIMS(dx, dy, least)                                                                        \
    {"dx", "columns of u", (dx), (least), 1e5, true},                                              \
    {                                                                                              \
        "dy", "columns of v", (dy), 1, 1e5, true                                                   \
    }
#define MI(standard)                                                                               \
    {                                                                                              \
        "mi", "mutual information in nats", (standard), 0, 1e6, false                              \
    }
#define RHO(standard)                                                                              \
    {                                                                                              \
        "rho", "correlation of a pair, instead of mi", (standard), -1 + 1e-12, 1 - 1e-12, false    \
    }
#define PAIRS                                                                                      \
    {                                                                                              \
        "pairs", "pairs that are correlated; without it as many as there are", NAN, 1, 1e5, true   \
    }
#define DENSE                                                                                      \
    {                                                                                              \
        "dense", "1: u and v are turned, every column has a part", 0, 0, 1, true                   \
    }

/* clang-format off */
static const wm_problem_param gaussian_params[] = {DIMS(5, 5, 1), MI(2), RHO(NAN), PAIRS, DENSE};
static const wm_problem_param cube_params[] = {
    DIMS(1, 1, 1), MI(2), RHO(NAN), PAIRS, DENSE,
    {"power", "x becomes x |x|^power: 2 is the cube, 0.5 the half-cube", 2, -0.9, 8, false},
};
static const wm_problem_param asinh_params[] = {
    DIMS(1, 1, 1), MI(2), RHO(NAN), PAIRS, DENSE,
    {"stretch", "x becomes asinh(stretch x)", 1, 1e-6, 1e6, false},
};
static const wm_problem_param student_params[] = {
    DIMS(5, 5, 1), MI(NAN), RHO(0.75), PAIRS, DENSE,
    {"dof", "degrees of freedom", 2, 0.5, 1e6, false},
};
static const wm_problem_param spiral_params[] = {
    DIMS(3, 3, 2), MI(2), RHO(NAN), PAIRS,
    {"speed", "angle of the turn over the squared length of the row", 0.5, -100, 100, false},
};
static const wm_problem_param roll_params[] = {MI(2), RHO(NAN)};
/* clang-format on */

#define PARAMS(list) sizeof(list) / sizeof *(list), (list)
#define ROW(name, about, list, start)                                                              \
    {                                                                                              \
        {name, about, WM_PROBLEM_MI, PARAMS(list)}, (start), draw, log_ratio                       \
    }

const wmi_problem_type wmi_problems_pairs[] = {
    ROW("gaussian", "pairs of correlated normals", gaussian_params, start_plain),
    ROW("cube", "pairs of cubed normals, x |x|^power: long tails", cube_params, start_cube),
    ROW("asinh", "pairs of normals under asinh: short tails", asinh_params, start_asinh),
    ROW("uniform", "pairs of normals mapped to (0, 1)", gaussian_params, start_uniform),
    ROW("student", "Student pairs: heavy tails, dependent even where uncorrelated", student_params,
        start_plain),
    ROW("spiral", "normals turned by an angle that grows outwards", spiral_params, start_spiral),
    ROW("swissroll", "u rolled up in the plane, v on a line", roll_params, start_roll),
    {.info = {.name = NULL}},
};
