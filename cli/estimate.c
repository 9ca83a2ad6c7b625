/* estimate.c - options, summary and tables of a study. */
#include "estimate.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "checks.h"
#include "fitting.h"

const char *const read_header_names[] = {"auto", "no", "yes", NULL};
const char *const read_missing_names[] = {"refuse", "drop", "mean", NULL};
const char *const read_format_names[] = {"auto", "npy", "npz",         "csv",
                                         "tsv",  "idx", "safetensors", NULL};
const char *const study_objective_names[] = {"logistic", "nwj", "lsq", "multinomial", NULL};
const char *const study_optimizer_names[] = {"auto", "adam", "convex", NULL};
const char *const study_whiten_names[] = {"auto", "no", "yes", NULL};

wm_read_opts read_opts(const read_flags *f, const wm_sink *sink)
{
    wm_read_opts o;

    wm_read_opts_init(&o);
    o.format = f->format ? read_format_names[f->format] : NULL;
    o.header = f->header - 1;
    o.missing = (wm_missing)f->missing;
    o.categorical = f->categorical;
    o.integer = f->integer;
    o.continuous = f->continuous;
    o.sink = sink;
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
    char line[120];
    wm_status st;

    /* Other numbers of rows are told by whoever joins the two. */
    if (f->missing != WM_MISSING_DROP || n != wm_data_count(v))
        return WM_OK;
    if ((st = wm_data_drop_pairs(u, v, &dropped, err)) || !dropped || !sink || !sink->log)
        return st;
    snprintf(line, sizeof line,
             "%" PRId64 " of %" PRId64 " pairs have a missing value and were left out", dropped, n);
    sink->log(sink->ctx, WM_LOG_WARN, line);
    return WM_OK;
}

void study_flags_init(study_flags *f)
{
    wm_study_opts o;

    wm_study_opts_init(&o);
    *f = (study_flags){.model = "auto",
                       .bridges = "auto",
                       .spacing = "auto",
                       .folds = o.folds,
                       .ensemble = o.ensemble,
                       .width = o.width,
                       .blocks = o.blocks,
                       .max_bridges = o.max_bridges};
}

double units_per_nat(const cli_call *call)
{
    return call->common->bits ? 1 / log(2) : 1;
}

/* One line of metrics.jsonl. */
static void write_metrics(void *ctx, const wm_study_progress *p)
{
    cli_call *call = ctx;
    double losses[WM_ALPHAS_MAX];
    char model[64], name[96];
    wm_summary *line;
    wm_error why;

    if (wm_summary_new(&line, &why))
        return;
    snprintf(name, sizeof name, "%s, round %" PRId64,
             wm_ratio_model_text(p->model, model, sizeof model), p->round + 1);
    wm_summary_text(line, "model", name);
    wm_summary_integer(line, "step", p->fit.step);
    wm_summary_real(line, "train_loss", p->fit.train_loss);
    wm_summary_real(line, "valid_loss", p->fit.valid_loss);
    wm_summary_real(line, "log_ratio", p->fit.kl * units_per_nat(call));
    for (int64_t k = 0; k < p->fit.n_bridges; k++)
        losses[k] = p->fit.bridges[k].loss;
    wm_summary_reals(line, "bridge", losses, p->fit.n_bridges);
    if (wm_run_folder_metrics(call->run, line, &why) && call->sink->log)
        call->sink->log(call->sink->ctx, WM_LOG_WARN, why.text);
    wm_summary_free(line);
}

wm_status study_opts(wm_study_opts *out, const study_flags *f, cli_call *call, wm_error *err)
{
    static const wm_ratio_objective objectives[] = {WM_OBJECTIVE_LOGISTIC, WM_OBJECTIVE_NWJ,
                                                    WM_OBJECTIVE_LSQ, WM_OBJECTIVE_MULTINOMIAL};
    static const wm_ratio_optimizer optimizers[] = {WM_OPTIMIZER_AUTO, WM_OPTIMIZER_ADAM,
                                                    WM_OPTIMIZER_CONVEX};
    const opt_row bridges = {.name = "bridges", .lo = 1, .hi = 1024};
    wm_error why = {0};

    wm_study_opts_init(out);
    if (strcmp(f->model, "auto") != 0) {
        if (wm_ratio_model_parse(&out->models[0], f->model, &why))
            return cli_usage(call, err, "--model: %s", why.text);
        out->n_models = 1;
    }
    if (strcmp(f->bridges, "auto") != 0 && opt_integer(&out->bridges, &bridges, f->bridges, &why))
        return cli_usage(call, err, "%s", why.text);
    if (strcmp(f->spacing, "auto") != 0) {
        wm_status st = take_spacing(&out->spacing, &out->bridges, f->spacing, call, err);

        if (st)
            return st;
        out->given_spacing = true;
    }
    if (optimizers[f->optimizer] == WM_OPTIMIZER_CONVEX &&
        (f->objective != 0 ||
         (out->n_models && out->models[0] & ~(unsigned)(WM_RATIO_LINEAR | WM_RATIO_QUADRATIC))))
        return cli_usage(call, err,
                         "--optimizer convex fits linear and quadratic models with the logistic "
                         "objective: choose adam, or auto");
    out->objective = objectives[f->objective];
    out->optimizer = optimizers[f->optimizer];
    out->whiten = (wm_study_whiten)f->whiten;
    out->folds = f->folds;
    out->ensemble = f->ensemble;
    out->iterations = f->iterations;
    out->batch = f->batch;
    out->lr = f->lr;
    out->width = f->width;
    out->blocks = f->blocks;
    out->max_bridges = f->max_bridges;
    out->seed = (uint64_t)call->common->seed;
    out->time_limit = call->common->time_limit;
    out->resume = call->common->resume;
    out->sink = call->sink;
    out->stop = call->stop;
    out->on_eval = call->run ? write_metrics : NULL;
    out->ctx = call;
    return wm_run_folder_path(&out->checkpoint, call->run, "state-", err);
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

void summary_bridge(wm_summary *s, int64_t k, const wm_ratio_bridge *b, double per_unit)
{
    wm_summary *row = wm_summary_row(s, "bridges");

    wm_summary_integer(row, "k", k);
    wm_summary_real(row, "alpha_from", b->alpha_from);
    wm_summary_real(row, "alpha_to", b->alpha_to);
    wm_summary_real(row, "loss", b->loss);
    wm_summary_real(row, "accuracy", b->accuracy);
    wm_summary_real(row, "mean_log_ratio", b->mean_log_ratio * per_unit);
}

static void summary_normaliser(wm_summary *s, const char *name, const wm_normaliser *n)
{
    wm_summary *o = wm_summary_object(s, name);

    wm_summary_real(o, "log_mean", n->log_mean);
    wm_summary_real(o, "se", n->se);
    wm_summary_real(o, "ess", n->ess);
    wm_summary_real(o, "pareto_k", n->pareto_k);
}

/* Why the verdict is what it is: the first check that decided it. */
static const char *reason(const wm_study *study, wm_verdict verdict)
{
    for (int64_t i = 0; i < wm_study_checks(study); i++) {
        const wm_check *c = wm_study_check(study, i);

        if (!c->ok && (verdict == WM_DOUBT || c->grave))
            return c->meaning;
    }
    return "No check failed.";
}

void study_summary(cli_call *call, const wm_study *study)
{
    wm_summary *s = call->summary;
    wm_study_info info;
    char name[64];

    wm_study_get_info(study, &info);
    wm_summary_integer(s, "n_train", info.n_train);
    wm_summary_integer(s, "n_test", info.n_test);
    wm_summary_integer(s, "dim", info.dim);
    wm_summary_text(s, "model", wm_ratio_model_text(info.model, name, sizeof name));
    wm_summary_bool(s, "whitened", info.whitened);
    wm_summary_integer(s, "mixed_columns", info.mixed_columns);
    wm_summary_integer(s, "folds", info.folds);
    wm_summary_integer(s, "rounds", info.rounds);
    if (info.linear_columns)
        wm_summary_reals(s, "alphas", info.alphas.alpha, info.bridges + 1);
    for (int64_t k = 0; k < info.bridges; k++) {
        wm_ratio_bridge b;

        wm_study_get_bridge(study, k, &b);
        summary_bridge(s, k, &b, units_per_nat(call));
    }
    for (int64_t i = 0; i < wm_study_candidates(study); i++) {
        const wm_candidate *c = wm_study_candidate(study, i);
        wm_summary *row = wm_summary_row(s, "candidates");

        wm_summary_text(row, "model", wm_ratio_model_text(c->model, name, sizeof name));
        wm_summary_real(row, "loss", c->loss);
        wm_summary_bool(row, "kept", c->kept);
        wm_summary_bool(row, "given_up", c->given_up);
        wm_summary_real(row, "seconds", c->seconds);
    }
    summary_normaliser(s, "mean_ratio_under_q", &info.under_q);
    summary_normaliser(s, "mean_inverse_under_p", &info.under_p);
    for (int64_t i = 0; i < wm_study_checks(study); i++)
        summary_checks(s, wm_study_check(study, i), 1);
    wm_summary_text(s, "interval", info.folds > 0 ? "delete-a-group jackknife and rows" : NULL);
    wm_summary_text(s, "units", units_name(call));
    wm_summary_text(s, "verdict", wm_verdict_text(info.verdict));
    wm_summary_text(s, "reason", reason(study, info.verdict));
    call->doubt = info.verdict != WM_TRUST;
}

/* ---- tables ---- */

static wm_status bridge_table(const cli_call *call, const wm_study *study,
                              const wm_study_info *info, wm_error *err)
{
    char title[160], name[64];
    wm_table *t;
    wm_status st;

    snprintf(title, sizeof title, "%" PRId64 " bridge%s, %s%s (%s)", info->bridges,
             info->bridges == 1 ? "" : "s", wm_ratio_model_text(info->model, name, sizeof name),
             info->whitened ? " on whitened columns" : "",
             info->spacing_found ? "found" : "as given");
    if ((st = wm_table_new(&t, title, err)))
        return st;
    wm_table_column(t, "bridge", WM_ALIGN_RIGHT);
    if (info->linear_columns) {
        wm_table_column(t, "alpha from", WM_ALIGN_RIGHT);
        wm_table_column(t, "to", WM_ALIGN_RIGHT);
    }
    wm_table_column(t, "loss", WM_ALIGN_RIGHT);
    wm_table_column(t, "accuracy", WM_ALIGN_RIGHT);
    wm_table_column(t, units_name(call), WM_ALIGN_RIGHT);
    for (int64_t k = 0; k < info->bridges; k++) {
        wm_ratio_bridge b;

        wm_study_get_bridge(study, k, &b);
        wm_table_integer(t, k);
        if (info->linear_columns) {
            wm_table_real(t, b.alpha_from, 4);
            wm_table_real(t, b.alpha_to, 4);
        }
        wm_table_real(t, b.loss, 3);
        wm_table_tone(t, b.loss < 0.1 ? WM_TONE_BAD : WM_TONE_PLAIN);
        wm_table_real(t, b.accuracy, 3);
        wm_table_real(t, b.mean_log_ratio * units_per_nat(call), 3);
    }
    st = wm_table_print(t, stdout, err);
    wm_table_free(t);
    return st;
}

/* A sentence in lines of at most 96 characters. */
static void print_wrapped(const char *text, int indent)
{
    const int width = 96;
    int column = indent;

    printf("%*s", indent, "");
    while (*text) {
        const int n = (int)strcspn(text, " ");

        if (column + n > width && column > indent) {
            printf("\n%*s", indent, "");
            column = indent;
        }
        printf("%s%.*s", column > indent ? " " : "", n, text);
        column += n + 1;
        text += n;
        text += *text == ' ';
    }
    putchar('\n');
}

/* How waymarks are made, where not all columns are numbers on a continuum. */
static void print_mixing(const wm_study_info *info)
{
    if (!info->mixed_columns)
        return;
    printf("Waymarks: %" PRId64 " column%s of whole numbers or categories %s from p's value to q's "
           "at once\n(dimension-wise mixing)%s.\n",
           info->mixed_columns, info->mixed_columns == 1 ? "" : "s",
           info->mixed_columns == 1 ? "goes" : "go, one after the other,",
           info->linear_columns ? "; the others move gradually" : "");
}

wm_status study_tables(const cli_call *call, const wm_study *study, wm_error *err)
{
    wm_study_info info;
    wm_status st;

    wm_study_get_info(study, &info);
    if ((st = bridge_table(call, study, &info, err)))
        return st;
    print_mixing(&info);
    printf("\nChecks\n");
    for (int64_t i = 0; i < wm_study_checks(study); i++) {
        const wm_check *c = wm_study_check(study, i);

        printf("  %-5s %s\n", c->ok ? "ok" : c->grave ? "BAD" : "hmm", c->name);
        print_wrapped(c->meaning, 8);
    }
    printf("\nVerdict: %s.%s\n", wm_verdict_text(info.verdict),
           info.verdict == WM_TRUST   ? ""
           : info.verdict == WM_DOUBT ? " The truth may lie outside the interval."
                                      : " Do not use this number.");
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

wm_status study_save(cli_call *call, const wm_study *study, wm_error *err)
{
    const char *path, *states;
    wm_status st;

    if (!call->run)
        return WM_OK;
    if ((st = wm_run_folder_path(&path, call->run, "model.safetensors", err)) ||
        (st = wm_run_folder_path(&states, call->run, "state-", err)) ||
        (st = wm_ratio_save(wm_study_ratio(study), path, err)))
        return st;
    remove_states(states);
    return WM_OK;
}
