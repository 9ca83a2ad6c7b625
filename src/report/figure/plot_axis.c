/* plot_axis.c - the axes of a panel: how far they reach, their scale, ticks and labels. */
#include <math.h>
#include <string.h>

#include "report/figure/figure.h"
#include "report/text.h"

#define SHOWN_LETTERS 26 /* of a label at the y axis; the CSV has all of it */

typedef struct span {
    double lo, hi;
} span;

static void widen(span *s, double v, bool log_axis)
{
    if (!isfinite(v) || (log_axis && v <= 0))
        return;
    s->lo = v < s->lo ? v : s->lo;
    s->hi = v > s->hi ? v : s->hi;
}

bool wmi_plot_is_level(const wm_panel *p)
{
    for (const wmi_series *s = p->series; s; s = s->next)
        if (s->mark == WM_MARK_LEVEL_BARS)
            return true;
    return false;
}

/* Bars and steps begin at 0, and reach half a step beyond their points. */
static void cover_boxes(span *s, const wmi_series *r, bool upright, bool log_axis)
{
    const bool level = r->mark == WM_MARK_LEVEL_BARS;
    const double *at = level ? r->y : r->x;

    if (upright == level) {
        widen(s, 0, log_axis);
        return;
    }
    if (level) {
        for (int64_t i = 0; i < r->n; i++) {
            widen(s, at[i] - 0.6, log_axis);
            widen(s, at[i] + 0.6, log_axis);
        }
    } else if (r->n > 1) {
        widen(s, at[0] - (at[1] - at[0]) / 2, log_axis);
        widen(s, at[r->n - 1] + (at[r->n - 1] - at[r->n - 2]) / 2, log_axis);
    }
}

static void cover_series(span *s, const wmi_series *r, bool upright, bool log_axis)
{
    const bool boxes = r->mark == WM_MARK_BARS || r->mark == WM_MARK_STEPS ||
                       r->mark == WM_MARK_FILLED_STEPS || r->mark == WM_MARK_LEVEL_BARS;
    const bool ranged = r->mark == WM_MARK_LEVEL_BARS ? upright : !upright;

    if (boxes)
        cover_boxes(s, r, upright, log_axis);
    if (r->mark == WM_MARK_AREA && !upright)
        widen(s, 0, log_axis);
    for (int64_t i = 0; i < r->n; i++) {
        widen(s, upright ? r->x[i] : r->y[i], log_axis);
        if (ranged && r->lo)
            widen(s, r->lo[i], log_axis);
        if (ranged && r->hi)
            widen(s, r->hi[i], log_axis);
    }
}

/* The cells with their whole width; a single one has width 1. */
static void cover_grid(span *s, const wm_heat_map *g, bool upright)
{
    const double from = upright ? g->x_from : g->y_from, to = upright ? g->x_to : g->y_to;
    const int64_t n = upright ? g->nx : g->ny;
    const double half = n > 1 ? fabs(to - from) / (double)(n - 1) / 2 : 0.5;

    widen(s, fmin(from, to) - half, false);
    widen(s, fmax(from, to) + half, false);
}

/* What the data and reference lines cover along an axis. */
static span cover(const wm_panel *p, bool upright, bool log_axis)
{
    span s = {INFINITY, -INFINITY};

    if (p->grid) { /* what lies on a map does not widen it */
        cover_grid(&s, &p->grid->g, upright);
        return s;
    }
    for (const wmi_series *r = p->series; r; r = r->next)
        cover_series(&s, r, upright, log_axis);
    for (const wmi_reference *r = p->references; r; r = r->next)
        if (r->upright == upright)
            widen(&s, r->at, log_axis);
    return s;
}

/* Ticks of a logarithmic axis with too few powers of ten to read: some of each decade, the more the
 * shorter the axis; below a factor of two, evenly spaced ones. */
static void put_short_log_ticks(char axis, span s, FILE *out)
{
    static const double many[] = {1, 2, 3, 4, 5, 7}, few[] = {1, 2, 5};
    const double ratio = s.hi / s.lo, *digits = ratio < 6 ? many : few;
    const int n = ratio < 6 ? 6 : 3;
    const char *between = "";

    fprintf(out, "set format %c '%%g'\nset m%ctics 1\nset %ctics (", axis, axis, axis);
    if (ratio < 2) {
        const double rough = (s.hi - s.lo) / 4, unit = pow(10, floor(log10(rough)));
        const double step = unit * (rough < 2 * unit ? 1 : rough < 5 * unit ? 2 : 5);

        for (double k = floor(s.lo / step); step > 0 && k <= ceil(s.hi / step); k++) {
            fprintf(out, "%s%.10g", between, k * step);
            between = ", ";
        }
    } else {
        for (int k = (int)floor(log10(s.lo)) - 1; k <= (int)ceil(log10(s.hi)); k++)
            for (int j = 0; j < n; j++) {
                fprintf(out, "%s%.10g", between, digits[j] * pow(10, k));
                between = ", ";
            }
    }
    fputs(")\n", out);
}

/* A label cut to SHOWN_LETTERS, into at least 4 * SHOWN_LETTERS + 8 bytes. */
static const char *shorten(char *out, const char *text)
{
    size_t n = 0;

    if (wmi_text_width(text) <= SHOWN_LETTERS)
        return text;
    for (int letters = 0; text[n] && letters < SHOWN_LETTERS - 1; letters++)
        for (n++; ((unsigned char)text[n] & 0xc0) == 0x80; n++) {
        }
    memcpy(out, text, n);
    memcpy(out + n, "\xe2\x80\xa6", 4);
    return out;
}

int wmi_plot_y_letters(const wm_panel *p)
{
    char cut[4 * SHOWN_LETTERS + 8];
    int widest = 0;

    for (int64_t i = 0; p->y_ticks.text && i < p->y_ticks.n; i++) {
        const int width = wmi_text_width(shorten(cut, p->y_ticks.text[i]));

        widest = width > widest ? width : widest;
    }
    return widest;
}

/* The text of a tick is a format to gnuplot, and one that it does not like ends the figure: a
 * column may be called "fat %". */
static void put_tick_text(const char *text, FILE *out)
{
    putc('\'', out);
    for (; *text; text++) {
        if (*text == '\'' || *text == '%')
            putc(*text, out);
        putc(*text, out);
    }
    putc('\'', out);
}

static void put_ticks(char axis, const wmi_ticks *t, FILE *out)
{
    fprintf(out, "set %ctics (", axis);
    for (int64_t i = 0; i < t->n; i++) {
        char number[WMI_REAL_TEXT], cut[4 * SHOWN_LETTERS + 8];

        wmi_real_text(number, t->at[i]);
        fputs(i ? ", " : "", out);
        put_tick_text(!t->text ? number : axis == 'y' ? shorten(cut, t->text[i]) : t->text[i], out);
        fprintf(out, " %s", number);
    }
    fprintf(out, ") noenhanced\nset m%ctics 1\n", axis);
}

/* Where the axis ends if no range was given: a little beyond the data. */
static span padded(const wm_panel *p, span s, bool is_x, bool log_axis)
{
    span end = s;

    if (p->grid || (wmi_plot_is_level(p) && !is_x)) {
        if (!(s.lo < s.hi))
            end = (span){0, 1};
    } else if (log_axis && s.lo > 0 && s.hi > s.lo) {
        end.lo = s.lo * pow(s.hi / s.lo, -0.04);
        end.hi = s.hi * pow(s.hi / s.lo, 0.04);
    } else if (!log_axis && s.hi > s.lo) {
        end.lo = s.lo - 0.04 * (s.hi - s.lo);
        end.hi = s.hi + 0.04 * (s.hi - s.lo);
        if ((!is_x || wmi_plot_is_level(p)) && s.lo >= 0 && end.lo < 0)
            end.lo = 0; /* counts and errors do not go below zero */
    } else if (isfinite(s.lo) && (!log_axis || s.lo > 0)) { /* a single value */
        end.lo = log_axis ? s.lo / 2 : s.lo - 0.5 * fmax(1, fabs(s.lo));
        end.hi = log_axis ? s.lo * 2 : s.lo + 0.5 * fmax(1, fabs(s.lo));
    } else { /* no data: gnuplot still wants a range */
        end = (span){log_axis ? 1 : 0, log_axis ? 10 : 1};
    }
    return end;
}

/* Whether all positions along an axis are whole numbers, a few of them: bridges, waymarks. gnuplot
 * would put ticks at their halves. */
static bool counts(const wm_panel *p, bool is_x, span s)
{
    if (!(s.hi - s.lo <= 12))
        return false;
    if (p->grid) {
        const wm_heat_map *g = &p->grid->g;
        const double from = is_x ? g->x_from : g->y_from, to = is_x ? g->x_to : g->y_to;
        const int64_t n = is_x ? g->nx : g->ny;

        return from == floor(from) && fabs(to - from) == (double)(n - 1);
    }
    for (const wmi_series *r = p->series; r; r = r->next)
        for (int64_t i = 0; i < r->n; i++)
            if (r->x[i] != floor(r->x[i])) /* a NaN too */
                return false;
    return is_x && p->series && !wmi_plot_is_level(p);
}

/* Axis 'x' or 'y'. The ends are set here, with a little room, because gnuplot rounds them outward
 * to the next tick: on a logarithmic axis half of the panel is then empty. */
static void put_axis(const wm_panel *p, char axis, FILE *out)
{
    const bool is_x = axis == 'x', log_axis = p->flags & (is_x ? WM_LOG_X : WM_LOG_Y);
    const double *range = is_x ? p->x_range : p->y_range;
    const wmi_ticks *ticks = is_x ? &p->x_ticks : &p->y_ticks;
    span s = cover(p, is_x, log_axis), end;
    char number[WMI_REAL_TEXT];

    if (isfinite(range[0]))
        s.lo = range[0];
    if (isfinite(range[1]))
        s.hi = range[1];
    fprintf(out, "set %clabel ", axis);
    wmi_gnuplot_text(is_x ? p->x_label : p->y_label, out);
    fprintf(out, "%s noenhanced\n%s logscale %c%s\n", is_x ? " offset 0,0.6" : "",
            log_axis ? "set" : "unset", axis, log_axis ? " 10" : "");
    end = padded(p, s, is_x, log_axis);
    if (!is_x && wmi_plot_is_level(p) && !isfinite(range[0]) && !isfinite(range[1]))
        end = (span){end.hi, end.lo}; /* the first bar on top */
    fprintf(out, "set %crange [%s:", axis,
            wmi_real_text(number, isfinite(range[0]) ? range[0] : end.lo));
    fprintf(out, "%s]\n", wmi_real_text(number, isfinite(range[1]) ? range[1] : end.hi));

    if (ticks->n)
        put_ticks(axis, ticks, out);
    else if (log_axis && s.lo > 0 && s.hi / s.lo < 30)
        put_short_log_ticks(axis, s, out);
    else if (!log_axis && counts(p, is_x, s))
        fprintf(out, "set %ctics 1 enhanced\nset m%ctics 1\nset format %c '%%g'\n", axis, axis,
                axis);
    else
        fprintf(out, "set %ctics autofreq enhanced\nset m%ctics default\nset format %c '%s'\n",
                axis, axis, axis, log_axis ? "10^{%L}" : "%g");
}

void wmi_plot_axes(const wm_panel *p, FILE *out)
{
    put_axis(p, 'x', out);
    put_axis(p, 'y', out);
}
