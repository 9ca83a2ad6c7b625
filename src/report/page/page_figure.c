/* page_figure.c - the figures of a run in the page: each drawing taken apart into its panels, which
 * stand side by side where there is room, with its legend and its numbers as text. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/figure/plot_layout.h"
#include "report/page/page_html.h"
#include "report/page/svg_inline.h"

enum { MAX_FIGURES = 100 };

/* What the figures of the estimators show; in this order they come first. */
static const char *const known[][2] = {
    {"bridges",
     "Each bridge is a classifier between two neighbouring waymarks. A loss near 0 means "
     "that it tells them apart too easily to learn their ratio; near 1.386 that it finds "
     "no difference."},
    {"grid",
     "Every bridge (row) on the held-out rows of every waymark (column). A bridge is trained "
     "on the two waymarks beside the diagonal; far from it, it extrapolates."},
    {"histograms", "Estimated log-ratios at held-out rows of p and of q. Their means are KL(p"
                   "\xc2\xa0\xe2\x80\x96\xc2\xa0q) and "
                   "\xe2\x88\x92KL(q\xc2\xa0\xe2\x80\x96\xc2\xa0p); those of additive "
                   "models are corrected, and near the means."},
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
    bool svg, png, csv, json;
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

/* Where the ending of a file is noted, or NULL if the file is no part of a figure. */
static bool *part(found *f, const char *ending)
{
    return strcmp(ending, ".svg") == 0    ? &f->svg
           : strcmp(ending, ".png") == 0  ? &f->png
           : strcmp(ending, ".csv") == 0  ? &f->csv
           : strcmp(ending, ".json") == 0 ? &f->json
                                          : NULL;
}

static wm_status note(wmi_page *p, found *list, int *n, const char *file, wm_error *err)
{
    const char *dot = strrchr(file, '.');
    char *name;
    int k = 0;

    if (!dot || !part(&(found){0}, dot) || file[0] == '.' || strstr(file, WMI_TEMP_MARK))
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
    *part(&list[k], dot) = true;
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
    int index;        /* of the figure in the page */
    wm_figure *whole; /* as NAME.json describes it, or NULL */
    wmi_plot_layout layout;
} figure;

/* A text in place of the drawing; panel is NULL for all of it. */
static void put_label(const figure *f, const wm_panel *panel, FILE *out)
{
    const char *more = panel ? panel->title : "";

    wmi_html_text(f->title, out);
    if (*more && strcmp(more, f->title) != 0) {
        fputs(": ", out);
        wmi_html_text(more, out);
    }
    fputs(f->whole || f->files->csv ? ". The numbers follow as a table." : ".", out);
}

static void open_svg(const figure *f, const wm_panel *panel, double x, double y, double width,
                     double height, FILE *out)
{
    /* On a small screen a wide drawing has larger letters, see page_style.c. */
    fprintf(out,
            "<svg class=\"%s\" role=\"img\" viewBox=\"%g %g %g %g\" style=\"max-width:%gpx\" "
            "aria-label=\"",
            width > 520 ? "drawing wide" : "drawing", x, y, width, height, 1.15 * width);
    put_label(f, panel, out);
    fputs("\">", out);
}

/* Whether the drawing can be shown panel by panel: it is the one that NAME.json describes, not one
 * that somebody changed. */
static bool comes_apart(const figure *f, const wmi_svg *svg)
{
    return f->whole && fabs(f->layout.total_width - svg->width) < 1 &&
           fabs(f->layout.total_height - svg->height) < 1;
}

static void put_whole_drawing(const figure *f, const wmi_svg *svg, FILE *out)
{
    const bool scrolls = svg->width > 700; /* too wide for a phone: it scrolls there by itself */

    if (scrolls)
        wmi_html_sheet("drawing", out);
    open_svg(f, NULL, svg->x, svg->y, svg->width, svg->height, out);
    fprintf(out, "%s</svg>\n%s", svg->body, scrolls ? "</div>\n" : "");
}

/* The first panel holds the whole drawing and shows its own part, the others refer to it. */
static void put_panels(const figure *f, const wmi_svg *svg, FILE *out)
{
    const wmi_plot_layout *l = &f->layout;
    int k = 0;

    for (const wm_panel *p = f->whole->panels; p; p = p->next, k++) {
        open_svg(f, p, svg->x + k % l->columns * l->width,
                 svg->y + l->title + k / l->columns * l->height, l->width, l->height, out);
        if (k == 0)
            fprintf(out, "<g id=\"drawing-%d\">%s</g></svg>\n", f->index, svg->body);
        else
            fprintf(out, "<use href=\"#drawing-%d\"/></svg>\n", f->index);
    }
}

/* An entry of the legend: a piece of line, dashed or not (NULL: none), and a point of that type (0:
 * none). */
static void put_key(const figure *f, const char *name, const char *colour, const char *dashes,
                    int point, FILE *out)
{
    const char *theme = wmi_svg_theme(colour);

    if (!*name)
        return;
    fprintf(out, "<li><svg class=\"key\" viewBox=\"0 0 30 14\" aria-hidden=\"true\" color=\"%s\">",
            theme ? theme : colour);
    if (dashes)
        fprintf(out, "<path d=\"M1 7H29\" stroke=\"currentColor\" stroke-width=\"2\"%s/>", dashes);
    if (point)
        fprintf(out,
                "<use href=\"#f%d-gpPt%d\" transform=\"translate(15 7) scale(4.2)\" "
                "fill=\"none\"/>",
                f->index, point - 1);
    fputs("</svg>", out);
    wmi_html_text(name, out);
    fputs("</li>\n", out);
}

/* The legend that all panels share, which the cutting left out. */
static void put_legend(const figure *f, FILE *out)
{
    const wm_panel *p = f->whole->panels;

    if (!f->layout.shared)
        return;
    fputs("<ul class=\"legend\">\n", out);
    for (const wmi_series *s = p->series; s; s = s->next)
        put_key(f, s->name, wmi_colour_code(s->colour),
                s->mark == WM_MARK_POINTS ? NULL
                : s->dashed               ? " stroke-dasharray=\"7 4\""
                                          : "",
                wmi_series_point(s), out);
    for (const wmi_reference *r = p->references; r; r = r->next)
        put_key(f, r->label, "#555555", " stroke-dasharray=\"2 2\"", 0, out);
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
    put_label(f, NULL, p->out);
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
    bool apart;
    wm_status st =
        wmi_page_read(p, &text, &n, f->folder, f->files->name, ".svg", WMI_PAGE_PICTURE, true, err);

    if (st || !text)
        return st;
    snprintf(prefix, sizeof prefix, "f%d-", f->index);
    snprintf(file, sizeof file, "figures/%s.svg", f->files->name);
    st = wmi_svg_read(&svg, text, n, file, prefix, &why);
    wmi_free(text);
    if (st)
        return wmi_page_judge(p, st, &why, true, err);
    apart = comes_apart(f, &svg);
    fprintf(p->out, "<div class=\"panels%s\">\n", apart && f->layout.columns == 3 ? " three" : "");
    (apart ? put_panels : put_whole_drawing)(f, &svg, p->out);
    fputs("</div>\n", p->out);
    if (apart)
        put_legend(f, p->out);
    wmi_svg_clear(&svg);
    *drawn = true;
    return WM_OK;
}

static wm_status read_description(wmi_page *p, figure *f, wm_error *err)
{
    char *text = NULL, file[300];
    wm_error why = {0};
    size_t n;
    wm_status st = wmi_page_read(p, &text, &n, f->folder, f->files->name, ".json", WMI_PAGE_PICTURE,
                                 true, err);

    if (st || !text)
        return st;
    snprintf(file, sizeof file, "figures/%s.json", f->files->name);
    st = wmi_figure_read(&f->whole, text, n, file, &why);
    wmi_free(text);
    if (st)
        return wmi_page_judge(p, st, &why, true, err);
    f->layout = wmi_figure_layout(f->whole);
    return WM_OK;
}

/* The figure's title, or its file name as words. */
static wm_status find_title(wmi_page *p, figure *f, wm_error *err)
{
    char *words;

    if (f->whole && *f->whole->title) {
        f->title = f->whole->title;
        return WM_OK;
    }
    if (!(words = wmi_arena_strdup(&p->arena, f->files->name, err)))
        return WM_ENOMEM;
    for (char *c = words; *c; c++)
        *c = *c == '-' || *c == '_' ? ' ' : *c;
    f->title = words;
    return WM_OK;
}

static wm_status put_numbers(wmi_page *p, const figure *f, bool drawn, wm_error *err)
{
    char file[300];

    snprintf(file, sizeof file, "figures/%s.%s", f->files->name, f->files->csv ? "csv" : "json");
    if (f->whole)
        return wmi_page_figure_numbers(p, f->whole, file, drawn, err);
    if (f->files->csv)
        return wmi_page_csv(p, f->folder, f->files->name, "figures/", "", drawn, err);
    wmi_html_no_numbers(p->out);
    return WM_OK;
}

static wm_status put_content(wmi_page *p, const figure *f, wm_error *err)
{
    const found *files = f->files;
    const int about = rank(files->name);
    bool drawn = false;
    wm_status st;

    wmi_html_figure(f->title, about < N_KNOWN ? known[about][1] : "", p->out);
    if (files->svg && (st = put_svg(p, f, &drawn, err)))
        return st;
    if (!drawn && files->png && (st = put_png(p, f, &drawn, err)))
        return st;
    if (!files->svg && !files->png)
        fputs(
            "<p class=\"note\">This figure was not drawn: there was no gnuplot on the machine. Its "
            "numbers are here.</p>\n",
            p->out);
    if ((st = put_numbers(p, f, drawn, err)))
        return st;
    fputs("</figure>\n", p->out);
    p->figures += drawn;
    return WM_OK;
}

static wm_status put_figure(wmi_page *p, const char *folder, const found *files, int index,
                            wm_error *err)
{
    figure f = {.files = files, .folder = folder, .index = index};
    wm_status st = WM_OK;

    if (files->json)
        st = read_description(p, &f, err);
    if (!st && !(st = find_title(p, &f, err)))
        st = put_content(p, &f, err);
    wm_figure_free(f.whole);
    return st;
}

/* Runs of older versions left no descriptions. */
static void note_missing(const found *list, int n, FILE *out)
{
    int missing = 0;

    for (int i = 0; i < n; i++)
        missing += (list[i].svg || list[i].png) && !list[i].json;
    if (missing)
        fprintf(out,
                "<p class=\"note\">%d of %d figures have no description (a .json file) in the run "
                "folder, as an older version left them: each is shown whole, as it was "
                "drawn.</p>\n",
                missing, n);
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
        note_missing(list, n, p->out);
        for (int i = 0; i < n && !st; i++)
            st = put_figure(p, folder, &list[i], i + 1, err);
        fputs("</section>\n", p->out);
    }
    wmi_free(folder);
    return st;
}
