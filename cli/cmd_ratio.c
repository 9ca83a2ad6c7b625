/* cmd_ratio.c - `waymark ratio P Q`: how two samples differ, and whether to believe it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "estimate.h"

typedef struct ratio_opts {
    const char *weights[2];
    study_flags study;
    read_flags read;
} ratio_opts;

static const opt_row rows[] = {
    {.kind = OPT_TEXT,
     .name = "p-weights",
     .at = offsetof(ratio_opts, weights[0]),
     .arg = "FILE",
     .help = "one weight for each row of P, not negative",
     .unset = "all 1"},
    {.kind = OPT_TEXT,
     .name = "q-weights",
     .at = offsetof(ratio_opts, weights[1]),
     .arg = "FILE",
     .help = "likewise for Q",
     .unset = "all 1"},
    STUDY_ROWS(ratio_opts, study),
    READ_ROWS(ratio_opts, read),
    {0},
};

static void defaults(void *opts)
{
    study_flags_init(&((ratio_opts *)opts)->study);
}

/* What a run holds, to be freed together. */
typedef struct ratio_run {
    wm_schema *schema;
    wm_data *table[2], *weights[2];
    wm_study *study;
} ratio_run;

static void free_run(ratio_run *r)
{
    wm_study_free(r->study);
    for (int t = 0; t < 2; t++) {
        wm_data_free(r->weights[t]);
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
    if (!(st = wm_schema_new(&schema, err)))
        st = wm_data_read(&r->weights[which], path, schema, &read, err);
    wm_schema_free(schema);
    if (st)
        return st;
    if (wm_data_dim(r->weights[which]) != 1 ||
        wm_data_count(r->weights[which]) != wm_data_count(r->table[which])) {
        if (err) {
            *err = (wm_error){.code = WM_ESHAPE};
            snprintf(err->text, sizeof err->text,
                     "%.120s: %" PRId64 " rows of %" PRId64 " columns; one weight is needed for "
                     "each of the %" PRId64 " rows of %s",
                     path, wm_data_count(r->weights[which]), wm_data_dim(r->weights[which]),
                     wm_data_count(r->table[which]), which ? "Q" : "P");
        }
        return WM_ESHAPE;
    }
    o->weights[which] = wm_data_rows(r->weights[which]);
    return WM_OK;
}

static wm_status read_all(ratio_run *r, cli_call *call, wm_study_opts *o, wm_error *err)
{
    const ratio_opts *opts = call->opts;
    const wm_read_opts read = read_opts(&opts->read, call->sink);
    wm_status st;

    if (strcmp(call->args[0], "-") == 0 && strcmp(call->args[1], "-") == 0)
        return cli_usage(call, err, "P and Q cannot both be standard input");
    if ((st = wm_schema_new(&r->schema, err)))
        return st;
    for (int t = 0; t < 2; t++)
        if ((st = wm_data_read(&r->table[t], call->args[t], r->schema, &read, err)))
            return st;
    for (int t = 0; t < 2; t++)
        if ((st = read_weights(r, t, opts->weights[t], o, err)))
            return st;
    return WM_OK;
}

static void print_estimates(const cli_call *call, const wm_study_info *info)
{
    const double unit = units_per_nat(call);
    const wm_estimate *const e[] = {&info->kl_pq, &info->kl_qp};
    static const char *const names[] = {"KL(p, q)", "KL(q, p)"};

    for (int i = 0; i < 2; i++)
        printf("%s = %.4f %s, standard error %.4f, 95 %% interval %.4f to %.4f\n", names[i],
               e[i]->value * unit, units_name(call), e[i]->se * unit, e[i]->lo * unit,
               e[i]->hi * unit);
    printf("from %" PRId64 " rows of p and %" PRId64 " of q, %" PRId64 " column%s, %" PRId64
           " folds\n\n",
           info->n_p, info->n_q, info->dim, info->dim == 1 ? "" : "s", info->folds);
}

static wm_status run(cli_call *call, wm_error *err)
{
    const ratio_opts *opts = call->opts;
    const double unit = units_per_nat(call);
    ratio_run r = {0};
    wm_study_opts o;
    wm_study_info info;
    wm_status st;

    if ((st = study_opts(&o, &opts->study, call, err)) || (st = read_all(&r, call, &o, err)) ||
        (st = wm_study_run(&r.study, r.table[0], r.table[1], r.schema, &o, err)))
        goto done;
    wm_study_get_info(r.study, &info);
    wm_summary_integer(call->summary, "n_p", info.n_p);
    wm_summary_integer(call->summary, "n_q", info.n_q);
    wm_summary_text(call->summary, "objective", study_objective_names[opts->study.objective]);
    summary_estimate(call->summary, "kl_pq", &info.kl_pq, unit);
    summary_estimate(call->summary, "kl_qp", &info.kl_qp, unit);
    study_summary(call, r.study);
    if (cli_shows_tables(call)) {
        print_estimates(call, &info);
        if ((st = study_tables(call, r.study, err)))
            goto done;
    }
    if (!(st = study_save(call, r.study, err)) && !(st = cli_publish(call, err)))
        st = study_figures(call, r.study, r.table[0], r.table[1], r.schema, err);
done:
    free_run(&r);
    return st;
}

const cli_command cmd_ratio = {
    .name = "ratio",
    .about = "the log-ratio of two densities from samples: divergences, checks, a verdict",
    .arguments = "P Q",
    .min_args = 2,
    .max_args = 2,
    .details = "P and Q are tables of samples: rows are samples, columns the same in both (npy, "
               "npz, CSV,\n"
               "TSV, gzipped, IDX, safetensors; FILE:NAME names an array; - is stdin). Direction: "
               "log p/q.\n"
               "With -o the model is kept, for `waymark apply`, with figures and a page.",
    .examples = "waymark data shift -o shift\n"
                "waymark ratio shift/p.npy shift/q.npy\n"
                "waymark ratio before.csv after.csv -o run && xdg-open run/report.html\n"
                "waymark ratio p.npy q.npy --model mlp --bridges 4 --json",
    .common = CLI_ALL,
    .rows = rows,
    .opts_size = sizeof(ratio_opts),
    .defaults = defaults,
    .run = run,
};
