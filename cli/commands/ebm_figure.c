/* ebm_figure.c - the plane of a model with two columns: log phi as a map, with rows or draws on it.
 */
#include <math.h>
#include <stdlib.h>

#include "commands/ebm_run.h"

enum { CELLS = 96, POINTS = 400 };

/* One column: cells at from, from + step, ... (n). */
typedef struct axis {
    double from, step;
    int64_t n;
} axis;

/* The range of column j of rows x (n, 2). Whole numbers have a cell each, or one for several. */
static bool measure(axis *a, const double *x, int64_t n, int j, bool whole)
{
    double lo = INFINITY, hi = -INFINITY;

    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[2 * i + j])) {
            lo = fmin(lo, x[2 * i + j]);
            hi = fmax(hi, x[2 * i + j]);
        }
    if (!(lo <= hi)) /* chains that all failed */
        return false;
    if (whole) {
        lo = floor(lo);
        a->step = ceil((floor(hi) - lo + 1) / CELLS);
        a->n = (int64_t)((floor(hi) - lo) / a->step) + 1;
    } else {
        if (lo == hi) { /* a single draw */
            lo -= 1;
            hi += 1;
        }
        a->step = (hi - lo) / (CELLS - 1);
        a->n = CELLS;
    }
    a->from = lo;
    return true;
}

static double at(const axis *a, int64_t i)
{
    return a->from + a->step * (double)i;
}

/* log phi at the cells, (y.n, x.n), for free(). */
static wm_status evaluate(double **out, const wm_ebm *e, const axis *x, const axis *y,
                          wm_error *err)
{
    const int64_t n = x->n * y->n;
    wm_data *grid = NULL;
    wm_status st = wm_data_new(&grid, n, 2, NULL, err);

    for (int64_t i = 0; i < n && !st; i++) {
        wm_data_rows_mut(grid)[2 * i] = at(x, i % x->n);
        wm_data_rows_mut(grid)[2 * i + 1] = at(y, i / x->n);
    }
    *out = malloc(sizeof **out * (size_t)n);
    if (!st)
        st = *out ? wm_ebm_log_density(e, grid, 1, NULL, *out, NULL, err) : WM_ENOMEM;
    wm_data_free(grid);
    return st;
}

static void put_points(wm_panel *panel, const char *name, const double *x, int64_t n)
{
    const int64_t shown = n < POINTS ? n : POINTS;
    double px[POINTS], py[POINTS];

    for (int64_t i = 0; i < shown; i++) { /* from all chains, or all of the file */
        const int64_t row = shown < 2 ? 0 : i * (n - 1) / (shown - 1);

        px[i] = x[2 * row];
        py[i] = x[2 * row + 1];
    }
    wm_panel_series(panel, WM_WITH(wm_series, .name = name, .mark = WM_MARK_POINTS,
                                   .colour = WM_COLOUR_VERMILION, /* not one of the map's */
                                   .x = px, .y = py, .n = shown));
}

wm_status ebm_draw_plane(const cli_call *call, const wm_ebm *e, const char *name, const double *x,
                         int64_t n, wm_error *err)
{
    double *z = NULL, top = -INFINITY;
    char title[80];
    wm_figure *f;
    wm_panel *panel;
    wm_ebm_info info;
    axis a, b;
    wm_status st;

    wm_ebm_get_info(e, &info);
    if (!call->run || info.dim != 2 || info.columns != 2 || info.discrete > 0 ||
        !measure(&a, x, n, 0, wm_ebm_kind(e, 0) == WM_KIND_INTEGER) ||
        !measure(&b, x, n, 1, wm_ebm_kind(e, 1) == WM_KIND_INTEGER))
        return WM_OK;
    snprintf(title, sizeof title, "The density that was found, and %s", name);
    if ((st = evaluate(&z, e, &a, &b, err)))
        goto done;
    for (int64_t i = 0; i < a.n * b.n; i++)
        top = fmax(top, z[i]);
    f = wm_figure_new("density", title);
    wm_figure_panel_size(f, 700, 600);
    panel = wm_figure_panel(f, NULL);
    wm_panel_axes(panel, "column 1", "column 2", 0);
    wm_panel_heat_map(panel, WM_WITH(wm_heat_map, .name = "log density", .nx = a.n, .ny = b.n,
                                     .x_from = a.from, .x_to = at(&a, a.n - 1), .y_from = b.from,
                                     .y_to = at(&b, b.n - 1), .z = z, .lo = top - 10, .hi = top));
    put_points(panel, name, x, n);
    st = wm_run_folder_figure(call->run, f, call->sink, err);
done:
    free(z);
    return st;
}
