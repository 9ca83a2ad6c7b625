/* cmd_apply.c - `waymark apply RUN X`: log-ratios or weights at the rows of a file, with a note
 * beside them on how they were made. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "estimate.h"
#include "waymark/apply.h"
#include "waymark/version.h"

typedef struct apply_opts {
    const char *out;
    int weights, missing, header, format; /* choices */
    double clip, clip_at, relative;
    bool pareto, log;
} apply_opts;

static const char *const weights_names[] = {"no", "mean-one", "sum-one", "ratio", NULL};
static const char *const missing_names[] = {"refuse", "drop", NULL};

#define AT(field) .at = offsetof(apply_opts, field)

static const opt_row rows[] = {
    {.kind = OPT_TEXT,
     .name = "out",
     .letter = 'o',
     AT(out),
     .arg = "FILE",
     .help = "where the numbers go: .npy, .csv (with row numbers), .txt; and FILE.json",
     .unset = "standard output",
     .transient = true},
    {.kind = OPT_HEADING, .help = "Weights"},
    {.kind = OPT_CHOICE,
     .name = "weights",
     AT(weights),
     .arg = "HOW",
     .help = "p/q instead of log p/q, scaled to a mean or a sum of one, or as it is",
     .choices = weights_names},
    {.kind = OPT_REAL,
     .name = "clip",
     AT(clip),
     .arg = "Q",
     .help = "none above this quantile: 0.99 clips the largest hundredth",
     .lo = 0,
     .hi = 1,
     .above = true,
     .unset = "none"},
    {.kind = OPT_REAL,
     .name = "clip-at",
     AT(clip_at),
     .arg = "R",
     .help = "none with p/q above this value",
     .lo = 0,
     .hi = 1e300,
     .above = true,
     .unset = "none"},
    {.kind = OPT_FLAG,
     .name = "pareto",
     AT(pareto),
     .help = "smooth the largest by a fitted Pareto tail (PSIS)"},
    {.kind = OPT_REAL,
     .name = "relative",
     AT(relative),
     .arg = "A",
     .help = "p / (A p + (1 - A) q), which stays below 1/A",
     .lo = 0,
     .hi = 1,
     .unset = "no"},
    {.kind = OPT_FLAG, .name = "log", AT(log), .help = "logarithms of the weights"},
    {.kind = OPT_HEADING, .help = "Reading"},
    {.kind = OPT_CHOICE,
     .name = "missing",
     AT(missing),
     .arg = "WHAT",
     .help = "missing values: refuse the file, or drop the row",
     .choices = missing_names},
    {.kind = OPT_CHOICE,
     .name = "header",
     AT(header),
     .arg = "WHAT",
     .help = "whether the first line of a CSV has names",
     .choices = read_header_names},
    {.kind = OPT_CHOICE,
     .name = "format",
     AT(format),
     .arg = "NAME",
     .help = "of X; auto: by content",
     .choices = read_format_names},
    {0},
};

static void defaults(void *opts)
{
    *(apply_opts *)opts = (apply_opts){.clip = NAN, .clip_at = NAN};
}

/* ---- options ---- */

static wm_status weights_of(wm_weights_opts *w, cli_call *call, wm_error *err)
{
    static const wm_weights_scale scales[] = {WM_SCALE_MEAN_ONE, WM_SCALE_MEAN_ONE,
                                              WM_SCALE_SUM_ONE, WM_SCALE_RATIO};
    const apply_opts *o = call->opts;
    const char *given = !isnan(o->clip)      ? "clip"
                        : !isnan(o->clip_at) ? "clip-at"
                        : o->pareto          ? "pareto"
                        : o->relative > 0    ? "relative"
                        : o->log             ? "log"
                                             : NULL;

    if (!o->weights && given)
        return cli_usage(
            call, err, "--%s is for weights: give --weights mean-one, sum-one or ratio too", given);
    if (!isnan(o->clip) + !isnan(o->clip_at) + o->pareto > 1)
        return cli_usage(call, err, "--clip, --clip-at and --pareto exclude each other");
    if (o->relative >= 1)
        return cli_usage(call, err, "--relative: must be below 1, where every weight is 1");
    wm_weights_opts_init(w);
    w->scale = scales[o->weights];
    w->alpha = o->relative;
    w->logs = o->log;
    if (o->pareto)
        w->tail = WM_TAIL_PARETO;
    else if (!isnan(o->clip) || !isnan(o->clip_at))
        w->tail = WM_TAIL_CLIP;
    if (!isnan(o->clip))
        w->clip_quantile = o->clip;
    w->clip_value = o->clip_at;
    return WM_OK;
}

/* ---- what was done ---- */

static double unit(const cli_call *call)
{
    return call->common->bits ? 1 / log(2) : 1;
}

/* NULL: standard output. */
static const char *file_of(const cli_call *call)
{
    const char *out = ((const apply_opts *)call->opts)->out;

    return out && strcmp(out, "-") != 0 ? out : NULL;
}

static const char *what_is_written(const apply_opts *o)
{
    return !o->weights ? "log_ratio" : o->log ? "log_weight" : "weight";
}

static void put_options(wm_summary *s, const apply_opts *o)
{
    wm_summary_text(s, "weights", o->weights ? weights_names[o->weights] : NULL);
    wm_summary_real(s, "clip", o->clip);
    wm_summary_real(s, "clip_at", o->clip_at);
    wm_summary_bool(s, "pareto", o->pareto);
    wm_summary_real(s, "relative", o->relative);
    wm_summary_bool(s, "log", o->log);
    wm_summary_text(s, "missing", missing_names[o->missing]);
}

/* Threads and seconds are not part of it: the same numbers have the same note. */
static void put_note(wm_summary *s, const cli_call *call, const char *model,
                     const wm_apply_info *info)
{
    const apply_opts *o = call->opts;
    const wm_weights_info *w = &info->weights;

    wm_summary_text(s, "version", wm_version());
    wm_summary_text(s, "model", model);
    wm_summary_text(s, "input", call->args[1]);
    wm_summary_text(s, "output", file_of(call) ? file_of(call) : "-");
    wm_summary_text(s, "what", what_is_written(o));
    put_options(wm_summary_object(s, "options"), o);
    wm_summary_text(s, "units", call->common->bits ? "bits" : "nats");
    wm_summary_integer(s, "n", info->n);
    wm_summary_integer(s, "rows", info->rows);
    wm_summary_integer(s, "dim", info->dim);
    wm_summary_integer(s, "far", info->far);
    wm_summary_integer(s, "not_finite", info->not_finite);
    wm_summary_real(s, "mean_log_ratio", info->mean * unit(call));
    wm_summary_real(s, "min_log_ratio", info->least * unit(call));
    wm_summary_real(s, "max_log_ratio", info->largest * unit(call));
    wm_summary_real(s, "log_mean", w->log_mean * unit(call));
    wm_summary_real(s, "log_mean_se", w->log_mean_se * unit(call));
    wm_summary_real(s, "ess", w->ess);
    wm_summary_real(s, "ess_ratio", w->ess_ratio);
    wm_summary_real(s, "max_share", w->max_share);
    wm_summary_real(s, "pareto_k", w->pareto_k);
    wm_summary_real(s, "pareto_limit", w->pareto_limit);
    if (o->weights) {
        wm_summary_integer(s, "changed", w->changed);
        wm_summary_real(s, "threshold", w->threshold * unit(call));
    }
}

/* FILE.json, beside the numbers; without it they are not whole. */
static wm_status write_note(const cli_call *call, const char *model, const wm_apply_info *info,
                            wm_error *err)
{
    const char *out = file_of(call);
    char path[CLI_PATH_SIZE + 8];
    struct stat is;
    wm_summary *s = NULL;
    wm_status st;

    if (!out || stat(out, &is) || !S_ISREG(is.st_mode))
        return WM_OK;
    snprintf(path, sizeof path, "%s.json", out);
    if ((st = wm_summary_new(&s, err)))
        goto done;
    wm_summary_text(s, "command", "apply");
    put_note(s, call, model, info);
    st = wm_summary_write(s, path, err);
done:
    wm_summary_free(s);
    if (st)
        unlink(out);
    return st;
}

static void put_real(wm_table *t, const char *name, double value, const char *of)
{
    wm_table_text(t, name);
    wm_table_real(t, value, 4);
    wm_table_text(t, of);
}

static void put_text(wm_table *t, const char *name, const char *value, const char *of)
{
    wm_table_text(t, name);
    wm_table_text(t, value);
    wm_table_text(t, of);
}

static wm_status print_table(const cli_call *call, const wm_apply_info *info, wm_error *err)
{
    const apply_opts *o = call->opts;
    const wm_weights_info *w = &info->weights;
    const char *of = call->common->bits ? "bits" : "nats";
    char title[CLI_PATH_SIZE + 64], limit[48];
    wm_table *t = NULL;
    wm_status st;

    snprintf(title, sizeof title, "%s: %" PRId64 " %s",
             file_of(call) ? file_of(call) : "standard output", info->n,
             !o->weights ? "log-ratios"
             : o->log    ? "logarithms of weights"
                         : "weights");
    if ((st = wm_table_new(&t, title, err)))
        return st;
    wm_table_column(t, "of X", WM_ALIGN_LEFT);
    wm_table_column(t, "value", WM_ALIGN_RIGHT);
    wm_table_column(t, "", WM_ALIGN_LEFT);
    put_real(t, "mean log-ratio", info->mean * unit(call), of);
    put_real(t, "smallest", info->least * unit(call), of);
    put_real(t, "largest", info->largest * unit(call), of);
    put_real(t, "log of the mean ratio", w->log_mean * unit(call), "0 if X is of q");
    put_real(t, "effective sample size", w->ess, "as weights");
    snprintf(limit, sizeof limit, "good up to %.2f", w->pareto_limit);
    if (isfinite(w->pareto_k))
        put_real(t, "Pareto k of the tail", w->pareto_k, isnan(w->pareto_limit) ? NULL : limit);
    else
        put_text(t, "Pareto k of the tail", w->pareto_k < 0 ? "none" : "not known",
                 w->pareto_k < 0 ? "no tail: the largest weights are equal" : "too few weights");
    if (w->pareto_k > w->pareto_limit)
        wm_table_tone(t, WM_TONE_WARN);
    st = wm_table_print(t, file_of(call) ? stdout : stderr, err);
    wm_table_free(t);
    return st;
}

static wm_status run(cli_call *call, wm_error *err)
{
    const apply_opts *opts = call->opts;
    const char *out = file_of(call) ? file_of(call) : "-";
    char model[CLI_PATH_SIZE];
    wm_ratio *ratio = NULL;
    wm_apply_info info;
    wm_weights_opts weights;
    wm_read_opts read;
    wm_apply_opts o;
    wm_status st;

    if ((st = weights_of(&weights, call, err)))
        return st;
    if (!*call->args[0] || strlen(out) >= CLI_PATH_SIZE)
        return cli_usage(call, err, "RUN is empty, or the name of the output too long");
    if (!file_of(call) && call->common->json)
        return cli_usage(call, err, "--json needs -o FILE: standard output has the numbers");
    wm_read_opts_init(&read);
    read.format = opts->format ? read_format_names[opts->format] : NULL;
    read.header = opts->header - 1;
    read.missing = opts->missing ? WM_MISSING_DROP : WM_MISSING_REFUSE;
    wm_apply_opts_init(&o);
    o.weights = opts->weights ? &weights : NULL;
    o.bits = call->common->bits;
    o.read = &read;
    o.sink = call->sink;
    o.stop = call->stop;
    if ((st = cli_model_path(model, call->args[0], "ratio P Q", err)) ||
        (st = wm_ratio_load(&ratio, model, err)) ||
        (st = wm_ratio_apply(&info, ratio, call->args[1], out, &o, err)) ||
        (st = write_note(call, model, &info, err)))
        goto done;
    put_note(call->summary, call, model, &info);
    call->doubt = info.far > info.n / 1000 || info.not_finite > 0 ||
                  (opts->weights && info.weights.pareto_k > info.weights.pareto_limit);
    if (cli_shows_tables(call) && (file_of(call) || !call->common->quiet))
        st = print_table(call, &info, err);
done:
    wm_ratio_free(ratio);
    return st;
}

const cli_command cmd_apply = {
    .name = "apply",
    .about = "log-ratios, or importance weights, at the rows of any file",
    .arguments = "RUN X",
    .min_args = 2,
    .max_args = 2,
    .details =
        "RUN is a folder made by `waymark ratio -o` (or mi: log-ratios are then those of the "
        "joint to\nthe product of the marginals), or a model file. X has the columns that the "
        "model was fitted\non, in any format that ratio reads and of any size; - is stdin. The "
        "numbers do not depend\non --threads. FILE.json, beside FILE, says how they were made.",
    .examples = "waymark ratio p.csv q.csv -o run\n"
                "waymark apply run new.csv -o new.npy\n"
                "waymark apply run q.csv -o weights.csv --weights mean-one --pareto\n"
                "zstdcat big.csv.zst | waymark apply run - --missing drop -o big.csv\n"
                "waymark apply run x.npy | sort -g | tail",
    .common = CLI_BITS | CLI_STRICT,
    .rows = rows,
    .opts_size = sizeof(apply_opts),
    .defaults = defaults,
    .run = run,
};
