/* cmd_ebm.c - `waymark ebm DATA`: a density of the data, as noise times a telescope of ratios. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "ebm_run.h"

typedef struct ebm_opts {
    const char *valid, *image, *model, *network, *spacing, *noise_from;
    int noise, objective, standardize; /* choices */
    double levels, logit, held_out, weight_decay;
    bool x_space, spread;
    int filters; /* choice */
    int64_t bridges, bases, width, blocks;
    int64_t noise_bins, noise_hidden, noise_levels, noise_steps;
    struct {
        int64_t iterations, batch;
        double lr, average;
    } stage[WM_EBM_STAGES];
    int64_t check_steps, check_chains;
    double checkpoint;
    read_flags read;
} ebm_opts;

static const char *const noise_names[] = {"gaussian", "copula", "flow", NULL};
static const char *const objective_names[] = {"logistic", "nwj", "lsq", "multinomial", NULL};
static const char *const standardize_names[] = {"auto", "yes", "no", NULL};
static const char *const stage_names[] = {"noise", "heads", "bridges"};

#define AT(field) .at = offsetof(ebm_opts, field)
#define STAGE(n, PREFIX, WHAT)                                                                     \
    {.kind = OPT_INTEGER,                                                                          \
     .name = PREFIX "iterations",                                                                  \
     AT(stage[n].iterations),                                                                      \
     .arg = "N",                                                                                   \
     .help = "steps of Adam on " WHAT,                                                             \
     .lo = -1,                                                                                     \
     .hi = 1e9,                                                                                    \
     .unset = "by the kind of data"},                                                              \
        {.kind = OPT_INTEGER,                                                                      \
         .name = PREFIX "batch",                                                                   \
         AT(stage[n].batch),                                                                       \
         .arg = "N",                                                                               \
         .help = n == 0 ? "rows of a step" : "waymark samples of a step",                          \
         .lo = 1,                                                                                  \
         .hi = 1e9,                                                                                \
         .unset = "by the kind of data"},                                                          \
        {.kind = OPT_REAL,                                                                         \
         .name = PREFIX "lr",                                                                      \
         AT(stage[n].lr),                                                                          \
         .arg = "RATE",                                                                            \
         .help = "learning rate, which falls to 0 by a cosine",                                    \
         .lo = 0,                                                                                  \
         .hi = 10,                                                                                 \
         .above = true,                                                                            \
         .unset = "by the kind of data"},                                                          \
    {                                                                                              \
        .kind = OPT_REAL, .name = PREFIX "average", AT(stage[n].average), .arg = "DECAY",          \
        .help = "of the average of the weights", .above = true, .hi = 0.999999,                    \
        .unset = "by the kind of data"                                                             \
    }

static const opt_row rows[] = {
    {.kind = OPT_HEADING, .help = "Data"},
    {.kind = OPT_TEXT,
     .name = "valid",
     AT(valid),
     .arg = "FILE",
     .help = "rows by which the best step is chosen",
     .unset = "a share of DATA"},
    {.kind = OPT_REAL,
     .name = "held-out",
     AT(held_out),
     .arg = "SHARE",
     .help = "that share",
     .lo = 0,
     .hi = 0.9,
     .above = true},
    {.kind = OPT_TEXT,
     .name = "image",
     AT(image),
     .arg = "HxW[xC]",
     .help = "rows are images: 28x28, 32x32x3; or no",
     .unset = "by the axes of DATA, where other options are for images"},
    {.kind = OPT_REAL,
     .name = "dequantize",
     AT(levels),
     .arg = "LEVELS",
     .help =
         "values are whole numbers below it: 256 for bytes; uniform noise makes them continuous",
     .lo = 2,
     .hi = 1e9,
     .unset = "no"},
    {.kind = OPT_REAL,
     .name = "logit",
     AT(logit),
     .arg = "L",
     .help = "logit of L + (1 - 2 L) x, x in [0, 1]: 1e-6 in the paper",
     .lo = 0,
     .hi = 0.49,
     .above = true,
     .unset = "no"},
    {.kind = OPT_CHOICE,
     .name = "standardize",
     AT(standardize),
     .arg = "WHEN",
     .help = "columns to standard deviation 1: auto is not for images, which are only centred",
     .choices = standardize_names},
    {.kind = OPT_HEADING, .help = "Noise"},
    {.kind = OPT_CHOICE,
     .name = "noise",
     AT(noise),
     .arg = "NAME",
     .help = "density that is fitted first",
     .choices = noise_names},
    {.kind = OPT_TEXT,
     .name = "noise-from",
     AT(noise_from),
     .arg = "RUN",
     .help = "take transforms and noise from an earlier run on the same data; with its --noise",
     .unset = "fit"},
    {.kind = OPT_INTEGER,
     .name = "noise-bins",
     AT(noise_bins),
     .arg = "N",
     .help = "of its splines",
     .lo = 2,
     .hi = 10000,
     .unset = "128 in a copula, 8 in a flow"},
    {.kind = OPT_INTEGER,
     .name = "noise-hidden",
     AT(noise_hidden),
     .arg = "N",
     .help = "width of a flow's networks",
     .lo = 1,
     .hi = 100000,
     .unset = "64"},
    {.kind = OPT_INTEGER,
     .name = "noise-levels",
     AT(noise_levels),
     .arg = "N",
     .help = "resolutions of a flow",
     .lo = 1,
     .hi = 10,
     .unset = "2 for images"},
    {.kind = OPT_INTEGER,
     .name = "noise-steps",
     AT(noise_steps),
     .arg = "N",
     .help = "couplings of each level",
     .lo = 1,
     .hi = 100,
     .unset = "8"},
    STAGE(0, "noise-", "the noise"),
    {.kind = OPT_HEADING, .help = "Bridges"},
    {.kind = OPT_INTEGER,
     .name = "bridges",
     AT(bridges),
     .arg = "N",
     .help = "from data to noise; 1 is noise-contrastive estimation",
     .lo = 1,
     .hi = 1024},
    {.kind = OPT_TEXT,
     .name = "spacing",
     AT(spacing),
     .arg = "HOW",
     .help = "power:P, symmetric:P or list:A,B,...; images leave out the bridge below 0.01"},
    {.kind = OPT_FLAG,
     .name = "x-space",
     AT(x_space),
     .help = "waymarks between data and noise, not between what the noise maps to them"},
    {.kind = OPT_TEXT,
     .name = "model",
     AT(model),
     .arg = "TERMS",
     .help = "quadratic, additive, mlp, resnet, joined by +",
     .unset = "additive+resnet for images, else quadratic+additive+mlp"},
    {.kind = OPT_TEXT,
     .name = "network",
     AT(network),
     .arg = "LAYERS",
     .help = "of the resnet: laptop, paper, or as in 'stem 5/2 32, 32 down, 64, dense 128'",
     .unset = "laptop"},
    {.kind = OPT_INTEGER,
     .name = "width",
     AT(width),
     .arg = "N",
     .help = "of the mlp",
     .lo = 1,
     .hi = 100000,
     .unset = "128"},
    {.kind = OPT_INTEGER,
     .name = "blocks",
     AT(blocks),
     .arg = "N",
     .help = "of the mlp",
     .lo = 1,
     .hi = 100,
     .unset = "2"},
    {.kind = OPT_INTEGER,
     .name = "bases",
     AT(bases),
     .arg = "N",
     .help = "splines for each column of the additive term",
     .lo = 4,
     .hi = 1000,
     .unset = "16"},
    {.kind = OPT_CHOICE,
     .name = "filters",
     AT(filters),
     .arg = "WHEN",
     .help = "the additive term reads principal components and whitened columns too: auto is for "
             "images",
     .choices = standardize_names},
    {.kind = OPT_CHOICE,
     .name = "objective",
     AT(objective),
     .arg = "NAME",
     .help = "loss of the bridges",
     .choices = objective_names},
    {.kind = OPT_FLAG,
     .name = "spread",
     AT(spread),
     .help = "each row draws its bridge, instead of coupled trajectories"},
    {.kind = OPT_REAL,
     .name = "weight-decay",
     AT(weight_decay),
     .arg = "W",
     .help = "of the bridges' parameters",
     .lo = 0,
     .hi = 10},
    STAGE(1, "heads-", "quadratic and additive terms before the network; -1: none"),
    STAGE(2, "", "all terms"),
    {.kind = OPT_HEADING, .help = "Check"},
    {.kind = OPT_INTEGER,
     .name = "check-steps",
     AT(check_steps),
     .arg = "N",
     .help = "of a short AIS run that tells whether phi is normalised; -1: none",
     .lo = -1,
     .hi = 1e7,
     .unset = "300 for tables, none for images"},
    {.kind = OPT_INTEGER,
     .name = "check-chains",
     AT(check_chains),
     .arg = "N",
     .help = "of it",
     .lo = 2,
     .hi = 1e6},
    FILE_ROWS(ebm_opts, read),
    {.kind = OPT_HEADING, .help = "Going on"},
    CHECKPOINT_ROW(ebm_opts, checkpoint),
    {0},
};

static void defaults(void *opts)
{
    wm_ebm_opts o;

    wm_ebm_opts_init(&o);
    *(ebm_opts *)opts = (ebm_opts){.bridges = 10,
                                   .held_out = 0.1,
                                   .spacing = "power:1",
                                   .check_chains = 64,
                                   .checkpoint = o.checkpoint_seconds};
}

/* ---- options ---- */

static wm_status take_image(wm_ebm_opts *o, const char *text, cli_call *call, wm_error *err)
{
    long long h = 0, w = 0, c = 1;
    int used = 0;

    if ((sscanf(text, "%lldx%lld%n", &h, &w, &used) < 2) ||
        (text[used] && (sscanf(text, "%lldx%lldx%lld%n", &h, &w, &c, &used) < 3 || text[used])) ||
        h < 1 || w < 1 || c < 1 || h > 65536 || w > 65536 || c > 65536)
        return cli_usage(call, err, "--image '%.40s': height x width is wanted, such as 28x28",
                         text);
    o->height = h;
    o->width = w;
    o->channels = c;
    return WM_OK;
}

/* Without --image: the axes of the array say what its images are, if there is any sign that they
 * are some. */
static wm_status find_image(wm_ebm_opts *o, cli_call *call, wm_error *err)
{
    const ebm_opts *f = call->opts;
    int64_t shape[3];
    char line[120];
    bool found;
    wm_status st;

    if (f->image)
        return strcmp(f->image, "no") == 0 ? WM_OK : take_image(o, f->image, call, err);
    if (f->levels == 0 && f->logit == 0 && !(o->model & WM_EBM_RESNET))
        return WM_OK;
    if ((st = ebm_image_shape(&found, shape, call->args[0], err)) || !found)
        return st;
    o->height = shape[0];
    o->width = shape[1];
    o->channels = shape[2];
    snprintf(line, sizeof line, "images of %" PRId64 " x %" PRId64, shape[0], shape[1]);
    if (shape[2] > 1)
        snprintf(line + strlen(line), 24, " x %" PRId64, shape[2]);
    snprintf(line + strlen(line), 48, ", from the shape of the array");
    call->sink->log(call->sink->ctx, WM_LOG_INFO, line);
    return WM_OK;
}

static wm_status make_opts(wm_ebm_opts *o, cli_call *call, wm_error *err)
{
    static const wm_ebm_noise noises[] = {WM_NOISE_GAUSSIAN, WM_NOISE_COPULA, WM_NOISE_FLOW};
    static const wm_ratio_objective objectives[] = {WM_OBJECTIVE_LOGISTIC, WM_OBJECTIVE_NWJ,
                                                    WM_OBJECTIVE_LSQ, WM_OBJECTIVE_MULTINOMIAL};
    const ebm_opts *f = call->opts;
    wm_error why = {0};
    wm_status st;

    wm_ebm_opts_init(o);
    if (f->model && strcmp(f->model, "auto") != 0 && wm_ebm_model_parse(&o->model, f->model, &why))
        return cli_usage(call, err, "--model: %s", why.text);
    if (wm_spacing_parse(&o->spacing, f->spacing, &why))
        return cli_usage(call, err, "--spacing: %s", why.text);
    if ((st = find_image(o, call, err)))
        return st;
    o->noise = noises[f->noise];
    o->objective = objectives[f->objective];
    o->levels = f->levels;
    o->logit = f->logit;
    o->standardize = f->standardize == 1 || (f->standardize == 0 && o->height == 0);
    o->held_out = f->held_out;
    o->weight_decay = f->weight_decay;
    o->x_space = f->x_space;
    o->spread = f->spread;
    o->network = f->network;
    o->bridges = f->bridges;
    o->bases = f->bases;
    o->filters = f->filters == 0 ? 0 : f->filters == 1 ? 1 : -1;
    o->mlp_width = f->width;
    o->mlp_blocks = f->blocks;
    o->noise_bins = f->noise_bins;
    o->noise_hidden = f->noise_hidden;
    o->noise_levels = f->noise_levels;
    o->noise_steps = f->noise_steps;
    for (int s = 0; s < WM_EBM_STAGES; s++)
        o->train[s] = (wm_ebm_training){.batch = f->stage[s].batch,
                                        .iterations = f->stage[s].iterations,
                                        .lr = f->stage[s].lr,
                                        .average = f->stage[s].average};
    o->seed = (uint64_t)call->common->seed;
    o->time_limit = call->common->time_limit;
    o->resume = call->common->resume;
    o->checkpoint_seconds = f->checkpoint;
    o->sink = call->sink;
    o->stop = call->stop;
    return wm_run_folder_path(&o->checkpoint, call->run, "state.safetensors", err);
}

/* ---- what happens on the way ---- */

typedef struct watcher {
    cli_call *call;
    bool seen[WM_EBM_STAGES];
    wm_status st; /* of writing metrics */
    wm_error err;
} watcher;

static void on_eval(void *ctx, const wm_ebm_progress *p)
{
    watcher *w = ctx;
    const bool noise = p->stage == WM_EBM_STAGE_NOISE;
    wm_summary *line = NULL;

    /* A run that was killed may have said more than its checkpoint knows. */
    if (!w->st && !w->seen[p->stage])
        w->st = wm_run_folder_rewind(w->call->run, stage_names[p->stage], p->step - 1, &w->err);
    w->seen[p->stage] = true;
    if (w->st || !w->call->run || (w->st = wm_summary_new(&line, &w->err)))
        return;
    wm_summary_text(line, "stage", stage_names[p->stage]);
    wm_summary_integer(line, "step", p->step);
    wm_summary_real(line, noise ? "train_loglik" : "train_loss", p->train_loss);
    wm_summary_real(line, noise ? "valid_loglik" : "valid_loss", p->valid_loss);
    if (!noise)
        wm_summary_real(line, "direct", p->direct);
    wm_summary_real(line, "seconds", p->seconds);
    for (int64_t k = 0; k < p->n_bridges; k++) {
        wm_summary *row = wm_summary_row(line, "bridges");

        wm_summary_integer(row, "k", k);
        wm_summary_real(row, "loss", p->bridges[k].loss);
        wm_summary_real(row, "accuracy", p->bridges[k].accuracy);
        wm_summary_real(row, "mean_log_ratio", p->bridges[k].mean_log_ratio);
    }
    w->st = wm_run_folder_metrics(w->call->run, line, &w->err);
    wm_summary_free(line);
}

/* ---- what comes out ---- */

typedef struct check {
    const char *name;
    double value, limit;
    bool ok;
    char meaning[240];
} check;

enum { MAX_CHECKS = 3 };

static int make_checks(check c[MAX_CHECKS], const wm_ebm *e, const wm_ebm_info *info,
                       const wm_ais *ais)
{
    double worst = 2 * log(2);
    int64_t at = 0;
    int n = 0;

    for (int64_t k = 0; k < info->bridges; k++) {
        wm_ratio_bridge b;

        wm_ebm_get_bridge(e, k, &b);
        if (b.loss < worst) {
            worst = b.loss;
            at = k;
        }
    }
    c[n] = (check){.name = "chasm", .value = worst, .limit = 0.1, .ok = worst >= 0.1};
    snprintf(c[n].meaning, sizeof c[n].meaning,
             c[n].ok ? "No bridge is so easy that its ratio cannot be learned."
                     : "Bridge %" PRId64 " is classified almost perfectly: its ratio is not "
                       "learned. Use more bridges.",
             at);
    n++;
    c[n] = (check){.name = "finished", .value = info->finished, .limit = 1, .ok = info->finished};
    snprintf(c[n].meaning, sizeof c[n].meaning, "%s",
             info->finished ? "All steps were made."
                            : "Fitting ended early: --resume goes on, or allow more time.");
    n++;
    if (ais) {
        const double limit = fmax(0.5, 3 * ais->se);

        c[n] = (check){.name = "normaliser",
                       .value = ais->log_z,
                       .limit = limit,
                       .ok = fabs(ais->log_z) <= limit && ais->ess >= 5};
        if (ais->ess < 5)
            snprintf(c[n].meaning, sizeof c[n].meaning,
                     "The weights of AIS rest on %.1f of %" PRId64
                     " chains, so log Z is not known: raise --check-steps.",
                     ais->ess, ais->used);
        else
            snprintf(c[n].meaning, sizeof c[n].meaning,
                     c[n].ok ? "By AIS log Z of phi is %.2f +- %.2f nats: direct likelihoods hold "
                               "to that."
                             : "By AIS log Z of phi is %.2f +- %.2f nats, not 0: direct "
                               "likelihoods are off by that; more steps or bridges may help.",
                     ais->log_z, ais->se);
        n++;
    }
    return n;
}

static void add_summary(cli_call *call, const wm_ebm *e, const wm_ebm_info *info, const wm_ais *ais,
                        const check *c, int n)
{
    wm_summary *s = call->summary;
    const char *verdict = "trust", *reason = "No check failed.";
    char text[64];

    wm_summary_integer(s, "n_train", info->n_train);
    wm_summary_integer(s, "n_test", info->n_valid);
    wm_summary_integer(s, "dim", info->dim);
    wm_summary_text(s, "model", wm_ebm_model_text(info->model, text, sizeof text));
    wm_summary_text(s, "noise", noise_names[info->noise]);
    ebm_summary_loglik(s, "noise_loglik", info, info->noise_loglik, NAN);
    ebm_summary_loglik(s, "direct", info, info->direct, NAN);
    for (int64_t k = 0; k < info->bridges; k++) {
        wm_summary *row = wm_summary_row(s, "bridges");
        wm_ratio_bridge b;

        wm_ebm_get_bridge(e, k, &b);
        wm_summary_integer(row, "k", k);
        wm_summary_real(row, "alpha_from", b.alpha_from);
        wm_summary_real(row, "alpha_to", b.alpha_to);
        wm_summary_real(row, "loss", b.loss);
        wm_summary_real(row, "accuracy", b.accuracy);
        wm_summary_real(row, "mean_log_ratio", b.mean_log_ratio);
    }
    for (int i = 0; i < WM_EBM_STAGES; i++) {
        wm_summary *row = wm_summary_row(s, "stages");

        wm_summary_text(row, "stage", stage_names[i]);
        wm_summary_integer(row, "steps", info->steps[i]);
        wm_summary_real(row, "seconds", info->seconds[i]);
    }
    if (ais) {
        wm_summary_real(s, "log_z", ais->log_z);
        wm_summary_real(s, "log_z_se", ais->se);
        wm_summary_real(s, "log_z_ess", ais->ess);
    }
    for (int i = 0; i < n; i++) {
        wm_summary *row = wm_summary_row(s, "checks");

        wm_summary_text(row, "name", c[i].name);
        wm_summary_real(row, "value", c[i].value);
        wm_summary_real(row, "limit", c[i].limit);
        wm_summary_bool(row, "ok", c[i].ok);
        wm_summary_text(row, "meaning", c[i].meaning);
        if (!c[i].ok && strcmp(verdict, "trust") == 0) {
            verdict = "doubt";
            reason = c[i].meaning;
        }
    }
    wm_summary_text(s, "units", "nats");
    wm_summary_text(s, "verdict", verdict);
    wm_summary_text(s, "reason", reason);
    call->doubt = strcmp(verdict, "trust") != 0;
}

static wm_status print_result(const wm_ebm *e, const wm_ebm_info *info, const check *c, int n,
                              wm_error *err)
{
    char title[160], text[64];
    wm_table *t;
    wm_status st;

    printf("log-likelihood of %" PRId64 " held-out rows, mean, nats (bits per dimension):\n",
           info->n_valid);
    printf("  noise alone  %12.4f  (%.4f)\n", info->noise_loglik,
           ebm_bits(info, info->noise_loglik));
    printf("  direct       %12.4f  (%.4f), taking Z as 1\n\n", info->direct,
           ebm_bits(info, info->direct));
    snprintf(title, sizeof title, "%" PRId64 " bridge%s, %s", info->bridges,
             info->bridges == 1 ? "" : "s", wm_ebm_model_text(info->model, text, sizeof text));
    if ((st = wm_table_new(&t, title, err)))
        return st;
    wm_table_column(t, "bridge", WM_ALIGN_RIGHT);
    wm_table_column(t, "alpha", WM_ALIGN_RIGHT);
    wm_table_column(t, "to", WM_ALIGN_RIGHT);
    wm_table_column(t, "loss", WM_ALIGN_RIGHT);
    wm_table_column(t, "accuracy", WM_ALIGN_RIGHT);
    wm_table_column(t, "mean log-ratio", WM_ALIGN_RIGHT);
    for (int64_t k = 0; k < info->bridges; k++) {
        wm_ratio_bridge b;

        wm_ebm_get_bridge(e, k, &b);
        wm_table_integer(t, k);
        wm_table_real(t, b.alpha_from, 4);
        wm_table_real(t, b.alpha_to, 4);
        wm_table_real(t, b.loss, 4);
        wm_table_real(t, b.accuracy, 3);
        wm_table_real(t, b.mean_log_ratio, 3);
    }
    st = wm_table_print(t, stdout, err);
    wm_table_free(t);
    printf("\n");
    for (int i = 0; i < n; i++)
        printf("%s %s: %s\n", c[i].ok ? "ok  " : "FAIL", c[i].name, c[i].meaning);
    return st;
}

static wm_status run(cli_call *call, wm_error *err)
{
    const ebm_opts *f = call->opts;
    watcher watch = {.call = call};
    wm_data *data = NULL, *valid = NULL;
    wm_ebm *e = NULL, *noise = NULL;
    wm_ebm_opts o;
    wm_ebm_info info;
    wm_ebm_walk walk;
    wm_ais ais;
    check checks[MAX_CHECKS];
    const char *path;
    bool checked;
    int n;
    wm_status st;

    if ((st = make_opts(&o, call, err)) ||
        (st = ebm_read(&data, call->args[0], &f->read, call, err)) ||
        (f->valid && (st = ebm_read(&valid, f->valid, &f->read, call, err))) ||
        (f->noise_from && (st = ebm_open(&noise, f->noise_from, err))))
        goto done;
    o.noise_of = noise;
    o.on_eval = on_eval;
    o.ctx = &watch;
    if ((st = wm_ebm_fit(&e, data, valid, &o, err)))
        goto done;
    if ((st = watch.st)) {
        *err = watch.err;
        goto done;
    }
    wm_ebm_get_info(e, &info);
    if ((st = wm_run_folder_path(&path, call->run, "model.safetensors", err)) ||
        (path && (st = wm_ebm_save(e, path, err))))
        goto done;
    if (!info.finished && *call->stop) { /* what was learned is kept, but nobody waits for more */
        st = WM_EINTERRUPTED;
        opt_fail(err, "%s",
                 path ? "--resume goes on; model.safetensors has what was learned so far"
                      : "without -o nothing is kept");
        goto done;
    }
    wm_ebm_walk_init(&walk);
    walk.chains = f->check_chains;
    walk.steps = f->check_steps > 0 ? f->check_steps : 300;
    walk.seed = o.seed;
    walk.sink = call->sink;
    walk.stop = call->stop;
    if (walk.steps < info.bridges)
        walk.steps = info.bridges;
    checked = f->check_steps > 0 || (f->check_steps == 0 && info.height == 0);
    if (checked && (st = wm_ebm_ais(&ais, NULL, e, &walk, err)))
        goto done;
    n = make_checks(checks, e, &info, checked ? &ais : NULL);
    add_summary(call, e, &info, checked ? &ais : NULL, checks, n);
    if (cli_shows_tables(call) && (st = print_result(e, &info, checks, n, err)))
        goto done;
    if (!(st = cli_publish(call, err)))
        st = ebm_draw_plane(call, e, "rows of the data", wm_data_rows(data), wm_data_count(data),
                            err);
done:
    wm_ebm_free(e);
    wm_ebm_free(noise);
    wm_data_free(valid);
    wm_data_free(data);
    return st;
}

const cli_command cmd_ebm = {
    .name = "ebm",
    .about = "a density of the data: noise that is fitted first, times a telescope of ratios",
    .arguments = "DATA",
    .min_args = 1,
    .max_args = 1,
    .details =
        "DATA is a table of samples (npy, npz, CSV, IDX, ...), or images as rows with --image."
        "\n"
        "phi(x) = q(x) prod_k r_k(x): q is the noise, fitted by maximum likelihood; the "
        "bridges\n"
        "r_k lead from the data to it. With -o the model is kept, for `waymark loglik` and\n"
        "`waymark sample`.",
    .examples =
        "waymark ebm table.csv -o run\n"
        "waymark loglik run test.csv\n"
        "waymark sample run -n 1000 -o draws\n"
        "waymark ebm mnist/train.npy --image 28x28 --dequantize 256 --logit 1e-6 -o mnist-run",
    .common = CLI_ALL & ~(unsigned)CLI_BITS,
    .rows = rows,
    .opts_size = sizeof(ebm_opts),
    .defaults = defaults,
    .run = run,
};
