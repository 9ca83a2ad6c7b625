/* encode.c - fitting and applying the encoding of columns. */
#include "columns/encode.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "columns/bend.h"
#include "waymark/waymarks.h"

static const double RAREST = 0.05; /* a category's indicator is not scaled up beyond 1 / this */

wm_status wmi_encoder_new(wmi_encoder *e, int64_t raw, const wmi_encode_opts *o, wm_error *err)
{
    wm_status st;

    *e = (wmi_encoder){.raw = raw};
    if ((st = wmi_alloc(&e->kind, raw, sizeof *e->kind, "columns", err)) ||
        (st = wmi_alloc(&e->how, raw, sizeof *e->how, "columns", err)) ||
        (st = wmi_alloc(&e->levels, raw, sizeof *e->levels, "columns", err)) ||
        (st = wmi_alloc(&e->ranked, raw, sizeof *e->ranked, "columns", err)) ||
        (st = wmi_alloc(&e->first, raw + 1, sizeof *e->first, "columns", err)))
        return st;
    for (int64_t j = 0; j < raw; j++) {
        e->kind[j] = o->kind ? o->kind[j] : WM_KIND_CONTINUOUS;
        e->how[j] = e->kind[j] == WM_KIND_CATEGORICAL                ? WMI_ENCODE_LEVELS
                    : e->kind[j] == WM_KIND_CONTINUOUS && o->by_rank ? WMI_ENCODE_RANK
                                                                     : WMI_ENCODE_SCALE;
        e->levels[j] = o->levels ? o->levels[j] : 0;
        e->ranked[j] = -1;
        e->first[j] = e->dim;
        e->dim += o->features ? o->features[j] : e->levels[j] > 2 ? e->levels[j] - 1 : 1;
    }
    e->first[raw] = e->dim;
    if ((st = wmi_alloc(&e->level, e->dim, sizeof *e->level, "levels", err)) ||
        (st = wmi_alloc(&e->shift, e->dim, sizeof *e->shift, "scaling", err)) ||
        (st = wmi_alloc(&e->scale, e->dim, sizeof *e->scale, "scaling", err)))
        return st;
    for (int64_t j = 0; j < e->dim; j++)
        e->scale[j] = 1;
    for (int64_t j = 0; j < raw; j++)
        for (int64_t f = e->first[j]; f < e->first[j + 1]; f++) /* the first category has none */
            e->level[f] = e->how[j] == WMI_ENCODE_LEVELS ? (double)(f - e->first[j] + 1) : NAN;
    return WM_OK;
}

void wmi_encoder_free(wmi_encoder *e)
{
    wmi_free(e->kind);
    wmi_free(e->how);
    wmi_free(e->levels);
    wmi_free(e->ranked);
    wmi_free(e->first);
    wmi_free(e->level);
    wmi_free(e->shift);
    wmi_free(e->scale);
    wmi_rank_free(e->rank);
    *e = (wmi_encoder){0};
}

wm_status wmi_encoder_copy(wmi_encoder *to, const wmi_encoder *e, wm_error *err)
{
    wmi_encode_opts o = {.kind = e->kind, .levels = e->levels};
    int64_t *features = NULL;
    wm_status st;

    if ((st = wmi_alloc(&features, e->raw, sizeof *features, "columns", err)))
        return st;
    for (int64_t j = 0; j < e->raw; j++)
        features[j] = e->first[j + 1] - e->first[j];
    o.features = features;
    st = wmi_encoder_new(to, e->raw, &o, err);
    wmi_free(features);
    if (st)
        return st;
    memcpy(to->how, e->how, (size_t)e->raw * sizeof *e->how);
    memcpy(to->ranked, e->ranked, (size_t)e->raw * sizeof *e->ranked);
    memcpy(to->level, e->level, (size_t)e->dim * sizeof *e->level);
    memcpy(to->shift, e->shift, (size_t)e->dim * sizeof *e->shift);
    memcpy(to->scale, e->scale, (size_t)e->dim * sizeof *e->scale);
    if (!e->rank)
        return WM_OK;
    return wmi_rank_from_knots(&to->rank, wmi_rank_dim(e->rank), wmi_rank_knots(e->rank),
                               wmi_rank_values(e->rank), wmi_rank_scores(e->rank), err);
}

/* Mean and variance of every column, row by row: tables are wide as often as they are long. */
static void column_moments(int64_t n, int64_t raw, const double *x, double *mean, double *var)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < raw; j++)
            mean[j] += x[i * raw + j] / (double)n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < raw; j++) {
            const double diff = x[i * raw + j] - mean[j];

            var[j] += diff * diff / (double)n;
        }
}

static const char *label_of(const wmi_encode_opts *o, int64_t j, char buf[64])
{
    if (o->label)
        return o->label[j];
    snprintf(buf, 64, "column %" PRId64, j + 1);
    return buf;
}

/* A constant column says nothing, or too much. mean and var are (2, raw). */
static wm_status refuse_constants(int64_t raw, bool two, const double *mean, const double *var,
                                  const wmi_encode_opts *o, wm_error *err)
{
    char buf[64];

    for (int64_t j = 0; j < raw; j++) {
        const double *m = mean + j, *v = var + j;
        const bool flat[] = {!(sqrt(v[0]) > 1e-12 * fabs(m[0])),
                             two && !(sqrt(v[raw]) > 1e-12 * fabs(m[raw]))};

        if (flat[0] && (!two || (flat[1] && m[0] == m[raw])))
            return wmi_fail(err, WM_EINVAL,
                            "%.80s is constant (%g): it says nothing about the ratio, drop it",
                            label_of(o, j, buf), m[0]);
        if ((flat[0] || flat[1]) && !(o->kind && o->kind[j] == WM_KIND_CATEGORICAL))
            return wmi_fail(err, WM_EINVAL,
                            "%.80s is constant (%g) in %s but not in the other table: the ratio is "
                            "infinite there; drop it, or compare it on its own",
                            label_of(o, j, buf), flat[0] ? m[0] : m[raw], flat[0] ? "p" : "q");
    }
    return WM_OK;
}

static double score_by_bend(const void *bend, double value)
{
    return wmi_bend_at(bend, value);
}

/* Maps of the continuous columns that both tables gain by; bend is (raw). */
static void find_bends(wmi_encoder *e, const int64_t n[2], const double *const x[2], wmi_stop stop,
                       wmi_bend *bend)
{
    for (int64_t j = 0; j < e->raw && !wmi_asked(stop); j++) {
        const double *const column[] = {x[0] + j, x[1] + j};

        if (e->how[j] != WMI_ENCODE_SCALE || e->kind[j] != WM_KIND_CONTINUOUS ||
            e->first[j] == e->first[j + 1])
            continue;
        bend[j] = wmi_bend_find(n, column, e->raw);
        if (bend[j].kind != WMI_BEND_NOT)
            e->how[j] = WMI_ENCODE_RANK;
    }
}

/* Normal scores, learned on both tables one after the other; of columns that have one, their bend
 * (raw). */
static wm_status fit_ranks(wmi_encoder *e, const int64_t n[2], const double *const x[2],
                           const wmi_bend *bend, wmi_stop stop, wm_error *err)
{
    const int64_t rows = n[0] + (x[1] ? n[1] : 0);
    int64_t count = 0;
    double *all = NULL;
    wm_status st;

    for (int64_t j = 0; j < e->raw; j++)
        if (e->how[j] == WMI_ENCODE_RANK && e->first[j] < e->first[j + 1])
            e->ranked[j] = count++;
    if (!count)
        return WM_OK;
    if ((st = wmi_alloc(&all, rows * count, sizeof *all, "ranks", err)))
        return st;
    for (int t = 0; t < 2 && x[t]; t++)
        for (int64_t i = 0; i < n[t]; i++)
            for (int64_t j = 0; j < e->raw; j++)
                if (e->ranked[j] >= 0)
                    all[((t ? n[0] : 0) + i) * count + e->ranked[j]] = x[t][i * e->raw + j];
    st = wmi_rank_fit(&e->rank, rows, count, all, WMI_RANK_KNOTS, NULL, stop, err);
    for (int64_t j = 0; j < e->raw && !st; j++)
        if (bend[j].kind != WMI_BEND_NOT)
            wmi_rank_rescore(e->rank, e->ranked[j], score_by_bend, &bend[j]);
    wmi_free(all);
    return st;
}

/* Indicators are centred and scaled by the share of their level in both tables. */
static void fit_levels(wmi_encoder *e, int64_t j, const int64_t n[2], const double *const x[2])
{
    for (int64_t f = e->first[j]; f < e->first[j + 1]; f++) {
        const double level = e->level[f];
        double share = 0;

        if (isnan(level))
            continue;
        for (int t = 0; t < 2 && x[t]; t++)
            for (int64_t i = 0; i < n[t]; i++)
                share += (x[t][i * e->raw + j] == level) / (double)n[t];
        share /= x[1] ? 2 : 1;
        e->shift[f] = share;
        e->scale[f] = sqrt(fmax(share * (1 - share), RAREST * (1 - RAREST)));
    }
}

/* The distinct values of column j, ascending, into value (WMI_FEW + 1); how many, WMI_FEW + 1 if
 * more. */
static int64_t few_values(int64_t raw, int64_t j, const int64_t n[2], const double *const x[2],
                          double value[WMI_FEW + 1])
{
    int64_t count = 0;

    for (int t = 0; t < 2 && x[t]; t++)
        for (int64_t i = 0; i < n[t]; i++) {
            const double v = x[t][i * raw + j];
            int64_t at = 0;

            while (at < count && value[at] < v)
                at++;
            if (at < count && value[at] == v)
                continue;
            if (count > WMI_FEW - 1)
                return WMI_FEW + 1;
            memmove(value + at + 1, value + at, (size_t)(count - at) * sizeof *value);
            value[at] = v;
            count++;
        }
    return count;
}

/* levels (raw) of the categories and, where they are few, of the values of whole numbers; value
 * (raw, WMI_FEW + 1) the latter. */
static void find_levels(int64_t raw, const int64_t n[2], const double *const x[2],
                        const wmi_encode_opts *o, int64_t *levels, double *value)
{
    for (int64_t j = 0; j < raw && o->kind; j++) {
        if (o->kind[j] == WM_KIND_CATEGORICAL)
            levels[j] = o->levels[j];
        else if (o->kind[j] == WM_KIND_INTEGER)
            levels[j] = few_values(raw, j, n, x, value + j * (WMI_FEW + 1));
        if (o->kind[j] == WM_KIND_INTEGER && (levels[j] > WMI_FEW || levels[j] < 3))
            levels[j] = 0;
    }
}

/* Features as they were found: the number itself and its indicators, or indicators alone. */
static wm_status new_found(wmi_encoder *e, const wmi_encode_opts *opts, wm_error *err)
{
    const wmi_found_columns *found = opts->found;
    wmi_encode_opts o = *opts;
    int64_t *features = NULL;
    wm_status st;

    if ((st = wmi_alloc(&features, found->raw, sizeof *features, "columns", err)))
        return st;
    for (int64_t j = 0; j < found->raw; j++)
        features[j] = found->aside[j] ? 0
                                      : found->first[j + 1] - found->first[j] +
                                            (found->kind[j] != WM_KIND_CATEGORICAL);
    o.kind = found->kind;
    o.features = features;
    st = wmi_encoder_new(e, found->raw, &o, err);
    for (int64_t j = 0; !st && j < found->raw; j++) {
        if (found->aside[j] && found->kind[j] != WM_KIND_CATEGORICAL)
            e->how[j] = WMI_ENCODE_SCALE; /* nothing to be ranked */
        else if (opts->by_rank && found->curved[j])
            e->how[j] = WMI_ENCODE_RANK; /* counts have tails as other numbers have */
        for (int64_t f = e->first[j + 1] - 1, v = found->first[j + 1] - 1;
             v >= found->first[j] && f >= e->first[j]; f--, v--)
            e->level[f] = found->value[v];
    }
    wmi_free(features);
    return st;
}

static void fit_column(wmi_encoder *e, int64_t j, const int64_t n[2], const double *const x[2],
                       const double *mean, const double *var, bool standardize)
{
    const int64_t raw = e->raw, f = e->first[j];
    const double apart = x[1] ? 0.5 * (mean[j] - mean[raw + j]) : 0;

    fit_levels(e, j, n, x);
    if (e->how[j] != WMI_ENCODE_SCALE || !standardize || e->first[j] == e->first[j + 1])
        return;
    e->shift[f] = x[1] ? 0.5 * (mean[j] + mean[raw + j]) : mean[j];
    e->scale[f] = sqrt((x[1] ? 0.5 * (var[j] + var[raw + j]) : var[j]) + apart * apart);
}

wm_status wmi_encoder_fit(wmi_encoder *e, int64_t raw, const int64_t n[2], const double *const x[2],
                          const wmi_encode_opts *opts, wm_error *err)
{
    double *mean = NULL, *var = NULL, *value = NULL;
    int64_t *levels = NULL;
    wmi_encode_opts o = *opts;
    wmi_bend *bend = NULL;
    wm_status st;

    *e = (wmi_encoder){0};
    if ((st = wmi_alloc(&bend, raw, sizeof *bend, "columns", err)) ||
        (st = wmi_alloc(&levels, raw, sizeof *levels, "levels", err)) ||
        (st = wmi_alloc(&value, raw * (WMI_FEW + 1), sizeof *value, "levels", err)) ||
        (st = wmi_alloc(&mean, 2 * raw, sizeof *mean, "moments", err)) ||
        (st = wmi_alloc(&var, 2 * raw, sizeof *var, "moments", err)))
        goto done;
    if (!opts->found)
        find_levels(raw, n, x, opts, levels, value);
    o.levels = opts->found ? opts->levels : levels;
    if ((st = opts->found ? new_found(e, &o, err) : wmi_encoder_new(e, raw, &o, err)))
        goto done;
    for (int64_t j = 0; j < raw && !opts->found;
         j++) /* all but the first and the last: these follow */
        for (int64_t f = e->first[j] + 1; f < e->first[j + 1] && e->how[j] == WMI_ENCODE_SCALE; f++)
            e->level[f] = value[j * (WMI_FEW + 1) + f - e->first[j]];
    for (int t = 0; t < 2 && x[t]; t++)
        column_moments(n[t], raw, x[t], mean + t * raw, var + t * raw);
    if (!opts->found && (st = refuse_constants(raw, x[1] != NULL, mean, var, opts, err)))
        goto done;
    if (opts->bend && opts->standardize && x[1])
        find_bends(e, n, x, opts->stop, bend);
    if ((st = wmi_heed(opts->stop, err)) || (st = fit_ranks(e, n, x, bend, opts->stop, err)))
        goto done;
    for (int64_t j = 0; j < raw; j++)
        fit_column(e, j, n, x, mean, var, opts->standardize);
done:
    wmi_free(bend);
    wmi_free(var);
    wmi_free(mean);
    wmi_free(value);
    wmi_free(levels);
    if (st)
        wmi_encoder_free(e);
    return st;
}

/* One block of rows, in which normal scores are found for all columns at once. */
enum { BLOCK = 256 };

static wm_status apply_block(const wmi_encoder *e, int64_t n, const double *x, double *out,
                             double *scores, wm_error *err)
{
    const int64_t ranked = e->rank ? wmi_rank_dim(e->rank) : 0;

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < e->raw; j++)
            if (e->ranked[j] >= 0)
                scores[i * ranked + e->ranked[j]] = x[i * e->raw + j];
    if (ranked)
        wmi_rank_apply(e->rank, n, scores, scores);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < e->raw; j++) {
            const double v = x[i * e->raw + j];
            double *to = out + i * e->dim;

            if (e->how[j] == WMI_ENCODE_LEVELS && v == -1) { /* never seen: an average one */
                for (int64_t f = e->first[j]; f < e->first[j + 1]; f++)
                    to[f] = 0;
                continue;
            }
            if (e->how[j] == WMI_ENCODE_LEVELS && !(v >= 0 && v < (double)e->levels[j]))
                return wmi_fail(err, WM_EINVAL,
                                "column %" PRId64 " has category %g, the model knows 0 to %" PRId64,
                                j + 1, v, e->levels[j] - 1);
            for (int64_t f = e->first[j]; f < e->first[j + 1]; f++) {
                const double raw = !isnan(e->level[f]) ? v == e->level[f]
                                   : e->ranked[j] >= 0 ? scores[i * ranked + e->ranked[j]]
                                                       : v;

                to[f] = (raw - e->shift[f]) / e->scale[f];
            }
        }
    return WM_OK;
}

wm_status wmi_encoder_apply(const wmi_encoder *e, int64_t n, const double *x, double *out,
                            wm_error *err)
{
    double *scores = NULL;
    wm_status st;

    if ((st = wmi_alloc(&scores, BLOCK * e->raw, sizeof *scores, "ranks", err)))
        return st;
    for (int64_t i = 0; !st && i < n; i += BLOCK)
        st = apply_block(e, n - i < BLOCK ? n - i : BLOCK, x + i * e->raw, out + i * e->dim, scores,
                         err);
    wmi_free(scores);
    return st;
}

int64_t wmi_encoder_columns(const wmi_encoder *e, int64_t kept, int64_t *columns)
{
    int64_t blocks = 0;

    for (int64_t j = 0; j < e->raw; j++) {
        const bool block =
            j >= kept && e->kind[j] != WM_KIND_CONTINUOUS && e->first[j] < e->first[j + 1];

        for (int64_t f = e->first[j]; f < e->first[j + 1]; f++)
            columns[f] = j < kept ? WM_COLUMN_KEPT : block ? blocks : WM_COLUMN_LINEAR;
        blocks += block;
    }
    return blocks;
}
