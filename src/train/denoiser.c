/* denoiser.c - rows and directions of the denoising objective (denoiser.h). */
#include "train/denoiser.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "nn/loss.h"

enum { OMP_MIN = 1 << 16 }; /* numbers below which threads cost more than they bring */

/* ---- one level ---- */

#define real double
#define DENOISE(name) name##_f64
#include "train/denoiser_tmpl.h"
#undef real
#undef DENOISE
#define real float
#define DENOISE(name) name##_f32
#include "train/denoiser_tmpl.h"
#undef real
#undef DENOISE

wm_status wmi_denoise_levels(const wm_chain *chain, wmi_denoise_level *level, wm_error *err)
{
    /* p_k changes over lengths of alpha_k: a fiftieth of it leaves 0.04 % of curvature in a column,
     * a tenth of a nat or so in the softmax, and is large enough for floats. */
    const double reach = 0.02;
    const int64_t m = wm_chain_bridges(chain);

    if (wm_chain_blocks(chain) > 0 || !(chain->alpha[0] > 0))
        return wmi_fail(err, WM_EINVAL,
                        "denoising needs a first waymark with a little noise, and columns that are "
                        "all linear: alpha 0 is %g",
                        chain->alpha[0]);
    for (int64_t k = 0; k < m; k++) {
        const double a = chain->alpha[k];
        double from[2]; /* log signal-to-noise ratios of the neighbours, or its own */

        for (int side = 0; side < 2; side++) {
            const int64_t at = side ? (k + 1 < m ? k + 1 : k) : (k > 0 ? k - 1 : k);
            const double b = chain->alpha[at];

            from[side] = log1p(-b * b) - 2 * log(b);
        }
        level[k] = (wmi_denoise_level){
            a, (m > 1 ? (from[0] - from[1]) / 2 : 1) / (double)wm_chain_dim(chain), reach * a};
    }
    return WM_OK;
}

/* ---- the surrogate ---- */

wmi_node *wmi_denoise_build(wmi_graph *g, const wmi_model *model, wmi_model_inputs in,
                            const wmi_denoise_shape *s, double classify, wmi_node **scores)
{
    const int64_t m = s->levels, n = m * s->rows, all = n + s->rows;
    const int64_t x[] = {wmi_denoise_rows(s), s->dim}, slope[] = {m, 2 * n}, one = 1;
    wmi_node *f, *sides, *own, *sum;

    in.layout = WMI_ROWS_SHARED;
    in.x = wmi_input(g, "x", 2, x);
    f = wmi_model_levels(g, "", model, &in);
    sides = wmi_slice(g, f, 1, 0, 2 * n);
    own = wmi_affine(g, wmi_add(g, wmi_slice(g, f, 1, 0, n), wmi_slice(g, f, 1, n, 2 * n)), 0.5, 0);
    own = wmi_concat(g, 2, (wmi_node *[]){own, wmi_slice(g, f, 1, 2 * n, 2 * n + s->rows)}, 1);
    *scores = wmi_sub(g, own, wmi_levels_next(g, own));
    sum = wmi_sum(g, wmi_mul(g, sides, wmi_input(g, "slope", 2, slope)), WMI_ALL_AXES);
    if (s->own > 0) {
        const int64_t first = 2 * n + s->rows, pull[] = {m, 2 * m * s->own};

        sum = wmi_add(g, sum,
                      wmi_sum(g,
                              wmi_mul(g, wmi_slice(g, f, 1, first, first + pull[1]),
                                      wmi_input(g, "pull", 2, pull)),
                              WMI_ALL_AXES));
    }
    sum = wmi_add(g, sum, wmi_sum(g, wmi_input(g, "rest", 1, &one), WMI_ALL_AXES));
    return wmi_add(
        g, sum,
        wmi_affine(g, wmi_multinomial_loss(g, *scores, wmi_input(g, "label", 1, &all), NULL),
                   classify, 0));
}

/* ---- rows ---- */

struct wmi_denoiser {
    wmi_denoise_shape shape;
    const wmi_source *source;
    wmi_denoise_level *level; /* (levels) */
    wmi_graph *graph;         /* f of every level at its rows, for their gradients */
    wmi_program *program;
    wmi_node *rows;
    float *x_in;
    /* Rows of all levels, then of the noise. */
    float *z0, *e;         /* (all, dim) ends */
    float *z, *x;          /* (all, dim) waymarks, and as the bridges see them */
    float *sides, *mapped; /* (2, levels, rows, dim) plus and minus, and as the bridges see them */
    wmi_own_draws *own;    /* or NULL */
    float *g;              /* (levels, rows, dim) gradients for z */
    double *loss, *known;  /* (levels) */
};

static int64_t all_rows(const wmi_denoise_shape *s)
{
    return (s->levels + 1) * s->rows;
}

static wm_status open_program(wmi_denoiser *d, const wmi_model *model, const wmi_params *params,
                              float *theta, const float *knots, const float *filter, wm_error *err)
{
    const int64_t m = d->shape.levels, n = d->shape.rows;
    const int64_t x[] = {m * n, d->shape.dim}, own[] = {m, m * n};
    wmi_model_inputs in = {.layout = WMI_ROWS_SHARED};
    wmi_node *f;
    void *at;
    wm_status st;

    if ((st = wmi_graph_new(&d->graph, WMI_F32, params, err)))
        return st;
    in.x = d->rows = wmi_input(d->graph, "x", 2, x);
    wmi_model_constants(d->graph, model, &in);
    f = wmi_mul(d->graph, wmi_model_levels(d->graph, "", model, &in),
                wmi_input(d->graph, "own", 2, own));
    f = wmi_sum(d->graph, f, WMI_ALL_AXES);
    if ((st = wmi_compile(
             &d->program, d->graph,
             &(wmi_compile_opts){.loss = f, .grad_inputs = &d->rows, .n_grad_inputs = 1}, err)))
        return st;
    wmi_program_bind(d->program, theta, NULL);
    if ((st = wmi_model_fill(d->program, model, knots, filter, err)) ||
        (st = wmi_program_input(d->program, "x", &at, err)))
        return st;
    d->x_in = at;
    if ((st = wmi_program_input(d->program, "own", &at, err)))
        return st;
    for (int64_t k = 0; k < m; k++)
        for (int64_t i = 0; i < m * n; i++)
            ((float *)at)[k * m * n + i] = i / n == k;
    return WM_OK;
}

wm_status wmi_denoiser_new(wmi_denoiser **out, const wmi_model *model, const wmi_params *params,
                           const wm_chain *chain, const wmi_source *source, int64_t rows,
                           float *theta, const float *knots, const float *filter,
                           const wmi_own_opts *own_opts, uint64_t seed, wm_error *err)
{
    const int64_t m = wm_chain_bridges(chain), dim = source->dim;
    wmi_denoiser *d = NULL;
    int64_t all, own;
    wm_status st;

    *out = NULL;
    if (source->map && !source->pull)
        return wmi_fail(err, WM_EINVAL, "denoising needs the gradient of the map of its rows");
    if ((st = wmi_alloc(&d, 1, sizeof *d, "denoiser", err)))
        return st;
    d->source = source;
    d->shape = (wmi_denoise_shape){m, rows, dim, 0};
    all = all_rows(&d->shape) * dim;
    own = m * rows * dim;
    if ((st = wmi_alloc(&d->level, m, sizeof *d->level, "levels", err)) ||
        (st = wmi_denoise_levels(chain, d->level, err)) ||
        (st = wmi_alloc(&d->z0, all, sizeof *d->z0, "batch", err)) ||
        (st = wmi_alloc(&d->e, all, sizeof *d->e, "batch", err)) ||
        (st = wmi_alloc(&d->z, all, sizeof *d->z, "batch", err)) ||
        (st = wmi_alloc(&d->x, all, sizeof *d->x, "batch", err)) ||
        (st = wmi_alloc(&d->sides, 2 * own, sizeof *d->sides, "batch", err)) ||
        (st = wmi_alloc(&d->mapped, 2 * own, sizeof *d->mapped, "batch", err)) ||
        (st = wmi_alloc(&d->g, own, sizeof *d->g, "gradients", err)) ||
        (st = wmi_alloc(&d->loss, m, sizeof *d->loss, "losses", err)) ||
        (st = wmi_alloc(&d->known, m, sizeof *d->known, "losses", err)) ||
        (st = open_program(d, model, params, theta, knots, filter, err)) ||
        (own_opts->mover && (st = wmi_own_draws_new(&d->own, model, params, chain->alpha, source,
                                                    own_opts, seed, theta, knots, filter, err)))) {
        wmi_denoiser_free(d);
        return st;
    }
    *out = d;
    return WM_OK;
}

void wmi_denoiser_free(wmi_denoiser *d)
{
    if (!d)
        return;
    wmi_own_draws_free(d->own);
    wmi_program_free(d->program);
    wmi_graph_free(d->graph);
    wmi_free(d->level);
    wmi_free(d->z0);
    wmi_free(d->e);
    wmi_free(d->z);
    wmi_free(d->x);
    wmi_free(d->sides);
    wmi_free(d->mapped);
    wmi_free(d->g);
    wmi_free(d->loss);
    wmi_free(d->known);
    wmi_free(d);
}

const wmi_denoise_shape *wmi_denoiser_shape(const wmi_denoiser *d)
{
    return &d->shape;
}

int64_t wmi_denoiser_valid_batches(const wmi_denoiser *d)
{
    const int64_t whole = d->source->n_valid / d->shape.rows; /* every row at about every level */

    return whole > 0 ? whole : 1;
}

/* n rows of z as the bridges see them; z may be overwritten. */
static wm_status map_rows(const wmi_denoiser *d, int64_t n, float *z, float *x, wm_error *err)
{
    const wmi_source *s = d->source;

    if (s->map)
        return s->map(s->ctx, n, s->dim, z, x, err);
    memcpy(x, z, (size_t)(n * s->dim) * sizeof *x);
    return WM_OK;
}

/* Waymarks from the ends, and the gradients of all levels at theirs. */
static wm_status find_gradients(wmi_denoiser *d, wm_error *err)
{
    const wmi_denoise_shape *s = &d->shape;
    const wmi_source *source = d->source;
    const int64_t each = s->rows * s->dim, own = s->levels * each;
    wm_status st;

    for (int64_t k = 0; k < s->levels; k++)
        wm_waymark_linear_f32(d->level[k].alpha, each, d->z0 + k * each, d->e + k * each,
                              d->z + k * each);
    memcpy(d->z + own, d->e + own, (size_t)each * sizeof *d->z);
    if ((st = map_rows(d, all_rows(s), d->z, d->x, err)))
        return st;
    memcpy(d->x_in, d->x, (size_t)own * sizeof *d->x);
    if ((st = wmi_program_backward(d->program, err)))
        return st;
    memcpy(d->g, wmi_program_grad(d->program, d->rows), (size_t)own * sizeof *d->g);
    if (!source->map)
        return WM_OK;
    for (int64_t k = 0; k < s->levels; k++) /* the map may have taken z for its own */
        wm_waymark_linear_f32(d->level[k].alpha, each, d->z0 + k * each, d->e + k * each,
                              d->z + k * each);
    return source->pull(source->ctx, s->levels * s->rows, s->dim, d->z, d->g, err);
}

/* From the ends to the inputs of the surrogate. */
static wm_status fill(wmi_denoiser *d, const wmi_denoise_inputs *to, wm_error *err)
{
    const wmi_denoise_shape *s = &d->shape;
    const int64_t m = s->levels, n = s->rows, each = n * s->dim, own = m * each;
    double rest = 0;
    wm_status st = find_gradients(d, err);

    if (st)
        return st;
#pragma omp parallel for schedule(static) if (own >= OMP_MIN)
    for (int64_t k = 0; k < m; k++) {
        float *plus = d->sides + k * each, *slope = to->slope + 2 * k * m * n;

        memset(slope, 0, (size_t)(2 * m * n) * sizeof *slope);
        d->loss[k] =
            wmi_denoise_rows_f32(&d->level[k], n, s->dim, d->z0 + k * each, d->e + k * each,
                                 d->g + k * each, plus, plus + own, slope + k * n, &d->known[k]);
        for (int64_t i = k * n; i < (k + 1) * n; i++)
            slope[m * n + i] = -slope[i];
    }
    if ((st = map_rows(d, 2 * m * n, d->sides, d->mapped, err)))
        return st;
    memcpy(to->x, d->mapped, (size_t)(2 * own) * sizeof *to->x);
    memcpy(to->x + 2 * own, d->x + own, (size_t)each * sizeof *to->x);
    for (int64_t k = 0; k < m; k++)
        rest += d->loss[k] - d->known[k];
    *to->rest = (float)rest;
    return WM_OK;
}

float *wmi_denoiser_state(wmi_denoiser *d, int64_t *size)
{
    *size = 0;
    return d->own ? wmi_own_draws_state(d->own, size) : NULL;
}

wm_status wmi_denoiser_own(wmi_denoiser *d, int64_t step, const wmi_denoise_inputs *to,
                           wm_error *err)
{
    const wmi_denoise_shape *s = &d->shape;
    wm_status st = wmi_own_draws_step(d->own, step, s->rows, d->z, err);

    return st ? st
              : wmi_own_draws_fill(d->own, to->x + wmi_denoise_rows(s) * s->dim, to->pull, err);
}

wm_status wmi_denoiser_train(wmi_denoiser *d, int64_t step, const wmi_denoise_inputs *to,
                             wm_error *err)
{
    const wmi_source *s = d->source;
    const wm_status st = s->train(s->ctx, step, all_rows(&d->shape), d->z0, d->e, err);

    return st ? st : fill(d, to, err);
}

/* A validation set smaller than a batch is walked round. */
wm_status wmi_denoiser_valid(wmi_denoiser *d, int64_t i, const wmi_denoise_inputs *to,
                             wm_error *err)
{
    const wmi_source *s = d->source;
    const int64_t all = all_rows(&d->shape), n = s->n_valid, dim = s->dim;
    wm_status st = WM_OK;

    for (int64_t done = 0, take; !st && done < all; done += take) {
        const int64_t first = (i * all + done) % n, left = n - first;

        take = all - done < left ? all - done : left;
        st = s->valid(s->ctx, first, take, d->z0 + done * dim, d->e + done * dim, err);
    }
    return st ? st : fill(d, to, err);
}
