/* ratio_file.c - a wm_ratio as a safetensors file: one tensor for each parameter, and as metadata
 * what is needed to rebuild the network. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "columns/encoder_file.h"
#include "data/formats/model_file.h"
#include "nn/terms.h"
#include "ratio/ratio_mixture.h"
#include "waymark/version.h"

#define FORMAT_NAME "waymark ratio "
#define FORMAT FORMAT_NAME "3"
#define FORMAT_PLAIN FORMAT_NAME "2" /* nothing is mixed: also what earlier versions read */

enum {
    N_OWN = 13,   /* tensors beside the parameters; the last four only where they are needed */
    N_COUNTS = 8, /* whole numbers of wm_ratio_info */
    N_META_ALWAYS = 13,
    N_META = N_META_ALWAYS + 3, /* with schema, verdict and reason, where there are */
};

static const char *const form_names[] = {"free", "posdiag", "semidef", "diagonal"};

enum {
    RATIO_TERMS = WM_RATIO_LINEAR | WM_RATIO_QUADRATIC | WM_RATIO_ADDITIVE | WM_RATIO_MLP |
                  WM_RATIO_SEPARABLE | WM_RATIO_MIXTURE
};

const char *wm_ratio_model_text(wm_ratio_model model, char *buf, size_t size)
{
    return wmi_terms_text(model & RATIO_TERMS, buf, size);
}

wm_status wm_ratio_model_parse(wm_ratio_model *out, const char *text, wm_error *err)
{
    WMI_NEED(err, out && text);
    return wmi_terms_parse(RATIO_TERMS, text, out, err);
}

/* What a file holds beside the parameters, as arrays. */
typedef struct packed {
    double *bridges;          /* (m, 3) loss, accuracy, mean log-ratio */
    int64_t counts[N_COUNTS]; /* of the info */
    double reals[1];
} packed;

/* The tensors that are not parameters, as many as are needed; those of the encoder where it is
 * given, in the places that they have in the file. */
static int own_tensors(const wm_ratio *r, const packed *p, const wmi_encoder_file *columns,
                       wmi_st_tensor t[N_OWN])
{
    const wmi_encoder *e = &r->encoder;
    const int64_t m = r->info.bridges;
    int n = 0;

    t[n++] = (wmi_st_tensor){"alphas", WMI_ST_F64, 1, {m + 1}, r->alphas.alpha};
    if (columns) {
        t[n++] = columns->tensor[WMI_ENCODER_SHIFT];
        t[n++] = columns->tensor[WMI_ENCODER_SCALE];
        t[n++] = columns->tensor[WMI_ENCODER_LEVELS];
        t[n++] = columns->tensor[WMI_ENCODER_KINDS];
    }
    t[n++] = (wmi_st_tensor){"columns", WMI_ST_I64, 1, {e->dim}, r->columns};
    t[n++] = (wmi_st_tensor){"bridges", WMI_ST_F64, 2, {m, 3}, p->bridges};
    t[n++] = (wmi_st_tensor){"info_counts", WMI_ST_I64, 1, {N_COUNTS}, p->counts};
    t[n++] = (wmi_st_tensor){"info_reals", WMI_ST_F64, 1, {1}, p->reals};
    if (columns && e->rank) {
        t[n++] = columns->tensor[WMI_ENCODER_RANK_VALUES];
        t[n++] = columns->tensor[WMI_ENCODER_RANK_SCORES];
    }
    if (r->mix)
        t[n++] = (wmi_st_tensor){"mix", WMI_ST_F64, 2, {e->dim, e->dim}, r->mix};
    if (r->knots)
        t[n++] = (wmi_st_tensor){"knots", WMI_ST_F32, 2, {e->dim, r->net.bases + 4}, r->knots};
    return n;
}

static wm_status new_packed(packed *p, const wm_ratio *r, wm_error *err)
{
    return wmi_alloc(&p->bridges, 3 * r->info.bridges, sizeof *p->bridges, "bridges", err);
}

static void free_packed(packed *p)
{
    wmi_free(p->bridges);
}

static void pack(const wm_ratio *r, packed *p)
{
    const wm_ratio_info *i = &r->info;
    const int64_t c[N_COUNTS] = {i->n_train,   i->n_held_out, i->convex,           i->steps,
                                 i->best_step, i->finished,   i->saturated_bridge, i->refined};

    memcpy(p->counts, c, sizeof c);
    p->reals[0] = i->held_out_loss; /* seconds are left out: the same run gives the same file */
    for (int64_t k = 0; k < i->bridges; k++) {
        p->bridges[3 * k] = r->bridges[k].loss;
        p->bridges[3 * k + 1] = r->bridges[k].accuracy;
        p->bridges[3 * k + 2] = r->bridges[k].mean_log_ratio;
    }
}

static void unpack(wm_ratio *r, const packed *p)
{
    wm_ratio_info *i = &r->info;

    i->n_train = p->counts[0];
    i->n_held_out = p->counts[1];
    i->convex = p->counts[2] != 0;
    i->steps = p->counts[3];
    i->best_step = p->counts[4];
    i->finished = p->counts[5] != 0;
    i->saturated_bridge = p->counts[6];
    i->refined = p->counts[7];
    i->held_out_loss = p->reals[0];
    for (int64_t k = 0; k < i->bridges; k++)
        r->bridges[k] = (wm_bridge){r->alphas.alpha[k], r->alphas.alpha[k + 1], p->bridges[3 * k],
                                    p->bridges[3 * k + 1], p->bridges[3 * k + 2]};
}

/* Parameter i with a first dimension for the members. theta lies member by member, so that what
 * the file has as (members, shape) is gathered here; a single member needs no copy. */
static wmi_st_tensor parameter(const wm_ratio *r, int64_t i)
{
    const wmi_param_entry *e = wmi_params_entry(r->params, i);
    wmi_st_tensor t = {.name = e->name, .dtype = WMI_ST_F64, .rank = e->shape.rank + 1};

    t.dim[0] = r->members;
    memcpy(t.dim + 1, e->shape.dim, (size_t)e->shape.rank * sizeof *e->shape.dim);
    return t;
}

/* Between theta and the order of the file: for each parameter all members. */
static void reorder(const wm_ratio *r, double *theta, double *file, bool to_file)
{
    const int64_t count = wmi_params_count(r->params);

    for (int64_t i = 0; i < wmi_params_entries(r->params); i++) {
        const wmi_param_entry *e = wmi_params_entry(r->params, i);
        const int64_t n = wmi_shape_count(&e->shape);

        for (int64_t k = 0; k < r->members; k++) {
            double *a = theta + k * count + e->offset, *b = file + e->offset * r->members + k * n;

            memcpy(to_file ? b : a, to_file ? a : b, (size_t)n * sizeof *a);
        }
    }
}

wm_status wm_ratio_save(const wm_ratio *r, const char *path, wm_error *err)
{
    WMI_NEED(err, r && path);
    const int64_t n = wmi_params_entries(r->params), count = wmi_params_count(r->params);
    char model[64], bridges[WMI_META_BYTES], dim[WMI_META_BYTES], width[WMI_META_BYTES],
        blocks[WMI_META_BYTES], seed[WMI_META_BYTES], members[WMI_META_BYTES],
        pairs[WMI_META_BYTES];
    wmi_st_pair meta[N_META] = {
        {"format", r->mix ? FORMAT : FORMAT_PLAIN},
        {"version", wm_version()},
        {"model", wm_ratio_model_text(r->model, model, sizeof model)},
        {"form", form_names[r->form]},
        {"linear_term", r->linear_term ? "1" : "0"},
        {"squares", r->squares ? "1" : "0"},
        {"bridges", bridges},
        {"dim", dim},
        {"width", width},
        {"blocks", blocks},
        {"seed", seed},
        {"members", members},
        {"pairs", pairs},
    };
    int64_t n_meta = N_META_ALWAYS;
    wmi_st_tensor *t = NULL;
    packed own = {0};
    wmi_encoder_file columns = {.kinds = NULL};
    double *file = NULL;
    int n_own;
    wm_status st;

    snprintf(bridges, WMI_META_BYTES, "%" PRId64, r->info.bridges);
    snprintf(dim, WMI_META_BYTES, "%" PRId64, r->encoder.raw);
    snprintf(width, WMI_META_BYTES, "%" PRId64, r->width);
    snprintf(blocks, WMI_META_BYTES, "%" PRId64, r->blocks);
    snprintf(seed, WMI_META_BYTES, "%" PRIu64, r->seed);
    snprintf(members, WMI_META_BYTES, "%" PRId64, r->members);
    snprintf(pairs, WMI_META_BYTES, "%" PRId64, r->pairs);
    if (r->schema)
        meta[n_meta++] = (wmi_st_pair){"schema", r->schema};
    if (r->judged) {
        meta[n_meta++] = (wmi_st_pair){"verdict", wm_verdict_text(r->verdict)};
        meta[n_meta++] = (wmi_st_pair){"reason", r->reason};
    }
    if ((st = wmi_alloc(&t, n + N_OWN, sizeof *t, "tensors", err)) ||
        (st = wmi_alloc(&file, r->members * count, sizeof *file, "parameters", err)) ||
        (st = new_packed(&own, r, err)) ||
        (st = wmi_encoder_file_open(&columns, &r->encoder, "", WMI_KINDS_LONG, err)))
        goto done;
    pack(r, &own);
    n_own = own_tensors(r, &own, &columns, t);
    reorder(r, r->theta, file, true);
    for (int64_t i = 0; i < n; i++) {
        t[n_own + i] = parameter(r, i);
        t[n_own + i].data = file + wmi_params_entry(r->params, i)->offset * r->members;
    }
    st = wmi_safetensors_write(path, t, n_own + n, meta, n_meta, err);
done:
    wmi_encoder_file_close(&columns);
    free_packed(&own);
    wmi_free(file);
    wmi_free(t);
    return st;
}

/* How many components there are, the tensors say. */
static wm_status read_components(wm_ratio *r, const wmi_safetensors *f, const char *path,
                                 wm_error *err)
{
    static const char *const names[] = {"mixture/p/weight", "mixture/q/weight"};

    if (!(r->model & WM_RATIO_MIXTURE))
        return WM_OK;
    if (r->model != WM_RATIO_MIXTURE)
        return wmi_fail(err, WM_EFORMAT, "%s: a mixture beside other terms", path);
    for (int t = 0; t < 2; t++) {
        const wmi_st_tensor *weight = wmi_safetensors_find(f, names[t]);

        if (!weight || weight->rank != 2 || weight->dim[1] < 1 || weight->dim[1] > WMI_MIXTURE_MOST)
            return wmi_fail(err, WM_EFORMAT, "%s: '%s' is not there, or not of 1 to %d components",
                            path, names[t], WMI_MIXTURE_MOST);
        r->components[t] = weight->dim[1];
    }
    return WM_OK;
}

static wm_status read_verdict(wm_ratio *r, const wmi_safetensors *f, const char *path,
                              wm_error *err)
{
    const char *reason = wmi_safetensors_meta(f, "reason");
    const char *const names[] = {wm_verdict_text(WM_TRUST), wm_verdict_text(WM_DOUBT),
                                 wm_verdict_text(WM_REJECT)};
    int verdict;
    wm_status st;

    if (!wmi_safetensors_meta(f, "verdict")) /* no study has judged it */
        return WM_OK;
    if ((st = wmi_meta_word(f, path, "verdict", names, 3, &verdict, err)))
        return st;
    r->judged = true;
    r->verdict = (wm_verdict)verdict;
    snprintf(r->reason, sizeof r->reason, "%s", reason ? reason : "");
    for (char *c = r->reason; *c; c++) /* it goes to terminals */
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
    return WM_OK;
}

static wm_status read_settings(wm_ratio *r, const wmi_safetensors *f, const char *path,
                               wm_error *err)
{
    const char *format = wmi_safetensors_meta(f, "format");
    const char *model = wmi_safetensors_meta(f, "model");
    int64_t linear, squares, seed;
    int form;
    wm_status st;

    if (!format || strncmp(format, FORMAT_NAME, strlen(FORMAT_NAME)) != 0)
        return wmi_fail(err, WM_EFORMAT,
                        "%s: format is '%.40s', not '%s': this is no model of `waymark ratio` or "
                        "`waymark mi`",
                        path, format ? format : "not given", FORMAT);
    if (strcmp(format, FORMAT) != 0 && strcmp(format, FORMAT_PLAIN) != 0) {
        const char *by = wmi_safetensors_meta(f, "version");

        return wmi_fail(err, WM_EFORMAT,
                        "%s: format is '%.40s' (written by waymark %.20s), and this is waymark %s, "
                        "which reads '%s': apply it with that version, or fit it again",
                        path, format, by ? by : "unknown", wm_version(), FORMAT);
    }
    if ((st = wmi_safetensors_own(f, err)))
        return st;
    if (!model || wm_ratio_model_parse(&r->model, model, NULL))
        return wmi_fail(err, WM_EFORMAT, "%s: metadata 'model' is '%.60s'", path,
                        model ? model : "missing");
    if ((st = wmi_meta_word(f, path, "form", form_names, 4, &form, err)) ||
        (st = wmi_meta_count(f, path, "linear_term", 0, 1, &linear, err)) ||
        (st = wmi_meta_count(f, path, "squares", 0, 1, &squares, err)) ||
        (st = wmi_meta_count(f, path, "bridges", 0, WM_ALPHAS_MAX - 1, &r->alphas.bridges, err)) ||
        (st = wmi_meta_count(f, path, "dim", 0, INT32_MAX, &r->encoder.raw, err)) ||
        (st = wmi_meta_count(f, path, "width", 0, INT32_MAX, &r->width, err)) ||
        (st = wmi_meta_count(f, path, "blocks", 0, 1000, &r->blocks, err)) ||
        (st = wmi_meta_count(f, path, "members", 0, 10000, &r->members, err)) ||
        (st = wmi_meta_count(f, path, "seed", 0, INT64_MAX, &seed, err)) ||
        (wmi_safetensors_meta(f, "pairs") && /* files of 0.1 have none */
         (st = wmi_meta_count(f, path, "pairs", 0, INT32_MAX, &r->pairs, err))))
        return st;
    if (r->pairs >= r->encoder.raw || (r->model & WM_RATIO_SEPARABLE && !r->pairs))
        return wmi_fail(err, WM_EFORMAT,
                        "%s: %" PRId64 " columns of u in %" PRId64 " do not fit model %s", path,
                        r->pairs, r->encoder.raw, model);
    if (r->alphas.bridges < 1 || r->encoder.raw < 1 || r->members < 1)
        return wmi_fail(err, WM_EFORMAT,
                        "%s: %" PRId64 " bridges of %" PRId64 " columns, %" PRId64 " members", path,
                        r->alphas.bridges, r->encoder.raw, r->members);
    r->form = (wm_ratio_form)form;
    r->linear_term = linear != 0;
    r->squares = squares != 0;
    r->seed = (uint64_t)seed;
    if ((st = read_components(r, f, path, err)) ||
        (st = wmi_meta_schema(f, path, "schema", r->encoder.raw, &r->schema, err)))
        return st;
    return read_verdict(r, f, path, err);
}

static wm_status read_encoder(wm_ratio *r, const wmi_safetensors *f, const char *path,
                              wm_error *err)
{
    wmi_encoder *e = &r->encoder;
    const int64_t raw = e->raw;
    wm_status st = wmi_encoder_read(e, f, "", path, "", err);

    if (st)
        return st;
    if (e->raw != raw)
        return wmi_fail(err, WM_EFORMAT,
                        "%s: %" PRId64 " columns, but an encoder of %" PRId64 " of them", path, raw,
                        e->raw);
    if (!(st = wmi_alloc(&r->columns, e->dim, sizeof *r->columns, "columns", err)) &&
        strcmp(wmi_safetensors_meta(f, "format"), FORMAT) == 0)
        st = wmi_alloc(&r->mix, e->dim * e->dim, sizeof *r->mix, "mix", err);
    return st;
}

static wm_status read_tensors(wm_ratio *r, const wmi_safetensors *f, wm_error *err)
{
    static const char *const finite[] = {"alphas", "mix", "knots", NULL};
    packed own = {0};
    wmi_st_tensor t[N_OWN];
    double *file = NULL;
    int n_own;
    wm_status st;

    if ((st = new_packed(&own, r, err)) ||
        (st = wmi_alloc(&file, r->members * wmi_params_count(r->params), sizeof *file, "parameters",
                        err)) ||
        (st = wmi_tensors_finite(f, finite, err)))
        goto done;
    n_own = own_tensors(r, &own, NULL, t);
    for (int i = 0; !st && i < n_own; i++)
        st = wmi_tensor_read(f, &t[i], (void *)t[i].data, err);
    for (int64_t i = 0; !st && i < wmi_params_entries(r->params); i++) {
        const wmi_st_tensor like = parameter(r, i);

        if (!(st = wmi_tensor_read(
                  f, &like, file + wmi_params_entry(r->params, i)->offset * r->members, err)))
            st = wmi_safetensors_finite(f, like.name, err);
    }
    if (st)
        goto done;
    reorder(r, r->theta, file, false);
    unpack(r, &own);
done:
    wmi_free(file);
    free_packed(&own);
    return st;
}

wm_status wm_ratio_load(wm_ratio **out, const char *path, wm_error *err)
{
    WMI_NEED(err, out && path);
    wmi_safetensors *f = NULL;
    wm_ratio *r = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_safetensors_open(&f, path, err)))
        return st;
    if ((st = wmi_alloc(&r, 1, sizeof *r, "ratio", err)) || (st = read_settings(r, f, path, err)) ||
        (st = read_encoder(r, f, path, err)) ||
        (st = wmi_meta_blame(wmi_ratio_open(r, err), path, err)) || (st = read_tensors(r, f, err)))
        goto done;
    *out = r;
    r = NULL; /* the caller's now */
done:
    wm_ratio_free(r);
    wmi_safetensors_close(f);
    return st;
}
