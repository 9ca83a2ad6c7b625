/* bridge_model.c - the energy of a set of bridges as a sum of terms, log r_k = -(sum of terms +
 * c_k). */
#include "nn/bridge_model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "nn/terms.h"

#define ALL_TERMS                                                                                  \
    (WMI_TERM_LINEAR | WMI_TERM_QUADRATIC | WMI_TERM_ADDITIVE | WMI_TERM_MLP | WMI_TERM_RESNET |   \
     WMI_TERM_SEPARABLE)

void wmi_model_init(wmi_model *model, int64_t bridges, int64_t dim)
{
    *model = (wmi_model){.bridges = bridges,
                         .dim = dim,
                         .terms = WMI_TERM_QUADRATIC,
                         .quadratic = wmi_head_quadratic(WMI_QUADRATIC_PSD, true),
                         .head = wmi_head_quadratic(WMI_QUADRATIC_PSD, true),
                         .bases = 16};
    wmi_mlp_opts_init(&model->mlp);
    wmi_resnet_mnist(&model->resnet);
    wmi_separable_opts_init(&model->separable);
}

void wmi_model_gaussian(wmi_model *model, int64_t bridges, int64_t dim)
{
    wmi_model_init(model, bridges, dim);
    model->quadratic = wmi_head_quadratic(WMI_QUADRATIC_SYMMETRIC, false);
}

void wmi_model_mnist(wmi_model *model, int64_t bridges)
{
    wmi_model_init(model, bridges, 28 * 28);
    model->terms = WMI_TERM_RESNET;
}

static bool sane(wmi_net *net, const wmi_model *model)
{
    if (model->bridges < 1 || model->dim < 1 || model->dim_u < 0)
        wmi_net_fail(net, WM_EINVAL,
                     "model: %" PRId64 " bridges, %" PRId64 " columns, %" PRId64 " columns of u",
                     model->bridges, model->dim, model->dim_u);
    if (!model->terms || model->terms & ~ALL_TERMS)
        wmi_net_fail(net, WM_EINVAL, "model: no set of terms is %#x", model->terms);
    if (model->terms & WMI_TERM_SEPARABLE && !model->dim_u)
        wmi_net_fail(net, WM_EINVAL, "model: the separable term needs a u");
    return !net->st;
}

/* A value of (rows, dim); where building, checks that it is one, and that grouped rows fill all
 * groups. */
static wmi_value rows_of(wmi_net *net, const char *name, wmi_node *x, int64_t dim, bool shared)
{
    char text[96];

    if (net->graph && !x)
        wmi_net_fail(net, WM_EINVAL, "model: %s is missing", name);
    else if (net->graph && (x->shape.rank != 2 || x->shape.dim[1] != dim))
        wmi_net_fail(net, WM_ESHAPE, "model: %s is %s, not (rows, %" PRId64 ")", name,
                     wmi_shape_text(&x->shape, text), dim);
    else if (net->graph && !shared && x->shape.dim[0] % net->m)
        wmi_net_fail(net, WM_ESHAPE, "model: %s has %" PRId64 " rows for %" PRId64 " bridges", name,
                     x->shape.dim[0], net->m);
    return (wmi_value){.node = net->st ? NULL : x, .c = dim, .shared = shared};
}

/* The rows (u, x), for terms that do not tell the two apart. Shared rows of u are repeated for
 * every bridge, and within it (bridge_model.h). */
static wmi_value join(wmi_net *net, wmi_value u, wmi_value x)
{
    if (u.node && x.node) {
        const int64_t have = u.node->shape.dim[0], rows = x.node->shape.dim[0];
        const int64_t n = u.shared && !x.shared ? rows / net->m : rows;

        if (have < 1 || n % have)
            wmi_net_fail(net, WM_ESHAPE, "model: %" PRId64 " rows of u for %" PRId64 " of x", have,
                         n);
        else
            x.node = wmi_concat(
                net->graph, 2,
                (wmi_node *[]){wmi_rows_repeat(net->graph, u.node, rows / have), x.node}, 1);
    }
    x.c += u.c;
    return x;
}

/* A head on the features of a body; of levels, on all of its layers. */
static wmi_node *term_of_body(wmi_net *net, const wmi_model *model, const wmi_body *body,
                              wmi_value x)
{
    wmi_value h = wmi_body_features(net, body, model->independent, x);
    const size_t mark = wmi_net_enter(net, "head");
    wmi_node *energy;

    if (net->levels) {
        wmi_head_read(net, h, 1);
        energy = net->read;
        net->read = NULL;
    } else {
        energy = wmi_head_energy(net, &model->head, h);
    }
    wmi_net_leave(net, mark);
    return energy;
}

/* x beside the second Hermite polynomials of its columns. */
static wmi_value with_squares(wmi_net *net, wmi_value x)
{
    const double root_half = 0.70710678118654752440;

    if (x.node)
        x.node = wmi_concat(
            net->graph, 2,
            (wmi_node *[]){x.node, wmi_affine(net->graph, wmi_mul(net->graph, x.node, x.node),
                                              root_half, -root_half)},
            1);
    x.c *= 2;
    return x;
}

/* What terms are made of: constants, and what several of them read. */
typedef struct sources {
    const wmi_model_inputs *in; /* NULL while declaring */
    wmi_node *filtered;         /* x W of a model with filters */
    wmi_node *column, *white;   /* (n, hinges, d), (n, whites, d) of a model of levels */
} sources;

/* x, and x W beside it. */
static wmi_value with_filters(wmi_net *net, const wmi_model *model, wmi_value x, const sources *s)
{
    if (model->filters && net->graph) {
        if (!s->filtered)
            wmi_net_fail(net, WM_EINVAL, "the additive head has no filters");
        x.node = wmi_concat(net->graph, 2, (wmi_node *[]){x.node, s->filtered}, 1);
    }
    x.c += model->filters;
    return x;
}

/* The features of a model of levels: hinges of x, and of x whitened. */
static void make_features(wmi_net *net, const wmi_model *model, wmi_value x, sources *s)
{
    const int64_t c = model->hinges, all = c + model->whites;
    wmi_graph *g = net->graph;

    if (!s->in->hinge || !s->filtered) {
        wmi_net_fail(net, WM_EINVAL, "a model of levels has no hinges");
        return;
    }
    s->column = wmi_hinges(g, x.node, wmi_slice(g, s->in->hinge, 0, 0, c));
    s->white = wmi_hinges(g, s->filtered, wmi_slice(g, s->in->hinge, 0, c, all));
}

/* What networks of levels read: x whitened, and some of the hinges, each of them together; or, for
 * an image of so many channels, each as further channels. */
static wmi_value network_reads(wmi_net *net, wmi_value x, const sources *s, int64_t channels)
{
    const int64_t d = x.c, parts = 1 + WMI_MODEL_READS;
    wmi_graph *g = net->graph;

    if (s->column) {
        const int64_t n = x.node->shape.dim[0];
        wmi_node *both[] = {wmi_slice(g, s->white, 1, 0, 1),
                            wmi_slice(g, s->column, 1, 0, WMI_MODEL_READS)};

        x.node = wmi_concat(g, 2, both, 1);
        if (channels > 0) {
            x.node = wmi_reshape(g, x.node, 4, (int64_t[]){n, parts, d / channels, channels});
            x.node = wmi_permute(g, x.node, (int[]){0, 2, 1, 3});
        }
        x.node = wmi_reshape(g, x.node, 2, (int64_t[]){n, parts * d});
    }
    x.c = parts * d;
    return x;
}

/* The additive term of levels, linear in the features. Those of a column are much alike: w is kept
 * in coordinates where they are not, to which the constant `turn` leads. */
static wmi_node *additive_levels(wmi_net *net, const wmi_model *model, wmi_value x,
                                 const sources *s)
{
    const wmi_init zero = {.kind = WMI_INIT_CONST};
    const int64_t d = x.c, c = model->hinges, w = model->whites, rows = wmi_net_rows(net);
    wmi_node *column =
        wmi_net_param(net, "column", 3, (int64_t[]){d, rows, c}, zero, WMI_GROUP_SPLINE);
    wmi_node *white =
        wmi_net_param(net, "white", 2, (int64_t[]){rows, w * d}, zero, WMI_GROUP_SPLINE);
    wmi_graph *g = net->graph;
    int64_t n;

    if (!g || !s->column)
        return NULL;
    n = x.node->shape.dim[0];
    column = wmi_permute(g, wmi_matmul(g, column, s->in->turn, false, false), (int[]){1, 2, 0});
    column = wmi_matmul(g, wmi_reshape(g, column, 2, (int64_t[]){rows, c * d}),
                        wmi_reshape(g, s->column, 2, (int64_t[]){n, c * d}), false, true);
    white = wmi_matmul(g, white, wmi_reshape(g, s->white, 2, (int64_t[]){n, w * d}), false, true);
    column = wmi_add(g, column, white);
    return net->smooth > 0 ? wmi_matmul(g, net->basis, column, false, false) : column;
}

/* The features of the CondResNet. */
static wmi_node *term_of_resnet(wmi_net *net, const wmi_model *model, wmi_value x, const sources *s)
{
    wmi_body body = {.kind = WMI_BODY_RESNET, .resnet = model->resnet};

    if (model->levels) {
        x = network_reads(net, x, s, model->resnet.channels);
        body.resnet.channels *= 1 + WMI_MODEL_READS;
    }
    return term_of_body(net, model, &body, x);
}

static wmi_node *term(wmi_net *net, const wmi_model *model, unsigned which, wmi_value x,
                      const sources *s)
{
    const wmi_head_opts linear = wmi_head_linear(), squares = {.linear = true, .from_zero = true};

    switch (which) {
    case WMI_TERM_LINEAR:
        return wmi_head_energy(net, &linear, x);
    case WMI_TERM_QUADRATIC:
        return model->diagonal ? wmi_head_energy(net, &squares, with_squares(net, x))
                               : wmi_head_energy(net, &model->quadratic, x);
    case WMI_TERM_ADDITIVE:
        return model->levels ? additive_levels(net, model, x, s)
                             : wmi_head_additive(net, model->bases, s->in ? s->in->knots : NULL,
                                                 with_filters(net, model, x, s));
    case WMI_TERM_MLP:
        return term_of_body(net, model, &(wmi_body){.kind = WMI_BODY_MLP, .mlp = model->mlp},
                            model->squares  ? with_squares(net, x)
                            : model->levels ? network_reads(net, x, s, 0)
                                            : x);
    default:
        return term_of_resnet(net, model, x, s);
    }
}

/* in is NULL while declaring. */
static wmi_node *sum_of_terms(wmi_net *net, const wmi_model *model, const wmi_model_inputs *in)
{
    const bool shared = in && in->layout == WMI_ROWS_SHARED;
    wmi_node *energy = NULL, *networks = NULL, *xn = in ? in->x : NULL, *un = in ? in->u : NULL;
    wmi_value x, ux, u = {.c = 0};
    sources shares = {.in = in};

    if (!sane(net, model))
        return NULL;
    if (model->dim_u && xn && !un && xn->shape.rank == 2 &&
        xn->shape.dim[1] == model->dim_u + model->dim) { /* both in one row */
        un = wmi_slice(net->graph, xn, 1, 0, model->dim_u);
        xn = wmi_slice(net->graph, xn, 1, model->dim_u, model->dim_u + model->dim);
    }
    x = rows_of(net, "x", xn, model->dim, shared || (in && in->mix));
    if (model->dim_u) {
        /* In the grouped layout u may have a row of its own for every row of x. */
        u = rows_of(net, "u", un, model->dim_u, true);
        if (!shared && u.node && x.node && u.node->shape.dim[0] == x.node->shape.dim[0])
            u.shared = false;
    }
    if (in && in->mix && model->terms != WMI_TERM_SEPARABLE)
        wmi_net_fail(net, WM_EINVAL, "model: only the separable term mixes cells by itself");
    ux = (model->terms & ~WMI_TERM_SEPARABLE) ? join(net, u, x) : x;
    if (in && in->filter && model->filters && ux.node)
        shares.filtered = wmi_matmul(net->graph, ux.node, in->filter, false, false);
    if (ux.node && wmi_model_has_features(model))
        make_features(net, model, ux, &shares);
    for (int i = 0; i < WMI_TERMS && !net->st; i++) {
        const unsigned which = 1u << i;
        size_t mark;
        wmi_node *e;

        if (!(model->terms & which))
            continue;
        mark = wmi_net_enter(net, "%s", wmi_term_name(i));
        if (which == WMI_TERM_SEPARABLE)
            e = wmi_separable(net, &model->separable, model->independent, u, x,
                              in ? in->mix : NULL);
        else
            e = term(net, model, which, ux, &shares);
        if (which & (WMI_TERM_MLP | WMI_TERM_RESNET) && model->cap)
            networks = wmi_energy_add(net, networks, e);
        else
            energy = wmi_energy_add(net, energy, e);
        wmi_net_leave(net, mark);
    }
    if (networks)
        energy = wmi_energy_add(net, energy, wmi_energy_capped(net, networks, in->cap));
    return wmi_log_ratio(net, energy);
}

wm_status wmi_model_declare(wmi_params *params, const char *prefix, const wmi_model *model,
                            wm_error *err)
{
    wmi_net net = wmi_net_declare(params, prefix, model->bridges, err);

    net.smooth = model->smooth;
    net.levels = model->levels;
    (void)sum_of_terms(&net, model, NULL);
    return wmi_net_status(&net, err);
}

/* The terms of the bridges that are asked for, or of all levels. */
static wmi_node *build_terms(wmi_graph *g, const char *prefix, const wmi_model *model,
                             const wmi_model_inputs *in)
{
    const int64_t count = in->count > 0 ? in->count : model->bridges;
    wmi_net net = wmi_net_build(g, prefix, count);

    net.first = in->first;
    net.smooth = model->smooth;
    net.levels = model->levels;
    net.basis = in->basis;
    if (model->smooth && !in->basis)
        wmi_net_fail(&net, WM_EINVAL, "model: its levels have no basis");
    if (in->first < 0 || in->first + count > model->bridges)
        wmi_net_fail(&net, WM_EINVAL, "model: %" PRId64 " from %" PRId64 " on of %" PRId64, count,
                     in->first, model->bridges);
    if (model->levels && (in->layout != WMI_ROWS_SHARED || count < model->bridges))
        wmi_net_fail(&net, WM_EINVAL, "model: levels are evaluated together, at the same rows");
    return sum_of_terms(&net, model, in);
}

wmi_node *wmi_levels_next(wmi_graph *g, wmi_node *f)
{
    const int64_t m = f ? f->shape.dim[0] : 1;
    wmi_node *zero = wmi_affine(g, wmi_slice(g, f, 0, 0, 1), 0, 0);

    if (m == 1)
        return zero;
    return wmi_concat(g, 2, (wmi_node *[]){wmi_slice(g, f, 0, 1, m), zero}, 0);
}

wmi_node *wmi_model_levels(wmi_graph *g, const char *prefix, const wmi_model *model,
                           const wmi_model_inputs *in)
{
    if (!model->levels)
        return wmi_graph_fail(g, WM_EINVAL, "model: its terms are bridges, not levels");
    return build_terms(g, prefix, model, in);
}

wmi_node *wmi_model_build(wmi_graph *g, const char *prefix, const wmi_model *model,
                          const wmi_model_inputs *in)
{
    wmi_node *f = build_terms(g, prefix, model, in);

    return model->levels ? wmi_sub(g, f, wmi_levels_next(g, f)) : f;
}

wmi_node *wmi_model_parts(wmi_graph *g, const char *prefix, const wmi_model *model,
                          const wmi_model_inputs *in)
{
    wmi_node *f = build_terms(g, prefix, model, in);

    return model->levels ? wmi_slice(g, f, 0, 0, 1) : f; /* log p_0 / p_m */
}

wmi_node *wmi_model_embed(wmi_graph *g, const char *prefix, const wmi_model *model, wmi_node *u)
{
    wmi_net net = wmi_net_build(g, prefix, model->bridges);
    size_t mark;
    wmi_value h;

    if (!(model->terms & WMI_TERM_SEPARABLE))
        wmi_net_fail(&net, WM_EINVAL, "model: only the separable term has an embedding g(u)");
    if (!sane(&net, model))
        return NULL;
    h = rows_of(&net, "u", u, model->dim_u, true);
    mark = wmi_net_enter(&net, "separable");
    h = wmi_separable_embed(&net, &model->separable, h);
    wmi_net_leave(&net, mark);
    return h.node;
}

wmi_node *wmi_model_pairs(wmi_graph *g, const char *prefix, const wmi_model *model, wmi_node *u,
                          wmi_node *x, wmi_node **own)
{
    wmi_net net = wmi_net_build(g, prefix, model->bridges);
    wmi_value uv, xv;
    wmi_node *all;
    size_t mark;

    *own = NULL;
    if (model->terms != WMI_TERM_SEPARABLE || model->bridges != 1)
        wmi_net_fail(&net, WM_EINVAL, "model: all pairs are for one separable bridge");
    if (!sane(&net, model))
        return NULL;
    uv = rows_of(&net, "u", u, model->dim_u, true);
    xv = rows_of(&net, "x", x, model->dim, false);
    mark = wmi_net_enter(&net, "separable");
    all = wmi_separable_pairs(&net, &model->separable, uv, xv, own);
    wmi_net_leave(&net, mark);
    if (*own)
        *own = wmi_reshape(g, wmi_log_ratio(&net, *own), 1, &x->shape.dim[0]);
    return wmi_log_ratio(&net, all);
}

/* The cubic B-spline of width 4, 0 beyond 2. */
static double bump(double u)
{
    const double v = 2 - fabs(u), w = 1 - fabs(u);

    return v <= 0 ? 0 : (v * v * v - (w > 0 ? 4 * w * w * w : 0)) / 6;
}

void wmi_level_basis(int64_t m, const double *alpha, int64_t smooth, float *basis)
{
    const double high = log1p(-alpha[0] * alpha[0]) - 2 * log(alpha[0]),
                 low = log1p(-alpha[m - 1] * alpha[m - 1]) - 2 * log(alpha[m - 1]);

    for (int64_t k = 0; k < m; k++) {
        const double snr = log1p(-alpha[k] * alpha[k]) - 2 * log(alpha[k]),
                     at = high > low ? (high - snr) / (high - low) * (double)(smooth - 1) : 0;
        double sum = 0;

        for (int64_t r = 0; r < smooth; r++)
            sum += bump(at - (double)r);
        for (int64_t r = 0; r < smooth; r++)
            basis[k * smooth + r] = (float)(bump(at - (double)r) / sum);
    }
}

/* Whether a term reads x W: of bridges the additive one, of levels all that read features. */
static bool has_filter(const wmi_model *model)
{
    return model->filters &&
           (model->levels ? wmi_model_has_features(model) : model->terms & WMI_TERM_ADDITIVE);
}

static bool has_knots(const wmi_model *model)
{
    return !model->levels && model->terms & WMI_TERM_ADDITIVE;
}

void wmi_model_constants(wmi_graph *g, const wmi_model *model, wmi_model_inputs *in)
{
    const int64_t knots[] = {wmi_model_columns(model), model->bases + 4};
    const int64_t filter[] = {model->dim_u + model->dim, model->filters};
    const int64_t hinge[] = {model->hinges + model->whites, 5, model->dim};
    const int64_t turn[] = {model->dim, model->hinges, model->hinges};

    if (model->smooth)
        in->basis = wmi_input(g, "basis", 2, (int64_t[]){model->bridges, model->smooth});
    if (wmi_model_has_features(model)) {
        in->hinge = wmi_input(g, "hinge", 3, hinge);
        if (model->terms & WMI_TERM_ADDITIVE)
            in->turn = wmi_input(g, "turn", 3, turn);
    }
    if (model->cap)
        in->cap = wmi_input(g, "cap", 2, (int64_t[]){2, model->bridges});
    if (has_knots(model))
        in->knots = wmi_input(g, "knots", 2, knots);
    if (has_filter(model))
        in->filter = wmi_input(g, "filter", 2, filter);
}

static wm_status fill(wmi_program *p, const char *name, const float *from, int64_t count,
                      wm_error *err)
{
    void *at;
    wm_status st;

    if (!from)
        return wmi_fail(err, WM_EINVAL, "the model has no %s", name);
    if (!(st = wmi_program_input(p, name, &at, err)))
        memcpy(at, from, (size_t)count * sizeof *from);
    return st;
}

wm_status wmi_model_fill(wmi_program *p, const wmi_model *model, const float *knots,
                         const float *filter, wm_error *err)
{
    const int64_t h = model->hinges;
    const bool features = wmi_model_has_features(model);
    wm_status st;

    if ((model->smooth &&
         (st = fill(p, "basis", model->basis, model->bridges * model->smooth, err))) ||
        (features &&
         (st = fill(p, "hinge", model->hinge, 5 * (h + model->whites) * model->dim, err))) ||
        (features && model->terms & WMI_TERM_ADDITIVE &&
         (st = fill(p, "turn", model->turn, h * h * model->dim, err))) ||
        (model->cap && (st = fill(p, "cap", model->cap, 2 * model->bridges, err))) ||
        (has_knots(model) &&
         (st = fill(p, "knots", knots, wmi_model_columns(model) * (model->bases + 4), err))))
        return st;
    return has_filter(model)
               ? fill(p, "filter", filter, (model->dim_u + model->dim) * model->filters, err)
               : WM_OK;
}
