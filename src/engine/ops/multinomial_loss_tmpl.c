/* multinomial_loss_tmpl.c - one softmax over all waymarks (Srivastava et al. 2023).
 *
 * s (m, n): every bridge at every row; label (n): the waymark 0..m that the row came from; weights
 * (n) or none -> scalar, the weighted mean of -log softmax(L)[label]. The ratios determine the
 * logits up to a constant: L_j = sum_{k >= j} s_k, L_m = 0. The gradient is one comparison of
 * distribution functions, ds_k = w / W ([label > k] - P(j > k)). Labels and weights get no
 * gradient. A label that is no whole number in 0..m makes the loss NaN; a row of weight 0 does not
 * count, whatever it holds. Everything is double inside: m n exponentials. */
#include <math.h>

#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/real.h"

enum { PIECE = 512 }; /* rows summed by one thread; sums do not depend on the number of threads */

/* log sum_j exp(L_j) of row i, in one pass with a running maximum; the logit of the label, NaN
 * where the label is none, goes to *own. */
static double log_sum(const real *s, int64_t m, int64_t n, int64_t i, double label, double *own)
{
    double logit = 0, most = 0, sum = 1; /* waymark m */

    *own = label == (double)m ? 0 : NAN;
    for (int64_t k = m - 1; k >= 0; k--) {
        logit += (double)s[k * n + i];
        if (label == (double)k)
            *own = logit;
        if (logit > most) {
            sum = sum * exp(most - logit) + 1;
            most = logit;
        } else {
            sum += exp(logit - most);
        }
    }
    return most + log(sum);
}

static double weight_of(const wmi_node *nd, int64_t i)
{
    return nd->n_in > 2 ? (double)((const real *)nd->in[2]->val)[i] : 1;
}

/* scratch: (pieces, 2) losses and weights; saved: (n) log sums, then the sum of weights. */
static void forward(const wmi_node *nd)
{
    const int64_t m = nd->in[0]->shape.dim[0], n = nd->in[0]->shape.dim[1];
    const int64_t pieces = (n + PIECE - 1) / PIECE;
    const real *s = nd->in[0]->val, *label = nd->in[1]->val;
    double *sums = nd->scratch, *log_sums = nd->saved, loss = 0, total = 0;

#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (m * n >= WMI_OMP_MIN / 4)
    for (int64_t piece = 0; piece < pieces; piece++) {
        const int64_t end = (piece + 1) * PIECE < n ? (piece + 1) * PIECE : n;
        double part = 0, part_total = 0;

        for (int64_t i = piece * PIECE; i < end; i++) {
            const double w = weight_of(nd, i);
            double own;
            const double all = log_sum(s, m, n, i, (double)label[i], &own);

            if (log_sums)
                log_sums[i] = all;
            part += w == 0 ? 0 : w * (all - own);
            part_total += w;
        }
        sums[2 * piece] = part;
        sums[2 * piece + 1] = part_total;
    }
    for (int64_t piece = 0; piece < pieces; piece++) {
        loss += sums[2 * piece];
        total += sums[2 * piece + 1];
    }
    *(real *)nd->val = (real)(loss / total);
    if (log_sums)
        log_sums[n] = total;
}

static void backward(const wmi_node *nd)
{
    const int64_t m = nd->in[0]->shape.dim[0], n = nd->in[0]->shape.dim[1];
    const real *s = nd->in[0]->val, *label = nd->in[1]->val;
    const double *log_sums = nd->saved;
    const double scale = (double)*(const real *)nd->grad / log_sums[n];
    const bool fresh = nd->fresh & 1u;
    real *ds = nd->in[0]->grad; /* (m, n) */

    if (!ds)
        return;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (m * n >= WMI_OMP_MIN / 4)
    for (int64_t i = 0; i < n; i++) {
        const double w = weight_of(nd, i) * scale;
        double logit = 0, above = 0; /* P(j > k) */

        for (int64_t k = m - 1; k >= 0; k--) {
            above += exp(logit - log_sums[i]);
            logit += (double)s[k * n + i];
            const double d = w == 0 ? 0 : w * (((double)label[i] > (double)k) - above);
            ds[k * n + i] = (real)((fresh ? 0 : (double)ds[k * n + i]) + d);
        }
    }
}

static size_t scratch(const wmi_node *nd, wmi_phase phase)
{
    const int64_t pieces = (nd->in[0]->shape.dim[1] + PIECE - 1) / PIECE;

    return phase == WMI_FORWARD ? (size_t)(2 * pieces) * sizeof(double) : 0;
}

static size_t saved(const wmi_node *nd)
{
    return (size_t)(nd->in[0]->shape.dim[1] + 1) * sizeof(double);
}

static unsigned keeps(const wmi_node *nd)
{
    return WMI_KEEP_IN(0) | WMI_KEEP_IN(1) | (nd->n_in > 2 ? WMI_KEEP_IN(2) : 0);
}

static wm_status infer(wmi_node *nd, wm_error *err)
{
    const wmi_shape *s = &nd->in[0]->shape;

    if (nd->n_in < 2 || nd->n_in > 3)
        return wmi_infer_fail(nd, err, "takes scores, labels, and weights or not");
    if (s->rank != 2 || s->dim[1] < 1)
        return wmi_infer_fail(nd, err, "scores must be (bridges, rows), with a row at least");
    for (int i = 1; i < nd->n_in; i++)
        if (nd->in[i]->shape.rank != 1 || nd->in[i]->n != s->dim[1])
            return wmi_infer_fail(nd, err, "%s must be (rows)", i == 1 ? "labels" : "weights");
    return wmi_infer_set(nd, 0, NULL, err);
}

DEFINE_OP(multinomial_loss, .n_in = -1, .infer = infer, .forward = forward, .backward = backward,
          .no_grad = 1u << 1 | 1u << 2, .keeps = keeps, .flags = WMI_OP_WRITES_FRESH,
          .scratch = scratch, .saved = saved);
