/* plot_grid.c - the part of a gnuplot script that draws a grid: coloured cells, their values as
 * text, contour lines, the colour bar. */
#include <inttypes.h>
#include <math.h>

#include "report/figure/figure.h"
#include "report/text.h"

/* Cells up to this many are drawn as rectangles, which stay sharp at any size; more as one image,
 * which is far smaller. */
#define MAX_RECTANGLES 1200

/* Half the width of a cell, which overlaps the next by a hair: no seams. */
static double half(double from, double to, int64_t n)
{
    return n > 1 ? 0.502 * fabs(to - from) / (double)(n - 1) : 0.5;
}

static bool has_values(const wmi_grid *g)
{
    for (int64_t i = 0; i < g->g.nx * g->g.ny; i++)
        if (isfinite(g->g.z[i]))
            return true;
    return false;
}

static bool has_contours(const wmi_grid *g)
{
    return g && g->g.n_contours && g->g.nx > 1 && g->g.ny > 1 && g->whole;
}

void wmi_grid_prepare(const wm_panel *p, int k, FILE *out)
{
    const wmi_grid *g = p->grid;
    char number[WMI_REAL_TEXT];

    if (!has_contours(g))
        return;
    fputs("set contour base; unset surface; set cntrparam levels discrete ", out);
    for (int64_t i = 0; i < g->g.n_contours; i++)
        fprintf(out, "%s%s", i ? ", " : "", wmi_real_text(number, g->g.contours[i]));
    fprintf(out,
            "\nset table $contours%d\n"
            "splot csv skip 1 index %" PRId64 " using 3:4:7\n"
            "unset table; unset contour; set surface\n",
            k, g->index);
}

void wmi_grid_palette(const wm_panel *p, double left, double bottom, double width, double height,
                      FILE *out)
{
    char number[WMI_REAL_TEXT];

    if (!p->grid) {
        fputs("unset colorbox\n", out);
        return;
    }
    if (p->grid->g.scale == WM_COLOURS_DIVERGING)
        fputs("set palette defined (0 '#0B3C73', 1 '#2F79B5', 2 '#A6CDE3', 3 '#F6F6F4', "
              "4 '#F7B799', 5 '#D3513F', 6 '#7F0F24')\n",
              out);
    else
        fputs("set palette defined (0 '#440154', 1 '#414487', 2 '#2A788E', 3 '#22A884', "
              "4 '#7AD151', 5 '#FDE725')\n",
              out);
    fprintf(out, "set cbrange [%s:", wmi_real_text(number, p->grid->lo));
    fprintf(out, "%s]\nset cblabel ", wmi_real_text(number, p->grid->hi));
    wmi_gnuplot_text(p->grid->g.name, out);
    fprintf(out,
            " noenhanced offset 0.8,0\nset format cb '%%g'\nset cbtics autofreq scale 0.4\n"
            "set colorbox vertical user origin screen %.4f, screen %.4f size screen %.4f, screen "
            "%.4f noborder\n",
            left, bottom, width, height);
}

void wmi_grid_cells(const wm_panel *p, FILE *out)
{
    const wmi_grid *g = p->grid;
    char w[WMI_REAL_TEXT], h[WMI_REAL_TEXT];

    if (!has_values(g)) { /* gnuplot would complain */
        fputs("NaN notitle", out);
        return;
    }
    if (g->whole && g->g.nx > 1 && g->g.ny > 1) {
        fprintf(out, "csv skip 1 index %" PRId64 " using 3:4:7 with image%s notitle", g->index,
                g->g.nx * g->g.ny <= MAX_RECTANGLES ? " pixels" : "");
        return;
    }
    /* gnuplot's images have no empty cells and at least two by two, so these are boxes. */
    wmi_real_text(w, half(g->g.x_from, g->g.x_to, g->g.nx));
    wmi_real_text(h, half(g->g.y_from, g->g.y_to, g->g.ny));
    fprintf(out,
            "csv skip 1 index %" PRId64 " using 3:4:($3 - %s):($3 + %s):($4 - %s):($4 + %s):7 with "
            "boxxyerror fill solid noborder lc palette notitle",
            g->index, w, w, h, h);
}

/* Letters of the longest label in a cell. */
static int label_letters(const wm_heat_map *g)
{
    int most = 0;

    for (int64_t i = 0; i < g->nx * g->ny; i++) {
        const int n = isfinite(g->z[i]) ? snprintf(NULL, 0, "%.*f", g->digits, g->z[i]) : 0;

        most = n > most ? n : most;
    }
    return most;
}

/* White on dark cells, black on light ones. Neither is quite white or black: a page that turns the
 * figure's own black and white into those of its theme must leave these alone. */
static void put_labels(const wmi_grid *g, double font, FILE *out)
{
    char lo[WMI_REAL_TEXT], hi[WMI_REAL_TEXT];
    const bool diverging = g->g.scale == WM_COLOURS_DIVERGING;

    fprintf(out,
            ", \\\n     csv skip 1 index %" PRId64 " using 3:4:(sprintf('%%.%df', $7)):"
            "(t = ($7 - (%s)) / ((%s) - (%s)), %s ? 0xfdfdfd : 0x111111) with labels font ',%.1f' "
            "textcolor rgb variable notitle",
            g->index, g->g.digits, wmi_real_text(lo, g->lo), wmi_real_text(hi, g->hi), lo,
            diverging ? "abs(t - 0.5) > 0.3" : "t < 0.55", font);
}

void wmi_grid_overlay(const wm_panel *p, int k, double cell_width, double cell_height, FILE *out)
{
    const wmi_grid *g = p->grid;

    if (has_contours(g)) /* its lines are spaced, not comma-ed */
        fprintf(out,
                ", \\\n     $contours%d using (real(word(strcol(1), 1))):(real(word(strcol(1), 2)))"
                " with lines lc rgb '#111111' lw 1.5 notitle",
                k);
    if (g->g.labels) {
        const int letters = label_letters(&g->g);
        const double fit =
            letters ? fmin(cell_width / (0.62 * letters + 0.8), cell_height / 1.4) : 0;

        if (fit >= 7) /* smaller ones cannot be read */
            put_labels(g, fmin(fit, 12), out);
    }
}
