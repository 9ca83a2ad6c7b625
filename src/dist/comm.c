/* comm.c - collectives, by whatever transport there is, with an end to waiting. */
#include "dist/comm.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "waymark/sink.h"

enum {
    GRACE = 5,      /* seconds that a rank that has failed waits for others that have, too */
    GRACE_REST = 8, /* and one that is not the first, which should speak for all */
    ROLL_CALL = 2,  /* seconds */
};

static const double LIMIT = 3600;                    /* seconds */
static const double BUSY = 2e-3, LONGEST_NAP = 2e-3; /* seconds */
static const size_t MOST = (size_t)1 << 29;          /* bytes of one operation */

struct wm_comm {
    const wmi_transport *by;
    int rank, size, local;
    double limit;
    bool broken; /* an operation was given up: no other can be started */
};

wm_status wmi_comm_by(wm_comm **out, const wmi_transport *transport, wm_error *err)
{
    wm_comm *c = NULL;
    const char *why;
    wm_status st;

    *out = NULL;
    if (transport->version != WMI_TRANSPORT_VERSION)
        return wmi_fail(err, WM_EUNSUPPORTED,
                        "the module for MPI is of another version: build and "
                        "install it with this one");
    if ((st = wmi_alloc(&c, 1, sizeof *c, "ranks", err)))
        return st;
    c->by = transport;
    c->limit = LIMIT;
    if ((why = transport->open(&c->rank, &c->size, &c->local))) {
        wmi_free(c);
        return wmi_fail(err, WM_EIO, "MPI: %.200s", why);
    }
    *out = c;
    return WM_OK;
}

void wm_comm_close(wm_comm *comm)
{
    if (!comm)
        return;
    comm->by->close();
    wmi_free(comm);
}

int64_t wm_comm_rank(const wm_comm *comm)
{
    return comm ? comm->rank : 0;
}

int64_t wm_comm_size(const wm_comm *comm)
{
    return comm ? comm->size : 1;
}

int64_t wm_comm_local(const wm_comm *comm)
{
    return comm ? comm->local : 1;
}

void wm_comm_set_limit(wm_comm *comm, double seconds)
{
    if (comm && seconds > 0)
        comm->limit = seconds;
}

void wm_comm_abort(wm_comm *comm, int code)
{
    if (comm)
        comm->by->abort(code);
}

/* ---- waiting ---- */

/* Others may need the core that this rank waits on: it yields, and sleeps when the wait is long. */
static void rest(double waited)
{
    const double nap = fmin(waited / 20, LONGEST_NAP);
    const struct timespec t = {.tv_nsec = (long)(nap * 1e9)};

    if (waited < BUSY)
        sched_yield();
    else
        nanosleep(&t, NULL);
}

/* The ranks that do not answer, "2, 5" or "2 and 17 others". */
static void name_silent(wm_comm *c, char *text, size_t size)
{
    unsigned char *here = NULL;
    int at = 0, silent = 0, named = 0;

    snprintf(text, size, "another rank");
    if (wmi_alloc(&here, c->size, 1, "ranks", NULL) || c->by->roll_call(ROLL_CALL, here)) {
        wmi_free(here);
        return;
    }
    for (int r = 0; r < c->size; r++)
        silent += !here[r];
    if (silent)
        at = snprintf(text, size, "rank%s", silent > 1 ? "s" : "");
    for (int r = 0; r < c->size && named < 4; r++)
        if (!here[r]) {
            at += snprintf(text + at, size - (size_t)at, "%s %d", named ? "," : "", r);
            named++;
        }
    if (silent > named)
        snprintf(text + at, size - (size_t)at, " and %d others", silent - named);
    wmi_free(here);
}

/* Until what was started is done. */
static wm_status wait_for(wm_comm *c, const char *started, wm_error *err)
{
    const double start = wm_clock(NULL);
    const char *why = started;
    char silent[80];
    int done = 0;

    while (!why && !(why = c->by->test(&done)) && !done) {
        const double waited = wm_clock(NULL) - start;

        if (waited > c->limit) {
            c->broken = true;
            name_silent(c, silent, sizeof silent);
            return wmi_about(
                wmi_fail(err, WM_EIO,
                         "no word from %s for %g s: stopped, lost with its machine, or "
                         "at work for longer than that",
                         silent, c->limit),
                err, "rank-limit");
        }
        rest(waited);
    }
    if (!why)
        return WM_OK;
    c->broken = true;
    return wmi_fail(err, WM_EIO, "MPI: %.200s", why);
}

static bool alone(const wm_comm *c)
{
    return !c || c->size == 1;
}

bool wm_comm_leave(wm_comm *comm, bool failed)
{
    const double start = wm_clock(NULL);
    int done = 0;

    if (alone(comm))
        return false;
    if (comm->broken || comm->by->leave()) {
        const struct timespec turn = {.tv_sec = comm->rank ? GRACE_REST - GRACE : 0};

        nanosleep(&turn, NULL); /* the first rank, if it can, ends the job */
        return true;
    }
    while (!done) {
        const double waited = wm_clock(NULL) - start;

        if (comm->by->test(&done))
            return true;
        if (!done && waited > (!failed ? comm->limit : comm->rank ? GRACE_REST : GRACE))
            return true;
        if (!done)
            rest(waited);
    }
    return false;
}

/* ---- collectives ---- */

wm_status wm_comm_broadcast(wm_comm *comm, int64_t root, void *data, size_t bytes, wm_error *err)
{
    wm_status st = WM_OK;

    if (alone(comm))
        return WM_OK;
    for (size_t at = 0; at < bytes && !st; at += MOST) {
        const size_t n = bytes - at < MOST ? bytes - at : MOST;

        st = wait_for(comm, comm->by->broadcast((int)root, (char *)data + at, n), err);
    }
    return st;
}

wm_status wmi_comm_send(wm_comm *comm, int64_t root, const wmi_piece *piece, int64_t n,
                        wm_error *err)
{
    wm_status st = WM_OK;

    for (int64_t i = 0; i < n && !st; i++)
        st = wm_comm_broadcast(comm, root, piece[i].data, piece[i].bytes, err);
    return st;
}

/* What a status and its record are on the way: no pointers. */
typedef struct verdict {
    int32_t code, line;
    char text[256], topic[64];
} verdict;

static void put_verdict(verdict *v, wm_status st, const wm_error *e)
{
    memset(v, 0, sizeof *v);
    v->code = (int32_t)st;
    if (!st || !e)
        return;
    v->line = e->line;
    memcpy(v->text, e->text, sizeof v->text);
    if (e->topic)
        snprintf(v->topic, sizeof v->topic, "%s", e->topic);
}

/* Topics that travel must be literals again: those that failures of a shared task may have. */
static const char *topic_of(const char *text)
{
    static const char *const known[] = {"resume", "missing",    "batch", "lr",
                                        "folds",  "iterations", "model", "rank-limit"};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(text, known[i]) == 0)
            return known[i];
    return NULL;
}

static wm_status get_verdict(const verdict *v, wm_error *err)
{
    if (!v->code)
        return WM_OK;
    wm_error_set(err, (wm_status)v->code, __FILE__, v->line, "%s", v->text);
    return wmi_about((wm_status)v->code, err, topic_of(v->topic));
}

wm_status wm_comm_agree(wm_comm *comm, wm_status own, wm_error *err)
{
    verdict mine, *all = NULL;
    wm_status st;

    if (alone(comm))
        return own;
    put_verdict(&mine, own, err);
    if ((st = wmi_alloc(&all, comm->size, sizeof *all, "ranks", err)) ||
        (st = wait_for(comm, comm->by->gather(&mine, all, sizeof mine), err)))
        goto done;
    for (int r = 0; r < comm->size && !st; r++)
        st = get_verdict(&all[r], r == comm->rank ? NULL : err);
done:
    wmi_free(all);
    return st;
}

wm_status wmi_comm_tell(wm_comm *comm, int64_t root, wm_status *how, wm_error *record,
                        wm_error *err)
{
    verdict v;
    wm_status st;

    if (alone(comm))
        return WM_OK;
    put_verdict(&v, *how, record);
    if (!(st = wm_comm_broadcast(comm, root, &v, sizeof v, err)) && root != comm->rank)
        *how = get_verdict(&v, record);
    return st;
}

wm_status wmi_comm_fill(wm_comm *comm, int64_t n, size_t size, void *all, wm_error *err)
{
    wm_status st = WM_OK;

    for (int64_t r = 0; r < wm_comm_size(comm) && !st; r++) {
        const int64_t first = wmi_comm_part(comm, n, r), last = wmi_comm_part(comm, n, r + 1);

        st = wm_comm_broadcast(comm, r, (char *)all + (size_t)first * size,
                               (size_t)(last - first) * size, err);
    }
    return st;
}

wm_status wmi_comm_any(wm_comm *comm, bool *flag, wm_error *err)
{
    const unsigned char own = *flag;
    unsigned char *all = NULL;
    wm_status st;

    if (alone(comm))
        return WM_OK;
    if (!(st = wmi_alloc(&all, comm->size, 1, "ranks", err)) &&
        !(st = wait_for(comm, comm->by->gather(&own, all, 1), err)))
        for (int r = 0; r < comm->size; r++)
            *flag = *flag || all[r];
    wmi_free(all);
    return st;
}

/* ---- sums ---- */

/* Elements of a slice: rank r sums slice r of everybody's vector. */
static int64_t slice_of(const wm_comm *c, int64_t n)
{
    return (n + c->size - 1) / c->size;
}

int64_t wmi_comm_sum_work(const wm_comm *comm, int64_t n)
{
    return alone(comm) ? 0 : 2 * slice_of(comm, n) * comm->size;
}

/* terms (count, n), a power of two of them, summed pairwise into the first. */
static void sum_tree(int64_t count, int64_t n, float *terms)
{
    for (int64_t gap = 1; gap < count; gap *= 2)
        for (int64_t i = 0; i + gap < count; i += 2 * gap) {
            float *restrict to = terms + i * n;
            const float *restrict from = terms + (i + gap) * n;

            for (int64_t j = 0; j < n; j++)
                to[j] += from[j];
        }
}

wm_status wmi_comm_sum_f32(wm_comm *comm, int64_t ranks, int64_t n, float *x, float *work,
                           wm_error *err)
{
    const int64_t slice = alone(comm) ? 0 : slice_of(comm, n);
    float *const to = work, *const from = work + slice * wm_comm_size(comm);
    const size_t bytes = (size_t)slice * sizeof *x;
    wm_status st;

    if (alone(comm))
        return WM_OK;
    memcpy(to, x, (size_t)n * sizeof *x);
    if ((st = wait_for(comm, comm->by->exchange(to, from, bytes), err)))
        return st;
    sum_tree(ranks, slice, from);
    if ((st = wait_for(comm, comm->by->gather(from, to, bytes), err)))
        return st;
    memcpy(x, to, (size_t)n * sizeof *x);
    return WM_OK;
}
