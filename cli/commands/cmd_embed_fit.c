/* cmd_embed_fit.c - `waymark embed fit U V`: representations and mutual information of a person's
 * own pairs, by separable bridges between true pairs and pairs whose v is another's, block by
 * block. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands/embed_pairs.h"
#include "commands/estimate.h"
#include "commands/show_checks.h"
#include "frame/commands.h"
#include "options/fitting.h"
#include "waymark/embed.h"

typedef struct fit_opts {
    wm_embed_opts fit;
    pair_flags pairs;
    read_flags read;
} fit_opts;

static const char *const embed_objectives[] = {"logistic", "infonce", NULL};

#define OPTS fit_opts

static const opt_row rows[] = {
    HEADING("Pairs"),
    ROWS(pairs, pair_rows),
    HEADING("Bridges"),
    INTEGER(fit.bridges, "bridges", "N", 1, 1024,
            "from pairs to strangers, at most one for each block; 1 is a single ratio",
            .unset = "auto, one for each block, at most 16"),
    FLAG(fit.random_order, "random-order", "blocks change in an order drawn for each pair"),
    INTEGER(fit.negatives, "negatives", "N", 1, 1e6,
            "exchanged blocks that each true one is told from, where --network has the blocks of "
            "V as its cells",
            .unset = "auto, 16 with such cells, else 1"),
    CHOICE(fit.objective, "objective", "NAME", embed_objectives,
           "logistic: a classifier for each bridge; infonce: contrastive predictive coding"),
    HEADING("Networks g and f_k"),
    TEXT(fit.network, "network", "LAYERS",
         "of images, as in 'stem 5/3 32, 32 down, 64 down, 64, max, dense 300'; of grids of "
         "pictures as in 'stem 5/3 16, 16 down, 32, max, dense 32, cells 3x3'",
         .unset = "three stages of 32 and 64 channels"),
    INTEGER(fit.mlp_width, "width", "N", 1, 100000, "of vectors' networks"),
    INTEGER(fit.mlp_blocks, "depth", "N", 1, 100, "residual blocks of vectors' networks"),
    INTEGER(fit.features, "features", "N", 1, 100000, "columns of g(u), where u and v are vectors"),
    HEADING("Fitting"),
    INTEGER(fit.adam.iterations, "iterations", "N", 1, 1e9, "steps of Adam"),
    INTEGER(fit.adam.batch, "batch", "N", 2, 1e9,
            "waymark samples of a step: with m bridges N / (m + 1) pairs"),
    REAL(fit.adam.lr, "lr", "RATE", 0, 10, LR_HELP, .above = true),
    INTEGER(fit.adam.warmup, "warmup", "N", 0, 1e9, "steps over which it rises first"),
    REAL(fit.adam.average, "average", "DECAY", 0, 0.999999, AVERAGE_HELP),
    REAL(fit.adam.weight_decay, "weight-decay", "W", 0, 10, "of the parameters"),
    REAL(fit.adam.clip, "clip", "NORM", 0, 1e9, "that a gradient may have; 0: any"),
    ROWS(read, read_table_options),
    HEADING("Going on"),
    CHECKPOINT_ROW(fit.control.checkpoint_seconds),
    {0},
};

static void defaults(void *opts)
{
    fit_opts *o = opts;

    o->pairs = (pair_flags){.held_out = 0.2, .divide = NAN};
    wm_embed_opts_init(&o->fit);
}

/* What the rows of the table have not set, and do not allow together. */
static wm_status complete(wm_embed_opts *o, const own_pairs *pairs, cli_call *call, wm_error *err)
{
    const bool infonce = o->objective == WM_EMBED_INFONCE;
    const bool image = pairs->shape[0].height > 0 || pairs->shape[1].height > 0;

    if (infonce && o->bridges > 1)
        return cli_usage(call, err, "--objective infonce has one bridge, not %" PRId64, o->bridges);
    if (o->network && !image)
        return cli_usage(call, err, "--network is for images: say what they are by --image HxW");
    if (infonce && pairs->of.part[WM_PART_TEST].n < o->adam.batch / 2)
        return cli_usage(call, err,
                         "--batch %" PRId64 ": InfoNCE judges groups of %" PRId64 " pairs, and "
                         "%" PRId64 " test the fit: lower --batch or raise --held-out",
                         o->adam.batch, o->adam.batch / 2, pairs->of.part[WM_PART_TEST].n);
    o->u = pairs->shape[0];
    o->v = pairs->shape[1];
    return cli_steer(&o->control, call, "state.safetensors", err);
}

/* ---- fitting ---- */

static wm_status fit(wm_embed **out, wm_embed_opts *o, const own_pairs *pairs, cli_call *call,
                     wm_error *err)
{
    static const char *const stages[WM_STAGES] = {[WM_STAGE_BRIDGES] = "embed"};
    wm_metrics metrics = {
        .folder = call->run, .stages = stages, .estimate = "mi", .per_nat = units_per_nat(call)};
    const char *path;
    wm_embed_info info;
    wm_status st;

    if ((st = complete(o, pairs, call, err)))
        return st;
    o->control.on_eval = wm_metrics_eval;
    o->control.ctx = &metrics;
    if ((st = wm_embed_fit(out, &pairs->of.part[WM_PART_TRAIN], &pairs->of.part[WM_PART_VALID],
                           pairs->of.blocks, o, err)) ||
        (st = wm_metrics_done(&metrics, err)) ||
        (st = wm_run_folder_path(&path, call->run, "model.safetensors", err)) ||
        (st = wm_embed_set_columns(*out, pairs->of.columns[0], pairs->of.columns[1], err)) ||
        (path && (st = wm_embed_save(*out, path, err))))
        return st;
    wm_embed_get_info(*out, &info);
    return fit_interrupted(call, info.finished, path, err);
}

/* ---- what comes out ---- */

enum { PARTNERS = 8 /* of each pair that calibrates */ };

typedef struct result {
    const wm_embed *e;
    wm_embed_info info;
    wm_estimate mi, *by_bridge; /* (bridges) */
    wm_estimate calibrated;     /* by what the scores tell, not by their size; NaN with InfoNCE */
    double most;                /* InfoNCE cannot say more; else NaN */
    wm_checks checks;
} result;

static const check_advice advice[] = {
    {"chasm", "See --bridges and --blocks.", WM_CHECK_OK},
    {"bound", "Use --objective logistic.", WM_CHECK_OK},
    {"calibration", "That is mi_calibrated; see --iterations.", WM_CHECK_OK},
    {0},
};

static void add_summary(cli_call *call, const result *r, const own_pairs *pairs)
{
    const wm_embed_info *i = &r->info;
    const double unit = units_per_nat(call);
    wm_summary *s = call->summary;

    WM_PUT(s, WM_INTEGER("n_train", pairs->of.part[WM_PART_TRAIN].n),
           WM_INTEGER("n_valid", pairs->of.part[WM_PART_VALID].n),
           WM_INTEGER("n_test", pairs->of.part[WM_PART_TEST].n),
           WM_INTEGER("dim_u", wm_columns_raw(pairs->of.columns[0])),
           WM_INTEGER("dim_v", wm_columns_raw(pairs->of.columns[1])), WM_TEXT("model", "separable"),
           WM_TEXT("objective", embed_objectives[i->objective]),
           WM_INTEGER("features", i->features), WM_INTEGER("parameters", i->parameters),
           WM_INTEGER("blocks", i->blocks), WM_INTEGER("batch_pairs", i->batch_pairs),
           WM_INTEGER("steps", i->steps), WM_INTEGER("best_step", i->best_step),
           WM_BOOL("finished", i->finished), WM_REAL("fit_seconds", i->seconds));
    summary_estimate(s, "mi", &r->mi, unit);
    if (i->objective == WM_EMBED_INFONCE)
        wm_summary_real(s, "most", r->most * unit);
    else
        summary_estimate(s, "mi_calibrated", &r->calibrated, unit);
    for (int64_t k = 0; k < i->bridges; k++) {
        const wm_bridge b = wm_embed_get_bridge(r->e, k);
        WM_PUT(wm_summary_row(s, "bridges"), WM_INTEGER("k", k), WM_REAL("loss", b.loss),
               WM_REAL("accuracy", b.accuracy),
               WM_REAL("mean_log_ratio", r->by_bridge[k].value * unit),
               WM_REAL("mean_log_ratio_se", r->by_bridge[k].se * unit));
    }
    wm_summary_text(s, "interval", "test pairs; the error of the fit is not in it");
    wm_summary_text(s, "units", units_name(call));
    summary_checks(call, &r->checks, advice);
}

static wm_status print_result(const cli_call *call, const result *r, const own_pairs *pairs,
                              wm_error *err)
{
    const double unit = units_per_nat(call);
    wm_bridge b[WM_ALPHAS_MAX];
    wm_status st;

    for (int64_t k = 0; k < r->info.bridges; k++)
        b[k] = wm_embed_get_bridge(r->e, k);
    b[0].alpha_from = NAN; /* a share of the bridges, no more */
    print_estimate(call, "I(u; v)", &r->mi, " (of the test pairs)", wm_checks_verdict(&r->checks));
    if (r->info.objective == WM_EMBED_LOGISTIC && wm_checks_verdict(&r->checks) != WM_REJECT)
        printf("calibrated %.4f, standard error %.4f\n", r->calibrated.value * unit,
               r->calibrated.se * unit);
    printf("from %" PRId64 " test pairs; %" PRId64 " trained it, %" PRId64 " chose step %" PRId64
           " of %" PRId64 "; g(u) has %" PRId64 " columns\n\n",
           pairs->of.part[WM_PART_TEST].n, pairs->of.part[WM_PART_TRAIN].n,
           pairs->of.part[WM_PART_VALID].n, r->info.best_step, r->info.steps, r->info.features);
    st = print_bridges(call, embed_objectives[r->info.objective], b, r->info.bridges, r->by_bridge,
                       err);
    print_checks(call, &r->checks, advice);
    return st;
}

static wm_status judge(result *r, const wm_embed *e, const own_pairs *pairs, const wm_sink *sink,
                       const volatile sig_atomic_t *stop, wm_error *err)
{
    const wm_pair_rows *valid = &pairs->of.part[WM_PART_VALID];
    wm_status st;

    r->e = e;
    wm_embed_get_info(e, &r->info);
    r->most =
        r->info.objective == WM_EMBED_INFONCE ? log((double)r->info.batch_pairs) : (double)NAN;
    if (!(r->by_bridge = calloc((size_t)r->info.bridges, sizeof *r->by_bridge)))
        return WM_ENOMEM;
    if ((st = wm_embed_mi(e, &pairs->of.part[WM_PART_TEST], &r->mi, r->by_bridge, stop, err)) ||
        r->info.objective == WM_EMBED_INFONCE)
        return st;
    return wm_embed_mi_calibrated(e, valid, valid->n > PARTNERS ? PARTNERS : valid->n - 1,
                                  &pairs->of.part[WM_PART_TEST], sink, &r->calibrated, stop, err);
}

static wm_status run(cli_call *call, wm_error *err)
{
    fit_opts *f = call->opts;
    own_pairs pairs = {0};
    wm_embed *e = NULL;
    result r = {0};
    wm_status st;

    if ((st = own_pairs_read(&pairs, &f->pairs, &f->read, call, err)) ||
        (st = fit(&e, &f->fit, &pairs, call, err)) ||
        (st = judge(&r, e, &pairs, call->sink, call->stop, err)))
        goto done;
    wm_embed_check(e, pairs.of.part[WM_PART_TEST].n, &r.mi, &r.calibrated, &r.checks);
    add_summary(call, &r, &pairs);
    if (cli_shows_tables(call))
        st = print_result(call, &r, &pairs, err);
done:
    free(r.by_bridge);
    wm_embed_free(e);
    wm_own_pairs_clear(&pairs.of);
    return st;
}

const cli_command cmd_embed_fit = {
    .name = "embed fit",
    .about = "learn representations of your own pairs, and their mutual information",
    .arguments = "U V",
    .details = "Row i of U and row i of V are a pair. Bridge k is log r_k = -(g(u)' W_k f_k(v) + "
               "c_k), between pairs with the first k and the first k + 1 blocks of v taken from "
               "another pair; nothing is interpolated, so that discrete columns stay discrete. "
               "Numbers are standardised, categories become indicators, pixels are divided by "
               "--divide; the model remembers that. With -o it is kept, for `waymark embed RUN U "
               "-o g.npy`. Standard errors are those of the test pairs alone.",
    .examples = "waymark embed fit left.npy right.npy -o run\n"
                "waymark embed run left.npy -o g.npy && waymark probe g.npy labels.csv\n"
                "waymark embed fit u.csv v.csv --categorical all --blocks 4 --json\n"
                "waymark embed fit u.npy v.npy --image 56x56 --blocks 2x2 --divide 255 -o run",
    .common = CLI_ALL,
    CLI_OPTIONS(rows, fit_opts, defaults),
    .run = run,
};
