/* figure.c - building a figure, and its numbers as CSV. */
#include "report/figure.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/speak.h"
#include "report/text.h"

/* The order in which AUTO takes them. */
static const wm_colour cycle[] = {WM_COLOUR_BLUE,   WM_COLOUR_VERMILION, WM_COLOUR_GREEN,
                                  WM_COLOUR_PURPLE, WM_COLOUR_ORANGE,    WM_COLOUR_SKY,
                                  WM_COLOUR_BLACK,  WM_COLOUR_GREY};
#define N_CYCLE ((int)(sizeof cycle / sizeof *cycle))
#define MAX_SIDE 2000 /* cells of a grid: more are no figure */

wm_status wm_figure_new(wm_figure **out, const char *name, const char *title, wm_error *err)
{
    wm_figure *f = NULL;
    wm_status st;

    *out = NULL;
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_')
            return wmi_fail(err, WM_EINVAL, "figure '%.60s': letters, digits, - and _ only", name);
    if (!*name)
        return wmi_fail(err, WM_EINVAL, "a figure without a name");
    if ((st = wmi_alloc(&f, 1, sizeof *f, "figure", err)))
        return st;
    f->name = wmi_arena_strdup(&f->arena, name, err);
    f->title = f->name ? wmi_text_clean(&f->arena, title ? title : "", err) : NULL;
    if (!f->title) {
        wm_figure_free(f);
        return WM_ENOMEM;
    }
    *out = f;
    return WM_OK;
}

void wm_figure_free(wm_figure *f)
{
    if (!f)
        return;
    wmi_arena_free(&f->arena);
    wmi_free(f);
}

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

void wm_panel_series(wm_panel *p, const wm_series *series)
{
    const bool ranged = series->mark == WM_MARK_ERROR_BARS || series->mark == WM_MARK_BAND;
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
    if (g->g.scale == WM_SCALE_DIVERGING) {
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

void wm_panel_grid(wm_panel *p, const wm_grid *grid)
{
    wm_figure *f = p ? p->figure : NULL;
    wmi_grid *g;

    if (!f || f->status)
        return;
    if (grid->nx < 1 || grid->ny < 1 || grid->nx > MAX_SIDE || grid->ny > MAX_SIDE || !grid->z ||
        !isfinite(grid->x_from + grid->x_to + grid->y_from + grid->y_to)) {
        f->status = wmi_fail(&f->error, WM_EINVAL,
                             "figure '%s': grid '%.60s' of %" PRId64 " x %" PRId64
                             " needs values, finite ends, and sides of 1 to %d",
                             f->name, grid->name ? grid->name : "", grid->nx, grid->ny, MAX_SIDE);
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

static void print_field(const char *text, FILE *out)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

static void print_real(double x, FILE *out)
{
    char text[WMI_REAL_TEXT];

    fprintf(out, ",%s", wmi_real_text(text, x));
}

static void print_cell(const double *x, int64_t i, FILE *out)
{
    print_real(x ? x[i] : NAN, out);
}

/* Columns of the CSV beyond those that every figure has. */
typedef struct extras {
    bool z, label;
} extras;

static extras find_extras(const wm_figure *f)
{
    extras e = {0};

    for (const wm_panel *p = f->panels; p; p = p->next) {
        e.z = e.z || p->grid;
        e.label = e.label || p->x_ticks.text || p->y_ticks.text;
    }
    return e;
}

/* The label of the tick at a point: what the point is, to who reads the numbers. */
static const char *tick_label(const wm_panel *p, const wmi_series *s, int64_t i)
{
    const bool level = s->mark == WM_MARK_LEVEL_BARS;
    const wmi_ticks *t = level ? &p->y_ticks : &p->x_ticks;
    const double at = s->n == 0 ? NAN : level ? s->y[i] : s->x[i];

    for (int64_t k = 0; t->text && k < t->n; k++)
        if (t->at[k] == at)
            return t->text[k];
    return "";
}

static void print_names(const wm_panel *p, const char *name, FILE *out)
{
    print_field(p->title, out);
    putc(',', out);
    print_field(name, out);
}

static void print_series(const wm_panel *p, const wmi_series *s, extras e, FILE *out)
{
    for (int64_t i = 0; i < s->n || i == 0; i++) {
        print_names(p, s->name, out);
        print_cell(s->n ? s->x : NULL, i, out);
        print_cell(s->n ? s->y : NULL, i, out);
        print_cell(s->n ? s->lo : NULL, i, out);
        print_cell(s->n ? s->hi : NULL, i, out);
        fputs(e.z ? "," : "", out);
        if (e.label) {
            putc(',', out);
            print_field(tick_label(p, s, i), out);
        }
        putc('\n', out);
    }
}

double wmi_grid_at(double from, double to, int64_t n, int64_t i)
{
    return n > 1 ? from + (to - from) * (double)i / (double)(n - 1) : from;
}

/* An empty line after each row of cells is how gnuplot sees that they are rows. */
static void print_grid(const wm_panel *p, const wm_grid *g, extras e, FILE *out)
{
    for (int64_t j = 0; j < g->ny; j++) {
        fputs(j ? "\n" : "", out);
        for (int64_t i = 0; i < g->nx; i++) {
            print_names(p, g->name, out);
            print_real(wmi_grid_at(g->x_from, g->x_to, g->nx, i), out);
            print_real(wmi_grid_at(g->y_from, g->y_to, g->ny, j), out);
            fputs(",,", out);
            print_real(g->z[j * g->nx + i], out);
            fputs(e.label ? ",\"\"\n" : "\n", out);
        }
    }
}

/* One row a point. Series are two empty lines apart, which gnuplot counts as blocks and which
 * readers of CSV skip. A series without points still has its block. */
static void print_csv(const wm_figure *f, FILE *out)
{
    const extras e = find_extras(f);

    fprintf(out, "panel,series,x,y,lo,hi%s%s\n", e.z ? ",z" : "", e.label ? ",label" : "");
    for (const wm_panel *p = f->panels; p; p = p->next) {
        if (p->grid) {
            fputs(p->grid->index ? "\n\n" : "", out);
            print_grid(p, &p->grid->g, e, out);
        }
        for (const wmi_series *s = p->series; s; s = s->next) {
            fputs(s->index ? "\n\n" : "", out);
            print_series(p, s, e, out);
        }
    }
}

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

static wm_status write_part(const wm_figure *f, const char *folder, const char *end,
                            void (*print)(const wm_figure *f, FILE *out), wm_error *err)
{
    char name[300], *path = NULL;
    wmi_file *file = NULL;
    wm_status st;

    if (snprintf(name, sizeof name, "%s%s", f->name, end) >= (int)sizeof name)
        return wmi_fail(err, WM_EINVAL, "figure '%.60s...': the name is too long", f->name);
    if ((st = wmi_path_join(&path, folder, name, err)))
        return st;
    if (!(st = wmi_file_open(&file, path, err))) {
        print(f, wmi_file_stream(file));
        st = wmi_file_commit(file, err);
    }
    wmi_free(path);
    return st;
}

wm_status wm_figure_write(const wm_figure *f, const char *folder, const wm_sink *sink,
                          wm_error *err)
{
    bool found = false;
    wm_status st;

    if (f->status) {
        if (err)
            *err = f->error;
        return f->status;
    }
    if (!f->n_panels)
        return wmi_fail(err, WM_EINVAL, "figure '%s' has no panel", f->name);
    number_blocks(f);
    if ((st = wmi_folder_make(folder, err)) ||
        (st = write_part(f, folder, ".csv", print_csv, err)) ||
        (st = write_part(f, folder, ".gp", wmi_figure_script, err)) ||
        (st = wmi_gnuplot_run(&found, folder, f->name, sink, err)))
        return st;
    if (!found)
        wmi_say(
            sink, WM_LOG_WARN,
            "gnuplot is not installed: %s/%s is not drawn; its numbers and its script are there",
            folder, f->name);
    return WM_OK;
}
