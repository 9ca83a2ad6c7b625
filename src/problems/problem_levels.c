/* problem_levels.c - mutual information of what is no Gaussian: pairs of levels, levels seen
 * through noise, a uniform variable in uniform noise. Each has `columns` independent columns in u
 * and in v, the j-th of u paired with the j-th of v, so that the information is that of one times
 * their number. */
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/special.h"
#include "problems/problem.h"

#define PI 3.14159265358979323846

typedef struct levels {
    int64_t k;      /* levels */
    double agree;   /* probability that v copies u rather than being drawn anew */
    double gap;     /* mixed: distance of the means of u */
    double noise;   /* additive: half the width */
    double share[]; /* (k) probability of each level; then (k) its cumulative sums */
} levels;

/* The problem's own, of k levels; NULL: no memory. */
static levels *begin(wm_problem *p, int64_t k, wm_error *err)
{
    levels *c;

    if (wmi_alloc(&p->own, 1, sizeof *c + 2 * (size_t)k * sizeof(double), "problem", err))
        return NULL;
    c = p->own;
    c->k = k;
    p->dim[0] = p->dim[1] = (int64_t)wmi_problem_get(p, "columns", 1);
    return c;
}

/* The level of a uniform number. */
static double level_of(const levels *c, double uniform)
{
    const double *below = c->share + c->k;
    int64_t lo = 0, hi = c->k - 1;

    while (lo < hi) {
        const int64_t mid = (lo + hi) / 2;

        if (uniform < below[mid])
            hi = mid;
        else
            lo = mid + 1;
    }
    return (double)lo;
}

/* Uniform numbers first to first + n - 1 of sequence `which`. */
static void uniforms(const wmi_rng *rng, uint64_t which, int64_t first, int64_t n, double *out)
{
    const wmi_rng own = wmi_rng_sub(rng, which);

    wmi_rng_uniform_f64(&own, (uint64_t)first, n, out);
}

static double one_uniform(const wmi_rng *rng, uint64_t which, int64_t i)
{
    const wmi_rng own = wmi_rng_sub(rng, which);

    return ((double)(wmi_rng_u64(&own, (uint64_t)i) >> 12) + 0.5) * 0x1p-52;
}

/* --- discrete: P(i, j) = agree s_i [i = j] + (1 - agree) s_i s_j
 * --------------------------------*/

static double joint(const levels *c, double agree, int64_t i, int64_t j)
{
    return c->share[i] * ((i == j ? agree : 0) + (1 - agree) * c->share[j]);
}

static double table_mi(const levels *c, double agree)
{
    double sum = 0;

    for (int64_t i = 0; i < c->k; i++)
        for (int64_t j = 0; j < c->k; j++) {
            const double q = joint(c, agree, i, j);

            if (q > 0)
                sum += q * log(q / (c->share[i] * c->share[j]));
        }
    return sum;
}

static wm_status start_discrete(wm_problem *p, const wmi_rng *rng, wm_error *err)
{
    const int64_t k = (int64_t)wmi_problem_get(p, "levels", 2);
    const double skew = wmi_problem_get(p, "skew", 0), columns = wmi_problem_get(p, "columns", 1);
    double *agree = wmi_problem_param(p, "agree"), *mi = wmi_problem_param(p, "mi");
    double total = 0, sum = 0, lo = 0, hi = 1;
    levels *c = begin(p, k, err);

    (void)rng;
    if (!c)
        return WM_ENOMEM;
    for (int64_t i = 0; i < k; i++)
        total += c->share[i] = pow((double)(i + 1), -skew);
    for (int64_t i = 0; i < k; i++) {
        c->share[i] /= total;
        c->share[k + i] = sum += c->share[i];
    }
    if (wmi_problem_given(p, "mi") && wmi_problem_given(p, "agree"))
        return wmi_fail(err, WM_EINVAL, "discrete: mi %g and agree %g: give one, the other follows",
                        *mi, *agree);
    if (wmi_problem_given(p, "mi")) {
        if (*mi > columns * table_mi(c, 1))
            return wmi_fail(err, WM_EINVAL,
                            "discrete: mi is %g, with %" PRId64
                            " such levels and %g columns at most %.6g",
                            *mi, k, columns, columns * table_mi(c, 1));
        for (int step = 0; step < 100; step++) { /* it rises with agree */
            const double at = 0.5 * (lo + hi);

            if (columns * table_mi(c, at) < *mi)
                lo = at;
            else
                hi = at;
        }
        *agree = hi;
    }
    c->agree = *agree;
    p->truth.mi = *mi = columns * table_mi(c, c->agree);
    return WM_OK;
}

/* a and b uniform on (0, 1), and how many of each. */
static int64_t pair_of_uniforms(const wm_problem *p, const wmi_rng *rng, int64_t first, int64_t n,
                                double *a, double *b)
{
    const int64_t at = first * p->dim[0], count = n * p->dim[0];

    uniforms(rng, 0, at, count, a);
    uniforms(rng, 1, at, count, b);
    return count;
}

static void draw_discrete(const wm_problem *p, const wmi_rng *rng, int64_t first, int64_t n,
                          double *a, double *b)
{
    const levels *c = p->own;
    const int64_t at = first * p->dim[0], count = pair_of_uniforms(p, rng, first, n, a, b);

    for (int64_t i = 0; i < count; i++) {
        const double u = level_of(c, a[i]), other = level_of(c, b[i]);

        a[i] = u;
        b[i] = one_uniform(rng, 2, at + i) < c->agree ? u : other;
    }
}

/* A level of the table, or -1. */
static int64_t whole_level(const levels *c, double x)
{
    return x >= 0 && x < (double)c->k && x == floor(x) ? (int64_t)x : -1;
}

static double log_ratio_discrete(const wm_problem *p, double *a, double *b)
{
    const levels *c = p->own;
    double sum = 0;

    for (int64_t j = 0; j < p->dim[0]; j++) {
        const int64_t u = whole_level(c, a[j]), v = whole_level(c, b[j]);

        if (u < 0 || v < 0)
            return NAN; /* no such level */
        sum += log(joint(c, c->agree, u, v) / (c->share[u] * c->share[v]));
    }
    return sum;
}

/* --- mixed: v one of k levels, u = N(gap v, 1)
 * --------------------------------------------------*/

static double log_normal(double x, double mean)
{
    return -0.5 * (x - mean) * (x - mean) - 0.5 * log(2 * PI);
}

/* log of the mean of the k normals. */
static double log_marginal(const levels *c, double u)
{
    const double nearest = fmin(fmax(round(u / (c->gap > 0 ? c->gap : 1)), 0), (double)(c->k - 1));
    const double top = log_normal(u, c->gap * nearest);
    double sum = 0;

    for (int64_t i = 0; i < c->k; i++)
        sum += exp(log_normal(u, c->gap * (double)i) - top);
    return top + log(sum / (double)c->k);
}

/* Entropy of u less that of a unit normal is the information. */
static double weighted_surprise(double u, const void *ctx)
{
    const double log_p = log_marginal(ctx, u), p = exp(log_p);

    return p > 0 ? -p * log_p : 0;
}

static wm_status start_mixed(wm_problem *p, const wmi_rng *rng, wm_error *err)
{
    const int64_t k = (int64_t)wmi_problem_get(p, "levels", 2);
    const double columns = wmi_problem_get(p, "columns", 1);
    double entropy, error = 0, centre;
    levels *c = begin(p, k, err);

    (void)rng;
    if (!c)
        return WM_ENOMEM;
    c->gap = wmi_problem_get(p, "gap", 1);
    centre = 0.5 * c->gap * (double)(k - 1);
    entropy = wmi_integrate(weighted_surprise, c, centre, 1 + centre, &error);
    p->truth.mi = fmax(0, columns * (entropy - 0.5 * log(2 * PI * exp(1))));
    p->truth.error = columns * error;
    return WM_OK;
}

static void draw_mixed(const wm_problem *p, const wmi_rng *rng, int64_t first, int64_t n, double *a,
                       double *b)
{
    const levels *c = p->own;
    const int64_t at = first * p->dim[0], count = n * p->dim[0];
    const wmi_rng normals = wmi_rng_sub(rng, 0), of_levels = wmi_rng_sub(rng, 1);

    wmi_rng_normal_f64(&normals, (uint64_t)at, count, a);
    for (int64_t i = 0; i < count; i++) {
        b[i] = (double)wmi_rng_below(&of_levels, (uint64_t)(at + i), c->k);
        a[i] += c->gap * b[i];
    }
}

static double log_ratio_mixed(const wm_problem *p, double *a, double *b)
{
    const levels *c = p->own;
    double sum = 0;

    for (int64_t j = 0; j < p->dim[0]; j++) {
        if (whole_level(c, b[j]) < 0)
            return NAN;
        sum += log_normal(a[j], c->gap * b[j]) - log_marginal(c, a[j]);
    }
    return sum;
}

/* --- additive: u uniform on (0, 1), v = u + uniform on (-noise, noise)
 * --------------------------*/

/* v is a sum of uniforms of widths 1 and 2 noise: a trapezium, whose entropy is the log of the
 * wider plus half of narrower over wider. */
static wm_status start_additive(wm_problem *p, const wmi_rng *rng, wm_error *err)
{
    const double width = 2 * wmi_problem_get(p, "noise", 1);
    levels *c = begin(p, 0, err);

    (void)rng;
    if (!c)
        return WM_ENOMEM;
    c->noise = 0.5 * width;
    p->truth.mi = (double)p->dim[0] *
                  (log(fmax(1, width)) + 0.5 * fmin(1, width) / fmax(1, width) - log(width));
    return WM_OK;
}

static void draw_additive(const wm_problem *p, const wmi_rng *rng, int64_t first, int64_t n,
                          double *a, double *b)
{
    const levels *c = p->own;
    const int64_t count = pair_of_uniforms(p, rng, first, n, a, b);

    for (int64_t i = 0; i < count; i++)
        b[i] = a[i] + c->noise * (2 * b[i] - 1);
}

static double log_ratio_additive(const wm_problem *p, double *a, double *b)
{
    const levels *c = p->own;
    double sum = 0;

    for (int64_t j = 0; j < p->dim[0]; j++) {
        /* the density of v is the length of [v - noise, v + noise] within (0, 1) over 2 noise */
        const double within = fmin(1, b[j] + c->noise) - fmax(0, b[j] - c->noise);

        if (!(fabs(b[j] - a[j]) <= c->noise) || !(within > 0))
            return -INFINITY;
        sum -= log(within);
    }
    return sum;
}

/* --- the problems ------------------------------------------------------------------------------*/

#define COLUMNS                                                                                    \
    {                                                                                              \
        "columns", "columns of u, and of v; each pair alike", 1, 1, 1e5, true                      \
    }

static const wm_problem_param discrete_params[] = {
    COLUMNS,
    {"levels", "levels of each column, 0, 1, ...", 4, 2, 1000, true},
    {"mi", "mutual information in nats, instead of agree", NAN, 0, 1e6, false},
    {"agree", "probability that v copies u rather than being drawn anew", 0.5, 0, 1, false},
    {"skew", "level i has a share in proportion to (i + 1)^-skew", 0, 0, 10, false},
};
static const wm_problem_param mixed_params[] = {
    COLUMNS,
    {"levels", "levels of each column of v, 0, 1, ...", 4, 2, 50, true},
    {"gap", "distance of the means of u at neighbouring levels, in sd", 2, 0, 20, false},
};
static const wm_problem_param additive_params[] = {
    COLUMNS,
    {"noise", "half the width of the noise", 0.1, 1e-6, 1e6, false},
};

#define PARAMS(list) WM_PROBLEM_MI, sizeof(list) / sizeof *(list), (list)

const wmi_problem_type wmi_problems_levels[] = {
    {{"discrete", "pairs of levels that agree more often than by chance", PARAMS(discrete_params)},
     start_discrete,
     draw_discrete,
     log_ratio_discrete},
    {{"mixed", "levels v, and u that is v in normal noise", PARAMS(mixed_params)},
     start_mixed,
     draw_mixed,
     log_ratio_mixed},
    {{"additive", "u uniform, and v = u + uniform noise", PARAMS(additive_params)},
     start_additive,
     draw_additive,
     log_ratio_additive},
    {.info = {.name = NULL}},
};
