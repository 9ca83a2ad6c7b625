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
    const char *model, *network;
    int64_t width, blocks; /* of an mlp */
    bool standardize;
    int64_t bridges[3];                /* on each noise */
    double power[3];                   /* of their spacing */
    int64_t noise_hidden, noise_steps; /* of a flow; 0: the usual */
    double noise_dropout;
    wm_ebm_training copula, flow, nce;
    wm_ebm_training heads[3], tre[3]; /* on each noise */
    bool spread[3];                   /* every bridge has its own trajectories */
    int64_t chains, steps;
    double flow_share; /* of all these steps, over flow noise, through which every waymark and
                          every gradient must go; 0: all */
    /* The sensitivity study, where the rows are too many for their full size: additive bridges
     * alone. iterations 0: as the table's rows. */
    wm_ebm_training study;
    int64_t study_chains, study_steps;
    int64_t most; /* images of training; 0: all */
} preset;

#define EACH(...)                                                                                  \
    {                                                                                              \
        __VA_ARGS__, __VA_ARGS__, __VA_ARGS__                                                      \
    }

static const preset presets[REPRODUCE_PRESETS] = {
    [REPRODUCE_SMOKE] = {.model = "additive+resnet",
                         .network = "stem 5/4 8, 8 down, dense 16",
                         .bridges = {4, 4, 4},
                         .power = {1, 1, 1},
                         .noise_hidden = 8,
                         .noise_steps = 2,
                         .copula = {.batch = 128, .iterations = 60},
                         .flow = {.batch = 32, .iterations = 30},
                         .heads = EACH({.batch = 100, .iterations = 40}),
                         .nce = {.batch = 60, .iterations = 20},
                         .tre = EACH({.batch = 100, .iterations = 30}),
                         .chains = 4,
                         .steps = 16,
                         .most = 1500},
    [REPRODUCE_LAPTOP] =
        {.model = "additive+mlp",
         .width = 512,
         .blocks = 1,
         .standardize = true,
         .bridges = {14, 6, 4},
         .power = {1.6, 1.2, 1.2},
         .spread = {true},
         .noise_hidden = 32,
         .flow = {.batch = 64, .iterations = 12000, .lr = 2e-3, .average = 0.999},
         .heads = {{.batch = 600, .iterations = 3000, .lr = 4e-3, .average = 0.99},
                   {.batch = 600, .iterations = 1500, .lr = 4e-3, .average = 0.99},
                   {.batch = 600, .iterations = 1500, .lr = 4e-3, .average = 0.99}},
         .nce = {.batch = 200, .iterations = 2000, .lr = 1e-3, .average = 0.99},
         .tre = {{.batch = 750, .iterations = 8000, .lr = 1e-3, .average = 0.99},
                 {.batch = 750, .iterations = 3000, .lr = 1e-3, .average = 0.99},
                 {.batch = 750, .iterations = 3000, .lr = 1e-3, .average = 0.99}},
         .chains = 24,
         .steps = 560,
         .flow_share = 0.25,
         .study = {.batch = 700, .iterations = 600, .lr = 4e-3, .average = 0.99},
         .study_chains = 8,
         .study_steps = 120},
    [REPRODUCE_PAPER] = {.model = "resnet",
                         .network = "paper",
                         .bridges = {10, 10, 10},
                         .power = {1, 1, 1},
                         .noise_dropout = -1,
                         .copula = {.batch = 512, .iterations = 40000},
                         .flow = {.batch = 256, .iterations = 200000},
                         .nce = {.batch = 500, .iterations = 200000, .lr = 1e-4},
                         .tre = EACH({.batch = 275, .iterations = 200000, .lr = 1e-4}),
                         .chains = 100,
                         .steps = 1000},
};

/* ---- the rows ---- */

static mnist_job job_of(const preset *p, wm_ebm_noise noise, mnist_method method)
{
    mnist_job j = {.noise = noise,
                   .method = method,
                   .bridges = method == MNIST_TRE ? p->bridges[noise] : 1,
                   .power = p->power[noise],
                   .model = p->model,
                   .network = p->network,
                   .width = p->width,
                   .blocks = p->blocks,
                   .standardize = p->standardize,
                   .noise_hidden = p->noise_hidden,
                   .noise_steps = p->noise_steps,
                   .noise_dropout = p->noise_dropout,
                   .spread = p->spread[noise] && method == MNIST_TRE,
                   .chains = p->chains,
                   .steps = p->steps};

    memcpy(j.paper, paper_table[noise][method], sizeof j.paper);
    j.train[WM_EBM_STAGE_NOISE] = noise == WM_NOISE_FLOW ? p->flow : p->copula;
    j.train[WM_EBM_STAGE_HEADS] = p->heads[noise];
    j.train[WM_EBM_STAGE_BRIDGES] = method == MNIST_TRE ? p->tre[noise] : p->nce;
    if (noise == WM_NOISE_FLOW && p->flow_share > 0) {
        for (int stage = WM_EBM_STAGE_HEADS; stage < WM_EBM_STAGES; stage++)
            j.train[stage].iterations =
                (int64_t)(p->flow_share * (double)j.train[stage].iterations);
        j.steps = (int64_t)(p->flow_share * (double)j.steps);
    }
    if (method == MNIST_NOISE) {
        j.train[WM_EBM_STAGE_HEADS].iterations = -1;
        j.train[WM_EBM_STAGE_BRIDGES].iterations = -1;
        j.model = "additive"; /* not trained: log r is 0 */
        j.network = NULL;
    }
    return j;
}

static mnist_job study_job(const preset *p, int64_t bridges, bool x_space)
{
    mnist_job j = job_of(p, WM_NOISE_COPULA, MNIST_TRE);

    j.bridges = bridges;
    j.x_space = x_space;
    j.paper[0] = j.paper[1] = j.paper[2] = NAN;
    if (p->study.iterations) {
        j.model = "additive";
        j.network = NULL;
        j.train[WM_EBM_STAGE_BRIDGES] = p->study;
        j.chains = p->study_chains;
        j.steps = p->study_steps;
    }
    return j;
}

/* The table's nine rows, or those whose noise and method are named: "copula", "copula-tre"; and
 * "sensitivity", the telescope on copula noise with 5 to 30 bridges, in both spaces. */
static int list_jobs(const preset *p, const char *only, mnist_job *jobs)
{
    int n = 0;

    for (int noise = WM_NOISE_GAUSSIAN; noise <= WM_NOISE_FLOW; noise++)
        for (int method = MNIST_NOISE; method <= MNIST_TRE; method++) {
            const mnist_job j = job_of(p, (wm_ebm_noise)noise, (mnist_method)method);
            char name[64];

            snprintf(name, sizeof name, "%s-%s", mnist_noise_name(j.noise),
                     mnist_method_name(j.method));
            if (!only || strstr(only, name) ||
                (strstr(only, mnist_noise_name(j.noise)) &&
                 !strchr(strstr(only, mnist_noise_name(j.noise)), '-')))
                jobs[n++] = j;
        }
    if (only && strstr(only, "sensitivity"))
        for (int space = 0; space < 2; space++)
            for (int64_t m = 5; m <= 30; m += m == 20 ? 10 : 5)
                jobs[n++] = study_job(p, m, space == 1);
    return n;
}

static void job_name(const mnist_job *j, const preset *p, char name[64])
{
    snprintf(name, 64, "%s-%s", mnist_noise_name(j->noise), mnist_method_name(j->method));
    if (j->method == MNIST_TRE && (j->bridges != p->bridges[j->noise] || j->x_space))
        snprintf(name + strlen(name), 32, "-%" PRId64 "%s", j->bridges, j->x_space ? "-x" : "");
}

/* ---- data ---- */

static int64_t at_most(int64_t n, int64_t most)
{
    return most && n > most ? most : n;
}

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
    wm_image_set *set = NULL;
    wm_image_part part;
    int64_t dim;
    wm_status st = wm_image_set_open(&set, folder, 10000, err);

    if (st)
        return st;
    d->height = wm_image_set_height(set);
    d->width = wm_image_set_width(set);
    dim = d->height * d->width;
    part = wm_image_set_part(set, WM_SPLIT_TRAIN);
    if ((st = take_part(&d->train, part.pixels, at_most(part.n, p->most), dim, err)))
        goto done;
    part = wm_image_set_part(set, WM_SPLIT_VALID);
    if ((st =
             take_part(&d->valid, part.pixels, at_most(part.n, p->most ? FEW_VALID : 0), dim, err)))
        goto done;
    part = wm_image_set_part(set, WM_SPLIT_TEST);
    st = take_part(&d->test, part.pixels, at_most(part.n, p->most ? FEW_TEST : 0), dim, err);
    snprintf(d->name, sizeof d->name, "%s", "the images of --data");
done:
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
    pixels = calloc((size_t)ALL * DIM, 1);
    if (!pixels) {
        st = reproduce_fail(err, WM_ENOMEM, "images");
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
        return draw_images(d, s->seed, err);
    return reproduce_fail(err, WM_EINVAL,
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
    wm_summary *row = wm_summary_row(s, "rows");

    wm_summary_text(row, "noise", mnist_noise_name(j->noise));
    wm_summary_text(row, "method", mnist_method_name(j->method));
    wm_summary_integer(row, "bridges", j->method == MNIST_NOISE ? 0 : j->bridges);
    wm_summary_text(row, "space", j->x_space ? "x" : "z");
    wm_summary_real(row, "direct", o->direct);
    wm_summary_real(row, "raise", o->raise);
    wm_summary_real(row, "ais", o->ais);
    wm_summary_real(row, "direct_se", o->direct_se);
    wm_summary_real(row, "raise_se", o->raise_se);
    wm_summary_real(row, "ais_se", o->ais_se);
    wm_summary_real(row, "paper_direct", j->paper[0]);
    wm_summary_real(row, "paper_raise", j->paper[1]);
    wm_summary_real(row, "paper_ais", j->paper[2]);
    wm_summary_real(row, "validation_direct", o->valid);
    wm_summary_real(row, "log_z", o->log_z);
    wm_summary_real(row, "ess", o->ess);
    wm_summary_integer(row, "chains", j->method == MNIST_NOISE ? 0 : j->chains);
    wm_summary_integer(row, "steps", j->method == MNIST_NOISE ? 0 : j->steps);
    wm_summary_real(row, "gradients_per_second", o->gradients);
    wm_summary_real(row, "seconds", o->seconds);
    wm_summary_real(row, "seconds_judging", o->seconds_judging);
    wm_summary_bool(row, "finished", o->finished);
}

/* The grid that mnist_run() drew of a row's chains, for the page. */
static void add_picture(wm_summary *s, const mnist_job *j, const char *name)
{
    wm_summary *row = wm_summary_row(s, "pictures");
    char file[80], title[128], caption[320];

    snprintf(file, sizeof file, "%s.png", name);
    snprintf(title, sizeof title, "%s noise, %s, %" PRId64 " bridge%s%s",
             mnist_noise_name(j->noise),
             j->method == MNIST_TRE ? "telescope (TRE)" : "one ratio (NCE)", j->bridges,
             j->bridges == 1 ? "" : "s", j->x_space ? ", waymarks in x" : "");
    title[0] = (char)(title[0] - 'a' + 'A');
    snprintf(caption, sizeof caption,
             "The last states of the %" PRId64 " chains of AIS, %" PRId64 " steps from the noise, "
             "row by row from the lowest log-density at the top left to the highest. Log-densities "
             "are in nats, up to the normaliser; chains count from 0.",
             j->chains, j->steps);
    wm_summary_text(row, "file", file);
    wm_summary_text(row, "title", title);
    wm_summary_text(row, "caption", caption);
}

static wm_status fill_table(wm_table **out, const mnist_job *jobs, const mnist_outcome *o, int n,
                            wm_error *err)
{
    static const char *const heads[] = {"noise", "method",        "bridges", "direct", "RAISE",
                                        "AIS",   "paper: direct", "RAISE",   "AIS",    "seconds"};
    wm_status st = wm_table_new(out, "Test images, bits per dimension", err);

    if (st)
        return st;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        wm_table_column(*out, heads[i], i < 2 ? WM_ALIGN_LEFT : WM_ALIGN_RIGHT);
    for (int i = 0; i < n; i++) {
        char method[32];

        if (i && jobs[i].noise != jobs[i - 1].noise)
            wm_table_rule(*out);
        snprintf(method, sizeof method, "%s%s", mnist_method_name(jobs[i].method),
                 jobs[i].x_space ? ", x-space" : "");
        wm_table_text(*out, mnist_noise_name(jobs[i].noise));
        wm_table_text(*out, method);
        if (jobs[i].method == MNIST_NOISE)
            wm_table_text(*out, "");
        else
            wm_table_integer(*out, jobs[i].bridges);
        reproduce_cell(*out, o[i].direct, 3);
        reproduce_cell(*out, o[i].raise, 3);
        reproduce_cell(*out, o[i].ais, 3);
        for (int k = 0; k < 3; k++)
            reproduce_cell(*out, jobs[i].paper[k], 3);
        reproduce_cell(*out, o[i].seconds, 1);
    }
    return WM_OK;
}

/* AIS and RAISE must agree on the telescope's rows: else neither can be read. */
static void add_checks(reproduce_result *out, const mnist_job *jobs, const mnist_outcome *o, int n)
{
    for (int i = 0; i < n; i++) {
        const double gap = fabs(o[i].ais - o[i].raise);
        char name[64];

        if (jobs[i].method != MNIST_TRE || isnan(gap))
            continue;
        snprintf(name, sizeof name, "bracket_%s_%" PRId64 "%s", mnist_noise_name(jobs[i].noise),
                 jobs[i].bridges, jobs[i].x_space ? "_x" : "");
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
        reproduce_announce(s->sink, i, n, name);
        if ((int)jobs[i].noise != fitted) {
            const mnist_job base = job_of(p, jobs[i].noise, MNIST_NOISE);
            mnist_outcome first;
            char base_name[64];

            wm_ebm_free(noise);
            noise = NULL;
            job_name(&base, p, base_name);
            if ((st = mnist_run(&first, &noise, &base, data, NULL, base_name, s, err)))
                break;
            fitted = (int)jobs[i].noise;
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
    reproduce_preset which;
    const preset *chosen;
    int n;
    wm_status st;

    if ((st = reproduce_preset_find(&which, settings->preset, err)))
        return st;
    chosen = &presets[which];
    n = list_jobs(chosen, settings->only, jobs);
    if (!n)
        return reproduce_fail(err, WM_EINVAL,
                              "--only '%.60s': gaussian, copula, flow, each alone or with -noise, "
                              "-nce or -tre, and sensitivity are known",
                              settings->only);
    if ((st = open_data(&data, chosen, settings, err)) ||
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
    st = fill_table(&out->table, jobs, outcomes, n, err);
done:
    free_data(&data);
    return st;
}
