/* io.c - calls that change files, and faults that are put into them (io.h). */
#define _GNU_SOURCE /* fopencookie */

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHORT = -1, KILL = -2, STOP = -3 }; /* beside errno's numbers */

/* Counters of tests, as those of alloc.c: they change no result. */
static atomic_int_fast64_t calls, first; /* first: the call that fails; 0: none */
static atomic_int how, onward_too, met, asked;

static int number_of(const char *what)
{
    static const struct {
        const char *name;
        int number;
    } known[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},     {"EFBIG", EFBIG}, {"EACCES", EACCES},
                 {"EINTR", EINTR},   {"short", SHORT}, {"kill", KILL},   {"stop", STOP}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(what, known[i].name) == 0)
            return known[i].number;
    return 0;
}

void wmi_io_fail_at(int64_t n, bool onward, const char *what)
{
    atomic_store(&calls, 0);
    atomic_store(&met, 0);
    atomic_store(&how, number_of(what));
    atomic_store(&onward_too, onward);
    atomic_store(&first, number_of(what) ? n : 0);
    atomic_store(&asked, 1);
}

bool wmi_io_failed(void)
{
    return atomic_load(&met) != 0;
}

static void ask_environment(void)
{
    const char *text = getenv("WAYMARK_IO_FAULT");
    char *end = NULL;
    const long long n = text ? strtoll(text, &end, 10) : 0;

    atomic_store(&asked, 1);
    if (text && n > 0)
        wmi_io_fail_at(n, *end == '+', end + strcspn(end, ":") + (strchr(end, ':') != NULL));
}

/* What this call meets: 0, the errno of its failure, or SHORT. */
static int fault(const char *call, const char *path)
{
    int64_t at;
    int number;

    if (!atomic_load(&asked))
        ask_environment();
    if (!atomic_load(&first))
        return 0;
    at = atomic_fetch_add(&calls, 1) + 1;
    number = atomic_load(&how);
    if (at < atomic_load(&first) ||
        (at > atomic_load(&first) && (!atomic_load(&onward_too) || number == EINTR)))
        return 0;
    if (!atomic_exchange(&met, 1) && getenv("WAYMARK_IO_FAULT"))
        fprintf(stderr, "io fault %lld: %s %s\n", (long long)at, call, path);
    if (number == KILL)
        kill(getpid(), SIGKILL);
    if (number == STOP)
        kill(getpid(), SIGSTOP);
    return number == STOP ? 0 : number;
}

/* Makes a call until it is not interrupted. */
#define CALL(NAME, PATH, EXPRESSION)                                                               \
    int done;                                                                                      \
    do {                                                                                           \
        const int number = fault(NAME, PATH);                                                      \
        if (number > 0)                                                                            \
            errno = number;                                                                        \
        done = number > 0 ? -1 : (EXPRESSION);                                                     \
    } while (done < 0 && errno == EINTR);                                                          \
    return done

int wmi_io_open(const char *path, int flags, int mode)
{
    CALL("open", path, open(path, flags | O_CLOEXEC, mode));
}

/* Closed whatever is said: Linux has let go of the descriptor also where it reports a failure. */
int wmi_io_close(int fd)
{
    const int number = fault("close", "");
    const int done = close(fd);

    if (number > 0 && number != EINTR)
        errno = number;
    return (number > 0 && number != EINTR) || (done && errno != EINTR) ? -1 : 0;
}

int wmi_io_sync(int fd)
{
    CALL("fsync", "", fsync(fd));
}

int wmi_io_truncate(int fd, int64_t size)
{
    CALL("ftruncate", "", ftruncate(fd, (off_t)size));
}

int wmi_io_rename(const char *from, const char *to)
{
    CALL("rename", to, rename(from, to));
}

int wmi_io_unlink(const char *path)
{
    CALL("unlink", path, unlink(path));
}

int wmi_io_mkdir(const char *path)
{
    CALL("mkdir", path, mkdir(path, 0777));
}

int wmi_io_rmdir(const char *path)
{
    CALL("rmdir", path, rmdir(path));
}

int wmi_io_write(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;

    while (n > 0) {
        const int number = fault("write", "");
        const size_t some = number == SHORT && n > 1 ? n / 2 : n;
        const ssize_t got = number > 0 ? -1 : write(fd, p, some);

        if (number > 0)
            errno = number;
        if (got < 0 && errno != EINTR)
            return -1;
        if (got == 0) { /* no device we know does this; it must not become a loop */
            errno = EIO;
            return -1;
        }
        p += got > 0 ? got : 0;
        n -= got > 0 ? (size_t)got : 0;
    }
    return 0;
}

/* --- streams -----------------------------------------------------------------------------------*/

typedef struct cookie {
    int fd, *number;
} cookie;

static ssize_t cookie_write(void *ctx, const char *bytes, size_t n)
{
    const cookie *c = ctx;

    if (wmi_io_write(c->fd, bytes, n)) {
        if (!*c->number)
            *c->number = errno;
        return 0;
    }
    return (ssize_t)n;
}

/* For ftell(). */
static int cookie_seek(void *ctx, off64_t *at, int whence)
{
    const off64_t now = lseek64(((const cookie *)ctx)->fd, *at, whence);

    *at = now;
    return now < 0 ? -1 : 0;
}

static int cookie_close(void *ctx)
{
    cookie *c = ctx;
    const int done = wmi_io_close(c->fd);

    free(c);
    return done;
}

FILE *wmi_io_stream(int fd, int *number)
{
    const cookie_io_functions_t functions = {
        .write = cookie_write, .seek = cookie_seek, .close = cookie_close};
    cookie *c = malloc(sizeof *c);
    FILE *f;

    *number = 0;
    if (!c)
        return NULL;
    *c = (cookie){.fd = fd, .number = number};
    f = fopencookie(c, "wb", functions);
    if (!f)
        free(c);
    return f;
}
