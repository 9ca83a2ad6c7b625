/* bridge_model.h - a whole set of bridges: log r_k(x), k = 0 .. m - 1, as one energy that is a sum
 * of terms.
 *
 *   wmi_model model;
 *   wmi_model_mnist(&model, 10);
 *   st = wmi_model_declare(params, "", &model, err);          once: parameters into the table
 *   scores = wmi_model_build(graph, "", &model, &inputs);      for every batch shape: (m, n)
 *
 * The parameters are the same for both layouts of the rows, and for any number of them. */
#ifndef WMI_NN_BRIDGE_MODEL_H
#define WMI_NN_BRIDGE_MODEL_H

#include "engine/program.h"
#include "nn/heads.h"
#include "nn/separable.h"

/* Terms of the energy; a model has any set of them. Their parameters lie under these names. */
#define WMI_TERM_LINEAR 1u     /* "linear": w_k' x */
#define WMI_TERM_QUADRATIC 2u  /* "quadratic": x' Q_k x [+ w_k' x] */
#define WMI_TERM_ADDITIVE 4u   /* "additive": sum_j b_kj(x_j) */
#define WMI_TERM_MLP 8u        /* "mlp": a head on the features of the conditional MLP */
#define WMI_TERM_RESNET 16u    /* "resnet": a head on those of the CondResNet */
#define WMI_TERM_SEPARABLE 32u /* "separable": g(u)' W_k f_k(v) */

typedef struct wmi_model {
    int64_t bridges;  /* m */
    int64_t dim;      /* columns of x, or of v where the model has a u */
    int64_t dim_u;    /* columns of u; 0 where x is one thing */
    unsigned terms;   /* WMI_TERM_* */
    bool independent; /* bridges share nothing: a network for each */
    /* The terms are not those of bridges but of levels, f_k = log p_k / p_m, of which bridges are
     * the differences: log r_k = f_k - f_{k+1}, f_m = 0. One network serves them all: they part in
     * linear heads on what it and the additive term make of a row, and are evaluated together. */
    bool levels;
    /* Levels that are one smooth function of the level: basis (bridges, smooth), which is borrowed,
     * has what each is made of (wmi_level_basis); all but their constants. 0: nothing is shared
     * that bridges do not share. */
    int64_t smooth;
    const float *basis;
    wmi_head_opts quadratic; /* of the quadratic term */
    wmi_head_opts head;      /* on the features of mlp and resnet */
    int64_t bases;           /* of the additive term, per column */
    int64_t filters;         /* columns of x W that the additive term reads beside x; 0: none */
    wmi_mlp_opts mlp;
    bool diagonal; /* the quadratic term is w' (x, (x^2 - 1) / sqrt(2)) */
    bool squares;  /* the MLP reads x and (x^2 - 1) / sqrt(2): curvature from the first step on */
    /* Features of a model of levels: what lies above so many thresholds of each column of x, and of
     * x whitened, which are the filters (dim). The additive term is linear in all of them, networks
     * read x whitened and the first hinges. All of it is bounded, or chains would run away where
     * the energy is linear. Borrowed: hinge (hinges + whites, 5, dim), rates, offsets, gains, tops
     * and bases (ops.h), of which the first for x whitened is x whitened itself; and turn (dim,
     * hinges, hinges), coordinates of a column's hinges in which they are uncorrelated. */
    int64_t hinges, whites;
    const float *hinge, *turn;
    /* Of levels: what networks add to f_k at most, and the width of the bend that leads there, (2,
     * bridges); borrowed. NULL: there is no end. */
    const float *cap;
    wmi_resnet_opts resnet;
    wmi_separable_opts separable;
} wmi_model;

/* Quadratic bridges on x, positive semi-definite, with linear term; 16 bases; head and networks as
 * in the paper's MNIST experiment, for when terms are changed. */
void wmi_model_init(wmi_model *model, int64_t bridges, int64_t dim);

/* The paper's models. */
void wmi_model_gaussian(wmi_model *model, int64_t bridges, int64_t dim); /* symmetric, Q_ii > 0 */
void wmi_model_mnist(wmi_model *model, int64_t bridges); /* CondResNet, semi-definite head */

/* Hinges of each column that networks of levels read. */
enum { WMI_MODEL_READS = 2 };

/* Whether the terms of a model of levels read features: all but the quadratic and linear ones. */
static inline bool wmi_model_has_features(const wmi_model *model)
{
    return model->levels && model->terms & (WMI_TERM_ADDITIVE | WMI_TERM_MLP | WMI_TERM_RESNET);
}

/* How the rows of x stand to the bridges. */
typedef enum wmi_layout {
    /* m * n rows, n for each bridge in turn: training. */
    WMI_ROWS_GROUPED,
    /* n rows, at which every bridge is evaluated: sampling and evaluation. What does not depend on
     * the bridge, up to the first ScaleShift_k, is computed once. */
    WMI_ROWS_SHARED
} wmi_layout;

typedef struct wmi_model_inputs {
    wmi_layout layout;
    int64_t first, count; /* build these bridges alone; count 0: all, as always of levels */
    wmi_node *x; /* (rows, dim); where there is a u but no node for it, (rows, dim_u + dim) */
    /* (rows, dim_u), or NULL: n rows for all bridges, or a divisor of n that are repeated in order,
     * or, in the grouped layout, m * n rows. g(u) is computed once for each row here. All terms but
     * the separable one read the row (u, x). */
    wmi_node *u;
    /* Of a separable model whose f has cells, grouped: the cells (k * cells) of the k rows that x
     * would have, by the numbers of the cells of x, which then holds rows in any number. NULL: x is
     * the rows. */
    wmi_node *mix;
    wmi_node *basis;  /* (m, smooth) of a smooth model */
    wmi_node *knots;  /* (wmi_model_columns, bases + 4) for the additive term, or NULL */
    wmi_node *filter; /* W (dim_u + dim, filters) where the model has filters */
    wmi_node *hinge;  /* (hinges + whites, 5, dim) of a model with features */
    wmi_node *turn;   /* (dim, hinges, hinges), if it has an additive term */
    wmi_node *cap;    /* (2, m) of a model with caps */
} wmi_model_inputs;

/* Columns that the additive term reads. */
static inline int64_t wmi_model_columns(const wmi_model *model)
{
    return model->dim_u + model->dim + model->filters;
}

/* Adds the parameters to the table. WM_EINVAL, WM_ESHAPE for settings that make no network. */
WM_MUST_CHECK wm_status wmi_model_declare(wmi_params *params, const char *prefix,
                                          const wmi_model *model, wm_error *err);
/* log r_k at the rows: (m, n). Failures stay in the graph. Levels need the shared layout. */
wmi_node *wmi_model_build(wmi_graph *g, const char *prefix, const wmi_model *model,
                          const wmi_model_inputs *in);
/* f_k at the rows, (m, n), of a model of levels. */
wmi_node *wmi_model_levels(wmi_graph *g, const char *prefix, const wmi_model *model,
                           const wmi_model_inputs *in);
/* What the whole log-ratio at the rows is the sum of, (parts, n): all bridges, or the first level.
 */
wmi_node *wmi_model_parts(wmi_graph *g, const char *prefix, const wmi_model *model,
                          const wmi_model_inputs *in);
/* From f (m, n), of levels k, to those of k + 1, with zeros for the last. */
wmi_node *wmi_levels_next(wmi_graph *g, wmi_node *f);
/* For InfoNCE: log r(u_i, x_j) of all pairs of n rows, (n, n), u_i in row i, by a model of one
 * bridge that is separable and nothing else; own receives the log r(u_i, x_i), (n). */
wmi_node *wmi_model_pairs(wmi_graph *g, const char *prefix, const wmi_model *model, wmi_node *u,
                          wmi_node *x, wmi_node **own);
/* B-splines of the log of the signal-to-noise ratio, (1 - alpha^2) / alpha^2, of m levels: basis
 * (m, smooth), whose rows have the sum 1. All alphas are above 0. */
void wmi_level_basis(int64_t m, const double *alpha, int64_t smooth, float *basis);
/* Inputs "knots", "filter", "basis", "hinge" and "turn" of a graph, where the model reads them; and
 * their values into its compiled program, in float. WM_EINVAL where one is missing. */
void wmi_model_constants(wmi_graph *g, const wmi_model *model, wmi_model_inputs *in);
WM_MUST_CHECK wm_status wmi_model_fill(wmi_program *p, const wmi_model *model, const float *knots,
                                       const float *filter, wm_error *err);
/* The representation g(u) of the separable term: (rows, dim_u) -> (rows, e). */
wmi_node *wmi_model_embed(wmi_graph *g, const char *prefix, const wmi_model *model, wmi_node *u);

#endif
