/* fuzz_model.c - model files that somebody has changed, checksums and all: small models of every
 * kind are fitted, the first byte of the input picks one, the others are patches. It must be
 * refused with a message that names it, or be loaded and then asked: numbers come back, or a
 * failure. */
#include <math.h>
#include <string.h>

#include "data/formats/safetensors_sums.h"
#include "patches.h"
#include "waymark/ebm.h"
#include "waymark/embed.h"
#include "waymark/ratio.h"

enum { RATIOS = 4, EBMS = 5, EMBEDS = 2, KINDS = RATIOS + EBMS + EMBEDS, ROWS = 60, MOST_DIM = 64 };

static patched good[KINDS], changed;
static char path[PATCH_PATH];

static void remove_file(void)
{
    unlink(path);
}

/* Rows that are not alike; column 0 is a level of three where levels are wanted. */
static wm_data *some_rows(int64_t dim, double shift, bool levels)
{
    wm_data *d = NULL;

    if (wm_data_new(&d, ROWS, dim, NULL, NULL))
        abort();
    for (int64_t i = 0; i < ROWS * dim; i++)
        wm_data_rows_mut(d)[i] = sin(1.7 * (double)(i * i % 101)) + shift * (double)(i % 3);
    for (int64_t i = 0; i < ROWS && levels; i++)
        wm_data_rows_mut(d)[i * dim] = (double)(i % 3);
    return d;
}

static void fit_ratio(int k)
{
    static const wm_ratio_model models[RATIOS] = {
        WM_RATIO_QUADRATIC, WM_RATIO_ADDITIVE, WM_RATIO_LINEAR | WM_RATIO_MLP, WM_RATIO_SEPARABLE};
    wm_data *p = some_rows(2, 0, false), *q = some_rows(2, 0.3, false);
    wm_ratio *r = NULL;
    wm_ratio_opts o;
    wm_error err = {0};

    wm_ratio_opts_init(&o);
    o.model = models[k];
    o.bridges = 2;
    o.width = 3;
    o.adam.iterations = 3;
    o.adam.batch = 20;
    o.pairs = models[k] == WM_RATIO_SEPARABLE;
    must(!wm_ratio_fit(&r, p, o.pairs ? NULL : q, &o, &err), "no ratio to begin with", &err);
    must(!wm_ratio_save(r, path, &err), "not saved", &err);
    wm_ratio_free(r);
    wm_data_free(q);
    wm_data_free(p);
}

static void fit_ebm(int k)
{
    static const struct {
        wm_ebm_noise noise;
        unsigned model;
        int64_t side, dim;
        bool levels;
    } kinds[EBMS] = {{WM_NOISE_GAUSSIAN, WM_EBM_QUADRATIC | WM_EBM_ADDITIVE | WM_EBM_MLP, 0, 2, 0},
                     {WM_NOISE_COPULA, WM_EBM_ADDITIVE, 0, 2, false},
                     {WM_NOISE_FLOW, WM_EBM_QUADRATIC, 0, 2, false},
                     {WM_NOISE_GAUSSIAN, WM_EBM_ADDITIVE, 0, 3, true},
                     {WM_NOISE_GAUSSIAN, WM_EBM_RESNET, 4, 16, false}};
    wm_data *rows = some_rows(kinds[k].dim, 0.2, kinds[k].levels);
    wm_schema *schema = NULL;
    wm_ebm *e = NULL;
    wm_ebm_opts o;
    wm_error err = {0};

    wm_ebm_opts_init(&o);
    o.noise = kinds[k].noise;
    o.model = kinds[k].model;
    o.height = o.width = kinds[k].side;
    o.channels = kinds[k].side > 0;
    o.network = kinds[k].side ? "stem 3/2 2, 2, dense 3" : NULL;
    o.bridges = 2;
    o.bases = 4;
    o.mlp_width = 3;
    o.mlp_blocks = 1;
    o.noise_bins = 4;
    o.noise_hidden = 3;
    o.noise_steps = 2;
    for (int s = 0; s < WM_STAGES; s++)
        o.train[s] = (wm_adam_opts)WM_ADAM(2, 20, 1e-3, 0);
    if (kinds[k].levels) {
        static const char text[] = "{\"columns\":[{\"kind\":\"integer\"},{\"kind\":\"continuous\"},"
                                   "{\"kind\":\"continuous\"}]}";

        must(!wm_schema_parse(&schema, text, &err), "no schema", &err);
        o.schema = schema;
    }
    must(!wm_ebm_fit(&e, rows, NULL, &o, &err), "no model to begin with", &err);
    must(!wm_ebm_save(e, path, &err), "not saved", &err);
    wm_ebm_free(e);
    wm_schema_free(schema);
    wm_data_free(rows);
}

static void fit_embed(int k)
{
    static float u[ROWS * 16], v[ROWS * 16];
    const wm_pair_rows rows = {.n = ROWS, .dim_u = k ? 16 : 3, .dim_v = k ? 16 : 2, .u = u, .v = v};
    wm_embed *e = NULL;
    wm_embed_opts o;
    wm_error err = {0};

    for (int i = 0; i < ROWS * 16; i++) {
        u[i] = (float)sin(i * 1.3);
        v[i] = (float)(0.5 * u[i] + cos(i * i * 0.7));
    }
    wm_embed_opts_init(&o);
    if (k) {
        o.u = o.v = (wm_embed_shape){4, 4, 1};
        o.network = "stem 3/2 2, 2, dense 3";
        o.bridges = 1;
    }
    o.mlp_width = o.features = 3;
    o.adam.iterations = 2;
    o.adam.batch = 24;
    o.adam.warmup = 0;
    must(!wm_embed_fit(&e, &rows, &rows, NULL, &o, &err), "no pairs to begin with", &err);
    must(!wm_embed_save(e, path, &err), "not saved", &err);
    wm_embed_free(e);
}

static void begin(void)
{
    patch_path(path, "model.safetensors");
    atexit(remove_file);
    for (int k = 0; k < KINDS; k++) {
        if (k < RATIOS)
            fit_ratio(k);
        else if (k < RATIOS + EBMS)
            fit_ebm(k - RATIOS);
        else
            fit_embed(k - RATIOS - EBMS);
        patch_read(&good[k], path);
    }
    wmi_st_sums_trust(true);
}

/* ---- asking ---- */

static wm_data *few_rows(int64_t dim)
{
    static const double values[] = {0, 1, 2, 0.25, -3, 0, 1e9, 1};
    wm_data *d = NULL;

    if (wm_data_new(&d, 3, dim, NULL, NULL))
        abort();
    for (int64_t i = 0; i < 3 * dim; i++)
        wm_data_rows_mut(d)[i] = values[i % 8];
    return d;
}

static void refused(wm_status st, const wm_error *err)
{
    must(st == err->code && *err->text, "refused without words", err);
    must(st == WM_ENOMEM || strstr(err->text, "safetensors"), "the file is not named", err);
}

static void ask_ratio(void)
{
    wm_ratio *r = NULL;
    wm_ratio_info info;
    wm_error err = {0};
    wm_status st = wm_ratio_load(&r, path, &err);
    double log_r[3];
    wm_data *x;

    if (st) {
        refused(st, &err);
        return;
    }
    wm_ratio_get_info(r, &info);
    if (info.dim <= MOST_DIM) {
        x = few_rows(info.dim);
        if (!wm_ratio_log(r, x, log_r, &err))
            for (int64_t k = 0; k < info.bridges; k++) {
                wm_bridge b;

                wm_ratio_get_bridge(r, k, &b);
            }
        wm_data_free(x);
    }
    wm_ratio_free(r);
}

static void ask_ebm(void)
{
    wm_ebm *e = NULL;
    wm_ebm_info info;
    wm_error err = {0};
    wm_status st = wm_ebm_load(&e, path, &err);
    double log_q[3], log_phi[3];
    wm_data *x;

    if (st) {
        refused(st, &err);
        return;
    }
    wm_ebm_get_info(e, &info);
    if (info.columns <= MOST_DIM) {
        x = few_rows(info.columns);
        if (!wm_ebm_log_density(e, x, 1, log_q, log_phi, NULL, &err))
            for (int i = 0; i < 3; i++)
                must(!isnan(log_q[i]) && !isnan(log_phi[i]), "NaN for a density", &err);
        wm_data_free(x);
    }
    if (info.columns <= 4 && info.bridges <= 4) {
        wm_ebm_walk walk;
        wm_draws *draws = NULL;

        wm_ebm_walk_init(&walk);
        walk.chains = 2;
        walk.steps = 4;
        walk.max_depth = 2;
        st = wm_ebm_sample(&draws, NULL, e, &walk, &err);
        must(!st == (draws != NULL), "draws and status differ", &err);
        wm_ebm_draws_free(draws);
    }
    wm_ebm_free(e);
}

static void ask_embed(void)
{
    static float u[MOST_DIM], v[MOST_DIM];
    wm_embed *e = NULL;
    wm_embed_info info;
    wm_error err = {0};
    wm_status st = wm_embed_load(&e, path, &err);

    if (st) {
        refused(st, &err);
        return;
    }
    wm_embed_get_info(e, &info);
    if (info.dim_u <= MOST_DIM && info.dim_v <= MOST_DIM && info.features <= 1024 &&
        info.bridges <= 1024) {
        const wm_pair_rows pair = {
            .n = 1, .dim_u = info.dim_u, .dim_v = info.dim_v, .u = u, .v = v};
        float *g = malloc((size_t)info.features * sizeof *g);
        double *log_r = malloc((size_t)info.bridges * sizeof *log_r);

        for (int i = 0; i < MOST_DIM; i++)
            u[i] = v[i] = (float)(i % 3);
        if (g && log_r && !wm_embed_rows(e, 1, u, g, NULL, &err))
            st = wm_embed_log_ratio(e, &pair, log_r, NULL, &err);
        must(!st || *err.text, "a failure without words", &err);
        free(log_r);
        free(g);
    }
    wm_embed_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wm_error none = {0};
    int64_t live;

    if (!*path)
        begin();
    if (size < 1)
        return 0;
    live = wmi_alloc_live();
    patch_all(&changed, good[data[0] % KINDS].byte, good[data[0] % KINDS].n, data + 1, size - 1);
    patch_write(&changed, path);
    ask_ratio();
    ask_ebm();
    ask_embed();
    must(wmi_alloc_live() == live, "blocks were not freed", &none);
    return 0;
}
