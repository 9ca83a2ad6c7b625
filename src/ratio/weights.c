/* weights.c - weights as a map of log-ratios that one pass over them settles. */
#include "waymark/weights.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/opts.h"
#include "base/sums.h"
#include "check/pareto.h"

/* Sums of weights and of their squares, of any size: exp(top) s1 and exp(2 top) s2. Starts as
 * {-INFINITY}. */
typedef struct log_sums {
    double top;
    wmi_running_sum s1, s2;
} log_sums;

struct wm_weights {
    wm_weights_opts opts;
    int64_t n, seen;
    log_sums body;    /* of r, those in `top` left out */
    log_sums clipped; /* of min(r, value), where the clip is at a value */
    int64_t beyond;   /* how many were above it */
    wmi_top top;
    int64_t m;        /* PARETO: length of the tail, the last m of top */
    double *smooth;   /* (room), beside top: what each becomes; NULL if nothing is smoothed */
    double threshold; /* CLIP: where; PARETO: the cutoff */
    double log_scale; /* taken from every log-weight */
    bool settled;     /* the fields above it are final */
};

void wm_weights_opts_init(wm_weights_opts *opts)
{
    *opts = (wm_weights_opts){.struct_size = sizeof *opts,
                              .tail = WM_TAIL_KEEP,
                              .scale = WM_SCALE_MEAN_ONE,
                              .clip_quantile = 0.99,
                              .clip_value = NAN};
}

/* --- sums --------------------------------------------------------------------------------------*/

static void scale_sum(wmi_running_sum *s, double f)
{
    s->sum *= f;
    s->lost *= f;
}

static void add(log_sums *s, double l)
{
    if (l == -INFINITY)
        return;
    if (l > s->top) {
        const double f = exp(s->top - l);

        scale_sum(&s->s1, f);
        scale_sum(&s->s2, f * f);
        s->top = l;
    }
    wmi_sum_add(&s->s1, exp(l - s->top));
    wmi_sum_add(&s->s2, exp(2 * (l - s->top)));
}

static double log_sum(const log_sums *s)
{
    return s->top + log(wmi_sum_value(&s->s1));
}

static double ess_of(const log_sums *s)
{
    const double sum = wmi_sum_value(&s->s1);

    return sum * sum / wmi_sum_value(&s->s2);
}

/* --- making the map ----------------------------------------------------------------------------*/

static wm_status check_opts(const wm_weights_opts *o, int64_t n, wm_error *err)
{
    if (n < 1)
        return wmi_fail(err, WM_EINVAL, "weights of %" PRId64 " rows", n);
    if (o->tail < WM_TAIL_KEEP || o->tail > WM_TAIL_PARETO || o->scale < WM_SCALE_MEAN_ONE ||
        o->scale > WM_SCALE_RATIO)
        return wmi_fail(err, WM_EINVAL, "weights: tail %d and scale %d: no such choice",
                        (int)o->tail, (int)o->scale);
    if (!(o->alpha >= 0 && o->alpha < 1))
        return wmi_fail(err, WM_EINVAL, "weights: alpha is %g, must be from 0 to below 1",
                        o->alpha);
    if (o->tail == WM_TAIL_CLIP && !isnan(o->clip_value) && !(o->clip_value > 0))
        return wmi_fail(err, WM_EINVAL, "weights: clip value is %g, must be above 0",
                        o->clip_value);
    if (o->tail == WM_TAIL_CLIP && isnan(o->clip_value) &&
        !(o->clip_quantile > 0 && o->clip_quantile <= 1))
        return wmi_fail(err, WM_EINVAL,
                        "weights: clip quantile is %g, must be above 0 and at most 1",
                        o->clip_quantile);
    return WM_OK;
}

/* Weights above quantile q of n. (1 - 0.9) 600 is 60 less a rounding error, and means 60. */
static int64_t above_quantile(double q, int64_t n)
{
    return (int64_t)floor((1 - q) * (double)n + 1e-6);
}

static bool clips_at_value(const wm_weights_opts *o)
{
    return o->tail == WM_TAIL_CLIP && !isnan(o->clip_value);
}

wm_status wm_weights_new(wm_weights **out, int64_t n, const wm_weights_opts *opts, wm_error *err)
{
    wm_weights_opts o;
    wm_weights *w = NULL;
    int64_t room;
    wm_status st;

    *out = NULL;
    wm_weights_opts_init(&o);
    if ((st = wmi_opts_take(&o, sizeof o, opts, "wm_weights_opts_init", err)) ||
        (st = check_opts(&o, n, err)) || (st = wmi_alloc(&w, 1, sizeof *w, "weights", err)))
        return st;
    w->opts = o;
    w->n = n;
    w->body.top = w->clipped.top = -INFINITY;
    w->m = wmi_pareto_length(n);
    room = w->m + 1;
    /* The threshold of a quantile is the largest that is not clipped: one more is kept. */
    if (o.tail == WM_TAIL_CLIP && !clips_at_value(&o))
        room = (int64_t)fmax((double)room, (double)above_quantile(o.clip_quantile, n) + 1);
    room = room < n ? room : n;
    if ((st = wmi_alloc(&w->top.x, room, sizeof(double), "tail of the weights", err)) ||
        (st = wmi_alloc(&w->smooth, room, sizeof(double), "tail of the weights", err))) {
        wm_weights_free(w);
        return st;
    }
    w->top.room = room;
    w->threshold = clips_at_value(&o) ? log(o.clip_value) : INFINITY;
    *out = w;
    return WM_OK;
}

void wm_weights_free(wm_weights *w)
{
    if (!w)
        return;
    wmi_free(w->top.x);
    wmi_free(w->smooth);
    wmi_free(w);
}

/* log of r / (alpha r + 1 - alpha) = 1 / (alpha + (1 - alpha) / r) */
static double relative(const wm_weights_opts *o, double l)
{
    if (o->alpha == 0)
        return l;
    if (l == -INFINITY)
        return l;
    return -log(o->alpha) - wmi_log1pexp(log1p(-o->alpha) - log(o->alpha) - l);
}

wm_status wm_weights_scan(wm_weights *w, const double *log_r, int64_t n, wm_error *err)
{
    if (n > w->n - w->seen)
        return wmi_fail(err, WM_EINVAL, "more than the %" PRId64 " log-ratios that were announced",
                        w->n);
    for (int64_t i = 0; i < n; i++) {
        double l = log_r[i], out;

        if (isnan(l) || l == INFINITY)
            return wmi_fail(err, WM_EINVAL,
                            "log-ratio %" PRId64 " is %s: no weight follows from it",
                            w->seen + i + 1, isnan(l) ? "NaN" : "inf");
        l = relative(&w->opts, l);
        if (clips_at_value(&w->opts)) {
            w->beyond += l > w->threshold;
            add(&w->clipped, fmin(l, w->threshold));
        }
        if (wmi_top_push(&w->top, l, &out))
            add(&w->body, out);
    }
    w->seen += n;
    return WM_OK;
}

/* Sums of the whole, with the largest as they are or as they become. */
static log_sums whole(const wm_weights *w, const double *largest)
{
    log_sums s = w->body;

    for (int64_t i = 0; i < w->top.n; i++)
        add(&s, largest[i]);
    return s;
}

/* The last m of top become quantiles of the fit, in their order; equal ones share their mean, so
 * that a weight depends on its log-ratio alone. */
static int64_t smooth_tail(wm_weights *w, const wmi_pareto *fit)
{
    const int64_t first = w->top.n - w->m;
    const double *x = w->top.x, largest = x[w->top.n - 1];
    int64_t changed = 0;

    w->threshold = x[first - 1];
    for (int64_t i = first, j; i < w->top.n; i = j) {
        log_sums group = {.top = -INFINITY};

        for (j = i; j < w->top.n && x[j] == x[i]; j++) {
            const double p = ((double)(j - first) + 0.5) / (double)w->m;

            add(&group, fmin(wmi_pareto_log_quantile(fit, w->threshold, p), largest));
        }
        if (x[i] <= w->threshold) /* not larger than the cutoff: the body's, and unchanged */
            continue;
        for (int64_t k = i; k < j; k++)
            w->smooth[k] = log_sum(&group) - log((double)(j - i));
        changed += j - i;
    }
    return changed;
}

static int64_t clip_tail(wm_weights *w)
{
    const int64_t cut = above_quantile(w->opts.clip_quantile, w->n);
    const int64_t last = w->top.n - 1 - (cut < w->top.n ? cut : w->top.n - 1);
    int64_t changed = 0;

    w->threshold = w->top.x[last];
    for (int64_t i = 0; i < w->top.n; i++) {
        w->smooth[i] = fmin(w->top.x[i], w->threshold);
        changed += w->top.x[i] > w->threshold;
    }
    return changed;
}

static wmi_pareto fit_tail(wm_weights *w)
{
    const wmi_pareto none = {NAN, NAN};

    /* A tail that is too short, or that is all of the weights, has no cutoff. `smooth` serves as
     * scratch memory: its own values come later. */
    if (w->m < WMI_PARETO_LEAST || w->m >= w->top.n)
        return none;
    return wmi_pareto_fit(w->m, w->top.x + w->top.n - w->m, w->top.x[w->top.n - w->m - 1],
                          w->smooth);
}

wm_status wm_weights_settle(wm_weights *w, wm_weights_info *info, wm_error *err)
{
    const double log_n = log((double)w->n);
    log_sums raw, made;
    wmi_pareto fit;
    int64_t changed = 0;

    if (w->seen != w->n)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " log-ratios, %" PRId64 " were announced",
                        w->seen, w->n);
    wmi_top_sort(&w->top);
    raw = whole(w, w->top.x);
    if (raw.top == -INFINITY)
        return wmi_fail(err, WM_EINVAL, "all %" PRId64 " log-ratios are -inf: there are no weights",
                        w->n);
    fit = fit_tail(w);
    memcpy(w->smooth, w->top.x, (size_t)w->top.n * sizeof *w->smooth);
    if (w->opts.tail == WM_TAIL_PARETO && isfinite(fit.k))
        changed = smooth_tail(w, &fit);
    else if (w->opts.tail == WM_TAIL_CLIP)
        changed = clips_at_value(&w->opts) ? w->beyond : clip_tail(w);
    made = clips_at_value(&w->opts) ? w->clipped : whole(w, w->smooth);
    w->log_scale = w->opts.scale == WM_SCALE_RATIO      ? 0
                   : w->opts.scale == WM_SCALE_MEAN_ONE ? log_sum(&made) - log_n
                                                        : log_sum(&made);
    w->settled = true;
    if (info)
        *info = (wm_weights_info){
            .n = w->n,
            .log_mean = log_sum(&raw) - log_n,
            .log_mean_se = sqrt(fmax(1 / ess_of(&raw) - 1 / (double)w->n, 0)),
            .ess = ess_of(&made),
            .ess_ratio = ess_of(&raw),
            .max_share = exp(made.top - log_sum(&made)),
            .pareto_k = fit.k,
            .pareto_limit = wmi_pareto_limit(w->n),
            .changed = changed,
            .threshold = changed ? w->threshold : INFINITY,
        };
    return WM_OK;
}

/* --- using it ----------------------------------------------------------------------------------*/

/* A smoothed log-weight: l is one of top's, or lies between two of them. */
static double smoothed(const wm_weights *w, double l)
{
    const double *x = w->top.x;
    int64_t lo = w->top.n - w->m - 1, hi = w->top.n - 1; /* x[lo] < l */

    if (l >= x[hi])
        return w->smooth[hi];
    while (hi - lo > 1) { /* x[lo] < l <= x[hi] */
        const int64_t mid = lo + (hi - lo) / 2;

        if (x[mid] < l)
            lo = mid;
        else
            hi = mid;
    }
    if (x[hi] == l)
        return w->smooth[hi];
    return w->smooth[lo] + (w->smooth[hi] - w->smooth[lo]) * (l - x[lo]) / (x[hi] - x[lo]);
}

void wm_weights_apply(const wm_weights *w, const double *log_r, int64_t n, double *out)
{
    const bool pareto = w->opts.tail == WM_TAIL_PARETO;

    assert(w->settled);
    for (int64_t i = 0; i < n; i++) {
        double l = relative(&w->opts, log_r[i]);

        if (l > w->threshold)
            l = pareto ? smoothed(w, l) : w->threshold;
        l -= w->log_scale;
        out[i] = w->opts.logs ? l : exp(l);
    }
}

wm_status wm_weights_make(double *out, wm_weights_info *info, const double *log_r, int64_t n,
                          const wm_weights_opts *opts, wm_error *err)
{
    wm_weights *w = NULL;
    wm_status st;

    if ((st = wm_weights_new(&w, n, opts, err)) || (st = wm_weights_scan(w, log_r, n, err)) ||
        (st = wm_weights_settle(w, info, err)))
        goto done;
    wm_weights_apply(w, log_r, n, out);
done:
    wm_weights_free(w);
    return st;
}
