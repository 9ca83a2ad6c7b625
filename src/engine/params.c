/* params.c - names, shapes and offsets of parameters, and how they are drawn. */
#include "engine/params.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/rng.h"
#include "engine/infer.h"

enum { OFFSET_UNIT = 16 }; /* reals: entries start on a cache line in both dtypes */

struct wmi_params {
    wmi_arena arena;
    wmi_param_entry *entries;
    int64_t n, capacity, count;
};

wm_status wmi_params_new(wmi_params **out, wm_error *err)
{
    return wmi_alloc(out, 1, sizeof **out, "parameter table", err);
}

void wmi_params_free(wmi_params *p)
{
    if (!p)
        return;
    wmi_arena_free(&p->arena);
    wmi_free(p->entries);
    wmi_free(p);
}

static wm_status grow(wmi_params *p, wm_error *err)
{
    const int64_t capacity = p->capacity ? 2 * p->capacity : 32;
    wmi_param_entry *entries;
    wm_status st = wmi_alloc(&entries, capacity, sizeof *entries, "parameter entries", err);

    if (st)
        return st;
    if (p->n)
        memcpy(entries, p->entries, (size_t)p->n * sizeof *entries);
    wmi_free(p->entries);
    p->entries = entries;
    p->capacity = capacity;
    return WM_OK;
}

wm_status wmi_params_add(wmi_params *p, const char *name, int rank, const int64_t *dim,
                         wmi_init init, wmi_param_group group, wm_error *err)
{
    const wmi_param_entry *old = wmi_params_find(p, name);
    wmi_param_entry e = {.init = init, .group = group, .offset = p->count, .count = 1};
    wm_status st;

    if (rank < 0 || rank > WMI_MAX_RANK)
        return wmi_fail(err, WM_ESHAPE, "parameter '%s': rank %d, at most %d", name, rank,
                        WMI_MAX_RANK);
    e.shape.rank = rank;
    for (int i = 0; i < rank; i++)
        e.shape.dim[i] = dim[i];
    if (old) {
        if (wmi_shape_equal(&old->shape, &e.shape) && old->init.kind == init.kind &&
            old->init.a == init.a && old->init.b == init.b && old->group == group)
            return WM_OK;
        return wmi_fail(err, WM_EINVAL, "parameter '%s' is declared twice and differently", name);
    }
    for (int i = 0; i < rank; i++)
        if (dim[i] < 1 || __builtin_mul_overflow(e.count, dim[i], &e.count) ||
            e.count > INT64_MAX / 64)
            return wmi_fail(err, WM_ESHAPE, "parameter '%s': axis %d has size %" PRId64, name, i,
                            dim[i]);
    if (p->n == p->capacity && (st = grow(p, err)))
        return st;
    e.name = wmi_arena_strdup(&p->arena, name, err);
    if (!e.name)
        return WM_ENOMEM;
    p->entries[p->n++] = e;
    p->count += (e.count + OFFSET_UNIT - 1) / OFFSET_UNIT * OFFSET_UNIT;
    return WM_OK;
}

const wmi_param_entry *wmi_params_find(const wmi_params *p, const char *name)
{
    for (int64_t i = 0; i < p->n; i++)
        if (strcmp(p->entries[i].name, name) == 0)
            return &p->entries[i];
    return NULL;
}

bool wmi_param_is_under(const char *name, const char *prefix)
{
    return prefix && *prefix && strncmp(name, prefix, strlen(prefix)) == 0;
}

int64_t wmi_params_entries(const wmi_params *p)
{
    return p->n;
}

const wmi_param_entry *wmi_params_entry(const wmi_params *p, int64_t i)
{
    return &p->entries[i];
}

int64_t wmi_params_count(const wmi_params *p)
{
    return p->count;
}

/* (in, out), (kh, kw, in, out), or (bridges, in, out): a leading bridge axis is not a fan. */
static void fans(const wmi_shape *s, double *in, double *out)
{
    double window = 1;

    *in = *out = 1;
    if (s->rank == 0)
        return;
    *out = (double)s->dim[s->rank - 1];
    if (s->rank >= 2)
        *in = (double)s->dim[s->rank - 2];
    if (s->rank == 4)
        window = (double)(s->dim[0] * s->dim[1]);
    *in *= window;
    *out *= window;
}

/* value(i) = shift + scale * draw(i) */
static void fill(const wmi_param_entry *e, uint64_t seed, wmi_dtype dtype, void *at, bool normal,
                 double shift, double scale)
{
    char stream[256];
    wmi_rng rng;
    float *f = at;
    double *d = at;

    snprintf(stream, sizeof stream, "init/%s", e->name);
    rng = wmi_rng_make(seed, stream);
    if (dtype == WMI_F32) {
        if (normal)
            wmi_rng_normal_f32(&rng, 0, e->count, f);
        else
            wmi_rng_uniform_f32(&rng, 0, e->count, f);
        for (int64_t i = 0; i < e->count; i++)
            f[i] = (float)(shift + scale * f[i]);
    } else {
        if (normal)
            wmi_rng_normal_f64(&rng, 0, e->count, d);
        else
            wmi_rng_uniform_f64(&rng, 0, e->count, d);
        for (int64_t i = 0; i < e->count; i++)
            d[i] = shift + scale * d[i];
    }
}

void wmi_params_init(const wmi_params *p, uint64_t seed, wmi_dtype dtype, void *theta)
{
    const size_t size = dtype == WMI_F32 ? sizeof(float) : sizeof(double);

    memset(theta, 0, (size_t)p->count * size);
    for (int64_t i = 0; i < p->n; i++) {
        const wmi_param_entry *e = &p->entries[i];
        void *at = (char *)theta + (size_t)e->offset * size;
        double in, out;

        fans(&e->shape, &in, &out);
        switch (e->init.kind) {
        case WMI_INIT_CONST:
            for (int64_t j = 0; j < e->count; j++)
                if (dtype == WMI_F32)
                    ((float *)at)[j] = (float)e->init.a;
                else
                    ((double *)at)[j] = e->init.a;
            break;
        case WMI_INIT_NORMAL:
            fill(e, seed, dtype, at, true, e->init.a, e->init.b);
            break;
        case WMI_INIT_GLOROT: {
            const double limit = sqrt(6 / (in + out));

            fill(e, seed, dtype, at, false, -limit, 2 * limit);
            break;
        }
        case WMI_INIT_GLOROT_NORMAL:
            fill(e, seed, dtype, at, true, 0, sqrt(2 / (in + out)));
            break;
        case WMI_INIT_HE:
            fill(e, seed, dtype, at, true, 0, sqrt(e->init.a / in));
            break;
        }
    }
}
