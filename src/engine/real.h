/* real.h - for files that are built once per dtype and instruction set (*_tmpl.c).
 * The build defines WMI_REAL_BITS (32 or 64) and WMI_ISA (base, avx2, avx512). */
#ifndef WMI_ENGINE_REAL_H
#define WMI_ENGINE_REAL_H

#include <stdint.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif
#include <tgmath.h> /* exp(x) of a real is expf or exp */

#define WMI_JOIN4_(a, b, c, d) a##b##c##_##d
#define WMI_JOIN4(a, b, c, d) WMI_JOIN4_(a, b, c, d)

#if WMI_REAL_BITS == 32
typedef float real;
#define R(x) x##f
#define WMI_REAL_DTYPE WMI_F32
#define OPNAME(op) WMI_JOIN4(wmi_op_, op, _f32, WMI_ISA)
#define VNAME(fn) WMI_JOIN4(wmi_, fn, _f32, WMI_ISA) /* a kernel shared by several ops */
#elif WMI_REAL_BITS == 64
typedef double real;
#define R(x) x
#define WMI_REAL_DTYPE WMI_F64
#define OPNAME(op) WMI_JOIN4(wmi_op_, op, _f64, WMI_ISA)
#define VNAME(fn) WMI_JOIN4(wmi_, fn, _f64, WMI_ISA)
#else
#error "WMI_REAL_BITS must be 32 or 64"
#endif

/* Defines the op of this name in op_list.def; what follows are the other fields of wmi_op_def. */
#define DEFINE_OP(op, ...)                                                                         \
    extern const wmi_op_def OPNAME(op);                                                            \
    const wmi_op_def OPNAME(op) = {.name = #op, __VA_ARGS__}

/* One vector register of the instruction set, in GCC's portable vector notation: arithmetic on it
 * is lane by lane, and the source builds on any machine. vreal_u is for loads at any address. */
#if defined(__AVX512F__)
#define WMI_VBYTES 64
#elif defined(__AVX2__)
#define WMI_VBYTES 32
#else
#define WMI_VBYTES 16
#endif
typedef real vreal __attribute__((vector_size(WMI_VBYTES), may_alias));
typedef real vreal_u
    __attribute__((vector_size(WMI_VBYTES), aligned(WMI_REAL_BITS / 8), may_alias));
enum { VL = WMI_VBYTES / (int)sizeof(real) }; /* lanes */

static inline __attribute__((always_inline, unused)) vreal vload(const real *p)
{
    return *(const vreal_u *)p;
}

static inline __attribute__((always_inline, unused)) void vstore(real *p, vreal v)
{
    *(vreal_u *)p = v;
}

/* The first `lanes` of them, 0 to VL; the others are zero, or not written. */
static inline __attribute__((always_inline, unused)) vreal vload_first(const real *p, int lanes)
{
#if defined(__AVX512F__) && WMI_REAL_BITS == 32
    return (vreal)_mm512_maskz_loadu_ps((__mmask16)((1u << lanes) - 1), p);
#elif defined(__AVX512F__)
    return (vreal)_mm512_maskz_loadu_pd((__mmask8)((1u << lanes) - 1), p);
#else
    real t[VL] = {0};

    for (int i = 0; i < lanes; i++)
        t[i] = p[i];
    return vload(t);
#endif
}

static inline __attribute__((always_inline, unused)) void vstore_first(real *p, vreal v, int lanes)
{
#if defined(__AVX512F__) && WMI_REAL_BITS == 32
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << lanes) - 1), (__m512)v);
#elif defined(__AVX512F__)
    _mm512_mask_storeu_pd(p, (__mmask8)((1u << lanes) - 1), (__m512d)v);
#else
    for (int i = 0; i < lanes; i++)
        p[i] = v[i];
#endif
}

static inline __attribute__((always_inline, unused)) vreal vsplat(real s)
{
    return s - (vreal){0}; /* scalar op vector broadcasts */
}

#endif
