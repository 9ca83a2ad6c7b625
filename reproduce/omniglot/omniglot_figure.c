/* omniglot_figure.c - mutual information and accuracy of the probes against d (paper, figure 4). */
#include "omniglot.h"

#include <math.h>
#include <stdio.h>

const omniglot_others omniglot_cited[OMNIGLOT_CITED] = {
    {"WPC", {1.000, 0.989, 0.794}},
    {"CPC", {0.986, 0.976, 0.674}},
    {"WPC, MLP", {0.980, 0.919, 0.581}},
    {"CPC, MLP", {0.964, 0.467, 0.135}},
};

/* The paper gives its own accuracies as a bound. */
static const double paper_accuracy = 0.97;

static const double ticks[OMNIGLOT_SIDES] = {1, 4, 9};
static const char *const names[OMNIGLOT_METHODS] = {"TRE", "single ratio", "InfoNCE"};
static const wm_colour colours[OMNIGLOT_METHODS] = {WM_COLOUR_VERMILION, WM_COLOUR_BLUE,
                                                    WM_COLOUR_GREEN};
static const wm_colour cited_colours[OMNIGLOT_CITED] = {WM_COLOUR_PURPLE, WM_COLOUR_ORANGE,
                                                        WM_COLOUR_GREY, WM_COLOUR_SKY};

/* A number over d, with its interval. */
typedef struct curve {
    int64_t n;
    double x[OMNIGLOT_SIDES], y[OMNIGLOT_SIDES], lo[OMNIGLOT_SIDES], hi[OMNIGLOT_SIDES];
} curve;

static void add_point(curve *c, const omniglot_job *job, double y, double lo, double hi)
{
    if (c->n == OMNIGLOT_SIDES)
        return;
    c->x[c->n] = (double)(job->side * job->side);
    c->y[c->n] = y;
    c->lo[c->n] = lo;
    c->hi[c->n++] = hi;
}

static void add_share(curve *c, const omniglot_job *job, wm_share s)
{
    if (s.n > 0)
        add_point(c, job, s.value, s.lo, s.hi);
}

static void add_series(wm_panel *panel, const curve *c, const char *name, wm_colour colour,
                       bool dashed)
{
    if (c->n)
        WM_PLOT(panel, c->n, c->x, c->y, name, .mark = WM_MARK_ERROR_BARS, .colour = colour,
                .dashed = dashed, .lo = c->lo, .hi = c->hi);
}

static void information(wm_figure *f, const omniglot_job *jobs, const omniglot_outcome *o, int n)
{
    wm_panel *panel = wm_figure_panel(f, "Mutual information");
    curve truth = {0}, most = {0};
    double least = 0;

    wm_panel_axes(panel, "d, characters in a grid", "estimate (nats)", 0);
    wm_panel_legend(panel, WM_LEGEND_TOP_LEFT);
    wm_panel_x_ticks(panel, ticks, NULL, OMNIGLOT_SIDES);
    wm_panel_x_range(panel, 0.5, 9.5);
    for (int i = 0; i < n; i++) {
        least = fmin(least, o[i].mi.lo);
        if (!i || jobs[i].side != jobs[i - 1].side)
            add_point(&truth, &jobs[i], o[i].truth, o[i].truth, o[i].truth);
        if (jobs[i].method == OMNIGLOT_INFONCE) {
            const double bound = log((double)o[i].info.batch_pairs);

            add_point(&most, &jobs[i], bound, bound, bound);
        }
    }
    wm_panel_y_range(panel, least < 0 ? NAN : 0, NAN);
    WM_PLOT(panel, truth.n, truth.x, truth.y, "truth", .mark = WM_MARK_LINE_POINTS,
            .colour = WM_COLOUR_BLACK, .dashed = true);
    for (int m = 0; m < OMNIGLOT_METHODS; m++) {
        curve c = {0};

        for (int i = 0; i < n; i++)
            if ((int)jobs[i].method == m)
                add_point(&c, &jobs[i], o[i].mi.value, o[i].mi.lo, o[i].mi.hi);
        add_series(panel, &c, names[m], colours[m], false);
    }
    if (most.n)
        WM_PLOT(panel, most.n, most.x, most.y, "most InfoNCE can say", .mark = WM_MARK_LINE,
                .colour = WM_COLOUR_GREEN, .dashed = true);
}

static void accuracy(wm_figure *f, const omniglot_job *jobs, const omniglot_outcome *o, int n,
                     const char *note)
{
    wm_panel *panel = wm_figure_panel(f, "Characters read off g(u) by linear probes");
    curve unseen = {0};

    wm_panel_axes(panel, "d, characters in a grid", "test accuracy", 0);
    wm_panel_legend(panel, WM_LEGEND_RIGHT);
    wm_panel_x_ticks(panel, ticks, NULL, OMNIGLOT_SIDES);
    wm_panel_x_range(panel, 0.5, 9.5);
    wm_panel_y_range(panel, 0, 1.02);
    for (int m = 0; m < OMNIGLOT_METHODS; m++) {
        curve c = {0};

        for (int i = 0; i < n; i++)
            if ((int)jobs[i].method == m)
                add_share(&c, &jobs[i], o[i].probe);
        add_series(panel, &c, names[m], colours[m], false);
    }
    for (int i = 0; i < n; i++)
        if (jobs[i].method == OMNIGLOT_TRE)
            add_share(&unseen, &jobs[i], o[i].probe_unseen);
    add_series(panel, &unseen, "TRE, unseen drawings", WM_COLOUR_BLACK, false);
    for (int c = 0; c < OMNIGLOT_CITED; c++) {
        char name[64];

        snprintf(name, sizeof name, "%s (%s)", omniglot_cited[c].name, note);
        WM_PLOT(panel, OMNIGLOT_SIDES, ticks, omniglot_cited[c].accuracy, name,
                .mark = WM_MARK_LINE_POINTS, .colour = cited_colours[c], .dashed = true);
    }
    wm_panel_y_line(panel, paper_accuracy, "TRE in the paper: above");
}

void omniglot_figure(reproduce_result *out, const omniglot_job *jobs,
                     const omniglot_outcome *outcomes, int n, const char *note)
{
    wm_figure *f = reproduce_figure(out, "omniglot", "Pairs of grids of characters");

    wm_figure_panel_size(f, 720, 460);
    information(f, jobs, outcomes, n);
    accuracy(f, jobs, outcomes, n, note);
}
