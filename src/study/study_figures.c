/* study_figures.c - the figures of a study: how hard the bridges are, what they say at every
 * waymark, how log-ratios and weights are spread, which columns matter, and maps of small ratios.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "waymark/study.h"

enum { BINS = 60, TAIL_POINTS = 120, MAP = 61, LINE = 201, TOP_COLUMNS = 20 };

/* What is drawn, and in which unit. */
typedef struct drawing {
    const wm_study *study;
    wm_study_info info;
    const wm_data *p, *q;    /* for maps; p may be NULL, and q is with pairs */
    const wm_schema *schema; /* or NULL */
    const char *unit;
    double per_nat;
} drawing;

/* Log-ratios at the rows of p (0) or q (1) in rising order, (*n), for wmi_free(). */
static wm_status sorted_log_ratios(double **out, const wm_study *study, int side, int64_t *n,
                                   wm_error *err)
{
    const double *x = wm_study_log_ratios(study, side, n);
    wm_status st = wmi_alloc(out, *n, sizeof **out, "figure", err);

    if (!st) {
        memcpy(*out, x, (size_t)*n * sizeof *x);
        wmi_sort_f64(*out, *n);
    }
    return st;
}

static wm_panel *panel_of(wm_figure *f, const char *title, const char *x, const char *y)
{
    wm_panel *panel = wm_figure_panel(f, title);

    wm_panel_axes(panel, x, y, 0);
    return panel;
}

static wm_figure *draw_bridges(const drawing *d)
{
    const int64_t m = d->info.bridges;
    double k[WM_ALPHAS_MAX], loss[WM_ALPHAS_MAX], accuracy[WM_ALPHAS_MAX];
    wm_figure *f = wm_figure_new("bridges", "How hard each bridge is");
    wm_panel *panel;

    for (int64_t i = 0; i < m; i++) {
        wm_bridge b;

        wm_study_get_bridge(d->study, i, &b);
        k[i] = (double)i;
        loss[i] = b.loss;
        accuracy[i] = b.accuracy;
    }
    panel = panel_of(f, "Held-out logistic loss", "bridge", "0: saturated, 1.386: chance");
    wm_panel_y_range(panel, 0, 1.5);
    wm_panel_x_range(panel, -0.6, (double)m - 0.4);
    wm_panel_y_line(panel, 2 * log(2), "chance");
    wm_panel_y_line(panel, WM_CHASM_LOSS, "chasm");
    WM_PLOT(panel, m, k, loss, "loss", .mark = WM_MARK_BARS);
    panel = panel_of(f, "Accuracy of its classifier", "bridge", "share of rows");
    wm_panel_y_range(panel, 0.4, 1);
    wm_panel_x_range(panel, -0.6, (double)m - 0.4);
    wm_panel_y_line(panel, 0.5, "chance");
    WM_PLOT(panel, m, k, accuracy, "accuracy", .mark = WM_MARK_LINE_POINTS);
    return f;
}

static wm_figure *draw_grid(const drawing *d)
{
    const int64_t m = d->info.bridges;
    wm_figure *f = wm_figure_new("grid", "Mean log-ratio of each bridge at each waymark");
    wm_panel *panel = panel_of(f, NULL, "waymark (0: p)", "bridge");

    wm_panel_y_range(panel, (double)m - 0.5, -0.5);
    wm_panel_heat_map(panel,
                      WM_WITH(wm_heat_map, .name = "nats", .nx = m + 1, .ny = m, .x_to = (double)m,
                              .y_to = (double)(m - 1), .z = wm_study_bridge_means(d->study),
                              .scale = WM_COLOURS_DIVERGING, .labels = m <= 12, .digits = 1));
    return f;
}

/* Shares of x (n) in BINS bins from lo to hi. */
static void histogram(int64_t n, const double *x, double lo, double hi, double *share)
{
    memset(share, 0, BINS * sizeof *share);
    for (int64_t i = 0; i < n; i++) {
        const double at = (x[i] - lo) / (hi - lo) * BINS;

        share[at < 0 ? 0 : at >= BINS ? BINS - 1 : (int)at] += 1 / (double)n;
    }
}

static wm_status draw_histograms(wm_figure **out, const drawing *d, wm_error *err)
{
    double centre[BINS], share[2][BINS], lo = INFINITY, hi = -INFINITY;
    char label[48];
    wm_panel *panel;
    wm_status st;

    for (int t = 0; t < 2; t++) { /* all but the outermost thousandth */
        int64_t n;
        double *sorted;

        if ((st = sorted_log_ratios(&sorted, d->study, t, &n, err)))
            return st;
        lo = fmin(lo, sorted[n / 1000]);
        hi = fmax(hi, sorted[n - 1 - n / 1000]);
        wmi_free(sorted);
    }
    if (!(hi > lo))
        hi = lo + 1;
    for (int t = 0; t < 2; t++) {
        int64_t n;
        const double *x = wm_study_log_ratios(d->study, t, &n);

        histogram(n, x, lo, hi, share[t]);
    }
    for (int b = 0; b < BINS; b++)
        centre[b] = (lo + (hi - lo) * (b + 0.5) / BINS) * d->per_nat;
    snprintf(label, sizeof label, "log p/q (%s)", d->unit);
    *out = wm_figure_new("histograms", "Log-ratios at rows that no fit has seen");
    panel = panel_of(*out, NULL, label, "share of rows");
    WM_PLOT(panel, BINS, centre, share[0], "rows of p", .mark = WM_MARK_FILLED_STEPS);
    WM_PLOT(panel, BINS, centre, share[1], "rows of q", .mark = WM_MARK_FILLED_STEPS);
    return WM_OK;
}

/* How many weights p/q of rows of q are larger than w, in units of their mean: logarithmic. */
static wm_status draw_weights(wm_figure **out, const drawing *d, wm_error *err)
{
    const wm_study_info *info = &d->info;
    int64_t n;
    double *sorted, x[TAIL_POINTS], y[TAIL_POINTS];
    char title[128];
    wm_panel *panel;
    wm_status st;

    if ((st = sorted_log_ratios(&sorted, d->study, 1, &n, err)))
        return st;
    /* From the median to the largest, evenly in log share. */
    for (int i = 0; i < TAIL_POINTS; i++) {
        const double share = 0.5 * pow(2 / (double)n, (double)i / (TAIL_POINTS - 1));
        const int64_t at = n - (int64_t)ceil(share * (double)n);

        x[i] = (sorted[at < 0 ? 0 : at >= n ? n - 1 : at] - info->under_q.log_mean) / log(10);
        y[i] = share;
    }
    wmi_free(sorted);
    snprintf(title, sizeof title, "Weights of rows of q: effective sample size %.0f of %" PRId64,
             info->under_q.ess, n);
    *out = wm_figure_new("weights", title);
    panel = wm_figure_panel(*out, NULL);
    wm_panel_axes(panel, "log10 of the weight, mean 1", "share of rows with a larger one",
                  WM_LOG_Y);
    WM_PLOT(panel, TAIL_POINTS, x, y, "tail", .mark = WM_MARK_LINE);
    return WM_OK;
}

static wm_figure *draw_waymarks(const wm_study_info *info)
{
    double k[WM_ALPHAS_MAX];
    wm_figure *f;

    for (int64_t i = 0; i <= info->bridges; i++)
        k[i] = (double)i;
    f = wm_figure_new("waymarks", "Where the waymarks are");
    WM_PLOT(panel_of(f, NULL, "waymark (0: p)", "alpha"), info->bridges + 1, k, info->alphas.alpha,
            "alpha", .mark = WM_MARK_LINE_POINTS);
    return f;
}

/* ---- columns ---- */

typedef struct contribution {
    double value;
    int64_t column;
} contribution;

static int by_size(const void *a, const void *b)
{
    const double x = fabs(((const contribution *)a)->value);
    const double y = fabs(((const contribution *)b)->value);

    return (x < y) - (x > y);
}

static wm_status draw_columns(wm_figure **out, const drawing *d, wm_error *err)
{
    const double *c = wm_study_contributions(d->study);
    const int64_t dim = d->info.dim, shown = dim < TOP_COLUMNS ? dim : TOP_COLUMNS;
    double x[TOP_COLUMNS], y[TOP_COLUMNS];
    char names[TOP_COLUMNS][40], title[80];
    const char *labels[TOP_COLUMNS];
    contribution *all;
    wm_panel *panel;
    wm_status st;

    if ((st = wmi_alloc(&all, dim, sizeof *all, "figure", err)))
        return st;
    for (int64_t j = 0; j < dim; j++)
        all[j] = (contribution){c[j] * d->per_nat, j};
    qsort(all, (size_t)dim, sizeof *all, by_size);
    for (int64_t i = 0; i < shown; i++) {
        const char *name = d->schema ? wm_schema_name(d->schema, all[i].column) : NULL;

        x[i] = all[i].value;
        y[i] = (double)i;
        if (name)
            snprintf(names[i], sizeof names[i], "%.36s", name);
        else
            snprintf(names[i], sizeof names[i], "column %" PRId64, all[i].column + 1);
        labels[i] = names[i];
    }
    wmi_free(all);
    snprintf(title, sizeof title, "What goes without a column (%s)", d->unit);
    *out = wm_figure_new("columns", title);
    panel = panel_of(*out, NULL, d->unit, NULL);
    wm_panel_y_ticks(panel, y, labels, shown);
    WM_PLOT(panel, shown, x, y, "contribution", .mark = WM_MARK_LEVEL_BARS);
    return WM_OK;
}

/* ---- maps ---- */

/* Range of a column of both tables, a little wider. */
static void column_range(const drawing *d, int64_t j, double *lo, double *hi)
{
    const wm_data *const both[] = {d->p, d->q};

    *lo = INFINITY;
    *hi = -INFINITY;
    for (int t = 0; t < 2 && both[t]; t++)
        for (int64_t i = 0; i < wm_data_count(both[t]); i++) {
            const double x = wm_data_rows(both[t])[i * wm_data_dim(both[t]) + j];

            *lo = fmin(*lo, x);
            *hi = fmax(*hi, x);
        }
    const double wide = 0.03 * (*hi - *lo);

    *lo -= wide;
    *hi += wide;
}

static wm_status draw_line(wm_figure **out, const drawing *d, wm_error *err)
{
    double lo, hi, x[LINE], y[LINE];
    char label[48];
    wm_data *points = NULL;
    wm_panel *panel;
    wm_status st;

    column_range(d, 0, &lo, &hi);
    for (int i = 0; i < LINE; i++)
        x[i] = lo + (hi - lo) * i / (LINE - 1);
    if ((st = wm_data_new(&points, LINE, 1, x, err)) ||
        (st = wm_ratio_log(wm_study_ratio(d->study), points, y, err)))
        goto done;
    for (int i = 0; i < LINE; i++)
        y[i] *= d->per_nat;
    snprintf(label, sizeof label, "log p/q (%s)", d->unit);
    *out = wm_figure_new("map", "The ratio as a function of the column");
    panel = panel_of(*out, NULL, "x", label);
    wm_panel_y_line(panel, 0, "p = q");
    WM_PLOT(panel, LINE, x, y, "log p/q", .mark = WM_MARK_LINE);
done:
    wm_data_free(points);
    return st;
}

static wm_status draw_plane(wm_figure **out, const drawing *d, wm_error *err)
{
    static const double zero[] = {0};
    double lo[2], hi[2], *z = NULL;
    wm_data *points = NULL;
    wm_status st;

    for (int j = 0; j < 2; j++)
        column_range(d, j, &lo[j], &hi[j]);
    if ((st = wmi_alloc(&z, (int64_t)MAP * MAP, sizeof *z, "figure", err)) ||
        (st = wm_data_new(&points, MAP * MAP, 2, NULL, err)))
        goto done;
    for (int i = 0; i < MAP * MAP; i++) {
        wm_data_rows_mut(points)[2 * i] = lo[0] + (hi[0] - lo[0]) * (i % MAP) / (MAP - 1);
        wm_data_rows_mut(points)[2 * i + 1] = lo[1] + (hi[1] - lo[1]) * (i / MAP) / (MAP - 1);
    }
    if ((st = wm_ratio_log(wm_study_ratio(d->study), points, z, err)))
        goto done;
    for (int i = 0; i < MAP * MAP; i++)
        z[i] *= d->per_nat;
    *out = wm_figure_new("map", "The ratio as a function of the two columns");
    wm_panel_heat_map(panel_of(*out, NULL, "column 1", "column 2"),
                      WM_WITH(wm_heat_map, .name = "log p/q", .nx = MAP, .ny = MAP, .x_from = lo[0],
                              .x_to = hi[0], .y_from = lo[1], .y_to = hi[1], .z = z,
                              .scale = WM_COLOURS_DIVERGING, .contours = zero, .n_contours = 1));
done:
    wm_data_free(points);
    wmi_free(z);
    return st;
}

static wm_status draw_all(wm_figure **out, int *n, const drawing *d, wm_error *err)
{
    bool numbers = d->p != NULL;
    wm_status st;

    out[(*n)++] = draw_bridges(d);
    if (d->info.bridges > 1)
        out[(*n)++] = draw_grid(d);
    if ((st = draw_histograms(&out[(*n)++], d, err)) || (st = draw_weights(&out[(*n)++], d, err)))
        return st;
    if (d->info.linear_columns)
        out[(*n)++] = draw_waymarks(&d->info);
    if (wm_study_contributions(d->study) && (st = draw_columns(&out[(*n)++], d, err)))
        return st;
    for (int64_t j = 0; d->schema && j < d->info.dim; j++)
        numbers = numbers && wm_schema_kind(d->schema, j) != WM_KIND_CATEGORICAL;
    if (!numbers || d->info.dim > 2)
        return WM_OK;
    return d->info.dim == 1 ? draw_line(&out[(*n)++], d, err) : draw_plane(&out[(*n)++], d, err);
}

wm_status wm_study_draw(wm_figure *out[WM_STUDY_FIGURES], const wm_study *s, const wm_data *p,
                        const wm_data *q, const wm_schema *schema, bool bits, wm_error *err)
{
    drawing d = {.study = s,
                 .p = p,
                 .q = q,
                 .schema = schema,
                 .unit = bits ? "bits" : "nats",
                 .per_nat = bits ? 1 / log(2) : 1};
    wm_status st;
    int n = 0;

    memset(out, 0, WM_STUDY_FIGURES * sizeof *out);
    wm_study_get_info(s, &d.info);
    st = draw_all(out, &n, &d, err);
    for (int i = 0; i < n && !st; i++)
        if (!out[i])
            st = wmi_fail(err, WM_ENOMEM, "out of memory: figure");
    for (int i = 0; i < n && st; i++) {
        wm_figure_free(out[i]);
        out[i] = NULL;
    }
    return st;
}
