/* winograd_points.h - the one-dimensional transforms of winograd_tmpl.c, on vectors of channels.
 * r, the number of outputs of a tile, is a constant wherever they are inlined. Points stand in the
 * order 0, inf, 1, -1, 2, -2 and a tile with r < 4 uses the first r + 2. */
#ifndef WMI_ENGINE_WINOGRAD_POINTS_H
#define WMI_ENGINE_WINOGRAD_POINTS_H

#include "engine/kernels/conv_lanes.h"
#include "engine/real.h"

/* B': r + 2 pixels to r + 2 points. Row a of B' has the coefficients of prod_{b != a} (x - b), b
 * over the finite points, times N_a(4) / N_a(r) with N_a(r) = prod_{b != a} (a - b): the usual G
 * divides by N_a(r), ours by N_a(4) for all tiles. */
ALWAYS_INLINE void input_points(const int r, const vreal *d, vreal *p)
{
    if (r == 4) {
        const vreal e1 = d[4] - R(4.) * d[2], o1 = d[3] - R(4.) * d[1];
        const vreal e2 = d[4] - d[2], o2 = R(2.) * (d[3] - d[1]);

        p[0] = R(4.) * d[0] - R(5.) * d[2] + d[4];
        p[1] = R(4.) * d[1] - R(5.) * d[3] + d[5];
        p[2] = e1 + o1;
        p[3] = e1 - o1;
        p[4] = e2 + o2;
        p[5] = e2 - o2;
    } else if (r == 3) {
        p[0] = R(4.) * (d[0] - d[2]) + R(2.) * (d[3] - d[1]);
        p[1] = d[4] - d[2] + R(2.) * (d[1] - d[3]);
        p[2] = R(3.) * (d[3] - d[2]) - R(6.) * d[1];
        p[3] = d[3] - R(3.) * d[2] + R(2.) * d[1];
        p[4] = R(4.) * (d[3] - d[1]);
    } else if (r == 2) {
        p[0] = R(4.) * (d[0] - d[2]);
        p[1] = d[3] - d[1];
        p[2] = R(-3.) * (d[1] + d[2]);
        p[3] = R(3.) * (d[1] - d[2]);
    } else {
        p[0] = R(4.) * (d[0] - d[1]);
        p[1] = d[2] - d[1];
        p[2] = R(-6.) * d[1];
    }
}

/* A': r + 2 points to r outputs. */
ALWAYS_INLINE void outputs(const int r, const vreal *m, vreal *y)
{
    if (r == 4) {
        const vreal e1 = m[2] + m[3], o1 = m[2] - m[3], e2 = m[4] + m[5], o2 = m[4] - m[5];

        y[0] = m[0] + e1 + e2;
        y[1] = o1 + R(2.) * o2;
        y[2] = e1 + R(4.) * e2;
        y[3] = o1 + R(8.) * o2 + m[1];
    } else if (r == 3) {
        const vreal e1 = m[2] + m[3], o1 = m[2] - m[3];

        y[0] = m[0] + e1 + m[4];
        y[1] = o1 + R(2.) * m[4];
        y[2] = e1 + R(4.) * m[4] + m[1];
    } else if (r == 2) {
        y[0] = m[0] + m[2] + m[3];
        y[1] = m[2] - m[3] + m[1];
    } else {
        y[0] = m[0] + m[1] + m[2];
    }
}

/* A: gradients of r outputs to r + 2 points. */
ALWAYS_INLINE void output_grad_points(const int r, const vreal *y, vreal *p)
{
    p[0] = y[0];
    p[1] = y[r - 1];
    if (r == 4) {
        const vreal e1 = y[0] + y[2], o1 = y[1] + y[3];
        const vreal e2 = y[0] + R(4.) * y[2], o2 = R(2.) * y[1] + R(8.) * y[3];

        p[2] = e1 + o1;
        p[3] = e1 - o1;
        p[4] = e2 + o2;
        p[5] = e2 - o2;
    } else if (r == 3) {
        const vreal e1 = y[0] + y[2];

        p[2] = e1 + y[1];
        p[3] = e1 - y[1];
        p[4] = y[0] + R(4.) * y[2] + R(2.) * y[1];
    } else if (r == 2) {
        p[2] = y[0] + y[1];
        p[3] = y[0] - y[1];
    } else {
        p[2] = y[0];
    }
}

/* G: 3 taps to 6 points. */
ALWAYS_INLINE void weight_points(const vreal *g, vreal *p)
{
    const vreal e1 = (g[0] + g[2]) * R(-0.16666666666666667), o1 = g[1] * R(-0.16666666666666667);
    const vreal e2 = (g[0] + R(4.) * g[2]) * R(0.041666666666666667);
    const vreal o2 = g[1] * R(0.083333333333333333);

    p[0] = R(0.25) * g[0];
    p[1] = g[2];
    p[2] = e1 + o1;
    p[3] = e1 - o1;
    p[4] = e2 + o2;
    p[5] = e2 - o2;
}

/* G': gradients at 6 points to those of 3 taps. */
ALWAYS_INLINE void weight_grads(const vreal *p, vreal *g)
{
    const vreal e1 = (p[2] + p[3]) * R(-0.16666666666666667);
    const vreal o1 = (p[2] - p[3]) * R(-0.16666666666666667);
    const vreal e2 = (p[4] + p[5]) * R(0.041666666666666667);
    const vreal o2 = (p[4] - p[5]) * R(0.083333333333333333);

    g[0] = R(0.25) * p[0] + e1 + e2;
    g[1] = o1 + o2;
    g[2] = p[1] + e1 + R(4.) * e2;
}

#endif
