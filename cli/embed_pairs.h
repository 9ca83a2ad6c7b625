/* embed_pairs.h - a person's pairs for `embed fit`: read, checked, split, and as a network sees
 * them. */
#ifndef WM_CLI_EMBED_PAIRS_H
#define WM_CLI_EMBED_PAIRS_H

#include "command.h"
#include "estimate.h"
#include "waymark/columns.h"
#include "waymark/embed.h"

typedef struct pair_flags {
    const char *image, *blocks;
    double held_out, divide; /* divide: NaN where not given */
} pair_flags;

#define PAIR_ROWS(T, F)                                                                            \
    {.kind = OPT_TEXT,                                                                             \
     .name = "blocks",                                                                             \
     .at = offsetof(T, F.blocks),                                                                  \
     .arg = "HOW",                                                                                 \
     .help = "parts of v that change together: N runs of columns, or their sizes as 3,3,2; "       \
             "images: RxC tiles",                                                                  \
     .unset = "each column, or 2x2 tiles"},                                                        \
        {.kind = OPT_REAL,                                                                         \
         .name = "held-out",                                                                       \
         .at = offsetof(T, F.held_out),                                                            \
         .arg = "SHARE",                                                                           \
         .help = "of the pairs, drawn by the seed: half of them choose the best step, half test "  \
                 "it",                                                                             \
         .lo = 0,                                                                                  \
         .hi = 0.9,                                                                                \
         .above = true},                                                                           \
        {.kind = OPT_TEXT,                                                                         \
         .name = "image",                                                                          \
         .at = offsetof(T, F.image),                                                               \
         .arg = "HxW[xC]",                                                                         \
         .help = "rows are images: 28x28; no: they are not; 28x28,no: u is one and v is not",      \
         .unset = "by the axes of the arrays"},                                                    \
    {                                                                                              \
        .kind = OPT_REAL, .name = "divide", .at = offsetof(T, F.divide), .arg = "D",               \
        .help = "values of images are divided by it: 255 for bytes", .lo = 0, .hi = 1e300,         \
        .above = true, .unset = "1"                                                                \
    }

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
