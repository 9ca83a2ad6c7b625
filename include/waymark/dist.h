/** @file dist.h
 * Several processes that work on one fit: ranks, as MPI calls them. Every rank makes the same calls
 * with the same arguments on the same files; what can be done apart is shared out, and every rank
 * ends with the same answer. It depends on the seed, not on the number of ranks.
 *
 * Ranks are found where a launcher (mpirun, srun) has started them; MPI itself is in a module that
 * is loaded then and only then. NULL is a process on its own, here and in wm_fit_control.comm. */
#ifndef WAYMARK_DIST_H
#define WAYMARK_DIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The ranks of this job, as one of them sees them. Not for several threads at once. */
typedef struct wm_comm wm_comm;

/** Join the ranks that a launcher has started with this process.
 * @param[out] out  NULL where there are no others; closed with wm_comm_close()
 * @return WM_OK; WM_EUNSUPPORTED where there are others but no module to reach them, WM_EIO */
WM_API WM_MUST_CHECK wm_status wm_comm_open(wm_comm **out, wm_error *err);
/** Leave MPI. Every rank must come here, or the others wait. */
WM_API void wm_comm_close(wm_comm *comm);

WM_API int64_t wm_comm_rank(const wm_comm *comm);  /**< from 0; of NULL 0 */
WM_API int64_t wm_comm_size(const wm_comm *comm);  /**< of NULL 1 */
WM_API int64_t wm_comm_local(const wm_comm *comm); /**< ranks on this machine; of NULL 1 */

/** How long a rank waits for others before it gives them up; default 3600 s. */
WM_API void wm_comm_set_limit(wm_comm *comm, double seconds);

/** The bytes of rank @p root to all. WM_EIO when a rank is not heard of within the limit. */
WM_API WM_MUST_CHECK wm_status wm_comm_broadcast(wm_comm *comm, int64_t root, void *data,
                                                 size_t bytes, wm_error *err);
/** The failure of the lowest rank that has one, to all: a step that a rank took alone ends the same
 * way everywhere. WM_OK if @p own is that on every rank. */
WM_API WM_MUST_CHECK wm_status wm_comm_agree(wm_comm *comm, wm_status own, wm_error *err);

/** The end of the work of a rank. Waits until all ranks have come here; a rank that has failed does
 * so for some seconds only. True: it stands alone, and should say why and call wm_comm_abort(). */
WM_API WM_MUST_CHECK bool wm_comm_leave(wm_comm *comm, bool failed);
/** End the processes of all ranks, this one with them. */
WM_API void wm_comm_abort(wm_comm *comm, int code);

#ifdef __cplusplus
}
#endif
#endif
