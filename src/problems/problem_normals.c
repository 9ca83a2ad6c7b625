/* problem_normals.c - two Gaussians in general position with a wanted KL(p, q).
 * In the coordinates y where q is standard normal, p is N(m, R diag(s^2) R') with a random rotation
 * R and random s; then
 *     KL(p, q) = sum_j (s_j^2 - 1 - log s_j^2) / 2 + |m|^2 / 2.
 * The length of m makes up what the covariance leaves, and if that is less than half, the s_j move
 * towards 1 until it is half. A random affine map, the same for both, hides y and changes nothing.
 */
#include <math.h>

#include "base/alloc.h"
#include "problems/draws.h"
#include "problems/problem.h"

/* Vectors of length dim and rotations, in one block of doubles at own. */
typedef struct general {
    int64_t dim;
    const double *s, *m, *scale, *centre; /* (dim) each */
    const double *turn_p, *inner, *outer; /* rotations */
} general;

static general view(const wm_problem *p)
{
    const int64_t d = p->dim[0], size = wmi_rotation_size(d);
    const double *at = p->own;

    return (general){.dim = d,
                     .s = at,
                     .m = at + d,
                     .scale = at + 2 * d,
                     .centre = at + 3 * d,
                     .turn_p = at + 4 * d,
                     .inner = at + 4 * d + size,
                     .outer = at + 4 * d + 2 * size};
}

/* What log standard deviations t g_j add to KL(p, q); it rises with t >= 0. */
static double covariance_part(const double *g, int64_t d, double t)
{
    double sum = 0;

    for (int64_t j = 0; j < d; j++)
        sum += 0.5 * expm1(2 * t * g[j]) - t * g[j];
    return sum;
}

/* The largest t <= 1 for which the covariance takes at most `most`. */
static double share_of_covariance(const double *g, int64_t d, double most)
{
    double lo = 0, hi = 1;

    if (covariance_part(g, d, 1) <= most)
        return 1;
    for (int i = 0; i < 200 && hi - lo > 0; i++) {
        const double t = 0.5 * (lo + hi);

        if (covariance_part(g, d, t) <= most)
            lo = t;
        else
            hi = t;
    }
    return lo;
}

static double norm2(const double *x, int64_t d)
{
    double sum = 0;

    for (int64_t j = 0; j < d; j++)
        sum += x[j] * x[j];
    return sum;
}

/* From y to x, and back. */
static void outwards(const general *g, double *x)
{
    wmi_rotation_apply(g->inner, g->dim, x);
    for (int64_t j = 0; j < g->dim; j++)
        x[j] *= g->scale[j];
    wmi_rotation_apply(g->outer, g->dim, x);
    for (int64_t j = 0; j < g->dim; j++)
        x[j] += g->centre[j];
}

static void inwards(const general *g, double *x)
{
    for (int64_t j = 0; j < g->dim; j++)
        x[j] -= g->centre[j];
    wmi_rotation_undo(g->outer, g->dim, x);
    for (int64_t j = 0; j < g->dim; j++)
        x[j] /= g->scale[j];
    wmi_rotation_undo(g->inner, g->dim, x);
}

/* From y to what is standard normal under p. */
static void whiten_p(const general *g, double *y)
{
    for (int64_t j = 0; j < g->dim; j++)
        y[j] -= g->m[j];
    wmi_rotation_undo(g->turn_p, g->dim, y);
    for (int64_t j = 0; j < g->dim; j++)
        y[j] /= g->s[j];
}

/* KL(q, p): in p's coordinates q is N(m', .) with m' = whiten_p(0), which y becomes. */
static double reverse_divergence(const general *g, double *y)
{
    double sum = 0;

    for (int64_t j = 0; j < g->dim; j++) {
        const double log_s = log(g->s[j]);

        y[j] = 0;
        sum += 0.5 * expm1(-2 * log_s) + log_s;
    }
    whiten_p(g, y);
    return sum + 0.5 * norm2(y, g->dim);
}

/* Random numbers for everything, in the order of view(): g, m, logs of scale, centre, rotations. */
static void fill_at_random(double *at, int64_t d, int64_t size, const wmi_rng *rng)
{
    for (int64_t k = 0; k < 7; k++) {
        const wmi_rng own = wmi_rng_sub(rng, (uint64_t)k);

        if (k < 4)
            wmi_rng_normal_f64(&own, 0, d, at + k * d);
        else
            wmi_rotation_make(&own, d, at + 4 * d + (k - 4) * size);
    }
}

static wm_status start(wm_problem *p, const wmi_rng *rng, wm_error *err)
{
    const int64_t d = (int64_t)wmi_problem_get(p, "dim", 1), size = wmi_rotation_size(d);
    const double kl = wmi_problem_get(p, "kl", 0), spread = wmi_problem_get(p, "spread", 0);
    double *log_s, *m, *scale, t, left, length;
    general g;
    wm_status st;

    p->dim[0] = p->dim[1] = d;
    /* A vector is left at the end for reverse_divergence(). */
    if ((st = wmi_alloc(&p->own, 5 * d + 3 * size, sizeof(double), "problem", err)))
        return st;
    log_s = p->own;
    m = log_s + d;
    scale = log_s + 2 * d;
    fill_at_random(log_s, d, size, rng);
    for (int64_t j = 0; j < d; j++) {
        log_s[j] *= spread;
        scale[j] = exp(0.5 * scale[j]);
    }
    t = share_of_covariance(log_s, d, 0.5 * kl);
    left = fmax(kl - covariance_part(log_s, d, t), 0);
    length = sqrt(2 * left / norm2(m, d));
    for (int64_t j = 0; j < d; j++) {
        log_s[j] = exp(t * log_s[j]); /* s from here on */
        m[j] *= length;
    }
    g = view(p);
    p->truth.kl_pq = kl;
    p->truth.kl_qp = reverse_divergence(&g, log_s + 4 * d + 3 * size);
    return WM_OK;
}

static void draw(const wm_problem *p, const wmi_rng *rng, int64_t first, int64_t n, double *a,
                 double *b)
{
    const general g = view(p);

    for (int k = 0; k < 2; k++) {
        const wmi_rng own = wmi_rng_sub(rng, (uint64_t)k);
        double *x = k ? b : a;

        if (!x)
            continue;
        wmi_rng_normal_f64(&own, (uint64_t)(first * g.dim), n * g.dim, x);
        for (int64_t i = 0; i < n; i++, x += g.dim) {
            if (k == 0) {
                for (int64_t j = 0; j < g.dim; j++)
                    x[j] *= g.s[j];
                wmi_rotation_apply(g.turn_p, g.dim, x);
                for (int64_t j = 0; j < g.dim; j++)
                    x[j] += g.m[j];
            }
            outwards(&g, x);
        }
    }
}

static double log_ratio(const wm_problem *p, double *a, double *b)
{
    const general g = view(p);
    double log_q, log_s = 0;

    (void)b;
    inwards(&g, a);
    log_q = -0.5 * norm2(a, g.dim);
    whiten_p(&g, a);
    for (int64_t j = 0; j < g.dim; j++)
        log_s += log(g.s[j]);
    return -0.5 * norm2(a, g.dim) - log_s - log_q;
}

static const wm_problem_param params[] = {
    {"dim", "columns", 3, 1, 1e5, true},
    {"kl", "KL(p, q) in nats", 9, 0, 1e6, false},
    {"spread", "how much the widths of p and q differ: sd of log(sd of p / sd of q)", 0.5, 0, 5,
     false},
};

const wmi_problem_type wmi_problems_normals[] = {
    {{"normals", "Gaussians in general position, KL(p, q) as wanted", WM_PROBLEM_RATIO,
      sizeof params / sizeof *params, params},
     start,
     draw,
     log_ratio},
    {.info = {.name = NULL}},
};
