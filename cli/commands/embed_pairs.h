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

typedef enum pair_part { PART_TRAIN, PART_VALID, PART_TEST, PAIR_PARTS } pair_part;

/* Starts as {0}. */
typedef struct own_pairs {
    wm_embed_shape shape[2]; /* of u and v */
    wm_columns *columns[2];
    float *rows[2];                /* all of them, in the order of the parts */
    wm_pair_rows part[PAIR_PARTS]; /* into rows */
    int64_t *blocks;               /* (columns of v as the network sees them) */
} own_pairs;

/* Reads the two files that call->args name. To be freed after a failure too. */
WM_MUST_CHECK wm_status own_pairs_read(own_pairs *p, const pair_flags *f, const read_flags *read,
                                       cli_call *call, wm_error *err);
void own_pairs_free(own_pairs *p);

#endif
