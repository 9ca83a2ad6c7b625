/* ratio_impl.h - the inside of a wm_ratio, shared by the files that fit, evaluate and store it. */
#ifndef WMI_RATIO_RATIO_IMPL_H
#define WMI_RATIO_RATIO_IMPL_H

#include "columns/encode.h"
#include "moments/path_moments.h"
#include "nn/bridge_model.h"
#include "waymark/ratio.h"

/* Whether an additive term of these features can be fitted by Newton's method. */
bool wmi_ratio_can_curve(const wmi_encoder *e);
struct wm_ratio {
    wm_ratio_model model;
    wm_ratio_form form;
    bool linear_term, squares;
    int64_t width, blocks;
    int64_t pairs;         /* columns of u, as given; 0: the table is one thing */
    int64_t components[2]; /* mixture: of p and of q */
    uint64_t seed;
    wm_alphas alphas;
    wm_ratio_info info;
    wm_bridge *bridges;  /* (m) */
    wmi_encoder encoder; /* rows as given to rows as the model sees them */
    int64_t *columns;    /* (encoder.dim) what they do in the chain */
    char *schema;        /* wm_schema_write() of the tables, or NULL */
    wmi_model net;       /* made from the fields above by wmi_ratio_open() */
    wmi_params *params;
    double *mix;  /* (encoder.dim, encoder.dim) the network reads x mix (whiten.h); or NULL: x */
    float *knots; /* (encoder.dim, net.bases + 4) of the additive term, or NULL */
    int64_t members;
    double *theta; /* (members, wmi_params_count) */
    bool judged;   /* by a study, whose verdict and reason these are */
    wm_verdict verdict;
    char reason[sizeof((wm_check *)NULL)->meaning];
};

/* Keeps what the checks of a study add up to. */
void wmi_ratio_judge(wm_ratio *r, const wm_checks *checks);

/* Encoded samples, cut into training and held-out rows. Borrowed arrays. q's are NULL with
 * normal_q; with pairs they are p's, and rows meet others than themselves. */
typedef struct wmi_ratio_rows {
    int64_t dim;
    int64_t n_train[2], n_valid[2];    /* of p, of q */
    const double *train[2], *valid[2]; /* (n, dim) */
    const double *straight;            /* (dim) penalties of features whose effect is a straight
                                          line, 0: a curve (smooths.h); NULL: curves */
    const double *unmix;               /* (dim, dim) inverse of the ratio's mix, where it has one */
    bool normal_q, pairs;
    bool levels; /* of pairs: u and v are one column each, whose features tell all of its levels */
    bool products; /* no covariance describes the columns: beside curves a quadratic term is for
                      products of columns, by penalised regression */
    uint64_t seed;
} wmi_ratio_rows;

/* Whether a quadratic term beside curves has products of features of two columns. */
bool wmi_ratio_has_products(const wmi_encoder *e);
/* What products add to a log-ratio `offset` (n) at the rows x (n, dim) of both waymarks of bridge
 * k: into its quadratic term and its constant. */
WM_MUST_CHECK wm_status wmi_ratio_add_products(wm_ratio *r, int64_t k, const int64_t n[2],
                                               const double *x, const double *offset,
                                               const wm_ratio_opts *opts, wm_error *err);

/* Copies the settings that make a network. */
void wmi_ratio_take_opts(wm_ratio *r, const wm_ratio_opts *opts);
/* From the settings, alphas.bridges, encoder and members: the network, its table, and zeroed theta,
 * bridges and knots. */
WM_MUST_CHECK wm_status wmi_ratio_open(wm_ratio *r, wm_error *err);
/* Knots of an additive term between the rows of both ends, x (n, encoder.dim); nothing for models
 * without one. x[1] may be NULL. */
WM_MUST_CHECK wm_status wmi_ratio_place_knots(wm_ratio *r, const int64_t n[2],
                                              const double *const x[2], wm_error *err);
/* WM_EINVAL for options that contradict each other. */
WM_MUST_CHECK wm_status wmi_ratio_check_opts(const wm_ratio_opts *opts, wm_error *err);

/* All bridges at n encoded rows, (m, n): the mean over members. */
WM_MUST_CHECK wm_status wmi_ratio_scores(const wm_ratio *r, int64_t n, const double *x,
                                         double *scores, wm_error *err);

/* log r of every level of u with every level of v, out (n[0], n[1]), of a single quadratic bridge
 * of pairs that ties features of u to those of v and nothing else (counts); x[0] (n[0], features of
 * u), x[1] likewise. */
WM_MUST_CHECK wm_status wmi_ratio_of_levels(const wm_ratio *r, const int64_t n[2],
                                            const double *const x[2], double *out, wm_error *err);

/* The rows of both ends that may be fitted to. */
typedef struct wmi_ends {
    int64_t n[2];
    double *x[2]; /* (n, dim), owned */
} wmi_ends;

/* all: the held-out ones too. */
WM_MUST_CHECK wm_status wmi_ratio_ends(wmi_ends *e, const wmi_ratio_rows *rows, bool all,
                                       wm_error *err);
void wmi_ends_free(wmi_ends *e);

/* Coordinates z = x mix in which the covariances of p and q are diagonal, and all rows in them: x,
 * what rows point to, is changed. mix is the caller's; NULL where that is so already. WM_EINVAL
 * unless all columns move linearly: then waymarks may be made in z. */
WM_MUST_CHECK wm_status wmi_ratio_turn(double **mix, const wm_ratio *r, const wmi_ratio_rows *rows,
                                       double *const x[2], wm_error *err);

/* n rows of q: of its table in order, or of N(0, I); validation and training rows differ. */
void wmi_ratio_rows_q(const wmi_ratio_rows *rows, bool valid, int64_t first, int64_t n,
                      double *out);
WM_MUST_CHECK wm_status wmi_ratio_chain(wm_chain **out, const wm_ratio *r, wm_error *err);

/* Fits an opened ratio of one member, by the way that its model and options want. */
WM_MUST_CHECK wm_status wmi_ratio_fit_rows(wm_ratio *r, const wmi_ratio_rows *rows,
                                           const wm_ratio_opts *opts, wm_error *err);
WM_MUST_CHECK wm_status wmi_ratio_fit_adam(wm_ratio *r, const wmi_ratio_rows *rows,
                                           const wm_ratio_opts *opts, wm_error *err);
/* Linear or quadratic terms and constants of r from the moments of the rows, tested and refined as
 * opts say; other terms are left alone. */
WM_MUST_CHECK wm_status wmi_ratio_set_moments(wm_ratio *r, const wmi_ratio_rows *rows,
                                              const wm_ratio_opts *opts, wm_error *err);
/* Quadratic bridges of r from moments of its ends, as the encoder has columns. */
WM_MUST_CHECK wm_status wmi_ratio_set_ends(wm_ratio *r, const wmi_end_moments *m0,
                                           const wmi_end_moments *mm, wm_error *err);
/* Curves of r, and its form or products, by moments and penalised logistic regression, bridge by
 * bridge; other terms are left alone. */
WM_MUST_CHECK wm_status wmi_ratio_set_additive(wm_ratio *r, const wmi_ratio_rows *rows,
                                               const wm_ratio_opts *opts, wm_error *err);
WM_MUST_CHECK wm_status wmi_ratio_fit_convex(wm_ratio *r, const wmi_ratio_rows *rows,
                                             const wm_ratio_opts *opts, wm_error *err);

#endif
