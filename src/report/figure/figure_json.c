/* figure_json.c - a figure as JSON and back. NAME.json says all that there is to say about a
 * figure: the page shows its panels, legend and numbers by it, and any other program may draw it
 * anew.
 *
 *     {"title": "...", "columns": 2, "width": 480, "height": 380, "panels": [
 *       {"title": "...", "legend": "auto",
 *        "x": {"label": "...", "log": true, "range": [0, null], "ticks": [...], "names": [...]},
 *        "y": {...},
 *        "grid": {"name": "...", "nx": 9, "ny": 8, "x": [0, 8], "y": [0, 7], "z": [...], ...},
 *        "series": [{"name": "...", "mark": "line", "colour": "blue", "x": [...], "y": [...]}],
 *        "lines": [{"y": 1.386, "label": "chance"}]}]}
 *
 * columns, width and height are those of the drawing: panels in a row, pixels of a panel. Numbers
 * that are not finite are null, as in summaries. What has its default is left out. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "report/figure/plot_layout.h"
#include "report/json.h"

/* Words for the values of an enum, in its order. */
typedef struct words {
    const char *what;
    const char *const *word;
    int n;
} words;

#define WORDS(name, ...)                                                                           \
    static const char *const name##_list[] = {__VA_ARGS__};                                        \
    static const words name##s = {#name, name##_list, (int)(sizeof name##_list / sizeof(char *))}

WORDS(mark, "line", "points", "line-points", "error-bars", "band", "steps", "bars", "filled-steps",
      "area", "level-bars");
WORDS(colour, "auto", "blue", "vermilion", "green", "purple", "orange", "sky", "black", "grey");
WORDS(legend, "auto", "none", "below", "right", "top-left", "top-right", "bottom-left",
      "bottom-right");
WORDS(scale, "sequential", "diverging");

/* --- writing -----------------------------------------------------------------------------------*/

static void put_axis(wm_summary *panel, const char *key, const char *label, bool log_axis,
                     const double range[2], const wmi_ticks *ticks)
{
    wm_summary *axis = wm_summary_object(panel, key);

    wm_summary_text(axis, "label", label);
    if (log_axis)
        wm_summary_bool(axis, "log", true);
    if (isfinite(range[0]) || isfinite(range[1]))
        wm_summary_reals(axis, "range", range, 2);
    if (ticks->n)
        wm_summary_reals(axis, "ticks", ticks->at, ticks->n);
    if (ticks->n && ticks->text)
        wm_summary_texts(axis, "names", ticks->text, ticks->n);
}

static void put_grid(wm_summary *panel, const wm_heat_map *g)
{
    wm_summary *grid = wm_summary_object(panel, "grid");

    wm_summary_text(grid, "name", g->name);
    wm_summary_integer(grid, "nx", g->nx);
    wm_summary_integer(grid, "ny", g->ny);
    wm_summary_reals(grid, "x", (const double[]){g->x_from, g->x_to}, 2);
    wm_summary_reals(grid, "y", (const double[]){g->y_from, g->y_to}, 2);
    wm_summary_text(grid, "scale", scales.word[g->scale]);
    wm_summary_real(grid, "middle", g->middle);
    if (g->lo < g->hi)
        wm_summary_reals(grid, "range", (const double[]){g->lo, g->hi}, 2);
    if (g->labels)
        wm_summary_integer(grid, "digits", g->digits);
    if (g->n_contours)
        wm_summary_reals(grid, "contours", g->contours, g->n_contours);
    wm_summary_reals(grid, "z", g->z, g->nx * g->ny);
}

static void put_series(wm_summary *panel, const wmi_series *s)
{
    wm_summary *series = wm_summary_row(panel, "series");

    wm_summary_text(series, "name", s->name);
    wm_summary_text(series, "mark", marks.word[s->mark]);
    wm_summary_text(series, "colour", colours.word[s->colour]);
    if (s->dashed)
        wm_summary_bool(series, "dashed", true);
    if (s->width != 1)
        wm_summary_real(series, "width", s->width);
    wm_summary_reals(series, "x", s->x, s->n);
    wm_summary_reals(series, "y", s->y, s->n);
    if (s->lo)
        wm_summary_reals(series, "lo", s->lo, s->n);
    if (s->hi)
        wm_summary_reals(series, "hi", s->hi, s->n);
}

static void put_panel(wm_summary *root, const wm_panel *p)
{
    wm_summary *panel = wm_summary_row(root, "panels");

    wm_summary_text(panel, "title", p->title);
    wm_summary_text(panel, "legend", legends.word[p->legend]);
    put_axis(panel, "x", p->x_label, p->flags & WM_LOG_X, p->x_range, &p->x_ticks);
    put_axis(panel, "y", p->y_label, p->flags & WM_LOG_Y, p->y_range, &p->y_ticks);
    if (p->grid)
        put_grid(panel, &p->grid->g);
    for (const wmi_series *s = p->series; s; s = s->next)
        put_series(panel, s);
    for (const wmi_reference *r = p->references; r; r = r->next) {
        wm_summary *line = wm_summary_row(panel, "lines");

        wm_summary_real(line, r->upright ? "x" : "y", r->at);
        wm_summary_text(line, "label", r->label);
    }
}

wm_status wmi_figure_describe(const wm_figure *f, const char *path, wm_error *err)
{
    const wmi_plot_layout l = wmi_figure_layout(f);
    wm_summary *root;
    wm_status st = wm_summary_new(&root, err);

    if (st)
        return st;
    wm_summary_text(root, "title", f->title);
    wm_summary_integer(root, "columns", l.columns);
    wm_summary_integer(root, "width", l.width);
    wm_summary_integer(root, "height", l.height);
    for (const wm_panel *p = f->panels; p; p = p->next)
        put_panel(root, p);
    st = wm_summary_write(root, path, err);
    wm_summary_free(root);
    return st;
}

/* --- reading -----------------------------------------------------------------------------------*/

/* Our figures stay well below these, and sums of pixels then fit an int. */
enum { MAX_PANELS = 100, MAX_PIXELS = 10000 };

typedef struct reader {
    wm_figure *f;
    wmi_arena arena;  /* numbers on their way into the figure */
    const char *name; /* of the file */
    int panel;        /* that is being read, from 1 */
    wm_status status; /* the first failure; after it nothing is read */
    wm_error *err;
} reader;

__attribute__((format(printf, 2, 3))) static void refuse(reader *r, const char *fmt, ...)
{
    char what[120];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (!r->status)
        r->status = wmi_fail(r->err, WM_EFORMAT, "%.120s: panel %d: %s", r->name, r->panel, what);
}

static void *take(reader *r, size_t bytes)
{
    void *p = r->status ? NULL : wmi_arena_alloc(&r->arena, bytes, r->err);

    if (!p && !r->status)
        r->status = WM_ENOMEM;
    return p;
}

/* The numbers of a list, *n of them; NULL, and 0, where there is none. */
static const double *take_reals(reader *r, const json_t *object, const char *key, int64_t *n)
{
    const json_t *list = json_object_get(object, key);
    double *x;

    *n = (int64_t)json_array_size(list);
    if (!json_is_array(list) || !(x = take(r, (size_t)(*n + 1) * sizeof *x)))
        return NULL;
    for (int64_t i = 0; i < *n; i++)
        x[i] = wmi_json_real(json_array_get(list, (size_t)i));
    return x;
}

/* The same of a list that must have n. */
static const double *take_n_reals(reader *r, const json_t *object, const char *key, int64_t n)
{
    int64_t got;
    const double *x = take_reals(r, object, key, &got);

    if (x && got != n)
        refuse(r, "%s has %" PRId64 " values, expected %" PRId64, key, got, n);
    return x;
}

static int take_word(reader *r, const json_t *object, const words *of)
{
    const char *text = wmi_json_text(object, of->what);

    for (int i = 0; i < of->n; i++)
        if (strcmp(text, of->word[i]) == 0)
            return i;
    refuse(r, "no %s is called '%.40s'", of->what, text);
    return 0;
}

static void take_axis(reader *r, wm_panel *p, const json_t *panel, bool is_x, unsigned *flags)
{
    const json_t *axis = json_object_get(panel, is_x ? "x" : "y");
    const json_t *names = json_object_get(axis, "names");
    const double *range = take_n_reals(r, axis, "range", 2);
    const char **text = NULL;
    const double *at;
    int64_t n;

    at = take_reals(r, axis, "ticks", &n);
    if (json_is_true(json_object_get(axis, "log")))
        *flags |= is_x ? WM_LOG_X : WM_LOG_Y;
    if (range)
        (is_x ? wm_panel_x_range : wm_panel_y_range)(p, range[0], range[1]);
    if (!at)
        return;
    if (json_is_array(names)) {
        if ((int64_t)json_array_size(names) != n)
            refuse(r, "names has %zu values, expected %" PRId64, json_array_size(names), n);
        text = take(r, (size_t)(n + 1) * sizeof *text);
        for (int64_t i = 0; text && i < n; i++) {
            text[i] = json_string_value(json_array_get(names, (size_t)i));
            text[i] = text[i] ? text[i] : "";
        }
    }
    if (!r->status)
        (is_x ? wm_panel_x_ticks : wm_panel_y_ticks)(p, at, text, n);
}

static void take_grid(reader *r, wm_panel *p, const json_t *panel)
{
    const json_t *grid = json_object_get(panel, "grid");
    const double *x = take_n_reals(r, grid, "x", 2), *y = take_n_reals(r, grid, "y", 2),
                 *range = take_n_reals(r, grid, "range", 2);
    wm_heat_map g = {.name = wmi_json_text(grid, "name"),
                     .nx = json_integer_value(json_object_get(grid, "nx")),
                     .ny = json_integer_value(json_object_get(grid, "ny")),
                     .middle = json_number_value(json_object_get(grid, "middle")),
                     .labels = json_object_get(grid, "digits"),
                     .digits = (int)json_integer_value(json_object_get(grid, "digits"))};

    if (!grid)
        return;
    if (!x || !y || !json_is_array(json_object_get(grid, "z")) || g.nx < 1 || g.ny < 1 ||
        g.nx > WMI_GRID_SIDE || g.ny > WMI_GRID_SIDE) {
        refuse(r, "a grid lacks x, y or z, or its sides are not 1 to %d", WMI_GRID_SIDE);
        return;
    }
    g.z = take_n_reals(r, grid, "z", g.nx * g.ny);
    g.contours = take_reals(r, grid, "contours", &g.n_contours);
    g.scale = (wm_colour_scale)take_word(r, grid, &scales);
    if (r->status)
        return;
    g.x_from = x[0];
    g.x_to = x[1];
    g.y_from = y[0];
    g.y_to = y[1];
    if (range) {
        g.lo = range[0];
        g.hi = range[1];
    }
    wm_panel_heat_map(p, &g);
}

static void take_series(reader *r, wm_panel *p, const json_t *row)
{
    wm_series s = {.name = wmi_json_text(row, "name"),
                   .dashed = json_is_true(json_object_get(row, "dashed")),
                   .width = json_number_value(json_object_get(row, "width"))};

    s.mark = (wm_mark)take_word(r, row, &marks);
    s.colour = (wm_colour)take_word(r, row, &colours);
    s.x = take_reals(r, row, "x", &s.n);
    s.y = take_n_reals(r, row, "y", s.n);
    s.lo = take_n_reals(r, row, "lo", s.n);
    s.hi = take_n_reals(r, row, "hi", s.n);
    if (!s.x || !s.y)
        refuse(r, "a series lacks x or y");
    if (wmi_mark_is_ranged(s.mark) && (!s.lo || !s.hi))
        refuse(r, "a series lacks lo or hi");
    if (!r->status)
        wm_panel_series(p, &s);
}

static void take_panel(reader *r, const json_t *panel)
{
    const json_t *series = json_object_get(panel, "series"),
                 *lines = json_object_get(panel, "lines");
    wm_panel *p = wm_figure_panel(r->f, wmi_json_text(panel, "title"));
    unsigned flags = 0;

    wm_panel_legend(p, (wm_legend)take_word(r, panel, &legends));
    take_axis(r, p, panel, true, &flags);
    take_axis(r, p, panel, false, &flags);
    wm_panel_axes(p, wmi_json_text(json_object_get(panel, "x"), "label"),
                  wmi_json_text(json_object_get(panel, "y"), "label"), flags);
    take_grid(r, p, panel);
    for (size_t i = 0; i < json_array_size(series); i++)
        take_series(r, p, json_array_get(series, i));
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        const bool upright = json_object_get(line, "x");

        (upright ? wm_panel_x_line
                 : wm_panel_y_line)(p, wmi_json_real(json_object_get(line, upright ? "x" : "y")),
                                    wmi_json_text(line, "label"));
    }
}

/* A whole number from 1 to max. */
static int take_size(reader *r, const json_t *root, const char *key, int max)
{
    const json_int_t v = json_integer_value(json_object_get(root, key));

    if (v >= 1 && v <= max)
        return (int)v;
    if (!r->status)
        r->status =
            wmi_fail(r->err, WM_EFORMAT, "%.120s: %s must be from 1 to %d", r->name, key, max);
    return 1;
}

wm_status wmi_figure_read(wm_figure **out, const char *text, size_t n, const char *name,
                          wm_error *err)
{
    reader r = {.name = name, .err = err};
    json_t *root = NULL;
    const json_t *panels;
    wm_status st = wmi_json_read(&root, text, n, name, err);

    *out = NULL;
    if (st)
        goto done;
    if (!(r.f = wm_figure_new("figure", wmi_json_text(root, "title")))) {
        st = wmi_fail(err, WM_ENOMEM, "out of memory: figure");
        goto done;
    }
    panels = json_object_get(root, "panels");
    if (json_array_size(panels) < 1 || json_array_size(panels) > MAX_PANELS) {
        st = wmi_fail(err, WM_EFORMAT, "%.120s: %zu panels, expected 1 to %d", name,
                      json_array_size(panels), MAX_PANELS);
        goto done;
    }
    wm_figure_columns(r.f, take_size(&r, root, "columns", MAX_PANELS));
    wm_figure_panel_size(r.f, take_size(&r, root, "width", MAX_PIXELS),
                         take_size(&r, root, "height", MAX_PIXELS));
    for (size_t i = 0; i < json_array_size(panels) && !r.status; i++) {
        r.panel = (int)i + 1;
        take_panel(&r, json_array_get(panels, i));
    }
    st = r.status;
    if (!st && r.f->status) { /* what the building itself refuses */
        st = r.f->status;
        if (err)
            *err = r.f->error;
    }
    if (!st) {
        *out = r.f;
        r.f = NULL; /* the caller's now */
    }
done:
    wm_figure_free(r.f);
    wmi_arena_free(&r.arena);
    json_decref(root);
    return st;
}
