/* conv_gemm.h - convolution of any shape as a matrix product: the windows of a block of output
 * pixels are gathered into rows A (pixels x kh kw ci) that stay in cache and multiplied by the
 * weights, which are already a (kh kw ci x co) matrix. A 1x1 convolution with stride 1 needs no
 * gathering. Good for stems (few input channels) and strides. Same bits for any number of threads.
 * Included by conv2d_tmpl.c alone. */
#ifndef WMI_ENGINE_CONV_GEMM_H
#define WMI_ENGINE_CONV_GEMM_H

#include "engine/conv.h"
#include "engine/kernels/conv_lanes.h"
#include "engine/kernels/gemm.h"

enum {
    CG_ROWS = 48,      /* output pixels of a block; a multiple of GEMM_MR */
    CG_ROWS_W = 192,   /* the same in the gradient of the weights: the depth of a product */
    CG_DEPTH = 256,    /* of a product: a panel stays in L1 */
    CG_SMALL = 64,     /* reals in a window, up to which the sums over pixels stay in L1 */
    CG_STEM = 16,      /* reals in a row of the window, up to which a convolution is a stem */
    CG_PARTS = 16,     /* partial sums of the weights' gradient at most */
    CG_SUMS = 1 << 18, /* and their reals */
    CG_ALIGN = 64 / (int)sizeof(real)
};

static int64_t cg_window(const wmi_conv_shape *s)
{
    return s->kh * s->kw * s->ci;
}

static int64_t cg_pixels(const wmi_conv_shape *s)
{
    return s->n * s->oh * s->ow;
}

static bool cg_pointwise(const wmi_conv_shape *s) /* A is x itself */
{
    return s->kh == 1 && s->kw == 1 && s->stride == 1;
}

/* Reals from row to row of A: an odd number of cache lines where the gradient of the weights would
 * otherwise find a column of A in few of L1's sets. */
static int64_t cg_ld(const wmi_conv_shape *s)
{
    const int64_t depth = cg_window(s);

    return depth > CG_SMALL ? (ceil_div(depth, CG_ALIGN) | 1) * CG_ALIGN : depth;
}

/* C = or += A B, cut along the depth; a depth of 0 gives zeros. */
static void cg_product(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda,
                       const real *panels, real *c, int64_t ldc, bool add)
{
    int64_t p = 0;

    do {
        GEMM_NN(m, n, min64(CG_DEPTH, k - p), a + p, lda, panels + p * GEMM_NR, GEMM_NR,
                k * GEMM_NR, c, ldc, add || p > 0);
        p += CG_DEPTH;
    } while (p < k);
}

/* Rows of the window as one copy each, for `count` pixels side by side; short ones by constants. */
ALWAYS_INLINE void cg_copy(const int64_t len, int64_t count, const real *from, int64_t step,
                           real *to, int64_t ld)
{
    for (int64_t i = 0; i < count; i++)
        memcpy(to + i * ld, from + i * step, (size_t)len * sizeof *to);
}

static void cg_copy_runs(int64_t len, int64_t count, const real *from, int64_t step, real *to,
                         int64_t ld)
{
    if (len == 3)
        cg_copy(3, count, from, step, to, ld);
    else if (len == 5)
        cg_copy(5, count, from, step, to, ld);
    else
        cg_copy(len, count, from, step, to, ld);
}

/* A consecutive run of output pixels in one row of one image, and its windows in the input. */
typedef struct cg_run {
    int64_t image, iy, ix; /* the first window's top left pixel: may lie outside */
    int64_t count;
    int64_t lo, hi; /* pixels [lo, hi) of the run have their windows within the image's columns */
} cg_run;

static cg_run cg_run_at(const wmi_conv_shape *s, int64_t pixel, int64_t limit)
{
    const int64_t ox = pixel % s->ow;
    cg_run r = {.image = pixel / (s->oh * s->ow),
                .iy = pixel / s->ow % s->oh * s->stride - s->pad_top,
                .ix = ox * s->stride - s->pad_left,
                .count = min64(limit, s->ow - ox)};

    r.lo = r.ix < 0 ? min64(r.count, ceil_div(-r.ix, s->stride)) : 0;
    r.hi = s->w - s->kw - r.ix; /* the last window starts at column w - kw */
    r.hi = r.hi < 0 ? r.lo : max64(r.lo, min64(r.count, r.hi / s->stride + 1));
    return r;
}

/* Rows [first, first + count) of A, activated. */
static void cg_gather(const wmi_conv_shape *s, const real *x, real slope, int64_t first,
                      int64_t count, real *a)
{
    const int64_t ld = cg_ld(s), len = s->kw * s->ci;
    cg_run r;

    for (int64_t p = 0; p < count; p += r.count) {
        r = cg_run_at(s, first + p, count - p);
        for (int64_t ky = 0; ky < s->kh; ky++) {
            const int64_t iy = r.iy + ky, row = ((r.image * s->h + iy) * s->w + r.ix) * s->ci;
            real *to = a + p * ld + ky * len;

            if (iy < 0 || iy >= s->h) {
                for (int64_t i = 0; i < r.count; i++)
                    memset(to + i * ld, 0, (size_t)len * sizeof *to);
                continue;
            }
            cg_copy_runs(len, r.hi - r.lo, x + (row + r.lo * s->stride * s->ci), s->stride * s->ci,
                         to + r.lo * ld, ld);
            for (int64_t i = 0; i < r.count; i++) { /* windows over the left or right rim */
                if (i == r.lo && i < r.hi)
                    i = r.hi;
                if (i == r.count)
                    break;
                const int64_t ix = r.ix + i * s->stride;
                const int64_t k0 = min64(s->kw, max64(0, -ix));
                const int64_t k1 = max64(k0, min64(s->kw, s->w - ix));
                real *out = to + i * ld;

                memset(out, 0, (size_t)len * sizeof *out);
                memcpy(out + k0 * s->ci, x + (row + (i * s->stride + k0) * s->ci),
                       (size_t)((k1 - k0) * s->ci) * sizeof *out);
            }
        }
    }
    if (slope != 1)
        for (int64_t p = 0; p < count; p++)
            for (int64_t i = p * ld; i < p * ld + cg_window(s); i++)
                a[i] = a[i] > 0 ? a[i] : slope * a[i];
}

/* The reverse: adds rows of dA (ld reals apart) to the images that start at dx, the first of them
 * being `image`. */
static void cg_scatter(const wmi_conv_shape *s, const real *da, int64_t ld, int64_t first,
                       int64_t count, int64_t image, real *dx)
{
    const int64_t len = s->kw * s->ci;
    cg_run r;

    for (int64_t p = 0; p < count; p += r.count) {
        r = cg_run_at(s, first + p, count - p);
        for (int64_t ky = 0; ky < s->kh; ky++) {
            const int64_t iy = r.iy + ky;

            if (iy < 0 || iy >= s->h)
                continue;
            const int64_t row = (((r.image - image) * s->h + iy) * s->w + r.ix) * s->ci;
            for (int64_t i = 0; i < r.count; i++) {
                const int64_t ix = r.ix + i * s->stride;
                const int64_t k0 = max64(0, -ix), k1 = min64(s->kw, s->w - ix);
                const real *restrict from = da + (p + i) * ld + ky * len;
                real *restrict to = dx + (row + (i * s->stride + k0) * s->ci);

                for (int64_t k = 0; k < (k1 - k0) * s->ci; k++)
                    to[k] += from[k0 * s->ci + k];
            }
        }
    }
}

/* dx = or += leaky'(x) * g */
static void cg_finish(int64_t n, const real *g, const real *x, real slope, bool add, real *dx)
{
    if (slope == 1 && !add)
        memcpy(dx, g, (size_t)n * sizeof *dx);
    else
        for (int64_t i = 0; i < n; i++) {
            const real v = slope == 1 || x[i] > 0 ? g[i] : slope * g[i];
            dx[i] = add ? dx[i] + v : v;
        }
}

/* ---- stems: the windows of a row of pixels are read where they stand, in a padded copy of the
 * image
 * ---- */

static bool cg_stem(const wmi_conv_shape *s)
{
    return s->kw * s->ci <= CG_STEM && !cg_pointwise(s);
}

static int64_t cg_padded_row(const wmi_conv_shape *s) /* reals */
{
    return ((s->ow - 1) * s->stride + s->kw) * s->ci;
}

static int64_t cg_padded_image(const wmi_conv_shape *s)
{
    return round_up(((s->oh - 1) * s->stride + s->kh) * cg_padded_row(s), CG_ALIGN);
}

static void cg_pad_image(const wmi_conv_shape *s, const real *x, real slope, real *to)
{
    const int64_t row = cg_padded_row(s), left = s->pad_left * s->ci;
    const int64_t inside = min64(s->w * s->ci, row - left);

    memset(to, 0, (size_t)cg_padded_image(s) * sizeof *to);
    for (int64_t y = 0; y < min64(s->h, (s->oh - 1) * s->stride + s->kh - s->pad_top); y++) {
        real *restrict out = to + (y + s->pad_top) * row + left;
        const real *restrict in = x + y * s->w * s->ci;

        for (int64_t i = 0; i < inside; i++)
            out[i] = in[i] > 0 ? in[i] : slope * in[i];
    }
}

/* Rows [first, first + count) of A by way of the padded image, of which *have is in `padded`. */
static void cg_stem_gather(const wmi_conv_shape *s, const real *x, real slope, int64_t first,
                           int64_t count, real *a, real *padded, int64_t *have)
{
    const int64_t ld = cg_ld(s), len = s->kw * s->ci, row = cg_padded_row(s);

    for (int64_t p = 0, run; p < count; p += run) {
        const int64_t image = (first + p) / (s->oh * s->ow), oy = (first + p) / s->ow % s->oh;
        const int64_t ox = (first + p) % s->ow;

        if (image != *have)
            cg_pad_image(s, x + image * s->h * s->w * s->ci, slope, padded);
        *have = image;
        run = min64(count - p, s->ow - ox);
        for (int64_t ky = 0; ky < s->kh; ky++)
            cg_copy_runs(len, run, padded + (oy * s->stride + ky) * row + ox * s->stride * s->ci,
                         s->stride * s->ci, a + p * ld + ky * len, ld);
    }
}

/* ---- scratch, in reals ---- */

/* Images whose gradients one thread gathers at a time. */
static int64_t cg_group(const wmi_conv_shape *s)
{
    return max64(1, CG_ROWS / max64(1, s->oh * s->ow));
}

/* Pixels of a block in the gradient of the weights: while the sums are small, so few that dy stays
 * in L1. */
static int64_t cg_rows_w(const wmi_conv_shape *s)
{
    return cg_window(s) <= CG_SMALL ? CG_ROWS_W / 3 : CG_ROWS_W;
}

/* Sums over pixels are cut into so many, whatever the threads; large ones into fewer. */
static int64_t cg_parts(const wmi_conv_shape *s)
{
    const int64_t size = max64(1, cg_window(s) * s->co), most = cg_pixels(s) / (2 * CG_ROWS_W);

    return max64(1, min64(most, min64(CG_PARTS, max64(4, CG_SUMS / size))));
}

static int64_t cg_own(const wmi_conv_shape *s, wmi_conv_pass pass) /* of each thread */
{
    const int64_t depth = cg_window(s);

    switch (pass) {
    case WMI_CONV_FORWARD:
        return cg_stem(s) ? cg_padded_image(s) : round_up(CG_ROWS * cg_ld(s), CG_ALIGN);
    case WMI_CONV_GRAD_X:
        return round_up(CG_ROWS * round_up(depth, VL), CG_ALIGN) +
               round_up(cg_group(s) * s->h * s->w * s->ci, CG_ALIGN);
    default:
        return round_up(cg_rows_w(s) * cg_ld(s), CG_ALIGN) +
               round_up(VNAME(panels_size)(cg_rows_w(s), s->co), CG_ALIGN) +
               (cg_stem(s) ? cg_padded_image(s) : 0);
    }
}

static int64_t cg_shared(const wmi_conv_shape *s, wmi_conv_pass pass)
{
    switch (pass) {
    case WMI_CONV_FORWARD:
        return round_up(VNAME(panels_size)(cg_window(s), s->co), CG_ALIGN);
    case WMI_CONV_GRAD_X:
        return round_up(VNAME(panels_size)(s->co, cg_window(s)), CG_ALIGN);
    default:
        return round_up(cg_parts(s) * cg_window(s) * s->co, CG_ALIGN);
    }
}

static size_t cg_scratch(const wmi_conv_shape *s, wmi_conv_pass pass, int threads)
{
    return (size_t)(cg_shared(s, pass) + threads * cg_own(s, pass)) * sizeof(real);
}

/* ---- passes ---- */

/* Output rows [first, last) of the batch by one thread. */
static void cg_stem_forward(const wmi_conv_shape *s, const real *x, const real *panels, real slope,
                            int64_t first, int64_t last, real *y, real *padded)
{
    const int64_t row = cg_padded_row(s);

    for (int64_t r = first; r < last; r++) {
        const int64_t image = r / s->oh, oy = r % s->oh;

        if (r == first || oy == 0)
            cg_pad_image(s, x + image * s->h * s->w * s->ci, slope, padded);
        VNAME(gemm_windows)
        (s->ow, s->co, s->kh, s->kw * s->ci, padded + oy * s->stride * row, s->stride * s->ci, row,
         panels, y + r * s->ow * s->co, s->co);
    }
}

static void cg_forward(const wmi_conv_shape *s, const real *x, const real *w, real *y, real slope,
                       real *scratch, int threads)
{
    const int64_t depth = cg_window(s), pixels = cg_pixels(s);
    const int64_t own = cg_own(s, WMI_CONV_FORWARD);
    const int64_t blocks = cg_stem(s) ? 0 : ceil_div(pixels, CG_ROWS);
    real *panels = scratch, *bufs = panels + cg_shared(s, WMI_CONV_FORWARD);

    VNAME(pack_panels)(depth, s->co, w, s->co, false, panels);
#pragma omp parallel num_threads(threads)
    {
        const int id = thread_id(), team = team_size();
        real *buf = bufs + id * own;

        if (cg_stem(s))
            cg_stem_forward(s, x, panels, slope, share(s->n * s->oh, id, team),
                            share(s->n * s->oh, id + 1, team), y, buf);
        for (int64_t b = share(blocks, id, team); b < share(blocks, id + 1, team); b++) {
            const int64_t p = b * CG_ROWS, rows = min64(CG_ROWS, pixels - p);
            const bool in_place = cg_pointwise(s) && slope == 1;

            if (!in_place)
                cg_gather(s, x, slope, p, rows, buf);
            cg_product(rows, s->co, depth, in_place ? x + p * s->ci : buf,
                       in_place ? s->ci : cg_ld(s), panels, y + p * s->co, s->co, false);
        }
    }
}

static void cg_grad_x(const wmi_conv_shape *s, const real *dy, const real *w, const real *x,
                      real slope, real *dx, bool add, real *scratch, int threads)
{
    const int64_t depth = cg_window(s), ld = round_up(depth, VL);
    const int64_t group = cg_group(s), groups = ceil_div(s->n, group), image = s->h * s->w * s->ci;
    const int64_t own = cg_own(s, WMI_CONV_GRAD_X);
    real *panels = scratch, *bufs = panels + cg_shared(s, WMI_CONV_GRAD_X);

    VNAME(pack_panels)(s->co, depth, w, s->co, true, panels);
#pragma omp parallel num_threads(threads)
    {
        const int id = thread_id(), team = team_size();
        real *da = bufs + id * own, *sum = da + round_up(CG_ROWS * ld, CG_ALIGN);

        for (int64_t g = share(groups, id, team); g < share(groups, id + 1, team); g++) {
            const int64_t n0 = g * group, n1 = min64(n0 + group, s->n);

            memset(sum, 0, (size_t)((n1 - n0) * image) * sizeof *sum);
            for (int64_t p = n0 * s->oh * s->ow; p < n1 * s->oh * s->ow; p += CG_ROWS) {
                const int64_t rows = min64(CG_ROWS, n1 * s->oh * s->ow - p);

                if (cg_pointwise(s)) { /* an input pixel is one output pixel */
                    cg_product(rows, s->ci, s->co, dy + p * s->co, s->co, panels,
                               sum + (p - n0 * s->h * s->w) * s->ci, s->ci, false);
                    continue;
                }
                cg_product(rows, ld, s->co, dy + p * s->co, s->co, panels, da, ld, false);
                cg_scatter(s, da, ld, p, rows, n0, sum);
            }
            cg_finish((n1 - n0) * image, sum, slope == 1 ? NULL : x + n0 * image, slope, add,
                      dx + n0 * image);
        }
    }
}

/* Pixels are cut into parts by shape alone; each part has its own sum, and they are added in order.
 */
static void cg_grad_w(const wmi_conv_shape *s, const real *x, const real *dy, real slope, real *dw,
                      bool add, real *scratch, int threads)
{
    const int64_t depth = cg_window(s), size = depth * s->co, pixels = cg_pixels(s);
    const int64_t parts = cg_parts(s), block = cg_rows_w(s), own = cg_own(s, WMI_CONV_GRAD_W);
    real *sums = scratch, *bufs = sums + cg_shared(s, WMI_CONV_GRAD_W);

#pragma omp parallel num_threads(threads)
    {
        const int id = thread_id(), team = team_size();
        real *buf = bufs + id * own, *packed = buf + round_up(block * cg_ld(s), CG_ALIGN);
        real *padded = packed + round_up(VNAME(panels_size)(block, s->co), CG_ALIGN);
        int64_t have = -1;

        for (int64_t part = share(parts, id, team); part < share(parts, id + 1, team); part++) {
            const int64_t p1 = pixels * (part + 1) / parts;
            real *sum = sums + part * size;

            memset(sum, 0, (size_t)size * sizeof *sum);
            for (int64_t p = pixels * part / parts; p < p1; p += block) {
                const int64_t rows = min64(block, p1 - p);
                const real *a = buf, *b = dy + p * s->co;
                int64_t lda = cg_ld(s), ldb = s->co, step = GEMM_NR;

                for (int64_t i = 0; i < rows * s->co; i += CG_ALIGN)
                    prefetch(b, rows * s->co + i); /* the next block */
                if (cg_stem(s)) {
                    cg_stem_gather(s, x, slope, p, rows, buf, padded, &have);
                } else if (cg_pointwise(s) && slope == 1) {
                    a = x + p * s->ci;
                    lda = s->ci;
                } else {
                    cg_gather(s, x, slope, p, rows, buf);
                }
                if (s->co % VL || depth > CG_SMALL) {
                    VNAME(pack_panels)(rows, s->co, b, s->co, false, packed);
                    b = packed;
                    ldb = GEMM_NR;
                    step = rows * GEMM_NR;
                }
                GEMM_TN(depth, s->co, rows, a, lda, b, ldb, step, sum, s->co, true);
            }
        }
#pragma omp barrier
        for (int64_t i = share(size, id, team); i < share(size, id + 1, team); i++) {
            real v = add ? dw[i] : 0;
            for (int64_t part = 0; part < parts; part++)
                v += sums[part * size + i];
            dw[i] = v;
        }
    }
}

#endif
