/* ebm_density.c - log q and log phi at rows, as the data were given. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/stop.h"
#include "ebm/ebm_impl.h"

enum { BLOCK = 64 }; /* rows of a program */

/* All bridges at a block of rows. */
typedef struct scorer {
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *parts; /* (., BLOCK), which add up to the log-ratio */
    float *x;
} scorer;

static wm_status open_scorer(scorer *s, const wm_ebm *e, wm_error *err)
{
    const int64_t dim = e->info.dim, x[] = {BLOCK, dim};
    wmi_model_inputs in = {.layout = WMI_ROWS_SHARED};
    void *at;
    wm_status st;

    if ((st = wmi_graph_new(&s->graph, WMI_F32, e->params, err)))
        return st;
    in.x = wmi_input(s->graph, "x", 2, x);
    wmi_model_constants(s->graph, &e->net, &in);
    s->parts = wmi_model_parts(s->graph, "", &e->net, &in);
    if ((st = wmi_compile(&s->program, s->graph,
                          &(wmi_compile_opts){.outputs = &s->parts, .n_outputs = 1}, err)))
        return st;
    wmi_program_bind(s->program, e->theta, NULL);
    if ((st = wmi_model_fill(s->program, &e->net, e->knots, e->filter, err)) ||
        (st = wmi_program_input(s->program, "x", &at, err)))
        return st;
    s->x = at;
    return WM_OK;
}

static void close_scorer(scorer *s)
{
    wmi_program_free(s->program);
    wmi_graph_free(s->graph);
}

/* Adds the sum of all bridges at the rows y (n, dim), n <= BLOCK, to log_phi. */
static wm_status add_bridges(scorer *s, const wm_ebm *e, int64_t n, const double *y,
                             double *log_phi, wm_error *err)
{
    const int64_t d = e->info.dim;
    const float *r;
    wm_status st;

    for (int64_t i = 0; i < BLOCK * d; i++) /* a short block repeats its first row */
        s->x[i] = (float)y[i < n * d ? i : i % d];
    if ((st = wmi_program_forward(s->program, err)))
        return st;
    r = wmi_program_value(s->program, s->parts);
    for (int64_t k = 0; k < s->parts->shape.dim[0]; k++)
        for (int64_t i = 0; i < n; i++)
            log_phi[i] += (double)r[k * BLOCK + i];
    return WM_OK;
}

/* A row without a density (minus infinity) is an answer; NaN is none. */
static wm_status refuse_nan(const double *x, int64_t first, int64_t n, wm_error *err)
{
    for (int64_t i = 0; i < n; i++)
        if (isnan(x[i]))
            return wmi_fail(err, WM_EDIVERGED,
                            "the model gives no number for row %lld: the row is too far from what "
                            "it was fitted to, or its parameters are too large",
                            (long long)(first + i + 1));
    return WM_OK;
}

wm_status wm_ebm_log_density(const wm_ebm *e, const wm_data *x, uint64_t seed, double *log_q,
                             double *log_phi, const volatile sig_atomic_t *stop, wm_error *err)
{
    const int64_t n = wm_data_count(x), d = e->info.dim, raw = e->transform.raw;
    const wmi_rng rng = wmi_rng_make(seed, "ebm/valid");
    wmi_row_map density = {0};
    scorer bridges = {0};
    double *u = NULL, *y = NULL, log_det[BLOCK], q[BLOCK];
    wm_status st;

    if (wm_data_dim(x) != raw)
        return wmi_fail(err, WM_ESHAPE, "the data have %lld columns, the model %lld",
                        (long long)wm_data_dim(x), (long long)raw);
    if ((st = wmi_transform_check(&e->transform, "data", n, wm_data_rows(x), err)) ||
        (st = wmi_alloc(&u, BLOCK * d, sizeof *u, "rows", err)) ||
        (st = wmi_alloc(&y, BLOCK * d, sizeof *y, "rows", err)) ||
        (st = wmi_row_map_open(&density, e, WMI_MAP_DENSITY, wmi_ebm_precise(e), BLOCK, err)) ||
        (log_phi && (st = open_scorer(&bridges, e, err))))
        goto done;
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;

        if ((st = wmi_heed(stop, err)))
            goto done;
        if (wmi_transform_jitters(&e->transform))
            wmi_rng_uniform_f64(&rng, (uint64_t)(first * d), count * d, u);
        wmi_transform_rows(&e->transform, count, wm_data_rows(x) + first * raw, u, y, log_det);
        if ((st = wmi_row_map_run(&density, count, WMI_F64, y, NULL, q, err)))
            goto done;
        for (int64_t i = 0; i < count; i++) {
            q[i] += log_det[i];
            if (log_q)
                log_q[first + i] = q[i];
            if (log_phi)
                log_phi[first + i] = q[i];
        }
        if ((log_phi && (st = add_bridges(&bridges, e, count, y, log_phi + first, err))) ||
            (st = refuse_nan(log_phi ? log_phi + first : q, first, count, err)))
            goto done;
    }
done:
    close_scorer(&bridges);
    wmi_row_map_close(&density);
    wmi_free(y);
    wmi_free(u);
    return st;
}
