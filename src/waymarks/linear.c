/* linear.c - x_k = sqrt(1 - alpha_k^2) x_0 + alpha_k x_m (paper, equation 4). */
#include <math.h>
#include <string.h>

#include "waymark/waymarks.h"

static double keep_of(double alpha)
{
    return sqrt((1 - alpha) * (1 + alpha)); /* 1 - alpha^2 would cancel near 1 */
}

void wm_waymark_linear_f64(double alpha, int64_t count, const double *x0, const double *xm,
                           double *out)
{
    const double keep = keep_of(alpha);

    if (alpha == 0 || alpha == 1) { /* copies: 0 times an infinity is not 0 */
        memmove(out, alpha == 0 ? x0 : xm, (size_t)count * sizeof *out);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        out[i] = keep * x0[i] + alpha * xm[i];
}

void wm_waymark_linear_f32(double alpha, int64_t count, const float *x0, const float *xm,
                           float *out)
{
    const float keep = (float)keep_of(alpha), take = (float)alpha;

    if (alpha == 0 || alpha == 1) {
        memmove(out, alpha == 0 ? x0 : xm, (size_t)count * sizeof *out);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        out[i] = keep * x0[i] + take * xm[i];
}
