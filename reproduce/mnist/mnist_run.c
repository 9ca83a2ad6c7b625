/* mnist_run.c - energy-based models of MNIST (paper, section 4.4, its table 1 and figures): three
 * noise densities, each alone, under one ratio (NCE) and under the telescope (TRE), with direct
 * likelihoods and the bracket of RAISE and AIS; and how the number of waymarks and their space
 * matter.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mnist.h"
#include "waymark/images.h"

enum {
    MAX_JOBS = 32,
    FEW_VALID = 48, /* images of the smallest preset: short trainings do little but validate */
    FEW_TEST = 200
};

/* What the paper's table says, bits per dimension: direct, RAISE, AIS. */
static const double paper_table[3][3][3] = {
    [WM_NOISE_GAUSSIAN] = {{2.01, NAN, NAN}, {1.96, 1.99, 2.01}, {1.39, 1.35, 1.35}},
    [WM_NOISE_COPULA] = {{1.40, NAN, NAN}, {1.33, 1.48, 1.45}, {1.24, 1.23, 1.22}},
    [WM_NOISE_FLOW] = {{1.12, NAN, NAN}, {1.09, 1.10, 1.10}, {1.09, 1.09, 1.09}},
};

/* Sizes of a preset: training of noise (copula, flow), heads, bridges (NCE, TRE); chains. */
typedef struct preset {
    unsigned model; /* WM_EBM_* */
    bool standardize;
    bool spread[3]; /* every bridge has its own trajectories; on each noise */
    const char *network;
    int64_t width, blocks;             /* of an mlp */
    int64_t bridges[3];                /* on each noise */
    double power[3];                   /* of their spacing */
    int64_t noise_hidden, noise_steps; /* of a flow */
    double noise_dropout;
    wm_adam_opts copula, flow, nce;
    wm_adam_opts heads[3], tre[3]; /* on each noise */
    int64_t chains, steps;
    double flow_share; /* of all these steps, over flow noise, through which every waymark and
                          every gradient must go; 0: all */
    /* The sensitivity study, where the rows are too many for their full size: additive bridges
     * alone. iterations 0: as the table's rows. */
    wm_adam_opts study;
    int64_t study_chains, study_steps;
    int64_t most; /* images of training; 0: all */
} preset;

#define EACH(...)                                                                                  \
    {                                                                                              \
        __VA_ARGS__, __VA_ARGS__, __VA_ARGS__                                                      \
    }

static const preset presets[REPRODUCE_PRESETS] = {
    [REPRODUCE_SMOKE] =
        REPRODUCE_PRESET(.model = WM_EBM_ADDITIVE | WM_EBM_RESNET,
                         .network = "stem 5/4 8, 8 down, dense 16", .bridges = {4, 4, 4},
                         .power = {1, 1, 1}, .noise_hidden = 8, .noise_steps = 2, .width = WM_AUTO,
                         .blocks = WM_AUTO, .copula = WM_ADAM(60, 128, WM_UNSET, WM_UNSET),
                         .flow = WM_ADAM(30, 32, WM_UNSET, WM_UNSET),
                         .heads = EACH(WM_ADAM(40, 100, WM_UNSET, WM_UNSET)),
                         .nce = WM_ADAM(20, 60, WM_UNSET, WM_UNSET),
                         .tre = EACH(WM_ADAM(30, 100, WM_UNSET, WM_UNSET)), .chains = 4,
                         .steps = 16, .most = 1500),
    [REPRODUCE_LAPTOP] =
        REPRODUCE_PRESET(.model = WM_EBM_ADDITIVE | WM_EBM_MLP, .width = 512, .blocks = 1,
                         .standardize = true, .bridges = {14, 6, 4}, .power = {1.6, 1.2, 1.2},
                         .spread = {true}, .noise_hidden = 32, .noise_steps = WM_AUTO,
                         .copula = WM_ADAM(WM_AUTO, WM_AUTO, WM_UNSET, WM_UNSET),
                         .flow = WM_ADAM(12000, 64, 2e-3, 0.999),
                         .heads = {WM_ADAM(3000, 600, 4e-3, 0.99), WM_ADAM(1500, 600, 4e-3, 0.99),
                                   WM_ADAM(1500, 600, 4e-3, 0.99)},
                         .nce = WM_ADAM(2000, 200, 1e-3, 0.99),
                         .tre = {WM_ADAM(8000, 750, 1e-3, 0.99), WM_ADAM(3000, 750, 1e-3, 0.99),
                                 WM_ADAM(3000, 750, 1e-3, 0.99)},
                         .chains = 24, .steps = 560, .flow_share = 0.25,
                         .study = WM_ADAM(600, 700, 4e-3, 0.99), .study_chains = 8,
                         .study_steps = 120),
    [REPRODUCE_PAPER] =
        REPRODUCE_PRESET(.model = WM_EBM_RESNET, .network = "paper", .bridges = {10, 10, 10},
                         .power = {1, 1, 1}, .width = WM_AUTO, .blocks = WM_AUTO,
                         .noise_hidden = WM_AUTO, .noise_steps = WM_AUTO, .noise_dropout = WM_UNSET,
                         .copula = WM_ADAM(40000, 512, WM_UNSET, WM_UNSET),
                         .flow = WM_ADAM(200000, 256, WM_UNSET, WM_UNSET),
                         .nce = WM_ADAM(200000, 500, 1e-4, 0),
                         .tre = EACH(WM_ADAM(200000, 275, 1e-4, 0)), .chains = 100, .steps = 1000),
    /* As many steps as fit into eight hours, by the steps a second of shorter runs. */
    [REPRODUCE_NIGHT] = REPRODUCE_PRESET(
            .model = WM_EBM_ADDITIVE | WM_EBM_MLP, .width = 768, .blocks = 1, .standardize = true,
            .bridges = {14, 6, 4}, .power = {1.6, 1.2, 1.2}, .spread = {true}, .noise_hidden = 64,
            .noise_steps = WM_AUTO, .copula = WM_ADAM(WM_AUTO, WM_AUTO, WM_UNSET, WM_UNSET),
            .flow = WM_ADAM(100000, 128, 1e-3, 0.9995),
            .heads = EACH(WM_ADAM(3000, 600, 4e-3, 0.99)), .nce = WM_ADAM(10000, 200, 1e-3, 0.999),
            .tre = {WM_ADAM(100000, 750, 1e-3, 0.999), WM_ADAM(30000, 750, 1e-3, 0.999),
                    WM_ADAM(10000, 750, 1e-3, 0.999)},
            .chains = 24, .steps = 2000),
};

/* ---- the rows ---- */

static mnist_job job_of(const preset *p, wm_ebm_noise noise, mnist_method method)
{
    mnist_job j = {.method = method};
    wm_ebm_opts *o = &j.fit;

    memcpy(j.paper, paper_table[noise][method], sizeof j.paper);
    wm_ebm_walk_init(&j.walk);
    j.walk.chains = p->chains;
    j.walk.steps = p->steps;
    wm_ebm_opts_init(o);
    o->noise = noise;
    o->channels = 1;
    o->levels = 256;
    o->logit = 1e-6;
    o->standardize = p->standardize ? WM_CHOICE_YES : WM_CHOICE_NO;
    o->model = p->model;
    o->network = p->network;
    o->mlp_width = p->width;
    o->mlp_blocks = p->blocks;
    o->noise_hidden = p->noise_hidden;
    o->noise_steps = p->noise_steps;
    o->noise_dropout = p->noise_dropout;
    o->spacing.power = p->power[noise];
    o->bridges = method == MNIST_TRE ? p->bridges[noise] : 1;
    o->spread = p->spread[noise] && method == MNIST_TRE ? WM_CHOICE_YES : WM_CHOICE_NO;
    o->train[WM_STAGE_NOISE] = noise == WM_NOISE_FLOW ? p->flow : p->copula;
    o->train[WM_STAGE_HEADS] = p->heads[noise];
    o->train[WM_STAGE_BRIDGES] = method == MNIST_TRE ? p->tre[noise] : p->nce;
    if (noise == WM_NOISE_FLOW && p->flow_share > 0) {
        for (int stage = WM_STAGE_HEADS; stage < WM_STAGES; stage++)
            o->train[stage].iterations =
                (int64_t)(p->flow_share * (double)o->train[stage].iterations);
        j.walk.steps = (int64_t)(p->flow_share * (double)j.walk.steps);
    }
    if (method == MNIST_NOISE) {
        o->train[WM_STAGE_HEADS].iterations = 0;
        o->train[WM_STAGE_BRIDGES].iterations = 0;
        o->model = WM_EBM_ADDITIVE; /* not trained: log r is 0 */
        o->network = NULL;
    }
    return j;
}

static mnist_job study_job(const preset *p, int64_t bridges, bool x_space)
{
    mnist_job j = job_of(p, WM_NOISE_COPULA, MNIST_TRE);

    j.fit.bridges = bridges;
    j.fit.x_space = x_space;
    j.paper[0] = j.paper[1] = j.paper[2] = NAN;
    if (p->study.iterations) {
        j.fit.model = WM_EBM_ADDITIVE;
        j.fit.network = NULL;
        j.fit.train[WM_STAGE_BRIDGES] = p->study;
        j.walk.chains = p->study_chains;
        j.walk.steps = p->study_steps;
    }
    return j;
}

static void job_name(const mnist_job *j, const preset *p, char name[64])
{
    snprintf(name, 64, "%s-%s", mnist_noise_names[j->fit.noise], mnist_method_names[j->method]);
    if (j->method == MNIST_TRE && (j->fit.bridges != p->bridges[j->fit.noise] || j->fit.x_space))
        snprintf(name + strlen(name), 32, "-%" PRId64 "%s", j->fit.bridges,
                 j->fit.x_space ? "-x" : "");
}

/* The table's nine rows, or those whose noise and method are named: "copula", "copula-tre"; and
 * "sensitivity", the telescope on copula noise with 5 to 30 bridges, in both spaces. */
static wm_status list_jobs(const preset *p, const char *only, mnist_job *jobs, int *n,
                           wm_error *err)
{
    mnist_job all[MAX_JOBS];
    reproduce_names names[MAX_JOBS] = {0};
    bool wanted[MAX_JOBS];
    int n_all = 0, n_table;
    wm_status st;

    for (int noise = WM_NOISE_GAUSSIAN; noise <= WM_NOISE_FLOW; noise++)
        for (int method = MNIST_NOISE; method <= MNIST_TRE; method++, n_all++) {
            all[n_all] = job_of(p, (wm_ebm_noise)noise, (mnist_method)method);
            snprintf(names[n_all].row, sizeof names->row, "%s-%s", mnist_noise_names[noise],
                     mnist_method_names[method]);
            snprintf(names[n_all].first, sizeof names->first, "%s", mnist_noise_names[noise]);
        }
    n_table = n_all;
    for (int space = 0; space < 2; space++)
        for (int64_t m = 5; m <= 30; m += m == 20 ? 10 : 5) {
            snprintf(names[n_all].row, sizeof names->row, "sensitivity");
            all[n_all++] = study_job(p, m, space == 1);
        }
    if ((st = reproduce_choose(wanted, names, n_all, only,
                               "gaussian, copula, flow, each alone or with -noise, -nce or -tre, "
                               "and sensitivity are known",
                               err)))
        return st;
    *n = 0;
    for (int i = 0; i < (only ? n_all : n_table); i++)
        if (wanted[i])
            jobs[(*n)++] = all[i];
    return WM_OK;
}

/* ---- data ---- */

static wm_status take_part(wm_data **out, const uint8_t *pixels, int64_t n, int64_t dim,
                           wm_error *err)
{
    wm_status st = wm_data_new(out, n, dim, NULL, err);

    for (int64_t i = 0; !st && i < n * dim; i++)
        wm_data_rows_mut(*out)[i] = pixels[i];
    return st;
}

static wm_status read_images(mnist_data *d, const preset *p, const char *folder, wm_error *err)
{
    wm_data **const parts[] = {&d->train, &d->valid, &d->test}; /* by wm_split */
    const int64_t most[] = {p->most, p->most ? FEW_VALID : 0, p->most ? FEW_TEST : 0};
    wm_image_set *set = NULL;
    wm_status st = wm_image_set_open(&set, folder, 10000, err);

    if (st)
        return st;
    d->height = wm_image_set_height(set);
    d->width = wm_image_set_width(set);
    snprintf(d->name, sizeof d->name, "%s", "the images of --data");
    for (int i = 0; i < 3 && !st; i++) {
        const wm_image_part part = wm_image_set_part(set, (wm_split)i);

        st = take_part(parts[i], part.pixels, most[i] && part.n > most[i] ? most[i] : part.n,
                       d->height * d->width, err);
    }
    wm_image_set_free(set);
    return st;
}

/* Without the data set: characters of our own, so that the small preset runs anywhere. */
static wm_status draw_images(mnist_data *d, uint64_t seed, wm_error *err)
{
    enum { DIM = 784, TRAIN = 1500, ALL = TRAIN + FEW_VALID + FEW_TEST };
    wm_alphabets *a = NULL;
    uint8_t *pixels = NULL;
    int64_t n = 0;
    wm_status st = wm_alphabets_open_glyphs(&a, NULL, 0, 0, seed, err);

    if (st)
        return st;
    if (!(pixels = calloc((size_t)ALL * DIM, 1))) {
        st = WM_ENOMEM;
        goto done;
    }
    /* Drawings go round fastest: every character is in each part. */
    for (int64_t drawing = 0; drawing < wm_alphabets_drawings(a); drawing++)
        for (int64_t i = 0; i < wm_alphabets_count(a); i++)
            for (int64_t c = 0; c < wm_alphabets_size(a, i) && n < ALL; c++)
                memcpy(pixels + DIM * n++, wm_alphabets_drawing(a, i, c, drawing), DIM);
    d->height = d->width = 28;
    snprintf(d->name, sizeof d->name, "characters drawn by waymark");
    if (!(st = take_part(&d->train, pixels, TRAIN, DIM, err)) &&
        !(st = take_part(&d->valid, pixels + TRAIN * DIM, FEW_VALID, DIM, err)))
        st = take_part(&d->test, pixels + (TRAIN + FEW_VALID) * DIM, FEW_TEST, DIM, err);
done:
    free(pixels);
    wm_alphabets_free(a);
    return st;
}

static wm_status open_data(mnist_data *d, const preset *p, const reproduce_settings *s,
                           wm_error *err)
{
    if (s->data)
        return read_images(d, p, s->data, err);
    if (p == &presets[REPRODUCE_SMOKE])
        return draw_images(d, s->control.seed, err);
    return WM_FAIL(err, WM_EINVAL,
                   "--data DIR: this preset needs the images, which `make data` fetches");
}

static void free_data(mnist_data *d)
{
    wm_data_free(d->train);
    wm_data_free(d->valid);
    wm_data_free(d->test);
}

/* ---- results ---- */

static void add_row(wm_summary *s, const mnist_job *j, const mnist_outcome *o)
{
    WM_PUT(wm_summary_row(s, "rows"), WM_TEXT("noise", mnist_noise_names[j->fit.noise]),
           WM_TEXT("method", mnist_method_names[j->method]),
           WM_INTEGER("bridges", j->method == MNIST_NOISE ? 0 : j->fit.bridges),
           WM_TEXT("space", j->fit.x_space ? "x" : "z"), WM_REAL("direct", o->direct),
           WM_REAL("raise", o->raise), WM_REAL("ais", o->ais), WM_REAL("direct_se", o->direct_se),
           WM_REAL("raise_se", o->raise_se), WM_REAL("ais_se", o->ais_se),
           WM_REAL("paper_direct", j->paper[0]), WM_REAL("paper_raise", j->paper[1]),
           WM_REAL("paper_ais", j->paper[2]), WM_REAL("validation_direct", o->valid),
           WM_REAL("log_z", o->log_z), WM_REAL("ess", o->ess),
           WM_INTEGER("chains", j->method == MNIST_NOISE ? 0 : j->walk.chains),
           WM_INTEGER("steps", j->method == MNIST_NOISE ? 0 : j->walk.steps),
           WM_REAL("gradients_per_second", o->gradients), WM_REAL("seconds", o->seconds),
           WM_REAL("seconds_judging", o->seconds_judging), WM_BOOL("finished", o->finished));
}

/* The grid that mnist_run() drew of a row's chains, for the page. */
static void add_picture(wm_summary *s, const mnist_job *j, const char *name)
{
    wm_summary *row = wm_summary_row(s, "pictures");
    char file[80], title[128], caption[320];

    snprintf(file, sizeof file, "%s.png", name);
    snprintf(title, sizeof title, "%s noise, %s, %" PRId64 " bridge%s%s",
             mnist_noise_names[j->fit.noise],
             j->method == MNIST_TRE ? "telescope (TRE)" : "one ratio (NCE)", j->fit.bridges,
             j->fit.bridges == 1 ? "" : "s", j->fit.x_space ? ", waymarks in x" : "");
    title[0] = (char)(title[0] - 'a' + 'A');
    snprintf(caption, sizeof caption,
             "The last states of the %" PRId64 " chains of AIS, %" PRId64 " steps from the noise, "
             "row by row from the lowest log-density at the top left to the highest. Log-densities "
             "are in nats, up to the normaliser; chains count from 0.",
             j->walk.chains, j->walk.steps);
    WM_PUT(row, WM_TEXT("file", file), WM_TEXT("title", title), WM_TEXT("caption", caption));
}

static wm_text_table *make_table(const mnist_job *jobs, const mnist_outcome *o, int n)
{
    wm_text_table *t = wm_text_table_new(
        "Test images, bits per dimension",
        "<noise|<method|bridges|direct|RAISE|AIS|paper: direct|RAISE|AIS|seconds");

    for (int i = 0; i < n; i++) {
        const mnist_job *j = &jobs[i];
        char method[32];

        if (i && j->fit.noise != jobs[i - 1].fit.noise)
            wm_text_table_rule(t);
        snprintf(method, sizeof method, "%s%s", mnist_method_names[j->method],
                 j->fit.x_space ? ", x-space" : "");
        WM_ROW(t, WM_CELL_TEXT(mnist_noise_names[j->fit.noise]), WM_CELL_TEXT(method),
               j->method == MNIST_NOISE ? WM_CELL_TEXT("") : WM_CELL_INTEGER(j->fit.bridges),
               WM_CELL_KNOWN(o[i].direct, 3), WM_CELL_KNOWN(o[i].raise, 3),
               WM_CELL_KNOWN(o[i].ais, 3), WM_CELL_KNOWN(j->paper[0], 3),
               WM_CELL_KNOWN(j->paper[1], 3), WM_CELL_KNOWN(j->paper[2], 3),
               WM_CELL_KNOWN(o[i].seconds, 1));
    }
    return t;
}

/* AIS and RAISE must agree on the telescope's rows: else neither can be read. */
static void add_checks(reproduce_result *out, const mnist_job *jobs, const mnist_outcome *o, int n)
{
    for (int i = 0; i < n; i++) {
        const double gap = fabs(o[i].ais - o[i].raise);
        char name[64];

        if (jobs[i].method != MNIST_TRE || isnan(gap))
            continue;
        snprintf(name, sizeof name, "bracket_%s_%" PRId64 "%s",
                 mnist_noise_names[jobs[i].fit.noise], jobs[i].fit.bridges,
                 jobs[i].fit.x_space ? "_x" : "");
        reproduce_check(out, name, gap, 0.05, "AIS and RAISE, bits per dimension apart");
    }
    reproduce_verdict(out);
}

/* All rows in turn. The noise of a row is that of the row of the noise before it; where that was
 * not asked for, it is fitted all the same. */
static wm_status run_jobs(const mnist_job *jobs, mnist_outcome *o, int n, const preset *p,
                          const mnist_data *data, const reproduce_settings *s, wm_error *err)
{
    wm_ebm *noise = NULL;
    int fitted = -1;
    wm_status st = WM_OK;

    for (int i = 0; i < n && !st; i++) {
        char name[64];

        job_name(&jobs[i], p, name);
        reproduce_announce(s->control.sink, i, n, name);
        if ((int)jobs[i].fit.noise != fitted) {
            const mnist_job base = job_of(p, jobs[i].fit.noise, MNIST_NOISE);
            mnist_outcome first;
            char base_name[64];

            wm_ebm_free(noise);
            noise = NULL;
            job_name(&base, p, base_name);
            if ((st = mnist_run(&first, &noise, &base, data, NULL, base_name, s, err)))
                break;
            fitted = (int)jobs[i].fit.noise;
            if (jobs[i].method == MNIST_NOISE) {
                o[i] = first;
                continue;
            }
        }
        st = mnist_run(&o[i], NULL, &jobs[i], data, noise, name, s, err);
    }
    wm_ebm_free(noise);
    return st;
}

wm_status reproduce_mnist(reproduce_result *out, const reproduce_settings *settings, wm_error *err)
{
    mnist_job jobs[MAX_JOBS];
    mnist_outcome outcomes[MAX_JOBS];
    mnist_data data = {0};
    const preset *chosen = reproduce_preset_of(presets, sizeof *presets, settings, err);
    int n;
    wm_status st;

    if (!chosen)
        return WM_EINVAL;
    if ((st = list_jobs(chosen, settings->only, jobs, &n, err)) ||
        (st = open_data(&data, chosen, settings, err)) ||
        (st = run_jobs(jobs, outcomes, n, chosen, &data, settings, err)))
        goto done;
    wm_summary_text(out->summary, "data", data.name);
    for (int i = 0; i < n; i++) {
        char name[64];

        add_row(out->summary, &jobs[i], &outcomes[i]);
        job_name(&jobs[i], chosen, name);
        if (settings->folder && !isnan(outcomes[i].ais))
            add_picture(out->summary, &jobs[i], name);
    }
    add_checks(out, jobs, outcomes, n);
    out->table = make_table(jobs, outcomes, n);
done:
    free_data(&data);
    return st;
}
