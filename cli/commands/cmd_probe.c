/* cmd_probe.c - `waymark probe FEATURES LABELS`: how much of the labels a linear classifier reads
 * off the features. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/estimate.h"
#include "frame/commands.h"
#include "waymark/generators.h"
#include "waymark/probe.h"
#include "waymark/waymarks.h"

typedef struct probe_opts {
    wm_probe_opts fit;
    double held_out;
    read_flags read;
} probe_opts;

#define OPTS probe_opts

/* So many classes, with fewer rows for each of them, are looked at askance. */
enum { MANY = 20, EACH = 5 };

static const opt_row rows[] = {
    REAL(held_out, "held-out", "SHARE", 0, 0.9,
         "of the rows, drawn by the seed, that judge it where no test files are given",
         .above = true),
    REAL(fit.ridge, "ridge", "R", 0, 1e12,
         "penalty R/2 |W|^2 beside the mean loss, on standardised features"),
    INTEGER(fit.iterations, "iterations", "N", 1, 1e9,
            "of L-BFGS at most, for each column of labels"),
    REAL(fit.decrease, "decrease", "X", 0, 1,
         "a column is done when an iteration lowers its loss by less"),
    ROWS(read, read_file_options),
    {0},
};

static void defaults(void *opts)
{
    ((probe_opts *)opts)->held_out = 0.2;
    wm_probe_opts_init(&((probe_opts *)opts)->fit);
}

/* ---- rows ---- */

typedef struct tables {
    wm_data *x, *y;
} tables;

/* Features, and labels as levels of their schema. */
static wm_status read_tables(tables *t, const char *const *paths, wm_schema *const schema[2],
                             const cli_call *call, wm_error *err)
{
    const read_flags *f = &((const probe_opts *)call->opts)->read;
    wm_read_opts read = pair_read_opts(f, call->sink);
    wm_status st;

    read.continuous = "all";
    if ((st = wm_data_read(&t->x, paths[0], schema[0], &read, err)))
        return st;
    read.continuous = NULL;
    read.categorical = "all";
    if ((st = wm_data_read(&t->y, paths[1], schema[1], &read, err)) ||
        (st = drop_pairs(t->x, t->y, f, call->sink, err)))
        return st;
    if (wm_data_count(t->x) != wm_data_count(t->y))
        return opt_fail(
            err, "%.90s has %" PRId64 " rows and %.90s has %" PRId64 ": every row needs its labels",
            paths[0], wm_data_count(t->x), paths[1], wm_data_count(t->y));
    return WM_OK;
}

static void free_tables(tables *t)
{
    wm_data_free(t->x);
    wm_data_free(t->y);
}

/* Some of the rows, as a classifier takes them. */
typedef struct part {
    int64_t n, dim, columns;
    float *x;        /* (n, dim) */
    int32_t *labels; /* (n, columns) */
} part;

static void free_part(part *p)
{
    free(p->x);
    free(p->labels);
}

/* n rows of the tables, by their numbers. */
static wm_status take_part(part *p, const tables *t, const int64_t *at, int64_t n)
{
    const int64_t dim = wm_data_dim(t->x), columns = wm_data_dim(t->y);

    *p = (part){.n = n,
                .dim = dim,
                .columns = columns,
                .x = malloc(sizeof *p->x * (size_t)(n * dim)),
                .labels = malloc(sizeof *p->labels * (size_t)(n * columns))};
    if (!p->x || !p->labels)
        return WM_ENOMEM;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < dim; j++)
            p->x[i * dim + j] = (float)wm_data_rows(t->x)[at[i] * dim + j];
        for (int64_t j = 0; j < columns; j++)
            p->labels[i * columns + j] = (int32_t)wm_data_rows(t->y)[at[i] * columns + j];
    }
    return WM_OK;
}

/* All rows train where others test, else those that are not held out; drawn by the seed. */
static wm_status split(part *train, part *test, const tables *all, const tables *others,
                       double share, uint64_t seed, wm_error *err)
{
    const int64_t n = wm_data_count(all->x), n_others = others->x ? wm_data_count(others->x) : 0;
    const int64_t n_test = n_others ? n_others : llround(share * (double)n);
    const int64_t n_train = n_others ? n : n - n_test, most = n > n_others ? n : n_others;
    int64_t *at;
    wm_status st;

    if (n_test < 1 || n_train < 2)
        return opt_fail(err, "%" PRId64 " rows are too few to hold %g of them out", n, share);
    if (!(at = malloc(sizeof *at * (size_t)most)))
        return WM_ENOMEM;
    for (int64_t i = 0; i < most; i++)
        at[i] = i;
    if (!n_others)
        wm_pairing_draw(seed, 0, n, 1, n, at, NULL);
    if (!(st = take_part(train, all, at, n_train)))
        st = n_others ? take_part(test, others, at, n_test)
                      : take_part(test, all, at + n_train, n_test);
    free(at);
    return st;
}

/* ---- results ---- */

typedef struct result {
    const wm_probe *probe;
    const wm_schema *labels;
    int64_t columns, n_train, n_test;
    wm_share *accuracy; /* (columns) */
    wm_share mean;
    int64_t **confusion; /* (columns) of (classes, classes) */
} result;

static wm_status alloc_result(result *r)
{
    r->accuracy = calloc((size_t)r->columns, sizeof *r->accuracy);
    r->confusion = calloc((size_t)r->columns, sizeof *r->confusion);
    if (!r->accuracy || !r->confusion)
        return WM_ENOMEM;
    for (int64_t c = 0; c < r->columns; c++) {
        const size_t k = (size_t)wm_probe_get(r->probe, c).classes;

        if (!(r->confusion[c] = calloc(k * k, sizeof **r->confusion)))
            return WM_ENOMEM;
    }
    return WM_OK;
}

static void free_result(result *r)
{
    for (int64_t c = 0; r->confusion && c < r->columns; c++)
        free(r->confusion[c]);
    free(r->confusion);
    free(r->accuracy);
}

static void put_share(wm_summary *s, const char *key, wm_share x)
{
    char name[64];

    wm_summary_real(s, key, x.value);
    snprintf(name, sizeof name, "%s_ci95", key);
    wm_summary_reals(s, name, (const double[]){x.lo, x.hi}, 2);
}

static void add_summary(wm_summary *s, const result *r, const part *train)
{
    WM_PUT(s, WM_INTEGER("n_train", r->n_train), WM_INTEGER("n_test", r->n_test),
           WM_INTEGER("features", train->dim));
    put_share(s, "accuracy", r->mean);
    for (int64_t c = 0; c < r->columns; c++) {
        const wm_probe_column p = wm_probe_get(r->probe, c);
        wm_summary *row = wm_summary_row(s, "columns");
        char name[96];

        wm_summary_text(row, "labels", wm_schema_describe(r->labels, c, name, sizeof name));
        wm_summary_integer(row, "classes", p.classes);
        put_share(row, "accuracy", r->accuracy[c]);
        WM_PUT(row, WM_REAL("train_loss", p.loss), WM_INTEGER("iterations", p.iterations),
               WM_BOOL("converged", p.converged));
        for (int64_t a = 0; a < p.classes; a++) {
            wm_summary *of = wm_summary_row(row, "confusion");

            wm_summary_text(of, "is", wm_schema_level(r->labels, c, a));
            wm_summary_integers(of, "said", r->confusion[c] + a * p.classes, p.classes);
        }
    }
}

static wm_status print_result(const result *r, wm_error *err)
{
    char title[96];
    wm_text_table *t;

    snprintf(title, sizeof title, "Accuracy on %" PRId64 " test rows, fitted to %" PRId64,
             r->n_test, r->n_train);
    t = wm_text_table_new(title, "<labels|classes|accuracy %|95 % interval");
    for (int64_t c = 0; c < r->columns + (r->columns > 1); c++) {
        const bool all = c == r->columns;
        const wm_share a = all ? r->mean : r->accuracy[c];
        char name[96] = "mean", interval[48];

        snprintf(interval, sizeof interval, "%.2f to %.2f", 100 * a.lo, 100 * a.hi);
        if (all)
            wm_text_table_rule(t);
        else
            wm_schema_describe(r->labels, c, name, sizeof name);
        WM_ROW(t, WM_CELL_TEXT(name),
               all ? WM_CELL_TEXT("") : WM_CELL_INTEGER(wm_probe_get(r->probe, c).classes),
               WM_CELL_REAL(100 * a.value, 2), WM_CELL_TEXT(interval));
    }
    return wm_text_table_finish(t, stdout, err);
}

/* Counts by true class (rows) and predicted class (columns), where they are few enough to read. */
static wm_status print_confusion(const result *r, wm_error *err)
{
    enum { MOST_SHOWN = 12 };
    const int64_t k = wm_probe_get(r->probe, 0).classes;
    wm_text_table *t;

    if (r->columns > 1 || k > MOST_SHOWN)
        return WM_OK;
    t = wm_text_table_new("Rows of each class, and what was said of them", "<class");
    for (int64_t b = 0; b < k; b++)
        wm_text_table_column(t, wm_schema_level(r->labels, 0, b), WM_ALIGN_RIGHT);
    for (int64_t a = 0; a < k; a++) {
        WM_ROW(t, WM_CELL_TEXT(wm_schema_level(r->labels, 0, a)));
        for (int64_t b = 0; b < k; b++)
            WM_ROW(t, WM_CELL_INTEGER(r->confusion[0][a * k + b]));
    }
    return wm_text_table_finish(t, stdout, err);
}

/* Classes that the labels of the fit have; a test file must not bring others. */
static wm_status count_levels(int64_t **classes, const wm_schema *s, cli_call *call, wm_error *err)
{
    if (!(*classes = calloc((size_t)wm_schema_dim(s) + 1, sizeof **classes)))
        return WM_ENOMEM;
    for (int64_t c = 0; c < wm_schema_dim(s); c++) {
        char name[96];

        (*classes)[c] = wm_schema_levels(s, c);
        if ((*classes)[c] < 2)
            return opt_fail(err, "%.120s: %s has one label only: there is nothing to tell apart",
                            call->args[1], wm_schema_describe(s, c, name, sizeof name));
    }
    return WM_OK;
}

/* Numbers where labels are asked for: a class a row. */
static void doubt_levels(const int64_t *classes, int64_t n, const wm_schema *s,
                         const cli_call *call)
{
    for (int64_t c = 0; c < wm_schema_dim(s); c++) {
        char name[96];

        if (classes[c] > MANY && classes[c] * EACH > n)
            wm_say(call->sink, WM_LOG_WARN,
                   "%s: %s has %" PRId64 " different labels in %" PRId64
                   " rows, each of them a class: are these numbers?",
                   call->args[1], wm_schema_describe(s, c, name, sizeof name), classes[c], n);
    }
}

static wm_status check_levels(const int64_t *classes, const wm_schema *s, cli_call *call,
                              wm_error *err)
{
    for (int64_t c = 0; c < wm_schema_dim(s); c++) {
        char name[96];

        if (wm_schema_levels(s, c) > classes[c])
            return opt_fail(err, "%.80s: %s has the label '%.40s', which %.60s has not",
                            call->args[3], wm_schema_describe(s, c, name, sizeof name),
                            wm_schema_level(s, c, classes[c]), call->args[1]);
    }
    return WM_OK;
}

static wm_status run(cli_call *call, wm_error *err)
{
    probe_opts *opts = call->opts;
    tables all = {0}, others = {0};
    part train = {0}, test = {0};
    wm_schema *schema[2] = {NULL, NULL};
    int64_t *classes = NULL;
    wm_probe *probe = NULL;
    result r = {0};
    wm_status st;

    if (call->n_args == 3)
        return cli_usage(call, err,
                         "test features need their labels: FEATURES LABELS TEST_FEATURES "
                         "TEST_LABELS");
    opts->fit.control = cli_control(call);
    if ((st = wm_schema_new(&schema[0], err)) || (st = wm_schema_new(&schema[1], err)) ||
        (st = read_tables(&all, call->args, schema, call, err)) ||
        (st = count_levels(&classes, schema[1], call, err)) ||
        (call->n_args == 4 && ((st = read_tables(&others, call->args + 2, schema, call, err)) ||
                               (st = check_levels(classes, schema[1], call, err)))) ||
        (st = split(&train, &test, &all, &others, opts->held_out, (uint64_t)call->common->seed,
                    err)))
        goto done;
    doubt_levels(classes, train.n, schema[1], call);
    if ((st = wm_probe_fit(&probe, train.n, train.dim, train.x, train.columns, train.labels,
                           classes, &opts->fit, err)))
        goto done;
    r = (result){.probe = probe,
                 .labels = schema[1],
                 .columns = train.columns,
                 .n_train = train.n,
                 .n_test = test.n};
    if ((st = alloc_result(&r)) || (st = wm_probe_score(probe, test.n, test.x, test.labels,
                                                        r.accuracy, &r.mean, r.confusion, err)))
        goto done;
    add_summary(call->summary, &r, &train);
    if (cli_shows_tables(call) && !(st = print_result(&r, err)))
        st = print_confusion(&r, err);
done:
    free_result(&r);
    wm_probe_free(probe);
    free(classes);
    free_part(&train);
    free_part(&test);
    free_tables(&all);
    free_tables(&others);
    wm_schema_free(schema[0]);
    wm_schema_free(schema[1]);
    return st;
}

const cli_command cmd_probe = {
    .name = "probe",
    .about = "how much of some labels a linear classifier reads off features",
    .arguments = "FEATURES LABELS [TEST_FEATURES TEST_LABELS]",
    .details =
        "Multinomial logistic regression by L-BFGS, for every column of LABELS one of its own. "
        "Labels may be numbers or words. Without test files a share of the rows is held out. "
        "Accuracy comes with Wilson's 95 % interval; --json has the confusion matrices.",
    .examples = "waymark embed omniglot/tre-4.safetensors u.npy --divide 255 -o g.npy\n"
                "waymark probe g.npy labels.npy\n"
                "waymark probe g.npy labels.npy test_g.npy test_labels.npy --json",
    .common = CLI_SEED | CLI_RUN,
    CLI_OPTIONS(rows, probe_opts, defaults),
    .run = run,
};
