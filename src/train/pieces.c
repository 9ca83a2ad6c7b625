/* pieces.c - gradients of pieces, summed in a tree (pieces.h). */
#include "train/pieces.h"

#include <string.h>

#include "base/alloc.h"

wm_status wmi_pieces_open(wmi_pieces *p, wm_comm *comm, int64_t pieces, int64_t n_params,
                          wm_error *err)
{
    const int64_t most = wm_comm_size(comm) < pieces ? wm_comm_size(comm) : pieces;
    int64_t sums = 1;
    wm_status st;

    p->comm = comm;
    p->pieces = pieces;
    p->n = n_params + WMI_PIECE_EXTRAS;
    for (p->ranks = 1; 2 * p->ranks <= most; p->ranks *= 2)
        ;
    p->own = wm_comm_rank(comm) < p->ranks ? pieces / p->ranks : 0;
    p->first = wm_comm_rank(comm) * p->own;
    for (int64_t i = p->own; i > 1; i /= 2)
        sums++;
    if ((st = wmi_alloc(&p->stack, sums * p->n, sizeof *p->stack, "gradients", err)))
        return st;
    return wmi_alloc(&p->work, wmi_comm_sum_work(comm, p->n), sizeof *p->work, "gradients", err);
}

void wmi_pieces_close(wmi_pieces *p)
{
    wmi_free(p->stack);
    wmi_free(p->work);
    *p = (wmi_pieces){0};
}

/* Sums of 1, 2, 4, ... pieces are open, as in a binary counter. */
void wmi_pieces_add(wmi_pieces *p, int64_t i, const float *grad,
                    const float extra[WMI_PIECE_EXTRAS])
{
    const int64_t n = p->n;
    float *top;

    if (i == 0)
        p->depth = 0;
    top = p->stack + p->depth++ * n;
    memcpy(top, grad, (size_t)(n - WMI_PIECE_EXTRAS) * sizeof *top);
    memcpy(top + n - WMI_PIECE_EXTRAS, extra, WMI_PIECE_EXTRAS * sizeof *top);
    for (int64_t count = i + 1; count % 2 == 0; count /= 2) {
        float *restrict to = p->stack + (p->depth - 2) * n;
        const float *restrict from = p->stack + (p->depth - 1) * n;

#pragma omp parallel for schedule(static) if (n > 100000)
        for (int64_t j = 0; j < n; j++)
            to[j] += from[j];
        p->depth--;
    }
}

wm_status wmi_pieces_mean(wmi_pieces *p, const float **mean, wm_error *err)
{
    const float share = 1 / (float)p->pieces; /* a power of two: exact */
    const wm_status st = wmi_comm_sum_f32(p->comm, p->ranks, p->n, p->stack, p->work, err);

    if (st)
        return st;
    for (int64_t j = 0; j < p->n; j++)
        p->stack[j] *= share;
    *mean = p->stack;
    return WM_OK;
}
