/** @file mi.h
 * Mutual information of u and v from pairs of rows: the KL divergence of their joint distribution
 * from the product of its marginals. The estimate is a study (study.h) of the joined table with
 * `pairs` set; here is what goes with it: joining, the shuffled table on which the truth is 0, and
 * the single-ratio estimators that others use, for comparison. */
#ifndef WAYMARK_MI_H
#define WAYMARK_MI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/data.h"
#include "waymark/fit.h"
#include "waymark/read.h"
#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Columns of u, then those of v. @return WM_OK; WM_ESHAPE (numbers of rows differ), WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_mi_join(wm_data **out, const wm_data *u, const wm_data *v,
                                          wm_error *err);
/** The rows of u with those of v in random order: u and v of the result are independent. */
WM_API WM_MUST_CHECK wm_status wm_mi_shuffle(wm_data **out, const wm_data *joint, int64_t dim_u,
                                             uint64_t seed, wm_error *err);

/** Estimators by one ratio, or by neighbours. */
typedef enum wm_mi_method {
    WM_MI_INFONCE, /**< van den Oord et al. 2018; cannot exceed log(batch) */
    WM_MI_NWJ,     /**< Nguyen, Wainwright and Jordan 2010 */
    WM_MI_DV,      /**< Donsker-Varadhan: MINE, Belghazi et al. 2018 */
    WM_MI_JS,      /**< classification, put into NWJ; Poole et al. 2019 */
    WM_MI_SMILE,   /**< clipped; Song and Ermon 2020 */
    WM_MI_KSG,     /**< Kraskov, Stoegbauer and Grassberger 2004 */
} wm_mi_method;
#define WM_MI_METHODS 6 /**< how many there are */

/** "infonce", "nwj", ... */
WM_API const char *wm_mi_method_name(wm_mi_method method);

/** What one of these methods says. */
typedef struct wm_mi_by_method {
    double mi, se;  /**< nats; se is of the rows, with the critic as it is: it sees no bias */
    double bound;   /**< that the method cannot exceed; infinite if there is none */
    bool doubtful;  /**< it diverged, or (KSG) values repeat too often */
    double seconds; /**< that it took */
} wm_mi_by_method;

/** Settings; start from wm_mi_opts_init(). */
typedef struct wm_mi_opts {
    size_t struct_size;     /**< set by wm_mi_opts_init() */
    int64_t dim_u;          /**< columns of u, the first of the joined table; default 1 */
    bool by_rank;           /**< continuous columns are made normal by rank first; default false */
    wm_fit_control control; /**< seed, threads, sink and stop; time_limit for each method */
} wm_mi_opts;

/** Fill in the defaults. Threads: safe. */
WM_API void wm_mi_opts_init(wm_mi_opts *opts);

/** Some of them on the same columns, prepared in the same way as those of a study, side by side on
 * the threads that there are: the same bits as one by one.
 * @param[out] out  (count)
 * @param methods   (count), 1 to WM_MI_METHODS of them
 * @param schema    or NULL: all columns are continuous
 * @return WM_OK; WM_EINVAL, WM_ESHAPE, WM_ENOMEM, WM_EINTERRUPTED */
WM_API WM_MUST_CHECK wm_status wm_mi_methods_run(wm_mi_by_method *out, int count,
                                                 const wm_mi_method *methods, const wm_data *joint,
                                                 const wm_schema *schema, const wm_mi_opts *opts,
                                                 wm_error *err);

#ifdef __cplusplus
}
#endif
#endif
