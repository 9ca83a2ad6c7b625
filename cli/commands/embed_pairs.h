/* embed_pairs.h - a person's pairs for `embed fit`: read, checked, split, and as a network sees
 * them. */
#ifndef WM_CLI_EMBED_PAIRS_H
#define WM_CLI_EMBED_PAIRS_H

#include "commands/estimate.h"
#include "frame/command.h"
#include "waymark/columns.h"
#include "waymark/embed.h"

typedef struct pair_flags {
    const char *image, *blocks;
    double held_out, divide; /* divide: NaN where not given */
} pair_flags;

extern const opt_row pair_rows[]; /* of pair_flags */

/* Starts as {0}; `of` is to be cleared after a failure too. */
typedef struct own_pairs {
    wm_embed_shape shape[2]; /* of u and v */
    wm_own_pairs of;
} own_pairs;

/* Reads the two files that call->args name. */
WM_MUST_CHECK wm_status own_pairs_read(own_pairs *p, const pair_flags *f, const read_flags *read,
                                       cli_call *call, wm_error *err);
/* Refuses pixels above 1, which nobody has said to divide by anything; why: what is wrong with it.
 */
WM_MUST_CHECK wm_status check_pixels(const wm_data *data, const char *path, const char *why,
                                     cli_call *call, wm_error *err);

#endif
