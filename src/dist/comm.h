/* comm.h - collectives on flat vectors (waymark/dist.h is what clients see of them). Every rank
 * calls the same ones in the same order. A comm that is NULL is one process: nothing is sent. */
#ifndef WMI_DIST_COMM_H
#define WMI_DIST_COMM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "dist/transport.h"
#include "waymark/dist.h"

/* The rank that does task i of those that are shared out. */
static inline int64_t wmi_comm_owner(const wm_comm *comm, int64_t i)
{
    return i % wm_comm_size(comm);
}

static inline bool wmi_comm_owns(const wm_comm *comm, int64_t i)
{
    return wmi_comm_owner(comm, i) == wm_comm_rank(comm);
}

/* Tasks of n that this rank does: the i-th of them is rank + i * size. */
static inline int64_t wmi_comm_own(const wm_comm *comm, int64_t n)
{
    return (n - wm_comm_rank(comm) + wm_comm_size(comm) - 1) / wm_comm_size(comm);
}

/* How a task of rank root ended, and the record of its failure, to all. */
WM_MUST_CHECK wm_status wmi_comm_tell(wm_comm *comm, int64_t root, wm_status *how, wm_error *record,
                                      wm_error *err);

/* One vector of those that are sent together. */
typedef struct wmi_piece {
    void *data;
    size_t bytes;
} wmi_piece;

/* The pieces of rank root to all. */
WM_MUST_CHECK wm_status wmi_comm_send(wm_comm *comm, int64_t root, const wmi_piece *piece,
                                      int64_t n, wm_error *err);
/* all (n): rank r has made those from wmi_comm_part(n, r) to that of r + 1, of `size` bytes each;
 * afterwards all have all. */
WM_MUST_CHECK wm_status wmi_comm_fill(wm_comm *comm, int64_t n, size_t size, void *all,
                                      wm_error *err);
static inline int64_t wmi_comm_part(const wm_comm *comm, int64_t n, int64_t r)
{
    return n * r / wm_comm_size(comm);
}

/* Whether any rank says so. */
WM_MUST_CHECK wm_status wmi_comm_any(wm_comm *comm, bool *flag, wm_error *err);

/* x (n) becomes the sum of all ranks' x, as a binary tree over the ranks in order: with terms that
 * are summed in the same tree on each rank, the same bits for 1, 2, 4, ... ranks. Only the first
 * `ranks` ranks, a power of two, have a term; all get the sum. work (wmi_comm_sum_work) is
 * overwritten. */
int64_t wmi_comm_sum_work(const wm_comm *comm, int64_t n);
WM_MUST_CHECK wm_status wmi_comm_sum_f32(wm_comm *comm, int64_t ranks, int64_t n, float *x,
                                         float *work, wm_error *err);

/* For tests: ranks that a transport of theirs brings. */
WM_MUST_CHECK wm_status wmi_comm_by(wm_comm **out, const wmi_transport *transport, wm_error *err);
/* What a launcher says of the number of processes it has started; 1 where there is none. */
int64_t wmi_comm_launched(void);

#endif
