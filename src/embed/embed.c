/* embed.c - making a wm_embed: the network from its settings, and training on arrays of pairs or on
 * pairs of grids. Using it is in embed_use.c. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opts.h"
#include "columns/columns_impl.h"
#include "embed/embed_impl.h"
#include "images/grid_pairs.h"
#include "train/trainer.h"

enum { MOST_BRIDGES_UNASKED = 16, MOST_NEGATIVES_UNASKED = 16, MOST_BLOCKS = 1 << 24 };

void wm_embed_opts_init(wm_embed_opts *opts)
{
    *opts = (wm_embed_opts){.struct_size = sizeof *opts,
                            .bridges = WM_AUTO,
                            .mlp_width = 128,
                            .mlp_blocks = 1,
                            .features = 128,
                            .negatives = WM_AUTO,
                            .valid = 2000,
                            .adam = {.iterations = 10000,
                                     .batch = 512,
                                     .lr = 1e-3,
                                     .average = 0.999,
                                     .warmup = 100,
                                     .lr_constants = 10,
                                     .eval_every = WM_AUTO}};
    wm_fit_control_init(&opts->control);
}

void wm_embed_free(wm_embed *e)
{
    if (!e)
        return;
    wmi_params_free(e->params);
    wm_columns_free(e->columns[0]);
    wm_columns_free(e->columns[1]);
    wmi_free(e->blocks);
    wmi_free(e->theta);
    wmi_free(e->bridges);
    wmi_free(e);
}

void wm_embed_get_info(const wm_embed *e, wm_embed_info *info)
{
    *info = e->info;
}

wm_bridge wm_embed_get_bridge(const wm_embed *e, int64_t k)
{
    return e->bridges[k];
}

wm_status wm_embed_set_columns(wm_embed *e, const wm_columns *u, const wm_columns *v, wm_error *err)
{
    const wm_columns *const given[2] = {u, v};
    const int64_t dim[2] = {e->info.dim_u, e->info.dim_v};
    wm_columns *own[2] = {NULL, NULL};
    wm_status st = WM_OK;

    for (int side = 0; !st && side < 2; side++)
        if (given[side] && wm_columns_dim(given[side]) != dim[side])
            st = wmi_fail(err, WM_ESHAPE,
                          "columns of %c make %" PRId64 " of them, the network reads %" PRId64,
                          "uv"[side], wm_columns_dim(given[side]), dim[side]);
        else
            st = wmi_columns_copy(&own[side], given[side], err);
    for (int side = 0; side < 2; side++) {
        wm_columns_free(st ? own[side] : e->columns[side]);
        if (!st)
            e->columns[side] = own[side];
    }
    return st;
}

const wm_columns *wm_embed_columns(const wm_embed *e, int side)
{
    return e->columns[side];
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
    if ((st = wmi_alloc(&e->bridges, i->bridges, sizeof *e->bridges, "bridges", err)))
        return st;
    for (int64_t k = 0; k < i->bridges; k++)
        e->bridges[k] = (wm_bridge){.alpha_from = (double)k / (double)i->bridges,
                                    .alpha_to = (double)(k + 1) / (double)i->bridges};
    return WM_OK;
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

    if ((o->bridges != WM_AUTO && o->bridges < 1) || o->mlp_width < 1 || o->mlp_blocks < 0 ||
        o->mlp_blocks > 1000 || o->features < 1)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " bridges, a width of %" PRId64 ", %" PRId64 " blocks, %" PRId64
                        " features: there must be some",
                        o->bridges, o->mlp_width, o->mlp_blocks, o->features);
    i->objective = o->objective;
    i->bridges = o->objective == WM_EMBED_INFONCE ? 1 : or_else(o->bridges, most);
    if (o->objective == WM_EMBED_INFONCE && o->bridges > 1)
        return wmi_fail(err, WM_EINVAL, "InfoNCE has one bridge, not %" PRId64, o->bridges);
    i->batch_pairs = o->adam.batch / (i->bridges + 1);
    e->mlp_out = o->features;
    e->mlp_width = o->mlp_width;
    e->mlp_blocks = o->mlp_blocks;
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

static wmi_train_opts train_opts(const wm_embed *e, const wm_embed_opts *o)
{
    wmi_train_opts t;

    wmi_train_opts_init(&t);
    t.adam = o->adam;
    t.control = o->control;
    t.objective = e->info.objective == WM_EMBED_INFONCE ? WMI_INFONCE : WMI_LOGISTIC;
    t.adam.eval_every = or_else(o->adam.eval_every, or_else(o->adam.iterations / 20, 1));
    t.saturated = 0; /* a single ratio of many nats classifies perfectly: that is to be seen */
    t.random_order = o->random_order;
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
    if ((o->negatives != WM_AUTO && o->negatives < 1) || (o->negatives > 1 && !blocks_are_cells(e)))
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
    wm_chain *chain = NULL;
    wmi_train_result r;
    wmi_train_opts t = train_opts(e, o);
    wm_status st;

    if ((st = count_negatives(e, o, &t.cell_negatives, err)) ||
        (st = wm_chain_new(&chain, e->info.bridges, NULL, e->info.dim_v, e->blocks, err)) ||
        (st = wmi_train(&e->net, e->params, chain, source, &t, e->theta, e->bridges, &r, err)))
        goto done;
    e->info.steps = r.steps;
    e->info.best_step = r.best_step;
    e->info.seconds = r.seconds;
    e->info.finished = r.stop != WMI_STOP_ASKED && r.stop != WMI_STOP_TIME;
done:
    wm_chain_free(chain);
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

static wm_status array_train(void *ctx, int64_t step, int64_t rows, float *x0, float *xm,
                             wm_error *err)
{
    const array_source *s = ctx;

    (void)err;
    draw_order(s, step, rows);
    gather(rows, s->train->dim_v, s->train->v, s->order[0], x0);
    gather(rows, s->train->dim_v, s->train->v, s->order[1], xm);
    return WM_OK;
}

static wm_status array_train_u(void *ctx, int64_t step, int64_t rows, float *u, wm_error *err)
{
    const array_source *s = ctx;

    (void)err;
    draw_order(s, step, rows);
    gather(rows, s->train->dim_u, s->train->u, s->order[0], u);
    return WM_OK;
}

/* The other v is that of the row half the table further on. */
static wm_status array_valid(void *ctx, int64_t first, int64_t rows, float *x0, float *xm,
                             wm_error *err)
{
    const wm_pair_rows *v = ((const array_source *)ctx)->valid;
    const int64_t d = v->dim_v, far = v->n / 2 > 0 ? v->n / 2 : 1;

    (void)err;
    memcpy(x0, v->v + first * d, (size_t)(rows * d) * sizeof *x0);
    for (int64_t i = 0; i < rows; i++)
        memcpy(xm + i * d, v->v + (first + i + far) % v->n * d, (size_t)d * sizeof *xm);
    return WM_OK;
}

static wm_status array_valid_u(void *ctx, int64_t first, int64_t rows, float *u, wm_error *err)
{
    const wm_pair_rows *v = ((const array_source *)ctx)->valid;

    (void)err;
    memcpy(u, v->u + first * v->dim_u, (size_t)(rows * v->dim_u) * sizeof *u);
    return WM_OK;
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
    int threads;
    wm_status st;

    *out = NULL;
    wm_embed_opts_init(&o);
    if ((st = wmi_opts_take(&o, sizeof o, opts, "wm_embed_opts_init", err)) ||
        (st = check_pairs(train_rows, valid, err)) ||
        (st = prepare(&e, train_rows->dim_u, train_rows->dim_v, blocks, &o, err)))
        return st;
    s.seed = o.control.seed;
    threads = wmi_threads_use(o.control.threads);
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
    wmi_threads_restore(threads);
    return st;
}

/* ---- pairs of grids ---- */

typedef struct grid_source {
    const wm_grid_pairs *pairs;
    int64_t n_valid;
} grid_source;

/* Even runs of rows give the pairs, odd ones the other v. */
static wm_status grid_train(void *ctx, int64_t step, int64_t rows, float *x0, float *xm,
                            wm_error *err)
{
    const wm_grid_pairs *p = ((const grid_source *)ctx)->pairs;
    const int64_t first = 2 * step * rows;
    const wm_status st = wm_grid_pairs_draw(p, WM_SPLIT_TRAIN, first, rows, NULL, x0, NULL, err);

    return st ? st : wm_grid_pairs_draw(p, WM_SPLIT_TRAIN, first + rows, rows, NULL, xm, NULL, err);
}

static wm_status grid_train_u(void *ctx, int64_t step, int64_t rows, float *u, wm_error *err)
{
    return wm_grid_pairs_draw(((const grid_source *)ctx)->pairs, WM_SPLIT_TRAIN, 2 * step * rows,
                              rows, u, NULL, NULL, err);
}

static wm_status grid_valid(void *ctx, int64_t first, int64_t rows, float *x0, float *xm,
                            wm_error *err)
{
    const grid_source *s = ctx;
    const wm_status st =
        wm_grid_pairs_draw(s->pairs, WM_SPLIT_VALID, first, rows, NULL, x0, NULL, err);

    return st ? st
              : wm_grid_pairs_draw(s->pairs, WM_SPLIT_VALID, s->n_valid + first, rows, NULL, xm,
                                   NULL, err);
}

static wm_status grid_valid_u(void *ctx, int64_t first, int64_t rows, float *u, wm_error *err)
{
    return wm_grid_pairs_draw(((const grid_source *)ctx)->pairs, WM_SPLIT_VALID, first, rows, u,
                              NULL, NULL, err);
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
    int threads;
    wm_status st;

    *out = NULL;
    wm_embed_opts_init(&o);
    if ((st = wmi_opts_take(&o, sizeof o, opts, "wm_embed_opts_init", err)))
        return st;
    o.u = o.v = (wm_embed_shape){height, width, 1};
    if (o.valid < 1)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " held-out pairs: at least 1 is needed",
                        o.valid);
    source.n_valid = s.n_valid = o.valid;
    if ((st = wmi_alloc(&blocks, dim, sizeof *blocks, "blocks", err)))
        return st;
    threads = wmi_threads_use(o.control.threads);
    wmi_grid_pairs_blocks(pairs, blocks);
    if ((st = prepare(&e, dim, dim, blocks, &o, err)) || (st = train(e, &source, &o, err)))
        goto done;
    *out = e;
    e = NULL;
done:
    wm_embed_free(e);
    wmi_free(blocks);
    wmi_threads_restore(threads);
    return st;
}
