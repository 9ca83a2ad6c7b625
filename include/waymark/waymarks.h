/** @file waymarks.h
 * Waymarks: samples between those of p0 and those of pm (paper, section 3.1 and appendix B). A
 * chain of m bridges has waymarks 0 .. m; bridge k learns the ratio of waymark k to waymark k + 1.
 *
 * A linear column moves as x_k = sqrt(1 - alpha_k^2) x_0 + alpha_k x_m, which keeps its variance
 * where p0 and pm have the same; a mixed column is x_0's until its block's turn has come and x_m's
 * from then on; a kept column stays x_0's (the u of a mutual information). One chain may hold all
 * three. For waymarks in the z-space of an invertible map pass z in, and a map to x.
 *
 * Estimators make chains of their own; who trains bridges with other tools makes waymarks by these
 * functions (examples/make_waymarks.c).
 *
 * Arrays are row-major, (rows, dim). Outputs do not depend on the number of threads. */
#ifndef WAYMARK_WAYMARKS_H
#define WAYMARK_WAYMARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- spacing ---- */

#define WM_ALPHAS_MAX 1025 /**< waymarks a spacing can hold: 1024 bridges */

/** The coefficients of a chain; plain data, copy it. */
typedef struct wm_alphas {
    int64_t bridges;             /**< m >= 1; alpha[0] < ... < alpha[m] = 1 */
    double alpha[WM_ALPHAS_MAX]; /**< alpha[0] is 0 unless the first bridge was dropped */
} wm_alphas;

/** Forms of a spacing. */
typedef enum wm_spacing_kind {
    WM_SPACING_POWER,     /**< (k / m)^p: for p > 1 the gaps grow with k */
    WM_SPACING_SYMMETRIC, /**< (2 k / m)^p / 2 up to the middle, and mirrored: continuous, as in the
                               authors' code; the paper's printed form is not */
    WM_SPACING_LIST,      /**< given values */
    WM_SPACING_SNR,       /**< the log of (1 - alpha^2) / alpha^2, signal over noise, falls from
                               that of the lowest alpha to -p, the last but one; closer in the middle */
} wm_spacing_kind;

/** How alphas are spaced. Start from wm_spacing_init(); plain data. */
typedef struct wm_spacing {
    size_t struct_size;   /**< set by wm_spacing_init() */
    wm_spacing_kind kind; /**< default power */
    double power;         /**< p > 0; default 1 */
    double lowest;   /**< in (0, 1): alphas are 0 and then values whose p-th roots are evenly spaced
                          from lowest^(1/p) to 1; power only. Default 0: off; for snr 0.01 */
    bool drop_first; /**< leave out waymark 0, so that the chain starts from slightly perturbed
                         data, alpha[0] = the lowest; default false */
    int64_t n_list;  /**< values in list */
    double list[WM_ALPHAS_MAX]; /**< 0 first, 1 last, increasing */
} wm_spacing;

/** Power 1, nothing dropped. Threads: safe. */
WM_API void wm_spacing_init(wm_spacing *spacing);

/** Read the command line's form `power:P`, `symmetric:P`, `snr:P` or `list:a,b,...` into kind,
 * power and list; lowest and drop_first are left as they are.
 * @return WM_OK; WM_EINVAL names the word or the value at fault. */
WM_API WM_MUST_CHECK wm_status wm_spacing_parse(wm_spacing *spacing, const char *text,
                                                wm_error *err);

/** The alphas of a spacing.
 * @param bridges  bridges of the resulting chain, the dropped one not counted; 1 .. 1024. For a
 *                 list it must fit the list, or be 0: as many as the list gives
 * @return WM_OK; WM_EINVAL (no bridge, p <= 0, values outside [0, 1] or not increasing, ...). */
WM_API WM_MUST_CHECK wm_status wm_spacing_alphas(wm_alphas *out, const wm_spacing *spacing,
                                                 int64_t bridges, wm_error *err);

/* ---- linear combinations of arrays ---- */

/** out = sqrt(1 - alpha^2) x0 + alpha xm for @p count values; out may be x0 or xm. alpha 0 and 1
 * copy x0 and xm exactly. Threads: safe. */
WM_API void wm_waymark_linear_f64(double alpha, int64_t count, const double *x0, const double *xm,
                                  double *out);
WM_API void wm_waymark_linear_f32(double alpha, int64_t count, const float *x0, const float *xm,
                                  float *out);

/* ---- chains ---- */

/** What a column does in a chain; any other value >= 0 is the number of the block that it is in. */
enum { WM_COLUMN_LINEAR = -1, WM_COLUMN_KEPT = -2 };

/** The rule that makes waymarks. */
typedef struct wm_chain wm_chain;

/** A chain of waymarks.
 * @param[out] out  new chain, freed with wm_chain_free(); NULL on failure
 * @param bridges   m >= 1
 * @param alphas    for linear columns, with the same number of bridges; NULL if there are none
 * @param columns   (dim) WM_COLUMN_LINEAR, WM_COLUMN_KEPT or a block number; the numbers in use are
 *                  0 .. blocks-1. NULL: all columns are linear. Read during the call only
 * @return WM_OK; WM_EINVAL (a missing block, alphas missing, fewer blocks than bridges where no
 *         column is linear, so that two waymarks would be the same, ...), WM_ENOMEM.
 * With as many blocks as bridges waymark k has the first k blocks of x_m, as in the paper; with
 * others the blocks' turns are spread evenly over the chain. */
WM_API WM_MUST_CHECK wm_status wm_chain_new(wm_chain **out, int64_t bridges,
                                            const wm_alphas *alphas, int64_t dim,
                                            const int64_t *columns, wm_error *err);
WM_API void wm_chain_free(wm_chain *chain);             /**< NULL is fine */
WM_API int64_t wm_chain_bridges(const wm_chain *chain); /**< m */
WM_API int64_t wm_chain_dim(const wm_chain *chain);     /**< columns */
/** Number of blocks of mixed columns; 0 if there is none. */
WM_API int64_t wm_chain_blocks(const wm_chain *chain);

/** A random order of the blocks for each of @p rows trajectories, a function of (seed, step, row).
 * @param[out] turns  (rows, blocks): turns[i * blocks + b] is block b's place in trajectory i, from
 *                    0; pass it to the functions below in place of NULL, the order of the numbers.
 */
WM_API void wm_chain_draw_turns(const wm_chain *chain, uint64_t seed, int64_t step, int64_t rows,
                                int64_t *turns);

/** Which rows of p0 and pm meet at a step: a function of (seed, step), so that nothing need be
 * stored to resume. Each side is walked in random order, every row once before any comes again, in
 * an order drawn anew each time round; the two sides are independent.
 * @param n0,nm       rows of the two tables, >= 1
 * @param[out] row0,rowm  (rows) row numbers; either may be NULL
 * Cost: some 20 ns a row. Threads: safe. */
WM_API void wm_pairing_draw(uint64_t seed, int64_t step, int64_t n0, int64_t nm, int64_t rows,
                            int64_t *row0, int64_t *rowm);

/** Rows of both ends, for the functions below. Trajectory i starts at row row0[i] of x0 and ends at
 * row rowm[i] of xm; a NULL list is 0, 1, 2, ... */
typedef struct wm_ends_f64 {
    int64_t rows;               /**< trajectories, B */
    const double *x0, *xm;      /**< rows of dim values */
    const int64_t *row0, *rowm; /**< (rows) or NULL */
    const int64_t *turns;       /**< (rows, blocks) or NULL */
} wm_ends_f64;

/** The same in single precision. */
typedef struct wm_ends_f32 {
    int64_t rows;               /**< trajectories, B */
    const float *x0, *xm;       /**< rows of dim values */
    const int64_t *row0, *rowm; /**< (rows) or NULL */
    const int64_t *turns;       /**< (rows, blocks) or NULL */
} wm_ends_f32;

/** Waymark k, 0 <= k <= m: out (rows, dim). Threads: safe; runs in parallel when large. */
WM_API void wm_chain_waymark_f64(const wm_chain *chain, int64_t k, const wm_ends_f64 *ends,
                                 double *out);
WM_API void wm_chain_waymark_f32(const wm_chain *chain, int64_t k, const wm_ends_f32 *ends,
                                 float *out);
/** All waymarks: out (m + 1, rows, dim). Threads: safe; runs in parallel when large. */
WM_API void wm_chain_waymarks_f64(const wm_chain *chain, const wm_ends_f64 *ends, double *out);
WM_API void wm_chain_waymarks_f32(const wm_chain *chain, const wm_ends_f32 *ends, float *out);

#ifdef __cplusplus
}
#endif
#endif
