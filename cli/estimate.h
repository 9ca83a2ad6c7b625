/* estimate.h - what `ratio` and `mi` share: options of reading and fitting, the tables, the summary
 * and the figures of a study. */
#ifndef WM_CLI_ESTIMATE_H
#define WM_CLI_ESTIMATE_H

#include "command.h"
#include "waymark/read.h"
#include "waymark/study.h"

/* ---- reading ---- */

typedef struct read_flags {
    int header, missing, format; /* choices */
    const char *categorical, *integer, *continuous;
} read_flags;

extern const char *const read_header_names[], *const read_missing_names[],
                                                  *const read_format_names[];

/* Rows of an option table: T is the command's struct, F its read_flags. FILE_ROWS where the kinds
 * of columns are known, READ_ROWS where they are found or told. */
#define FILE_ROWS(T, F)                                                                            \
    {.kind = OPT_HEADING, .help = "Reading"},                                                      \
        {.kind = OPT_CHOICE,                                                                       \
         .name = "missing",                                                                        \
         .at = offsetof(T, F.missing),                                                             \
         .arg = "WHAT",                                                                            \
         .help = "missing values: refuse the file, drop the row, or take the column's mean",       \
         .choices = read_missing_names},                                                           \
        {.kind = OPT_CHOICE,                                                                       \
         .name = "header",                                                                         \
         .at = offsetof(T, F.header),                                                              \
         .arg = "WHAT",                                                                            \
         .help = "whether the first line of a CSV has names",                                      \
         .choices = read_header_names},                                                            \
    {                                                                                              \
        .kind = OPT_CHOICE, .name = "format", .at = offsetof(T, F.format), .arg = "NAME",          \
        .help = "of the file; auto: by content", .choices = read_format_names                      \
    }

#define READ_ROWS(T, F)                                                                            \
    FILE_ROWS(T, F),                                                                               \
        {.kind = OPT_TEXT,                                                                         \
         .name = "categorical",                                                                    \
         .at = offsetof(T, F.categorical),                                                         \
         .arg = "LIST",                                                                            \
         .help = "columns of categories: names or numbers from 1, or all",                         \
         .unset = "found"},                                                                        \
        {.kind = OPT_TEXT,                                                                         \
         .name = "integer",                                                                        \
         .at = offsetof(T, F.integer),                                                             \
         .arg = "LIST",                                                                            \
         .help = "columns of counts or grades",                                                    \
         .unset = "found"},                                                                        \
    {                                                                                              \
        .kind = OPT_TEXT, .name = "continuous", .at = offsetof(T, F.continuous), .arg = "LIST",    \
        .help = "columns of other numbers", .unset = "found"                                       \
    }

wm_read_opts read_opts(const read_flags *f, const wm_sink *sink);
/* For tables whose rows are pairs: what --missing drop leaves out is left out of both. read for
 * each, then drop for both, which says how many. */
wm_read_opts pair_read_opts(const read_flags *f, const wm_sink *sink);
wm_status drop_pairs(wm_data *u, wm_data *v, const read_flags *f, const wm_sink *sink,
                     wm_error *err);

/* ---- fitting ---- */

typedef struct study_flags {
    const char *model, *bridges, *spacing;
    int objective, optimizer, whiten; /* choices */
    int64_t folds, ensemble, iterations, batch, width, blocks, max_bridges;
    double lr;
} study_flags;

extern const char *const study_objective_names[], *const study_optimizer_names[],
                                                      *const study_whiten_names[];

#define STUDY_ROWS(T, F)                                                                           \
    {.kind = OPT_HEADING, .help = "Waymarks and bridges"},                                         \
        {.kind = OPT_TEXT,                                                                         \
         .name = "bridges",                                                                        \
         .at = offsetof(T, F.bridges),                                                             \
         .arg = "N",                                                                               \
         .help = "number of bridges, or auto: halve hard ones, merge idle ones"},                  \
        {.kind = OPT_TEXT,                                                                         \
         .name = "spacing",                                                                        \
         .at = offsetof(T, F.spacing),                                                             \
         .arg = "HOW",                                                                             \
         .help = "auto (equally hard), power:P, symmetric:P or list:A,B,..."},                     \
        {.kind = OPT_INTEGER,                                                                      \
         .name = "max-bridges",                                                                    \
         .at = offsetof(T, F.max_bridges),                                                         \
         .arg = "N",                                                                               \
         .help = "that auto may use",                                                              \
         .lo = 1,                                                                                  \
         .hi = 1024},                                                                              \
        {.kind = OPT_TEXT,                                                                         \
         .name = "model",                                                                          \
         .at = offsetof(T, F.model),                                                               \
         .arg = "TERMS",                                                                           \
         .help = "auto (the best by held-out loss), or a sum, joined by +, of linear, quadratic, " \
                 "additive (a curve for each column), mlp, and for mi separable"},                 \
        {.kind = OPT_CHOICE,                                                                       \
         .name = "objective",                                                                      \
         .at = offsetof(T, F.objective),                                                           \
         .arg = "NAME",                                                                            \
         .help = "loss of the bridges",                                                            \
         .choices = study_objective_names},                                                        \
        {.kind = OPT_CHOICE,                                                                       \
         .name = "optimizer",                                                                      \
         .at = offsetof(T, F.optimizer),                                                           \
         .arg = "NAME",                                                                            \
         .help = "convex: moments, tested and refined; auto: that where it applies, else adam",    \
         .choices = study_optimizer_names},                                                        \
        {.kind = OPT_CHOICE,                                                                       \
         .name = "whiten",                                                                         \
         .at = offsetof(T, F.whiten),                                                              \
         .arg = "WHAT",                                                                            \
         .help = "networks read uncorrelated combinations of the columns; auto: if a short "       \
                 "training likes them better",                                                     \
         .choices = study_whiten_names},                                                           \
        {.kind = OPT_HEADING, .help = "Fitting"},                                                  \
        {.kind = OPT_INTEGER,                                                                      \
         .name = "folds",                                                                          \
         .at = offsetof(T, F.folds),                                                               \
         .arg = "N",                                                                               \
         .help = "no row is judged by a fit that has seen it",                                     \
         .lo = 2,                                                                                  \
         .hi = 100},                                                                               \
        {.kind = OPT_INTEGER,                                                                      \
         .name = "ensemble",                                                                       \
         .at = offsetof(T, F.ensemble),                                                            \
         .arg = "N",                                                                               \
         .help = "networks in each fold",                                                          \
         .lo = 1,                                                                                  \
         .hi = 100},                                                                               \
        {.kind = OPT_INTEGER,                                                                      \
         .name = "iterations",                                                                     \
         .at = offsetof(T, F.iterations),                                                          \
         .arg = "N",                                                                               \
         .help = "steps of Adam",                                                                  \
         .lo = 1,                                                                                  \
         .hi = 1e9,                                                                                \
         .unset = "by the amount of data"},                                                        \
        {.kind = OPT_INTEGER,                                                                      \
         .name = "batch",                                                                          \
         .at = offsetof(T, F.batch),                                                               \
         .arg = "N",                                                                               \
         .help = "trajectories in a step",                                                         \
         .lo = 1,                                                                                  \
         .hi = 1e6,                                                                                \
         .unset = "256"},                                                                          \
        {.kind = OPT_REAL,                                                                         \
         .name = "lr",                                                                             \
         .at = offsetof(T, F.lr),                                                                  \
         .arg = "X",                                                                               \
         .help = "learning rate, which falls to 0 by a cosine",                                    \
         .lo = 0,                                                                                  \
         .hi = 10,                                                                                 \
         .above = true,                                                                            \
         .unset = "0.003"},                                                                        \
        {.kind = OPT_INTEGER,                                                                      \
         .name = "width",                                                                          \
         .at = offsetof(T, F.width),                                                               \
         .arg = "N",                                                                               \
         .help = "of the network",                                                                 \
         .lo = 1,                                                                                  \
         .hi = 65536},                                                                             \
    {                                                                                              \
        .kind = OPT_INTEGER, .name = "blocks", .at = offsetof(T, F.blocks), .arg = "N",            \
        .help = "residual blocks of the network", .lo = 0, .hi = 100                               \
    }

void study_flags_init(study_flags *f);
/* The flags and the common options as options of a study; checkpoint is the folder's, if any. */
WM_MUST_CHECK wm_status study_opts(wm_study_opts *out, const study_flags *f, cli_call *call,
                                   wm_error *err);

/* ---- showing ---- */

/* name, name_se, name_ci95, in nats or bits. */
void summary_estimate(wm_summary *s, const char *name, const wm_estimate *e, double per_unit);
/* Bridge k as a row of "bridges", likewise. */
void summary_bridge(wm_summary *s, int64_t k, const wm_ratio_bridge *b, double per_unit);
/* What every study says: rows, model, alphas, bridges, candidates, checks, verdict. */
void study_summary(cli_call *call, const wm_study *study);
/* Bridges and checks to stdout; the estimates come before them and are the command's. */
WM_MUST_CHECK wm_status study_tables(const cli_call *call, const wm_study *study, wm_error *err);
/* All figures into the run folder. p and q (NULL for mi) are for maps of one or two columns. */
WM_MUST_CHECK wm_status study_figures(const cli_call *call, const wm_study *study, const wm_data *p,
                                      const wm_data *q, const wm_schema *schema, wm_error *err);
/* The model into the run folder, training states out of it. */
WM_MUST_CHECK wm_status study_save(cli_call *call, const wm_study *study, wm_error *err);
double units_per_nat(const cli_call *call);   /* 1, or 1 / log 2 with --bits */
const char *units_name(const cli_call *call); /* "nats" or "bits" */

#endif
