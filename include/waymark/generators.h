/** @file generators.h
 * Problems whose answer is known, to judge estimators by: two samples with their KL divergences, or
 * paired samples with their mutual information, and the true log-ratio at every point.
 *
 * A problem has a name, parameters with defaults, and a truth. All that is random about it (its
 * shape, where it has one, and its samples) is a function of seeds and names, the same for any
 * number of threads, and longer tables begin with the rows of shorter ones. */
#ifndef WAYMARK_GENERATORS_H
#define WAYMARK_GENERATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "waymark/data.h"
#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- what there is -----------------------------------------------------------------------------*/

/** What a problem asks for. */
typedef enum wm_problem_kind {
    WM_PROBLEM_RATIO, /**< tables p and q; the ratio is p(x) / q(x) */
    WM_PROBLEM_MI,    /**< tables u and v of paired rows; the ratio is p(u, v) / (p(u) p(v)) */
} wm_problem_kind;

/** A parameter of a problem. */
typedef struct wm_problem_param {
    const char *name;  /**< lower case, words joined by '-' */
    const char *about; /**< a few words, lower case, no full stop */
    double standard;   /**< the default; NaN where it follows from the others */
    double lo, hi;     /**< least and largest value */
    bool whole;        /**< a whole number */
} wm_problem_param;

/** A row of the table of problems; all of it is constant and lives as long as the library. */
typedef struct wm_problem_info {
    const char *name;               /**< as wm_problem_new() takes it */
    const char *about;              /**< one line, lower case, no full stop */
    wm_problem_kind kind;           /**< what it asks for */
    int n_params;                   /**< parameters */
    const wm_problem_param *params; /**< (n_params) */
} wm_problem_info;

/** Problems that there are. */
WM_API int wm_problem_count(void);
/** @param i from 0 to wm_problem_count() - 1; NULL outside. */
WM_API const wm_problem_info *wm_problem_at(int i);
/** NULL if there is no such problem. */
WM_API const wm_problem_info *wm_problem_find(const char *name);

/* --- one problem -------------------------------------------------------------------------------*/

/** A problem with its parameters chosen. */
typedef struct wm_problem wm_problem;

/** A parameter that is not to have its default. */
typedef struct wm_problem_setting {
    const char *name; /**< of a parameter */
    double value;     /**< within its limits */
} wm_problem_setting;

/** What is to be found, in nats. What a problem of this kind does not have, or has infinite, is NaN
 * or inf. */
typedef struct wm_problem_truth {
    double kl_pq, kl_qp; /**< RATIO: E_p[log p/q] and E_q[log q/p] */
    double mi;           /**< MI: of u and v */
    double error;        /**< bound on the numerical error of these; 0 for a closed form */
} wm_problem_truth;

/** A problem with given parameters.
 * @param[out] out  freed with wm_problem_free(); NULL on failure
 * @param settings  (n) parameters that are not to have their defaults; NULL if n is 0
 * @param seed      of what is random about the problem itself: covariances, rotations
 * @return WM_OK; WM_EINVAL (no such problem or parameter, a value out of range or at odds with
 *         others), WM_ENOMEM. Cost: below a millisecond, where integrals are needed some more. */
WM_API WM_MUST_CHECK wm_status wm_problem_new(wm_problem **out, const char *name,
                                              const wm_problem_setting *settings, int n,
                                              uint64_t seed, wm_error *err);
WM_API void wm_problem_free(wm_problem *p); /**< NULL is fine */

WM_API const wm_problem_info *wm_problem_about(const wm_problem *p); /**< its row */
/** Parameter @p i of the row, as in force: those that follow from others are filled in. */
WM_API double wm_problem_value(const wm_problem *p, int i);
/** What is to be found. */
WM_API wm_problem_truth wm_problem_answer(const wm_problem *p);
/** Columns of the first table (p or u) and of the second (q or v). */
WM_API int64_t wm_problem_dim(const wm_problem *p, int table);

/** Draw the two tables.
 * @param[out] a,b  p and q, or u and v; freed with wm_data_free(); both NULL on failure
 * @param n_a,n_b   rows; for MI the same number
 * @param seed,stream  other seeds, and other names under one seed, give unrelated samples of the
 *                  same problem: "train", "test"
 * @return WM_OK; WM_EINVAL (rows), WM_ENOMEM. Threads: safe; runs in parallel when large. */
WM_API WM_MUST_CHECK wm_status wm_problem_draw(wm_data **a, wm_data **b, const wm_problem *p,
                                               int64_t n_a, int64_t n_b, uint64_t seed,
                                               const char *stream, wm_error *err);

/** The true log-ratio at rows of one's own.
 * @param a    RATIO: the points x, (n, dim). MI: u
 * @param b    MI: v, as many rows. RATIO: NULL
 * @param[out] out  (n); -inf where only the numerator vanishes. For `swissroll`, whose u has no
 *             density in the plane, the point of the roll at the same distance from its centre
 * @return WM_OK; WM_EINVAL, WM_ESHAPE, WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_problem_log_ratio(const wm_problem *p, const wm_data *a,
                                                    const wm_data *b, double *out, wm_error *err);

/* --- generators: samples of known distributions, a function of (seed, stream) ---- */

/** Independent normals, (n, dim).
 * @param sd      standard deviation, finite and not negative
 * @param stream  name of the sequence: other names under one seed give unrelated draws
 * @return WM_OK; WM_EINVAL (n or dim below 1; mean or sd not finite, sd negative), WM_ENOMEM.
 * Longer tables begin with the rows of shorter ones. Threads: safe; runs in parallel when large. */
WM_API WM_MUST_CHECK wm_status wm_data_normal(wm_data **out, int64_t n, int64_t dim, double mean,
                                              double sd, uint64_t seed, const char *stream,
                                              wm_error *err);
/** Standard normals of which columns 1 and 2, 3 and 4, ... are correlated by @p rho in [-1, 1]: the
 * paper's example of a large mutual information. dim must be even; else as wm_data_normal(). */
WM_API WM_MUST_CHECK wm_status wm_data_gaussian_pairs(wm_data **out, int64_t n, int64_t dim,
                                                      double rho, uint64_t seed, const char *stream,
                                                      wm_error *err);
/** Mutual information in nats of the odd and the even columns, -(dim / 4) log(1 - rho^2), which is
 * also the KL divergence from independence; infinite at rho = +-1. */
WM_API double wm_gaussian_pairs_mi(int64_t dim, double rho);
/** The rho >= 0 that gives this mutual information: sqrt(1 - exp(-4 mi / dim)). */
WM_API double wm_gaussian_pairs_rho(int64_t dim, double mi);

#ifdef __cplusplus
}
#endif
#endif
