/* page_figure.c - the figures of a run in the page: each drawing taken apart into its panels, which
 * stand side by side where there is room, with its legend and its numbers as text. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/figure_plan.h"
#include "report/page_html.h"
#include "report/svg_inline.h"

enum { MAX_FIGURES = 100 };
#define MAX_SCRIPT (1 << 20)

/* What the figures of the estimators show; in this order they come first. */
static const char *const known[][2] = {
    {"bridges",
     "Each bridge is a classifier between two neighbouring waymarks. A loss near 0 means "
     "that it tells them apart too easily to learn their ratio; near 1.386 that it finds "
     "no difference."},
    {"grid",
     "Every bridge (row) on the held-out rows of every waymark (column). A bridge is trained "
     "on the two waymarks beside the diagonal; far from it, it extrapolates."},
    {"histograms",
     "Estimated log-ratios at held-out rows of p and of q. Their means are KL(p"
     "\xc2\xa0\xe2\x80\x96\xc2\xa0q) and \xe2\x88\x92KL(q\xc2\xa0\xe2\x80\x96\xc2\xa0p)."},
    {"weights", "How many rows have a weight beyond a value. A tail that falls slowly means that a "
                "few rows carry all of the weight."},
    {"waymarks", "Where the waymarks stand between p (\xce\xb1 = 0) and q (\xce\xb1 = 1)."},
    {"map", "The estimated log-ratio over the range of the data. Far from both samples it is "
            "extrapolated."},
    {"columns", "What each column contributes to the divergence, largest first."},
    {"density",
     "The log-density that was found, up to the normaliser, over the range of the rows that are "
     "drawn on it. Cells more than 10 nats below the highest share the darkest colour."},
};
#define N_KNOWN ((int)(sizeof known / sizeof *known))

/* --- finding them ------------------------------------------------------------------------------*/

typedef struct found {
    const char *name;
    bool svg, png, csv;
} found;

static int rank(const char *name)
{
    for (int i = 0; i < N_KNOWN; i++)
        if (strcmp(name, known[i][0]) == 0)
            return i;
    return N_KNOWN;
}

static int compare(const void *a, const void *b)
{
    const found *x = a, *y = b;
    const int order = rank(x->name) - rank(y->name);

    return order ? order : strcmp(x->name, y->name);
}

/* Notes folder/NAME.ext, if it is part of a figure. */
static wm_status note(wmi_page *p, found *list, int *n, const char *file, wm_error *err)
{
    const char *dot = strrchr(file, '.');
    const bool svg = dot && strcmp(dot, ".svg") == 0, png = dot && strcmp(dot, ".png") == 0,
               csv = dot && strcmp(dot, ".csv") == 0;
    char *name;
    int k = 0;

    if (!(svg || png || csv) || file[0] == '.' || strstr(file, WMI_TEMP_MARK))
        return WM_OK;
    if (!(name = wmi_arena_strdup(&p->arena, file, err)))
        return WM_ENOMEM;
    name[dot - file] = '\0';
    while (k < *n && strcmp(list[k].name, name) != 0)
        k++;
    if (k == MAX_FIGURES)
        return WM_OK;
    if (k == *n)
        list[(*n)++] = (found){.name = name};
    list[k].svg = list[k].svg || svg;
    list[k].png = list[k].png || png;
    list[k].csv = list[k].csv || csv;
    return WM_OK;
}

static wm_status list_figures(wmi_page *p, found *list, int *n, const char *folder, wm_error *err)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    wm_status st = WM_OK;

    *n = 0;
    if (!dir)
        return WM_OK; /* a run without figures */
    while (!st && (entry = readdir(dir)))
        st = note(p, list, n, entry->d_name, err);
    closedir(dir);
    qsort(list, (size_t)*n, sizeof *list, compare);
    return st;
}

/* --- one figure --------------------------------------------------------------------------------*/

typedef struct figure {
    const found *files;
    const char *folder; /* that of the figures */
    const char *title;
    int index; /* of the figure in the page */
    wmi_plan plan;
} figure;

static void put_label(const figure *f, int panel, FILE *out)
{
    const char *more = panel >= 0 ? f->plan.panel[panel].title : "";

    wmi_html_text(f->title, out);
    if (*more && strcmp(more, f->title) != 0) {
        fputs(": ", out);
        wmi_html_text(more, out);
    }
    fputs(f->files->csv ? ". The numbers follow as a table." : ".", out);
}

static void open_svg(const figure *f, int panel, double x, double y, double width, double height,
                     FILE *out)
{
    /* On a small screen a wide drawing has larger letters, see page_style.c. */
    fprintf(out,
            "<svg class=\"%s\" role=\"img\" viewBox=\"%g %g %g %g\" style=\"max-width:%gpx\" "
            "aria-label=\"",
            width > 520 ? "drawing wide" : "drawing", x, y, width, height, 1.15 * width);
    put_label(f, panel, out);
    fputs("\">", out);
}

/* The first panel holds the whole drawing and shows its own part, the others refer to it. */
static void put_drawing(const figure *f, const wmi_svg *svg, FILE *out)
{
    const wmi_plan *l = &f->plan;
    const int rows = l->n_panels ? (l->n_panels + l->columns - 1) / l->columns : 0;
    const bool apart = l->n_panels > 0 && fabs(l->columns * l->width - svg->width) < 1 &&
                       fabs(l->top + rows * l->height + l->legend - svg->height) < 1 &&
                       (l->legend == 0 || l->n_keys > 0);

    if (!apart) { /* too wide for a phone: it scrolls there by itself */
        if (svg->width > 700)
            fputs("<div class=\"scroll sheet\" role=\"region\" tabindex=\"0\" "
                  "aria-label=\"drawing\">\n",
                  out);
        open_svg(f, -1, svg->x, svg->y, svg->width, svg->height, out);
        fprintf(out, "%s</svg>\n%s", svg->body, svg->width > 700 ? "</div>\n" : "");
        return;
    }
    for (int k = 0; k < l->n_panels; k++) {
        open_svg(f, k, svg->x + k % l->columns * l->width,
                 svg->y + l->top + k / l->columns * l->height, l->width, l->height, out);
        if (k == 0)
            fprintf(out, "<g id=\"drawing-%d\">%s</g></svg>\n", f->index, svg->body);
        else
            fprintf(out, "<use href=\"#drawing-%d\"/></svg>\n", f->index);
    }
}

static void put_legend(const figure *f, FILE *out)
{
    if (!f->plan.n_keys)
        return;
    fputs("<ul class=\"legend\">\n", out);
    for (int k = 0; k < f->plan.n_keys; k++) {
        const char *colour = wmi_svg_theme(f->plan.key[k].colour), *style = f->plan.key[k].style;

        fputs("<li><svg class=\"key\" viewBox=\"0 0 30 14\" aria-hidden=\"true\" color=\"", out);
        if (colour)
            fputs(colour, out);
        else
            wmi_html_text(f->plan.key[k].colour, out);
        fputs("\">", out);
        if (strcmp(style, "none") != 0)
            fprintf(out, "<path d=\"M1 7H29\" stroke=\"currentColor\" stroke-width=\"2\"%s/>",
                    strcmp(style, "dashed") == 0   ? " stroke-dasharray=\"7 4\""
                    : strcmp(style, "dotted") == 0 ? " stroke-dasharray=\"2 2\""
                                                   : "");
        if (f->plan.key[k].point > 0 && f->plan.key[k].point <= 15)
            fprintf(out,
                    "<use href=\"#f%d-gpPt%d\" transform=\"translate(15 7) scale(4.2)\" "
                    "fill=\"none\"/>",
                    f->index, f->plan.key[k].point - 1);
        fputs("</svg>", out);
        wmi_html_text(f->plan.key[k].name, out);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}

static wm_status put_png(wmi_page *p, const figure *f, bool *drawn, wm_error *err)
{
    char *bytes = NULL;
    size_t n;
    wm_status st = wmi_page_read_png(p, &bytes, &n, f->folder, f->files->name, "figures/", err);

    if (st || !bytes)
        return st;
    fputs("<img src=\"", p->out);
    wmi_html_png(bytes, n, p->out);
    fputs("\" alt=\"", p->out);
    put_label(f, -1, p->out);
    fputs("\">\n", p->out);
    *drawn = true;
    wmi_free(bytes);
    return WM_OK;
}

static wm_status put_svg(wmi_page *p, const figure *f, bool *drawn, wm_error *err)
{
    char *text = NULL, prefix[24], file[300];
    wm_error why = {0};
    wmi_svg svg;
    size_t n;
    wm_status st =
        wmi_page_read(p, &text, &n, f->folder, f->files->name, ".svg", WMI_PAGE_PICTURE, true, err);

    if (st || !text)
        return st;
    snprintf(prefix, sizeof prefix, "f%d-", f->index);
    snprintf(file, sizeof file, "figures/%s.svg", f->files->name);
    st = wmi_svg_read(&svg, text, n, file, prefix, &why);
    wmi_free(text);
    if (st == WM_ENOMEM) {
        if (err)
            *err = why;
        return st;
    }
    if (st) {
        wmi_page_problem(p, "%s", why.text);
        return WM_OK;
    }
    fprintf(p->out, "<div class=\"panels%s\">\n", f->plan.columns == 3 ? " three" : "");
    put_drawing(f, &svg, p->out);
    fputs("</div>\n", p->out);
    put_legend(f, p->out);
    wmi_svg_clear(&svg);
    *drawn = true;
    return WM_OK;
}

/* The figure's title, or its file name as words. */
static wm_status read_plan(wmi_page *p, figure *f, wm_error *err)
{
    char *script = NULL, *words;
    size_t n;
    wm_status st =
        wmi_page_read(p, &script, &n, f->folder, f->files->name, ".gp", MAX_SCRIPT, false, err);

    if (!st)
        st = wmi_plan_read(&f->plan, script ? script : "", &p->arena, err);
    wmi_free(script);
    if (st)
        return st;
    f->title = f->plan.title;
    if (!*f->title) {
        if (!(words = wmi_arena_strdup(&p->arena, f->files->name, err)))
            return WM_ENOMEM;
        for (char *c = words; *c; c++)
            *c = *c == '-' || *c == '_' ? ' ' : *c;
        f->title = words;
    }
    return WM_OK;
}

static wm_status put_figure(wmi_page *p, const char *folder, const found *files, int index,
                            wm_error *err)
{
    figure f = {.files = files, .folder = folder, .index = index};
    bool drawn = false;
    const int about = rank(files->name);
    wm_status st;

    if ((st = read_plan(p, &f, err)))
        return st;
    fputs("<figure>\n<figcaption><h3>", p->out);
    wmi_html_text(f.title, p->out);
    fputs("</h3>", p->out);
    if (about < N_KNOWN)
        fprintf(p->out, "<p>%s</p>", known[about][1]);
    fputs("</figcaption>\n", p->out);
    if (files->svg && (st = put_svg(p, &f, &drawn, err)))
        return st;
    if (!drawn && files->png && (st = put_png(p, &f, &drawn, err)))
        return st;
    if (!files->svg && !files->png)
        fputs(
            "<p class=\"note\">This figure was not drawn: there was no gnuplot on the machine. Its "
            "numbers are here.</p>\n",
            p->out);
    if (files->csv &&
        (st = wmi_page_numbers(p, folder, files->name, "figures/", &f.plan, drawn, err)))
        return st;
    if (!files->csv)
        fputs("<p class=\"note\">The numbers of this figure are not in the run folder.</p>\n",
              p->out);
    fputs("</figure>\n", p->out);
    p->figures += drawn;
    return WM_OK;
}

wm_status wmi_page_figures(wmi_page *p, wm_error *err)
{
    found list[MAX_FIGURES];
    char *folder = NULL;
    int n;
    wm_status st;

    if ((st = wmi_path_join(&folder, p->folder, "figures", err)))
        return st;
    if (!(st = list_figures(p, list, &n, folder, err)) && n > 0) {
        wmi_page_section(p, "figures", "Figures");
        for (int i = 0; i < n && !st; i++)
            st = put_figure(p, folder, &list[i], i + 1, err);
        fputs("</section>\n", p->out);
    }
    wmi_free(folder);
    return st;
}
