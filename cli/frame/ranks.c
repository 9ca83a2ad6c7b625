/* ranks.c - the start and the end of a command that runs as several processes. */
#include "frame/ranks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "frame/command.h"

static FILE *kept;       /* what a rank that is not the first has said on stderr */
static int loud_fd = -1; /* its stderr proper */

/* Both streams of this process away from the terminal. */
static void hush(void)
{
    const int nowhere = open("/dev/null", O_WRONLY);

    fflush(NULL);
    loud_fd = dup(STDERR_FILENO);
    kept = tmpfile();
    if (nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0)
        (void)dup2(kept ? fileno(kept) : nowhere, STDERR_FILENO);
    if (nowhere >= 0)
        close(nowhere);
}

/* What was kept, under the name of its rank. */
static void speak_up(const wm_comm *comm)
{
    char line[512];

    fflush(stderr);
    if (loud_fd < 0 || dup2(loud_fd, STDERR_FILENO) < 0)
        return;
    if (kept)
        rewind(kept);
    while (kept && fgets(line, sizeof line, kept))
        fprintf(stderr, "rank %" PRId64 ": %s", wm_comm_rank(comm), line);
}

int ranks_begin(wm_comm **comm, wm_error *err)
{
    if (wm_comm_open(comm, err)) {
        fprintf(stderr, "waymark: %s\n", err->text);
        return CLI_FAILED;
    }
    if (wm_comm_rank(*comm) > 0)
        hush();
    return -1;
}

int ranks_end(wm_comm *comm, int code)
{
    const bool failed = code == CLI_FAILED || code == CLI_USAGE;

    fflush(NULL);
    if (wm_comm_leave(comm, failed)) {
        if (wm_comm_rank(comm) > 0)
            speak_up(comm);
        if (!failed)
            fprintf(stderr, "waymark: rank %" PRId64 " is done, but others are not heard of\n",
                    wm_comm_rank(comm));
        fprintf(stderr, "waymark: rank %" PRId64 " ends the job of %" PRId64 " ranks\n",
                wm_comm_rank(comm), wm_comm_size(comm));
        fflush(NULL);
        wm_comm_abort(comm, failed ? code : CLI_FAILED);
    }
    /* All have come to the end: what the first says and returns is the answer of the job. */
    code = wm_comm_rank(comm) > 0 ? CLI_DONE : code;
    wm_comm_close(comm);
    return code;
}

void ranks_set_threads(const wm_comm *comm)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int64_t share = cores / wm_comm_local(comm) > 1 ? cores / wm_comm_local(comm) : 1;

    /* A launcher that binds ranks to cores has said so to OpenMP by that. */
    if (comm && !getenv("OMP_NUM_THREADS") && share < omp_get_max_threads())
        omp_set_num_threads((int)share);
}
