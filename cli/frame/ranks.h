/* ranks.h - several processes that run one command (waymark/dist.h). The first rank speaks and
 * writes; what the others would say is kept, and comes out where one of them fails alone. */
#ifndef WM_CLI_RANKS_H
#define WM_CLI_RANKS_H

#include "waymark/dist.h"

/* Joins the other ranks, if there are any, and silences this one unless it is the first. An exit
 * code, with the reason said, or -1: go on. */
int ranks_begin(wm_comm **comm, wm_error *err);
/* Waits for the others, and returns the exit code; does not return where only an end of the whole
 * job can free them. */
int ranks_end(wm_comm *comm, int code);
/* Threads of this rank where nobody has said: its share of the machine's cores. */
void ranks_set_threads(const wm_comm *comm);

#endif
