/* embed_file.c - a wm_embed as a safetensors file: parameters by name, and as metadata what is
 * needed to rebuild the network. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "columns/columns_impl.h"
#include "embed/embed_impl.h"
#include "train/param_tensors.h"
#include "waymark/version.h"
#include "waymark/waymarks.h"

#define FORMAT "waymark embed 1"

static const char *const objective_names[] = {"logistic", "infonce"};

/* Whole numbers of the settings, by their names in the file, which are at `at`. */
enum { N_SETTINGS = 19, N_OWN = 2, MOST = 1 << 24 };
typedef struct setting {
    const char *key;
    int64_t least, most;
    int64_t *at;
} setting;

static void list_settings(setting s[N_SETTINGS], wm_embed *e, int64_t *finished)
{
    wm_embed_info *i = &e->info;
    const setting all[N_SETTINGS] = {
        {"dim_u", 1, MOST, &i->dim_u},
        {"dim_v", 1, MOST, &i->dim_v},
        {"features", 1, MOST, &i->features},
        {"u_height", 0, 65536, &i->u.height},
        {"u_width", 0, 65536, &i->u.width},
        {"u_channels", 0, 65536, &i->u.channels},
        {"v_height", 0, 65536, &i->v.height},
        {"v_width", 0, 65536, &i->v.width},
        {"v_channels", 0, 65536, &i->v.channels},
        {"bridges", 1, WM_ALPHAS_MAX - 1, &i->bridges},
        {"blocks", 1, MOST, &i->blocks},
        {"batch_pairs", 1, MOST, &i->batch_pairs},
        {"steps", 0, INT64_MAX, &i->steps},
        {"best_step", 0, INT64_MAX, &i->best_step},
        {"finished", 0, 1, finished},
        {"mlp_width", 1, 1000000, &e->mlp_width},
        {"mlp_blocks", 0, 1000, &e->mlp_blocks},
        {"mlp_features", 1, 1000000, &e->mlp_out},
        {NULL, 0, 0, NULL},
    };

    memcpy(s, all, sizeof all);
}

static void own_tensors(const wm_embed *e, const double *bridges, wmi_st_tensor t[N_OWN])
{
    t[0] = (wmi_st_tensor){"blocks", WMI_ST_I64, 1, {e->info.dim_v}, e->blocks};
    t[1] = (wmi_st_tensor){"bridges", WMI_ST_F64, 2, {e->info.bridges, 3}, bridges};
}

/* loss, accuracy and mean log-ratio as (m, 3), and back. */
static void pack(const wm_embed *e, double *to)
{
    for (int64_t k = 0; k < e->info.bridges; k++) {
        to[3 * k] = e->bridges[k].loss;
        to[3 * k + 1] = e->bridges[k].accuracy;
        to[3 * k + 2] = e->bridges[k].mean_log_ratio;
    }
}

static void unpack(wm_embed *e, const double *from)
{
    for (int64_t k = 0; k < e->info.bridges; k++) {
        e->bridges[k].loss = from[3 * k];
        e->bridges[k].accuracy = from[3 * k + 1];
        e->bridges[k].mean_log_ratio = from[3 * k + 2];
    }
}

wm_status wm_embed_save(const wm_embed *model, const char *path, wm_error *err)
{
    WMI_NEED(err, model && path);
    enum { N_WORDS = 4, N_META = N_WORDS + N_SETTINGS + 2 /* schemas */ };
    wm_embed e = *model; /* for its settings: list_settings() points into one */
    const int64_t n_net = wmi_params_entries(e.params);
    int64_t finished = e.info.finished;
    char number[N_SETTINGS][WMI_META_BYTES];
    wmi_st_pair meta[N_META] = {{"format", FORMAT},
                                {"version", wm_version()},
                                {"objective", objective_names[e.info.objective]},
                                {"network", e.network}};
    setting s[N_SETTINGS];
    wmi_columns_file columns = {.n_tensors = 0};
    wmi_st_tensor *t = NULL;
    double *bridges = NULL;
    int64_t n = N_OWN + n_net;
    int n_meta = N_WORDS;
    wm_status st;

    list_settings(s, &e, &finished);
    for (int i = 0; s[i].key; i++) { /* seconds are left out: the same run gives the same file */
        snprintf(number[i], sizeof number[i], "%" PRId64, *s[i].at);
        meta[n_meta++] = (wmi_st_pair){s[i].key, number[i]};
    }
    if ((st = wmi_columns_file_open(&columns, (const wm_columns *const *)e.columns, err)) ||
        (st = wmi_alloc(&t, n + columns.n_tensors, sizeof *t, "tensors", err)) ||
        (st = wmi_alloc(&bridges, 3 * e.info.bridges, sizeof *bridges, "bridges", err)))
        goto done;
    pack(&e, bridges);
    own_tensors(&e, bridges, t);
    for (int64_t i = 0; i < n_net; i++)
        t[N_OWN + i] = wmi_tensor_of_param(e.params, i, WMI_ST_F32, e.theta);
    for (int i = 0; i < columns.n_tensors; i++)
        t[n++] = columns.tensor[i];
    for (int i = 0; i < columns.n_meta; i++)
        meta[n_meta++] = columns.meta[i];
    st = wmi_safetensors_write(path, t, n, meta, n_meta, err);
done:
    wmi_columns_file_close(&columns);
    wmi_free(bridges);
    wmi_free(t);
    return st;
}

/* The settings that make the network, and the network. */
static wm_status read_settings(wm_embed *e, const wmi_safetensors *f, const char *path,
                               wm_error *err)
{
    const char *network = wmi_safetensors_meta(f, "network");
    int64_t finished = 0, features;
    setting s[N_SETTINGS];
    int objective;
    wm_status st;

    list_settings(s, e, &finished);
    if ((st = wmi_meta_format(f, path, FORMAT, err)) ||
        (st = wmi_meta_word(f, path, "objective", objective_names, 2, &objective, err)))
        return st;
    for (int i = 0; s[i].key; i++)
        if ((st = wmi_meta_count(f, path, s[i].key, s[i].least, s[i].most, s[i].at, err)))
            return st;
    if (!network || strlen(network) >= sizeof e->network)
        return wmi_fail(err, WM_EFORMAT, "%s: metadata 'network' is %s", path,
                        network ? "too long" : "missing");
    snprintf(e->network, sizeof e->network, "%s", network);
    e->info.objective = (wm_embed_objective)objective;
    e->info.finished = finished != 0;
    features = e->info.features;
    if ((st = wmi_meta_blame(wmi_embed_open(e, err), path, err)))
        return st;
    if (e->info.features != features)
        return wmi_fail(err, WM_EFORMAT, "%s: %" PRId64 " features, but the network has %" PRId64,
                        path, features, e->info.features);
    return wmi_alloc(&e->blocks, e->info.dim_v, sizeof *e->blocks, "blocks", err);
}

static wm_status read_columns(wm_embed *e, const wmi_safetensors *f, const char *path,
                              wm_error *err)
{
    const int64_t dim[2] = {e->info.dim_u, e->info.dim_v};
    wm_status st;

    for (int side = 0; side < 2; side++) {
        if ((st = wmi_columns_read(&e->columns[side], f, side, path, err)))
            return st;
        if (e->columns[side] && wm_columns_dim(e->columns[side]) != dim[side])
            return wmi_fail(err, WM_EFORMAT,
                            "%s: its columns of %c are %" PRId64 ", those of the network %" PRId64
                            ": the file is damaged",
                            path, "uv"[side], wm_columns_dim(e->columns[side]), dim[side]);
    }
    return WM_OK;
}

static wm_status read_tensors(wm_embed *e, const wmi_safetensors *f, wm_error *err)
{
    wmi_st_tensor t[N_OWN];
    double *bridges = NULL;
    wm_status st = wmi_alloc(&bridges, 3 * e->info.bridges, sizeof *bridges, "bridges", err);

    if (st)
        return st;
    own_tensors(e, bridges, t);
    if (!(st = wmi_tensor_read(f, &t[0], e->blocks, err)) &&
        !(st = wmi_tensor_read(f, &t[1], bridges, err)) &&
        !(st = wmi_params_read(f, e->params, WMI_ST_F32, e->theta, err)))
        unpack(e, bridges);
    wmi_free(bridges);
    return st;
}

wm_status wm_embed_load(wm_embed **out, const char *path, wm_error *err)
{
    WMI_NEED(err, out && path);
    wmi_safetensors *f = NULL;
    wm_embed *e = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_safetensors_open(&f, path, err)))
        return st;
    if ((st = wmi_alloc(&e, 1, sizeof *e, "model", err)) || (st = read_settings(e, f, path, err)) ||
        (st = read_tensors(e, f, err)) || (st = read_columns(e, f, path, err)))
        goto done;
    *out = e;
    e = NULL;
done:
    wm_embed_free(e);
    wmi_safetensors_close(f);
    return st;
}
