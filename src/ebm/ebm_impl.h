/* ebm_impl.h - the inside of a wm_ebm, shared by the files that fit, evaluate, sample and store it.
 *
 * Three spaces: x as given; y = transform(x), where the noise density is; z = F^-1(y), where the
 * noise is N(0, I) and chains run. Bridges read y. */
#ifndef WMI_EBM_EBM_IMPL_H
#define WMI_EBM_EBM_IMPL_H

#include "columns/transform.h"
#include "engine/program.h"
#include "nn/bridge_model.h"
#include "noise/noise.h"
#include "train/batcher.h"
#include "train/likelihood.h"
#include "train/own_draws.h"
#include "waymark/ebm.h"

/* What the noise's parameters are called in a table that holds the bridges' too. */
#define WMI_EBM_NOISE "noise"

struct wm_ebm {
    wm_ebm_info info;
    uint64_t seed;
    char *schema; /* or NULL */
    wmi_transform transform;
    wmi_noise_opts noise;
    wmi_params *noise_params;
    double *noise_theta;
    wm_alphas alphas;
    wm_bridge *bridges; /* (m) held out */
    wmi_model net;
    wmi_params *params;
    float *theta;  /* of params */
    float *knots;  /* (wmi_model_columns, bases + 4) with an additive term, else NULL */
    float *basis;  /* (m, net.smooth) of a model of levels, else NULL */
    float *hinge;  /* (net.hinges + net.whites, 5, dim) of a model of levels, else NULL */
    float *turn;   /* (dim, net.hinges, net.hinges), with them */
    float *cap;    /* (2, m) of levels with a network, else NULL; net.cap once it is known */
    float *filter; /* (dim, filters): [principal components, then] whitened columns; or NULL */
};

/* The terms that opts ask for, or that suit the data. */
unsigned wmi_ebm_terms(const wm_ebm_opts *opts);
/* From dim, image, alphas.bridges and the settings in opts: networks and tables; noise_theta, theta
 * and knots are made, zero. */
WM_MUST_CHECK wm_status wmi_ebm_open(wm_ebm *e, const wm_ebm_opts *opts, wm_error *err);

/* What follows from alphas alone: the levels' basis. */
void wmi_ebm_derive(wm_ebm *e);

/* Features of each column, and of each whitened column, of a model of levels. */
enum { WMI_EBM_HINGES = 8, WMI_EBM_WHITES = 4 };
/* Numbers for each column in `hinge`. */
static inline int64_t wmi_ebm_hinges(const wm_ebm *e)
{
    return 5 * (e->net.hinges + e->net.whites);
}

/* ---- rows ---- */

/* A map of rows by a compiled network, for any number of rows. One thread at a time. */
typedef struct wmi_row_map {
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *out[2]; /* rows (block, dim), and log-determinant (block) or NULL */
    int64_t block, dim;
    void *in;       /* the program's input */
    wmi_node *rows; /* that input, of a map to pull by; else NULL */
    void *pulled;   /* its other input, gradients for y */
    wmi_dtype type;
    void *theta; /* parameters in the program's type */
} wmi_row_map;

typedef enum wmi_map_kind {
    WMI_MAP_TO_Z,    /* y -> z, log |det dz/dy| */
    WMI_MAP_TO_Y,    /* z -> y, log |det dy/dz| */
    WMI_MAP_DENSITY, /* y -> log q as the second output; the first is y */
    WMI_MAP_PULL     /* for wmi_row_map_pull() alone */
} wmi_map_kind;

WM_MUST_CHECK wm_status wmi_row_map_open(wmi_row_map *map, const wm_ebm *e, wmi_map_kind kind,
                                         wmi_dtype type, int64_t block, wm_error *err);
void wmi_row_map_close(wmi_row_map *map);
/* in, out (n, dim) of type `rows`, whatever the map's own is; out may be in. out and second (n) may
 * be NULL. */
WM_MUST_CHECK wm_status wmi_row_map_run(wmi_row_map *map, int64_t n, wmi_dtype rows, const void *in,
                                        void *out, double *second, wm_error *err);
/* g (n, dim) are gradients for y = F(z) and become those for z, of a map of floats. */
WM_MUST_CHECK wm_status wmi_row_map_pull(wmi_row_map *map, int64_t n, const float *z, float *g,
                                         wm_error *err);
/* What maps are run in where digits count: double, but for a flow, whose convolutions are float. */
wmi_dtype wmi_ebm_precise(const wm_ebm *e);

/* Rows of the data as the densities see them, with fresh uniform numbers at every step. */
typedef struct wmi_ebm_rows {
    const wm_ebm *e;
    const double *train, *valid; /* (n, dim) as given */
    int64_t n_train, n_valid;
    uint64_t seed;
    bool z_space;           /* ends are in z */
    wmi_row_map to_z, to_y; /* once the noise is fitted */
    bool pulls;             /* gradients are wanted too, in z-space */
    wmi_row_map pull;
    double *x;     /* (capacity, raw) scratch */
    double *u, *y; /* (capacity, dim) scratch */
    int64_t capacity, *order;
} wmi_ebm_rows;

WM_MUST_CHECK wm_status wmi_ebm_rows_open(wmi_ebm_rows *r, int64_t capacity, wm_error *err);
/* After the noise was fitted: opens the maps. */
WM_MUST_CHECK wm_status wmi_ebm_rows_map(wmi_ebm_rows *r, wm_error *err);
void wmi_ebm_rows_close(wmi_ebm_rows *r);
wmi_rows_source wmi_ebm_noise_source(wmi_ebm_rows *r);
wmi_source wmi_ebm_bridge_source(wmi_ebm_rows *r);

/* After the maps: the features of a model of levels, if it is one, by rows of training: filter,
 * hinge and turn. */
WM_MUST_CHECK wm_status wmi_ebm_features_make(const wm_ebm *e, wmi_ebm_rows *rows, wm_error *err);

/* After the fit: what networks of levels may add at most. */
WM_MUST_CHECK wm_status wmi_ebm_cap_make(wm_ebm *e, wmi_ebm_rows *rows, wm_error *err);

/* ---- chains in training (own_draws.h) ---- */

/* Hamiltonian trajectories of `leapfrogs` for n chains; what they are drawn from is (seed, chain,
 * number). To be closed after a failure too. */
WM_MUST_CHECK wm_status wmi_ebm_mover_open(wmi_mover *m, int64_t n, int64_t dim, int64_t leapfrogs,
                                           uint64_t seed, wm_error *err);
void wmi_ebm_mover_close(wmi_mover *m);

/* ---- the path of samplers: z-space, one program for all bridges at a block of points ---- */

typedef struct wmi_ebm_path wmi_ebm_path;

/* chains: points that a call has at most. */
WM_MUST_CHECK wm_status wmi_ebm_path_new(wmi_ebm_path **out, const wm_ebm *e, int64_t chains,
                                         const wm_fit_control *control, wm_error *err);
void wmi_ebm_path_free(wmi_ebm_path *p);
wm_path wmi_ebm_path_get(wmi_ebm_path *p);
/* What chains on it must look at instead of control->stop: ranks that share them stop together. */
const volatile sig_atomic_t *wmi_ebm_path_stop(const wmi_ebm_path *p);

#endif
