/* ebm_rows.c - rows on their way to the densities: data as given -> y -> z and back, by compiled
 * maps, and the sources that feed both trainers (ebm_impl.h). */
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "ebm/ebm_impl.h"

enum { BLOCK = 128 }; /* rows of a map's program */

/* ---- maps ---- */

static size_t size_of(wmi_dtype type)
{
    return type == WMI_F32 ? sizeof(float) : sizeof(double);
}

static wm_status bind(wmi_row_map *map, const wm_ebm *e, wm_error *err)
{
    const int64_t count = wmi_params_count(e->noise_params);
    wm_status st = wmi_alloc(&map->theta, count, size_of(map->type), "parameters", err);

    if (st)
        return st;
    for (int64_t i = 0; i < count; i++)
        if (map->type == WMI_F32)
            ((float *)map->theta)[i] = (float)e->noise_theta[i];
        else
            ((double *)map->theta)[i] = e->noise_theta[i];
    wmi_program_bind(map->program, map->theta, NULL);
    return WM_OK;
}

/* The gradient for z of y . g is that for y, g, pulled back. */
static wm_status open_pull(wmi_row_map *map, const wm_ebm *e, wmi_node *z, wm_error *err)
{
    const int64_t shape[] = {map->block, map->dim};
    wmi_graph *g = map->graph;
    wmi_node *y = wmi_noise_to_x(g, WMI_EBM_NOISE, &e->noise, z, NULL), *loss;
    wm_status st;

    loss = wmi_sum(g, wmi_mul(g, y, wmi_input(g, "gradients", 2, shape)), WMI_ALL_AXES);
    map->rows = z;
    if ((st = wmi_compile(
             &map->program, g,
             &(wmi_compile_opts){.loss = loss, .grad_inputs = &map->rows, .n_grad_inputs = 1},
             err)) ||
        (st = bind(map, e, err)) ||
        (st = wmi_program_input(map->program, "gradients", &map->pulled, err)))
        return st;
    return wmi_program_input(map->program, "rows", &map->in, err);
}

wm_status wmi_row_map_pull(wmi_row_map *map, int64_t n, const float *z, float *g, wm_error *err)
{
    wm_status st;

    for (int64_t first = 0; first < n; first += map->block) {
        const int64_t count = n - first < map->block ? n - first : map->block;
        const size_t bytes = (size_t)(count * map->dim) * sizeof *g,
                     rest = (size_t)((map->block - count) * map->dim) * sizeof *g;

        memcpy(map->in, z + first * map->dim, bytes);
        memset((char *)map->in + bytes, 0, rest);
        memcpy(map->pulled, g + first * map->dim, bytes);
        memset((char *)map->pulled + bytes, 0, rest);
        if ((st = wmi_program_backward(map->program, err)))
            return st;
        memcpy(g + first * map->dim, wmi_program_grad(map->program, map->rows), bytes);
    }
    return WM_OK;
}

wm_status wmi_row_map_open(wmi_row_map *map, const wm_ebm *e, wmi_map_kind kind, wmi_dtype type,
                           int64_t block, wm_error *err)
{
    const int64_t shape[] = {block, e->noise.dim};
    wmi_node *in;
    wm_status st;

    *map = (wmi_row_map){.block = block, .dim = e->noise.dim, .type = type};
    if ((st = wmi_graph_new(&map->graph, type, e->noise_params, err)))
        return st;
    in = wmi_input(map->graph, "rows", 2, shape);
    if (kind == WMI_MAP_TO_Z)
        map->out[0] = wmi_noise_to_z(map->graph, WMI_EBM_NOISE, &e->noise, in, &map->out[1]);
    else if (kind == WMI_MAP_TO_Y)
        map->out[0] = wmi_noise_to_x(map->graph, WMI_EBM_NOISE, &e->noise, in, &map->out[1]);
    else if (kind == WMI_MAP_DENSITY)
        map->out[1] = wmi_noise_log_density(map->graph, WMI_EBM_NOISE, &e->noise, in);
    else
        return open_pull(map, e, in, err);
    if ((st = wmi_compile(&map->program, map->graph,
                          &(wmi_compile_opts){.outputs = map->out + (map->out[0] ? 0 : 1),
                                              .n_outputs = map->out[0] ? 2 : 1},
                          err)) ||
        (st = bind(map, e, err)))
        return st;
    return wmi_program_input(map->program, "rows", &map->in, err);
}

void wmi_row_map_close(wmi_row_map *map)
{
    wmi_program_free(map->program);
    wmi_graph_free(map->graph);
    wmi_free(map->theta);
    *map = (wmi_row_map){0};
}

wmi_dtype wmi_ebm_precise(const wm_ebm *e)
{
    return e->noise.kind == WMI_NOISE_FLOW ? WMI_F32 : WMI_F64;
}

/* n numbers of one type to another. */
static void convert(int64_t n, wmi_dtype from_type, const void *from, wmi_dtype to_type, void *to)
{
    if (from_type == to_type)
        memcpy(to, from, (size_t)n * size_of(to_type));
    else if (to_type == WMI_F32)
        for (int64_t i = 0; i < n; i++)
            ((float *)to)[i] = (float)((const double *)from)[i];
    else
        for (int64_t i = 0; i < n; i++)
            ((double *)to)[i] = (double)((const float *)from)[i];
}

wm_status wmi_row_map_run(wmi_row_map *map, int64_t n, wmi_dtype rows, const void *in, void *out,
                          double *second, wm_error *err)
{
    const size_t own = (size_t)map->dim * size_of(map->type),
                 row = (size_t)map->dim * size_of(rows);
    wm_status st;

    for (int64_t first = 0; first < n; first += map->block) {
        const int64_t count = n - first < map->block ? n - first : map->block;
        const char *from = (const char *)in + (size_t)first * row;

        convert(count * map->dim, rows, from, map->type, map->in);
        /* The rest of the block is filled with a row that is known to be sane. */
        for (int64_t i = count; i < map->block; i++)
            memcpy((char *)map->in + (size_t)i * own, map->in, own);
        if ((st = wmi_program_forward(map->program, err)))
            return st;
        if (out && map->out[0])
            convert(count * map->dim, map->type, wmi_program_value(map->program, map->out[0]), rows,
                    (char *)out + (size_t)first * row);
        if (second)
            convert(count, map->type, wmi_program_value(map->program, map->out[1]), WMI_F64,
                    second + first);
    }
    return WM_OK;
}

/* ---- sources ---- */

wm_status wmi_ebm_rows_open(wmi_ebm_rows *r, int64_t capacity, wm_error *err)
{
    const int64_t dim = r->e->info.dim;
    wm_status st;

    r->capacity = capacity;
    if ((st = wmi_alloc(&r->x, capacity * r->e->transform.raw, sizeof *r->x, "rows", err)) ||
        (st = wmi_alloc(&r->u, capacity * dim, sizeof *r->u, "rows", err)) ||
        (st = wmi_alloc(&r->y, capacity * dim, sizeof *r->y, "rows", err)))
        return st;
    return wmi_alloc(&r->order, capacity, sizeof *r->order, "row numbers", err);
}

wm_status wmi_ebm_rows_map(wmi_ebm_rows *r, wm_error *err)
{
    wm_status st;

    if ((st = wmi_row_map_open(&r->to_y, r->e, WMI_MAP_TO_Y, WMI_F32, BLOCK, err)))
        return st;
    if (r->pulls && (st = wmi_row_map_open(&r->pull, r->e, WMI_MAP_PULL, WMI_F32, BLOCK, err)))
        return st;
    return r->z_space ? wmi_row_map_open(&r->to_z, r->e, WMI_MAP_TO_Z, WMI_F32, BLOCK, err) : WM_OK;
}

void wmi_ebm_rows_close(wmi_ebm_rows *r)
{
    wmi_row_map_close(&r->to_z);
    wmi_row_map_close(&r->to_y);
    wmi_row_map_close(&r->pull);
    wmi_free(r->x);
    wmi_free(r->u);
    wmi_free(r->y);
    wmi_free(r->order);
}

/* y of rows of data, in pieces of the capacity: those named by row (n), or, where it is NULL, first
 * and those after it. The uniform numbers of row i are elements i dim ... of rng. */
static void rows_to_y(const wmi_ebm_rows *r, const double *data, int64_t first, int64_t n,
                      const int64_t *row, const wmi_rng *rng, float *y)
{
    const wmi_transform *t = &r->e->transform;
    const int64_t d = t->dim, raw = t->raw;

    for (int64_t done = 0; done < n; done += r->capacity) {
        const int64_t count = n - done < r->capacity ? n - done : r->capacity;

        for (int64_t i = 0; i < count; i++) {
            const int64_t at = row ? row[done + i] : first + done + i;

            memcpy(r->x + i * raw, data + at * raw, (size_t)raw * sizeof *r->x);
            if (wmi_transform_jitters(t))
                wmi_rng_uniform_f64(rng, (uint64_t)(at * d), d, r->u + i * d);
        }
        wmi_transform_rows(t, count, r->x, r->u, r->y, NULL);
        for (int64_t i = 0; i < count * d; i++)
            y[done * d + i] = (float)r->y[i];
    }
}

static void valid_rows(const wmi_ebm_rows *r, int64_t first, int64_t n, float *y)
{
    const wmi_rng rng = wmi_rng_make(r->seed, "ebm/valid");

    rows_to_y(r, r->valid, first, n, NULL, &rng, y);
}

static wm_status noise_train(void *ctx, int64_t epoch, int64_t count, const int64_t *row, float *x,
                             wm_error *err)
{
    const wmi_ebm_rows *r = ctx;
    const wmi_rng all = wmi_rng_make(r->seed, "ebm/noise"),
                  now = wmi_rng_sub(&all, (uint64_t)epoch);

    (void)err;
    rows_to_y(r, r->train, 0, count, row, &now, x);
    return WM_OK;
}

static wm_status noise_valid(void *ctx, int64_t first, int64_t count, float *x, wm_error *err)
{
    (void)err;
    valid_rows(ctx, first, count, x);
    return WM_OK;
}

wmi_rows_source wmi_ebm_noise_source(wmi_ebm_rows *r)
{
    return (wmi_rows_source){.dim = r->e->info.dim,
                             .n_train = r->n_train,
                             .n_valid = r->n_valid,
                             .train = noise_train,
                             .valid = noise_valid,
                             .ctx = r};
}

/* Both ends from y in x0 and normals in xm. */
static wm_status finish_ends(wmi_ebm_rows *r, int64_t n, float *x0, float *xm, wm_error *err)
{
    return r->z_space ? wmi_row_map_run(&r->to_z, n, WMI_F32, x0, x0, NULL, err)
                      : wmi_row_map_run(&r->to_y, n, WMI_F32, xm, xm, NULL, err);
}

static wm_status bridge_train(void *ctx, int64_t step, int64_t n, float *x0, float *xm,
                              wm_error *err)
{
    wmi_ebm_rows *r = ctx;
    const wmi_rng u = wmi_rng_make(r->seed, "ebm/dequantize"), z = wmi_rng_make(r->seed, "ebm/z");
    const wmi_rng u_now = wmi_rng_sub(&u, (uint64_t)step), z_now = wmi_rng_sub(&z, (uint64_t)step);

    wm_pairing_draw(r->seed, step, r->n_train, 1, n, r->order, NULL);
    rows_to_y(r, r->train, 0, n, r->order, &u_now, x0);
    wmi_rng_normal_f32(&z_now, 0, n * r->e->info.dim, xm);
    return finish_ends(r, n, x0, xm, err);
}

static wm_status bridge_valid(void *ctx, int64_t first, int64_t n, float *x0, float *xm,
                              wm_error *err)
{
    wmi_ebm_rows *r = ctx;
    const wmi_rng z = wmi_rng_make(r->seed, "ebm/z/valid");
    const int64_t d = r->e->info.dim;

    valid_rows(r, first, n, x0);
    wmi_rng_normal_f32(&z, (uint64_t)(first * d), n * d, xm);
    return finish_ends(r, n, x0, xm, err);
}

static wm_status z_to_y(void *ctx, int64_t n, int64_t dim, float *z, float *x, wm_error *err)
{
    wmi_ebm_rows *r = ctx;

    (void)dim;
    return wmi_row_map_run(&r->to_y, n, WMI_F32, z, x, NULL, err);
}

static wm_status pull_to_z(void *ctx, int64_t n, int64_t dim, const float *z, float *g,
                           wm_error *err)
{
    wmi_ebm_rows *r = ctx;

    (void)dim;
    return wmi_row_map_pull(&r->pull, n, z, g, err);
}

wmi_source wmi_ebm_bridge_source(wmi_ebm_rows *r)
{
    return (wmi_source){.dim = r->e->info.dim,
                        .n_train = r->n_train,
                        .n_valid = r->n_valid,
                        .train = bridge_train,
                        .valid = bridge_valid,
                        .ctx = r,
                        .map = r->z_space ? z_to_y : NULL,
                        .pull = r->pulls ? pull_to_z : NULL};
}
