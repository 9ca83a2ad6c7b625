/* cmd_demo.c - why the telescope: 20 nats of mutual information in 80 dimensions, by one ratio and
 * by four bridges with the same model, samples and number of steps. Needs nothing but the binary.
 */
#include <math.h>
#include <stdio.h>

#include "frame/commands.h"
#include "reproduce/gaussian/gaussian.h"

enum { N_ROWS = 3, DIM = 80, BRIDGES = 4 };

static const double TRUTH = 20; /* nats */

typedef struct demo_row {
    const char *label, *file;
    gaussian_job job;
    gaussian_outcome got;
} demo_row;

static void set_rows(demo_row row[N_ROWS])
{
    const gaussian_job telescope = {
        .method = GAUSSIAN_TRE,
        .model = WM_RATIO_QUADRATIC,
        .form = WM_FORM_FREE,
        .objective = WM_OBJECTIVE_LOGISTIC,
        .dim = DIM,
        .bridges = BRIDGES,
        .n = 100000,
        .mi = TRUTH,
        .adam = WM_ADAM(6000, 1024, 1e-3, 0.999),
    };

    row[0] = (demo_row){.label = "one ratio", .file = "single", .job = telescope};
    row[0].job.method = GAUSSIAN_SINGLE;
    row[0].job.bridges = 1;
    row[1] = (demo_row){.label = "telescope", .file = "telescope", .job = telescope};
    row[2] = (demo_row){.label = "telescope, convex", .file = "convex", .job = telescope};
    row[2].job.method = GAUSSIAN_CONVEX;
}

static void add_row(wm_summary *summary, const demo_row *r)
{
    WM_PUT(wm_summary_row(summary, "rows"), WM_TEXT("method", gaussian_method_names[r->job.method]),
           WM_INTEGER("dim", r->job.dim), WM_INTEGER("bridges", r->job.bridges),
           WM_REAL("mi", r->got.mi), WM_REAL("mi_se", r->got.mi_se), WM_REAL("truth", r->job.mi),
           WM_REAL("seconds", r->got.seconds));
}

static wm_status print_table(const demo_row *rows, wm_error *err)
{
    wm_text_table *t = wm_text_table_new("20 nats of mutual information in 80 dimensions",
                                         "<method|bridges|estimate (nats)|error|seconds");

    for (int i = 0; i < N_ROWS; i++) {
        const double error = 100 * (rows[i].got.mi - TRUTH) / TRUTH;
        char text[32];

        snprintf(text, sizeof text, "%+.1f %%", error);
        WM_ROW(t, WM_CELL_TEXT(rows[i].label), WM_CELL_INTEGER(rows[i].job.bridges),
               WM_CELL_SE(rows[i].got.mi, rows[i].got.mi_se, 2), WM_CELL_TEXT(text));
        wm_text_table_tone(t, fabs(error) <= 5 ? WM_TONE_GOOD : WM_TONE_BAD);
        WM_ROW(t, WM_CELL_REAL(rows[i].got.seconds, 1));
    }
    return wm_text_table_finish(t, stdout, err);
}

/* What each method makes of the 20 nats, and how hard each bridge has it. */
static wm_status draw(const cli_call *call, const demo_row *rows, wm_error *err)
{
    const char *const names[] = {"one ratio", "telescope", "convex"};
    static const char *const losses_of[] = {"one ratio", "bridge 0", "bridge 1", "bridge 2",
                                            "bridge 3"};
    double at[N_ROWS], mi[N_ROWS], k[BRIDGES + 1], loss[BRIDGES + 1];
    wm_figure *f = wm_figure_new("demo", "One ratio against the telescope");
    wm_panel *panel;

    for (int i = 0; i < N_ROWS; i++) {
        at[i] = i;
        mi[i] = rows[i].got.mi;
    }
    panel = wm_figure_panel(f, "Mutual information");
    wm_panel_axes(panel, NULL, "nats", 0);
    wm_panel_x_ticks(panel, at, names, N_ROWS);
    wm_panel_x_range(panel, -0.6, N_ROWS - 0.4);
    wm_panel_y_range(panel, 0, 24);
    wm_panel_y_line(panel, TRUTH, "truth");
    WM_PLOT(panel, N_ROWS, at, mi, "", .mark = WM_MARK_BARS);
    for (int b = 0; b <= BRIDGES; b++) { /* the one ratio, then the bridges */
        k[b] = b;
        loss[b] = b ? rows[1].got.bridge[b - 1].loss : rows[0].got.bridge[0].loss;
    }
    panel = wm_figure_panel(f, "Held-out logistic loss");
    wm_panel_axes(panel, NULL, "0: saturated, 1.386: chance", 0);
    wm_panel_x_ticks(panel, k, losses_of, BRIDGES + 1);
    wm_panel_x_range(panel, -0.6, BRIDGES + 0.6);
    wm_panel_y_range(panel, 0, 1.5);
    wm_panel_y_line(panel, 2 * log(2), "chance");
    WM_PLOT(panel, BRIDGES + 1, k, loss, "", .mark = WM_MARK_BARS);
    return wm_run_folder_figure(call->run, f, call->sink, err);
}

static wm_status run(cli_call *call, wm_error *err)
{
    const reproduce_settings settings = {
        .preset = "demo", .control = cli_control(call), .folder = call->run};
    demo_row rows[N_ROWS];
    wm_status st;

    set_rows(rows);
    for (int i = 0; i < N_ROWS; i++) {
        if ((st = gaussian_run(&rows[i].got, &rows[i].job, rows[i].file, &settings, err)))
            return st;
        add_row(call->summary, &rows[i]);
    }
    wm_summary_real(call->summary, "truth", TRUTH);
    wm_summary_real(call->summary, "mi", rows[1].got.mi);
    call->doubt = !(fabs(rows[1].got.mi - TRUTH) <= 0.05 * TRUTH);
    if (cli_shows_tables(call)) {
        if ((st = print_table(rows, err)))
            return st;
        printf(
            "\nThe same model, samples and steps: one classifier between p and q is right so "
            "easily that "
            "it\nlearns little about their ratio; between neighbouring waymarks it is not.\n"
            "Next: `waymark ratio P Q` and `waymark mi U V` do this with your own tables (`waymark "
            "data`\n"
            "makes some to try), `waymark reproduce gaussian -o gaussian` goes to 80 nats in 320\n"
            "dimensions, and waymark/study.h is the same in C (see examples/).\n");
    }
    if ((st = cli_publish(call, err)))
        return st;
    return call->run ? draw(call, rows, err) : WM_OK;
}

const cli_command cmd_demo = {
    .name = "demo",
    .about = "20 nats of mutual information: one ratio against the telescope, in under a minute",
    .details = "Draws 100,000 samples of 40 correlated pairs of normals, 20 nats from "
               "independence, and estimates that distance. With -o also the models and a figure.",
    .examples = "waymark demo\nwaymark demo -o demo",
    .common = CLI_SEED | CLI_RUN | CLI_STRICT,
    .run = run,
};
