/* estimate.c - options, summary and tables of a study. */
#include "commands/estimate.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands/show_checks.h"
#include "frame/interrupt.h"
#include "options/fitting.h"

const char *const read_header_names[] = WM_CHOICE_NAMES;
const char *const read_format_names[] = {"auto", "npy", "npz",         "csv",
                                         "tsv",  "idx", "safetensors", NULL};
static const char *const missing_names[] = {"refuse", "drop", "mean", NULL};
static const char *const decimal_names[] = {"auto", "point", "comma", NULL};
static const char *const dates_names[] = {"auto", "dmy", "mdy", "text", NULL}; /* by wm_dates */

#define OPTS read_flags

const opt_row read_column_options[] = {
    TEXT(o.columns, "columns", "LIST",
         "columns to read: names, numbers from 1, ranges (2-5), names with * and ?",
         .unset = "all"),
    TEXT(o.drop, "drop", "LIST", "columns to leave out", .unset = "none"),
    CHOICE(decimal, "decimal", "SIGN", decimal_names,
           "of numbers in text, where they do not tell: 1,234"),
    CHOICE(o.dates, "dates", "ORDER", dates_names,
           "of day and month, where values do not tell, as in 01/02/2024; text: no dates"),
    {0},
};

const opt_row read_file_options[] = {
    HEADING("Reading"),
    {.kind = OPT_ROWS, .rows = read_column_options},
    CHOICE(o.missing, "missing", "WHAT", missing_names,
           "missing values: refuse the file, drop the row, or take the column's mean"),
    CHOICE(header, "header", "WHAT", read_header_names,
           "whether the first line of a CSV has names"),
    CHOICE(format, "format", "NAME", read_format_names, "of the file; auto: by content"),
    {0},
};

const opt_row read_table_options[] = {
    {.kind = OPT_ROWS, .rows = read_file_options},
    TEXT(o.categorical, "categorical", "LIST",
         "columns of categories: names or numbers from 1, or all", .unset = "found"),
    TEXT(o.integer, "integer", "LIST", "columns of counts or grades", .unset = "found"),
    TEXT(o.continuous, "continuous", "LIST", "columns of other numbers", .unset = "found"),
    {0},
};

wm_read_opts read_opts(const read_flags *f, const wm_sink *sink)
{
    static const char decimals[] = {0, '.', ','};
    wm_read_opts o = f->o;

    o.struct_size = sizeof o;
    o.format = f->format ? read_format_names[f->format] : NULL;
    o.header = f->header - 1;
    o.decimal = decimals[f->decimal];
    o.sink = sink;
    o.stop = interrupt_flag();
    return o;
}

wm_read_opts pair_read_opts(const read_flags *f, const wm_sink *sink)
{
    wm_read_opts o = read_opts(f, sink);

    if (o.missing == WM_MISSING_DROP)
        o.missing = WM_MISSING_KEEP;
    return o;
}

wm_status drop_pairs(wm_data *u, wm_data *v, const read_flags *f, const wm_sink *sink,
                     wm_error *err)
{
    const int64_t n = wm_data_count(u);
    int64_t dropped;
    wm_status st;

    /* Where the numbers of rows differ, the code that joins the two reports it. */
    if (f->o.missing != WM_MISSING_DROP || n != wm_data_count(v))
        return WM_OK;
    if ((st = wm_data_drop_pairs(u, v, &dropped, err)) || !dropped)
        return st;
    wm_say(sink, WM_LOG_WARN,
           "%" PRId64 " of %" PRId64 " pairs have a missing value and were left out", dropped, n);
    return WM_OK;
}

wm_status pair_tables_read(pair_tables *t, const read_flags *f, const bool all[2], cli_call *call,
                           wm_error *err)
{
    wm_status st;

    if (strcmp(call->args[0], "-") == 0 && strcmp(call->args[1], "-") == 0)
        return cli_usage(call, err, "U and V cannot both be standard input");
    for (int s = 0; s < 2; s++) {
        wm_read_opts o = pair_read_opts(f, call->sink);

        if (all[s]) {
            o.categorical = o.integer = NULL;
            o.continuous = "all";
        }
        if ((st = wm_schema_new(&t->schema[s], err)) ||
            (st = wm_data_read(&t->data[s], call->args[s], t->schema[s], &o, err)))
            return st;
    }
    return drop_pairs(t->data[0], t->data[1], f, call->sink, err);
}

void pair_tables_free(pair_tables *t)
{
    for (int s = 0; s < 2; s++) {
        wm_data_free(t->data[s]);
        wm_schema_free(t->schema[s]);
    }
}

const char *const objective_names[] = WM_OBJECTIVE_NAMES;
static const char *const optimizer_names[] = {"auto", "adam", "convex", NULL};

#undef OPTS
#define OPTS study_flags

const opt_row study_rows[] = {
    HEADING("Waymarks and bridges"),
    INTEGER(fit.bridges, "bridges", "N", 1, 1024,
            "number of bridges, or auto: halve hard ones, merge idle ones", .unset = "auto"),
    TEXT(spacing, "spacing", "HOW", "auto (equally hard), power:P, symmetric:P or list:A,B,..."),
    INTEGER(fit.max_bridges, "max-bridges", "N", 1, 1024, "that auto may use"),
    TEXT(model, "model", "TERMS",
         "auto (the best by held-out loss), or a sum, joined by +, of linear, quadratic, "
         "additive (a curve for each column), mlp, and for mi separable; or mixture (of Gaussians, "
         "for ratio)"),
    CHOICE(fit.objective, "objective", "NAME", objective_names, "loss of the bridges"),
    CHOICE(fit.optimizer, "optimizer", "NAME", optimizer_names,
           "convex: moments, tested and refined; auto: that where it applies, else adam"),
    CHOICE(fit.whiten, "whiten", "WHAT", choice_names,
           "networks read uncorrelated combinations of the columns; auto: if a short training "
           "likes them better"),
    HEADING("Fitting"),
    INTEGER(fit.folds, "folds", "N", 2, 100, "no row is judged by a fit that has seen it"),
    INTEGER(fit.ensemble, "ensemble", "N", 1, 100, "networks in each fold"),
    INTEGER(fit.adam.iterations, "iterations", "N", 1, 1e9, "steps of Adam",
            .unset = "auto, by the amount of data"),
    INTEGER(fit.adam.batch, "batch", "N", 1, 1e6, "trajectories in a step"),
    REAL(fit.adam.lr, "lr", "X", 0, 10, LR_HELP, .above = true, .unset = "auto, by the model"),
    INTEGER(fit.width, "width", "N", 1, 65536, "of the network"),
    INTEGER(fit.blocks, "blocks", "N", 0, 100, "residual blocks of the network"),
    {0},
};

void study_flags_init(study_flags *f)
{
    *f = (study_flags){.model = "auto", .spacing = "auto"};
    wm_study_opts_init(&f->fit);
}

double units_per_nat(const cli_call *call)
{
    return call->common->bits ? 1 / log(2) : 1;
}

wm_status study_start(study_flags *f, wm_metrics *metrics, cli_call *call, wm_error *err)
{
    const unsigned convex = WM_RATIO_LINEAR | WM_RATIO_QUADRATIC;
    wm_study_opts *o = &f->fit;
    wm_error why = {0};
    wm_status st;

    if (strcmp(f->model, "auto") != 0) {
        if (wm_ratio_model_parse(&o->models[0], f->model, &why))
            return cli_usage(call, err, "--model: %s", why.text);
        o->n_models = 1;
    }
    o->given_spacing = strcmp(f->spacing, "auto") != 0;
    if (o->given_spacing && (st = take_spacing(&o->spacing, &o->bridges, f->spacing, call, err)))
        return st;
    if (o->optimizer == WM_OPTIMIZER_CONVEX &&
        (o->objective != WM_OBJECTIVE_LOGISTIC || (o->n_models && o->models[0] & ~convex)))
        return cli_usage(call, err,
                         "--optimizer convex fits linear and quadratic models with the logistic "
                         "objective: choose adam, or auto");
    *metrics = (wm_metrics){.folder = call->run,
                            .model_text = wm_ratio_model_text,
                            .estimate = "log_ratio",
                            .per_nat = units_per_nat(call),
                            .bridges = WM_METRICS_LOSSES};
    o->control.on_eval = call->run ? wm_metrics_eval : NULL;
    o->control.ctx = metrics;
    return cli_steer(&o->control, call, "state-", err);
}

const char *units_name(const cli_call *call)
{
    return call->common->bits ? "bits" : "nats";
}

void summary_estimate(wm_summary *s, const char *name, const wm_estimate *e, double per_unit)
{
    const double interval[2] = {e->lo * per_unit, e->hi * per_unit};
    char key[64];

    wm_summary_real(s, name, e->value * per_unit);
    snprintf(key, sizeof key, "%s_se", name);
    wm_summary_real(s, key, e->se * per_unit);
    snprintf(key, sizeof key, "%s_ci95", name);
    wm_summary_reals(s, key, interval, 2);
}

void summary_bridge(wm_summary *s, int64_t k, const wm_bridge *b, double per_unit)
{
    WM_PUT(wm_summary_row(s, "bridges"), WM_INTEGER("k", k), WM_REAL("alpha_from", b->alpha_from),
           WM_REAL("alpha_to", b->alpha_to), WM_REAL("loss", b->loss),
           WM_REAL("accuracy", b->accuracy),
           WM_REAL("mean_log_ratio", b->mean_log_ratio * per_unit));
}

static void summary_normaliser(wm_summary *s, const char *name, const wm_normaliser *n)
{
    wm_summary *o = wm_summary_object(s, name);

    WM_PUT(o, WM_REAL("log_mean", n->log_mean), WM_REAL("se", n->se), WM_REAL("ess", n->ess),
           WM_REAL("pareto_k", n->pareto_k));
}

static const check_advice advice[] = {
    {"chasm", "Use --bridges auto or a larger number, or another --spacing.", WM_CHECK_OK},
    {"bridges", "See --iterations and --model.", WM_CHECK_OK},
    {"tails", "See --max-bridges.", WM_CHECK_OK},
    {"overfitting", "See --model.", WM_CHECK_OK},
    {0},
};

void study_summary(cli_call *call, const wm_study *study)
{
    wm_summary *s = call->summary;
    wm_study_info info;
    char name[64];

    wm_study_get_info(study, &info);
    WM_PUT(s, WM_INTEGER("n_train", info.n_train), WM_INTEGER("n_test", info.n_test),
           WM_INTEGER("dim", info.dim),
           WM_TEXT("model", wm_ratio_model_text(info.model, name, sizeof name)),
           WM_BOOL("whitened", info.whitened), WM_INTEGER("mixed_columns", info.mixed_columns),
           WM_INTEGER("folds", info.folds), WM_INTEGER("rounds", info.rounds));
    if (info.linear_columns)
        wm_summary_reals(s, "alphas", info.alphas.alpha, info.bridges + 1);
    for (int64_t k = 0; k < info.bridges; k++) {
        wm_bridge b;

        wm_study_get_bridge(study, k, &b);
        summary_bridge(s, k, &b, units_per_nat(call));
    }
    for (int64_t i = 0; i < wm_study_candidates(study); i++) {
        const wm_candidate *c = wm_study_candidate(study, i);
        WM_PUT(wm_summary_row(s, "candidates"),
               WM_TEXT("model", wm_ratio_model_text(c->model, name, sizeof name)),
               WM_REAL("loss", c->loss), WM_BOOL("kept", c->kept), WM_BOOL("given_up", c->given_up),
               WM_REAL("seconds", c->seconds));
    }
    summary_normaliser(s, "mean_ratio_under_q", &info.under_q);
    summary_normaliser(s, "mean_inverse_under_p", &info.under_p);
    wm_summary_text(s, "interval", wm_interval_text(info.interval));
    wm_summary_text(s, "units", units_name(call));
    summary_checks(call, wm_study_checks(study), advice);
}

/* ---- tables ---- */

void print_estimate(const cli_call *call, const char *name, const wm_estimate *e, const char *note,
                    wm_verdict verdict)
{
    const double unit = units_per_nat(call);

    if (verdict == WM_REJECT)
        printf("%s: no answer, rejected for the reason below (the fit says %.4g %s)\n", name,
               e->value * unit, units_name(call));
    else
        printf("%s = %.4f %s, standard error %.4f%s, 95 %% interval %.4f to %.4f\n", name,
               e->value * unit, units_name(call), e->se * unit, note, e->lo * unit, e->hi * unit);
}

wm_status print_bridges(const cli_call *call, const char *what, const wm_bridge *b, int64_t n,
                        const wm_estimate *own, wm_error *err)
{
    const double unit = units_per_nat(call);
    const bool alphas = n > 0 && !isnan(b[0].alpha_from);
    char title[160], headers[64];
    wm_text_table *t;

    if (call->common->quiet)
        return WM_OK;
    snprintf(title, sizeof title, "%" PRId64 " bridge%s, %s", n, n == 1 ? "" : "s", what);
    snprintf(headers, sizeof headers, "bridge%s|loss|accuracy|%s", alphas ? "|alpha from|to" : "",
             units_name(call));
    t = wm_text_table_new(title, headers);
    for (int64_t k = 0; k < n; k++) {
        WM_ROW(t, WM_CELL_INTEGER(k));
        if (alphas)
            WM_ROW(t, WM_CELL_REAL(b[k].alpha_from, 4), WM_CELL_REAL(b[k].alpha_to, 4));
        WM_ROW(t, WM_CELL_REAL(b[k].loss, 3));
        wm_text_table_tone(t, b[k].loss < WM_CHASM_LOSS ? WM_TONE_BAD : WM_TONE_PLAIN);
        WM_ROW(t, WM_CELL_REAL(b[k].accuracy, 3),
               own ? WM_CELL_SE(own[k].value * unit, own[k].se * unit, 3)
                   : WM_CELL_REAL(b[k].mean_log_ratio * unit, 3));
    }
    return wm_text_table_finish(t, stdout, err);
}

/* How waymarks are made, where not all columns are numbers on a continuum. */
static void print_mixing(const wm_study_info *info)
{
    if (!info->mixed_columns || info->bridges < 2)
        return;
    printf("Waymarks: %" PRId64 " column%s of whole numbers or categories %s from p's value to q's "
           "at once\n(dimension-wise mixing)%s.\n",
           info->mixed_columns, info->mixed_columns == 1 ? "" : "s",
           info->mixed_columns == 1 ? "goes" : "go, one after the other,",
           info->linear_columns ? "; the others move gradually" : "");
}

wm_status study_tables(const cli_call *call, const wm_study *study, wm_error *err)
{
    wm_bridge b[WM_ALPHAS_MAX];
    char what[160], name[64];
    wm_study_info info;
    wm_status st;

    wm_study_get_info(study, &info);
    for (int64_t k = 0; k < info.bridges; k++) {
        wm_study_get_bridge(study, k, &b[k]);
        if (!info.linear_columns)
            b[k].alpha_from = NAN; /* means nothing, and is not shown */
    }
    snprintf(what, sizeof what, "%s%s (%s)", wm_ratio_model_text(info.model, name, sizeof name),
             info.whitened ? " on whitened columns" : "",
             info.spacing_found ? "found" : "as given");
    if ((st = print_bridges(call, what, b, info.bridges, NULL, err)))
        return st;
    if (!call->common->quiet && info.bridges > 1)
        printf("Each bridge's %s are the mean over its own waymark; the answer asks all bridges "
               "about rows of p,\nso these need not sum to it.\n",
               units_name(call));
    if (!call->common->quiet)
        print_mixing(&info);
    print_checks(call, wm_study_checks(study), advice);
    return WM_OK;
}

/* ---- the folder ---- */

/* Training states of a run that is done: files that begin with `prefix`. */
static void remove_states(const char *prefix)
{
    const char *name = strrchr(prefix, '/');
    char folder[4096], path[4096 + 256];
    struct dirent *entry;
    DIR *dir;

    if (!name || (size_t)(name - prefix) >= sizeof folder)
        return;
    memcpy(folder, prefix, (size_t)(name - prefix));
    folder[name - prefix] = 0;
    name++;
    if (!(dir = opendir(folder)))
        return;
    while ((entry = readdir(dir)))
        if (strncmp(entry->d_name, name, strlen(name)) == 0) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            unlink(path);
        }
    closedir(dir);
}

wm_status study_finish(cli_call *call, const wm_study *study, const wm_data *p, const wm_data *q,
                       const wm_schema *schema, wm_error *err)
{
    wm_figure *figures[WM_STUDY_FIGURES];
    const char *path, *states;
    wm_status st;

    if (!call->run)
        return cli_publish(call, err);
    if ((st = wm_run_folder_path(&path, call->run, "model.safetensors", err)) ||
        (st = wm_run_folder_path(&states, call->run, "state-", err)) ||
        (st = wm_ratio_save(wm_study_ratio(study), path, err)))
        return st;
    remove_states(states);
    if ((st = cli_publish(call, err)) ||
        (st = wm_study_draw(figures, study, p, q, schema, call->common->bits, err)))
        return st;
    return cli_draw(call, figures, WM_STUDY_FIGURES, err);
}
