/* embed.c - making a wm_embed: the network from its settings, and training on arrays of pairs or on
 * pairs of grids. Using it is in embed_use.c. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "estimators/embed_impl.h"
#include "train/trainer.h"

enum { MOST_BRIDGES_UNASKED = 16, MOST_NEGATIVES_UNASKED = 16, MOST_BLOCKS = 1 << 24 };

void wm_embed_opts_init(wm_embed_opts *opts)
{
    *opts = (wm_embed_opts){.struct_size = sizeof *opts,
                            .batch = 512,
                            .iterations = 10000,
                            .valid = 2000,
                            .lr = 1e-3,
                            .warmup = 100,
                            .average = 0.999,
                            .seed = 1,
                            .checkpoint_seconds = 30};
}

void wm_embed_free(wm_embed *e)
{
    if (!e)
        return;
    wmi_params_free(e->params);
    wmi_free(e->blocks);
    wmi_free(e->theta);
    wmi_free(e->bridges);
    wmi_free(e);
}

void wm_embed_get_info(const wm_embed *e, wm_embed_info *info)
{
    *info = e->info;
}

wm_embed_bridge wm_embed_get_bridge(const wm_embed *e, int64_t k)
{
    return e->bridges[k];
}

/* ---- the network ---- */

/* A body for rows of this shape. */
static wm_status set_body(const wm_embed *e, wmi_body *body, wm_embed_shape shape, wm_error *err)
{
    if (!shape.height) {
        body->kind = WMI_BODY_MLP;
        body->mlp.width = e->mlp_width;
        body->mlp.blocks = (int)e->mlp_blocks;
        body->mlp.out = e->mlp_out;
        return WM_OK;
    }
    body->kind = WMI_BODY_RESNET;
    body->resnet.height = shape.height;
    body->resnet.width = shape.width;
    body->resnet.channels = shape.channels;
    return wmi_resnet_parse(&body->resnet, e->network, err);
}

static wm_status check_shape(const char *name, wm_embed_shape s, int64_t dim, wm_error *err)
{
    if (!s.height)
        return WM_OK;
    /* Each is bounded first: the product of three such numbers cannot overflow. */
    if (s.height < 1 || s.width < 1 || s.channels < 1 || s.height > 65536 || s.width > 65536 ||
        s.channels > 65536 || s.height * s.width * s.channels != dim)
        return wmi_fail(err, WM_ESHAPE,
                        "%s: %" PRId64 " columns are no image of %" PRId64 " x %" PRId64
                        " x %" PRId64,
                        name, dim, s.height, s.width, s.channels);
    return WM_OK;
}

wm_status wmi_embed_open(wm_embed *e, wm_error *err)
{
    wm_embed_info *i = &e->info;
    wmi_separable_opts *s = &e->net.separable;
    wm_status st;

    if ((st = check_shape("u", i->u, i->dim_u, err)) ||
        (st = check_shape("v", i->v, i->dim_v, err)))
        return st;
    wmi_model_init(&e->net, i->bridges, i->dim_v);
    e->net.dim_u = i->dim_u;
    e->net.terms = WMI_TERM_SEPARABLE;
    if ((st = set_body(e, &s->g, i->u, err)) || (st = set_body(e, &s->f, i->v, err)) ||
        (st = wmi_params_new(&e->params, err)) ||
        (st = wmi_model_declare(e->params, "", &e->net, err)))
        return st;
    i->features = s->g.kind == WMI_BODY_RESNET ? wmi_resnet_features(&s->g.resnet) : s->g.mlp.out;
    i->parameters = wmi_params_count(e->params);
    if ((st = wmi_alloc(&e->theta, i->parameters, sizeof *e->theta, "parameters", err)))
        return st;
    return wmi_alloc(&e->bridges, i->bridges, sizeof *e->bridges, "bridges", err);
}

static int64_t or_else(int64_t x, int64_t otherwise)
{
    return x > 0 ? x : otherwise;
}

/* The settings of a new one. */
static wm_status take_opts(wm_embed *e, const wm_embed_opts *o, wm_error *err)
{
    wm_embed_info *i = &e->info;
    const int64_t most = i->blocks < MOST_BRIDGES_UNASKED ? i->blocks : MOST_BRIDGES_UNASKED;
    const int64_t height = i->u.height > i->v.height ? i->u.height : i->v.height;

    if (o->bridges < 0 || o->mlp_width < 0 || o->mlp_blocks < 0 || o->mlp_blocks > 1000 ||
        o->features < 0)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " bridges, a width of %" PRId64 ", %" PRId64 " blocks, %" PRId64
                        " features: they must not be negative",
                        o->bridges, o->mlp_width, o->mlp_blocks, o->features);
    i->objective = o->objective;
    i->bridges = o->objective == WM_EMBED_INFONCE ? 1 : or_else(o->bridges, most);
    if (o->objective == WM_EMBED_INFONCE && o->bridges > 1)
        return wmi_fail(err, WM_EINVAL, "InfoNCE has one bridge, not %" PRId64, o->bridges);
    i->batch_pairs = o->batch / (i->bridges + 1);
    e->mlp_out = or_else(o->features, 128);
    e->mlp_width = or_else(o->mlp_width, 128);
    e->mlp_blocks = or_else(o->mlp_blocks, 1);
    if (height > 0 && o->network) {
        if (strlen(o->network) >= sizeof e->network)
            return wmi_fail(err, WM_EINVAL, "the network's text is longer than %zu bytes",
                            sizeof e->network - 1);
        snprintf(e->network, sizeof e->network, "%s", o->network);
    } else if (height > 0) {
        snprintf(e->network, sizeof e->network,
                 "stem 5/3 32, 32 down, 32, 64 down, 64, 64 down, 64, max, dense %" PRId64,
                 300 * or_else(height / 28, 1));
    }
    return WM_OK;
}

/* ---- training ---- */

typedef struct watch {
    const wm_embed_opts *opts;
    wm_embed_bridge *bridges; /* (m) */
    int64_t n_bridges;
} watch;

static void pass_eval(void *ctx, const wmi_train_eval *eval)
{
    const watch *w = ctx;

    for (int64_t k = 0; k < w->n_bridges; k++)
        w->bridges[k] = (wm_embed_bridge){eval->bridges[k].loss, eval->bridges[k].accuracy,
                                          eval->bridges[k].mean_log_ratio};
    w->opts->on_eval(w->opts->ctx, &(wm_embed_progress){.step = eval->step,
                                                        .train_loss = eval->train_loss,
                                                        .valid_loss = eval->valid_loss,
                                                        .mi = eval->kl,
                                                        .n_bridges = w->n_bridges,
                                                        .bridges = w->bridges});
}

static void pass_resume(void *ctx, int64_t step)
{
    const watch *w = ctx;

    w->opts->on_resume(w->opts->ctx, step);
}

static wmi_train_opts train_opts(const wm_embed *e, const wm_embed_opts *o, watch *w)
{
    wmi_train_opts t;

    wmi_train_opts_init(&t);
    t.objective = e->info.objective == WM_EMBED_INFONCE ? WMI_INFONCE : WMI_LOGISTIC;
    t.batch = o->batch;
    t.iterations = o->iterations;
    t.eval_every = or_else(o->eval_every, or_else(o->iterations / 20, 1));
    t.lr = o->lr;
    t.warmup = o->warmup;
    t.average = o->average;
    t.weight_decay = o->weight_decay;
    t.clip = o->clip;
    t.saturated = 0; /* a single ratio of many nats classifies perfectly: that is to be seen */
    t.random_order = o->random_order;
    t.seed = o->seed;
    t.time_limit = o->time_limit;
    t.checkpoint = o->checkpoint;
    t.checkpoint_seconds = o->checkpoint_seconds;
    t.resume = o->resume;
    t.sink = o->sink;
    t.stop = o->stop;
    t.on_eval = o->on_eval ? pass_eval : NULL;
    t.on_resume = o->on_resume ? pass_resume : NULL;
    t.on_eval_ctx = w;
    return t;
}

/* Whether the blocks of v are the cells of its network, numbered as one reads. */
static bool blocks_are_cells(const wm_embed *e)
{
    const wmi_resnet_opts *o = &e->net.separable.f.resnet;
    const wm_embed_shape v = e->info.v;

    if (!v.height || !wmi_resnet_has_cells(o))
        return false;
    for (int64_t j = 0; j < e->info.dim_v; j++) {
        const int64_t x = j / v.channels % v.width, y = j / v.channels / v.width;
        const int64_t cell =
            y / (v.height / o->cells_down) * o->cells_across + x / (v.width / o->cells_across);

        if (e->blocks[j] != cell)
            return false;
    }
    return true;
}

/* Exchanged cells for each true one; 0: waymarks are rows. */
static wm_status count_negatives(const wm_embed *e, const wm_embed_opts *o, int64_t *out,
                                 wm_error *err)
{
    const int64_t pairs = e->info.batch_pairs;

    *out = 0;
    if (o->negatives < 0 || (o->negatives > 1 && !blocks_are_cells(e)))
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " negatives: more than one are for networks whose cells are "
                        "the blocks of v",
                        o->negatives);
    if (e->info.objective == WM_EMBED_LOGISTIC && blocks_are_cells(e))
        *out =
            or_else(o->negatives, pairs < MOST_NEGATIVES_UNASKED ? pairs : MOST_NEGATIVES_UNASKED);
    return WM_OK;
}

/* Trains an opened one. */
static wm_status train(wm_embed *e, const wmi_source *source, const wm_embed_opts *o, wm_error *err)
{
    const int64_t m = e->info.bridges;
    wmi_bridge_eval *last = NULL;
    wm_chain *chain = NULL;
    watch w = {.opts = o, .n_bridges = m};
    wmi_train_result r;
    wmi_train_opts t = train_opts(e, o, &w);
    wm_status st;

    if ((st = count_negatives(e, o, &t.cell_negatives, err)) ||
        (st = wm_chain_new(&chain, m, NULL, e->info.dim_v, e->blocks, err)) ||
        (st = wmi_alloc(&w.bridges, m, sizeof *w.bridges, "bridges", err)) ||
        (st = wmi_alloc(&last, m, sizeof *last, "bridges", err)) ||
        (st = wmi_train(&e->net, e->params, chain, source, &t, e->theta, last, &r, err)))
        goto done;
    e->info.steps = r.steps;
    e->info.best_step = r.best_step;
    e->info.seconds = r.seconds;
    e->info.finished = r.stop != WMI_STOP_ASKED && r.stop != WMI_STOP_TIME;
    for (int64_t k = 0; k < m; k++)
        e->bridges[k] = (wm_embed_bridge){last[k].loss, last[k].accuracy, last[k].mean_log_ratio};
done:
    wm_chain_free(chain);
    wmi_free(w.bridges);
    wmi_free(last);
    return st;
}

/* ---- pairs as arrays ---- */

typedef struct array_source {
    const wm_pair_rows *train, *valid;
    uint64_t seed;
    int64_t *order[2]; /* (pairs of a step) rows that give the pair, and that give the other v */
} array_source;

static void gather(int64_t n, int64_t d, const float *from, const int64_t *order, float *to)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * d, from + order[i] * d, (size_t)d * sizeof *to);
}

static void draw_order(const array_source *s, int64_t step, int64_t rows)
{
    const int64_t n = s->train->n;

    wm_pairing_draw(s->seed, step, n, n, rows, s->order[0], s->order[1]);
    for (int64_t i = 0; i < rows; i++)
        if (s->order[0][i] == s->order[1][i]) /* a row is not its own other */
            s->order[1][i] = (s->order[1][i] + 1) % n;
}

static void array_train(void *ctx, int64_t step, int64_t rows, float *x0, float *xm)
{
    const array_source *s = ctx;

    draw_order(s, step, rows);
    gather(rows, s->train->dim_v, s->train->v, s->order[0], x0);
    gather(rows, s->train->dim_v, s->train->v, s->order[1], xm);
}

static void array_train_u(void *ctx, int64_t step, int64_t rows, float *u)
{
    const array_source *s = ctx;

    draw_order(s, step, rows);
    gather(rows, s->train->dim_u, s->train->u, s->order[0], u);
}

/* The other v is that of the row half the table further on. */
static void array_valid(void *ctx, int64_t first, int64_t rows, float *x0, float *xm)
{
    const wm_pair_rows *v = ((const array_source *)ctx)->valid;
    const int64_t d = v->dim_v, far = v->n / 2 > 0 ? v->n / 2 : 1;

    memcpy(x0, v->v + first * d, (size_t)(rows * d) * sizeof *x0);
    for (int64_t i = 0; i < rows; i++)
        memcpy(xm + i * d, v->v + (first + i + far) % v->n * d, (size_t)d * sizeof *xm);
}

static void array_valid_u(void *ctx, int64_t first, int64_t rows, float *u)
{
    const wm_pair_rows *v = ((const array_source *)ctx)->valid;

    memcpy(u, v->u + first * v->dim_u, (size_t)(rows * v->dim_u) * sizeof *u);
}

static wm_status check_finite(const char *name, int64_t n, int64_t d, const float *x, wm_error *err)
{
    for (int64_t i = 0; i < n * d; i++)
        if (!isfinite(x[i]))
            return wmi_fail(err, WM_EINVAL,
                            "%s: row %" PRId64 ", column %" PRId64 " is %g, not finite", name,
                            i / d + 1, i % d + 1, (double)x[i]);
    return WM_OK;
}

static wm_status check_pairs(const wm_pair_rows *train, const wm_pair_rows *valid, wm_error *err)
{
    wm_status st;

    if (train->n < 2 || valid->n < 2 || train->dim_u < 1 || train->dim_v < 1)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " pairs to train on and %" PRId64 " held out, of %" PRId64
                        " and %" PRId64 " columns: two pairs of one column are the least",
                        train->n, valid->n, train->dim_u, train->dim_v);
    if (valid->dim_u != train->dim_u || valid->dim_v != train->dim_v)
        return wmi_fail(err, WM_ESHAPE,
                        "held-out pairs have %" PRId64 " and %" PRId64
                        " columns, those to train on %" PRId64 " and %" PRId64,
                        valid->dim_u, valid->dim_v, train->dim_u, train->dim_v);
    if ((st = check_finite("u", train->n, train->dim_u, train->u, err)) ||
        (st = check_finite("v", train->n, train->dim_v, train->v, err)) ||
        (st = check_finite("held-out u", valid->n, valid->dim_u, valid->u, err)))
        return st;
    return check_finite("held-out v", valid->n, valid->dim_v, valid->v, err);
}

/* A new one for rows of these widths; blocks NULL: each column is its own. */
static wm_status prepare(wm_embed **out, int64_t dim_u, int64_t dim_v, const int64_t *blocks,
                         const wm_embed_opts *o, wm_error *err)
{
    wm_embed *e = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(&e, 1, sizeof *e, "model", err)))
        return st;
    e->info.dim_u = dim_u;
    e->info.dim_v = dim_v;
    e->info.u = o->u;
    e->info.v = o->v;
    if ((st = wmi_alloc(&e->blocks, dim_v, sizeof *e->blocks, "blocks", err)))
        goto done;
    for (int64_t j = 0; j < dim_v; j++) {
        e->blocks[j] = blocks ? blocks[j] : j;
        if (e->blocks[j] < 0 || e->blocks[j] >= MOST_BLOCKS) {
            st = wmi_fail(err, WM_EINVAL, "column %" PRId64 " of v is in block %" PRId64, j + 1,
                          e->blocks[j]);
            goto done;
        }
        if (e->blocks[j] >= e->info.blocks)
            e->info.blocks = e->blocks[j] + 1;
    }
    if ((st = take_opts(e, o, err)) || (st = wmi_embed_open(e, err)))
        goto done;
    *out = e;
    e = NULL;
done:
    wm_embed_free(e);
    return st;
}

wm_status wm_embed_fit(wm_embed **out, const wm_pair_rows *train_rows, const wm_pair_rows *valid,
                       const int64_t *blocks, const wm_embed_opts *opts, wm_error *err)
{
    wm_embed_opts o;
    wm_embed *e = NULL;
    array_source s = {.train = train_rows, .valid = valid};
    wmi_source source = {.dim = train_rows->dim_v,
                         .n_train = train_rows->n,
                         .n_valid = valid->n,
                         .train = array_train,
                         .valid = array_valid,
                         .ctx = &s,
                         .dim_u = train_rows->dim_u,
                         .train_u = array_train_u,
                         .valid_u = array_valid_u};
    wm_status st;

    *out = NULL;
    wm_embed_opts_init(&o);
    if (opts)
        o = *opts;
    s.seed = o.seed;
    if ((st = check_pairs(train_rows, valid, err)) ||
        (st = prepare(&e, train_rows->dim_u, train_rows->dim_v, blocks, &o, err)))
        return st;
    for (int side = 0; side < 2; side++)
        if ((st = wmi_alloc(&s.order[side], or_else(e->info.batch_pairs, 1), sizeof *s.order[side],
                            "order", err)))
            goto done;
    if ((st = train(e, &source, &o, err)))
        goto done;
    *out = e;
    e = NULL;
done:
    wm_embed_free(e);
    wmi_free(s.order[0]);
    wmi_free(s.order[1]);
    return st;
}

/* ---- pairs of grids ---- */

typedef struct grid_source {
    const wm_grid_pairs *pairs;
    int64_t n_valid;
    wm_status st; /* of the first draw that failed */
} grid_source;

static void draw_grids(grid_source *s, wm_split split, int64_t first, int64_t n, float *u, float *v)
{
    const wm_status st = wm_grid_pairs_draw(s->pairs, split, first, n, u, v, NULL, NULL);

    if (st && !s->st)
        s->st = st;
}

/* Even runs of rows give the pairs, odd ones the other v. */
static void grid_train(void *ctx, int64_t step, int64_t rows, float *x0, float *xm)
{
    draw_grids(ctx, WM_SPLIT_TRAIN, 2 * step * rows, rows, NULL, x0);
    draw_grids(ctx, WM_SPLIT_TRAIN, (2 * step + 1) * rows, rows, NULL, xm);
}

static void grid_train_u(void *ctx, int64_t step, int64_t rows, float *u)
{
    draw_grids(ctx, WM_SPLIT_TRAIN, 2 * step * rows, rows, u, NULL);
}

static void grid_valid(void *ctx, int64_t first, int64_t rows, float *x0, float *xm)
{
    draw_grids(ctx, WM_SPLIT_VALID, first, rows, NULL, x0);
    draw_grids(ctx, WM_SPLIT_VALID, ((grid_source *)ctx)->n_valid + first, rows, NULL, xm);
}

static void grid_valid_u(void *ctx, int64_t first, int64_t rows, float *u)
{
    draw_grids(ctx, WM_SPLIT_VALID, first, rows, u, NULL);
}

wm_status wm_embed_fit_grid(wm_embed **out, const wm_grid_pairs *pairs, const wm_embed_opts *opts,
                            wm_error *err)
{
    const int64_t height = wm_grid_pairs_height(pairs), width = wm_grid_pairs_width(pairs);
    const int64_t dim = height * width;
    wm_embed_opts o;
    wm_embed *e = NULL;
    int64_t *blocks = NULL;
    grid_source s = {.pairs = pairs};
    wmi_source source = {.dim = dim,
                         .n_train = INT64_MAX, /* rows never come again */
                         .train = grid_train,
                         .valid = grid_valid,
                         .ctx = &s,
                         .dim_u = dim,
                         .train_u = grid_train_u,
                         .valid_u = grid_valid_u};
    wm_status st;

    *out = NULL;
    wm_embed_opts_init(&o);
    if (opts)
        o = *opts;
    o.u = o.v = (wm_embed_shape){height, width, 1};
    if (o.valid < 1)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " held-out pairs: at least 1 is needed",
                        o.valid);
    source.n_valid = s.n_valid = o.valid;
    if ((st = wmi_alloc(&blocks, dim, sizeof *blocks, "blocks", err)))
        return st;
    wm_grid_pairs_blocks(pairs, blocks);
    if ((st = prepare(&e, dim, dim, blocks, &o, err)) || (st = train(e, &source, &o, err)))
        goto done;
    if (s.st) {
        st = wmi_fail(err, s.st, "pairs of grids could not be drawn");
        goto done;
    }
    *out = e;
    e = NULL;
done:
    wm_embed_free(e);
    wmi_free(blocks);
    return st;
}
