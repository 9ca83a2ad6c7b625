/* page_fixture.c - page_fixture DIR KIND: a run folder as `waymark ratio` leaves it, of two
 * Gaussians whose ratio is known, without fitting anything. KIND is trust, doubt, reject, or
 * hostile (texts that try to break out of the page). The tests of the page, in C and in the
 * browser, look at what it makes; every kind of figure is in it. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "waymark/report.h"

enum { BRIDGES = 8, BINS = 48, SIDE = 48, N_COLUMNS = 7, TAIL = 60 };

static const char evil[] = "</script><script>window.hacked = 1</script><img src=x onerror='"
                           "window.hacked=1'>\" & <b>";

typedef struct fixture {
    wm_run_folder *run;
    const char *kind;
    bool hostile;
    wm_error err;
} fixture;

static void must(fixture *x, wm_status st)
{
    if (st) {
        fprintf(stderr, "page_fixture: %s\n", x->err.text);
        exit(1);
    }
}

static void finish(fixture *x, wm_figure *f)
{
    wm_sink silent;

    wm_sink_init(&silent);
    must(x, wm_run_folder_figure(x->run, f, &silent, &x->err));
}

static double normal(double x, double mean, double sd)
{
    return exp(-0.5 * pow((x - mean) / sd, 2)) / (sd * sqrt(2 * 3.14159265358979));
}

static double bridge_loss(int k)
{
    return 1.25 - 0.11 * k + 0.006 * k * k;
}

static double bridge_accuracy(int k)
{
    return 0.62 + 0.035 * k - 0.0016 * k * k;
}

/* --- figures -----------------------------------------------------------------------------------*/

static void draw_bridges(fixture *x)
{
    double k[BRIDGES], loss[BRIDGES], train[BRIDGES], accuracy[BRIDGES];
    wm_figure *f;
    wm_panel *p;

    for (int i = 0; i < BRIDGES; i++) {
        k[i] = i;
        loss[i] = bridge_loss(i);
        train[i] = loss[i] - 0.02 - 0.002 * i;
        accuracy[i] = bridge_accuracy(i);
    }
    f = wm_figure_new("bridges", "How hard each bridge has it");
    p = wm_figure_panel(f, "Logistic loss");
    wm_panel_axes(p, "bridge", "0: saturated, 1.386: chance", 0);
    wm_panel_y_range(p, 0, 1.5);
    wm_panel_y_line(p, 2 * log(2), "chance");
    wm_panel_series(
        p, &(wm_series){
               .name = "held out", .mark = WM_MARK_LINE_POINTS, .n = BRIDGES, .x = k, .y = loss});
    wm_panel_series(p, &(wm_series){.name = "training",
                                    .mark = WM_MARK_LINE_POINTS,
                                    .dashed = true,
                                    .n = BRIDGES,
                                    .x = k,
                                    .y = train});
    p = wm_figure_panel(f, "Accuracy, held out");
    wm_panel_axes(p, "bridge", "share right", 0);
    wm_panel_y_range(p, 0, 1);
    wm_panel_y_line(p, 0.5, "chance");
    wm_panel_series(
        p, &(wm_series){.name = "", .mark = WM_MARK_BARS, .n = BRIDGES, .x = k, .y = accuracy});
    finish(x, f);
}

static void draw_grid(fixture *x)
{
    double z[BRIDGES * (BRIDGES + 1)];
    wm_figure *f;
    wm_panel *p;

    for (int k = 0; k < BRIDGES; k++)
        for (int w = 0; w <= BRIDGES; w++)
            z[k * (BRIDGES + 1) + w] = (k + 0.5 - w) * (1.1 + 0.12 * k) + 0.3 * sin(3 * k + w);
    f = wm_figure_new("grid", "Every bridge on every waymark");
    p = wm_figure_panel(f, "Mean logit, held out");
    wm_panel_axes(p, "waymark", "bridge", 0);
    wm_panel_y_range(p, BRIDGES - 0.5, -0.5);
    wm_panel_heat_map(p, &(wm_heat_map){.name = "mean logit",
                                        .nx = BRIDGES + 1,
                                        .ny = BRIDGES,
                                        .x_to = BRIDGES,
                                        .y_to = BRIDGES - 1,
                                        .z = z,
                                        .scale = WM_COLOURS_DIVERGING,
                                        .labels = true,
                                        .digits = 1});
    finish(x, f);
}

static void draw_histograms(fixture *x)
{
    double at[BINS], under_p[BINS], under_q[BINS];
    wm_figure *f;
    wm_panel *p;

    for (int i = 0; i < BINS; i++) {
        at[i] = -30 + (i + 0.5) * 60 / BINS;
        under_p[i] = normal(at[i], 11, 4.7);
        under_q[i] = normal(at[i], -11, 4.7);
    }
    f = wm_figure_new("histograms", "Log-ratios under p and q");
    p = wm_figure_panel(f, NULL);
    wm_panel_axes(p, "log p/q (nats)", "density", 0);
    wm_panel_series(p, &(wm_series){.name = x->hostile ? evil : "rows of p",
                                    .mark = WM_MARK_FILLED_STEPS,
                                    .n = BINS,
                                    .x = at,
                                    .y = under_p});
    wm_panel_series(
        p,
        &(wm_series){
            .name = "rows of q", .mark = WM_MARK_FILLED_STEPS, .n = BINS, .x = at, .y = under_q});
    wm_panel_x_line(p, 0, "p = q");
    finish(x, f);
}

static void draw_weights(fixture *x)
{
    double w[TAIL], beyond[TAIL], pareto[TAIL];
    wm_figure *f;
    wm_panel *p;

    for (int i = 0; i < TAIL; i++) {
        w[i] = pow(10, -2 + 6.0 * i / (TAIL - 1));
        beyond[i] = 1 / (1 + pow(w[i] / 0.4, 0.9));
        pareto[i] = w[i] > 30 ? 0.5 * pow(w[i], -0.95) : NAN;
    }
    f = wm_figure_new("weights", "Tail of the weights");
    p = wm_figure_panel(f, "Effective sample size 214 of 2,000, Pareto k 0.82");
    wm_panel_axes(p, "weight, mean one", "share of rows beyond", WM_LOG_X | WM_LOG_Y);
    wm_panel_series(
        p, &(wm_series){.name = "weights", .mark = WM_MARK_AREA, .n = TAIL, .x = w, .y = beyond});
    wm_panel_series(p, &(wm_series){.name = "fitted tail",
                                    .mark = WM_MARK_LINE,
                                    .dashed = true,
                                    .n = TAIL,
                                    .x = w,
                                    .y = pareto});
    finish(x, f);
}

static void draw_waymarks(fixture *x)
{
    double k[BRIDGES + 1], alpha[BRIDGES + 1], kl[BRIDGES], middle[BRIDGES], lo[BRIDGES],
        hi[BRIDGES];
    wm_figure *f;
    wm_panel *p;

    for (int i = 0; i <= BRIDGES; i++) {
        k[i] = i;
        alpha[i] = pow(i / (double)BRIDGES, 1.6);
    }
    for (int i = 0; i < BRIDGES; i++) {
        middle[i] = (alpha[i] + alpha[i + 1]) / 2;
        kl[i] = 0.6 + 0.5 * i;
        lo[i] = kl[i] - 0.1 - 0.02 * i;
        hi[i] = kl[i] + 0.1 + 0.02 * i;
    }
    f = wm_figure_new("waymarks", "Where the waymarks stand");
    p = wm_figure_panel(f, "Spacing");
    wm_panel_axes(p, "waymark", "alpha", 0);
    wm_panel_series(
        p, &(wm_series){.mark = WM_MARK_LINE_POINTS, .n = BRIDGES + 1, .x = k, .y = alpha});
    p = wm_figure_panel(f, "Divergence across each bridge");
    wm_panel_axes(p, "alpha", "nats", 0);
    wm_panel_series(p, &(wm_series){.mark = WM_MARK_BAND,
                                    .colour = WM_COLOUR_GREEN,
                                    .n = BRIDGES,
                                    .x = middle,
                                    .y = kl,
                                    .lo = lo,
                                    .hi = hi});
    finish(x, f);
}

static void draw_map(fixture *x)
{
    static double z[SIDE * SIDE];
    const double contours[] = {-10, 0, 10};
    double px[80], py[80], qx[80], qy[80];
    wm_figure *f;
    wm_panel *p;

    for (int j = 0; j < SIDE; j++)
        for (int i = 0; i < SIDE; i++) {
            const double u = -6 + 12.0 * i / (SIDE - 1), v = -5 + 10.0 * j / (SIDE - 1);

            z[j * SIDE + i] = -4 * u - 1.5 * v + 0.15 * (u * u - v * v);
        }
    for (int i = 0; i < 80; i++) { /* two clouds on a spiral, as good as random here */
        px[i] = -2 + 0.22 * sqrt(i) * cos(2.4 * i);
        py[i] = -1 + 0.25 * sqrt(i) * sin(2.4 * i);
        qx[i] = 2 + 0.25 * sqrt(i) * cos(2.4 * i + 1);
        qy[i] = 1 + 0.2 * sqrt(i) * sin(2.4 * i + 1);
    }
    f = wm_figure_new("map", "Log-ratio over the plane");
    p = wm_figure_panel(f, NULL);
    wm_panel_axes(p, x->hostile ? evil : "speed", "height", 0);
    wm_panel_heat_map(p, &(wm_heat_map){.name = "log p/q (nats)",
                                        .nx = SIDE,
                                        .ny = SIDE,
                                        .x_from = -6,
                                        .x_to = 6,
                                        .y_from = -5,
                                        .y_to = 5,
                                        .z = z,
                                        .scale = WM_COLOURS_DIVERGING,
                                        .contours = contours,
                                        .n_contours = 3});
    wm_panel_series(p, &(wm_series){.name = "rows of p",
                                    .mark = WM_MARK_POINTS,
                                    .colour = WM_COLOUR_GREEN,
                                    .width = 0.8,
                                    .n = 80,
                                    .x = px,
                                    .y = py});
    wm_panel_series(p, &(wm_series){.name = "rows of q",
                                    .mark = WM_MARK_POINTS,
                                    .colour = WM_COLOUR_ORANGE,
                                    .width = 0.8,
                                    .n = 80,
                                    .x = qx,
                                    .y = qy});
    finish(x, f);
}

static void draw_columns(fixture *x)
{
    const char *const names[N_COLUMNS] = {"temperature",
                                          x->hostile ? evil : "speed",
                                          "height",
                                          "a column with a rather long name",
                                          "Gr\xc3\xb6\xc3\x9f\x65",
                                          "pressure",
                                          "weekday = Monday"};
    const double share[] = {9.1, 6.4, 3.3, 2.1, 0.9, 0.4, -0.3}, at[] = {0, 1, 2, 3, 4, 5, 6};
    double lo[N_COLUMNS], hi[N_COLUMNS];
    wm_figure *f;
    wm_panel *p;

    for (int i = 0; i < N_COLUMNS; i++) {
        lo[i] = share[i] - 0.3 - 0.05 * share[i];
        hi[i] = share[i] + 0.3 + 0.05 * share[i];
    }
    f = wm_figure_new("columns", "Which columns drive the shift");
    p = wm_figure_panel(f, NULL);
    wm_panel_axes(p, "nats of KL(p, q)", NULL, 0);
    wm_panel_y_ticks(p, at, names, N_COLUMNS);
    wm_panel_series(
        p,
        &(wm_series){
            .mark = WM_MARK_LEVEL_BARS, .n = N_COLUMNS, .x = share, .y = at, .lo = lo, .hi = hi});
    finish(x, f);
}

/* --- files -------------------------------------------------------------------------------------*/

static void write_config(fixture *x)
{
    const char *const arguments[] = {x->hostile ? evil : "before.csv", "after it's done.csv"};
    wm_summary *s;

    must(x, wm_summary_new(&s, &x->err));
    wm_summary_texts(s, "arguments", arguments, 2);
    wm_summary_text(s, "model", "auto");
    wm_summary_text(s, "spacing", "auto");
    wm_summary_text(s, "objective", x->hostile ? evil : "logistic");
    wm_summary_null(s, "bridges");
    wm_summary_reals(s, "ridge", (const double[]){0.01, 0.1, 1}, 3);
    wm_summary_real(s, "lr", 0.001);
    wm_summary_integer(s, "folds", 5);
    wm_summary_bool(s, "standardise", true);
    wm_summary_integer(s, "seed", 1);
    wm_summary_null(s, "threads");
    wm_summary_bool(s, "strict", false);
    must(x, wm_run_folder_config(x->run, s, &x->err));
    wm_summary_free(s);
}

static void add_check(wm_summary *s, const char *name, double value, double limit, bool ok,
                      const char *meaning)
{
    wm_summary *row = wm_summary_row(s, "checks");

    wm_summary_text(row, "name", name);
    wm_summary_real(row, "value", value);
    wm_summary_real(row, "limit", limit);
    wm_summary_bool(row, "ok", ok);
    wm_summary_text(row, "meaning", meaning);
}

static void add_checks(fixture *x, wm_summary *s)
{
    const bool chasm = strcmp(x->kind, "reject") == 0, tail = strcmp(x->kind, "trust") != 0;

    add_check(s, "chasm", chasm ? 0.004 : 0.662, 0.05, !chasm,
              "The hardest bridge's held-out loss. Near 0 its two waymarks do not overlap and the "
              "ratio is a guess: add bridges, or let them be placed (--bridges auto).");
    add_check(s, "extrapolation", 1.3, 2, true,
              "Logits on p's rows against those seen in training. Beyond the limit bridges are "
              "asked about points they never saw: use --objective multinomial.");
    add_check(s, "mean_ratio", 1.04, 1.5, true,
              "E_q[p/q], which is 1 for the true ratio. Far from 1 the tails are wrong.");
    add_check(s, "pareto_k", tail ? 0.82 : 0.41, 0.7, !tail,
              x->hostile ? evil
                         : "Shape of the weights' tail. Above 0.7 means over weights do not settle "
                           "with more rows: clip them, or use alpha-relative ratios.");
    add_check(s, "overfitting", 0.026, 0.1, true,
              "Held-out less training loss, mean over bridges. Too large: fewer parameters, more "
              "rows, or a stronger ridge.");
    add_check(s, "samples", 8000, 500, true, "Rows to fit with. More are always better.");
    wm_summary_text(s, "verdict", chasm ? "reject" : tail ? "doubt" : "trust");
}

static void add_divergence(wm_summary *s, const char *key, double value, double se)
{
    char name[32];

    wm_summary_real(s, key, value);
    snprintf(name, sizeof name, "%s_se", key);
    wm_summary_real(s, name, se);
    snprintf(name, sizeof name, "%s_ci95", key);
    wm_summary_reals(s, name, (const double[]){value - 1.96 * se, value + 1.96 * se}, 2);
}

/* A column of numbers: two bells, the second one moved. */
static void add_numbers(wm_summary *s, const char *name, double share, double kl, double moved)
{
    enum { N = 20 };
    wm_summary *row = wm_summary_row(s, "columns");
    double edges[N + 1], p[N], q[N];

    for (int i = 0; i <= N; i++)
        edges[i] = -4 + 0.4 * i;
    for (int i = 0; i < N; i++) {
        p[i] = 0.4 * normal(edges[i] + 0.2, -moved / 2, 1);
        q[i] = 0.4 * normal(edges[i] + 0.2, moved / 2, 1.2);
    }
    wm_summary_text(row, "name", name);
    wm_summary_text(row, "kind", "continuous");
    wm_summary_real(row, "share", share);
    wm_summary_real(row, "kl", kl);
    wm_summary_reals(row, "edges", edges, N + 1);
    wm_summary_reals(row, "p", p, N);
    wm_summary_reals(row, "q", q, N);
}

static void add_levels(wm_summary *s, const char *name, double share, double kl,
                       const char *const *levels, const double *p, const double *q, int64_t n)
{
    wm_summary *row = wm_summary_row(s, "columns");

    wm_summary_text(row, "name", name);
    wm_summary_text(row, "kind", "discrete");
    wm_summary_real(row, "share", share);
    wm_summary_real(row, "kl", kl);
    wm_summary_texts(row, "levels", levels, n);
    wm_summary_reals(row, "p", p, n);
    wm_summary_reals(row, "q", q, n);
    if (!isfinite(kl))
        wm_summary_text(row, "note",
                        "No row of q is 'gone': the divergence in this column is infinite.");
}

/* Not in the order in which they matter: the page sorts them. */
static void add_columns(const fixture *x, wm_summary *s)
{
    enum { MANY = 30 };
    char text[MANY][24];
    const char *many[MANY];
    double p[MANY], q[MANY];

    for (int i = 0; i < MANY; i++) {
        snprintf(text[i], sizeof text[i], i ? "district %d" : "", i);
        many[i] = text[i];
        p[i] = (i + 1) / 465.0;
        q[i] = (MANY - i) / 465.0;
    }
    add_levels(s, "weekday", NAN, NAN, (const char *const[]){"here", x->hostile ? evil : "gone"},
               (const double[]){0.98, 0.02}, (const double[]){1, 0}, 2);
    add_numbers(s, "height", 0.151, 3.21, 1.2);
    add_numbers(s, x->hostile ? evil : "speed", 0.294, 6.02, 2.2);
    add_levels(s, "a column with a rather long name, and many levels", 0.0004, 0.71, many, p, q,
               MANY);
    add_levels(s, "sex", -0.013, 0.0002, (const char *const[]){"female", "male"},
               (const double[]){0.513, 0.487}, (const double[]){0.502, 0.498}, 2);
    add_numbers(s, "temperature", 0.416, 8.87, 3);
}

static void write_summary(fixture *x)
{
    double alphas[BRIDGES + 1];
    wm_summary *s;

    for (int k = 0; k <= BRIDGES; k++)
        alphas[k] = pow(k / (double)BRIDGES, 1.6);
    must(x, wm_summary_new(&s, &x->err));
    wm_summary_text(s, "command", "ratio");
    wm_summary_real(s, "seconds", 12.437);
    wm_summary_integer(s, "seed", 1);
    wm_summary_integer(s, "threads", 2);
    wm_summary_integer(s, "n_train", 8000);
    wm_summary_integer(s, "n_test", 2000);
    wm_summary_integer(s, "dim", N_COLUMNS);
    wm_summary_text(s, "model", "quadratic");
    wm_summary_text(s, "objective", x->hostile ? evil : "logistic");
    wm_summary_text(s, "units", "nats");
    wm_summary_reals(s, "alphas", alphas, BRIDGES + 1);
    for (int k = 0; k < BRIDGES; k++) {
        wm_summary *row = wm_summary_row(s, "bridges");

        wm_summary_integer(row, "k", k);
        wm_summary_real(row, "alpha_from", alphas[k]);
        wm_summary_real(row, "alpha_to", alphas[k + 1]);
        wm_summary_real(row, "loss", bridge_loss(k));
        wm_summary_real(row, "accuracy", bridge_accuracy(k));
        wm_summary_real(row, "mean_log_ratio", 0.6 + 0.5 * k);
    }
    add_divergence(s, "kl_pq", 21.883, 0.2113);
    add_divergence(s, "kl_qp", 20.918, 0.1968);
    wm_summary_text(s, "models_tried", "quadratic 0.812, mlp 0.827 (held-out loss)");
    wm_summary_reals(wm_summary_object(s, "preprocessing"), "shift", (const double[]){0.1, -0.2},
                     2);
    add_columns(x, s);
    add_checks(x, s);
    must(x, wm_run_folder_summary(x->run, s, &x->err));
    wm_summary_free(s);
}

static void write_metrics(fixture *x)
{
    for (int i = 0; i <= 40; i++) {
        const double fall = exp(-i / 7.0), wave = 0.006 * sin(1.7 * i);
        wm_summary *line;

        must(x, wm_summary_new(&line, &x->err));
        wm_summary_integer(line, "step", 50 * i);
        wm_summary_real(line, "train_loss", 0.79 + 0.6 * fall + wave);
        wm_summary_real(line, "valid_loss", 0.812 + 0.575 * fall);
        wm_summary_real(line, "kl", 21.9 * (1 - fall) + 4 * wave);
        wm_summary_real(line, "seconds", 0.3 * i);
        wm_summary_reals(line, "accuracy",
                         (const double[]){0.62 - 0.1 * fall, 0.7 - 0.18 * fall, 0.77 - 0.25 * fall},
                         3);
        must(x, wm_run_folder_metrics(x->run, line, &x->err));
        wm_summary_free(line);
    }
}

/* --- images ------------------------------------------------------------------------------------*/

/* Blots on n images of 7 x 5, in so many columns, with a line of the summary about them. */
static void draw_images(fixture *x, wm_summary *s, const char *file, const char *title, int64_t n,
                        int64_t columns, int64_t scale)
{
    enum { HIGH = 7, WIDE = 5, SIZE = HIGH * WIDE };
    static const char *const names[] = {"chain", "log_density"};
    double *pixels = calloc((size_t)n * SIZE, sizeof *pixels);
    double *values = calloc((size_t)n * 2, sizeof *values);
    wm_summary *row = wm_summary_row(s, "pictures");
    const char *path;

    if (!pixels || !values)
        exit(1);
    for (int64_t i = 0; i < n; i++) {
        values[2 * i] = (double)((7 * i) % n);
        values[2 * i + 1] = -1234.5 + 3.25 * (double)i;
        for (int64_t k = 0; k < SIZE; k++)
            pixels[i * SIZE + k] =
                fabs(sin(0.3 * (double)i + 0.9 * (double)(k / WIDE) * (double)(k % WIDE)));
    }
    wm_summary_text(row, "file", file);
    wm_summary_text(row, "title", title);
    wm_summary_text(row, "caption", "From the lowest log-density to the highest.");
    must(x, wm_run_folder_path(&path, x->run, file, &x->err));
    must(x, wm_image_grid_write(&(wm_image_grid){.n = n,
                                                 .height = HIGH,
                                                 .width = WIDE,
                                                 .channels = 1,
                                                 .x = pixels,
                                                 .hi = 1,
                                                 .columns = columns,
                                                 .scale = scale,
                                                 .values = values,
                                                 .value_names = names,
                                                 .n_values = 2},
                                path, &x->err));
    free(pixels);
    free(values);
}

/* A run that has pictures and nothing else: small, tall and wide. */
static void write_images(fixture *x)
{
    wm_summary *s;

    must(x, wm_summary_new(&s, &x->err));
    wm_summary_text(s, "command", "sample");
    wm_summary_integer(s, "chains", 12);
    draw_images(x, s, "draws.png", "Draws of the model", 12, 0, 2);
    draw_images(x, s, "tall.png", "One column", 60, 1, 4);
    draw_images(x, s, "wide.png", "Many columns", 600, 120, 3);
    must(x, wm_run_folder_summary(x->run, s, &x->err));
    wm_summary_free(s);
}

int main(int argc, char **argv)
{
    fixture x = {.kind = argc > 2 ? argv[2] : "doubt"};

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: page_fixture DIR [trust|doubt|reject|hostile|images]\n");
        return 2;
    }
    x.hostile = strcmp(x.kind, "hostile") == 0;
    must(&x, wm_run_folder_open(&x.run, argv[1], "ratio", WM_RUN_OVERWRITE, &x.err));
    write_config(&x);
    if (strcmp(x.kind, "images") == 0) {
        write_images(&x);
        must(&x, wm_run_folder_finish(x.run, &x.err));
        wm_run_folder_close(x.run);
        return 0;
    }
    write_metrics(&x);
    write_summary(&x);
    draw_bridges(&x);
    draw_grid(&x);
    draw_histograms(&x);
    draw_weights(&x);
    draw_waymarks(&x);
    draw_map(&x);
    draw_columns(&x);
    must(&x, wm_run_folder_finish(x.run, &x.err));
    wm_run_folder_close(x.run);
    return 0;
}
