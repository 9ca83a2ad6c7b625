/* problem_columns.c - ratio problems whose columns are alike and independent, perhaps turned: the
 * divergence is that of one column times their number. One column is a mixture of normals or a
 * Student distribution, for p and for q. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/special.h"
#include "problems/draws.h"
#include "problems/problem.h"

#define PI 3.14159265358979323846

/* A density on the line: `modes` normals of the same weight and sd, `gap` apart about mean; or with
 * a finite dof a Student distribution at mean, scaled by sd. */
typedef struct density {
    double mean, sd, gap, dof, log_scale; /* log_scale: of the density's constant */
    int64_t modes;
} density;

typedef struct columns {
    density d[2]; /* of p and of q */
    bool turned;
    double rotation[];
} columns;

static density normal(double mean, double sd)
{
    return (density){.mean = mean,
                     .sd = sd,
                     .dof = INFINITY,
                     .modes = 1,
                     .log_scale = -log(sd) - 0.5 * log(2 * PI)};
}

static density mixture(double mean, double sd, double gap, int64_t modes)
{
    density d = normal(mean, sd);

    d.gap = gap;
    d.modes = modes;
    d.log_scale -= log((double)modes);
    return d;
}

static density student(double mean, double sd, double dof)
{
    density d = normal(mean, sd);

    d.dof = dof;
    d.log_scale =
        wmi_log_gamma(0.5 * (dof + 1)) - wmi_log_gamma(0.5 * dof) - log(sd) - 0.5 * log(PI * dof);
    return d;
}

static double mode_centre(const density *d, int64_t k)
{
    return d->mean + d->gap * ((double)k - 0.5 * (double)(d->modes - 1));
}

static double log_density(const density *d, double x)
{
    const double z = (x - d->mean) / d->sd;
    double top = -INFINITY, sum = 0;

    if (isfinite(d->dof))
        return d->log_scale - 0.5 * (d->dof + 1) * log1p(z * z / d->dof);
    if (d->modes == 1)
        return d->log_scale - 0.5 * z * z;
    for (int pass = 0; pass < 2; pass++) /* the largest exponent, then the sum under it */
        for (int64_t k = 0; k < d->modes; k++) {
            const double zk = (x - mode_centre(d, k)) / d->sd, e = -0.5 * zk * zk;

            if (pass == 0)
                top = fmax(top, e);
            else
                sum += exp(e - top);
        }
    return d->log_scale + top + log(sum);
}

/* --- the truth ---------------------------------------------------------------------------------*/

/* log(p/q) under p, for the integral. */
static double weighted_log_ratio(double x, const void *ctx)
{
    const density *d = ctx; /* p, q */
    const double log_p = log_density(&d[0], x), p = exp(log_p);

    return p > 0 ? p * (log_p - log_density(&d[1], x)) : 0;
}

static bool is_normal(const density *d)
{
    return d->modes == 1 && !isfinite(d->dof);
}

/* KL(p, q) of one column; *error is raised by what the number may be off. */
static double divergence(const density *p, const density *q, double *error)
{
    const density both[2] = {*p, *q};
    double off = 0, kl;

    if (is_normal(p) && is_normal(q)) {
        const double s = p->sd / q->sd, m = (p->mean - q->mean) / q->sd;

        return 0.5 * (s * s - 1 + m * m) - log(s);
    }
    kl = wmi_integrate(weighted_log_ratio, both, p->mean, p->sd + 0.5 * p->gap * (double)p->modes,
                       &off);
    *error += off;
    return kl;
}

static wm_status begin(wm_problem *p, density dp, density dq, const wmi_rng *turn, wm_error *err)
{
    const int64_t dim = (int64_t)wmi_problem_get(p, "dim", 1);
    const int64_t size = turn ? wmi_rotation_size(dim) : 0;
    double error = 0;
    columns *c;
    wm_status st = wmi_alloc(&p->own, 1, sizeof *c + (size_t)size * sizeof(double), "problem", err);

    if (st)
        return st;
    c = p->own;
    c->d[0] = dp;
    c->d[1] = dq;
    c->turned = turn != NULL;
    if (turn)
        wmi_rotation_make(turn, dim, c->rotation);
    p->dim[0] = p->dim[1] = dim;
    p->truth.kl_pq = (double)dim * divergence(&dp, &dq, &error);
    p->truth.kl_qp = (double)dim * divergence(&dq, &dp, &error);
    p->truth.error = (double)dim * error;
    return WM_OK;
}

/* --- samples and ratio -------------------------------------------------------------------------*/

/* Elements first to first + n - 1 of one table. */
static void draw_density(const density *d, const wmi_rng *rng, int64_t first, int64_t n, double *x)
{
    const wmi_rng normals = wmi_rng_sub(rng, 0), others = wmi_rng_sub(rng, 1);

    wmi_rng_normal_f64(&normals, (uint64_t)first, n, x);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t element = (uint64_t)(first + i);
        double centre = d->mean;

        if (isfinite(d->dof))
            x[i] /= wmi_draw_student_divisor(&others, element, d->dof);
        else if (d->modes > 1)
            centre = mode_centre(d, wmi_rng_below(&others, element, d->modes));
        x[i] = centre + d->sd * x[i];
    }
}

static void draw(const wm_problem *p, const wmi_rng *rng, int64_t first, int64_t n, double *a,
                 double *b)
{
    const columns *c = p->own;
    const int64_t dim = p->dim[0];

    for (int k = 0; k < 2; k++) {
        const wmi_rng own = wmi_rng_sub(rng, (uint64_t)k);
        double *x = k ? b : a;

        if (!x)
            continue;
        draw_density(&c->d[k], &own, first * dim, n * dim, x);
        for (int64_t i = 0; i < n && c->turned; i++)
            wmi_rotation_apply(c->rotation, dim, x + i * dim);
    }
}

static double log_ratio(const wm_problem *p, double *a, double *b)
{
    const columns *c = p->own;
    double sum = 0;

    (void)b;
    if (c->turned)
        wmi_rotation_undo(c->rotation, p->dim[0], a);
    for (int64_t j = 0; j < p->dim[0]; j++)
        sum += log_density(&c->d[0], a[j]) - log_density(&c->d[1], a[j]);
    return sum;
}

/* --- the problems ------------------------------------------------------------------------------*/

static wm_status start_normals(wm_problem *p, const wmi_rng *rng, wm_error *err)
{
    (void)rng;
    return begin(p, normal(wmi_problem_get(p, "mean-p", 0), wmi_problem_get(p, "sd-p", 1)),
                 normal(wmi_problem_get(p, "mean-q", 0), wmi_problem_get(p, "sd-q", 1)), NULL, err);
}

/* q is the normal of p's mean and variance, moved: the first two moments say nothing of the modes.
 */
static wm_status start_mixture(wm_problem *p, const wmi_rng *rng, wm_error *err)
{
    const double gap = wmi_problem_get(p, "gap", 4), k = wmi_problem_get(p, "modes", 2);
    const double sd = sqrt(1 + gap * gap * (k * k - 1) / 12); /* of p, whose modes have sd 1 */
    const wmi_rng turn = wmi_rng_sub(rng, 0);

    return begin(p, mixture(0, 1, gap, (int64_t)k),
                 normal(-sd * wmi_problem_get(p, "shift", 0), sd), &turn, err);
}

static wm_status start_tails(wm_problem *p, const wmi_rng *rng, wm_error *err)
{
    (void)rng;
    return begin(p, student(wmi_problem_get(p, "shift", 0), 1, wmi_problem_get(p, "dof-p", 1)),
                 student(0, wmi_problem_get(p, "sd-q", 1), wmi_problem_get(p, "dof-q", 1)), NULL,
                 err);
}

#define SD_RANGE 1e-100, 1e100, false
#define MEAN_RANGE -1e100, 1e100, false
#define DIM(standard)                                                                              \
    {                                                                                              \
        "dim", "columns", (standard), 1, 1e6, true                                                 \
    }

static const wm_problem_param shift_params[] = {
    DIM(1),
    {"mean-p", "mean of every column of p", -5, MEAN_RANGE},
    {"sd-p", "standard deviation of p", 1, SD_RANGE},
    {"mean-q", "mean of every column of q", 5, MEAN_RANGE},
    {"sd-q", "standard deviation of q", 1, SD_RANGE},
};
static const wm_problem_param scale_params[] = {
    DIM(5),
    {"sd-p", "standard deviation of p", 1, SD_RANGE},
    {"sd-q", "standard deviation of q", 3, SD_RANGE},
};
static const wm_problem_param peaked_params[] = {
    DIM(1),
    {"sd-p", "standard deviation of p", 1e-6, SD_RANGE},
    {"sd-q", "standard deviation of q", 1, SD_RANGE},
};
static const wm_problem_param same_params[] = {DIM(10)};
static const wm_problem_param mixture_params[] = {
    DIM(2),
    {"modes", "modes of p along each axis", 3, 1, 50, true},
    {"gap", "distance of neighbouring modes, whose sd is 1", 4, 0, 20, false},
    {"shift", "distance of the means of p and q in each axis, in sd of q", 0, -100, 100, false},
};
static const wm_problem_param tails_params[] = {
    DIM(2),
    {"dof-p", "degrees of freedom of p", 3, 0.5, 1e6, false},
    {"dof-q", "degrees of freedom of q", 2, 0.5, 1e6, false},
    {"shift", "location of p in every column; that of q is 0", 3, -1000, 1000, false},
    {"sd-q", "scale of q; that of p is 1", 2, 1e-3, 1e3, false},
};

#define PARAMS(list) sizeof(list) / sizeof *(list), (list)
#define ROW(name, about, list, start)                                                              \
    {                                                                                              \
        {name, about, WM_PROBLEM_RATIO, PARAMS(list)}, (start), draw, log_ratio                    \
    }

const wmi_problem_type wmi_problems_columns[] = {
    ROW("shift", "normals at a distance, N(-5, 1) and N(5, 1)", shift_params, start_normals),
    ROW("scale", "normals of different width about the same mean", scale_params, start_normals),
    ROW("peaked", "a needle in a normal: N(0, 1e-6^2) and N(0, 1)", peaked_params, start_normals),
    ROW("same", "p = q, standard normal: there is nothing to find", same_params, start_normals),
    ROW("mixture", "a grid of modes, turned, and the normal of the same moments", mixture_params,
        start_mixture),
    ROW("tails", "Student distributions: heavy tails on both sides", tails_params, start_tails),
    {.info = {.name = NULL}},
};
