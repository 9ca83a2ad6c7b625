/* embed_calibrated.c - mutual information by what the bridges' scores tell, not by their size: each
 * bridge is calibrated on held-out pairs at its own two waymarks, then read at test pairs. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stop.h"
#include "base/sums.h"
#include "check/isotonic.h"
#include "embed/embed_impl.h"
#include "waymark/sink.h"
#include "waymark/waymarks.h"

/* Scores of every bridge at its waymarks. */
typedef struct samples {
    int64_t m, n, partners;
    double *num, *den; /* (m, partners, n); of bridge 0 num has one partner only: its numerator has
                          none */
    float *v;          /* (n, dim_v) a waymark */
    double *scores;    /* (m, n) of all bridges at it */
    int64_t *partner;  /* (n) */
} samples;

static void free_samples(samples *s)
{
    wmi_free(s->num);
    wmi_free(s->den);
    wmi_free(s->v);
    wmi_free(s->scores);
    wmi_free(s->partner);
}

static wm_status open_samples(samples *s, const wm_embed *e, int64_t n, int64_t partners,
                              wm_error *err)
{
    wm_status st;

    s->m = e->info.bridges;
    s->n = n;
    s->partners = partners;
    if ((st = wmi_alloc(&s->num, s->m * n * partners, sizeof *s->num, "scores", err)) ||
        (st = wmi_alloc(&s->den, s->m * n * partners, sizeof *s->den, "scores", err)) ||
        (st = wmi_alloc(&s->v, n * e->info.dim_v, sizeof *s->v, "waymarks", err)) ||
        (st = wmi_alloc(&s->scores, s->m * n, sizeof *s->scores, "scores", err)))
        return st;
    return wmi_alloc(&s->partner, n, sizeof *s->partner, "partners", err);
}

static wm_status score_waymark(samples *s, const wm_embed *e, const wm_chain *chain,
                               const wm_pair_rows *r, int64_t k, wm_error *err)
{
    const wm_ends_f32 ends = {.rows = s->n, .x0 = r->v, .xm = r->v, .rowm = s->partner};
    const wm_pair_rows rows = {
        .n = s->n, .dim_u = r->dim_u, .dim_v = r->dim_v, .u = r->u, .v = s->v};

    wm_chain_waymark_f32(chain, k, &ends, s->v);
    return wm_embed_log_ratio(e, &rows, s->scores, NULL, err);
}

/* Waymark k is the numerator of bridge k and the denominator of bridge k - 1. The other v of a row
 * is that of a row some way on. */
static wm_status fill_samples(samples *s, const wm_embed *e, const wm_pair_rows *r,
                              const wm_sink *sink, wmi_stop stop, wm_error *err)
{
    const size_t bytes = (size_t)s->n * sizeof *s->num;
    wm_chain *chain = NULL;
    wm_task progress;
    wm_status st;

    if ((st = wm_chain_new(&chain, s->m, NULL, r->dim_v, e->blocks, err)))
        return st;
    wm_task_start(&progress, sink, "waymarks", 0, s->m * s->partners + 1);
    for (int64_t i = 0; i < s->n; i++)
        s->partner[i] = i;
    if ((st = score_waymark(s, e, chain, r, 0, err)))
        goto done;
    memcpy(s->num, s->scores, bytes);
    for (int64_t p = 0; p < s->partners; p++) {
        for (int64_t i = 0; i < s->n; i++)
            s->partner[i] = (i + 1 + p * (s->n / s->partners)) % s->n;
        for (int64_t k = 1; k <= s->m; k++) {
            if ((st = wmi_heed(stop, err)) || (st = score_waymark(s, e, chain, r, k, err)))
                goto done;
            memcpy(s->den + ((k - 1) * s->partners + p) * s->n, s->scores + (k - 1) * s->n, bytes);
            if (k < s->m)
                memcpy(s->num + (k * s->partners + p) * s->n, s->scores + k * s->n, bytes);
            wm_task_update(&progress, p * s->m + k + 1, "calibrating");
        }
    }
done:
    wm_chain_free(chain);
    return st;
}

/* Adds what bridge k says of test pairs with these scores to sum (n); the variance that its
 * calibration leaves in the mean comes back. */
static wm_status add_bridge(const samples *s, int64_t k, int64_t n, const double *scores,
                            double *sum, double *var, wm_error *err)
{
    const int64_t n_den = s->n * s->partners, n_num = k ? n_den : s->n;
    wmi_isotonic f = {0};
    int64_t *rows = NULL; /* test pairs in each step */
    wm_status st;

    *var = 0;
    if ((st = wmi_isotonic_fit(&f, n_num, s->num + k * n_den, n_den, s->den + k * n_den, err)) ||
        (st = wmi_alloc(&rows, f.steps, sizeof *rows, "steps", err)))
        goto done;
    for (int64_t i = 0; i < n; i++) {
        const int64_t b = wmi_isotonic_step(&f, scores[i]);

        rows[b]++;
        sum[i] += f.log_r[b];
    }
    for (int64_t b = 0; b < f.steps; b++)
        *var += (double)(rows[b] * rows[b]) / (double)(n * n) * f.var[b];
done:
    wmi_free(rows);
    wmi_isotonic_free(&f);
    return st;
}

static wm_status check(const wm_embed *e, const wm_pair_rows *held_out, int64_t partners,
                       wm_error *err)
{
    if (e->info.objective != WM_EMBED_LOGISTIC)
        return wmi_fail(err, WM_EINVAL, "InfoNCE has no bridges whose scores could be calibrated");
    if (held_out->n < 2 || partners < 1 || partners >= held_out->n)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " partners for each of %" PRId64 " held-out pairs: from 1 to "
                        "one less than there are pairs",
                        partners, held_out->n);
    return WM_OK;
}

wm_status wm_embed_mi_calibrated(const wm_embed *e, const wm_pair_rows *held_out, int64_t partners,
                                 const wm_pair_rows *test, const wm_sink *sink, wm_estimate *mi,
                                 const volatile sig_atomic_t *stop, wm_error *err)
{
    samples s = {0};
    double *scores = NULL, *sum = NULL, var = 0; /* (m, n), (n) at test pairs */
    wmi_moments moments;
    double half;
    wm_status st;

    if ((st = check(e, held_out, partners, err)) ||
        (st = open_samples(&s, e, held_out->n, partners, err)) ||
        (st = wmi_alloc(&scores, s.m * test->n, sizeof *scores, "scores", err)) ||
        (st = wmi_alloc(&sum, test->n, sizeof *sum, "scores", err)) ||
        (st = wm_embed_log_ratio(e, test, scores, stop, err)) ||
        (st = fill_samples(&s, e, held_out, sink, stop, err)))
        goto done;
    for (int64_t k = 0; k < s.m; k++) {
        double more;

        if ((st = wmi_heed(stop, err)) ||
            (st = add_bridge(&s, k, test->n, scores + k * test->n, sum, &more, err)))
            goto done;
        var += more;
    }
    moments = wmi_moments_f64(sum, test->n);
    *mi = (wm_estimate){.value = moments.mean, .se = sqrt(moments.var / (double)test->n + var)};
    half = 1.959963984540054 * mi->se;
    mi->lo = mi->value - half;
    mi->hi = mi->value + half;
done:
    free_samples(&s);
    wmi_free(scores);
    wmi_free(sum);
    return st;
}
