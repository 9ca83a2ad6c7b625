/* ebm_cap.c - how much networks may add to a level: what they do at waymarks, and a little more.
 *
 * Where no waymark is, a network promises what its layers happen to give: on digits a chain that
 * made strokes ever thicker, until ink filled the image, had 2,700 nats of it, waymarks of that
 * level 185 and at most 450. Beyond the cap only the other terms change, which features bound. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ebm/ebm_impl.h"

enum { ROWS = 1024, BLOCK = 128 }; /* of each level; of a program */

/* The cap and its bend from n numbers and a constant they lack: none of them is touched. */
static void set_cap(wm_ebm *e, int64_t k, int64_t n, const float *x, double constant)
{
    const double least = 0.1; /* nats */
    double mean = 0, top = -INFINITY, bend;

    for (int64_t i = 0; i < n; i++) {
        mean += (double)x[i] / (double)n;
        top = fmax(top, (double)x[i]);
    }
    bend = fmax((top - mean) / 2, least);
    e->cap[k] = (float)(top + bend / 2 + constant);
    e->cap[e->info.bridges + k] = (float)bend;
}

/* What networks give at ROWS waymarks of every level: to (m, ROWS). */
static wm_status see_levels(const wm_ebm *e, wmi_ebm_rows *rows, float *to, wm_error *err)
{
    const wmi_source source = wmi_ebm_bridge_source(rows);
    const int64_t d = source.dim, m = e->info.bridges, x[] = {BLOCK, d};
    wmi_model networks = e->net;
    wmi_model_inputs in = {.layout = WMI_ROWS_SHARED};
    wmi_graph *graph = NULL;
    wmi_program *program = NULL;
    wmi_node *f;
    float *z = NULL, *work = NULL;
    void *at;
    wm_status st;

    networks.terms &= WM_EBM_MLP | WM_EBM_RESNET;
    if ((st = wmi_alloc(&z, 2 * BLOCK * d, sizeof *z, "rows", err)) ||
        (st = wmi_alloc(&work, BLOCK * d, sizeof *work, "rows", err)) ||
        (st = wmi_graph_new(&graph, WMI_F32, e->params, err)))
        goto done;
    in.x = wmi_input(graph, "x", 2, x);
    wmi_model_constants(graph, &networks, &in);
    f = wmi_model_levels(graph, "", &networks, &in);
    if ((st =
             wmi_compile(&program, graph, &(wmi_compile_opts){.outputs = &f, .n_outputs = 1}, err)))
        goto done;
    wmi_program_bind(program, e->theta, NULL);
    if ((st = wmi_model_fill(program, &networks, e->knots, e->filter, err)) ||
        (st = wmi_program_input(program, "x", &at, err)))
        goto done;
    for (int64_t i = 0; i < m * ROWS; i += BLOCK) {
        const int64_t k = i / ROWS;

        if ((st = source.train(source.ctx, i / BLOCK, BLOCK, z, z + BLOCK * d, err)))
            goto done;
        wm_waymark_linear_f32(e->alphas.alpha[k], BLOCK * d, z, z + BLOCK * d, work);
        if (source.map)
            st = source.map(source.ctx, BLOCK, d, work, at, err);
        else
            memcpy(at, work, (size_t)(BLOCK * d) * sizeof *work);
        if (st || (st = wmi_program_forward(program, err)))
            goto done;
        memcpy(to + i, (const float *)wmi_program_value(program, f) + k * BLOCK,
               BLOCK * sizeof *to);
    }
done:
    wmi_program_free(program);
    wmi_graph_free(graph);
    wmi_free(work);
    wmi_free(z);
    return st;
}

wm_status wmi_ebm_cap_make(wm_ebm *e, wmi_ebm_rows *rows, wm_error *err)
{
    const wmi_param_entry *constants = wmi_params_find(e->params, "c");
    float *f = NULL;
    wm_status st;

    if (!e->cap)
        return WM_OK;
    if (!(st = wmi_alloc(&f, e->info.bridges * ROWS, sizeof *f, "levels", err)) &&
        !(st = see_levels(e, rows, f, err))) {
        for (int64_t k = 0; k < e->info.bridges; k++)
            set_cap(e, k, ROWS, f + k * ROWS, (double)e->theta[constants->offset + k]);
        e->net.cap = e->cap;
    }
    wmi_free(f);
    return st;
}
