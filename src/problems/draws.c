/* draws.c - gamma variables by rejection with a sub-stream each, rotations by reflections. */
#include "problems/draws.h"

#include <math.h>

#define TWO_PI 6.283185307179586
#define MOST_REFLECTIONS 256

static double unit52(uint32_t low, uint32_t high)
{
    return ((double)(((uint64_t)high << 32 | low) >> 12) + 0.5) * 0x1p-52;
}

/* Marsaglia and Tsang (2000): a cubed normal, accepted 95 times of 100 or more. Each try takes one
 * block of the element's own stream, so that a rejection moves no other element. */
static double gamma_from_one(const wmi_rng *own, double shape)
{
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);

    for (uint64_t block = 1;; block++) {
        uint32_t w[4];
        double z, u, v;

        wmi_rng_block(own, block, w);
        z = sqrt(-2 * log(unit52(w[0], w[1]))) * cos(TWO_PI * 0x1p-32 * ((double)w[2] + 0.5));
        u = ((double)w[3] + 0.5) * 0x1p-32;
        v = 1 + c * z;
        v = v * v * v;
        if (v > 0 && log(u) < 0.5 * z * z + d * (1 - v + log(v)))
            return d * v;
    }
}

double wmi_draw_gamma(const wmi_rng *rng, uint64_t index, double shape)
{
    const wmi_rng own = wmi_rng_sub(rng, index);
    uint32_t w[4];

    if (shape >= 1)
        return gamma_from_one(&own, shape);
    wmi_rng_block(&own, 0, w); /* Gamma(s) = Gamma(s + 1) U^(1/s) */
    return gamma_from_one(&own, shape + 1) * pow(unit52(w[0], w[1]), 1 / shape);
}

double wmi_draw_student_divisor(const wmi_rng *rng, uint64_t index, double dof)
{
    return sqrt(2 * wmi_draw_gamma(rng, index, 0.5 * dof) / dof);
}

/* --- rotations ---------------------------------------------------------------------------------*/

static int64_t reflections(int64_t d)
{
    if (d == 1)
        return 0;
    return d < MOST_REFLECTIONS ? d : MOST_REFLECTIONS;
}

int64_t wmi_rotation_size(int64_t d)
{
    return reflections(d) * d;
}

void wmi_rotation_make(const wmi_rng *rng, int64_t d, double *w)
{
    wmi_rng_normal_f64(rng, 0, wmi_rotation_size(d), w);
    for (int64_t k = 0; k < reflections(d); k++) {
        double *wk = w + k * d, norm = 0;

        for (int64_t j = 0; j < d; j++)
            norm += wk[j] * wk[j];
        for (int64_t j = 0; j < d; j++)
            wk[j] /= sqrt(norm);
    }
}

static void reflect(const double *w, int64_t d, double *x)
{
    double s = 0;

    for (int64_t j = 0; j < d; j++)
        s += w[j] * x[j];
    for (int64_t j = 0; j < d; j++)
        x[j] -= 2 * s * w[j];
}

void wmi_rotation_apply(const double *w, int64_t d, double *x)
{
    for (int64_t k = 0; k < reflections(d); k++)
        reflect(w + k * d, d, x);
}

void wmi_rotation_undo(const double *w, int64_t d, double *x)
{
    for (int64_t k = reflections(d) - 1; k >= 0; k--)
        reflect(w + k * d, d, x);
}
