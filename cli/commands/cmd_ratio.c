/* cmd_ratio.c - `waymark ratio P Q`: how two samples differ, and whether to believe it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "commands/estimate.h"
#include "frame/commands.h"
#include "frame/interrupt.h"

typedef struct ratio_opts {
    const char *weights[2];
    int64_t max_rows;
    study_flags study;
    read_flags read;
} ratio_opts;

#define OPTS ratio_opts

static const opt_row rows[] = {
    TEXT(weights[0], "p-weights", "FILE", "one weight for each row of P, not negative",
         .unset = "all 1"),
    TEXT(weights[1], "q-weights", "FILE", "likewise for Q", .unset = "all 1"),
    INTEGER(max_rows, "max-rows", "N", 0, 1e15,
            "of each table that are held in memory, 0: all. Of more rows a sample is; quadratic "
            "ratios have the means and covariances of all rows",
            .unset = "100000, or 40 MB of numbers"),
    ROWS(study, study_rows),
    ROWS(read, read_table_options),
    {0},
};

static void defaults(void *opts)
{
    study_flags_init(&((ratio_opts *)opts)->study);
    ((ratio_opts *)opts)->max_rows = WM_AUTO;
}

/* What a run holds, to be freed together. */
typedef struct ratio_run {
    wm_schema *schema;
    wm_data *table[2], *weights[2];
    wm_moments *moments[2]; /* of all rows, where the tables are samples */
    wm_study *study;
} ratio_run;

static void free_run(ratio_run *r)
{
    wm_study_free(r->study);
    for (int t = 0; t < 2; t++) {
        wm_data_free(r->weights[t]);
        wm_moments_free(r->moments[t]);
        wm_data_free(r->table[t]);
    }
    wm_schema_free(r->schema);
}

/* A column of weights for the rows of a table. */
static wm_status read_weights(ratio_run *r, int which, const char *path, wm_study_opts *o,
                              wm_error *err)
{
    wm_schema *schema = NULL;
    wm_read_opts read;
    wm_status st;

    if (!path)
        return WM_OK;
    wm_read_opts_init(&read);
    read.continuous = "all";
    read.stop = interrupt_flag();
    if (!(st = wm_schema_new(&schema, err)))
        st = wm_data_read(&r->weights[which], path, schema, &read, err);
    wm_schema_free(schema);
    if (st)
        return st;
    if (wm_data_dim(r->weights[which]) != 1 ||
        wm_data_count(r->weights[which]) != wm_data_count(r->table[which]))
        return WM_FAIL(err, WM_ESHAPE,
                       "%.120s: %" PRId64 " rows of %" PRId64 " columns; one weight is needed for "
                       "each of the %" PRId64 " rows of %s",
                       path, wm_data_count(r->weights[which]), wm_data_dim(r->weights[which]),
                       wm_data_count(r->table[which]), which ? "Q" : "P");
    o->weights[which] = wm_data_rows(r->weights[which]);
    return WM_OK;
}

static bool is_sample(const ratio_run *r)
{
    return wm_data_total(r->table[0]) > wm_data_count(r->table[0]) ||
           wm_data_total(r->table[1]) > wm_data_count(r->table[1]);
}

/* Once more through the files, whose columns are known by now. */
static wm_status read_moments(ratio_run *r, const cli_call *call, const wm_read_opts *read,
                              wm_study_opts *o, wm_error *err)
{
    wm_status st = WM_OK;

    for (int t = 0; t < 2 && !st; t++) {
        if (strcmp(call->args[t], "-") == 0)
            return WM_OK; /* it has gone by */
        st = wm_moments_read(&r->moments[t], call->args[t], r->schema, read, err);
        o->moments[t] = r->moments[t];
    }
    return st;
}

static wm_status read_all(ratio_run *r, cli_call *call, wm_study_opts *o, wm_error *err)
{
    const ratio_opts *opts = call->opts;
    const bool weighted = opts->weights[0] || opts->weights[1];
    wm_read_opts read = read_opts(&opts->read, call->sink);
    wm_status st;

    if (strcmp(call->args[0], "-") == 0 && strcmp(call->args[1], "-") == 0)
        return cli_usage(call, err, "P and Q cannot both be standard input");
    read.max_rows = weighted ? 0 : opts->max_rows; /* a weight is that of a row that is held */
    if ((st = wm_schema_new(&r->schema, err)))
        return st;
    if ((st = wm_data_read_tables(r->table, call->args, 2, r->schema, &read, err)))
        return st;
    for (int t = 0; t < 2; t++)
        if ((st = read_weights(r, t, opts->weights[t], o, err)))
            return st;
    return is_sample(r) && read.missing != WM_MISSING_MEAN ? read_moments(r, call, &read, o, err)
                                                           : WM_OK;
}

/* What the answer is not about. Names are a file's: an error's text has nothing that a terminal
 * obeys. */
static void print_left_out(const wm_study *study)
{
    const wm_study_column *c;
    wm_error name;
    int n = 0;

    for (int64_t j = 0; (c = wm_study_column_at(study, j)); j++)
        if (c->aside) {
            wm_error_set(&name, WM_OK, __FILE__, __LINE__, "%.60s", c->name);
            printf("%s'%s'", n++ ? ", " : "without ", name.text);
        }
    if (n)
        printf(" (left out: the page and the messages say why)\n");
}

/* A divergence, or where one table has rows whose levels the other lacks, that of the others. */
static void put_divergence(cli_call *call, const char *key, const wm_estimate *kl,
                           wm_verdict verdict, double lone, const wm_estimate *rest)
{
    const double unit = units_per_nat(call);
    char name[32];

    summary_estimate(call->summary, key, kl, unit);
    snprintf(name, sizeof name, "%s_verdict", key);
    wm_summary_text(call->summary, name, wm_verdict_text(verdict));
    if (!(lone > 0))
        return;
    snprintf(name, sizeof name, "%s_lone", key);
    wm_summary_real(call->summary, name, lone);
    snprintf(name, sizeof name, "%s_rest", key);
    summary_estimate(call->summary, name, rest, unit);
}

static void print_divergence(const cli_call *call, const char *name, const char *table,
                             const wm_estimate *kl, wm_verdict verdict, double lone,
                             const wm_estimate *rest)
{
    if (!(lone > 0)) {
        print_estimate(call, name, kl, "", verdict);
        return;
    }
    printf("%s: infinite or cannot be told, for the reason below\n", name);
    if (isnan(rest->value)) {
        printf("  nor is there a number without the %.2g %% of the rows of %s that make it so\n",
               100 * lone, table);
        return;
    }
    printf("  without the %.2g %% of the rows of %s that make it so: ", 100 * lone, table);
    print_estimate(call, name, rest, "", WM_DOUBT);
}

static wm_status run(cli_call *call, wm_error *err)
{
    ratio_opts *opts = call->opts;
    ratio_run r = {0};
    wm_metrics metrics;
    wm_study_info info;
    wm_status st;

    if ((st = study_start(&opts->study, &metrics, call, err)) ||
        (st = read_all(&r, call, &opts->study.fit, err)) ||
        (st = wm_study_run(&r.study, r.table[0], r.table[1], r.schema, &opts->study.fit, err)) ||
        (st = wm_metrics_done(&metrics, err)) || call->helper)
        goto done;
    wm_study_get_info(r.study, &info);
    if (is_sample(&r) && info.model != WM_RATIO_QUADRATIC)
        wm_say(call->sink, WM_LOG_WARN,
               "the answer is that of the rows that are held (--max-rows): only a quadratic ratio "
               "has the moments of all rows");
    if (is_sample(&r))
        WM_PUT(call->summary, WM_INTEGER("n_p_held", info.n_p), WM_INTEGER("n_q_held", info.n_q));
    info.n_p = wm_data_total(r.table[0]);
    info.n_q = wm_data_total(r.table[1]);
    WM_PUT(call->summary, WM_INTEGER("n_p", info.n_p), WM_INTEGER("n_q", info.n_q),
           WM_TEXT("objective", objective_names[opts->study.fit.objective]));
    put_divergence(call, "kl_pq", &info.kl_pq, info.verdict_pq, info.lone_p, &info.rest_pq);
    put_divergence(call, "kl_qp", &info.kl_qp, info.verdict_qp, info.lone_q, &info.rest_qp);
    study_summary(call, r.study);
    summary_columns(call, r.study);
    if (cli_shows_tables(call)) {
        print_divergence(call, "KL(p, q)", "p", &info.kl_pq, info.verdict_pq, info.lone_p,
                         &info.rest_pq);
        print_divergence(call, "KL(q, p)", "q", &info.kl_qp, info.verdict_qp, info.lone_q,
                         &info.rest_qp);
        print_left_out(r.study);
        printf("from %" PRId64 " rows of p and %" PRId64 " of q, %" PRId64 " column%s, %" PRId64
               " folds\n%s",
               info.n_p, info.n_q, info.dim, info.dim == 1 ? "" : "s", info.folds,
               call->common->quiet ? "" : "\n");
        if ((st = print_columns(call, r.study, err)) || (st = study_tables(call, r.study, err)))
            goto done;
    }
    st = study_finish(call, r.study, r.table[0], r.table[1], r.schema, err);
done:
    free_run(&r);
    return st;
}

const cli_command cmd_ratio = {
    .name = "ratio",
    .about = "the log-ratio of two densities from samples: divergences, checks, a verdict",
    .arguments = "P Q",
    .details =
        "P and Q are tables of samples: rows are samples, columns the same in both (npy, npz, CSV, "
        "TSV, gzipped, IDX, safetensors; FILE:NAME names an array; - is stdin). Direction: log "
        "p/q. With -o the model is kept, for `waymark apply`, with figures and a page.",
    .examples = "waymark data shift -o shift\n"
                "waymark ratio shift/p.npy shift/q.npy\n"
                "waymark ratio before.csv after.csv -o run && xdg-open run/report.html\n"
                "waymark ratio p.npy q.npy --model mlp --bridges 4 --json",
    .common = CLI_ALL | CLI_RANKS,
    CLI_OPTIONS(rows, ratio_opts, defaults),
    .run = run,
};
