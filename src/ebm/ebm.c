/* ebm.c - what a wm_ebm is made of: its terms, its noise, its tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ebm/ebm_impl.h"
#include "nn/terms.h"

enum { EBM_TERMS = WM_EBM_QUADRATIC | WM_EBM_ADDITIVE | WM_EBM_MLP | WM_EBM_RESNET };

enum { LEVEL_ROWS = 8 }; /* that levels are made of, where they are more: one for 2 of log-SNR */

/* Terms are numbered alike here, in ratio.h and in nn/. */
_Static_assert(WM_EBM_QUADRATIC == WMI_TERM_QUADRATIC && WM_EBM_ADDITIVE == WMI_TERM_ADDITIVE &&
                   WM_EBM_MLP == WMI_TERM_MLP && WM_EBM_RESNET == WMI_TERM_RESNET,
               "the terms of ebm.h and bridge_model.h");

const char *wm_ebm_model_text(unsigned model, char *buf, size_t size)
{
    return wmi_terms_text(model & EBM_TERMS, buf, size);
}

wm_status wm_ebm_model_parse(unsigned *out, const char *text, wm_error *err)
{
    return wmi_terms_parse(EBM_TERMS, text, out, err);
}

void wm_ebm_opts_init(wm_ebm_opts *o)
{
    *o = (wm_ebm_opts){.struct_size = sizeof *o,
                       .noise_bins = WM_AUTO,
                       .noise_hidden = WM_AUTO,
                       .noise_levels = WM_AUTO,
                       .noise_steps = WM_AUTO,
                       .noise_dropout = WM_UNSET,
                       .bases = WM_AUTO,
                       .mlp_width = WM_AUTO,
                       .mlp_blocks = WM_AUTO,
                       .bridges = 10,
                       .warmup = 0.02,
                       .held_out = 0.1};
    wm_spacing_init(&o->spacing);
    for (int stage = 0; stage < WM_STAGES; stage++)
        wm_adam_opts_init(&o->train[stage]);
    wm_fit_control_init(&o->control);
}

/* ---- the parts ---- */

unsigned wmi_ebm_terms(const wm_ebm_opts *o)
{
    if (o->model)
        return o->model;
    if (o->height > 0)
        return WM_EBM_ADDITIVE | (o->network ? WM_EBM_RESNET : WM_EBM_MLP);
    return WM_EBM_QUADRATIC | WM_EBM_ADDITIVE | WM_EBM_MLP;
}

static void set_noise(wmi_noise_opts *n, const wm_ebm_opts *o, int64_t dim)
{
#define KIND(name, text) [WM_NOISE_##name] = WMI_NOISE_##name,
    static const wmi_noise_kind kinds[] = {WM_EBM_NOISES(KIND)};
#undef KIND

    if (o->height > 0)
        wmi_noise_opts_image(n, kinds[o->noise], o->height, o->width, o->channels);
    else
        wmi_noise_opts_init(n, kinds[o->noise], dim);
    if (o->noise_bins > 0)
        n->bins = o->noise_bins;
    if (o->noise_hidden > 0)
        n->hidden = o->noise_hidden;
    if (o->noise_levels > 0)
        n->levels = (int)o->noise_levels;
    if (o->noise_steps > 0)
        n->steps = (int)o->noise_steps;
    if (wm_is_set(o->noise_dropout))
        n->dropout = o->noise_dropout;
}

static wm_status set_model(wmi_model *net, const wm_ebm_opts *o, int64_t bridges, int64_t dim,
                           wm_error *err)
{
    wmi_model_init(net, bridges, dim);
    net->terms = wmi_ebm_terms(o);
    net->levels = o->objective == WM_OBJECTIVE_DENOISE;
    if (net->levels && bridges > LEVEL_ROWS)
        net->smooth = LEVEL_ROWS;
    net->quadratic = wmi_head_quadratic(WMI_QUADRATIC_PSD, true);
    net->head = wmi_head_quadratic(WMI_QUADRATIC_PSD, true);
    if (o->bases > 0)
        net->bases = o->bases;
    if (wmi_model_has_features(net))
        net->filters = dim;
    else if (net->terms & WM_EBM_ADDITIVE && wm_is_chosen(o->filters, o->height > 0))
        net->filters = 2 * dim;
    net->mlp.width = o->mlp_width > 0 ? o->mlp_width
                     : o->height == 0 ? 128
                     : net->levels    ? 768
                                      : 512;
    /* A quadratic head on more features costs more than the network under it. */
    net->mlp.out = net->mlp.width < 128 ? net->mlp.width : 128;
    net->mlp.blocks = o->mlp_blocks >= 0              ? (int)o->mlp_blocks
                      : o->height > 0 && !net->levels ? 1
                                                      : 2;
    if (wmi_model_has_features(net)) {
        net->hinges = WMI_EBM_HINGES;
        net->whites = WMI_EBM_WHITES;
    }
    if (!(net->terms & WM_EBM_RESNET))
        return WM_OK;
    if (o->height < 1)
        return wmi_about(wmi_fail(err, WM_EINVAL,
                                  "a resnet is for images: give their height and width, or "
                                  "another model"),
                         err, "image");
    net->resnet.height = o->height;
    net->resnet.width = o->width;
    net->resnet.channels = o->channels;
    return wmi_resnet_parse(&net->resnet, o->network ? o->network : "laptop", err);
}

wm_status wmi_ebm_open(wm_ebm *e, const wm_ebm_opts *o, wm_error *err)
{
    const int64_t m = e->alphas.bridges, dim = e->info.dim;
    wm_status st;

    e->seed = o->control.seed;
    e->info.noise = o->noise;
    e->info.model = wmi_ebm_terms(o);
    e->info.bridges = m;
    e->info.height = o->height;
    e->info.width = o->width;
    e->info.channels = o->channels;
    e->info.x_space = o->x_space;
    e->info.levels = e->transform.levels;
    e->info.columns = e->transform.raw;
    e->info.discrete = e->info.whole = 0;
    for (int64_t j = 0; j < e->transform.steps.raw; j++) {
        e->info.discrete += e->transform.steps.how[j] == WMI_STEP_SHARES;
        e->info.whole += e->transform.steps.how[j] == WMI_STEP_WHOLE;
    }
    if (o->noise_of)
        e->noise = o->noise_of->noise;
    else
        set_noise(&e->noise, o, dim);
    if ((st = set_model(&e->net, o, m, dim, err)) || (st = wmi_params_new(&e->params, err)) ||
        (st = wmi_model_declare(e->params, "", &e->net, err)) ||
        (st = wmi_params_new(&e->noise_params, err)) ||
        (st = wmi_noise_declare(e->noise_params, WMI_EBM_NOISE, &e->noise, err)) ||
        (st = wmi_alloc(&e->noise_theta, wmi_params_count(e->noise_params), sizeof *e->noise_theta,
                        "noise parameters", err)) ||
        (st = wmi_alloc(&e->theta, wmi_params_count(e->params), sizeof *e->theta, "parameters",
                        err)) ||
        (st = wmi_alloc(&e->bridges, m, sizeof *e->bridges, "bridges", err)))
        return st;
    for (int64_t k = 0; k < m; k++)
        e->bridges[k] =
            (wm_bridge){.alpha_from = e->alphas.alpha[k], .alpha_to = e->alphas.alpha[k + 1]};
    if (e->net.terms & WM_EBM_ADDITIVE && !e->net.levels)
        st = wmi_alloc(&e->knots, wmi_model_columns(&e->net) * (e->net.bases + 4), sizeof *e->knots,
                       "knots", err);
    if (!st && e->net.smooth)
        st = wmi_alloc(&e->basis, m * e->net.smooth, sizeof *e->basis, "levels", err);
    if (!st && e->net.hinges &&
        !(st = wmi_alloc(&e->hinge, wmi_ebm_hinges(e) * dim, sizeof *e->hinge, "hinges", err)))
        st = wmi_alloc(&e->turn, e->net.hinges * e->net.hinges * dim, sizeof *e->turn, "hinges",
                       err);
    if (!st && e->net.levels && e->net.terms & (WMI_TERM_MLP | WMI_TERM_RESNET))
        st = wmi_alloc(&e->cap, 2 * m, sizeof *e->cap, "levels", err);
    if (!st && e->net.filters)
        st = wmi_alloc(&e->filter, dim * e->net.filters, sizeof *e->filter, "filters", err);
    e->net.hinge = e->hinge;
    e->net.turn = e->turn;
    if (!st)
        wmi_ebm_derive(e);
    return st;
}

void wmi_ebm_derive(wm_ebm *e)
{
    if (e->basis)
        wmi_level_basis(e->alphas.bridges, e->alphas.alpha, e->net.smooth, e->basis);
    e->net.basis = e->basis;
}

void wm_ebm_free(wm_ebm *e)
{
    if (!e)
        return;
    wmi_free(e->schema);
    wmi_transform_free(&e->transform);
    wmi_params_free(e->noise_params);
    wmi_params_free(e->params);
    wmi_free(e->noise_theta);
    wmi_free(e->theta);
    wmi_free(e->knots);
    wmi_free(e->basis);
    wmi_free(e->hinge);
    wmi_free(e->turn);
    wmi_free(e->cap);
    wmi_free(e->filter);
    wmi_free(e->bridges);
    wmi_free(e);
}

void wm_ebm_get_info(const wm_ebm *e, wm_ebm_info *info)
{
    *info = e->info;
}

wm_kind wm_ebm_kind(const wm_ebm *e, int64_t column)
{
    const wmi_steps *s = &e->transform.steps;

    if (s->raw == 0)
        return e->transform.levels > 0 ? WM_KIND_INTEGER : WM_KIND_CONTINUOUS;
    return s->how[column] == WMI_STEP_SHARES  ? WM_KIND_CATEGORICAL
           : s->how[column] == WMI_STEP_WHOLE ? WM_KIND_INTEGER
                                              : WM_KIND_CONTINUOUS;
}

bool wm_ebm_is_constant(const wm_ebm *e, int64_t column)
{
    const wmi_steps *s = &e->transform.steps;

    return s->raw > 0 && s->how[column] == WMI_STEP_CONSTANT;
}

const char *wm_ebm_schema(const wm_ebm *e)
{
    return e->schema;
}

void wm_ebm_get_bridge(const wm_ebm *e, int64_t k, wm_bridge *bridge)
{
    *bridge = e->bridges[k];
}
