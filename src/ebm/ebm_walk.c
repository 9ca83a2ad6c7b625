/* ebm_walk.c - AIS, RAISE and draws of a wm_ebm: chains in z-space, along the path of ebm_path.c,
 * with their state in a file so that a run can be stopped and go on. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/opts.h"
#include "base/rng.h"
#include "base/special.h"
#include "data/formats/safetensors.h"
#include "dist/comm.h"
#include "ebm/ebm_impl.h"
#include "train/train_state.h"
#include "waymark/sink.h"

#define FORMAT "waymark chains 1"

void wm_ebm_walk_init(wm_ebm_walk *w)
{
    *w = (wm_ebm_walk){.struct_size = sizeof *w,
                       .chains = 100,
                       .steps = 1000,
                       .max_depth = 6,
                       .target_accept = 0.6,
                       .draws = 1,
                       .warmup = 200,
                       .thin = 5,
                       .draw_target = 0.9,
                       .draw_depth = 10};
    wm_fit_control_init(&w->control);
    w->control.checkpoint_seconds = 60;
}

/* ---- chains' states in files ---- */

/* What is saved: the numbers of a wm_anneal or wm_sampler, under a name that says whose. */
typedef struct keeper {
    const char *path; /* or NULL: nothing is kept */
    bool reads;       /* another rank writes it */
    char settings[256];
    const wm_anneal *anneal; /* one of the two */
    const wm_sampler *sampler;
    double *state;
    int64_t size;
} keeper;

static wm_status save(void *ctx, wm_error *err)
{
    const keeper *k = ctx;
    const wmi_st_pair meta[] = {{"format", FORMAT}, {"settings", k->settings}};
    const wmi_st_tensor state = {"state", WMI_ST_F64, 1, {k->size}, k->state};

    if (!k->path || k->reads)
        return WM_OK;
    if (k->anneal)
        wm_anneal_export(k->anneal, k->state);
    else
        wm_sampler_export(k->sampler, k->state);
    return wmi_safetensors_write(k->path, &state, 1, meta, 2, err);
}

/* What the file holds for these settings into k->state; *found is false where there is none. */
static wm_status load(const keeper *k, bool *found, wm_error *err)
{
    FILE *there = fopen(k->path, "rb");
    wmi_safetensors *f = NULL;
    const wmi_st_tensor *t;
    const char *format, *settings;
    wm_status st;

    *found = false;
    if (!there)
        return WM_OK;
    fclose(there);
    if ((st = wmi_safetensors_open(&f, k->path, err)))
        return st;
    format = wmi_safetensors_meta(f, "format");
    settings = wmi_safetensors_meta(f, "settings");
    if ((st = wmi_safetensors_own(f, err)))
        goto done;
    if (!format || strcmp(format, FORMAT) != 0)
        st = wmi_fail(err, WM_EFORMAT, "%s: format is '%s', expected '%s'", k->path,
                      format ? format : "not given", FORMAT);
    else if (!settings || strcmp(settings, k->settings) != 0)
        st = wmi_fail(err, WM_EINVAL,
                      "%s: chains of another model, other rows or settings: give the same, or "
                      "remove it",
                      k->path);
    else if (!(st = wmi_safetensors_need(&t, f, "state", WMI_ST_F64, 1, &k->size, err))) {
        memcpy(k->state, t->data, (size_t)k->size * sizeof *k->state);
        *found = true;
    }
done:
    wmi_safetensors_close(f);
    return st;
}

/* What the file holds for these settings into the chains; the file is named where it cannot be. */
static wm_status go_on(const keeper *k, wm_anneal *anneal, wm_sampler *sampler, bool *found,
                       wm_error *err)
{
    wm_error why = {0};
    wm_status st = load(k, found, err);

    if (st || !*found)
        return st;
    st = anneal ? wm_anneal_import(anneal, k->state, k->size, &why)
                : wm_sampler_import(sampler, k->state, k->size, &why);
    return st ? wmi_fail(err, st, "%s: %.180s", wmi_path_tail(k->path), why.text) : WM_OK;
}

/* ---- results ---- */

void wm_ebm_chains_free(wm_ebm_chains *c)
{
    if (!c)
        return;
    wmi_free(c->x);
    wmi_free(c->log_w);
    wmi_free(c->table);
    wmi_free(c->accept);
    wmi_free(c->leapfrogs);
    wmi_free(c);
}

/* z (n, dim) to data as given, x (n, columns), made here. */
static wm_status to_given(double **x, const wm_ebm *e, int64_t n, const double *z, wm_error *err)
{
    wmi_row_map map = {0};
    double *y = NULL;
    wm_status st;

    if ((st = wmi_alloc(x, n * e->transform.raw, sizeof **x, "draws", err)) ||
        (st = wmi_alloc(&y, n * e->info.dim, sizeof *y, "draws", err)) ||
        (st = wmi_row_map_open(&map, e, WMI_MAP_TO_Y, wmi_ebm_precise(e), 64, err)))
        goto done;
    if (!(st = wmi_row_map_run(&map, n, WMI_F64, z, y, NULL, err)))
        wmi_transform_back(&e->transform, n, y, *x);
done:
    wmi_row_map_close(&map);
    wmi_free(y);
    return st;
}

static wm_status take_chains(wm_ebm_chains **out, const wm_ebm *e, const wm_annealed *a,
                             wm_error *err)
{
    wm_ebm_chains *c = NULL;
    wm_status st;

    if ((st = wmi_alloc(&c, 1, sizeof *c, "chains", err)))
        return st;
    *c = (wm_ebm_chains){
        .chains = a->chains, .dim = e->transform.raw, .bridges = a->bridges, .evals = a->evals};
    if ((st = wmi_alloc(&c->log_w, a->chains, sizeof *c->log_w, "chains", err)) ||
        (st = wmi_alloc(&c->table, a->bridges + 1, sizeof *c->table, "chains", err)) ||
        (st = wmi_alloc(&c->accept, a->bridges, sizeof *c->accept, "chains", err)) ||
        (st = wmi_alloc(&c->leapfrogs, a->bridges, sizeof *c->leapfrogs, "chains", err)) ||
        (st = to_given(&c->x, e, a->chains, a->x, err))) {
        wm_ebm_chains_free(c);
        return st;
    }
    memcpy(c->log_w, a->log_w, (size_t)a->chains * sizeof *c->log_w);
    memcpy(c->table, a->table, (size_t)(a->bridges + 1) * sizeof *c->table);
    memcpy(c->accept, a->accept, (size_t)a->bridges * sizeof *c->accept);
    memcpy(c->leapfrogs, a->leapfrogs, (size_t)a->bridges * sizeof *c->leapfrogs);
    for (int64_t k = 0; k < a->bridges; k++)
        c->divergent += a->divergent[k];
    *out = c;
    return WM_OK;
}

/* ---- walking ---- */

/* A number for the density and the points where chains start: a walk goes on with these only. */
static uint64_t identity(const wm_ebm *e, int64_t chains, const double *start)
{
    const size_t dim = (size_t)e->info.dim;
    uint64_t h = WMI_HASH_START;

    h = wmi_hash(h, e->theta, (size_t)wmi_params_count(e->params) * sizeof *e->theta);
    h = wmi_hash(h, e->noise_theta,
                 (size_t)wmi_params_count(e->noise_params) * sizeof *e->noise_theta);
    if (e->knots)
        h = wmi_hash(h, e->knots,
                     (size_t)(wmi_model_columns(&e->net) * (e->net.bases + 4)) * sizeof *e->knots);
    if (e->net.cap)
        h = wmi_hash(h, e->cap, (size_t)(2 * e->info.bridges) * sizeof *e->cap);
    return wmi_hash(h, start, (size_t)chains * dim * sizeof *start);
}

/* A walk along the path, and what it needs. */
typedef struct walker {
    wm_ebm_walk o; /* as this version has it */
    int threads;   /* to go back to */
    double *start; /* (chains, dim), in z-space */
    wmi_ebm_path *path;
    wm_anneal *anneal;
    keeper keep;
} walker;

static void close_walker(walker *w)
{
    wm_anneal_free(w->anneal);
    wmi_ebm_path_free(w->path);
    wmi_free(w->keep.state);
    wmi_free(w->start);
    wmi_threads_restore(w->threads);
}

static wm_status draw_base(double **out, const wm_ebm *e, int64_t n, uint64_t seed,
                           const char *stream, wm_error *err)
{
    const wmi_rng rng = wmi_rng_make(seed, stream);
    wm_status st = wmi_alloc(out, n * e->info.dim, sizeof **out, "chains", err);

    if (!st)
        wmi_rng_normal_f64(&rng, 0, n * e->info.dim, *out);
    return st;
}

/* Steps go where the distance is: that of two normals which a classifier tells apart as often as
 * the two ends of a bridge, in standard deviations, and something for bridges at chance. */
static wm_status share_steps(const wm_ebm *e, double **shares, wm_error *err)
{
    const double least = 0.5, most = 0.999;
    wm_status st = wmi_alloc(shares, e->info.bridges, sizeof **shares, "steps", err);

    for (int64_t k = 0; !st && k < e->info.bridges; k++) {
        const double right = e->bridges[k].accuracy;

        (*shares)[k] = least + 2 * (right > 0.5 ? wmi_normal_inverse(fmin(right, most)) : 0);
    }
    return st;
}

static wm_status go(walker *w, const wm_ebm *e, const wm_ebm_walk *o, wm_anneal_way way,
                    int64_t chains, const double *start, const double *log_f, const double *table,
                    wm_error *err)
{
    const int64_t pilots = chains < 8 ? chains : 8;
    double *base = NULL, *shares = NULL;
    wm_anneal_opts a;
    wm_path path;
    bool found = false;
    wm_status st;

    wm_anneal_opts_init(&a);
    a.moves.kernel = o->kernel;
    a.moves.target_accept = o->target_accept;
    a.way = way;
    a.steps = o->steps;
    a.max_depth = o->max_depth;
    a.table = table;
    a.pilot_chains = pilots;
    a.pilot_steps = 10;
    a.seed = o->control.seed;
    a.sink = o->control.sink;
    a.save = (wm_save){save, &w->keep, o->control.checkpoint_seconds};
    w->keep.path = o->control.checkpoint;
    w->keep.reads = wm_comm_rank(o->control.comm) > 0;
    snprintf(w->keep.settings, sizeof w->keep.settings,
             "%s chains=%" PRId64 " steps=%" PRId64 " kernel=%d depth=%" PRId64
             " target=%g seed=%" PRIu64 " bridges=%" PRId64 " of=%016" PRIx64,
             way == WM_ANNEAL_AIS ? "ais" : "raise", chains, o->steps, (int)o->kernel, o->max_depth,
             o->target_accept, o->control.seed, e->info.bridges, identity(e, chains, start));
    if ((st = draw_base(&base, e, pilots, o->control.seed, "ebm/pilot", err)) ||
        (st = share_steps(e, &shares, err)) ||
        (st = wmi_ebm_path_new(&w->path, e, chains, &o->control, err)))
        goto done;
    a.pilot_start = base;
    a.shares = shares;
    a.stop = wmi_ebm_path_stop(w->path);
    path = wmi_ebm_path_get(w->path);
    if ((st = wm_anneal_new(&w->anneal, &path, chains, start, log_f, &a, err)))
        goto done;
    w->keep.anneal = w->anneal;
    w->keep.size = wm_anneal_state_size(w->anneal);
    if (o->control.checkpoint) {
        if ((st = wmi_alloc(&w->keep.state, w->keep.size, sizeof *w->keep.state, "state", err)) ||
            (o->control.resume && (st = go_on(&w->keep, w->anneal, NULL, &found, err))))
            goto done;
        if (found)
            wm_say(o->control.sink, WM_LOG_INFO, "chains go on from %s", o->control.checkpoint);
    }
    if ((st = wm_anneal_run(w->anneal, err)))
        goto done;
    st = save(&w->keep, err); /* the end too: a resumed run has its answer at once */
done:
    wmi_free(shares);
    wmi_free(base);
    return st;
}

/* Settings, and threads from here to the end of the call. */
static wm_status begin_walk(walker *w, const wm_ebm_walk *given, wm_error *err)
{
    wm_status st;

    wm_ebm_walk_init(&w->o);
    if ((st = wmi_opts_take(&w->o, sizeof w->o, given, "wm_ebm_walk_init", err)))
        return st;
    w->threads = wmi_threads_use(w->o.control.threads);
    if (w->o.chains < 1)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " chains: at least 1 is needed", w->o.chains);
    return WM_OK;
}

/* From draws of the noise to the model. */
static wm_status walk_up(walker *w, const wm_ebm *e, const wm_ebm_walk *given, wm_error *err)
{
    wm_status st = begin_walk(w, given, err);

    if (st || (st = draw_base(&w->start, e, w->o.chains, w->o.control.seed, "ebm/base", err)))
        return st;
    return go(w, e, &w->o, WM_ANNEAL_AIS, w->o.chains, w->start, NULL, NULL, err);
}

wm_status wm_ebm_ais(wm_ais *out, wm_ebm_chains **chains, const wm_ebm *e, const wm_ebm_walk *given,
                     wm_error *err)
{
    walker w = {0};
    wm_status st;

    if (chains)
        *chains = NULL;
    if (!(st = walk_up(&w, e, given, err)) &&
        !(st = wm_ais_make(out, wm_anneal_result(w.anneal)->log_w, w.o.chains, err)) && chains)
        st = take_chains(chains, e, wm_anneal_result(w.anneal), err);
    close_walker(&w);
    return st;
}

/* z of the first n rows of x, with the uniform numbers of wm_ebm_log_density(). */
static wm_status rows_to_z(const wm_ebm *e, int64_t n, const double *x, uint64_t seed, double *z,
                           wm_error *err)
{
    const wmi_rng rng = wmi_rng_make(seed, "ebm/valid");
    const int64_t count = n * e->info.dim;
    wmi_row_map map = {0};
    double *u = NULL;
    wm_status st;

    if ((st = wmi_transform_check(&e->transform, "data", n, x, err)) ||
        (st = wmi_alloc(&u, count, sizeof *u, "rows", err)) ||
        (st = wmi_row_map_open(&map, e, WMI_MAP_TO_Z, wmi_ebm_precise(e), 64, err)))
        goto done;
    wmi_rng_uniform_f64(&rng, 0, count, u);
    wmi_transform_rows(&e->transform, n, x, u, z, NULL);
    st = wmi_row_map_run(&map, n, WMI_F64, z, z, NULL, err);
done:
    wmi_row_map_close(&map);
    wmi_free(u);
    return st;
}

wm_status wm_ebm_raise(wm_raise *out, wm_ebm_chains **chains, const wm_ebm *e, const wm_data *x,
                       const double *log_phi, uint64_t seed, const double *table,
                       const wm_ebm_walk *given, wm_error *err)
{
    const int64_t all = wm_data_count(x);
    walker w = {0};
    int64_t n;
    wm_status st;

    if (chains)
        *chains = NULL;
    if (wm_data_dim(x) != e->transform.raw)
        return wmi_fail(err, WM_ESHAPE, "the data have %" PRId64 " columns, the model %" PRId64,
                        wm_data_dim(x), e->transform.raw);
    if ((st = begin_walk(&w, given, err)))
        goto done;
    n = all < w.o.chains ? all : w.o.chains;
    if ((st = wmi_alloc(&w.start, n * e->info.dim, sizeof *w.start, "chains", err)) ||
        (st = rows_to_z(e, n, wm_data_rows(x), seed, w.start, err)) ||
        (st = go(&w, e, &w.o, WM_ANNEAL_RAISE, n, w.start, log_phi, table, err)) ||
        (st = wm_raise_make(out, wm_anneal_result(w.anneal)->log_w, log_phi, n, log_phi, all, err)))
        goto done;
    if (chains)
        st = take_chains(chains, e, wm_anneal_result(w.anneal), err);
done:
    close_walker(&w);
    return st;
}

/* ---- draws ---- */

void wm_ebm_draws_free(wm_draws *d)
{
    if (!d)
        return;
    wmi_free(d->x);
    wmi_free(d->lp);
    wmi_free(d->accept);
    wmi_free(d->step_size);
    wmi_free(d->energy);
    wmi_free(d->depth);
    wmi_free(d->n_leapfrog);
    wmi_free(d->divergent);
    wmi_free(d);
}

static wm_status copy(void *to, const void *from, int64_t n, size_t size, wm_error *err)
{
    void *made = NULL;
    wm_status st = wmi_alloc(&made, n, size, "draws", err);

    if (!st) {
        memcpy(made, from, (size_t)n * size);
        memcpy(to, &made, sizeof made);
    }
    return st;
}

static wm_status refuse_nan(const wm_draws *d, wm_error *err)
{
    const int64_t n = d->chains * d->draws * d->dim;

    for (int64_t i = 0; i < n; i++)
        if (!isfinite(d->x[i]))
            return wmi_fail(err, WM_EDIVERGED,
                            "draw %" PRId64 " of chain %" PRId64
                            " is not finite: the model has no density that can be sampled",
                            i / d->dim % d->draws, i / d->dim / d->draws);
    return WM_OK;
}

/* The draws of a sampler, as the data were given. lp stays the log-density in z-space. */
static wm_status take_draws(wm_draws **out, const wm_ebm *e, const wm_draws *s, wm_error *err)
{
    const int64_t n = s->chains * s->draws;
    wm_draws *d = NULL;
    wm_status st;

    if ((st = wmi_alloc(&d, 1, sizeof *d, "draws", err)))
        return st;
    d->chains = s->chains;
    d->draws = s->draws;
    d->dim = e->transform.raw;
    d->max_depth = s->max_depth;
    if ((st = copy(&d->lp, s->lp, n, sizeof *d->lp, err)) ||
        (st = copy(&d->accept, s->accept, n, sizeof *d->accept, err)) ||
        (st = copy(&d->step_size, s->step_size, n, sizeof *d->step_size, err)) ||
        (st = copy(&d->energy, s->energy, n, sizeof *d->energy, err)) ||
        (st = copy(&d->depth, s->depth, n, sizeof *d->depth, err)) ||
        (st = copy(&d->n_leapfrog, s->n_leapfrog, n, sizeof *d->n_leapfrog, err)) ||
        (st = copy(&d->divergent, s->divergent, n, sizeof *d->divergent, err)) ||
        (st = to_given(&d->x, e, n, s->x, err)) || (st = refuse_nan(d, err))) {
        wm_ebm_draws_free(d);
        return st;
    }
    *out = d;
    return WM_OK;
}

/* NUTS on the whole model, from the states in which annealing ended. */
static wm_status sample_from(wm_sampler **out, wmi_ebm_path *path, const wm_annealed *from,
                             const wm_ebm_walk *o, keeper *keep, wm_error *err)
{
    const wm_path p = wmi_ebm_path_get(path);
    wm_sample_opts s;
    bool found = false;
    size_t used;
    wm_status st;

    wm_sample_opts_init(&s);
    s.moves.kernel = o->kernel;
    s.moves.target_accept = o->draw_target;
    s.moves.step_size = from->table[0];
    s.warmup = o->draws > 1 ? o->warmup : 0;
    s.draws = o->draws;
    s.thin = o->thin;
    s.mass = WM_MASS_IDENTITY; /* z-space is white already */
    s.max_depth = o->draw_depth;
    s.warmup_depth = o->draw_depth;
    s.seed = o->control.seed;
    s.sink = o->control.sink;
    s.stop = wmi_ebm_path_stop(path);
    s.save = (wm_save){save, keep, o->control.checkpoint_seconds};
    if ((st = wm_sampler_new(out, &p, from->chains, from->x, &s, err)))
        return st;
    keep->anneal = NULL;
    keep->sampler = *out;
    keep->size = wm_sampler_state_size(*out);
    used = strlen(keep->settings);
    snprintf(keep->settings + used, sizeof keep->settings - used,
             " draws=%" PRId64 " thin=%" PRId64 " warmup=%" PRId64 " depth=%" PRId64 " target=%g",
             o->draws, o->thin, s.warmup, o->draw_depth, o->draw_target);
    if (keep->path) {
        wmi_free(keep->state);
        keep->state = NULL;
        if ((st = wmi_alloc(&keep->state, keep->size, sizeof *keep->state, "state", err)) ||
            (o->control.resume && (st = go_on(keep, NULL, *out, &found, err))))
            return st;
    }
    return wm_sampler_run(*out, err);
}

/* "run/chains.safetensors" -> "run/chains.draws.safetensors": annealing has its own. */
static wm_status draws_path(char **out, const char *path, wm_error *err)
{
    const char *dot = strrchr(path, '.');
    const size_t n = strlen(path) + 8;
    wm_status st = wmi_alloc(out, (int64_t)n, 1, "path", err);

    if (st)
        return st;
    if (!dot || strchr(dot, '/'))
        dot = path + strlen(path);
    snprintf(*out, n, "%.*s.draws%s", (int)(dot - path), path, dot);
    return WM_OK;
}

wm_status wm_ebm_sample(wm_draws **out, wm_diagnosis **diagnosis, const wm_ebm *e,
                        const wm_ebm_walk *given, wm_error *err)
{
    wm_sampler *sampler = NULL;
    char *path = NULL;
    walker w = {0};
    wm_status st;

    *out = NULL;
    if (diagnosis)
        *diagnosis = NULL;
    if ((st = walk_up(&w, e, given, err)) ||
        (w.o.control.checkpoint && (st = draws_path(&path, w.o.control.checkpoint, err))))
        goto done;
    w.keep.path = path;
    if ((st = sample_from(&sampler, w.path, wm_anneal_result(w.anneal), &w.o, &w.keep, err)) ||
        (st = take_draws(out, e, wm_sampler_draws(sampler), err)))
        goto done;
    if (diagnosis && w.o.draws >= 4)
        st = wm_diagnose(diagnosis, wm_sampler_draws(sampler), err);
done:
    if (st && *out) {
        wm_ebm_draws_free(*out);
        *out = NULL;
    }
    wm_sampler_free(sampler);
    close_walker(&w);
    wmi_free(path);
    return st;
}
