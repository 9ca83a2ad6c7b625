/* lane_math.h - exp and log that the compiler can run side by side over lanes. For *_tmpl.c files.
 *
 * Float: polynomials of Cephes' expf and logf, error 2 units in the last place; libm's functions
 * are not vectorised without -ffast-math. Double, which checks gradients, calls libm. */
#ifndef WMI_ENGINE_OPS_LANE_MATH_H
#define WMI_ENGINE_OPS_LANE_MATH_H

#include <string.h>

#include "engine/real.h"

#if WMI_REAL_BITS == 32
/* exp(x) for x in +-87; beyond, the value at the end. NaN stays NaN. */
static inline float lane_exp(float x)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    const float low = x < -87.0f ? -87.0f : x, c = low > 87.0f ? 87.0f : low;
    const float shifted = c * 1.44269504f + magic, i = shifted - magic;
    const float r = (c - i * 0.693359375f) + i * 2.12194440e-4f;
    float y = r * 1.9875691500e-4f + 1.3981999507e-3f, power;
    uint32_t bits;

    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * r * r + r + 1.0f;
    memcpy(&bits, &shifted, sizeof bits); /* i stands in the low bits */
    bits = (bits + 127) << 23;
    memcpy(&power, &bits, sizeof power);
    return y * power;
}

/* log x for normal positive x: x = m 2^e with m in [sqrt(1/2), sqrt(2)). NaN stays NaN. */
static inline float lane_log(float x)
{
    uint32_t bits;
    int32_t exponent;
    float m, e, y;

    memcpy(&bits, &x, sizeof bits);
    exponent = (int32_t)(bits - 0x3f3504f3U) >> 23;
    bits -= (uint32_t)exponent << 23;
    memcpy(&m, &bits, sizeof m);
    m -= 1;
    e = (float)exponent;
    y = 7.0376836292e-2f;
    y = y * m - 1.1514610310e-1f;
    y = y * m + 1.1676998740e-1f;
    y = y * m - 1.2420140846e-1f;
    y = y * m + 1.4249322787e-1f;
    y = y * m - 1.6668057665e-1f;
    y = y * m + 2.0000714765e-1f;
    y = y * m - 2.4999993993e-1f;
    y = y * m + 3.3333331174e-1f;
    y = y * m * m * m - 2.12194440e-4f * e - 0.5f * m * m; /* log 2 in two parts */
    return m + y + 0.693359375f * e + (x - x);             /* x - x: 0, or NaN for NaN */
}
#else
static inline double lane_exp(double x)
{
    return exp(x);
}

static inline double lane_log(double x)
{
    return log(x);
}
#endif

#endif
