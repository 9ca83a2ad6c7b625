/* ebm_file.c - a wm_ebm as a safetensors file: parameters by name, and as metadata what is needed
 * to rebuild the networks. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ebm/ebm_impl.h"
#include "train/param_tensors.h"
#include "waymark/version.h"

#define FORMAT "waymark ebm 1"

enum {
    N_OWN = 11,             /* tensors beside the parameters; the last five for some terms */
    N_COUNTS = 6,           /* whole numbers of wm_ebm_info */
    N_REALS = 2,            /* and reals */
    N_STEPS = 4,            /* tensors of the steps of a table, where it has any */
    MOST_COLUMNS = 1 << 24, /* beyond which a file is lying */
};

#define NAME(name, text) text,
static const char *const noise_names[] = {WM_EBM_NOISES(NAME)};
#undef NAME
enum { N_NOISES = sizeof noise_names / sizeof *noise_names };

/* Whole numbers of the settings, by their names in the file. */
typedef struct setting {
    const char *key;
    int64_t least, most, value;
} setting;
enum {
    DIM,
    HEIGHT,
    WIDTH,
    CHANNELS,
    BRIDGES,
    SEED,
    X_SPACE,
    BASES,
    MLP_WIDTH,
    MLP_BLOCKS,
    NOISE_BINS,
    NOISE_HIDDEN,
    NOISE_LEVELS,
    NOISE_STEPS,
    FILTERS,
    LEVELS,
    N_SETTINGS
};

static void set_settings(setting s[N_SETTINGS], const wm_ebm *e)
{
    const setting all[N_SETTINGS] = {
        [DIM] = {"dim", 1, MOST_COLUMNS, e->info.dim},
        [HEIGHT] = {"height", 0, 65536, e->info.height},
        [WIDTH] = {"width", 0, 65536, e->info.width},
        [CHANNELS] = {"channels", 0, 65536, e->info.channels},
        [BRIDGES] = {"bridges", 1, WM_ALPHAS_MAX - 1, e->info.bridges},
        [SEED] = {"seed", INT64_MIN, INT64_MAX, (int64_t)e->seed},
        [X_SPACE] = {"x_space", 0, 1, e->info.x_space},
        [BASES] = {"bases", 1, 100000, e->net.bases},
        [MLP_WIDTH] = {"mlp_width", 1, 1000000, e->net.mlp.width},
        [MLP_BLOCKS] = {"mlp_blocks", 0, 1000, e->net.mlp.blocks},
        [NOISE_BINS] = {"noise_bins", 0, 100000, e->noise.bins},
        [NOISE_HIDDEN] = {"noise_hidden", 0, 1000000, e->noise.hidden},
        [NOISE_LEVELS] = {"noise_levels", 0, 100, e->noise.levels},
        [NOISE_STEPS] = {"noise_steps", 0, 1000, e->noise.steps},
        [FILTERS] = {"filters", 0, 1, e->filter != NULL},
        [LEVELS] = {"levels", 0, 1, e->net.levels},
    };

    memcpy(s, all, sizeof all);
}

/* What a file holds beside the parameters, as arrays. */
typedef struct packed {
    double *bridges; /* (m, 3) loss, accuracy, mean log-ratio */
    int64_t counts[N_COUNTS];
    double reals[N_REALS];
} packed;

static int own_tensors(const wm_ebm *e, const packed *p, wmi_st_tensor t[N_OWN])
{
    const int64_t m = e->info.bridges, dim = e->info.dim;
    int n = 0;

    t[n++] = (wmi_st_tensor){"alphas", WMI_ST_F64, 1, {m + 1}, e->alphas.alpha};
    t[n++] = (wmi_st_tensor){"shift", WMI_ST_F64, 1, {dim}, e->transform.shift};
    t[n++] = (wmi_st_tensor){"scale", WMI_ST_F64, 1, {dim}, e->transform.scale};
    t[n++] = (wmi_st_tensor){"bridges", WMI_ST_F64, 2, {m, 3}, p->bridges};
    t[n++] = (wmi_st_tensor){"info_counts", WMI_ST_I64, 1, {N_COUNTS}, p->counts};
    t[n++] = (wmi_st_tensor){"info_reals", WMI_ST_F64, 1, {N_REALS}, p->reals};
    if (e->knots)
        t[n++] = (wmi_st_tensor){
            "knots", WMI_ST_F32, 2, {wmi_model_columns(&e->net), e->net.bases + 4}, e->knots};
    if (e->filter)
        t[n++] = (wmi_st_tensor){"filter", WMI_ST_F32, 2, {dim, e->net.filters}, e->filter};
    if (e->hinge) {
        t[n++] = (wmi_st_tensor){
            "hinge", WMI_ST_F32, 3, {e->net.hinges + e->net.whites, 5, dim}, e->hinge};
        t[n++] =
            (wmi_st_tensor){"turn", WMI_ST_F32, 3, {dim, e->net.hinges, e->net.hinges}, e->turn};
    }
    if (e->net.cap)
        t[n++] = (wmi_st_tensor){"cap", WMI_ST_F32, 2, {2, m}, e->cap};
    return n;
}

/* The steps of columns; none where all are alike. */
static int steps_tensors(const wmi_steps *s, wmi_st_tensor t[N_STEPS])
{
    if (s->raw == 0)
        return 0;
    t[0] = (wmi_st_tensor){"steps.how", WMI_ST_I64, 1, {s->raw}, s->how};
    t[1] = (wmi_st_tensor){"steps.first", WMI_ST_I64, 1, {s->raw + 1}, s->first};
    t[2] = (wmi_st_tensor){"steps.value", WMI_ST_F64, 1, {s->first[s->raw]}, s->value};
    t[3] = (wmi_st_tensor){"steps.share", WMI_ST_F64, 1, {s->first[s->raw]}, s->share};
    return N_STEPS;
}

static void pack(const wm_ebm *e, packed *p)
{
    const wm_ebm_info *i = &e->info;
    const int64_t c[N_COUNTS] = {i->n_train,  i->n_valid,  i->finished,
                                 i->steps[0], i->steps[1], i->steps[2]};

    memcpy(p->counts, c, sizeof c);
    p->reals[0] = i->noise_loglik; /* seconds are left out: the same run gives the same file */
    p->reals[1] = i->direct;
    for (int64_t k = 0; k < i->bridges; k++) {
        p->bridges[3 * k] = e->bridges[k].loss;
        p->bridges[3 * k + 1] = e->bridges[k].accuracy;
        p->bridges[3 * k + 2] = e->bridges[k].mean_log_ratio;
    }
}

static void unpack(wm_ebm *e, const packed *p)
{
    wm_ebm_info *i = &e->info;

    i->n_train = p->counts[0];
    i->n_valid = p->counts[1];
    i->finished = p->counts[2] != 0;
    for (int s = 0; s < WM_STAGES; s++)
        i->steps[s] = p->counts[3 + s];
    i->noise_loglik = p->reals[0];
    i->direct = p->reals[1];
    for (int64_t k = 0; k < i->bridges; k++)
        e->bridges[k] = (wm_bridge){e->alphas.alpha[k], e->alphas.alpha[k + 1], p->bridges[3 * k],
                                    p->bridges[3 * k + 1], p->bridges[3 * k + 2]};
}

wm_status wm_ebm_save(const wm_ebm *e, const char *path, wm_error *err)
{
    WMI_NEED(err, e && path);
    enum { N_WORDS = 9, SCHEMA = N_WORDS + N_SETTINGS, N_META };
    const int64_t n_noise = wmi_params_entries(e->noise_params),
                  n_net = wmi_params_entries(e->params);
    char model[64], network[512] = "", levels[WMI_META_BYTES], logit[WMI_META_BYTES],
                    bound[WMI_META_BYTES], dropout[WMI_META_BYTES],
                    number[N_SETTINGS][WMI_META_BYTES];
    wmi_st_pair meta[N_META] = {{"format", FORMAT},        {"version", wm_version()},
                                {"model", model},          {"noise", noise_names[e->info.noise]},
                                {"network", network},      {"dequantize", levels},
                                {"logit", logit},          {"noise_bound", bound},
                                {"noise_dropout", dropout}};
    setting s[N_SETTINGS];
    wmi_st_tensor *t = NULL;
    packed own = {0};
    int64_t n;
    wm_status st;

    wm_ebm_model_text(e->info.model, model, sizeof model);
    if (e->info.model & WM_EBM_RESNET)
        wmi_resnet_text(&e->net.resnet, network, sizeof network);
    snprintf(levels, sizeof levels, "%.17g", e->transform.levels);
    snprintf(logit, sizeof logit, "%.17g", e->transform.lambda);
    snprintf(bound, sizeof bound, "%.17g", e->noise.bound);
    snprintf(dropout, sizeof dropout, "%.17g", e->noise.dropout);
    set_settings(s, e);
    for (int i = 0; i < N_SETTINGS; i++) {
        snprintf(number[i], sizeof number[i], "%" PRId64, s[i].value);
        meta[N_WORDS + i] = (wmi_st_pair){s[i].key, number[i]};
    }
    meta[SCHEMA] = (wmi_st_pair){"schema", e->schema}; /* last: left out where there is none */
    if ((st = wmi_alloc(&t, N_OWN + N_STEPS + n_noise + n_net, sizeof *t, "tensors", err)) ||
        (st = wmi_alloc(&own.bridges, 3 * e->info.bridges, sizeof *own.bridges, "bridges", err)))
        goto done;
    pack(e, &own);
    n = own_tensors(e, &own, t);
    n += steps_tensors(&e->transform.steps, t + n);
    for (int64_t i = 0; i < n_noise; i++)
        t[n++] = wmi_tensor_of_param(e->noise_params, i, WMI_ST_F64, e->noise_theta);
    for (int64_t i = 0; i < n_net; i++)
        t[n++] = wmi_tensor_of_param(e->params, i, WMI_ST_F32, e->theta);
    st = wmi_safetensors_write(path, t, n, meta, N_META - !e->schema, err);
done:
    wmi_free(own.bridges);
    wmi_free(t);
    return st;
}

/* Steps of columns, where the file has them, into a transform that is made. */
static wm_status read_steps(wmi_transform *t, const wmi_safetensors *f, const char *path,
                            wm_error *err)
{
    const int64_t any = -1;
    const wmi_st_tensor *how, *value;
    wmi_st_tensor own[N_STEPS];
    wmi_steps *s = &t->steps;
    int n;
    wm_status st;

    if (!wmi_safetensors_find(f, "steps.how"))
        return WM_OK;
    if ((st = wmi_safetensors_need(&how, f, "steps.how", WMI_ST_I64, 1, &any, err)) ||
        (st = wmi_safetensors_need(&value, f, "steps.value", WMI_ST_F64, 1, &any, err)) ||
        (st = wmi_steps_new(s, how->dim[0], value->dim[0], err)))
        return st;
    s->first[s->raw] = value->dim[0]; /* the size of two of them */
    n = steps_tensors(s, own);
    for (int i = 0; i < n; i++)
        if ((st = wmi_tensor_read(f, &own[i], (void *)own[i].data, err)))
            return st;
    for (int64_t j = 0; j < s->raw; j++)
        if (s->first[j] > s->first[j + 1] || s->first[j + 1] > value->dim[0])
            return wmi_fail(err, WM_EFORMAT, "%s: steps.first[%" PRId64 "] is %" PRId64, path,
                            j + 1, s->first[j + 1]);
    if (s->first[0] != 0 || !wmi_steps_settle(s) || s->dim != t->dim)
        return wmi_fail(err, WM_EFORMAT, "%s: the steps of its columns contradict each other",
                        path);
    t->raw = s->raw;
    return WM_OK;
}

/* The settings that make the networks, and the networks. */
static wm_status read_settings(wm_ebm *e, const wmi_safetensors *f, const char *path, wm_error *err)
{
    const char *model = wmi_safetensors_meta(f, "model"),
               *network = wmi_safetensors_meta(f, "network");
    double levels, logit, bound;
    setting s[N_SETTINGS];
    wm_ebm_opts o;
    int noise;
    wm_status st;

    wm_ebm_opts_init(&o);
    set_settings(s, e);
    if ((st = wmi_meta_format(f, path, FORMAT, err)) ||
        (st = wmi_meta_word(f, path, "noise", noise_names, N_NOISES, &noise, err)) ||
        (st = wmi_meta_real(f, path, "dequantize", &levels, err)) ||
        (st = wmi_meta_real(f, path, "logit", &logit, err)) ||
        (st = wmi_meta_real(f, path, "noise_bound", &bound, err)) ||
        (st = wmi_meta_real(f, path, "noise_dropout", &o.noise_dropout, err)))
        return st;
    for (int i = 0; i < N_SETTINGS; i++)
        if ((i != LEVELS || wmi_safetensors_meta(f, s[i].key)) && /* older files have bridges */
            (st = wmi_meta_count(f, path, s[i].key, s[i].least, s[i].most, &s[i].value, err)))
            return st;
    if (!model || wm_ebm_model_parse(&o.model, model, NULL))
        return wmi_fail(err, WM_EFORMAT, "%s: metadata 'model' is '%.60s'", path,
                        model ? model : "missing");
    o.noise = (wm_ebm_noise)noise;
    o.height = s[HEIGHT].value;
    o.width = s[WIDTH].value;
    o.channels = s[CHANNELS].value;
    o.control.seed = (uint64_t)s[SEED].value;
    o.x_space = s[X_SPACE].value != 0;
    o.bases = s[BASES].value;
    o.mlp_width = s[MLP_WIDTH].value;
    o.mlp_blocks = s[MLP_BLOCKS].value;
    o.noise_bins = s[NOISE_BINS].value;
    o.noise_hidden = s[NOISE_HIDDEN].value;
    o.noise_levels = s[NOISE_LEVELS].value;
    o.noise_steps = s[NOISE_STEPS].value;
    o.filters = s[FILTERS].value ? WM_CHOICE_YES : WM_CHOICE_NO;
    o.network = network && *network ? network : NULL;
    o.objective = s[LEVELS].value ? WM_OBJECTIVE_DENOISE : WM_OBJECTIVE_LOGISTIC;
    e->info.dim = s[DIM].value;
    e->alphas.bridges = s[BRIDGES].value;
    if (o.height > 0 && o.height * o.width * o.channels != e->info.dim)
        return wmi_fail(err, WM_EFORMAT, "%s: an image of %" PRId64 " columns", path, e->info.dim);
    if ((st = wmi_meta_blame(wmi_transform_new(&e->transform, levels, logit, e->info.dim, err),
                             path, err)) ||
        (st = read_steps(&e->transform, f, path, err)) ||
        (st = wmi_meta_schema(f, path, "schema", e->transform.raw, &e->schema, err)) ||
        (st = wmi_meta_blame(wmi_ebm_open(e, &o, err), path, err)))
        return st;
    e->noise.bound = bound;
    return WM_OK;
}

static wm_status read_tensors(wm_ebm *e, const wmi_safetensors *f, const char *path, wm_error *err)
{
    static const char *const finite[] = {"alphas", "shift", "scale", "knots", "filter",
                                         "hinge",  "turn",  "cap",   NULL};
    wmi_st_tensor t[N_OWN];
    packed own = {0};
    int n;
    wm_status st =
        wmi_alloc(&own.bridges, 3 * e->info.bridges, sizeof *own.bridges, "bridges", err);

    if (st)
        return st;
    if (e->cap && wmi_safetensors_find(f, "cap")) /* older models have none */
        e->net.cap = e->cap;
    n = own_tensors(e, &own, t);
    for (int i = 0; !st && i < n; i++)
        st = wmi_tensor_read(f, &t[i], (void *)t[i].data, err);
    if (!st)
        st = wmi_tensors_finite(f, finite, err);
    for (int64_t j = 0; !st && j < e->info.dim; j++)
        if (!(e->transform.scale[j] > 0))
            st = wmi_fail(err, WM_EFORMAT, "%s: scale[%" PRId64 "] is %g", path, j,
                          e->transform.scale[j]);
    if (!st && !(st = wmi_params_read(f, e->noise_params, WMI_ST_F64, e->noise_theta, err)) &&
        !(st = wmi_params_read(f, e->params, WMI_ST_F32, e->theta, err)))
        unpack(e, &own);
    for (int64_t i = 0; !st && i < wmi_params_count(e->noise_params); i++)
        if (fabs(e->noise_theta[i]) > (double)FLT_MAX) /* programs run in float too */
            st = wmi_fail(err, WM_EFORMAT, "%s: a parameter of the noise is %g", path,
                          e->noise_theta[i]);
    for (int64_t k = 0; !st && e->net.levels && k < e->info.bridges; k++)
        if (!(e->alphas.alpha[k] > 0 && e->alphas.alpha[k] < 1))
            st = wmi_fail(err, WM_EFORMAT, "alpha %" PRId64 " of a model of levels is %g", k,
                          e->alphas.alpha[k]);
    for (int64_t k = 0; !st && e->net.cap && k < e->info.bridges; k++)
        if (!(e->cap[e->info.bridges + k] > 0))
            st = wmi_fail(err, WM_EFORMAT, "%s: the bend of cap %" PRId64 " is %g", path, k,
                          (double)e->cap[e->info.bridges + k]);
    if (!st)
        wmi_ebm_derive(e);
    wmi_free(own.bridges);
    return st;
}

wm_status wm_ebm_load(wm_ebm **out, const char *path, wm_error *err)
{
    WMI_NEED(err, out && path);
    wmi_safetensors *f = NULL;
    wm_ebm *e = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_safetensors_open(&f, path, err)))
        return st;
    if ((st = wmi_alloc(&e, 1, sizeof *e, "model", err)) || (st = read_settings(e, f, path, err)) ||
        (st = read_tensors(e, f, path, err)))
        goto done;
    *out = e;
    e = NULL;
done:
    wm_ebm_free(e);
    wmi_safetensors_close(f);
    return st;
}
