/* evidence.c - normalising constants and likelihoods from the weights of annealed chains, and the
 * bracket that AIS and RAISE make around the truth. */
#include <inttypes.h>
#include <math.h>

#include "base/fail.h"
#include "base/sums.h"
#include "check/checks.h"
#include "waymark/sample.h"

wm_status wm_ais_make(wm_ais *out, const double *log_w, int64_t n, wm_error *err)
{
    wmi_running_sum sum = {0}, deviations = {0}, squares = {0}, logs = {0}, spread = {0};
    double top = -(double)INFINITY, mean, mean_log, used;

    *out = (wm_ais){.log_z = (double)NAN};
    if (n < 1)
        return wmi_fail(err, WM_EINVAL, "AIS from %" PRId64 " chains", n);
    for (int64_t i = 0; i < n; i++) {
        out->used += isfinite(log_w[i]) != 0;
        if (isfinite(log_w[i]))
            top = fmax(top, log_w[i]);
    }
    out->failed = n - out->used;
    if (out->used == 0)
        return wmi_fail(err, WM_EDIVERGED, "AIS: none of %" PRId64 " chains has a finite weight",
                        n);
    used = (double)out->used;
    for (int64_t i = 0; i < n; i++) /* weights relative to the largest: in [0, 1] */
        if (isfinite(log_w[i])) {
            wmi_sum_add(&sum, exp(log_w[i] - top));
            wmi_sum_add(&logs, log_w[i]);
        }
    mean = wmi_sum_value(&sum) / used; /* at least 1 / used */
    mean_log = wmi_sum_value(&logs) / used;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(log_w[i])) {
            const double w = exp(log_w[i] - top) / mean, l = log_w[i] - mean_log;

            wmi_sum_add(&deviations, (w - 1) * (w - 1));
            wmi_sum_add(&squares, w * w);
            wmi_sum_add(&spread, l * l);
        }
    out->log_z = top + log(mean);
    out->ess = used * used / wmi_sum_value(&squares); /* the w have sum `used` */
    /* Var log(mean w) = Var(w) / (C mean^2); one chain says nothing of its error */
    out->se = used > 1 ? sqrt(wmi_sum_value(&deviations) / (used * (used - 1))) : (double)NAN;
    out->spread = used > 1 ? sqrt(wmi_sum_value(&spread) / (used - 1)) : (double)NAN;
    return WM_OK;
}

/* Moments of a (n) less b (n) or nothing, over finite a. */
static wmi_moments difference(const double *a, const double *b, int64_t n, int64_t used)
{
    wmi_running_sum sum = {0}, squares = {0};
    double mean;

    for (int64_t i = 0; i < n; i++)
        if (isfinite(a[i]))
            wmi_sum_add(&sum, a[i] - (b ? b[i] : 0));
    mean = wmi_sum_value(&sum) / (double)used;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(a[i])) {
            const double d = a[i] - (b ? b[i] : 0) - mean;

            wmi_sum_add(&squares, d * d);
        }
    return (wmi_moments){mean,
                         used > 1 ? wmi_sum_value(&squares) / (double)(used - 1) : (double)NAN};
}

wm_status wm_raise_make(wm_raise *out, const double *log_w, const double *log_f, int64_t n,
                        const double *all, int64_t n_all, wm_error *err)
{
    wmi_moments plain, less, set;

    *out = (wm_raise){.loglik = (double)NAN};
    if (n < 1 || (all && n_all < 1))
        return wmi_fail(err, WM_EINVAL, "RAISE from %" PRId64 " chains and %" PRId64 " points", n,
                        all ? n_all : n);
    for (int64_t i = 0; i < n; i++)
        out->used += isfinite(log_w[i]) != 0;
    out->failed = n - out->used;
    if (out->used == 0)
        return wmi_fail(err, WM_EDIVERGED, "RAISE: none of %" PRId64 " chains has a finite weight",
                        n);
    plain = difference(log_w, NULL, n, out->used);
    out->loglik = plain.mean;
    out->spread = sqrt(plain.var);
    out->se = out->se_set = out->spread / sqrt((double)out->used);
    if (!log_f || !all)
        return WM_OK;
    set = wmi_moments_f64(all, n_all);
    less = difference(log_w, log_f, n, out->used);
    if (!isfinite(set.mean) || !isfinite(less.mean))
        return wmi_fail(err, WM_EDIVERGED, "RAISE: log f of a point is not finite");
    if (!(less.var <= plain.var))
        return WM_OK;
    out->controlled = true;
    out->loglik = less.mean + set.mean;
    out->spread = sqrt(less.var);
    out->se_set = out->spread / sqrt((double)out->used);
    out->se = sqrt(less.var / (double)out->used + (n_all > 1 ? set.var / (double)n_all : 0));
    return WM_OK;
}

wm_bracket wm_bracket_make(const wm_ais *ais, const wm_raise *raise, const double *all,
                           int64_t n_all, double tolerance)
{
    const wmi_moments set = wmi_moments_f64(all, n_all);
    wm_bracket b = {.lo = raise->loglik,
                    .lo_se = raise->se,
                    .hi = set.mean - ais->log_z,
                    .hi_se = sqrt(ais->se * ais->se + (n_all > 1 ? set.var / (double)n_all : 0)),
                    .gap_se = sqrt(ais->se * ais->se + raise->se_set * raise->se_set),
                    .tolerance = tolerance};
    const double room = tolerance + 2 * b.gap_se;

    b.gap = b.hi - b.lo;
    b.closed = fabs(b.gap) < room;
    b.crossed = b.gap <= -room;
    return b;
}

/* Two numbers with large errors agree whatever they are. */
static bool is_vague(const wm_bracket *b)
{
    const double tolerances = 4, nats = 0.5;

    return 2 * b->gap_se > fmax(tolerances * b->tolerance, nats);
}

void wm_bracket_check(const wm_bracket *b, wm_checks *list)
{
    const double limit = b->tolerance + 2 * b->gap_se;

    if (b->closed && is_vague(b))
        wmi_checks_add_unknown(list, "bracket", b->gap, limit, true,
                               "AIS minus RAISE is %.3g nats with a standard error of %.3g, too "
                               "much to say that they agree: single chains go astray, or there are "
                               "too few.",
                               b->gap, b->gap_se);
    else
        wmi_checks_add(list, "bracket", b->gap, limit, b->closed ? WM_CHECK_OK : WM_CHECK_DOUBT,
                       "%s (AIS minus RAISE is %.3g nats; closed within %.3g).",
                       b->closed ? "AIS and RAISE agree: the bracket is closed"
                       : b->crossed
                           ? "RAISE is above AIS: one of the runs is wrong; more steps help"
                           : "AIS and RAISE do not agree yet: more steps help",
                       b->gap, limit);
}
