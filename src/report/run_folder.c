/* run_folder.c - the folder of one run: who may write into it, and the files that every command
 * keeps there. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/file.h"
#include "report/run_replaced.h"
#include "report/summary.h"
#include "report/text.h"
#include "waymark/version.h"

#define MAX_CONFIG (16 << 20) /* bytes */

struct wm_run_folder {
    wmi_arena arena; /* the paths that were asked for */
    char *dir, *command;
    FILE *metrics;          /* open for appending, and locked as long as the folder is open */
    bool resumed, replaces; /* replaces: another run, which waits in run_replaced.h's place */
};

static wm_status member(const char **out, wm_run_folder *r, const char *name, wm_error *err)
{
    char *joined = NULL;
    wm_status st = wmi_path_join(&joined, r->dir, name, err);

    *out = NULL;
    if (st)
        return st;
    *out = wmi_arena_strdup(&r->arena, joined, err);
    wmi_free(joined);
    return *out ? WM_OK : WM_ENOMEM;
}

wm_status wm_run_folder_path(const char **out, wm_run_folder *r, const char *name, wm_error *err)
{
    *out = NULL;
    return r ? member(out, r, name, err) : WM_OK;
}

/* The command of the run that is there, into holder; "" if there is none. */
static wm_status find_run(wm_run_folder *r, char *holder, size_t size, wm_error *err)
{
    const char *path, *name;
    char *text = NULL;
    json_error_t why;
    json_t *config;
    size_t n;
    wm_status st;

    holder[0] = '\0';
    if ((st = member(&path, r, "config.json", err)))
        return st;
    if (!wmi_file_exists(path))
        return WM_OK;
    if ((st = wmi_file_read(&text, &n, path, MAX_CONFIG, err)))
        return st;
    config = json_loadb(text, n, 0, &why);
    name = json_string_value(json_object_get(config, "command"));
    if (name)
        snprintf(holder, size, "%s", name);
    else
        st = wmi_fail(err, WM_EFORMAT, "%s: not a run's config.json (%.60s)", wmi_path_tail(path),
                      config ? "it names no command" : why.text);
    json_decref(config);
    wmi_free(text);
    return st;
}

/* A folder without config.json is no run, but a new one must not write over what stands there. An
 * empty metrics.jsonl is what a run leaves that was killed at its very start. */
static wm_status refuse_strangers(wm_run_folder *r, wm_error *err)
{
    for (size_t i = 0; i < WMI_RUN_FILES; i++) {
        struct stat info;
        const char *path;
        wm_status st = member(&path, r, wmi_run_files[i], err);

        if (st)
            return st;
        if (stat(path, &info) == 0 && info.st_size > 0)
            return wmi_fail(err, WM_EINVAL,
                            "%s: is there, but no config.json of a run: choose another folder, or "
                            "overwrite",
                            wmi_path_tail(path));
    }
    return WM_OK;
}

/* Whether the run that is there did nothing but say its settings: it failed at its start, such as
 * by a table that could not be read, and is in nobody's way. */
static wm_status only_begun(bool *out, wm_run_folder *r, wm_error *err)
{
    DIR *dir = opendir(r->dir);
    const struct dirent *entry;
    struct stat info;

    *out = false;
    if (!dir)
        return wmi_fail(err, WM_EIO, "%s: %s", wmi_path_tail(r->dir), strerror(errno));
    *out = true;
    while (*out && (entry = readdir(dir)))
        if (strcmp(entry->d_name, "metrics.jsonl") == 0)
            *out = fstatat(dirfd(dir), entry->d_name, &info, 0) == 0 && info.st_size == 0;
        else
            *out = entry->d_name[0] == '.' || strcmp(entry->d_name, "config.json") == 0 ||
                   strstr(entry->d_name, WMI_TEMP_MARK);
    closedir(dir);
    return WM_OK;
}

static wm_status admit(wm_run_folder *r, wm_run_mode mode, wm_error *err)
{
    char holder[64];
    bool begun;
    wm_status st;

    if (mode == WM_RUN_OVERWRITE) /* also over a broken config.json */
        return WM_OK;
    if ((st = find_run(r, holder, sizeof holder, err)))
        return st;
    if (!*holder)
        return refuse_strangers(r, err);
    if (mode == WM_RUN_NEW && ((st = only_begun(&begun, r, err)) || begun))
        return st;
    if (mode == WM_RUN_NEW)
        return wmi_fail(err, WM_EINVAL,
                        "%s: holds a run of '%s': choose another folder, resume that run, or "
                        "overwrite it",
                        wmi_path_tail(r->dir), holder);
    if (strcmp(holder, r->command) != 0)
        return wmi_fail(err, WM_EINVAL, "%s: holds a run of '%s', which '%s' cannot resume",
                        wmi_path_tail(r->dir), holder, r->command);
    r->resumed = true;
    return WM_OK;
}

/* Two processes in one folder would mix their metrics and sweep each other's temporaries. A lock of
 * fcntl ends with its process, however that ends. */
static wm_status open_metrics(wm_run_folder *r, wm_error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const char *path;
    wm_status st;
    int fd;

    if ((st = member(&path, r, "metrics.jsonl", err)))
        return st;
    r->metrics = fopen(path, "a+b");
    if (!r->metrics)
        return wmi_fail(err, WM_EIO, "%s: %s", wmi_path_tail(path), strerror(errno));
    fd = fileno(r->metrics);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (fcntl(fd, F_SETLK, &lock) && (errno == EACCES || errno == EAGAIN))
        return wmi_fail(err, WM_EIO, "%s: another process works in this folder",
                        wmi_path_tail(r->dir));
    return WM_OK; /* a file system without locks is trusted */
}

/* The old run's files out of the way. Its metrics.jsonl carries the lock of the folder, which the
 * new one has before the old is let go. */
static wm_status replace_run(wm_run_folder *r, wm_error *err)
{
    FILE *old = r->metrics;
    wm_status st;

    r->replaces = true;
    if ((st = wmi_replaced_keep(r->dir, err)) || (st = open_metrics(r, err)))
        wmi_replaced_restore(r->dir);
    if (r->metrics != old)
        fclose(old);
    return st;
}

static void free_folder(wm_run_folder *r)
{
    if (!r)
        return;
    if (r->metrics)
        fclose(r->metrics);
    wmi_arena_free(&r->arena);
    wmi_free(r->dir);
    wmi_free(r->command);
    wmi_free(r);
}

wm_status wm_run_folder_open(wm_run_folder **out, const char *dir, const char *command,
                             wm_run_mode mode, wm_error *err)
{
    wm_run_folder *r = NULL;
    const char *figures;
    wm_status st;

    *out = NULL;
    if ((st = wmi_folder_make(dir, err)) || (st = wmi_alloc(&r, 1, sizeof *r, "run folder", err)))
        return st;
    if ((st = wmi_path_join(&r->dir, "", dir, err)) ||
        (st = wmi_path_join(&r->command, "", command, err)) || (st = admit(r, mode, err)) ||
        (st = open_metrics(r, err)) || (st = member(&figures, r, "figures", err)) ||
        (mode == WM_RUN_OVERWRITE && (st = replace_run(r, err))))
        goto done;
    wmi_folder_sweep(dir);
    wmi_folder_sweep(figures);
    *out = r;
    r = NULL;
done:
    free_folder(r);
    return st;
}

/* As if the run had never been: what it was to replace comes back. */
static void undo(wm_run_folder *r)
{
    const char *config, *metrics;
    struct stat info;

    if (member(&config, r, "config.json", NULL) || member(&metrics, r, "metrics.jsonl", NULL))
        return;
    unlink(config);
    wmi_replaced_restore(r->dir);
    if (!wmi_file_exists(config) && stat(metrics, &info) == 0 && info.st_size == 0)
        unlink(metrics);
    rmdir(r->dir); /* stays where there is anything else in it */
}

void wm_run_folder_close(wm_run_folder *r)
{
    if (r && r->replaces && !wmi_run_has_results(r->dir))
        undo(r);
    else if (r)
        wmi_replaced_drop(r->dir);
    free_folder(r);
}

void wm_run_folder_discard(wm_run_folder *r)
{
    bool begun;

    if (r && !r->resumed && !r->replaces && only_begun(&begun, r, NULL) == WM_OK && begun)
        undo(r);
    wm_run_folder_close(r);
}

bool wm_run_folder_resumed(const wm_run_folder *r)
{
    return r && r->resumed;
}

wm_status wm_run_folder_config(wm_run_folder *r, const wm_summary *settings, wm_error *err)
{
    json_t *object, *config;
    const char *path;
    wmi_file *f = NULL;
    wm_status st;

    if (!r)
        return WM_OK;
    if ((st = wmi_summary_json(&object, settings, err)) ||
        (st = member(&path, r, "config.json", err)))
        return st;
    config = json_pack("{s:s, s:s}", "command", r->command, "version", wm_version());
    if (!config || json_object_update_missing(config, object)) {
        json_decref(config);
        return wmi_fail(err, WM_ENOMEM, "%s: no memory", wmi_path_tail(path));
    }
    if (!(st = wmi_file_open(&f, path, err))) {
        wmi_json_print(config, wmi_file_stream(f));
        st = wmi_file_commit(f, err);
    }
    json_decref(config);
    return st;
}

wm_status wm_run_folder_metrics(wm_run_folder *r, const wm_summary *line, wm_error *err)
{
    json_t *object;
    wm_status st;

    if (!r)
        return WM_OK;
    if ((st = wmi_summary_json(&object, line, err)))
        return st;
    wmi_json_line(object, r->metrics);
    putc('\n', r->metrics);
    errno = 0;
    if (fflush(r->metrics) || ferror(r->metrics))
        return wmi_fail(err, WM_EIO, "%s/metrics.jsonl: %s", wmi_path_tail(r->dir),
                        strerror(errno ? errno : EIO));
    return WM_OK;
}

/* Whether a line is of a later step of the stage; without a stage: of any. */
static bool is_later(const json_t *line, const char *stage, int64_t step)
{
    const json_t *number = json_object_get(line, "step");
    const char *of = json_string_value(json_object_get(line, "stage"));

    return json_is_integer(number) && json_integer_value(number) > step &&
           (!stage || (of && strcmp(of, stage) == 0));
}

/* Bytes of text (n) that a run at `step` keeps: whole lines, up to the first of a later step. Steps
 * only grow, so all that follows that one is later too. */
static size_t kept_bytes(const char *text, size_t n, const char *stage, int64_t step)
{
    size_t at = 0;

    while (at < n) {
        const char *end = memchr(text + at, '\n', n - at);
        json_t *line;
        bool later;

        if (!end)
            break;
        line = json_loadb(text + at, (size_t)(end - text) - at, 0, NULL);
        later = !line || is_later(line, stage, step);
        json_decref(line);
        if (later)
            break;
        at = (size_t)(end - text) + 1;
    }
    return at;
}

/* All of metrics.jsonl, through the descriptor that holds the lock: to close another one of the
 * same file would end it. */
static wm_status read_metrics(char **out, size_t *n, wm_run_folder *r, const char *path,
                              wm_error *err)
{
    const int fd = fileno(r->metrics);
    struct stat info;
    ssize_t got = 1;
    wm_status st;

    *n = 0;
    if (fflush(r->metrics) || fstat(fd, &info))
        return wmi_fail(err, WM_EIO, "%s: %s", wmi_path_tail(path), strerror(errno));
    if ((st = wmi_alloc(out, info.st_size, 1, "metrics", err)))
        return st;
    while (got > 0 && *n < (size_t)info.st_size) {
        got = pread(fd, *out + *n, (size_t)info.st_size - *n, (off_t)*n);
        *n += got > 0 ? (size_t)got : 0;
    }
    if (got < 0) {
        wmi_free(*out);
        return wmi_fail(err, WM_EIO, "%s: %s", wmi_path_tail(path), strerror(errno));
    }
    return WM_OK;
}

wm_status wm_run_folder_rewind(wm_run_folder *r, const char *stage, int64_t step, wm_error *err)
{
    const char *path;
    char *text = NULL;
    size_t n, kept;
    wm_status st;

    if (!r)
        return WM_OK;
    if ((st = member(&path, r, "metrics.jsonl", err)))
        return st;
    if ((st = read_metrics(&text, &n, r, path, err)))
        return st;
    kept = kept_bytes(text, n, stage, step);
    wmi_free(text);
    if (ftruncate(fileno(r->metrics), (off_t)kept))
        return wmi_fail(err, WM_EIO, "%s: %s", wmi_path_tail(path), strerror(errno));
    return WM_OK;
}

wm_status wm_run_folder_summary(wm_run_folder *r, const wm_summary *s, wm_error *err)
{
    const char *path;
    wm_status st;

    if (!r)
        return WM_OK;
    if ((st = member(&path, r, "summary.json", err)))
        return st;
    return wm_summary_write(s, path, err);
}

wm_status wm_run_folder_figure(wm_run_folder *r, const wm_figure *f, const wm_sink *sink,
                               wm_error *err)
{
    const char *path;
    wm_status st;

    if (!r)
        return WM_OK;
    if ((st = member(&path, r, "figures", err)))
        return st;
    return wm_figure_write(f, path, sink, err);
}
