/* run_lines.c - metrics.jsonl of a run folder: opened and locked, appended to, cut back. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/io.h"
#include "report/run/event_file.h"
#include "report/run/run_folder.h"
#include "report/run/summary.h"

/* Two processes in one folder would mix their metrics and sweep each other's temporaries. A lock of
 * fcntl ends with its process, however that ends. */
wm_status wmi_run_lock(int *out, const char *dir, wm_error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char *path = NULL;
    wm_status st = wmi_path_join(&path, dir, WMI_RUN_METRICS, err);
    int fd;

    *out = -1;
    if (st)
        return st;
    fd = wmi_io_open(path, O_RDWR | O_CREAT | O_APPEND, 0666);
    if (fd < 0)
        st = wmi_fail(err, WM_EIO, "%s: %s", wmi_path_tail(path), strerror(errno));
    else if (fcntl(fd, F_SETLK, &lock) && (errno == EACCES || errno == EAGAIN))
        st = wmi_fail(err, WM_EIO, "%s: another process works in this folder", wmi_path_tail(dir));
    /* a file system without locks is trusted */
    wmi_free(path);
    if (!st)
        *out = fd;
    else if (fd >= 0)
        close(fd);
    return st;
}

static wm_status fail_lines(const wm_run_folder *r, int number, wm_error *err)
{
    return wmi_fail(err, WM_EIO, "%s/" WMI_RUN_METRICS ": %s", wmi_path_tail(r->dir),
                    strerror(number ? number : EIO));
}

/* Writes what waits, all of it or nothing: half a line must not stand before a whole one. */
static int write_waiting(wm_run_folder *r)
{
    struct stat info;
    int number = 0;

    if (!r->waiting)
        return 0;
    if (fstat(r->metrics, &info))
        return errno;
    if (wmi_io_write(r->metrics, r->waiting, strlen(r->waiting))) {
        number = errno;
        (void)wmi_io_truncate(r->metrics, info.st_size);
        return number;
    }
    wmi_free(r->waiting);
    r->waiting = NULL;
    return 0;
}

wm_status wmi_run_lines_sync(wm_run_folder *r, wm_error *err)
{
    const int number = write_waiting(r);

    if (number)
        return fail_lines(r, number, err);
    return wmi_io_sync(r->metrics) && errno != EINVAL ? fail_lines(r, errno, err) : WM_OK;
}

void wm_run_folder_tensorboard(wm_run_folder *r)
{
    if (r)
        r->wants_events = true;
}

/* The file comes with its first line: a run that has only begun leaves nothing. */
static wm_status add_event(wm_run_folder *r, const json_t *line, wm_error *err)
{
    const char *path;
    struct timespec now = {0};
    wm_status st;

    if (r->events < 0 && ((st = wm_run_folder_path(&path, r, WMI_RUN_EVENTS, err)) ||
                          (st = wmi_events_open(&r->events, path, err))))
        return st;
    clock_gettime(CLOCK_REALTIME, &now);
    return wmi_events_add(r->events, line, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec, err);
}

wm_status wm_run_folder_metrics(wm_run_folder *r, const wm_summary *line, wm_error *err)
{
    const char *before;
    char *text = NULL, *all = NULL;
    json_t *object;
    size_t n = 0;
    FILE *f;
    wm_status st;

    if (!r)
        return WM_OK;
    if ((st = wmi_summary_json(&object, line, err)) ||
        (r->wants_events && (st = add_event(r, object, err))))
        return st;
    f = open_memstream(&text, &n);
    if (f)
        wmi_json_line(object, f);
    if (!f || fclose(f)) {
        free(text);
        return wmi_fail(err, WM_ENOMEM, "%s/" WMI_RUN_METRICS ": no memory", wmi_path_tail(r->dir));
    }
    before = r->waiting ? r->waiting : "";
    if (!(st = wmi_alloc(&all, (int64_t)(strlen(before) + n + 2), 1, "metrics", err))) {
        snprintf(all, strlen(before) + n + 2, "%s%s\n", before, text);
        wmi_free(r->waiting);
        r->waiting = all;
        (void)write_waiting(r); /* what cannot be written waits */
    }
    free(text);
    return st;
}

/* Which lines are meant: those whose `key` is `name`, or all where that is NULL. */
typedef struct lines_of {
    const char *key, *name;
} lines_of;

/* Whether a line is one of these, and belongs to a later step. */
static bool is_later(const json_t *line, lines_of of, int64_t step)
{
    const json_t *number = json_object_get(line, "step");
    const char *name = json_string_value(json_object_get(line, of.key));

    return json_is_integer(number) && json_integer_value(number) > step &&
           (!of.name || (name && strcmp(name, of.name) == 0));
}

/* Bytes of text (n) that a run at `step` keeps: whole lines, up to the first of a later step. Steps
 * only grow, so all that follows that one is later too. */
static size_t kept_bytes(const char *text, size_t n, lines_of of, int64_t step)
{
    size_t at = 0;

    while (at < n) {
        const char *end = memchr(text + at, '\n', n - at);
        json_t *line;
        bool later;

        if (!end)
            break;
        line = json_loadb(text + at, (size_t)(end - text) - at, 0, NULL);
        later = !line || is_later(line, of, step);
        json_decref(line);
        if (later)
            break;
        at = (size_t)(end - text) + 1;
    }
    return at;
}

/* All of metrics.jsonl, through the descriptor that holds the lock: closing any other descriptor of
 * the file would release the lock. */
static wm_status read_lines(char **out, size_t *n, wm_run_folder *r, wm_error *err)
{
    const int fd = r->metrics;
    struct stat info;
    ssize_t got = 1;
    wm_status st;

    *n = 0;
    if (fstat(fd, &info))
        return fail_lines(r, errno, err);
    if ((st = wmi_alloc(out, info.st_size, 1, "metrics", err)))
        return st;
    while (got > 0 && *n < (size_t)info.st_size) {
        got = pread(fd, *out + *n, (size_t)info.st_size - *n, (off_t)*n);
        *n += got > 0 ? (size_t)got : 0;
    }
    if (got < 0) {
        wmi_free(*out);
        return fail_lines(r, errno, err);
    }
    return WM_OK;
}

static wm_status cut_back(wm_run_folder *r, lines_of of, int64_t step, wm_error *err)
{
    char *text = NULL;
    size_t n, kept;
    wm_status st;

    if ((st = read_lines(&text, &n, r, err)))
        return st;
    kept = kept_bytes(text, n, of, step);
    wmi_free(text);
    return kept < n && wmi_io_truncate(r->metrics, (int64_t)kept) ? fail_lines(r, errno, err)
                                                                  : WM_OK;
}

wm_status wmi_run_lines_rewind(wm_run_folder *r, const char *stage, int64_t step, wm_error *err)
{
    return r ? cut_back(r, (lines_of){"stage", stage}, step, err) : WM_OK;
}

wm_status wmi_run_lines_begin(wm_run_folder *r, const char *key, const char *name, int64_t step,
                              wm_error *err)
{
    if (!r || !r->resumed || json_object_get(r->begun, name))
        return WM_OK;
    if (!r->begun)
        r->begun = json_object();
    if (json_object_set_new(r->begun, name, json_true()))
        return wmi_fail(err, WM_ENOMEM, "%s: no memory", wmi_path_tail(r->dir));
    return cut_back(r, (lines_of){key, name}, step - 1, err);
}
