/* conv_lanes.h - small vector helpers that the convolutions share. For *_tmpl.c files. */
#ifndef WMI_ENGINE_CONV_LANES_H
#define WMI_ENGINE_CONV_LANES_H

#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "engine/real.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline, unused))

#if WMI_REAL_BITS == 32
typedef int32_t vmask __attribute__((vector_size(WMI_VBYTES)));
#else
typedef int64_t vmask __attribute__((vector_size(WMI_VBYTES)));
#endif

/* x > 0 ? a : b, lane by lane: a compare and a blend */
ALWAYS_INLINE vreal where_positive(vreal x, vreal a, vreal b)
{
    const vmask m = x > (vreal){0};

    return (vreal)(((vmask)a & m) | ((vmask)b & ~m));
}

/* The first `lanes` reals at p, zeros in the others. */
ALWAYS_INLINE vreal load_lanes(const real *p, const int lanes)
{
    return lanes == VL ? vload(p) : vload_first(p, lanes);
}

ALWAYS_INLINE void store_lanes(real *p, vreal v, const int lanes)
{
    if (lanes == VL)
        vstore(p, v);
    else
        vstore_first(p, v, lanes);
}

/* Hints: the address may lie behind the end of the array. */
ALWAYS_INLINE void prefetch(const real *p, int64_t offset)
{
    __builtin_prefetch((const void *)((uintptr_t)p + (uintptr_t)offset * sizeof *p), 0, 2);
}

ALWAYS_INLINE void prefetch_write(const real *p, int64_t offset)
{
    __builtin_prefetch((const void *)((uintptr_t)p + (uintptr_t)offset * sizeof *p), 1, 2);
}

ALWAYS_INLINE int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

ALWAYS_INLINE int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

ALWAYS_INLINE int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

ALWAYS_INLINE int64_t round_up(int64_t v, int64_t to)
{
    return ceil_div(v, to) * to;
}

/* Inside a parallel region: its size may be below what was asked for (nested regions have one). */
ALWAYS_INLINE int thread_id(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

ALWAYS_INLINE int team_size(void)
{
#ifdef _OPENMP
    return omp_get_num_threads();
#else
    return 1;
#endif
}

/* First item of thread id's share of n. */
ALWAYS_INLINE int64_t share(int64_t n, int id, int team)
{
    return n * id / team;
}

#endif
