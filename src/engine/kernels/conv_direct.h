/* conv_direct.h - convolution by plain loops with sums in double: what the fast kernels are tested
 * against. Any shape. Included by conv2d_tmpl.c alone.
 *     y[n, oy, ox, :] = sum over window (ky, kx) and c of leaky(x[n, oy s - top + ky, ox s - left +
 * kx, c]) w[ky, kx, c, :] */
#ifndef WMI_ENGINE_CONV_DIRECT_H
#define WMI_ENGINE_CONV_DIRECT_H

#include "engine/conv.h"
#include "engine/real.h"

static double direct_leaky(double x, double slope)
{
    return x > 0 ? x : slope * x;
}

static void direct_forward(const wmi_conv_shape *s, const real *x, const real *w, real *y,
                           double slope, int threads)
{
    (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t p = 0; p < s->n * s->oh * s->ow; p++) {
        const int64_t n = p / (s->oh * s->ow);
        const int64_t y0 = p / s->ow % s->oh * s->stride - s->pad_top;
        const int64_t x0 = p % s->ow * s->stride - s->pad_left;

        for (int64_t k = 0; k < s->co; k++) {
            double sum = 0;

            for (int64_t t = 0; t < s->kh * s->kw; t++) {
                const int64_t iy = y0 + t / s->kw, ix = x0 + t % s->kw;
                if (iy < 0 || iy >= s->h || ix < 0 || ix >= s->w)
                    continue;
                for (int64_t c = 0; c < s->ci; c++)
                    sum += direct_leaky(x[((n * s->h + iy) * s->w + ix) * s->ci + c], slope) *
                           w[(t * s->ci + c) * s->co + k];
            }
            y[p * s->co + k] = (real)sum;
        }
    }
}

/* Gathers what each input pixel receives: output (oy, ox) saw it at window position iy + top - oy
 * s. */
static void direct_grad_x(const wmi_conv_shape *s, const real *dy, const real *w, const real *x,
                          double slope, real *dx, bool add, int threads)
{
    (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t p = 0; p < s->n * s->h * s->w; p++) {
        const int64_t n = p / (s->h * s->w), iy = p / s->w % s->h, ix = p % s->w;

        for (int64_t c = 0; c < s->ci; c++) {
            double sum = 0;

            for (int64_t t = 0; t < s->kh * s->kw; t++) {
                const int64_t sy = iy + s->pad_top - t / s->kw, sx = ix + s->pad_left - t % s->kw;
                const int64_t oy = sy / s->stride, ox = sx / s->stride;
                if (sy < 0 || sx < 0 || sy % s->stride || sx % s->stride || oy >= s->oh ||
                    ox >= s->ow)
                    continue;
                for (int64_t k = 0; k < s->co; k++)
                    sum += (double)dy[((n * s->oh + oy) * s->ow + ox) * s->co + k] *
                           w[(t * s->ci + c) * s->co + k];
            }
            if (slope != 1 && !(x[p * s->ci + c] > 0))
                sum *= slope;
            dx[p * s->ci + c] = (real)(add ? dx[p * s->ci + c] + sum : sum);
        }
    }
}

static void direct_grad_w(const wmi_conv_shape *s, const real *x, const real *dy, double slope,
                          real *dw, bool add, int threads)
{
    (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < s->kh * s->kw * s->ci * s->co; i++) {
        const int64_t k = i % s->co, c = i / s->co % s->ci, t = i / s->co / s->ci;
        double sum = 0;

        for (int64_t p = 0; p < s->n * s->oh * s->ow; p++) {
            const int64_t n = p / (s->oh * s->ow);
            const int64_t iy = p / s->ow % s->oh * s->stride - s->pad_top + t / s->kw;
            const int64_t ix = p % s->ow * s->stride - s->pad_left + t % s->kw;
            if (iy < 0 || iy >= s->h || ix < 0 || ix >= s->w)
                continue;
            sum += direct_leaky(x[((n * s->h + iy) * s->w + ix) * s->ci + c], slope) *
                   dy[p * s->co + k];
        }
        dw[i] = (real)(add ? dw[i] + sum : sum);
    }
}

#endif
