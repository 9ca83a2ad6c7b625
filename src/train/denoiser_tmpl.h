/* denoiser_tmpl.h - the array work of denoiser.c over `real`: included there once for float and
 * once for double, with real and DENOISE(name) defined. No include guard: it is meant to be read
 * twice.
 */

/* One row; u has a mean square of 1. */
static void DENOISE(row)(const wmi_denoise_level *l, int64_t rows, int64_t dim, const real *z0,
                         const real *e, const real *g, real *plus, real *minus, real *slope,
                         double *loss, double *known)
{
    const double a = l->alpha, s = sqrt(1 - a * a), h = l->reach, share = l->weight / (double)rows;
    double square = 0, base = 0, inner = 0, along;

    for (int64_t j = 0; j < dim; j++) {
        const double b = s * s * (double)e[j] - a * s * (double)z0[j], t = b + a * (double)g[j];

        square += t * t;
        base += b * b;
        inner += t * (double)g[j];
    }
    *loss = share / 2 * (square - base);
    *known = share * a * inner;
    along = square > 0 ? sqrt((double)dim / square) : 0; /* u = along t */
    *slope = (real)(square > 0 ? share * a / (2 * h * along) : 0);
    for (int64_t j = 0; j < dim; j++) {
        const double z = s * (double)z0[j] + a * (double)e[j],
                     t = s * s * (double)e[j] - a * s * (double)z0[j] + a * (double)g[j];

        plus[j] = (real)(z + h * along * t);
        minus[j] = (real)(z - h * along * t);
    }
}

double DENOISE(wmi_denoise_rows)(const wmi_denoise_level *level, int64_t rows, int64_t dim,
                                 const real *z0, const real *e, const real *g, real *plus,
                                 real *minus, real *slope, double *known)
{
    double loss = 0;

    *known = 0;
    for (int64_t i = 0; i < rows; i++) {
        double l, k;

        DENOISE(row)
        (level, rows, dim, z0 + i * dim, e + i * dim, g + i * dim, plus + i * dim, minus + i * dim,
         slope + i, &l, &k);
        loss += l;
        *known += k;
    }
    return loss;
}
