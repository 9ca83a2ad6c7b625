/* cmd_apply.c - `waymark apply RUN X`: log-ratios or weights at the rows of a file, with a note
 * beside them on how they were made. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/estimate.h"
#include "frame/commands.h"
#include "waymark/apply.h"
#include "waymark/version.h"

typedef struct apply_opts {
    const char *out;
    int weights; /* a choice */
    read_flags read;
    double clip, clip_at, relative;
    bool pareto, log, overwrite;
} apply_opts;

static const char *const weights_names[] = {"no", "mean-one", "sum-one", "ratio", NULL};
static const char *const missing_names[] = {"refuse", "drop", NULL}; /* by wm_missing */

#define OPTS apply_opts

static const opt_row rows[] = {
    TEXT(out, "out", "FILE",
         "where the numbers go: .npy, .csv (with row numbers), .txt; and FILE.json", .letter = 'o',
         .transient = true, .unset = "standard output"),
    FLAG(overwrite, "overwrite", "FILE may be X itself", .transient = true),
    HEADING("Weights"),
    CHOICE(weights, "weights", "HOW", weights_names,
           "p/q instead of log p/q, scaled to a mean or a sum of one, or as it is"),
    REAL(clip, "clip", "Q", 0, 1, "none above this quantile: 0.99 clips the largest hundredth",
         .above = true, .unset = "none"),
    REAL(clip_at, "clip-at", "R", 0, 1e300, "none with p/q above this value", .above = true,
         .unset = "none"),
    FLAG(pareto, "pareto", "smooth the largest by a fitted Pareto tail (PSIS)"),
    REAL(relative, "relative", "A", 0, 1, "p / (A p + (1 - A) q), which stays below 1/A"),
    FLAG(log, "log", "logarithms of the weights"),
    HEADING("Reading"),
    TEXT(read.o.keep, "keep", "LIST", "columns of X to copy to a .csv, such as the rows' names",
         .unset = "none"),
    ROWS(read, read_column_options),
    CHOICE(read.o.missing, "missing", "WHAT", missing_names,
           "missing values: refuse the file, or drop the row"),
    CHOICE(read.header, "header", "WHAT", read_header_names,
           "whether the first line of a CSV has names"),
    CHOICE(read.format, "format", "NAME", read_format_names, "of X; auto: by content"),
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
    WM_PUT(s, WM_TEXT("weights", o->weights ? weights_names[o->weights] : NULL),
           WM_REAL("clip", o->clip), WM_REAL("clip_at", o->clip_at), WM_BOOL("pareto", o->pareto),
           WM_REAL("relative", o->relative), WM_BOOL("log", o->log),
           WM_TEXT("missing", missing_names[o->read.o.missing]));
}

/* Threads and seconds are not part of it: the same numbers have the same note. */
static void put_note(wm_summary *s, const cli_call *call, const char *model, const wm_ratio *ratio,
                     const wm_apply_info *info)
{
    const apply_opts *o = call->opts;
    const wm_weights_info *w = &info->weights;
    const char *reason = NULL;
    wm_verdict verdict = WM_TRUST;
    const bool judged = wm_ratio_get_verdict(ratio, &verdict, &reason);

    WM_PUT(s, WM_TEXT("version", wm_version()), WM_TEXT("model", model),
           WM_TEXT("verdict", judged ? wm_verdict_text(verdict) : NULL), WM_TEXT("reason", reason),
           WM_TEXT("input", call->args[1]), WM_TEXT("output", file_of(call) ? file_of(call) : "-"),
           WM_TEXT("what", what_is_written(o)));
    put_options(wm_summary_object(s, "options"), o);
    WM_PUT(s, WM_TEXT("units", units_name(call)), WM_INTEGER("n", info->n),
           WM_INTEGER("rows", info->rows), WM_INTEGER("dim", info->dim),
           WM_INTEGER("far", info->far), WM_INTEGER("unseen", info->unseen),
           WM_INTEGER("not_finite", info->not_finite),
           WM_REAL("mean_log_ratio", info->mean * units_per_nat(call)),
           WM_REAL("min_log_ratio", info->least * units_per_nat(call)),
           WM_REAL("max_log_ratio", info->largest * units_per_nat(call)),
           WM_REAL("log_mean", w->log_mean * units_per_nat(call)),
           WM_REAL("log_mean_se", w->log_mean_se * units_per_nat(call)), WM_REAL("ess", w->ess),
           WM_REAL("ess_ratio", w->ess_ratio), WM_REAL("max_share", w->max_share),
           WM_REAL("pareto_k", w->pareto_k), WM_REAL("pareto_limit", w->pareto_limit));
    if (o->weights) {
        wm_summary_integer(s, "changed", w->changed);
        wm_summary_real(s, "threshold", w->threshold * units_per_nat(call));
    }
}

/* FILE.json, beside the numbers; without it they are not whole. */
static wm_status write_note(const cli_call *call, const char *model, const wm_ratio *ratio,
                            const wm_apply_info *info, wm_error *err)
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
    put_note(s, call, model, ratio, info);
    st = wm_summary_write(s, path, err);
done:
    wm_summary_free(s);
    if (st)
        unlink(out);
    return st;
}

static wm_status print_table(const cli_call *call, const wm_apply_info *info, wm_error *err)
{
    const apply_opts *o = call->opts;
    const wm_weights_info *w = &info->weights;
    const double unit = units_per_nat(call);
    const struct {
        const char *name, *of;
        double value;
    } said[] = {{"mean log-ratio", units_name(call), info->mean * unit},
                {"smallest", units_name(call), info->least * unit},
                {"largest", units_name(call), info->largest * unit},
                {"log of the mean ratio", "0 if X is of q", w->log_mean * unit},
                {"effective sample size", "as weights", w->ess}};
    char title[CLI_PATH_SIZE + 64], limit[48];
    wm_text_table *t;

    snprintf(title, sizeof title, "%s: %" PRId64 " %s",
             file_of(call) ? file_of(call) : "standard output", info->n,
             !o->weights ? "log-ratios"
             : o->log    ? "logarithms of weights"
                         : "weights");
    t = wm_text_table_new(title, "<of X|value|<");
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        WM_ROW(t, WM_CELL_TEXT(said[i].name), WM_CELL_REAL(said[i].value, 4),
               WM_CELL_TEXT(said[i].of));
    snprintf(limit, sizeof limit, "good up to %.2f", w->pareto_limit);
    WM_ROW(t, WM_CELL_TEXT("Pareto k of the tail"));
    if (isfinite(w->pareto_k))
        WM_ROW(t, WM_CELL_REAL(w->pareto_k, 4),
               WM_CELL_TEXT(isnan(w->pareto_limit) ? NULL : limit));
    else if (w->pareto_k < 0)
        WM_ROW(t, WM_CELL_TEXT("none"), WM_CELL_TEXT("no tail: the largest weights are equal"));
    else
        WM_ROW(t, WM_CELL_TEXT("not known"), WM_CELL_TEXT("too few weights"));
    if (w->pareto_k > w->pareto_limit)
        wm_text_table_tone(t, WM_TONE_WARN);
    return wm_text_table_finish(t, file_of(call) ? stdout : stderr, err);
}

/* Numbers are no better than the ratio that gave them. Whether it was not trusted. */
static bool tell_verdict(const cli_call *call, const wm_ratio *ratio)
{
    const char *reason;
    wm_verdict verdict;

    if (!wm_ratio_get_verdict(ratio, &verdict, &reason) || verdict == WM_TRUST)
        return false;
    wm_say(call->sink, WM_LOG_WARN, "%s was %s when it was fitted: %s", call->args[0],
           verdict == WM_REJECT ? "rejected" : "doubted", reason);
    return true;
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
    read = read_opts(&opts->read, call->sink);
    wm_apply_opts_init(&o);
    o.weights = opts->weights ? &weights : NULL;
    o.bits = call->common->bits;
    o.read = &read;
    o.sink = call->sink;
    o.stop = call->stop;
    if ((st = cli_spare_inputs(call, file_of(call), opts->overwrite, err)) ||
        (st = cli_model_path(model, call->args[0], "ratio P Q", err)) ||
        (st = wm_ratio_load(&ratio, model, err)) ||
        (st = wm_ratio_apply(&info, ratio, call->args[1], out, &o, err)) ||
        (st = write_note(call, model, ratio, &info, err)))
        goto done;
    put_note(call->summary, call, model, ratio, &info);
    call->doubt = tell_verdict(call, ratio) || info.far > info.n / 1000 || info.not_finite > 0 ||
                  (opts->weights && info.weights.pareto_k > info.weights.pareto_limit);
    if (cli_shows_tables(call) && !call->common->quiet)
        st = print_table(call, &info, err);
done:
    wm_ratio_free(ratio);
    return st;
}

const cli_command cmd_apply = {
    .name = "apply",
    .about = "log-ratios, or importance weights, at the rows of any file",
    .arguments = "RUN X",
    .details =
        "RUN is a folder made by `waymark ratio -o` (or mi: log-ratios are then those of "
        "the joint to the product of the marginals), or a model file. X has the columns "
        "that the model was fitted on, by name and among others, or by place; in any format "
        "that ratio reads and of any size; - is stdin. The numbers do not depend on "
        "--threads. FILE.json, beside FILE, says how they were made. A ratio that was doubted "
        "or rejected is told of, and fails with --strict.",
    .examples = "waymark ratio p.csv q.csv -o run\n"
                "waymark apply run new.csv -o new.npy\n"
                "waymark apply run q.csv -o weights.csv --weights mean-one --pareto --keep id\n"
                "zstdcat big.csv.zst | waymark apply run - --missing drop -o big.csv\n"
                "waymark apply run x.npy | sort -g | tail",
    .common = CLI_BITS | CLI_STRICT,
    CLI_OPTIONS(rows, apply_opts, defaults),
    .run = run,
};
