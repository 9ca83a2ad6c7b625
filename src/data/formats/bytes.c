/* bytes.c - mapped files, pipes, memory, and gzip on top of any of them.
 *
 * A mapping is read-only and gives its pages back behind the reader, so that a file of any size is
 * read in constant memory. If the file is cut while it is read the kernel would end the process;
 * every look therefore asks for the size first, which leaves an instant and not the whole run. */
#define _DEFAULT_SOURCE /* madvise */

#include "data/formats/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/file.h"

enum {
    FORGET_EVERY = 8 << 20, /* bytes read from a mapping before its pages are given back */
    WATCH_EVERY = 1 << 20,  /* bytes read before the watcher is called */
    GZ_INPUT = 1 << 16,
    MAX_READ = 1 << 30, /* bytes a single read(2) is asked for */
    LOOK_EVERY = 200,   /* milliseconds between two looks at *stop while a pipe is silent */
};

struct wmi_bytes {
    char *label;
    int64_t size; /* of what read() yields, or -1 */
    int64_t pos;  /* bytes yielded since the start */

    const volatile sig_atomic_t *stop; /* or NULL */

    const unsigned char *map; /* (size), or NULL: a stream */
    int map_fd;               /* -1: memory that is not ours */
    int64_t forgot;           /* pos at the last forget */

    wmi_bytes_watcher *watcher;
    void *watcher_ctx;
    int64_t watched; /* pos at its last call */

    wmi_bytes_stream stream; /* used when map is NULL */
    void *ctx;
    unsigned char head[WMI_BYTES_PEEK]; /* the first bytes of a stream, once peeked at */
    size_t head_n;
    bool keeping;
    unsigned char *kept; /* bytes of a stream after the head, while it is kept for rewind */
    int64_t kept_n, kept_room;
};

static wm_status fail_errno(const char *label, int number, wm_error *err)
{
    return wmi_fail(err, number == ENOMEM ? WM_ENOMEM : WM_EIO, "%s: cannot read: %s",
                    wmi_path_tail(label), strerror(number));
}

static wm_status new_bytes(wmi_bytes **out, const char *label, wm_error *err)
{
    wmi_bytes *b = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(&b, 1, sizeof *b, "file", err)))
        return st;
    b->size = -1;
    b->map_fd = -1;
    if ((st = wmi_path_join(&b->label, "", label, err))) {
        wmi_free(b);
        return st;
    }
    *out = b;
    return WM_OK;
}

static wm_status heed(const volatile sig_atomic_t *stop, const char *label, wm_error *err)
{
    return stop && *stop
               ? wmi_fail(err, WM_EINTERRUPTED, "%s was not read to its end", wmi_path_tail(label))
               : WM_OK;
}

/* ---- pipes ---- */

typedef struct pipe_end {
    int fd;
    const char *label;
    const volatile sig_atomic_t *stop; /* or NULL */
} pipe_end;

/* Waits for bytes, or the end of them: read() may be begun again by itself after a signal. */
static wm_status await(const pipe_end *p, wm_error *err)
{
    struct pollfd one = {.fd = p->fd, .events = POLLIN};
    int ready = 0;
    wm_status st = WM_OK;

    while (p->stop && !ready && !(st = heed(p->stop, p->label, err))) {
        ready = poll(&one, 1, LOOK_EVERY);
        if (ready < 0 && errno == EINTR)
            ready = 0;
    }
    return st;
}

static wm_status pipe_read(void *ctx, void *buf, size_t n, size_t *got, wm_error *err)
{
    const pipe_end *p = (pipe_end *)ctx;
    const wm_status st = await(p, err);
    ssize_t k;

    *got = 0;
    if (st)
        return st;
    do
        k = read(p->fd, buf, n < MAX_READ ? n : MAX_READ);
    while (k < 0 && errno == EINTR);
    *got = k > 0 ? (size_t)k : 0;
    return k < 0 ? fail_errno(p->label, errno, err) : WM_OK;
}

static void pipe_close(void *ctx)
{
    pipe_end *p = (pipe_end *)ctx;

    if (p->fd != STDIN_FILENO)
        close(p->fd);
    wmi_free(p);
}

/* ---- gzip ---- */

typedef struct gz {
    wmi_bytes *inner;
    z_stream z;
    bool in_member; /* between two members stand the end, padding, or another header */
    bool ended;
    unsigned char in[GZ_INPUT];
} gz;

static wm_status gz_refill(gz *g, wm_error *err)
{
    size_t got = 0;
    wm_status st = WM_OK;

    if (g->z.avail_in)
        return WM_OK;
    if ((st = wmi_bytes_read(g->inner, g->in, sizeof g->in, &got, err)))
        return st;
    g->z.next_in = g->in;
    g->z.avail_in = (uInt)got;
    return WM_OK;
}

/* Members may follow each other (cat a.gz b.gz, bgzip), and tapes pad with zeros. */
static wm_status gz_next_member(gz *g, wm_error *err)
{
    for (;;) {
        const wm_status st = gz_refill(g, err);

        if (st)
            return st;
        if (!g->z.avail_in) {
            g->ended = true;
            return WM_OK;
        }
        if (*g->z.next_in == 0x1f) {
            inflateReset(&g->z);
            g->in_member = true;
            return WM_OK;
        }
        if (*g->z.next_in)
            return wmi_fail(err, WM_EFORMAT, "%s: bytes after the end of the gzip data",
                            wmi_path_tail(g->inner->label));
        g->z.next_in++;
        g->z.avail_in--;
    }
}

static wm_status gz_read(void *ctx, void *buf, size_t n, size_t *got, wm_error *err)
{
    gz *g = (gz *)ctx;
    const uInt room = n < MAX_READ ? (uInt)n : MAX_READ;
    wm_status st;

    *got = 0;
    g->z.next_out = (Bytef *)buf;
    g->z.avail_out = room;
    while (g->z.avail_out == room && !g->ended) {
        int z;

        if (!g->in_member) {
            if ((st = gz_next_member(g, err)))
                return st;
            continue;
        }
        if ((st = gz_refill(g, err)))
            return st;
        if (!g->z.avail_in)
            return wmi_fail(err, WM_EFORMAT, "%s: the gzip data are cut short",
                            wmi_path_tail(g->inner->label));
        z = inflate(&g->z, Z_NO_FLUSH);
        if (z == Z_MEM_ERROR)
            return wmi_fail(err, WM_ENOMEM, "%s: no memory to decode gzip",
                            wmi_path_tail(g->inner->label));
        if (z != Z_OK && z != Z_STREAM_END && z != Z_BUF_ERROR)
            return wmi_fail(err, WM_EFORMAT, "%s: damaged gzip data: %s",
                            wmi_path_tail(g->inner->label), g->z.msg ? g->z.msg : "no detail");
        g->in_member = z != Z_STREAM_END;
    }
    *got = room - g->z.avail_out;
    return WM_OK;
}

static wm_status gz_rewind(void *ctx, wm_error *err)
{
    gz *g = (gz *)ctx;
    const wm_status st = wmi_bytes_rewind(g->inner, err);

    inflateReset(&g->z);
    g->z.avail_in = 0;
    g->in_member = true;
    g->ended = false;
    return st;
}

static void gz_close(void *ctx)
{
    gz *g = (gz *)ctx;

    inflateEnd(&g->z);
    wmi_bytes_close(g->inner);
    wmi_free(g);
}

/* Puts a decoder around *b if it begins as gzip. */
static wm_status decode_gzip(wmi_bytes **b, wm_error *err)
{
    static const wmi_bytes_stream again = {gz_read, gz_rewind, gz_close},
                                  once = {gz_read, NULL, gz_close};
    const unsigned char *head;
    wmi_bytes *inner = *b;
    gz *g = NULL;
    size_t n;
    wm_status st;

    if ((st = wmi_bytes_peek(inner, &head, &n, err)))
        return st;
    if (n < 3 || memcmp(head, "\x1f\x8b\x08", 3) != 0)
        return WM_OK;
    if ((st = wmi_alloc(&g, 1, sizeof *g, "gzip", err)))
        return st;
    if (inflateInit2(&g->z, 15 + 16) != Z_OK) { /* the widest window, gzip's header */
        wmi_free(g);
        return wmi_fail(err, WM_ENOMEM, "%s: no memory to decode gzip",
                        wmi_path_tail(inner->label));
    }
    g->in_member = true;
    g->inner = inner;
    *b = NULL; /* the decoder's now, also on failure */
    if ((st = wmi_bytes_from(b, inner->label, inner->map ? &again : &once, g, -1, err)))
        return st;
    (*b)->stop = inner->stop;
    return WM_OK;
}

/* ---- opening and closing ---- */

/* Takes fd over on success. */
static wm_status open_map(wmi_bytes *b, int fd, int64_t size, wm_error *err)
{
    void *p;

    if (size == 0) { /* which mmap refuses */
        b->map = (const unsigned char *)"";
        b->size = 0;
        if (fd != STDIN_FILENO)
            close(fd);
        return WM_OK;
    }

    if ((uint64_t)size > SIZE_MAX / 2)
        return wmi_fail(err, WM_ENOMEM, "%s: %" PRId64 " bytes cannot be addressed",
                        wmi_path_tail(b->label), size);
    p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return fail_errno(b->label, errno, err);
    madvise(p, (size_t)size, MADV_SEQUENTIAL);
    b->map = (const unsigned char *)p;
    b->map_fd = fd;
    b->size = size;
    return WM_OK;
}

/* Takes fd over on success. */
static wm_status open_pipe(wmi_bytes *b, int fd, wm_error *err)
{
    pipe_end *p = NULL;
    const wm_status st = wmi_alloc(&p, 1, sizeof *p, "file", err);

    if (st)
        return st;
    *p = (pipe_end){fd, b->label, b->stop};
    b->stream = (wmi_bytes_stream){pipe_read, NULL, pipe_close};
    b->ctx = p;
    return WM_OK;
}

/* A FIFO that is opened to be waited for does not wait for its writer inside open(). */
static int open_input(const char *path, bool heeds)
{
    struct stat info;
    const bool fifo = heeds && stat(path, &info) == 0 && S_ISFIFO(info.st_mode);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | (fifo ? O_NONBLOCK : 0));

    if (fd >= 0 && fifo)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

wm_status wmi_bytes_open(wmi_bytes **out, const char *path, const volatile sig_atomic_t *stop,
                         wm_error *err)
{
    const bool standard = strcmp(path, "-") == 0;
    wmi_bytes *b = NULL;
    struct stat info;
    wm_status st;
    int fd = -1;

    *out = NULL;
    if ((st = new_bytes(&b, standard ? "standard input" : path, err)))
        return st;
    b->stop = stop;
    fd = standard ? STDIN_FILENO : open_input(path, stop != NULL);
    if (fd < 0 || fstat(fd, &info)) {
        st = fail_errno(b->label, errno, err);
        goto done;
    }
    if (S_ISDIR(info.st_mode)) {
        st = fail_errno(b->label, EISDIR, err);
        goto done;
    }
    /* A redirected file that somebody has begun to read goes on where it stands, as a stream. */
    if (S_ISREG(info.st_mode) && !(standard && lseek(fd, 0, SEEK_CUR) != 0))
        st = open_map(b, fd, info.st_size, err);
    else
        st = open_pipe(b, fd, err);
    if (st)
        goto done;
    fd = -1; /* b's now */
    if ((st = decode_gzip(&b, err)))
        goto done;
    *out = b;
    b = NULL;
done:
    if (fd > STDIN_FILENO)
        close(fd);
    wmi_bytes_close(b);
    return st;
}

wm_status wmi_bytes_memory(wmi_bytes **out, const char *label, const void *data, size_t n,
                           wm_error *err)
{
    wmi_bytes *b = NULL;
    wm_status st;

    *out = NULL;
    if ((st = new_bytes(&b, label, err)))
        return st;
    b->map = n ? (const unsigned char *)data : (const unsigned char *)"";
    b->size = (int64_t)n;
    if ((st = decode_gzip(&b, err)))
        wmi_bytes_close(b);
    else
        *out = b;
    return st;
}

wm_status wmi_bytes_from(wmi_bytes **out, const char *label, const wmi_bytes_stream *stream,
                         void *ctx, int64_t size, wm_error *err)
{
    const wm_status st = new_bytes(out, label, err);

    if (st) {
        stream->close(ctx);
        return st;
    }
    (*out)->stream = *stream;
    (*out)->ctx = ctx;
    (*out)->size = size;
    return WM_OK;
}

void wmi_bytes_close(wmi_bytes *b)
{
    if (!b)
        return;
    if (b->map_fd >= 0) {
        munmap((void *)(uintptr_t)b->map, (size_t)b->size);
        if (b->map_fd != STDIN_FILENO)
            close(b->map_fd);
    }
    if (b->ctx)
        b->stream.close(b->ctx);
    wmi_free(b->kept);
    wmi_free(b->label);
    wmi_free(b);
}

/* ---- reading ---- */

wm_status wmi_bytes_peek(wmi_bytes *b, const unsigned char **head, size_t *n, wm_error *err)
{
    if (b->map) {
        *n = b->size < WMI_BYTES_PEEK ? (size_t)b->size : WMI_BYTES_PEEK;
        return wmi_bytes_at(b, 0, (int64_t)*n, head, err);
    }
    while (b->head_n < sizeof b->head) {
        size_t got = 0;
        const wm_status st =
            b->stream.read(b->ctx, b->head + b->head_n, sizeof b->head - b->head_n, &got, err);

        if (st)
            return st;
        if (!got)
            break;
        b->head_n += got;
    }
    *head = b->head;
    *n = b->head_n;
    return WM_OK;
}

static wm_status keep_more(wmi_bytes *b, const void *bytes, size_t n, wm_error *err)
{
    const int64_t need = b->kept_n + (int64_t)n;
    wm_status st;

    if (!b->kept || need > b->kept_room) {
        const int64_t room = need < 1 << 15 ? 1 << 16 : 2 * need;
        unsigned char *more = NULL;

        if ((st = wmi_alloc(&more, room, 1, "what a pipe held", err)))
            return st;
        if (b->kept)
            memcpy(more, b->kept, (size_t)b->kept_n);
        wmi_free(b->kept);
        b->kept = more;
        b->kept_room = room;
    }
    memcpy(b->kept + b->kept_n, bytes, n);
    b->kept_n = need;
    return WM_OK;
}

/* Up to n bytes of a stream from where it stands: the head, then what was kept, then new ones. */
static wm_status stream_some(wmi_bytes *b, unsigned char *buf, size_t n, size_t *got, wm_error *err)
{
    const unsigned char *from = NULL;
    int64_t have = 0;
    wm_status st;

    if (b->pos < (int64_t)b->head_n) {
        from = b->head + b->pos;
        have = (int64_t)b->head_n - b->pos;
    } else if (b->pos < (int64_t)b->head_n + b->kept_n) {
        from = b->kept + (b->pos - (int64_t)b->head_n);
        have = (int64_t)b->head_n + b->kept_n - b->pos;
    }
    if (from) {
        *got = have < (int64_t)n ? (size_t)have : n;
        memcpy(buf, from, *got);
        return WM_OK;
    }
    if ((st = b->stream.read(b->ctx, buf, n, got, err)))
        return st;
    return b->keeping && *got ? keep_more(b, buf, *got, err) : WM_OK;
}

static void tell_watcher(wmi_bytes *b)
{
    if (!b->watcher || b->pos - b->watched < WATCH_EVERY)
        return;
    b->watched = b->pos;
    b->watcher(b->watcher_ctx, b->pos, b->size);
}

void wmi_bytes_watch(wmi_bytes *b, wmi_bytes_watcher *f, void *ctx)
{
    if (b->stream.read == gz_read)
        b = ((gz *)b->ctx)->inner;
    b->watcher = f;
    b->watcher_ctx = ctx;
    b->watched = b->pos;
}

wm_status wmi_bytes_read(wmi_bytes *b, void *buf, size_t n, size_t *got, wm_error *err)
{
    const unsigned char *from;
    wm_status st;

    *got = 0;
    if ((st = heed(b->stop, b->label, err)))
        return st;
    if (b->map) {
        const int64_t left = b->size - b->pos, take = (int64_t)n < left ? (int64_t)n : left;

        if ((st = wmi_bytes_at(b, b->pos, take, &from, err)))
            return st;
        memcpy(buf, from, (size_t)take);
        *got = (size_t)take;
        b->pos += take;
        if (b->pos - b->forgot > FORGET_EVERY) {
            wmi_bytes_forget(b);
            b->forgot = b->pos;
        }
        tell_watcher(b);
        return WM_OK;
    }
    while (*got < n) {
        size_t some = 0;

        if ((st = stream_some(b, (unsigned char *)buf + *got, n - *got, &some, err)))
            return st;
        if (!some)
            break;
        *got += some;
        b->pos += (int64_t)some;
    }
    tell_watcher(b);
    return WM_OK;
}

void wmi_bytes_keep(wmi_bytes *b)
{
    b->keeping = !b->map && !b->stream.rewind && b->pos == 0;
}

wm_status wmi_bytes_rewind(wmi_bytes *b, wm_error *err)
{
    wm_status st;

    if (!b->map && b->stream.rewind) {
        if ((st = b->stream.rewind(b->ctx, err)))
            return st;
        b->head_n = 0;
    } else if (!b->map && !b->keeping && b->pos > 0) {
        return wmi_fail(err, WM_EIO, "%s: a pipe cannot be read twice", wmi_path_tail(b->label));
    }
    b->keeping = false;
    b->pos = b->forgot = b->watched = 0;
    return WM_OK;
}

/* ---- mappings ---- */

int64_t wmi_bytes_size(const wmi_bytes *b)
{
    return b->size;
}

bool wmi_bytes_mapped(const wmi_bytes *b)
{
    return b->map != NULL;
}

static wm_status shorter(const wmi_bytes *b, wm_error *err)
{
    return wmi_fail(err, WM_EIO, "%s: has become shorter while it was read",
                    wmi_path_tail(b->label));
}

wm_status wmi_bytes_at(const wmi_bytes *b, int64_t offset, int64_t n, const unsigned char **out,
                       wm_error *err)
{
    struct stat info;
    wm_status st;

    if ((st = heed(b->stop, b->label, err)))
        return st;
    if (b->map_fd >= 0 && (fstat(b->map_fd, &info) || info.st_size < offset + n))
        return shorter(b, err);
    *out = b->map + offset;
    return WM_OK;
}

wm_status wmi_bytes_copy(const wmi_bytes *b, int64_t offset, int64_t n, void *buf, wm_error *err)
{
    int64_t done = 0;

    if (b->map_fd < 0) {
        memcpy(buf, b->map + offset, (size_t)n);
        return WM_OK;
    }
    while (done < n) {
        const ssize_t k =
            pread(b->map_fd, (char *)buf + done, (size_t)(n - done), (off_t)(offset + done));

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return fail_errno(b->label, errno, err);
        if (k == 0)
            return shorter(b, err);
        done += k;
    }
    return WM_OK;
}

void wmi_bytes_forget(const wmi_bytes *b)
{
    if (b->map_fd >= 0)
        madvise((void *)(uintptr_t)b->map, (size_t)b->size, MADV_DONTNEED);
}
