/* page_curve.c - the curves of a training as small charts, drawn here because they need no gnuplot:
 * lines, ticks, a legend, and the numbers below. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/page/metrics_curves.h"
#include "report/page/page_html.h"

enum { WIDTH = 480, HEIGHT = 270, LEFT = 62, RIGHT = 16, TOP = 12, BOTTOM = 44 };
enum { SHOWN_CURVES = 12, SHOWN_POINTS = 400, SHOWN_ROWS = 40, SHOWN_CHARTS = 16 };
#define MAX_METRICS (64 << 20) /* bytes */

static const char *const colours[] = {"blue",   "vermilion", "green", "purple",
                                      "orange", "sky",       "ink",   "grey"};
#define N_COLOURS ((int)(sizeof colours / sizeof *colours))

typedef struct axis {
    double lo, hi;
    bool log;
} axis;

typedef struct chart {
    const wmi_curve *curve[SHOWN_CURVES];
    int n, more; /* shown, and left out */
    axis x, y;
} chart;

static void widen(axis *a, double v)
{
    a->lo = v < a->lo ? v : a->lo;
    a->hi = v > a->hi ? v : a->hi;
}

static void fit_axes(chart *c)
{
    c->x = c->y = (axis){INFINITY, -INFINITY, false};
    for (int k = 0; k < c->n; k++)
        for (int64_t i = 0; i < c->curve[k]->n; i++)
            if (isfinite(c->curve[k]->x[i]) && isfinite(c->curve[k]->y[i])) {
                widen(&c->x, c->curve[k]->x[i]);
                widen(&c->y, c->curve[k]->y[i]);
            }
    if (!(c->x.lo <= c->x.hi))
        c->x = c->y = (axis){0, 1, false};
    c->y.log = c->y.lo > 0 && c->y.hi / c->y.lo > 1000;
    for (axis *a = &c->x;; a = &c->y) {
        const double room = a->hi > a->lo ? 0 : fmax(0.5, fabs(a->lo) / 2);

        a->lo -= room;
        a->hi += room;
        if (a == &c->y)
            break;
    }
    if (!c->y.log) {
        const double room = 0.05 * (c->y.hi - c->y.lo);

        c->y.lo -= c->y.lo >= 0 && c->y.lo < room ? c->y.lo : room;
        c->y.hi += room;
    }
}

static double x_at(const chart *c, double v)
{
    return LEFT + (v - c->x.lo) / (c->x.hi - c->x.lo) * (WIDTH - LEFT - RIGHT);
}

static double y_at(const chart *c, double v)
{
    const double t =
        c->y.log ? log(v / c->y.lo) / log(c->y.hi / c->y.lo) : (v - c->y.lo) / (c->y.hi - c->y.lo);

    return HEIGHT - BOTTOM - t * (HEIGHT - TOP - BOTTOM);
}

/* A round step that gives about four of them. */
static double round_step(double width)
{
    const double rough = width / 4, unit = pow(10, floor(log10(rough)));

    return unit * (rough < 1.5 * unit ? 1 : rough < 3.5 * unit ? 2 : rough < 7.5 * unit ? 5 : 10);
}

static void put_tick(const chart *c, bool upright, double v, FILE *out)
{
    const double at = upright ? x_at(c, v) : y_at(c, v);

    if (upright)
        fprintf(out,
                "<path class=\"gridline\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" y=\"%d\" "
                "text-anchor=\"middle\">",
                at, TOP, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 17);
    else
        fprintf(out,
                "<path class=\"gridline\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
                "text-anchor=\"end\">",
                LEFT, at, WIDTH - RIGHT, LEFT - 8, at + 4);
    wmi_html_real(v, out);
    fputs("</text>", out);
}

static void put_ticks(const chart *c, bool upright, FILE *out)
{
    const axis *a = upright ? &c->x : &c->y;

    if (a->log) {
        const double from = ceil(log10(a->lo) - 1e-9), to = floor(log10(a->hi) + 1e-9);
        const double step = fmax(1, ceil((to - from) / 5));

        for (double k = from; k <= to; k += step)
            put_tick(c, upright, pow(10, k), out);
    } else {
        const double step = round_step(a->hi - a->lo);
        const double from = ceil(a->lo / step - 1e-9);

        for (double k = from; k <= a->hi / step + 1e-9 && k < from + 12; k++)
            put_tick(c, upright, k * step, out);
    }
}

static int64_t pick(int64_t i, int64_t shown, int64_t n)
{
    return shown < 2 ? 0 : i * (n - 1) / (shown - 1);
}

static void put_curve(const chart *c, int k, FILE *out)
{
    const wmi_curve *u = c->curve[k];
    const int64_t shown = u->n < SHOWN_POINTS ? u->n : SHOWN_POINTS;
    bool down = false;

    fprintf(out, "<path class=\"curve\" stroke=\"var(--%s)\"%s d=\"", colours[k % N_COLOURS],
            k >= N_COLOURS ? " stroke-dasharray=\"6 4\"" : "");
    for (int64_t i = 0; i < shown; i++) {
        const int64_t j = pick(i, shown, u->n);

        if (!isfinite(u->x[j]) || !isfinite(u->y[j]) || (c->y.log && u->y[j] <= 0)) {
            down = false;
            continue;
        }
        fprintf(out, "%s%.1f %.1f", down ? "L" : "M", x_at(c, u->x[j]), y_at(c, u->y[j]));
        down = true;
    }
    fputs("\"/>", out);
    if (u->n == 1 && down)
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"var(--%s)\"/>",
                x_at(c, u->x[0]), y_at(c, u->y[0]), colours[k % N_COLOURS]);
}

static void put_chart(const chart *c, const char *x_name, FILE *out)
{
    fprintf(out, "<svg class=\"drawing\" role=\"img\" viewBox=\"0 0 %d %d\" aria-label=\"", WIDTH,
            HEIGHT);
    wmi_html_text(c->curve[0]->chart, out);
    fputs(" during the run. The numbers follow as a table.\">", out);
    put_ticks(c, true, out);
    put_ticks(c, false, out);
    fprintf(out, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>", LEFT, TOP, HEIGHT - BOTTOM,
            WIDTH - RIGHT);
    for (int k = 0; k < c->n; k++)
        put_curve(c, k, out);
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text></svg>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x_name);
    if (c->n < 2)
        return;
    fputs("<ul class=\"legend\">\n", out);
    for (int k = 0; k < c->n; k++) {
        fprintf(out,
                "<li><svg class=\"key\" viewBox=\"0 0 30 14\" aria-hidden=\"true\"><path d=\"M1 "
                "7H29\" stroke=\"var(--%s)\" stroke-width=\"2.5\"%s/></svg>",
                colours[k % N_COLOURS], k >= N_COLOURS ? " stroke-dasharray=\"6 4\"" : "");
        wmi_html_text(c->curve[k]->name, out);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}

/* --- numbers -----------------------------------------------------------------------------------*/

static bool same_x(const wmi_curve *a, const wmi_curve *b)
{
    return a->n == b->n && memcmp(a->x, b->x, (size_t)a->n * sizeof *a->x) == 0;
}

static void put_step(double x, FILE *out)
{
    if (x == floor(x) && fabs(x) < 1e15)
        wmi_html_count((int64_t)x, out);
    else
        wmi_html_real(x, out);
}

/* Curves first .. last - 1 of the chart, which share their x. */
static void put_table(const chart *c, int first, int last, const char *x_name, FILE *out)
{
    const int64_t n = c->curve[first]->n, shown = n < SHOWN_ROWS ? n : SHOWN_ROWS;
    int decimals[SHOWN_CURVES];

    wmi_html_region("numbers of the chart", out);
    fputs("<table>\n<caption>", out);
    wmi_html_words(c->curve[first]->chart, out);
    if (shown < n) {
        fprintf(out, " (%" PRId64 " of ", shown);
        wmi_html_count(n, out);
        fputs(" evaluations; metrics.jsonl has all)", out);
    }
    fprintf(out, "</caption>\n<thead><tr><th scope=\"col\">%s</th>", x_name);
    for (int k = first; k < last; k++) {
        double largest = 0;

        for (int64_t i = 0; i < n; i++)
            largest = fmax(largest, fabs(c->curve[k]->y[i]));
        decimals[k] = wmi_html_decimals(largest);
        fputs("<th scope=\"col\">", out);
        wmi_html_text(c->curve[k]->name, out);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int64_t i = 0; i < shown; i++) {
        const int64_t j = pick(i, shown, n);

        fputs("<tr><th scope=\"row\">", out);
        put_step(c->curve[first]->x[j], out);
        fputs("</th>", out);
        for (int k = first; k < last; k++) {
            fputs("<td class=\"number\">", out);
            wmi_html_fixed(c->curve[k]->y[j], decimals[k], out);
            fputs("</td>", out);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n</table>\n</div>\n", out);
}

static void put_tables(const chart *c, const char *x_name, FILE *out)
{
    fputs("<details class=\"narrow\">\n<summary>Numbers of this chart</summary>\n", out);
    for (int first = 0, last; first < c->n; first = last) {
        for (last = first + 1; last < c->n && same_x(c->curve[first], c->curve[last]); last++) {
        }
        put_table(c, first, last, x_name, out);
    }
    fputs("</details>\n", out);
}

/* --- the section -------------------------------------------------------------------------------*/

static void put_charts(wmi_page *p, const wmi_curves *all)
{
    int charts = 0;

    fputs("<div class=\"charts\">\n", p->out);
    for (int i = 0; i < all->n && charts < SHOWN_CHARTS; i++) {
        chart c = {.n = 0};
        bool shown = false;

        for (int k = 0; k < i && !shown; k++)
            shown = strcmp(all->curve[k].chart, all->curve[i].chart) == 0;
        if (shown)
            continue;
        for (int k = i; k < all->n; k++)
            if (strcmp(all->curve[k].chart, all->curve[i].chart) == 0) {
                if (c.n < SHOWN_CURVES)
                    c.curve[c.n++] = &all->curve[k];
                else
                    c.more++;
            }
        charts++;
        fit_axes(&c);
        fputs("<figure>\n<figcaption><h3>", p->out);
        wmi_html_words(c.curve[0]->chart, p->out);
        fputs("</h3></figcaption>\n", p->out);
        put_chart(&c, all->x_name, p->out);
        if (c.more)
            fprintf(p->out, "<p class=\"note\">%d more curves are in metrics.jsonl.</p>\n", c.more);
        put_tables(&c, all->x_name, p->out);
        fputs("</figure>\n", p->out);
    }
    fputs("</div>\n", p->out);
}

wm_status wmi_page_training(wmi_page *p, wm_error *err)
{
    char *path = NULL, *text = NULL;
    wmi_curves *all = NULL;
    wm_error why = {0};
    size_t n = 0;
    wm_status st;

    if ((st = wmi_path_join(&path, p->folder, "metrics.jsonl", err)) ||
        (st = wmi_alloc(&all, 1, sizeof *all, "curves", err)))
        goto done;
    if (!wmi_file_exists(path))
        goto done;
    st = wmi_file_read(&text, &n, path, MAX_METRICS, &why);
    if (st == WM_ENOMEM) {
        if (err)
            *err = why;
        goto done;
    }
    if (!st && (n == 0 || (st = wmi_curves_read(all, text, n, err))))
        goto done;
    if (!st && !all->n && !all->bad)
        goto done;
    wmi_page_section(p, "training", "Training");
    if (st)
        wmi_page_problem(p, "%s", why.text);
    if (all->bad)
        wmi_page_problem(p, "metrics.jsonl: %" PRId64 " of %" PRId64 " lines are not JSON objects",
                         all->bad, all->bad + all->lines);
    if (all->n)
        put_charts(p, all);
    fputs("</section>\n", p->out);
    st = WM_OK;
done:
    if (all)
        wmi_curves_clear(all);
    wmi_free(all);
    wmi_free(text);
    wmi_free(path);
    return st;
}
