/* peaked_figures.c - figures like the paper's 1 and 2 and the appendix's 7 to 9: densities and loss
 * curves, error against sample size; and error against the spacing. */
#include "peaked.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CURVE = 301, DENSITY = 401 }; /* points of a line */

static const char *const titles[PEAKED_LOSSES] = {"Logistic loss", "NWJ loss",
                                                  "Least-squares loss"};

static void upright(wm_panel *panel, const char *name, wm_colour colour, double x, double lo,
                    double hi)
{
    const double xs[] = {x, x}, ys[] = {lo, hi};

    WM_PLOT(panel, 2, xs, ys, name, .colour = colour, .dashed = true);
}

/* Densities and ratio on log-log axes, as the left of the paper's figure 1. */
static void density_panel(wm_figure *figure)
{
    wm_panel *panel = wm_figure_panel(figure, "Densities and ratio");
    double x[DENSITY], p[DENSITY], q[DENSITY], r[DENSITY];

    for (int i = 0; i < DENSITY; i++) {
        const double v = 0.5 * 1.8378770664093453; /* log(2 pi) / 2 */
        double z;

        x[i] = pow(10, -8 + 9.0 * i / (DENSITY - 1)); /* 1e-8 .. 10 */
        z = x[i] / PEAKED_SD0;
        p[i] = exp(-v - log(PEAKED_SD0) - 0.5 * z * z);
        q[i] = exp(-v - 0.5 * x[i] * x[i]);
        r[i] = exp(-log(PEAKED_SD0) - 0.5 * (z * z - x[i] * x[i]));
    }
    wm_panel_axes(panel, "x", "density", WM_LOG_X | WM_LOG_Y);
    wm_panel_y_range(panel, 1e-12, 1e8);
    WM_PLOT(panel, DENSITY, x, p, "p", .colour = WM_COLOUR_BLUE);
    WM_PLOT(panel, DENSITY, x, q, "q", .colour = WM_COLOUR_ORANGE);
    WM_PLOT(panel, DENSITY, x, r, "p / q", .colour = WM_COLOUR_GREEN, .dashed = true);
    wm_panel_legend(panel, WM_LEGEND_BOTTOM_LEFT);
}

/* The loss of one bridge over theta, with its minimiser and the truth. Losses grow without bound on
 * both sides; shown is what lies up to a little above chance, log r = 0. */
static void curve_panel(wm_figure *figure, const char *title, peaked_loss loss,
                        const peaked_bridge *b, double from, double to, double truth, double found,
                        double telescope)
{
    wm_panel *panel = wm_figure_panel(figure, title);
    const double floor_at = peaked_loss_at(loss, b, found);
    const double chance = loss == PEAKED_LOGISTIC ? 2 * log(2) : loss == PEAKED_NWJ ? 0 : 0.25;
    const double high = chance + 0.35 * (chance - floor_at);
    const double low = floor_at - 0.06 * (high - floor_at);
    double x[CURVE], y[CURVE];

    for (int i = 0; i < CURVE; i++) {
        x[i] = from + (to - from) * i / (CURVE - 1);
        y[i] = peaked_loss_at(loss, b, x[i]);
        if (y[i] > high + (high - low)) /* far outside: keep the line's direction, not its end */
            y[i] = high + (high - low);
    }
    wm_panel_axes(panel, "theta", "loss", 0);
    wm_panel_x_range(panel, from, to);
    wm_panel_y_range(panel, low, high);
    WM_PLOT(panel, CURVE, x, y, "finite-sample loss", .colour = WM_COLOUR_BLUE);
    upright(panel, "true theta", WM_COLOUR_BLACK, truth, low, high);
    upright(panel, "minimiser", WM_COLOUR_SKY, found, low, high);
    if (isfinite(telescope))
        upright(panel, "telescope", WM_COLOUR_VERMILION, telescope, low, high);
    else
        wm_panel_legend(panel, WM_LEGEND_NONE); /* a bridge: one legend serves all */
}

/* Figure 1 for one loss: densities, the single ratio's loss, and those of four bridges. */
static wm_status curves(reproduce_result *out, peaked_loss loss, int64_t n, uint64_t seed,
                        wm_error *err)
{
    peaked_chain single, chain;
    double *u1 = malloc((size_t)(2 * n) * sizeof *u1);
    double *u4 = malloc((size_t)((PEAKED_BRIDGES + 1) * n) * sizeof *u4);
    double found, theta[PEAKED_BRIDGES], truth;
    char name[48], title[96];
    peaked_bridge b;
    wm_figure *figure;
    wm_status st = WM_ENOMEM;

    if (!u1 || !u4 || (st = peaked_chain_make(&single, 0, err)) ||
        (st = peaked_chain_make(&chain, 7, err)) ||
        (st = peaked_squares(&single, seed, n, 0, u1, err)) ||
        (st = peaked_squares(&chain, seed, n, 0, u4, err)))
        goto done;
    for (int64_t k = 0; k < PEAKED_BRIDGES; k++) {
        b = peaked_bridge_of(&chain, u4, n, k);
        if ((st = peaked_minimise(&theta[k], loss, &b, err)))
            goto done;
    }
    b = peaked_bridge_of(&single, u1, n, 0);
    if ((st = peaked_minimise(&found, loss, &b, err)))
        goto done;
    snprintf(name, sizeof name, "ratio-%s", peaked_loss_names[loss]);
    snprintf(title, sizeof title, "%s, %" PRId64 " samples", titles[loss], n);
    figure = reproduce_figure(out, name, title);
    wm_figure_columns(figure, 3);
    density_panel(figure);
    truth = peaked_true_theta(&single, 0);
    curve_panel(figure, "Single ratio p / q", loss, &b, 0.3 * truth, 1.5 * truth, truth, found,
                peaked_combine(theta, PEAKED_BRIDGES));
    for (int64_t k = 0; k < PEAKED_BRIDGES; k++) {
        static const char *const bridge_titles[] = {"Bridge p / p1", "Bridge p1 / p2",
                                                    "Bridge p2 / p3", "Bridge p3 / q"};
        const double t = peaked_true_theta(&chain, k);

        b = peaked_bridge_of(&chain, u4, n, k);
        curve_panel(figure, bridge_titles[k], loss, &b, t - 4, t + 3, t, theta[k], NAN);
    }
done:
    free(u1);
    free(u4);
    return st;
}

/* One line with bars of two standard errors. */
static void efficiency_line(wm_panel *panel, const char *name, wm_colour colour,
                            const peaked_results *r, const peaked_cell *cells)
{
    double x[PEAKED_MAX_SIZES], y[PEAKED_MAX_SIZES], lo[PEAKED_MAX_SIZES], hi[PEAKED_MAX_SIZES];

    for (int64_t s = 0; s < r->n_sizes; s++) {
        const double bar = 2 * cells[s].sd / sqrt((double)r->repeats[s]);

        x[s] = (double)r->sizes[s];
        y[s] = cells[s].mean;
        lo[s] = fmax(y[s] - bar, 0.2 * y[s]); /* the axis is logarithmic */
        hi[s] = y[s] + bar;
    }
    WM_PLOT(panel, r->n_sizes, x, y, name, .mark = WM_MARK_ERROR_BARS, .colour = colour, .lo = lo,
            .hi = hi);
}

/* Figure 2 and the appendix's: error against sample size. */
static void efficiency(reproduce_result *out, const peaked_results *r)
{
    wm_figure *figure = reproduce_figure(
        out, "efficiency", "Sample efficiency: mean error of theta, bars of 2 standard errors");

    for (int loss = 0; loss < PEAKED_LOSSES; loss++) {
        wm_panel *panel = wm_figure_panel(figure, titles[loss]);
        peaked_cell single[PEAKED_MAX_SIZES], tre[PEAKED_MAX_SIZES];

        for (int64_t s = 0; s < r->n_sizes; s++) {
            single[s] = r->cell[loss][s][0];
            tre[s] = r->cell[loss][s][7];
        }
        wm_panel_axes(panel, "samples", "|theta* - theta|", WM_LOG_X | WM_LOG_Y);
        efficiency_line(panel, "single ratio", WM_COLOUR_BLUE, r, single);
        efficiency_line(panel, "telescope, p = 7", WM_COLOUR_VERMILION, r, tre);
        efficiency_line(panel, "telescope, p held out", WM_COLOUR_ORANGE, r, r->held_out[loss]);
    }
}

static void spacing(reproduce_result *out, const peaked_results *r)
{
    wm_figure *figure = reproduce_figure(
        out, "spacing", "Spacing: mean error of theta against p, alpha_k = (k / 4)^p");

    for (int loss = 0; loss < PEAKED_LOSSES; loss++) {
        wm_panel *panel = wm_figure_panel(figure, titles[loss]);

        wm_panel_axes(panel, "p", "|theta* - theta|", WM_LOG_Y);
        for (int64_t s = 0; s < r->n_sizes; s++) {
            double x[PEAKED_POWERS], y[PEAKED_POWERS];
            char name[32];

            for (int p = 1; p <= PEAKED_POWERS; p++) {
                x[p - 1] = p;
                y[p - 1] = r->cell[loss][s][p].mean;
            }
            snprintf(name, sizeof name, "n = %" PRId64, r->sizes[s]);
            WM_PLOT(panel, PEAKED_POWERS, x, y, name, .mark = WM_MARK_LINE_POINTS);
        }
    }
}

wm_status peaked_figures(reproduce_result *out, const peaked_results *r, int64_t n, uint64_t seed,
                         wm_error *err)
{
    wm_status st;

    for (int loss = 0; loss < PEAKED_LOSSES; loss++)
        if ((st = curves(out, (peaked_loss)loss, n, seed, err)))
            return st;
    efficiency(out, r);
    spacing(out, r);
    return WM_OK;
}
