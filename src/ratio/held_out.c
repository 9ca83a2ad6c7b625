/* held_out.c - bridges on held-out rows of their own waymarks. */
#include "ratio/held_out.h"

#include <string.h>

#include "base/alloc.h"
#include "base/sums.h"
#include "check/calibrate.h"

enum { HELD_OUT = 10000 };            /* rows at most: plenty for one number a bridge */
static const double SATURATED = 0.02; /* logistic loss */

void wmi_held_out_free(wmi_held_out *h)
{
    wmi_free(h->num);
    wmi_free(h->den);
    *h = (wmi_held_out){0};
}

wm_status wmi_held_out_score(wmi_held_out *h, const wm_ratio *r, const wmi_ratio_rows *rows,
                             wm_error *err)
{
    const int64_t d = rows->dim, m = r->info.bridges;
    const int64_t n = rows->n_valid[0] < HELD_OUT ? rows->n_valid[0] : HELD_OUT;
    double *xm = NULL, *x = NULL, *s = NULL;
    wm_chain *chain = NULL;
    wm_status st;

    *h = (wmi_held_out){.n = n};
    if ((st = wmi_ratio_chain(&chain, r, err)) ||
        (st = wmi_alloc(&h->num, m * n, sizeof *h->num, "held-out scores", err)) ||
        (st = wmi_alloc(&h->den, m * n, sizeof *h->den, "held-out scores", err)) ||
        (st = wmi_alloc(&xm, n * d, sizeof *xm, "held-out rows", err)) ||
        (st = wmi_alloc(&x, n * d, sizeof *x, "held-out rows", err)) ||
        (st = wmi_alloc(&s, m * n, sizeof *s, "held-out scores", err)))
        goto done;
    wmi_ratio_rows_q(rows, true, 0, n, xm);
    for (int64_t j = 0; j <= m; j++) { /* waymark j: numerator of bridge j, denominator of j - 1 */
        wm_chain_waymark_f64(chain, j, &(wm_ends_f64){.rows = n, .x0 = rows->valid[0], .xm = xm},
                             x);
        if ((st = wmi_ratio_scores(r, n, x, s, err)))
            goto done;
        if (j < m)
            memcpy(h->num + j * n, s + j * n, (size_t)n * sizeof *s);
        if (j > 0)
            memcpy(h->den + (j - 1) * n, s + (j - 1) * n, (size_t)n * sizeof *s);
    }
done:
    wmi_free(s);
    wmi_free(x);
    wmi_free(xm);
    wm_chain_free(chain);
    return st;
}

void wmi_held_out_evaluate(wm_ratio *r, const wmi_held_out *h)
{
    const int64_t m = r->info.bridges, n = h->n;

    r->info.held_out_loss = 0;
    for (int64_t k = 0; k < m; k++) {
        wm_bridge *b = &r->bridges[k];

        b->loss = b->accuracy = b->mean_log_ratio = 0;
        for (int64_t i = 0; i < n; i++) {
            const double num = h->num[k * n + i], den = h->den[k * n + i];

            b->loss += (wmi_log1pexp(-num) + wmi_log1pexp(den)) / (double)n;
            b->accuracy += 0.5 * ((num > 0) + (den < 0)) / (double)n;
            b->mean_log_ratio += num / (double)n;
        }
        r->info.held_out_loss += b->loss / (double)m;
    }
}

void wmi_held_out_calibrate(wm_ratio *r, wmi_held_out *h)
{
    double *c = r->theta + wmi_params_find(r->params, "c")->offset;

    for (int64_t k = 0; k < r->info.bridges; k++) {
        double *num = h->num + k * h->n, *den = h->den + k * h->n, offset;

        if (r->bridges[k].loss < SATURATED)
            continue;
        offset = wmi_calibrate(h->n, num, den);
        c[k] -= offset; /* log r = -(energy + c) */
        for (int64_t i = 0; i < h->n; i++) {
            num[i] += offset;
            den[i] += offset;
        }
    }
}
