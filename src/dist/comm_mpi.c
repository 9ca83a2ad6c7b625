/* comm_mpi.c - ranks by MPI, as a module of its own (transport.h): the only file that knows MPI.
 * Everything is started without waiting and tested by the caller, who can so give up on a rank that
 * does not answer. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dist/transport.h"

#define ROLL_CALL 77 /* tag */

/* The state of the one job that a process can be in. */
static MPI_Comm work, parting; /* apart: ranks may be in one operation of each */
static MPI_Request pending;
static int rank, size;

const wmi_transport *waymark_transport(void);

static const char *told(int code)
{
    static char text[MPI_MAX_ERROR_STRING];
    int n = 0;

    if (code == MPI_SUCCESS)
        return NULL;
    if (MPI_Error_string(code, text, &n) != MPI_SUCCESS)
        memcpy(text, "MPI failed", 11);
    return text;
}

static const char *open_job(int *own, int *all, int *local)
{
    MPI_Comm here;
    int code, given;

    if ((code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given)) ||
        (code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)) ||
        (code = MPI_Comm_dup(MPI_COMM_WORLD, &work)) ||
        (code = MPI_Comm_dup(MPI_COMM_WORLD, &parting)) || (code = MPI_Comm_rank(work, &rank)) ||
        (code = MPI_Comm_size(work, &size)) ||
        (code = MPI_Comm_split_type(work, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &here)) ||
        (code = MPI_Comm_size(here, local)) || (code = MPI_Comm_free(&here)))
        return told(code);
    *own = rank;
    *all = size;
    pending = MPI_REQUEST_NULL;
    return NULL;
}

static void close_job(void)
{
    int over = 0;

    if (MPI_Finalized(&over) == MPI_SUCCESS && !over)
        MPI_Finalize();
}

static void abort_job(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
    abort(); /* not reached */
}

static const char *broadcast(int root, void *data, size_t bytes)
{
    return told(MPI_Ibcast(data, (int)bytes, MPI_BYTE, root, work, &pending));
}

static const char *gather(const void *own, void *all, size_t bytes)
{
    return told(
        MPI_Iallgather(own, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, work, &pending));
}

static const char *exchange(const void *to, void *from, size_t bytes)
{
    return told(
        MPI_Ialltoall(to, (int)bytes, MPI_BYTE, from, (int)bytes, MPI_BYTE, work, &pending));
}

static const char *leave(void)
{
    return told(MPI_Ibarrier(parting, &pending));
}

static const char *test(int *done)
{
    return told(MPI_Test(&pending, done, MPI_STATUS_IGNORE));
}

/* A persistent request that is started once: nobody waits for it, since its rank may be gone. */
static int send_word(int to, const unsigned char *word)
{
    MPI_Request sent;
    int code;

    if ((code = MPI_Send_init(word, 1, MPI_BYTE, to, ROLL_CALL, parting, &sent)) ||
        (code = MPI_Start(&sent)))
        return code;
    return MPI_Request_free(&sent);
}

/* Everybody who is still there says so to everybody. The messages are small enough to be on their
 * way at once; those to a rank that is gone are never received, which is all the same now. */
static const char *roll_call(double seconds, unsigned char *here)
{
    static unsigned char word;
    const double start = MPI_Wtime();
    int code;

    memset(here, 0, (size_t)size);
    here[rank] = 1;
    for (int r = 0; r < size; r++)
        if (r != rank && (code = send_word(r, &word)))
            return told(code);
    while (MPI_Wtime() - start < seconds) {
        const struct timespec nap = {.tv_nsec = 10000000};
        MPI_Status from;
        int there = 0;

        if ((code = MPI_Iprobe(MPI_ANY_SOURCE, ROLL_CALL, parting, &there, &from)))
            return told(code);
        if (!there) {
            nanosleep(&nap, NULL);
            continue;
        }
        if ((code = MPI_Recv(&word, 1, MPI_BYTE, from.MPI_SOURCE, ROLL_CALL, parting, &from)))
            return told(code);
        here[from.MPI_SOURCE] = 1;
    }
    return NULL;
}

__attribute__((visibility("default"))) const wmi_transport *waymark_transport(void)
{
    static const wmi_transport table = {
        .version = WMI_TRANSPORT_VERSION,
        .open = open_job,
        .close = close_job,
        .abort = abort_job,
        .broadcast = broadcast,
        .gather = gather,
        .exchange = exchange,
        .leave = leave,
        .test = test,
        .roll_call = roll_call,
    };

    return &table;
}
