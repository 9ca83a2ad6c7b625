/* pieces.h - a step's gradient as the mean of those of several smaller batches, its pieces, which
 * ranks share. Pieces are added up in a binary tree whose form hangs on their number alone: 1, 2, 4
 * ... ranks give the same bits, and so does one process. */
#ifndef WMI_TRAIN_PIECES_H
#define WMI_TRAIN_PIECES_H

#include <stdbool.h>

#include "dist/comm.h"

/* What travels behind the gradient. */
typedef enum wmi_piece_extra {
    WMI_PIECE_LOSS,
    WMI_PIECE_ASKED, /* not 0: a rank is asked to leave */
    WMI_PIECE_TIME,  /* or its time is over */
    WMI_PIECE_EXTRAS
} wmi_piece_extra;

typedef struct wmi_pieces {
    wm_comm *comm;
    int64_t pieces;     /* a power of two */
    int64_t own, first; /* those of this rank; ranks beyond the pieces, and those that no power of
                           two counts, have none */
    int64_t ranks;      /* that have some */
    int64_t n;          /* numbers of a piece: gradient and extras */
    int64_t depth;      /* sums that are open */
    float *stack, *work;
} wmi_pieces;

/* p starts as {0}. */
WM_MUST_CHECK wm_status wmi_pieces_open(wmi_pieces *p, wm_comm *comm, int64_t pieces,
                                        int64_t n_params, wm_error *err);
void wmi_pieces_close(wmi_pieces *p);
/* The i-th piece of this rank, from 0, in order. */
void wmi_pieces_add(wmi_pieces *p, int64_t i, const float *grad,
                    const float extra[WMI_PIECE_EXTRAS]);
/* After all of them: the means, (n_params) and the extras behind it, the same on every rank. */
WM_MUST_CHECK wm_status wmi_pieces_mean(wmi_pieces *p, const float **mean, wm_error *err);

#endif
