/* encode.h - from a person's columns to those that models see: numbers standardised, or made normal
 * by rank; categories as indicator columns. Fitted once, stored with the model, applied to new
 * rows.
 *
 * Waymarks of a column follow its kind: numbers on a continuum move linearly, whole numbers and
 * categories in blocks (a waymark between two categories would be a value that neither sample has,
 * and any classifier would see it). */
#ifndef WMI_COLUMNS_ENCODE_H
#define WMI_COLUMNS_ENCODE_H

#include <stdbool.h>

#include "base/stop.h"
#include "columns/discover.h"
#include "columns/rank_normal.h"
#include "waymark/read.h"

typedef enum wmi_encoding {
    WMI_ENCODE_SCALE,  /* (x - shift) / scale, and indicators of all but two of a few values */
    WMI_ENCODE_RANK,   /* normal score of the rank, or another monotone map by knots (bend.h) */
    WMI_ENCODE_LEVELS, /* an indicator for every level but one */
} wmi_encoding;

typedef struct wmi_encoder {
    int64_t raw, dim;      /* columns of the person, and of the model */
    wm_kind *kind;         /* (raw) */
    int64_t *how;          /* (raw) wmi_encoding */
    int64_t *first;        /* (raw + 1): column j has features first[j] .. first[j + 1] - 1 */
    int64_t *levels;       /* (raw) of categories, or of whole numbers with few values; else 0 */
    int64_t *ranked;       /* (raw): which column of `rank`, or -1 */
    double *level;         /* (dim) the value that a feature indicates; NaN: it is the number */
    double *shift, *scale; /* (dim): applied last */
    wmi_rank *rank;        /* or NULL */
} wmi_encoder;

typedef struct wmi_encode_opts {
    const wm_kind *kind;            /* (raw), or NULL: all continuous */
    const int64_t *levels;          /* (raw) of categorical ones */
    const int64_t *features;        /* (raw) of each column; NULL: by kind and levels */
    const wmi_found_columns *found; /* what to make of the columns, instead of kind; or NULL */
    bool standardize;               /* else numbers stay as they are */
    bool by_rank;                   /* continuous columns become normal by rank */
    bool bend;                      /* else those with long tails may be bent (bend.h) */
    const char *const *label;       /* (raw) what messages call a column, or NULL: its number */
    wmi_stop stop;
} wmi_encode_opts;

/* An encoder that leaves numbers as they are, with room for the rest: levels of whole numbers too
 * are taken from opts. */
WM_MUST_CHECK wm_status wmi_encoder_new(wmi_encoder *e, int64_t raw, const wmi_encode_opts *opts,
                                        wm_error *err);
/* From both tables, each with the same say; x[1] may be NULL. WM_EINVAL for a column that is
 * constant, in both or in one: then the ratio is 0/0 or infinite. */
WM_MUST_CHECK wm_status wmi_encoder_fit(wmi_encoder *e, int64_t raw, const int64_t n[2],
                                        const double *const x[2], const wmi_encode_opts *opts,
                                        wm_error *err);
/* to may be half made on failure: free it. */
WM_MUST_CHECK wm_status wmi_encoder_copy(wmi_encoder *to, const wmi_encoder *e, wm_error *err);
void wmi_encoder_free(wmi_encoder *e);
/* x (n, raw) to out (n, dim). WM_EINVAL for a category that is none. */
WM_MUST_CHECK wm_status wmi_encoder_apply(const wmi_encoder *e, int64_t n, const double *x,
                                          double *out, wm_error *err);
/* What each feature does in a chain (waymarks.h), columns (dim): the first `kept` raw columns stay,
 * the others move as their kind wants. Returns the number of blocks. */
int64_t wmi_encoder_columns(const wmi_encoder *e, int64_t kept, int64_t *columns);

#endif
