/* ebm_features.c - what a model of levels reads of a row: hinges of its columns and of its whitened
 * columns, with a mean of 0 and a deviation of 1 over waymarks, and constant beyond those that were
 * seen; and coordinates for the hinges of a column, which are much alike, in which neither they nor
 * their slopes are. Without either chains ran away where the fit was as long. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "columns/filters.h"
#include "ebm/ebm_impl.h"
#include "engine/backend/linalg.h"

enum {
    HINGES = WMI_EBM_HINGES,
    WHITES = WMI_EBM_WHITES,
    MOST_FILTER = 20000, /* rows that whiten */
    MOST = 4000,         /* rows that scale */
    TABLE = 5            /* numbers of a hinge: rate, offset, gain, top, base */
};

/* Above `at` in the units of the column, from there on with the given slope; below, where it is
 * negative. */
typedef struct hinge {
    double at, slope;
} hinge;

/* H of ops.h, and its slope. */
static double bent(double x)
{
    const double v = fmin(fmax(x + 0.5, 0), 1);

    return v * (x + 0.5 - 0.5 * v);
}

static double bent_slope(double x)
{
    return fmin(fmax(x + 0.5, 0), 1);
}

static float *entry(const wm_ebm *e, int64_t r, int what)
{
    return e->hinge + (TABLE * r + what) * e->info.dim;
}

/* Hinge r of column j in the units of a x + b, constant below low and above high; not scaled yet.
 */
static void set_hinge(const wm_ebm *e, int64_t r, int64_t j, hinge h, double a, double b,
                      double low, double high)
{
    const double at = h.slope > 0 ? fmax(h.at, low) : fmin(h.at, high),
                 top = h.slope * ((h.slope > 0 ? high : low) - at);

    entry(e, r, 0)[j] = (float)(h.slope * a);
    entry(e, r, 1)[j] = (float)(h.slope * (b - at) - 0.5);
    entry(e, r, 3)[j] = (float)fmax(top, 0);
}

/* What was seen of a column. */
typedef struct column {
    double mean, sd, low, high;
} column;

/* Bytes and their like as logits: within the lowest value, where most of them are, and above it.
 * Others: about the mean, in standard deviations. The networks read the first. */
static void set_columns(const wm_ebm *e, const column *c)
{
    const wmi_transform *t = &e->transform;
    const bool logits = t->levels > 0 && t->lambda > 0;
    const double least = t->lambda + (1 - 2 * t->lambda) / (logits ? t->levels : 2),
                 b = log(least) - log1p(-least);
    const hinge whole[HINGES] = {{b - 0.7, 1}, {b / 3, 0.5}, {b - 3, -0.5}, {b - 1.5, 0.7},
                                 {b - 0.1, 4}, {b + 1, 0.7}, {-b / 5, 0.5}, {-b - 1.5, 0.5}},
                plain[HINGES] = {{-9, 1},    {0, 2},    {-2.25, 2}, {-1.5, 2},
                                 {-0.75, 2}, {0.75, 2}, {1.5, 2},   {2.25, 2}};

    for (int64_t j = 0; j < e->info.dim; j++)
        for (int r = 0; r < HINGES; r++) {
            const double scale = logits ? t->scale[j] : 1 / c[j].sd,
                         shift = logits ? t->shift[j] : -c[j].mean / c[j].sd;

            set_hinge(e, r, j, logits ? whole[r] : plain[r], scale, shift, scale * c[j].low + shift,
                      scale * c[j].high + shift);
        }
}

/* Whitened columns, the first of them as they are. */
static void set_whites(const wm_ebm *e, const column *c)
{
    static const hinge h[WHITES] = {{-99, 1}, {-1.5, -1}, {-0.5, 1}, {1.5, 1}};

    for (int64_t j = 0; j < e->info.dim; j++)
        for (int r = 0; r < WHITES; r++)
            set_hinge(e, HINGES + r, j, h[r], 1, 0, c[j].low, c[j].high);
}

/* ---- rows ---- */

/* n rows of the data, or with `way` of waymarks anywhere between data and noise, as the bridges see
 * them: x (n, d). */
static wm_status draw_rows(wmi_ebm_rows *rows, int64_t n, bool way, float *x, wm_error *err)
{
    const wmi_rng rng = wmi_rng_make(rows->seed, "ebm/features");
    const wmi_source source = wmi_ebm_bridge_source(rows);
    const int64_t d = source.dim, block = rows->capacity < 512 ? rows->capacity : 512;
    float *z = NULL;
    wm_status st = wmi_alloc(&z, 2 * block * d, sizeof *z, "rows", err);

    for (int64_t first = 0; !st && first < n; first += block) {
        const int64_t count = n - first < block ? n - first : block;

        st = source.train(source.ctx, first / block, count, z, z + count * d, err);
        for (int64_t i = 0; !st && way && i < count; i++) {
            double u;

            wmi_rng_uniform_f64(&rng, (uint64_t)(first + i), 1, &u);
            wm_waymark_linear_f32(pow(u, 1.5), d, z + i * d, z + (count + i) * d, z + i * d);
        }
        if (st)
            break;
        if (source.map)
            st = source.map(source.ctx, count, d, z, x + first * d, err);
        else
            memcpy(x + first * d, z, (size_t)(count * d) * sizeof *x);
    }
    wmi_free(z);
    return st;
}

static wm_status whiten(const wm_ebm *e, wmi_ebm_rows *rows, wm_error *err)
{
    const int64_t d = e->info.dim, n = rows->n_train < MOST_FILTER ? rows->n_train : MOST_FILTER;
    float *x = NULL, *both = NULL;
    wm_status st;

    if ((st = wmi_alloc(&x, n * d, sizeof *x, "rows", err)) ||
        (st = wmi_alloc(&both, 2 * d * d, sizeof *both, "filters", err)) ||
        (st = draw_rows(rows, n, false, x, err)) || (st = wmi_filters_make(n, d, x, both, err)))
        goto done;
    for (int64_t i = 0; i < d; i++)
        memcpy(e->filter + i * d, both + (2 * i + 1) * d, (size_t)d * sizeof *both);
done:
    wmi_free(both);
    wmi_free(x);
    return st;
}

static void see(int64_t n, int64_t d, const float *x, column *c)
{
    for (int64_t j = 0; j < d; j++) {
        double sum = 0, square = 0;

        c[j] = (column){.low = INFINITY, .high = -INFINITY};
        for (int64_t i = 0; i < n; i++) {
            sum += (double)x[i * d + j];
            c[j].low = fmin(c[j].low, (double)x[i * d + j]);
            c[j].high = fmax(c[j].high, (double)x[i * d + j]);
        }
        c[j].mean = sum / (double)n;
        for (int64_t i = 0; i < n; i++)
            square += pow((double)x[i * d + j] - c[j].mean, 2);
        c[j].sd = square > 0 ? sqrt(square / (double)n) : 1;
    }
}

/* (A'A + P'P) / n + 1e-3 to the power -1/2, where A are the hinges at n rows and P their slopes
 * over a length: turn (HINGES, HINGES). */
static wm_status decorrelate(int64_t n, const double *a, const double *p, float *turn,
                             wm_error *err)
{
    double g[HINGES * HINGES], w[HINGES];
    wm_status st;

    for (int r = 0; r < HINGES; r++)
        for (int s = 0; s < HINGES; s++) {
            double sum = 0;

            for (int64_t i = 0; i < n; i++)
                sum +=
                    a[i * HINGES + r] * a[i * HINGES + s] + p[i * HINGES + r] * p[i * HINGES + s];
            g[r * HINGES + s] = sum / (double)n + (r == s ? 1e-3 : 0);
        }
    if ((st = wmi_eigen(HINGES, g, w, err))) /* column k of g is the vector of w[k] */
        return st;
    for (int r = 0; r < HINGES; r++)
        for (int s = 0; s < HINGES; s++) {
            double sum = 0;

            for (int k = 0; k < HINGES; k++)
                sum += g[r * HINGES + k] * g[s * HINGES + k] / sqrt(fmax(w[k], 1e-6));
            turn[r * HINGES + s] = (float)sum;
        }
    return WM_OK;
}

/* Gains and bases of `count` hinges of column j from its values x (n, .) at waymarks, in steps of
 * d: their values there to a, and their slopes over a length to p, (n, count). */
static void scale_column(const wm_ebm *e, int64_t first, int64_t count, int64_t j, int64_t n,
                         const float *x, double length, double *a, double *p)
{
    const double least = 0.03, none = 1e-4; /* deviations */
    const int64_t d = e->info.dim;

    for (int64_t r = 0; r < count; r++) {
        const double rate = (double)entry(e, first + r, 0)[j],
                     offset = (double)entry(e, first + r, 1)[j],
                     top = (double)entry(e, first + r, 3)[j];
        double sum = 0, square = 0, mean, sd, gain;

        for (int64_t i = 0; i < n; i++) {
            const double u = rate * (double)x[i * d] + offset, y = bent(u) - bent(u - top);

            a[i * count + r] = y;
            p[i * count + r] = (bent_slope(u) - bent_slope(u - top)) * rate * length;
            sum += y;
            square += y * y;
        }
        mean = sum / (double)n;
        sd = sqrt(fmax(square / (double)n - mean * mean, 0));
        gain = sd < none ? 0 : 1 / fmax(sd, least);
        for (int64_t i = 0; i < n; i++) {
            a[i * count + r] = (a[i * count + r] - mean) * gain;
            p[i * count + r] *= gain;
        }
        entry(e, first + r, 2)[j] = (float)gain;
        entry(e, first + r, 4)[j] = (float)(gain * mean);
    }
}

/* x (n, d) whitened, in place. */
static wm_status apply_filter(const wm_ebm *e, int64_t n, float *x, wm_error *err)
{
    const int64_t d = e->info.dim;
    double *in = NULL, *out = NULL, *w = NULL;
    wm_status st;

    if ((st = wmi_alloc(&in, n * d, sizeof *in, "rows", err)) ||
        (st = wmi_alloc(&out, n * d, sizeof *out, "rows", err)) ||
        (st = wmi_alloc(&w, d * d, sizeof *w, "filters", err)))
        goto done;
    for (int64_t i = 0; i < n * d; i++)
        in[i] = (double)x[i];
    for (int64_t i = 0; i < d * d; i++)
        w[i] = (double)e->filter[i];
    wmi_product(n, d, d, 1, in, w, 0, out);
    for (int64_t i = 0; i < n * d; i++)
        x[i] = (float)out[i];
done:
    wmi_free(w);
    wmi_free(out);
    wmi_free(in);
    return st;
}

wm_status wmi_ebm_features_make(const wm_ebm *e, wmi_ebm_rows *rows, wm_error *err)
{
    const int64_t d = e->info.dim, n = MOST;
    column *c = NULL;
    double *a = NULL, *p = NULL;
    float *x = NULL;
    wm_status st;

    if (!e->hinge)
        return WM_OK;
    if ((st = wmi_alloc(&x, n * d, sizeof *x, "rows", err)) ||
        (st = wmi_alloc(&c, d, sizeof *c, "columns", err)) ||
        (st = wmi_alloc(&a, n * HINGES, sizeof *a, "features", err)) ||
        (st = wmi_alloc(&p, n * HINGES, sizeof *p, "features", err)) ||
        (st = whiten(e, rows, err)) || (st = draw_rows(rows, n, true, x, err)))
        goto done;
    see(n, d, x, c);
    set_columns(e, c);
    for (int64_t j = 0; !st && j < d; j++) {
        scale_column(e, 0, HINGES, j, n, x + j, 0.3 * c[j].sd, a, p);
        st = decorrelate(n, a, p, e->turn + j * HINGES * HINGES, err);
    }
    if (st || (st = apply_filter(e, n, x, err)))
        goto done;
    see(n, d, x, c);
    set_whites(e, c);
    for (int64_t j = 0; j < d; j++)
        scale_column(e, HINGES, WHITES, j, n, x + j, 1, a, p);
done:
    wmi_free(p);
    wmi_free(a);
    wmi_free(c);
    wmi_free(x);
    return st;
}
