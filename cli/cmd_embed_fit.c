/* cmd_embed_fit.c - `waymark embed fit U V`: representations and mutual information of a person's
 * own pairs, by separable bridges between true pairs and pairs whose v is another's, block by
 * block. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "commands.h"
#include "embed_pairs.h"
#include "estimate.h"
#include "fitting.h"
#include "waymark/embed.h"

typedef struct fit_opts {
    pair_flags pairs;
    read_flags read;
    const char *network;
    int objective; /* choice */
    int64_t bridges, negatives, width, depth, features, batch, iterations, warmup;
    double lr, average, weight_decay, clip, checkpoint;
    bool random_order;
} fit_opts;

static const char *const objective_names[] = {"logistic", "infonce", NULL};
static const char stage_name[] = "embed";

#define AT(field) .at = offsetof(fit_opts, field)

static const opt_row rows[] = {
    {.kind = OPT_HEADING, .help = "Pairs"},
    PAIR_ROWS(fit_opts, pairs),
    {.kind = OPT_HEADING, .help = "Bridges"},
    {.kind = OPT_INTEGER,
     .name = "bridges",
     AT(bridges),
     .arg = "N",
     .help = "from pairs to strangers, at most one for each block; 1 is a single ratio",
     .lo = 1,
     .hi = 1024,
     .unset = "one for each block, at most 16"},
    {.kind = OPT_FLAG,
     .name = "random-order",
     AT(random_order),
     .help = "blocks change in an order drawn for each pair"},
    {.kind = OPT_INTEGER,
     .name = "negatives",
     AT(negatives),
     .arg = "N",
     .help = "exchanged blocks that each true one is told from, where --network has the blocks of "
             "V as its cells",
     .lo = 1,
     .hi = 1e6,
     .unset = "16 with such cells, else 1"},
    {.kind = OPT_CHOICE,
     .name = "objective",
     AT(objective),
     .arg = "NAME",
     .help = "logistic: a classifier for each bridge; infonce: contrastive predictive coding",
     .choices = objective_names},
    {.kind = OPT_HEADING, .help = "Networks g and f_k"},
    {.kind = OPT_TEXT,
     .name = "network",
     AT(network),
     .arg = "LAYERS",
     .help = "of images, as in 'stem 5/3 32, 32 down, 64 down, 64, max, dense 300'; of grids of "
             "pictures as in 'stem 5/3 16, 16 down, 32, max, dense 32, cells 3x3'",
     .unset = "three stages of 32 and 64 channels"},
    {.kind = OPT_INTEGER,
     .name = "width",
     AT(width),
     .arg = "N",
     .help = "of vectors' networks",
     .lo = 1,
     .hi = 100000,
     .unset = "128"},
    {.kind = OPT_INTEGER,
     .name = "depth",
     AT(depth),
     .arg = "N",
     .help = "residual blocks of vectors' networks",
     .lo = 1,
     .hi = 100,
     .unset = "1"},
    {.kind = OPT_INTEGER,
     .name = "features",
     AT(features),
     .arg = "N",
     .help = "columns of g(u), where u and v are vectors",
     .lo = 1,
     .hi = 100000,
     .unset = "128"},
    {.kind = OPT_HEADING, .help = "Fitting"},
    {.kind = OPT_INTEGER,
     .name = "iterations",
     AT(iterations),
     .arg = "N",
     .help = "steps of Adam",
     .lo = 1,
     .hi = 1e9},
    {.kind = OPT_INTEGER,
     .name = "batch",
     AT(batch),
     .arg = "N",
     .help = "waymark samples of a step: with m bridges N / (m + 1) pairs",
     .lo = 2,
     .hi = 1e9},
    {.kind = OPT_REAL,
     .name = "lr",
     AT(lr),
     .arg = "RATE",
     .help = "learning rate, which falls to 0 by a cosine",
     .lo = 0,
     .hi = 10,
     .above = true},
    {.kind = OPT_INTEGER,
     .name = "warmup",
     AT(warmup),
     .arg = "N",
     .help = "steps over which it rises first",
     .lo = 0,
     .hi = 1e9},
    {.kind = OPT_REAL,
     .name = "average",
     AT(average),
     .arg = "DECAY",
     .help = "of the average of the weights; 0: none",
     .lo = 0,
     .hi = 0.999999},
    {.kind = OPT_REAL,
     .name = "weight-decay",
     AT(weight_decay),
     .arg = "W",
     .help = "of the parameters",
     .lo = 0,
     .hi = 10},
    {.kind = OPT_REAL,
     .name = "clip",
     AT(clip),
     .arg = "NORM",
     .help = "that a gradient may have; 0: any",
     .lo = 0,
     .hi = 1e9},
    READ_ROWS(fit_opts, read),
    {.kind = OPT_HEADING, .help = "Going on"},
    CHECKPOINT_ROW(fit_opts, checkpoint),
    {0},
};

static void defaults(void *opts)
{
    wm_embed_opts o;

    wm_embed_opts_init(&o);
    *(fit_opts *)opts = (fit_opts){.pairs = {.held_out = 0.2, .divide = NAN},
                                   .batch = o.batch,
                                   .iterations = o.iterations,
                                   .warmup = o.warmup,
                                   .lr = o.lr,
                                   .average = o.average,
                                   .weight_decay = o.weight_decay,
                                   .clip = o.clip,
                                   .checkpoint = o.checkpoint_seconds};
}

/* ---- options ---- */

static wm_status make_opts(wm_embed_opts *o, const own_pairs *pairs, cli_call *call, wm_error *err)
{
    const fit_opts *f = call->opts;
    const bool infonce = f->objective == WM_EMBED_INFONCE;
    const bool image = pairs->shape[0].height > 0 || pairs->shape[1].height > 0;

    if (infonce && f->bridges > 1)
        return cli_usage(call, err, "--objective infonce has one bridge, not %" PRId64, f->bridges);
    if (f->network && !image)
        return cli_usage(call, err, "--network is for images: say what they are by --image HxW");
    wm_embed_opts_init(o);
    o->objective = (wm_embed_objective)f->objective;
    o->bridges = f->bridges;
    o->u = pairs->shape[0];
    o->v = pairs->shape[1];
    o->network = f->network;
    o->mlp_width = f->width;
    o->mlp_blocks = f->depth;
    o->features = f->features;
    o->random_order = f->random_order;
    o->batch = f->batch;
    o->iterations = f->iterations;
    o->warmup = f->warmup;
    o->lr = f->lr;
    o->average = f->average;
    o->weight_decay = f->weight_decay;
    o->clip = f->clip;
    o->negatives = f->negatives;
    o->seed = (uint64_t)call->common->seed;
    o->time_limit = call->common->time_limit;
    o->resume = call->common->resume;
    o->checkpoint_seconds = f->checkpoint;
    o->sink = call->sink;
    o->stop = call->stop;
    if (infonce && pairs->part[PART_TEST].n < o->batch / 2)
        return cli_usage(call, err,
                         "--batch %" PRId64 ": InfoNCE judges groups of %" PRId64 " pairs, and "
                         "%" PRId64 " test the fit: lower --batch or raise --held-out",
                         o->batch, o->batch / 2, pairs->part[PART_TEST].n);
    return wm_run_folder_path(&o->checkpoint, call->run, "state.safetensors", err);
}

/* ---- what happens on the way ---- */

static void on_eval(void *ctx, const wm_embed_progress *p)
{
    metrics *m = ctx;
    const double unit = units_per_nat(m->call);
    wm_summary *line = metrics_line(m, stage_name, p->step);

    if (!line)
        return;
    wm_summary_real(line, "train_loss", p->train_loss);
    wm_summary_real(line, "valid_loss", p->valid_loss);
    wm_summary_real(line, "mi", p->mi * unit);
    for (int64_t k = 0; k < p->n_bridges; k++)
        metrics_bridge(line, k, p->bridges[k].loss, p->bridges[k].accuracy,
                       p->bridges[k].mean_log_ratio * unit);
    metrics_write(m, line);
}

static wm_status fit(wm_embed **out, const own_pairs *pairs, cli_call *call, wm_error *err)
{
    metrics watch = {.call = call};
    const char *path;
    wm_embed_info info;
    wm_embed_opts o;
    wm_status st;

    if ((st = make_opts(&o, pairs, call, err)))
        return st;
    o.on_eval = on_eval;
    o.ctx = &watch;
    if ((st = wm_embed_fit(out, &pairs->part[PART_TRAIN], &pairs->part[PART_VALID], pairs->blocks,
                           &o, err)) ||
        (st = metrics_done(&watch, err)) ||
        (st = wm_run_folder_path(&path, call->run, "model.safetensors", err)) ||
        (path && ((st = wm_embed_save(*out, path, err)) ||
                  (st = wm_columns_store(pairs->columns[0], pairs->columns[1], path, err)))))
        return st;
    wm_embed_get_info(*out, &info);
    return fit_interrupted(call, info.finished, path, err);
}

/* ---- what comes out ---- */

enum { MAX_CHECKS = 3, PARTNERS = 8 /* of each pair that calibrates */ };

typedef struct result {
    const wm_embed *e;
    wm_embed_info info;
    wm_estimate mi, *by_bridge; /* (bridges) */
    wm_estimate calibrated;     /* by what the scores tell, not by their size; NaN with InfoNCE */
    double most;                /* InfoNCE cannot say more; else NaN */
    wm_check check[MAX_CHECKS];
    int n_checks;
} result;

/* Whether the scores' size and what they tell agree: a tenth apart, beyond three errors, they do
 * not. */
static wm_check calibration_check(const result *r)
{
    const double apart = r->mi.value - r->calibrated.value;
    const double noise = 3 * hypot(r->mi.se, r->calibrated.se);
    wm_check c = {.name = "calibration",
                  .value = fabs(apart),
                  .limit = fmax(0.1 * fabs(r->calibrated.value), noise)};

    c.ok = !(c.value > c.limit);
    snprintf(c.meaning, sizeof c.meaning,
             c.ok ? "What the scores say and what they tell agree: %.3g and %.3g nats."
                  : "The scores say %.3g nats and tell %.3g: they are too %s. Take mi_calibrated, "
                    "or fit longer.",
             r->mi.value, r->calibrated.value, apart > 0 ? "sure" : "timid");
    return c;
}

static wm_check bound_check(const result *r)
{
    const double reached = r->mi.value / r->most, share = 0.9;
    wm_check c = {.name = "bound", .value = reached, .limit = share, .ok = !(reached > share)};

    snprintf(c.meaning, sizeof c.meaning,
             c.ok ? "The estimate is %.0f %% of the most that InfoNCE can say."
                  : "The estimate is %.0f %% of the most that InfoNCE can say: the truth "
                    "may be far above. Use --objective logistic.",
             100 * reached);
    return c;
}

static wm_check easiest_bridge_check(const result *r)
{
    double least = INFINITY;
    int64_t at = 0;

    for (int64_t k = 0; k < r->info.bridges; k++) {
        const double loss = wm_embed_get_bridge(r->e, k).loss;

        if (loss < least) {
            least = loss;
            at = k;
        }
    }
    return check_chasm(least, at, "bridges or blocks");
}

static void make_checks(result *r)
{
    const bool infonce = r->info.objective == WM_EMBED_INFONCE;

    r->check[r->n_checks++] = infonce ? bound_check(r) : easiest_bridge_check(r);
    r->check[r->n_checks++] = check_finished(r->info.finished);
    if (!infonce)
        r->check[r->n_checks++] = calibration_check(r);
}

static void add_summary(cli_call *call, const result *r, const own_pairs *pairs)
{
    const wm_embed_info *i = &r->info;
    const double unit = units_per_nat(call);
    wm_summary *s = call->summary;

    wm_summary_integer(s, "n_train", pairs->part[PART_TRAIN].n);
    wm_summary_integer(s, "n_valid", pairs->part[PART_VALID].n);
    wm_summary_integer(s, "n_test", pairs->part[PART_TEST].n);
    wm_summary_integer(s, "dim_u", wm_columns_raw(pairs->columns[0]));
    wm_summary_integer(s, "dim_v", wm_columns_raw(pairs->columns[1]));
    wm_summary_text(s, "model", "separable");
    wm_summary_text(s, "objective", objective_names[i->objective]);
    wm_summary_integer(s, "features", i->features);
    wm_summary_integer(s, "parameters", i->parameters);
    wm_summary_integer(s, "blocks", i->blocks);
    wm_summary_integer(s, "batch_pairs", i->batch_pairs);
    wm_summary_integer(s, "steps", i->steps);
    wm_summary_integer(s, "best_step", i->best_step);
    wm_summary_bool(s, "finished", i->finished);
    wm_summary_real(s, "fit_seconds", i->seconds);
    summary_estimate(s, "mi", &r->mi, unit);
    if (i->objective == WM_EMBED_INFONCE)
        wm_summary_real(s, "most", r->most * unit);
    else
        summary_estimate(s, "mi_calibrated", &r->calibrated, unit);
    for (int64_t k = 0; k < i->bridges; k++) {
        const wm_embed_bridge b = wm_embed_get_bridge(r->e, k);
        wm_summary *row = wm_summary_row(s, "bridges");

        wm_summary_integer(row, "k", k);
        wm_summary_real(row, "loss", b.loss);
        wm_summary_real(row, "accuracy", b.accuracy);
        wm_summary_real(row, "mean_log_ratio", r->by_bridge[k].value * unit);
        wm_summary_real(row, "mean_log_ratio_se", r->by_bridge[k].se * unit);
    }
    summary_checks(s, r->check, r->n_checks);
    wm_summary_text(s, "interval", "test pairs; the error of the fit is not in it");
    wm_summary_text(s, "units", units_name(call));
    summary_verdict(call, r->check, r->n_checks);
}

static wm_status print_result(const cli_call *call, const result *r, const own_pairs *pairs,
                              wm_error *err)
{
    const double unit = units_per_nat(call);
    char title[120];
    wm_table *t;
    wm_status st;

    printf("I(u; v) = %.4f %s, standard error %.4f (of the test pairs), 95 %% interval %.4f to "
           "%.4f\n",
           r->mi.value * unit, units_name(call), r->mi.se * unit, r->mi.lo * unit, r->mi.hi * unit);
    if (r->info.objective == WM_EMBED_LOGISTIC)
        printf("calibrated %.4f, standard error %.4f\n", r->calibrated.value * unit,
               r->calibrated.se * unit);
    printf("from %" PRId64 " test pairs; %" PRId64 " trained it, %" PRId64 " chose step %" PRId64
           " of %" PRId64 "; g(u) has %" PRId64 " columns\n\n",
           pairs->part[PART_TEST].n, pairs->part[PART_TRAIN].n, pairs->part[PART_VALID].n,
           r->info.best_step, r->info.steps, r->info.features);
    snprintf(title, sizeof title, "%" PRId64 " bridge%s, %s", r->info.bridges,
             r->info.bridges == 1 ? "" : "s", objective_names[r->info.objective]);
    if ((st = wm_table_new(&t, title, err)))
        return st;
    wm_table_column(t, "bridge", WM_ALIGN_RIGHT);
    wm_table_column(t, "loss", WM_ALIGN_RIGHT);
    wm_table_column(t, "accuracy", WM_ALIGN_RIGHT);
    wm_table_column(t, units_name(call), WM_ALIGN_RIGHT);
    for (int64_t k = 0; k < r->info.bridges; k++) {
        const wm_embed_bridge b = wm_embed_get_bridge(r->e, k);

        wm_table_integer(t, k);
        wm_table_real(t, b.loss, 3);
        wm_table_real(t, b.accuracy, 3);
        wm_table_real_se(t, r->by_bridge[k].value * unit, r->by_bridge[k].se * unit, 3);
    }
    st = wm_table_print(t, stdout, err);
    wm_table_free(t);
    printf("\n");
    print_checks(r->check, r->n_checks);
    return st;
}

static wm_status judge(result *r, const wm_embed *e, const own_pairs *pairs, const wm_sink *sink,
                       wm_error *err)
{
    const wm_pair_rows *valid = &pairs->part[PART_VALID];
    wm_status st;

    r->e = e;
    wm_embed_get_info(e, &r->info);
    r->most =
        r->info.objective == WM_EMBED_INFONCE ? log((double)r->info.batch_pairs) : (double)NAN;
    if (!(r->by_bridge = calloc((size_t)r->info.bridges, sizeof *r->by_bridge)))
        return WM_ENOMEM;
    if ((st = wm_embed_mi(e, &pairs->part[PART_TEST], &r->mi, r->by_bridge, err)) ||
        r->info.objective == WM_EMBED_INFONCE)
        return st;
    return wm_embed_mi_calibrated(e, valid, valid->n > PARTNERS ? PARTNERS : valid->n - 1,
                                  &pairs->part[PART_TEST], sink, &r->calibrated, err);
}

static wm_status run(cli_call *call, wm_error *err)
{
    const fit_opts *f = call->opts;
    own_pairs pairs = {0};
    wm_embed *e = NULL;
    result r = {0};
    wm_status st;

    if ((st = own_pairs_read(&pairs, &f->pairs, &f->read, call, err)) ||
        (st = fit(&e, &pairs, call, err)) || (st = judge(&r, e, &pairs, call->sink, err)))
        goto done;
    make_checks(&r);
    add_summary(call, &r, &pairs);
    if (cli_shows_tables(call))
        st = print_result(call, &r, &pairs, err);
done:
    free(r.by_bridge);
    wm_embed_free(e);
    own_pairs_free(&pairs);
    return st;
}

const cli_command cmd_embed_fit = {
    .name = "embed fit",
    .about = "learn representations of your own pairs, and their mutual information",
    .arguments = "U V",
    .min_args = 2,
    .max_args = 2,
    .details =
        "Row i of U and row i of V are a pair. Bridge k is log r_k = -(g(u)' W_k f_k(v) + c_k), "
        "between\n"
        "pairs with the first k and the first k + 1 blocks of v taken from another pair; nothing "
        "is\n"
        "interpolated, so that discrete columns stay discrete. Numbers are standardised, "
        "categories\n"
        "become indicators, pixels are divided by --divide; the model remembers that. With -o it "
        "is kept,\n"
        "for `waymark embed RUN U -o g.npy`. Standard errors are those of the test pairs alone.",
    .examples = "waymark embed fit left.npy right.npy -o run\n"
                "waymark embed run left.npy -o g.npy && waymark probe g.npy labels.csv\n"
                "waymark embed fit u.csv v.csv --categorical all --blocks 4 --json\n"
                "waymark embed fit u.npy v.npy --image 56x56 --blocks 2x2 --divide 255 -o run",
    .common = CLI_ALL,
    .rows = rows,
    .opts_size = sizeof(fit_opts),
    .defaults = defaults,
    .run = run,
};
