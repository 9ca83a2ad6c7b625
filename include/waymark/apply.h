/** @file apply.h
 * Log-ratios, or importance weights, at the rows of a file: any number of them, in memory that does
 * not grow with it, the same bits for any number of threads. */
#ifndef WAYMARK_APPLY_H
#define WAYMARK_APPLY_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/ratio.h"
#include "waymark/read.h"
#include "waymark/sink.h"
#include "waymark/status.h"
#include "waymark/weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How the numbers are written. */
typedef enum wm_apply_format {
    WM_APPLY_BY_NAME, /**< what the name ends in: .npy, .csv, .txt; "-" and devices are TEXT */
    WM_APPLY_NPY,     /**< a vector of doubles */
    WM_APPLY_CSV,     /**< header `row,log_ratio` (or weight, log_weight), then a line for each row
                           with its number in the input, from 1: rows that were dropped can be told;
                           the columns of read->keep stand between them */
    WM_APPLY_TEXT,    /**< a number a line */
} wm_apply_format;

/** Settings; start from wm_apply_opts_init(). */
typedef struct wm_apply_opts {
    size_t struct_size;             /**< set by wm_apply_opts_init() */
    const wm_weights_opts *weights; /**< how weights are made; NULL (default): log-ratios */
    bool bits;                      /**< logarithms to base 2; default false: natural ones */
    wm_apply_format format;         /**< default by name */
    const wm_read_opts *read;       /**< kinds of columns are the model's; missing values can be
                                         refused or dropped. Categories that the model does not
                                         know are average ones. NULL: defaults */
    const wm_sink *sink;            /**< warnings and progress, or NULL */
    const volatile sig_atomic_t
        *stop; /**< set by a signal handler: leave, without output; or NULL */
} wm_apply_opts;

/** Fill in the defaults. Threads: safe. */
WM_API void wm_apply_opts_init(wm_apply_opts *opts);

/** What was found; logarithms are natural. */
typedef struct wm_apply_info {
    int64_t n;          /**< numbers written */
    int64_t rows;       /**< of the input: rows - n were dropped */
    int64_t dim;        /**< its columns */
    int64_t unseen;     /**< values that are categories unknown to the model */
    int64_t far;        /**< rows far outside of the samples (wm_scorer_far()) */
    int64_t not_finite; /**< log-ratios that are inf or NaN: numbers too large for a double */
    double mean, least, largest; /**< of the finite log-ratios; NaN if there is none */
    wm_weights_info weights;     /**< the log-ratios as weights, made as the options say or by
                                      default; numbers are NaN where no weights follow from them */
} wm_apply_info;

/** Evaluate a ratio at the rows of a file.
 * @param[out] info  or NULL
 * @param path       input (read.h); "-" is standard input. It has the columns that the model was
 *                   fitted on: by name, in any order and among others, or by place
 * @param out        file, written whole or not at all; "-" is standard output
 * @param opts       or NULL for defaults
 * @return WM_OK; WM_EINVAL (settings; missing values; weights where a log-ratio is NaN or inf),
 * WM_ESHAPE (other columns), WM_EIO, WM_EFORMAT, WM_ENOMEM, WM_EINTERRUPTED. After a failure no
 * file is left, and an old one stays. Weights, and rows whose number is not known before the end,
 * pass through a temporary file beside the output (or in TMPDIR): 8 bytes a row. Memory: some tens
 * of megabytes; clipping by quantile also holds 16 bytes for each weight that is clipped. Threads:
 * safe for distinct outputs. */
WM_API WM_MUST_CHECK wm_status wm_ratio_apply(wm_apply_info *info, const wm_ratio *r,
                                              const char *path, const char *out,
                                              const wm_apply_opts *opts, wm_error *err);

#ifdef __cplusplus
}
#endif
#endif
