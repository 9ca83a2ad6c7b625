/* ratio_eval.c - log-ratios at new points, in double: sums over bridges reach hundreds of nats, of
 * which the last tenth must be right. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/ops.h"
#include "engine/program.h"
#include "estimators/ratio_impl.h"

enum { BATCH = 256 }; /* rows in one run: the scores of all bridges at once */

wm_status wmi_ratio_scores(const wm_ratio *r, int64_t n, const double *x, double *scores,
                           wm_error *err)
{
    const int64_t d = r->info.dim, m = r->info.bridges, dim[] = {BATCH, d};
    wmi_graph *g = NULL;
    wmi_program *p = NULL;
    wmi_node *out;
    void *at;
    wm_status st;

    if ((st = wmi_graph_new(&g, WMI_F64, r->params, err)))
        return st;
    out = wmi_model_build(
        g, "", &r->net,
        &(wmi_model_inputs){.layout = WMI_ROWS_SHARED, .x = wmi_input(g, "x", 2, dim)});
    if ((st = wmi_compile(&p, g, &(wmi_compile_opts){.outputs = &out, .n_outputs = 1}, err)) ||
        (st = wmi_program_input(p, "x", &at, err)))
        goto done;
    wmi_program_bind(p, r->theta, NULL);
    for (int64_t first = 0; first < n; first += BATCH) {
        const int64_t rows = n - first < BATCH ? n - first : BATCH;
        const double *s;

        memset(at, 0, BATCH * (size_t)d * sizeof *x);
        memcpy(at, x + first * d, (size_t)(rows * d) * sizeof *x);
        if ((st = wmi_program_forward(p, err)))
            goto done;
        s = wmi_program_value(p, out);
        for (int64_t k = 0; k < m; k++)
            memcpy(scores + k * n + first, s + k * BATCH, (size_t)rows * sizeof *s);
    }
done:
    wmi_program_free(p);
    wmi_graph_free(g);
    return st;
}

wm_status wm_ratio_log_bridges(const wm_ratio *r, const wm_data *x, double *log_r, wm_error *err)
{
    const int64_t n = wm_data_count(x), d = r->info.dim;
    double *rows = NULL;
    wm_status st;

    if (wm_data_dim(x) != d)
        return wmi_fail(err, WM_ESHAPE, "the points have %" PRId64 " columns, the model %" PRId64,
                        wm_data_dim(x), d);
    if ((st = wmi_alloc(&rows, n * d, sizeof *rows, "points", err)))
        return st;
    for (int64_t i = 0; i < n * d; i++)
        rows[i] = (wm_data_rows(x)[i] - r->shift[i % d]) / r->scale[i % d];
    st = wmi_ratio_scores(r, n, rows, log_r, err);
    wmi_free(rows);
    return st;
}

wm_status wm_ratio_log(const wm_ratio *r, const wm_data *x, double *log_r, wm_error *err)
{
    const int64_t n = wm_data_count(x), m = r->info.bridges;
    double *each = NULL;
    wm_status st;

    if ((st = wmi_alloc(&each, m * n, sizeof *each, "log-ratios", err)))
        return st;
    if (!(st = wm_ratio_log_bridges(r, x, each, err)))
        for (int64_t i = 0; i < n; i++) {
            log_r[i] = 0;
            for (int64_t k = 0; k < m; k++)
                log_r[i] += each[k * n + i];
        }
    wmi_free(each);
    return st;
}
