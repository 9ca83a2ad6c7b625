/* cmd_mi.c - `waymark mi U V`: mutual information with its interval, what the method says of
 * shuffled pairs, and on request what others say. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "commands/estimate.h"
#include "frame/commands.h"
#include "waymark/mi.h"

typedef struct mi_opts {
    bool dims, plain, shuffled, compare;
    study_flags study;
    read_flags read;
} mi_opts;

#define OPTS mi_opts

static const opt_row rows[] = {
    FLAG(dims, "dims", "one file, of which the first DX columns are u and the next DY are v"),
    FLAG(plain, "plain", "print the number and nothing else, on either stream", .transient = true),
    FLAG(compare, "compare", "beside InfoNCE, NWJ, DV, JS, SMILE and KSG"),
    FLAG(study.fit.by_rank, "gaussianise",
         "make continuous columns normal by rank; the mutual information stays"),
    FLAG(shuffled, "shuffled", "also what the method says of shuffled pairs, where the truth is 0"),
    ROWS(study, study_rows),
    ROWS(read, read_table_options),
    {0},
};

static void defaults(void *opts)
{
    mi_opts *o = opts;

    study_flags_init(&o->study);
    o->study.fit.by_rank = o->shuffled = true;
}

typedef struct mi_run {
    wm_schema *schema;
    wm_data *joint; /* columns of u, then of v */
    int64_t dim_u;
    wm_study *study;
    wm_estimate null; /* NaN where it was not asked for */
    wm_mi_by_method single[WM_MI_METHODS];
} mi_run;

static void free_run(mi_run *r)
{
    wm_study_free(r->study);
    wm_data_free(r->joint);
    wm_schema_free(r->schema);
}

/* ---- reading ---- */

/* FILE DX DY */
static wm_status read_one(mi_run *r, cli_call *call, const wm_read_opts *read, wm_error *err)
{
    const opt_row size = {.name = "dims", .lo = 1, .hi = 1e9};
    int64_t dim[2];
    wm_status st;

    for (int i = 0; i < 2; i++)
        if (opt_integer(&dim[i], &size, call->args[1 + i], NULL))
            return cli_usage(call, err, "%s '%.40s': must be a number of columns, from 1",
                             i ? "DY" : "DX", call->args[1 + i]);
    if ((st = wm_schema_new(&r->schema, err)) ||
        (st = wm_data_read(&r->joint, call->args[0], r->schema, read, err)))
        return st;
    r->dim_u = dim[0];
    if (dim[0] + dim[1] != wm_data_dim(r->joint))
        return cli_usage(call, err,
                         "%s has %" PRId64 " columns, not %" PRId64 " of u and %" PRId64 " of v",
                         call->args[0], wm_data_dim(r->joint), dim[0], dim[1]);
    return WM_OK;
}

/* U V: two schemas, which become one. */
static wm_status read_two(mi_run *r, cli_call *call, wm_error *err)
{
    pair_tables t = {0};
    wm_status st = pair_tables_read(&t, &((const mi_opts *)call->opts)->read,
                                    (const bool[]){false, false}, call, err);

    if (!st && !(st = wm_schema_join(&r->schema, t.schema[0], t.schema[1], err)) &&
        !(st = wm_mi_join(&r->joint, t.data[0], t.data[1], err)))
        r->dim_u = wm_data_dim(t.data[0]);
    pair_tables_free(&t);
    return st;
}

static wm_status read_pairs(mi_run *r, cli_call *call, wm_error *err)
{
    const mi_opts *opts = call->opts;
    const wm_read_opts read = read_opts(&opts->read, opts->plain ? NULL : call->sink);

    if (call->n_args == 3)
        return read_one(r, call, &read, err);
    if (opts->dims || opts->plain)
        return cli_usage(call, err, "%s: give one FILE and the numbers of columns, DX and DY",
                         opts->plain ? "--plain" : "--dims");
    return read_two(r, call, err);
}

/* ---- the answer ---- */

/* The same model and chain on shuffled pairs. */
static wm_status run_null(mi_run *r, cli_call *call, const wm_study_opts *main, wm_error *err)
{
    wm_study_opts o = *main;
    wm_data *shuffled = NULL;
    wm_study *null = NULL;
    wm_study_info info;
    wm_status st;

    wm_study_get_info(r->study, &info);
    o.models[0] = info.model;
    o.n_models = 1;
    o.bridges = info.bridges;
    o.given_spacing = info.linear_columns;
    o.spacing.kind = WM_SPACING_LIST;
    o.spacing.n_list = info.bridges + 1;
    memcpy(o.spacing.list, info.alphas.alpha, (size_t)(info.bridges + 1) * sizeof(double));
    o.folds = info.model & WM_RATIO_TRAINED ? 2 : o.folds;
    o.control.checkpoint = NULL;
    if (!(st = wm_mi_shuffle(&shuffled, r->joint, r->dim_u, (uint64_t)call->common->seed, err)) &&
        !(st = wm_study_run(&null, shuffled, NULL, r->schema, &o, err))) {
        wm_study_get_info(null, &info);
        r->null = info.kl_pq;
    }
    wm_study_free(null);
    wm_data_free(shuffled);
    return st;
}

static wm_status run_others(mi_run *r, cli_call *call, wm_error *err)
{
    wm_mi_method all[WM_MI_METHODS];
    wm_mi_opts o;

    for (int i = 0; i < WM_MI_METHODS; i++)
        all[i] = (wm_mi_method)i;
    wm_mi_opts_init(&o);
    o.dim_u = r->dim_u;
    o.by_rank = ((const mi_opts *)call->opts)->study.fit.by_rank;
    o.control = cli_control(call);
    o.control.time_limit = 0; /* --time-limit is the study's */
    return wm_mi_methods_run(r->single, WM_MI_METHODS, all, r->joint, r->schema, &o, err);
}

static void summarise(mi_run *r, cli_call *call, const wm_study_info *info)
{
    const mi_opts *opts = call->opts;
    const double unit = units_per_nat(call);
    wm_summary *s = call->summary;

    WM_PUT(s, WM_INTEGER("dim_u", r->dim_u), WM_INTEGER("dim_v", info->dim - r->dim_u),
           WM_TEXT("objective", objective_names[opts->study.fit.objective]));
    summary_estimate(s, "mi", &info->kl_pq, unit);
    if (opts->shuffled)
        summary_estimate(s, "shuffled", &r->null, unit);
    for (int i = 0; opts->compare && i < WM_MI_METHODS; i++) {
        const wm_mi_by_method *m = &r->single[i];
        WM_PUT(wm_summary_row(s, "compare"), WM_TEXT("method", wm_mi_method_name((wm_mi_method)i)),
               WM_REAL("mi", m->mi * unit), WM_REAL("mi_se", m->se * unit),
               WM_REAL("bound", m->bound * unit), WM_BOOL("doubtful", m->doubtful),
               WM_REAL("seconds", m->seconds));
    }
    study_summary(call, r->study);
}

static wm_status compare_table(const mi_run *r, const cli_call *call, const wm_study_info *info,
                               wm_error *err)
{
    const double unit = units_per_nat(call);
    char headers[48];
    wm_text_table *t;
    wm_status st;

    snprintf(headers, sizeof headers, "<method|%s|limit|seconds", units_name(call));
    t = wm_text_table_new("Beside others, which use one ratio or none", headers);
    WM_ROW(t, WM_CELL_TEXT("telescope"),
           WM_CELL_SE(info->kl_pq.value * unit, info->kl_pq.se * unit, 3), WM_CELL_TEXT(NULL),
           WM_CELL_REAL(info->seconds, 2));
    for (int i = 0; i < WM_MI_METHODS; i++) {
        const wm_mi_by_method *m = &r->single[i];

        WM_ROW(t, WM_CELL_TEXT(wm_mi_method_name((wm_mi_method)i)),
               WM_CELL_SE(m->mi * unit, m->se * unit, 3));
        wm_text_table_tone(t, m->doubtful ? WM_TONE_WARN : WM_TONE_PLAIN);
        WM_ROW(t, isfinite(m->bound) ? WM_CELL_REAL(m->bound * unit, 3) : WM_CELL_TEXT(NULL),
               WM_CELL_REAL(m->seconds, 2));
    }
    st = wm_text_table_finish(t, stdout, err);
    printf("Standard errors of the others are those of the rows: what a method misses (bias) they "
           "do not\nsee.\n\n");
    return st;
}

static wm_status show(const mi_run *r, const cli_call *call, const wm_study_info *info,
                      wm_error *err)
{
    const mi_opts *opts = call->opts;
    const double unit = units_per_nat(call);
    wm_status st;

    print_estimate(call, "I(u; v)", &info->kl_pq, "", wm_checks_verdict(wm_study_checks(r->study)));
    if (opts->shuffled)
        printf("shuffled pairs: %.4f, standard error %.4f (the truth is 0)\n", r->null.value * unit,
               r->null.se * unit);
    printf("from %" PRId64 " pairs of %" PRId64 " and %" PRId64 " columns, %" PRId64 " folds\n%s",
           info->n_p, r->dim_u, info->dim - r->dim_u, info->folds, call->common->quiet ? "" : "\n");
    if (opts->compare && (st = compare_table(r, call, info, err)))
        return st;
    return study_tables(call, r->study, err);
}

static wm_status run(cli_call *call, wm_error *err)
{
    mi_opts *opts = call->opts;
    wm_study_opts *o = &opts->study.fit;
    mi_run r = {.null = {NAN, NAN, NAN, NAN}};
    wm_metrics metrics;
    wm_study_info info;
    wm_status st;

    if ((st = study_start(&opts->study, &metrics, call, err)) || (st = read_pairs(&r, call, err)))
        goto done;
    o->pairs = r.dim_u;
    if (opts->plain)
        o->control.sink = NULL;
    if ((st = wm_study_run(&r.study, r.joint, NULL, r.schema, o, err)))
        goto done;
    wm_study_get_info(r.study, &info);
    if (opts->plain) {
        printf("%.6f\n", info.kl_pq.value * units_per_nat(call));
        call->published = true;
        goto done;
    }
    if ((opts->shuffled && (st = run_null(&r, call, o, err))) || call->helper ||
        (opts->compare && (st = run_others(&r, call, err))) ||
        (st = wm_metrics_done(&metrics, err)))
        goto done;
    summarise(&r, call, &info);
    if (!cli_shows_tables(call) || !(st = show(&r, call, &info, err)))
        st = study_finish(call, r.study, r.joint, NULL, r.schema, err);
done:
    free_run(&r);
    return st;
}

const cli_command cmd_mi = {
    .name = "mi",
    .about = "mutual information of pairs of rows, with interval, checks and a verdict",
    .arguments = "U V | FILE DX DY",
    .details = "Row i of U and row i of V are a pair; or FILE has both, DX columns of u and then "
               "DY of v (`--dims` may stand before the numbers). Continuous columns are made "
               "normal by rank, which leaves the mutual information as it is. --plain FILE DX DY "
               "prints one number and nothing else, as the bmi benchmark wants it.",
    .examples = "waymark data student --mi 1 -o pairs\n"
                "waymark mi pairs/u.npy pairs/v.npy\n"
                "waymark mi spikes.csv --dims 5 5 --compare --bits\n"
                "waymark mi --plain pairs.csv 5 5",
    .common = CLI_ALL | CLI_RANKS,
    CLI_OPTIONS(rows, mi_opts, defaults),
    .run = run,
};
