/* estimate.h - what `ratio` and `mi` share: options of reading and fitting, the tables, the summary
 * and the figures of a study. */
#ifndef WM_CLI_ESTIMATE_H
#define WM_CLI_ESTIMATE_H

#include "frame/command.h"
#include "waymark/read.h"
#include "waymark/study.h"

/* ---- reading ---- */

typedef struct read_flags {
    wm_read_opts o;              /* zero but for what was given; read_opts() does the rest */
    int header, format, decimal; /* choices whose numbers the library has otherwise */
} read_flags;

extern const char *const read_header_names[], *const read_format_names[]; /* choices */
/* Options of reading, rows of read_flags: which columns and how they are written; that, and the
 * file; that, and the kinds of columns, where they are found or told. */
extern const opt_row read_column_options[], read_file_options[], read_table_options[];

wm_read_opts read_opts(const read_flags *f, const wm_sink *sink);
/* For tables whose rows are pairs: what --missing drop leaves out is left out of both. read for
 * each, then drop for both, which says how many. */
wm_read_opts pair_read_opts(const read_flags *f, const wm_sink *sink);
wm_status drop_pairs(wm_data *u, wm_data *v, const read_flags *f, const wm_sink *sink,
                     wm_error *err);
/* The tables U and V that call->args name, with schemas of their own; all[s]: columns of side s are
 * continuous, whatever the flags say. Starts as {0}, and is to be freed after a failure too. */
typedef struct pair_tables {
    wm_schema *schema[2];
    wm_data *data[2];
} pair_tables;
WM_MUST_CHECK wm_status pair_tables_read(pair_tables *t, const read_flags *f, const bool all[2],
                                         cli_call *call, wm_error *err);
void pair_tables_free(pair_tables *t);

/* ---- fitting ---- */

typedef struct study_flags {
    wm_study_opts fit;
    const char *model, *spacing;
} study_flags;

extern const opt_row study_rows[];          /* of study_flags */
extern const char *const objective_names[]; /* by wm_objective */

void study_flags_init(study_flags *f);
/* Completes f->fit by the other flags, the common options and the run folder; metrics must outlive
 * the fit. */
WM_MUST_CHECK wm_status study_start(study_flags *f, wm_metrics *metrics, cli_call *call,
                                    wm_error *err);

/* ---- showing ---- */

/* name, name_se, name_ci95, in nats or bits. */
void summary_estimate(wm_summary *s, const char *name, const wm_estimate *e, double per_unit);
/* Bridge k as a row of "bridges", likewise. */
void summary_bridge(wm_summary *s, int64_t k, const wm_bridge *b, double per_unit);
/* To stdout: an estimate in one line, with a note after its standard error; bridges (n) as a table,
 * with alphas unless the first is NaN, and own estimates of each (n) or NULL. */
void print_estimate(const cli_call *call, const char *name, const wm_estimate *e, const char *note,
                    wm_verdict verdict);
WM_MUST_CHECK wm_status print_bridges(const cli_call *call, const char *what, const wm_bridge *b,
                                      int64_t n, const wm_estimate *own, wm_error *err);
/* What every study says: rows, model, alphas, bridges, candidates, checks, verdict. */
void study_summary(cli_call *call, const wm_study *study);
/* Bridges and checks to stdout; the estimates come before them and are the command's. */
WM_MUST_CHECK wm_status study_tables(const cli_call *call, const wm_study *study, wm_error *err);
/* "columns" of the summary, and a table of those that differ most: nothing for pairs. */
void summary_columns(cli_call *call, const wm_study *study);
WM_MUST_CHECK wm_status print_columns(const cli_call *call, const wm_study *study, wm_error *err);
/* The end of a run: the model into the run folder, training states out of it, the summary, and all
 * figures. p and q (NULL for mi) are for maps of one or two columns. */
WM_MUST_CHECK wm_status study_finish(cli_call *call, const wm_study *study, const wm_data *p,
                                     const wm_data *q, const wm_schema *schema, wm_error *err);
double units_per_nat(const cli_call *call);   /* 1, or 1 / log 2 with --bits */
const char *units_name(const cli_call *call); /* "nats" or "bits" */

#endif
