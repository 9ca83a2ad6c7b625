/* figure.c - building a figure, and writing its files. */
#include "report/figure/figure.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/text.h"
#include "waymark/sink.h"

/* The order in which AUTO takes them. */
static const wm_colour cycle[] = {WM_COLOUR_BLUE,   WM_COLOUR_VERMILION, WM_COLOUR_GREEN,
                                  WM_COLOUR_PURPLE, WM_COLOUR_ORANGE,    WM_COLOUR_SKY,
                                  WM_COLOUR_BLACK,  WM_COLOUR_GREY};
#define N_CYCLE ((int)(sizeof cycle / sizeof *cycle))

/* Memory of the figure, or NULL with the failure kept; NULL too after an earlier failure. */
static void *take(wm_figure *f, size_t bytes)
{
    void *p = f->status ? NULL : wmi_arena_alloc(&f->arena, bytes, &f->error);

    if (!p && !f->status)
        f->status = WM_ENOMEM;
    return p;
}

static const char *take_text(wm_figure *f, const char *text)
{
    const char *p = f->status ? NULL : wmi_text_clean(&f->arena, text ? text : "", &f->error);

    if (!p && !f->status)
        f->status = WM_ENOMEM;
    return p;
}

wm_figure *wm_figure_new(const char *name, const char *title)
{
    wm_figure *f = NULL;

    if (wmi_alloc(&f, 1, sizeof *f, "figure", NULL))
        return NULL;
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_' && !f->status)
            f->status = wmi_fail(&f->error, WM_EINVAL,
                                 "figure '%.60s': letters, digits, - and _ only", name);
    if (!*name)
        f->status = wmi_fail(&f->error, WM_EINVAL, "a figure without a name");
    f->name = take_text(f, name);
    f->title = take_text(f, title);
    return f;
}

void wm_figure_free(wm_figure *f)
{
    if (!f)
        return;
    wmi_arena_free(&f->arena);
    wmi_free(f);
}

static const double *take_reals(wm_figure *f, const double *x, int64_t n)
{
    double *p = x ? take(f, (size_t)n * sizeof *x) : NULL;

    if (p && n)
        memcpy(p, x, (size_t)n * sizeof *x);
    return p;
}

void wm_figure_columns(wm_figure *f, int columns)
{
    if (f)
        f->columns = columns > 0 ? columns : 0;
}

void wm_figure_panel_size(wm_figure *f, int width, int height)
{
    if (f) {
        f->width = width > 0 ? width : 0;
        f->height = height > 0 ? height : 0;
    }
}

wm_panel *wm_figure_panel(wm_figure *f, const char *title)
{
    wm_panel *p = f ? take(f, sizeof *p) : NULL;

    if (!p)
        return NULL;
    p->figure = f;
    p->title = take_text(f, title);
    p->x_label = p->y_label = "";
    for (int i = 0; i < 2; i++)
        p->x_range[i] = p->y_range[i] = NAN;
    if (f->status)
        return NULL;
    *(f->last_panel ? &f->last_panel->next : &f->panels) = p;
    f->last_panel = p;
    f->n_panels++;
    return p;
}

void wm_panel_axes(wm_panel *p, const char *x_label, const char *y_label, unsigned flags)
{
    if (!p)
        return;
    p->x_label = take_text(p->figure, x_label);
    p->y_label = take_text(p->figure, y_label);
    p->flags = flags;
}

void wm_panel_x_range(wm_panel *p, double lo, double hi)
{
    if (p) {
        p->x_range[0] = lo;
        p->x_range[1] = hi;
    }
}

void wm_panel_y_range(wm_panel *p, double lo, double hi)
{
    if (p) {
        p->y_range[0] = lo;
        p->y_range[1] = hi;
    }
}

static void set_ticks(wm_figure *f, wmi_ticks *t, const double *at, const char *const *labels,
                      int64_t n)
{
    if (n < 1)
        return;
    t->at = take_reals(f, at, n);
    t->text = labels ? take(f, (size_t)n * sizeof *t->text) : NULL;
    for (int64_t i = 0; t->text && i < n; i++)
        t->text[i] = take_text(f, labels[i]);
    t->n = t->at ? n : 0;
}

void wm_panel_x_ticks(wm_panel *p, const double *at, const char *const *labels, int64_t n)
{
    if (p)
        set_ticks(p->figure, &p->x_ticks, at, labels, n);
}

void wm_panel_y_ticks(wm_panel *p, const double *at, const char *const *labels, int64_t n)
{
    if (p)
        set_ticks(p->figure, &p->y_ticks, at, labels, n);
}

static void add_reference(wm_panel *p, double at, bool upright, const char *label)
{
    wmi_reference *r = p && isfinite(at) ? take(p->figure, sizeof *r) : NULL;

    if (!r)
        return;
    r->at = at;
    r->upright = upright;
    r->label = take_text(p->figure, label);
    *(p->last_reference ? &p->last_reference->next : &p->references) = r;
    p->last_reference = r;
}

void wm_panel_x_line(wm_panel *p, double x, const char *label)
{
    add_reference(p, x, true, label);
}

void wm_panel_y_line(wm_panel *p, double y, const char *label)
{
    add_reference(p, y, false, label);
}

void wm_panel_legend(wm_panel *p, wm_legend place)
{
    if (p)
        p->legend = place;
}

bool wmi_mark_is_ranged(wm_mark mark)
{
    return mark == WM_MARK_ERROR_BARS || mark == WM_MARK_BAND;
}

void wm_panel_series(wm_panel *p, const wm_series *series)
{
    const bool ranged = wmi_mark_is_ranged(series->mark);
    wm_figure *f = p ? p->figure : NULL;
    wmi_series *s;

    if (!f || f->status)
        return;
    if (series->n < 0 || !series->x || !series->y || (ranged && (!series->lo || !series->hi))) {
        f->status = wmi_fail(&f->error, WM_EINVAL, "figure '%s': series '%.60s' lacks %s", f->name,
                             series->name ? series->name : "",
                             !series->x || !series->y ? "x or y" : "lo or hi, or counts below 0");
        return;
    }
    if (!(s = take(f, sizeof *s)))
        return;
    s->name = take_text(f, series->name);
    s->mark = series->mark;
    s->colour = series->colour ? series->colour : cycle[p->colours++ % N_CYCLE];
    s->dashed = series->dashed;
    s->width = series->width > 0 ? series->width : 1;
    s->n = series->n;
    s->x = take_reals(f, series->x, s->n);
    s->y = take_reals(f, series->y, s->n);
    s->lo = take_reals(f, series->lo, s->n);
    s->hi = take_reals(f, series->hi, s->n);
    if (f->status)
        return;
    *(p->last_series ? &p->last_series->next : &p->series) = s;
    p->last_series = s;
}

/* Ends of the colours: what was asked for, or what the values cover, symmetric about the middle of
 * a diverging scale. */
static void set_colours(wmi_grid *g)
{
    const int64_t n = g->g.nx * g->g.ny;

    g->whole = true;
    g->lo = INFINITY;
    g->hi = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        const double z = g->g.z[i];

        if (!isfinite(z)) {
            g->whole = false;
            continue;
        }
        g->lo = z < g->lo ? z : g->lo;
        g->hi = z > g->hi ? z : g->hi;
    }
    if (g->g.lo < g->g.hi) {
        g->lo = g->g.lo;
        g->hi = g->g.hi;
    } else if (!(g->lo <= g->hi)) { /* nothing finite */
        g->lo = -1;
        g->hi = 1;
    }
    if (g->g.scale == WM_COLOURS_DIVERGING) {
        const double reach = fmax(fabs(g->hi - g->g.middle), fabs(g->lo - g->g.middle));

        g->lo = g->g.middle - reach;
        g->hi = g->g.middle + reach;
    }
    if (!(g->lo < g->hi)) { /* one value: gnuplot wants a range */
        const double room = fmax(1e-9, 0.5 * fabs(g->lo));

        g->lo -= room;
        g->hi += room;
    }
}

void wm_panel_heat_map(wm_panel *p, const wm_heat_map *grid)
{
    wm_figure *f = p ? p->figure : NULL;
    wmi_grid *g;

    if (!f || f->status)
        return;
    if (grid->nx < 1 || grid->ny < 1 || grid->nx > WMI_GRID_SIDE || grid->ny > WMI_GRID_SIDE ||
        !grid->z || !isfinite(grid->x_from + grid->x_to + grid->y_from + grid->y_to)) {
        f->status =
            wmi_fail(&f->error, WM_EINVAL,
                     "figure '%s': grid '%.60s' of %" PRId64 " x %" PRId64
                     " needs values, finite ends, and sides of 1 to %d",
                     f->name, grid->name ? grid->name : "", grid->nx, grid->ny, WMI_GRID_SIDE);
        return;
    }
    if (!(g = take(f, sizeof *g)))
        return;
    g->g = *grid;
    g->g.name = take_text(f, grid->name);
    g->g.z = take_reals(f, grid->z, grid->nx * grid->ny);
    g->g.n_contours = grid->contours ? grid->n_contours : 0;
    g->g.contours = take_reals(f, grid->contours, g->g.n_contours);
    if (f->status)
        return;
    set_colours(g);
    p->grid = g;
}

/* --- writing -----------------------------------------------------------------------------------*/

/* Blocks are counted in the order of the CSV, which need not be that of the calls. */
static void number_blocks(const wm_figure *f)
{
    int64_t n = 0;

    for (wm_panel *p = f->panels; p; p = p->next) {
        if (p->grid)
            p->grid->index = n++;
        for (wmi_series *s = p->series; s; s = s->next)
            s->index = n++;
    }
}

/* folder/NAMEend, for wmi_free(). */
static wm_status part_path(char **out, const wm_figure *f, const char *folder, const char *end,
                           wm_error *err)
{
    char name[300];

    if (snprintf(name, sizeof name, "%s%s", f->name, end) >= (int)sizeof name)
        return wmi_fail(err, WM_EINVAL, "figure '%.60s...': the name is too long", f->name);
    return wmi_path_join(out, folder, name, err);
}

static wm_status write_part(const wm_figure *f, const char *folder, const char *end,
                            void (*print)(const wm_figure *f, FILE *out), wm_error *err)
{
    char *path = NULL;
    wmi_file *file = NULL;
    wm_status st = part_path(&path, f, folder, end, err);

    if (!st && !(st = wmi_file_open(&file, path, err))) {
        print(f, wmi_file_stream(file));
        st = wmi_file_commit(file, err);
    }
    wmi_free(path);
    return st;
}

static wm_status write_description(const wm_figure *f, const char *folder, wm_error *err)
{
    char *path = NULL;
    wm_status st = part_path(&path, f, folder, ".json", err);

    if (!st)
        st = wmi_figure_describe(f, path, err);
    wmi_free(path);
    return st;
}

wm_status wm_figure_write(const wm_figure *f, const char *folder, const wm_sink *sink,
                          wm_error *err)
{
    bool found = false;
    wm_status st;

    if (!f)
        return wmi_fail(err, WM_ENOMEM, "out of memory: figure");
    if (f->status) {
        if (err)
            *err = f->error;
        return f->status;
    }
    if (!f->n_panels)
        return wmi_fail(err, WM_EINVAL, "figure '%s' has no panel", f->name);
    number_blocks(f);
    if ((st = wmi_folder_make(folder, err)) ||
        (st = write_part(f, folder, ".csv", wmi_figure_csv, err)) ||
        (st = write_description(f, folder, err)) ||
        (st = write_part(f, folder, ".gp", wmi_figure_script, err)) ||
        (st = wmi_gnuplot_run(&found, folder, f->name, sink, err)))
        return st;
    if (!found)
        wm_say(sink, WM_LOG_WARN,
               "gnuplot is not installed: %s/%s is not drawn; its numbers and its script are there",
               folder, f->name);
    return WM_OK;
}
