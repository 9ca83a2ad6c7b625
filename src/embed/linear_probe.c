/* linear_probe.c - linear probes: for each column of labels, weights W and bias b that minimise
 *
 *   mean_i [ log sum_c exp(z_ic) - z_i,y_i ] + ridge / 2 |W|^2,   z_i = W' (x_i - centre) / scale +
 * b
 *
 * by L-BFGS on all rows. The features are standardised on the way into a block of rows, so that x
 * is read as it was given and never copied whole; the weights are turned back at the end. */
#include "waymark/probe.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opts.h"
#include "base/sums.h"
#include "engine/backend/blas.h"
#include "optim/lbfgs.h"
#include "waymark/sink.h"

enum {
    CHUNKS = 16, /* of the rows, each summed by one thread and added in order */
    BLOCK = 128, /* rows of a chunk that pass at once: features and scores stay in cache */
    MOST_CLASSES = 1 << 20
};

typedef struct classifier {
    int64_t classes;
    double *theta; /* (dim + 1, classes): weights, then the bias */
    double loss;
    int64_t iterations;
    bool converged;
} classifier;

struct wm_probe {
    int64_t dim, columns;
    double *centre, *scale; /* (dim) */
    classifier *column;     /* (columns) */
};

void wm_probe_opts_init(wm_probe_opts *opts)
{
    *opts = (wm_probe_opts){.struct_size = sizeof *opts, .iterations = 1000, .decrease = 1e-5};
    wm_fit_control_init(&opts->control);
}

void wm_probe_free(wm_probe *p)
{
    if (!p)
        return;
    for (int64_t c = 0; p->column && c < p->columns; c++)
        wmi_free(p->column[c].theta);
    wmi_free(p->column);
    wmi_free(p->centre);
    wmi_free(p->scale);
    wmi_free(p);
}

wm_probe_column wm_probe_get(const wm_probe *p, int64_t column)
{
    const classifier *c = &p->column[column];

    return (wm_probe_column){.classes = c->classes,
                             .weights = c->theta,
                             .bias = c->theta + p->dim * c->classes,
                             .loss = c->loss,
                             .iterations = c->iterations,
                             .converged = c->converged};
}

/* ---- rows in blocks ---- */

/* Scratch of a thread, or of a chunk: rows (BLOCK, dim + 1), whose last column is 1, scores (BLOCK,
 * classes). */
typedef struct block {
    double *rows, *scores;
} block;

static void load_rows(block *b, int64_t n, int64_t dim, const float *x, const double *centre,
                      const double *scale)
{
    for (int64_t i = 0; i < n; i++) {
        const float *restrict from = x + i * dim;
        double *restrict to = b->rows + i * (dim + 1);

        for (int64_t j = 0; j < dim; j++)
            to[j] = centre ? ((double)from[j] - centre[j]) / scale[j] : (double)from[j];
        to[dim] = 1;
    }
}

/* Scores of n rows become probabilities less the indicator of the label; returns the sum of -log
 * p(label). */
static double softmax_loss(int64_t n, int64_t classes, double *scores, const int32_t *labels,
                           int64_t stride)
{
    double loss = 0;

    for (int64_t i = 0; i < n; i++) {
        double *restrict z = scores + i * classes;
        const double total = wmi_log_sum_exp(z, classes);
        const int32_t y = labels[i * stride];

        loss += total - z[y];
        for (int64_t c = 0; c < classes; c++)
            z[c] = exp(z[c] - total);
        z[y] -= 1;
    }
    return loss;
}

/* ---- fitting ---- */

typedef struct fit {
    const wm_probe *probe;
    const wm_probe_opts *opts;
    int64_t n, classes;
    const float *x;
    const int32_t *labels; /* of this column, `columns` apart */
    block blocks[CHUNKS];
    double *grads; /* (CHUNKS, dim + 1, classes) */
    double losses[CHUNKS];
} fit;

static void pass_chunk(fit *f, int chunk, const double *theta)
{
    const int64_t first = f->n * chunk / CHUNKS, end = f->n * (chunk + 1) / CHUNKS;
    const int64_t dim = f->probe->dim, k = f->classes, columns = f->probe->columns;
    double *grad = f->grads + chunk * (dim + 1) * k;
    block *b = &f->blocks[chunk];

    f->losses[chunk] = 0;
    memset(grad, 0, (size_t)((dim + 1) * k) * sizeof *grad);
    for (int64_t at = first; at < end; at += BLOCK) {
        const int64_t n = end - at < BLOCK ? end - at : BLOCK;

        load_rows(b, n, dim, f->x + at * dim, f->probe->centre, f->probe->scale);
        wmi_gemm_f64(false, false, n, k, dim + 1, 1, b->rows, dim + 1, theta, k, 0, b->scores, k);
        f->losses[chunk] += softmax_loss(n, k, b->scores, f->labels + at * columns, columns);
        wmi_gemm_f64(true, false, dim + 1, k, n, 1, b->rows, dim + 1, b->scores, k, 1, grad, k);
    }
}

/* wmi_lbfgs_f of a column. */
static double objective(void *ctx, const double *theta, double *grad, wm_error *err)
{
    fit *f = ctx;
    const int64_t weights = f->probe->dim * f->classes, size = weights + f->classes;
    const double ridge = f->opts->ridge, n = (double)f->n;
    double loss = 0, squares = 0;

    if (f->opts->control.stop && *f->opts->control.stop) {
        (void)wmi_fail(err, WM_EINTERRUPTED, "probe: stopped on request");
        return NAN;
    }
#pragma omp parallel for schedule(static)
    for (int c = 0; c < CHUNKS; c++)
        pass_chunk(f, c, theta);
    for (int c = 0; c < CHUNKS; c++)
        loss += f->losses[c] / n;
    for (int64_t i = 0; i < size; i++) {
        double g = 0;

        for (int c = 0; c < CHUNKS; c++)
            g += f->grads[c * size + i];
        grad[i] = g / n;
    }
    for (int64_t i = 0; i < weights; i++) {
        squares += theta[i] * theta[i];
        grad[i] += ridge * theta[i];
    }
    return loss + 0.5 * ridge * squares;
}

/* Weights of standardised features become those of the features as given. */
static void turn_back(const wm_probe *p, classifier *c)
{
    double *bias = c->theta + p->dim * c->classes;

    for (int64_t j = 0; j < p->dim; j++)
        for (int64_t k = 0; k < c->classes; k++) {
            double *w = &c->theta[j * c->classes + k];

            *w /= p->scale[j];
            bias[k] -= *w * p->centre[j];
        }
}

static wm_status fit_column(wm_probe *p, fit *f, int64_t column, const int32_t *labels,
                            wm_error *err)
{
    classifier *c = &p->column[column];
    const int64_t size = (p->dim + 1) * c->classes;
    wmi_lbfgs_opts o;
    wmi_lbfgs_result r;
    wm_status st;

    wmi_lbfgs_opts_init(&o);
    o.max_iterations = f->opts->iterations;
    o.decrease_tol = f->opts->decrease;
    f->classes = c->classes;
    f->labels = labels + column;
    if ((st = wmi_alloc(&c->theta, size, sizeof *c->theta, "probe", err)) ||
        (st = wmi_lbfgs(c->theta, size, objective, f, &o, &r, err)))
        return st;
    c->loss = r.f;
    c->iterations = r.iterations;
    c->converged = r.converged;
    turn_back(p, c);
    return WM_OK;
}

/* Mean and standard deviation of every feature; a constant one keeps its scale. Refuses what is not
 * finite. */
static wm_status standardize(wm_probe *p, int64_t n, const float *x, wm_error *err)
{
    for (int64_t i = 0; i < n * p->dim; i++) {
        if (!isfinite(x[i]))
            return wmi_fail(err, WM_EINVAL,
                            "features: row %" PRId64 ", column %" PRId64 " is %g, not finite",
                            i / p->dim + 1, i % p->dim + 1, (double)x[i]);
        p->centre[i % p->dim] += (double)x[i];
    }
    for (int64_t j = 0; j < p->dim; j++)
        p->centre[j] /= (double)n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < p->dim; j++) {
            const double dev = (double)x[i * p->dim + j] - p->centre[j];

            p->scale[j] += dev * dev;
        }
    for (int64_t j = 0; j < p->dim; j++)
        p->scale[j] = p->scale[j] > 0 ? sqrt(p->scale[j] / (double)n) : 1;
    return WM_OK;
}

static wm_status check_label(int64_t row, int64_t column, int32_t y, int64_t classes, wm_error *err)
{
    return y >= 0 && y < classes ? WM_OK
                                 : wmi_fail(err, WM_EINVAL,
                                            "labels: row %" PRId64 ", column %" PRId64
                                            " is %" PRId32 ", but the classes are 0 to %" PRId64,
                                            row + 1, column + 1, y, classes - 1);
}

/* Classes of every column, given or counted, and all labels within them. */
static wm_status count_classes(wm_probe *p, int64_t n, const int32_t *labels,
                               const int64_t *classes, wm_error *err)
{
    wm_status st;

    for (int64_t c = 0; c < p->columns; c++) {
        int64_t most = classes ? classes[c] : 0;

        for (int64_t i = 0; !classes && i < n; i++)
            if (labels[i * p->columns + c] >= most)
                most = (int64_t)labels[i * p->columns + c] + 1;
        if (most < 2 || most > MOST_CLASSES)
            return wmi_fail(err, WM_EINVAL,
                            "labels: column %" PRId64 " has %" PRId64
                            " classes: a probe needs 2 to %d, numbered from 0",
                            c + 1, most, MOST_CLASSES);
        p->column[c].classes = most;
        for (int64_t i = 0; i < n; i++)
            if ((st = check_label(i, c, labels[i * p->columns + c], most, err)))
                return st;
    }
    return WM_OK;
}

static wm_status check_opts(int64_t n, int64_t dim, int64_t columns, const wm_probe_opts *o,
                            wm_error *err)
{
    if (n < 1 || dim < 1 || columns < 1)
        return wmi_fail(err, WM_EINVAL,
                        "probe: %" PRId64 " rows, %" PRId64 " features, %" PRId64
                        " columns of labels: each must be at least 1",
                        n, dim, columns);
    if (!(o->ridge >= 0) || isinf(o->ridge) || !(o->decrease >= 0) || o->iterations < 1)
        return wmi_fail(err, WM_EINVAL,
                        "probe: ridge %g and decrease %g must not be negative, iterations %" PRId64
                        " must be at least 1",
                        o->ridge, o->decrease, o->iterations);
    return WM_OK;
}

static int64_t most_classes(const wm_probe *p)
{
    int64_t most = 0;

    for (int64_t c = 0; c < p->columns; c++)
        if (p->column[c].classes > most)
            most = p->column[c].classes;
    return most;
}

/* CHUNKS blocks in two arrays, which the first block owns. */
static wm_status alloc_blocks(block blocks[CHUNKS], int64_t dim, int64_t classes, wm_error *err)
{
    const int64_t rows = BLOCK * (dim + 1), scores = BLOCK * classes;
    wm_status st;

    if ((st = wmi_alloc(&blocks[0].rows, CHUNKS * rows, sizeof(double), "probe", err)) ||
        (st = wmi_alloc(&blocks[0].scores, CHUNKS * scores, sizeof(double), "probe", err)))
        return st;
    for (int c = 1; c < CHUNKS; c++)
        blocks[c] = (block){blocks[0].rows + c * rows, blocks[0].scores + c * scores};
    return WM_OK;
}

static void free_blocks(block blocks[CHUNKS])
{
    wmi_free(blocks[0].rows);
    wmi_free(blocks[0].scores);
}

wm_status wm_probe_fit(wm_probe **out, int64_t n, int64_t dim, const float *x, int64_t columns,
                       const int32_t *labels, const int64_t *classes, const wm_probe_opts *opts,
                       wm_error *err)
{
    wm_probe_opts o;
    wm_probe *p = NULL;
    fit f = {.n = n, .x = x};
    wm_task progress;
    int threads;
    wm_status st;

    *out = NULL;
    wm_probe_opts_init(&o);
    f.opts = &o;
    if ((st = wmi_opts_take(&o, sizeof o, opts, "wm_probe_opts_init", err)) ||
        (st = check_opts(n, dim, columns, &o, err)) ||
        (st = wmi_alloc(&p, 1, sizeof *p, "probe", err)))
        return st;
    threads = wmi_threads_use(o.control.threads);
    p->dim = dim;
    p->columns = columns;
    f.probe = p;
    if ((st = wmi_alloc(&p->column, columns, sizeof *p->column, "probe", err)) ||
        (st = wmi_alloc(&p->centre, dim, sizeof *p->centre, "probe", err)) ||
        (st = wmi_alloc(&p->scale, dim, sizeof *p->scale, "probe", err)) ||
        (st = count_classes(p, n, labels, classes, err)) || (st = standardize(p, n, x, err)) ||
        (st = alloc_blocks(f.blocks, dim, most_classes(p), err)) ||
        (st = wmi_alloc(&f.grads, CHUNKS * (dim + 1) * most_classes(p), sizeof *f.grads, "probe",
                        err)))
        goto done;
    wm_task_start(&progress, o.control.sink, "classifiers", 0, columns);
    for (int64_t c = 0; c < columns; c++) {
        if ((st = fit_column(p, &f, c, labels, err)))
            goto done;
        wm_task_update(&progress, c + 1, "loss %.4f", p->column[c].loss);
    }
    *out = p;
    p = NULL;
done:
    wm_probe_free(p);
    free_blocks(f.blocks);
    wmi_free(f.grads);
    wmi_threads_restore(threads);
    return st;
}

/* ---- using ---- */

/* Classes of the rows of a chunk. */
static void predict_chunk(const wm_probe *p, block *b, int64_t first, int64_t end, const float *x,
                          int32_t *predicted, double *log_p)
{
    for (int64_t at = first; at < end; at += BLOCK) {
        const int64_t n = end - at < BLOCK ? end - at : BLOCK;

        load_rows(b, n, p->dim, x + at * p->dim, NULL, NULL);
        for (int64_t c = 0; c < p->columns; c++) {
            const int64_t k = p->column[c].classes;

            wmi_gemm_f64(false, false, n, k, p->dim + 1, 1, b->rows, p->dim + 1, p->column[c].theta,
                         k, 0, b->scores, k);
            for (int64_t i = 0; i < n; i++) {
                const double *z = b->scores + i * k;
                const int64_t to = (at + i) * p->columns + c;
                int64_t best = 0;

                for (int64_t j = 1; j < k; j++)
                    if (z[j] > z[best])
                        best = j;
                predicted[to] = (int32_t)best;
                if (log_p)
                    log_p[to] = z[best] - wmi_log_sum_exp(z, k);
            }
        }
    }
}

wm_status wm_probe_predict(const wm_probe *p, int64_t n, const float *x, int32_t *predicted,
                           double *log_p, wm_error *err)
{
    block blocks[CHUNKS] = {{0}};
    wm_status st = alloc_blocks(blocks, p->dim, most_classes(p), err);

    if (!st) {
#pragma omp parallel for schedule(static)
        for (int c = 0; c < CHUNKS; c++)
            predict_chunk(p, &blocks[c], n * c / CHUNKS, n * (c + 1) / CHUNKS, x, predicted, log_p);
    }
    free_blocks(blocks);
    return st;
}

wm_share wm_share_of(int64_t hits, int64_t n)
{
    const double z = 1.959963984540054, z2 = z * z, m = (double)n, share = (double)hits / m;
    const double centre = (share + z2 / (2 * m)) / (1 + z2 / m);
    const double half = z / (1 + z2 / m) * sqrt(share * (1 - share) / m + z2 / (4 * m * m));

    return (wm_share){.value = share,
                      .lo = fmax(centre - half, 0),
                      .hi = fmin(centre + half, 1),
                      .hits = hits,
                      .n = n};
}

/* Accuracy over all columns: as many independent answers as the spread of the rows' own shares
 * says, between one for a row and one for a column of it. */
static wm_share mean_share(int64_t n, int64_t columns, int64_t hits, double squares)
{
    const double m = (double)n, share = (double)hits / (m * (double)columns);
    const double var = squares / m - share * share; /* of a row's share */
    const double binomial = share * (1 - share);
    double answers = m * (double)columns;
    wm_share s;

    if (var > 0 && binomial / var < (double)columns)
        answers = m * fmax(binomial / var, 1);
    s = wm_share_of(llround(share * answers), (int64_t)llround(answers));
    s.value = share;
    s.hits = hits;
    s.n = n * columns;
    return s;
}

wm_status wm_probe_score(const wm_probe *p, int64_t n, const float *x, const int32_t *labels,
                         wm_share *accuracy, wm_share *mean, int64_t *const *confusion,
                         wm_error *err)
{
    const int64_t columns = p->columns;
    int64_t *hits = NULL, all = 0;
    int32_t *predicted = NULL;
    double squares = 0;
    wm_status st;

    if (n < 1)
        return wmi_fail(err, WM_EINVAL, "probe: no rows to judge it by");
    for (int64_t i = 0; i < n * columns; i++)
        if ((st = check_label(i / columns, i % columns, labels[i], p->column[i % columns].classes,
                              err)))
            return st;
    if ((st = wmi_alloc(&predicted, n * columns, sizeof *predicted, "predictions", err)) ||
        (st = wmi_alloc(&hits, columns, sizeof *hits, "predictions", err)) ||
        (st = wm_probe_predict(p, n, x, predicted, NULL, err)))
        goto done;
    for (int64_t c = 0; confusion && c < columns; c++)
        if (confusion[c])
            memset(confusion[c], 0,
                   (size_t)(p->column[c].classes * p->column[c].classes) * sizeof **confusion);
    for (int64_t i = 0; i < n; i++) {
        int64_t right = 0;

        for (int64_t c = 0; c < columns; c++) {
            const int32_t is = labels[i * columns + c], said = predicted[i * columns + c];

            hits[c] += is == said;
            right += is == said;
            if (confusion && confusion[c])
                confusion[c][is * p->column[c].classes + said]++;
        }
        all += right;
        squares += (double)(right * right) / (double)(columns * columns);
    }
    for (int64_t c = 0; c < columns; c++)
        accuracy[c] = wm_share_of(hits[c], n);
    if (mean)
        *mean = mean_share(n, columns, all, squares);
done:
    wmi_free(predicted);
    wmi_free(hits);
    return st;
}
