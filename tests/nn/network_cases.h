/* network_cases.h - the networks of make_reference.py, and parameters and inputs drawn as there. */
#ifndef WM_TESTS_NETWORK_CASES_H
#define WM_TESTS_NETWORK_CASES_H

#include "nn_run.h"

typedef struct network {
    const char *name;
    int64_t m, n, n_u;
    void (*describe)(wmi_model *model, int64_t m);
} network;

static inline void set_mnist(wmi_model *model, int64_t m)
{
    wmi_model_mnist(model, m);
}

static inline void set_mnist_small(wmi_model *model, int64_t m) /* an eighth of the channels */
{
    wmi_model_mnist(model, m);
    model->resnet.stem.width /= 8;
    model->resnet.dense /= 8;
    for (int i = 0; i < model->resnet.n_blocks; i++)
        model->resnet.block[i].width /= 8;
}

/* Not square, several channels, even stride, per channel, a projection without need. */
static inline void set_channels(wmi_model *model, int64_t m)
{
    static const wmi_resnet_block block[] = {{.width = 6},
                                             {.width = 6, .down = true},
                                             {.width = 10},
                                             {.width = 10, .down = true, .project = true},
                                             {.width = 10}};

    wmi_model_init(model, m, 15 * 13 * 2);
    model->terms = WMI_TERM_RESNET;
    model->head = wmi_head_quadratic(WMI_QUADRATIC_FREE, false);
    wmi_resnet_laptop(&model->resnet);
    model->resnet.height = 15;
    model->resnet.width = 13;
    model->resnet.channels = 2;
    model->resnet.stem.width = 6;
    model->resnet.dense = 8;
    model->resnet.per_channel = true;
    memcpy(model->resnet.block, block, sizeof block);
}

static inline void set_omniglot(wmi_model *model, int64_t m)
{
    wmi_model_init(model, m, 28 * 28);
    model->dim_u = model->dim;
    model->terms = WMI_TERM_SEPARABLE;
    wmi_separable_omniglot(&model->separable, 1, 4);
    model->separable.g.resnet.dense = model->separable.f.resnet.dense = 12;
}

static inline wmi_mlp_opts mlp(int64_t width, int64_t out, int blocks, bool residual)
{
    wmi_mlp_opts opts;

    wmi_mlp_opts_init(&opts);
    opts.width = width;
    opts.out = out;
    opts.blocks = blocks;
    opts.residual = residual;
    return opts;
}

static inline void set_mlp_residual(wmi_model *model, int64_t m)
{
    wmi_model_init(model, m, 7);
    model->terms = WMI_TERM_MLP;
    model->mlp = mlp(10, 6, 2, true);
}

static inline void set_mlp_plain(wmi_model *model, int64_t m)
{
    wmi_model_init(model, m, 7);
    model->terms = WMI_TERM_MLP;
    model->head = wmi_head_linear();
    model->mlp = mlp(10, 6, 2, false);
}

static inline void set_sum(wmi_model *model, int64_t m)
{
    wmi_model_init(model, m, 3);
    model->dim_u = 2;
    model->terms = WMI_TERM_LINEAR | WMI_TERM_QUADRATIC | WMI_TERM_ADDITIVE | WMI_TERM_MLP |
                   WMI_TERM_SEPARABLE;
    model->independent = true;
    model->quadratic = wmi_head_quadratic(WMI_QUADRATIC_SYMMETRIC, true);
    model->bases = 7;
    model->mlp = mlp(5, 4, 1, true);
    model->separable.g.mlp = mlp(4, 3, 1, true);
    model->separable.f.mlp = mlp(6, 5, 1, false);
}

static const network networks[] = {
    {"mnist_small", 3, 2, 0, set_mnist_small}, {"channels", 2, 3, 0, set_channels},
    {"omniglot", 2, 6, 3, set_omniglot},       {"mlp_residual", 3, 5, 0, set_mlp_residual},
    {"mlp_plain", 3, 5, 0, set_mlp_plain},     {"sum", 7, 4, 2, set_sum},
    {"mnist_paper", 10, 2, 0, set_mnist},
};
enum { N_NETWORKS = sizeof networks / sizeof *networks, N_SMALL = N_NETWORKS - 1 };

/* ---- parameters and inputs ---- */

static inline double draw(const wmi_param_entry *e, int64_t i)
{
    const char *slash = strrchr(e->name, '/'), *last = slash ? slash + 1 : e->name;
    const int64_t *dim = e->shape.dim;
    const double v = named_uniform(e->name, i);

    if (!strcmp(last, "w") && e->shape.rank == 2)
        return v * sqrt(6 / (double)(dim[0] + dim[1]));
    if (!strcmp(last, "w") && e->shape.rank == 4)
        return v * sqrt(6 / (double)(dim[0] * dim[1] * (dim[2] + dim[3])));
    if (!strcmp(last, "w"))
        return v / sqrt((double)dim[1]);
    if (!strcmp(last, "a"))
        return v * 0.3 / sqrt((double)dim[1]) + (i / dim[2] % dim[1] == i % dim[2] ? 4 : 0);
    if (!strcmp(last, "scale") || !strcmp(last, "gamma"))
        return 1 + 0.2 * v;
    if (!strcmp(last, "shift") || !strcmp(last, "b"))
        return 0.2 * v;
    return v;
}

static inline void draw_all(nn_run *r, const wmi_model *model)
{
    const int64_t per_column = model->bases + 4;
    const double step = 3 / (double)(model->bases - 3);

    for (int64_t k = 0; k < wmi_params_entries(r->params); k++) {
        const wmi_param_entry *e = wmi_params_entry(r->params, k);

        for (int64_t i = 0; i < e->count; i++)
            nn_set(r->dtype, r->theta, e->offset + i, draw(e, i));
    }
    for (int64_t i = 0; i < r->x->n; i++)
        nn_set(r->dtype, r->in_x, i, 1.8 * named_uniform("x", i));
    for (int64_t i = 0; r->u && i < r->u->n; i++)
        nn_set(r->dtype, r->in_u, i, 1.8 * named_uniform("u", i));
    for (int64_t i = 0; i < r->m * r->n; i++)
        nn_set(r->dtype, r->in_t, i, named_uniform("t", i));
    for (int64_t i = 0; r->knots && i < r->dim_x * per_column; i++)
        nn_set(r->dtype, r->knots, i,
               -1.5 + step * ((double)(i % per_column) - 3 + 0.3 * named_uniform("knots", i)));
}

#endif
