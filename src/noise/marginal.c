/* marginal.c - the start of a copula's column: a monotone rational-quadratic spline that takes the
 * empirical quantiles of the column to those of the normal.
 *
 * The points (x_(i), q_i), q_i = Phi^-1((i - 1/2) / n), and an end on both sides make a curve,
 * which is cut into pieces of equal length; its cuts are the knots. Length counts what is gained in
 * q, a part of what is gained in x, and neither in steps beyond which a bin would hold fewer than
 * FEW values: so bins are narrow where the density turns (the edges of columns that are nearly
 * discrete, such as pixels in logit space), and do not follow single values in the tails. Slopes at
 * knots are geometric means of the slopes of both bins.
 *
 * How many pieces the data bear is asked of every fifth value, held out: splines of bins, bins / 2,
 * bins / 4 ... pieces are fitted to the others, and the best of these is read off at the bins + 1
 * knots of the answer. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/special.h"
#include "noise/noise_impl.h"

enum {
    FEW = 12,     /* values in a bin, at least, where the data have them */
    LEAST = 4,    /* pieces */
    HELD_OUT = 5, /* one in so many values */
    SPREADS = 200 /* the ends are at most so many spreads (10 % to 90 %) from the median */
};
static const double SHARE_X = 0.25; /* of the length: the rest counts in q */
static const double BEYOND = 0.3;   /* in q: how far the ends are from the outermost values */
static const double FLOOR = 1e-3;   /* of rq_knots: bins and slopes */
static const double SLOPE_SHIFT = 0.539742417236952;

/* A spline in its own units: q as a function of x. The ends' slopes are the mean slope. */
typedef struct curve {
    int64_t pieces;
    double *x, *q, *slope; /* (pieces + 1) */
} curve;

/* The points: their places and lengths. */
typedef struct points {
    int64_t n;
    double *x, *q, *length; /* (n); length from the first one */
} points;

/* ---- the spline in double, as rq_spline does it ---- */

static double evaluate(const curve *c, double x, double *slope)
{
    const double mean = (c->q[c->pieces] - c->q[0]) / (c->x[c->pieces] - c->x[0]);
    int64_t low = 0, high = c->pieces;
    double w, h, s, p, q, t, u, D;

    *slope = mean;
    if (x <= c->x[0])
        return c->q[0] + mean * (x - c->x[0]);
    if (x >= c->x[c->pieces])
        return c->q[c->pieces] + mean * (x - c->x[c->pieces]);
    while (high - low > 1) {
        const int64_t mid = (low + high) / 2;

        if (x >= c->x[mid])
            low = mid;
        else
            high = mid;
    }
    w = c->x[high] - c->x[low];
    h = c->q[high] - c->q[low];
    s = h / w;
    p = c->slope[low] / s;
    q = c->slope[high] / s;
    t = (x - c->x[low]) / w;
    u = 1 - t;
    D = t * t + u * u + (p + q) * t * u;
    *slope = s * (q * t * t + 2 * t * u + p * u * u) / (D * D);
    return c->q[low] + h * (t * t + p * t * u) / D;
}

/* Mean log-density of every HELD_OUT-th value. */
static double held_out(const curve *c, int64_t n, const double *sorted)
{
    double sum = 0;
    int64_t count = 0;

    for (int64_t i = HELD_OUT / 2; i < n; i += HELD_OUT) {
        double slope;
        const double q = evaluate(c, sorted[i], &slope);

        sum += log(slope) - q * q / 2;
        count++;
    }
    return count ? sum / (double)count : 0;
}

/* ---- from values to points ---- */

/* How many of n values are not held out. */
static int64_t kept(int64_t n)
{
    return n - (n + HELD_OUT - 1 - HELD_OUT / 2) / HELD_OUT;
}

/* Points of the values (n), or of those that are not held out; scores are the normal quantiles of
 * so many. Ends: a little beyond the outermost values, at the mean slope; values that are too far
 * out for bins of the floor's width are left to the tails. Ties become one point, at their middle
 * quantile. */
static void make_points(int64_t n, const double *sorted, bool all, const double *scores, points *o)
{
    const double spread =
        sorted[(int64_t)(0.9 * (double)(n - 1))] - sorted[(int64_t)(0.1 * (double)(n - 1))];
    const double middle = sorted[n / 2], reach = spread > 0 ? SPREADS * spread : INFINITY;
    int64_t m = 1, k = -1, first = 0; /* place 0 is for the end; rank; rank of the first tie */
    double slope;

    for (int64_t i = 0; i < n; i++) {
        if (!all && i % HELD_OUT == HELD_OUT / 2)
            continue;
        k++;
        if (fabs(sorted[i] - middle) > reach)
            continue;
        if (m == 1 || sorted[i] != o->x[m - 1]) {
            first = k;
            o->x[m++] = sorted[i];
        }
        o->q[m - 1] = (scores[(first + k) / 2] + scores[(first + k + 1) / 2]) / 2;
    }
    o->n = m + 1;
    slope = m > 2 ? (o->q[m - 1] - o->q[1]) / (o->x[m - 1] - o->x[1]) : 1;
    o->q[0] = o->q[1] - BEYOND;
    o->x[0] = o->x[1] - BEYOND / slope;
    o->q[m] = o->q[m - 1] + BEYOND;
    o->x[m] = o->x[m - 1] + BEYOND / slope;
}

static void measure(points *o, int64_t pieces)
{
    const double all_x = o->x[o->n - 1] - o->x[0], all_q = o->q[o->n - 1] - o->q[0];
    const double most = 1.0 / (double)(FEW * pieces);

    o->length[0] = 0;
    for (int64_t i = 1; i < o->n; i++) {
        const double step = (1 - SHARE_X) * (o->q[i] - o->q[i - 1]) / all_q +
                            SHARE_X * (o->x[i] - o->x[i - 1]) / all_x;

        o->length[i] = o->length[i - 1] + fmin(step, most);
    }
}

/* ---- from points to a curve ---- */

/* Makes every step of at (count + 1) at least `least` of the whole, taking the difference from the
 * others in proportion to what they have above that. The ends stay. */
static void widen(double *at, int64_t count, double least)
{
    const double whole = at[count] - at[0], floor_ = least * whole;
    double excess = 0, room = 0, before = at[0];

    for (int64_t k = 0; k < count; k++)
        excess += fmax(at[k + 1] - at[k] - floor_, 0);
    room = whole - (double)count * floor_;
    for (int64_t k = 0; k < count - 1; k++) {
        const double step = at[k + 1] - before;

        before = at[k + 1];
        at[k + 1] = at[k] + floor_ + fmax(step - floor_, 0) * room / excess;
    }
}

/* Linear interpolation of b at place v of a; *i remembers where the last search ended, v increases.
 */
static double between(const points *o, const double *a, const double *b, double v, int64_t *i)
{
    while (*i < o->n - 2 && a[*i + 1] < v)
        (*i)++;
    return b[*i] + (b[*i + 1] - b[*i]) * fmin((v - a[*i]) / (a[*i + 1] - a[*i]), 1);
}

/* Knots at equal lengths; x as wide as a spline's bin must be, then q there. */
static void cut(points *o, int64_t pieces, double least, curve *c)
{
    int64_t i = 0;

    c->pieces = pieces;
    measure(o, pieces);
    for (int64_t k = 1; k < pieces; k++)
        c->x[k] = between(o, o->length, o->x, o->length[o->n - 1] * (double)k / (double)pieces, &i);
    c->x[0] = o->x[0];
    c->x[pieces] = o->x[o->n - 1];
    widen(c->x, pieces, least);
    i = 0;
    for (int64_t k = 1; k < pieces; k++)
        c->q[k] = between(o, o->x, o->q, c->x[k], &i);
    c->q[0] = o->q[0];
    c->q[pieces] = o->q[o->n - 1];
    widen(c->q, pieces, least);
    for (int64_t k = 1; k < pieces; k++) {
        const double w = c->x[k] - c->x[k - 1], v = c->x[k + 1] - c->x[k];
        const double below = log((c->q[k] - c->q[k - 1]) / w),
                     above = log((c->q[k + 1] - c->q[k]) / v);

        c->slope[k] = exp((v * below + w * above) / (v + w));
    }
    c->slope[0] = c->slope[pieces] = (c->q[pieces] - c->q[0]) / (c->x[pieces] - c->x[0]);
}

/* The same function, nearly, with more knots: each bin divided evenly. */
static void refine(const curve *from, int64_t pieces, curve *to)
{
    to->pieces = pieces;
    for (int64_t k = 0; k <= pieces; k++) {
        const double at = (double)k * (double)from->pieces / (double)pieces;
        const int64_t low = at < (double)from->pieces ? (int64_t)at : from->pieces - 1;

        to->x[k] = from->x[low] + (at - (double)low) * (from->x[low + 1] - from->x[low]);
        to->q[k] = evaluate(from, to->x[k], &to->slope[k]);
    }
}

/* ---- from a curve to free numbers: the way back through rq_knots ---- */

static void log_shares(const double *at, int64_t bins, double bound, double *raw)
{
    const double whole = at[bins] - at[0], spread = 2 * bound - (double)bins * FLOOR;
    double mean = 0;

    for (int64_t k = 0; k < bins; k++) {
        const double size = 2 * bound * (at[k + 1] - at[k]) / whole;

        raw[k] = log(fmax((size - FLOOR) / spread, 1e-6));
        mean += raw[k] / (double)bins;
    }
    for (int64_t k = 0; k < bins; k++)
        raw[k] -= mean;
}

static void to_raw(const curve *c, double bound, wmi_marginal *out)
{
    const int64_t bins = c->pieces;
    const double all_x = c->x[bins] - c->x[0], all_q = c->q[bins] - c->q[0];

    out->log_scale = log(2 * bound / all_x);
    out->shift = -bound * (c->x[0] + c->x[bins]) / all_x;
    log_shares(c->x, bins, bound, out->raw);
    log_shares(c->q, bins, bound, out->raw + bins);
    for (int64_t k = 1; k < bins; k++) {
        const double slope = fmax(c->slope[k] * all_x / all_q - FLOOR, 1e-6);

        /* the inverse of softplus */
        out->raw[2 * bins + k - 1] = (slope > 30 ? slope : log(expm1(slope))) - SLOPE_SHIFT;
    }
}

/* Phi^-1((i - 1/2) / n), i = 1 .. n */
static void normal_scores(int64_t n, double *scores)
{
    for (int64_t i = 0; i <= (n - 1) / 2; i++) {
        scores[i] = wmi_normal_inverse(((double)i + 0.5) / (double)n);
        scores[n - 1 - i] = -scores[i];
    }
}

wm_status wmi_marginal_scores(double **out, int64_t n, wm_error *err)
{
    wm_status st = wmi_alloc(out, n + kept(n), sizeof **out, "normal quantiles", err);

    if (st)
        return st;
    normal_scores(n, *out);
    normal_scores(kept(n), *out + n);
    return WM_OK;
}

/* The number of pieces that is best for values that were held out. Once the score has fallen twice,
 * fewer pieces are too few. */
static int64_t choose_pieces(int64_t n, const double *sorted, int64_t bins, double least, points *o,
                             curve *c)
{
    int64_t pieces = bins, worse = 0;
    double best = -INFINITY;

    for (int64_t trial = bins; trial >= LEAST && worse < 2; trial /= 2) {
        double score;

        cut(o, trial, least * (double)bins / (double)trial, c);
        score = held_out(c, n, sorted);
        if (score > best) {
            best = score;
            pieces = trial;
            worse = 0;
        } else {
            worse++;
        }
    }
    return pieces;
}

wm_status wmi_marginal_fit(int64_t n, const double *sorted, const double *scores, int64_t bins,
                           double bound, wmi_marginal *out, wm_error *err)
{
    const double least = 1.25 * FLOOR / (2 * bound); /* of a bin, as a part of the whole */
    const int64_t knots = bins + 1;
    double *memory = NULL, *at;
    int64_t pieces = bins < LEAST ? bins : LEAST;
    points o = {0};
    curve c, fine;
    wm_status st = wmi_alloc(&memory, 3 * (n + 2) + 6 * knots, sizeof *memory, "quantiles", err);

    if (st)
        return st;
    o.x = memory;
    o.q = o.x + n + 2;
    o.length = o.q + n + 2;
    at = o.length + n + 2;
    c = (curve){0, at, at + knots, at + 2 * knots};
    fine = (curve){0, at + 3 * knots, at + 4 * knots, at + 5 * knots};
    if (n >= 4 * HELD_OUT) { /* else too few are held out to tell */
        make_points(n, sorted, false, scores + n, &o);
        pieces = choose_pieces(n, sorted, bins, least, &o, &c);
    }
    make_points(n, sorted, true, scores, &o);
    cut(&o, pieces, least * (double)bins / (double)pieces, &c);
    refine(&c, bins, &fine);
    to_raw(&fine, bound, out);
    wmi_free(memory);
    return WM_OK;
}
