/* run_folder.c - the folder of one run: who may write into it, and the files that every command
 * keeps there. */
#include "report/run/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/io.h"
#include "report/figure/figure.h"
#include "report/run/run_manifest.h"
#include "report/run/run_staged.h"
#include "report/run/summary.h"
#include "waymark/version.h"

#define MAX_CONFIG (16 << 20) /* bytes */

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
    wm_status st;

    *out = NULL;
    if (!r)
        return WM_OK;
    if (strcmp(name, "figures") != 0 && (st = wmi_manifest_add(&r->manifest, r->dir, name, err)))
        return st;
    return member(out, r, name, err);
}

/* ---- whose folder it is ---- */

/* The command of the run that is in dir, into holder; "" if there is none. */
static wm_status find_run(const char *dir, char *holder, size_t size, wm_error *err)
{
    const char *name;
    char *path = NULL, *text = NULL;
    json_error_t why = {.text = ""};
    json_t *config = NULL;
    size_t n;
    wm_status st;

    holder[0] = '\0';
    if ((st = wmi_path_join(&path, dir, "config.json", err)) || !wmi_file_exists(path) ||
        (st = wmi_file_read(&text, &n, path, MAX_CONFIG, err)))
        goto done;
    config = json_loadb(text, n, 0, &why);
    name = json_string_value(json_object_get(config, "command"));
    if (name && json_is_string(json_object_get(config, "version")))
        snprintf(holder, size, "%s", name);
    else
        st = wmi_fail(err, WM_EFORMAT, "%s: not a run's config.json (%.60s): choose another folder",
                      wmi_path_tail(path), config ? "it names no command and version" : why.text);
done:
    json_decref(config);
    wmi_free(text);
    wmi_free(path);
    return st;
}

/* A folder without config.json holds no run, but a new run must not write over the files in it. An
 * empty metrics.jsonl does not count: a run that is killed at its very start leaves one. */
static wm_status refuse_strangers(const wm_run_folder *r, wm_error *err)
{
    json_t *any = wmi_manifest_of_any_run();
    const json_t *files = json_object_get(any, "files");
    wm_status st = WM_OK;

    for (size_t i = 0; i < json_array_size(files) && !st; i++) {
        struct stat info;
        char *path = NULL;

        st = wmi_path_join(&path, r->top, json_string_value(json_array_get(files, i)), err);
        if (!st && stat(path, &info) == 0 && info.st_size > 0)
            st = wmi_fail(err, WM_EINVAL,
                          "%s: is there, but no config.json of a run: choose another folder",
                          wmi_path_tail(path));
        wmi_free(path);
    }
    json_decref(any);
    return st;
}

/* Whether the run that is there wrote nothing but its settings. It failed at its start, for
 * instance because a table could not be read, and a new run may take its place. */
static wm_status only_begun(bool *out, const char *in, wm_error *err)
{
    DIR *dir = opendir(in);
    const struct dirent *entry;
    struct stat info;

    *out = false;
    if (!dir)
        return wmi_fail(err, WM_EIO, "%s: %s", wmi_path_tail(in), strerror(errno));
    *out = true;
    while (*out && (entry = readdir(dir)))
        if (strcmp(entry->d_name, WMI_RUN_METRICS) == 0)
            *out = fstatat(dirfd(dir), entry->d_name, &info, 0) == 0 && info.st_size == 0;
        else
            *out = entry->d_name[0] == '.' || strcmp(entry->d_name, "config.json") == 0 ||
                   strstr(entry->d_name, WMI_TEMP_MARK);
    closedir(dir);
    return WM_OK;
}

/* Whether a run that was to replace the one in dir was cut short and can be gone on with. */
static bool has_staged_run(const char *dir)
{
    char *next = NULL, *config = NULL;
    const bool there = !wmi_staged_path(&next, dir, NULL) &&
                       !wmi_path_join(&config, next, "config.json", NULL) &&
                       wmi_file_exists(config);

    wmi_free(config);
    wmi_free(next);
    return there;
}

/* What there is to replace: a run, or what a run that was cut short has left. A config.json of
 * another program is no run, and nothing beside it is ours. */
static wm_status admit_overwrite(wm_run_folder *r, wm_error *err)
{
    json_t *manifest = wmi_manifest_load(r->top);
    const bool ours = manifest != NULL;
    char holder[64] = "";
    wm_status st;

    json_decref(manifest);
    if (!ours && (st = find_run(r->top, holder, sizeof holder, err)))
        return st;
    r->staged = ours || *holder;
    return r->staged ? WM_OK : refuse_strangers(r, err);
}

static wm_status admit_resume(wm_run_folder *r, const char *holder, wm_error *err)
{
    if (strcmp(holder, r->command) != 0)
        return wmi_fail(err, WM_EINVAL, "%s: holds a run of '%s', which '%s' cannot resume",
                        wmi_path_tail(r->top), holder, r->command);
    r->resumed = true;
    return WM_OK;
}

static wm_status admit(wm_run_folder *r, wm_run_mode mode, wm_error *err)
{
    char holder[64], *next = NULL;
    bool begun;
    wm_status st;

    if (mode == WM_RUN_OVERWRITE)
        return admit_overwrite(r, err);
    if (mode == WM_RUN_RESUME && has_staged_run(r->top)) {
        if (!(st = wmi_staged_path(&next, r->top, err)) &&
            !(st = find_run(next, holder, sizeof holder, err)))
            st = admit_resume(r, holder, err);
        r->staged = true;
        wmi_free(next);
        return st;
    }
    if ((st = find_run(r->top, holder, sizeof holder, err)))
        return st;
    if (!*holder)
        return refuse_strangers(r, err);
    if (mode == WM_RUN_RESUME)
        return admit_resume(r, holder, err);
    if ((st = only_begun(&begun, r->top, err)) || begun)
        return st;
    return wmi_fail(err, WM_EINVAL,
                    "%s: holds a run of '%s': choose another folder, resume that run, or "
                    "overwrite it",
                    wmi_path_tail(r->top), holder);
}

/* ---- opening and closing ---- */

/* Completes an exchange of runs that was cut short. */
static wm_status complete_exchange(const char *dir, wm_error *err)
{
    json_t *old = wmi_manifest_load(dir);
    wm_status st;

    if (!old)
        old = wmi_manifest_of_any_run();
    st = wmi_staged_finish(dir, old, err);
    json_decref(old);
    return st;
}

wm_status wm_run_folder_settle(const char *dir, wm_error *err)
{
    WMI_NEED(err, dir);
    wm_status st;
    int lock;

    if (!wmi_staged_is_finished(dir))
        return WM_OK;
    if ((st = wmi_run_lock(&lock, dir, err)))
        return st;
    st = complete_exchange(dir, err);
    close(lock);
    return st;
}

wm_status wm_run_folder_settings(char *path, size_t size, const char *dir, wm_error *err)
{
    WMI_NEED(err, path && dir);
    wm_status st = wm_run_folder_settle(dir, err);

    *path = '\0';
    if (!st && snprintf(path, size, "%s/%sconfig.json", dir,
                        has_staged_run(dir) ? WMI_STAGED "/" : "") >= (int)size)
        st = wmi_fail(err, WM_EINVAL, "%s: the path is too long", wmi_path_tail(dir));
    if (!st && !wmi_file_exists(path))
        *path = '\0';
    return st;
}

static void free_folder(wm_run_folder *r)
{
    if (!r)
        return;
    if (r->metrics >= 0)
        wmi_io_close(r->metrics);
    if (r->events >= 0)
        wmi_io_close(r->events);
    wmi_free(r->waiting);
    if (r->lock >= 0)
        close(r->lock);
    json_decref(r->manifest);
    json_decref(r->begun);
    wmi_arena_free(&r->arena);
    wmi_free(r->top);
    wmi_free(r->dir);
    wmi_free(r->command);
    wmi_free(r);
}

static void sweep(const char *dir)
{
    char *figures = NULL;

    wmi_folder_sweep(dir);
    if (!wmi_path_join(&figures, dir, "figures", NULL))
        wmi_folder_sweep(figures);
    wmi_free(figures);
}

/* The place that the run works in, with its metrics and its manifest; r->lock is the folder's. */
static wm_status settle_down(wm_run_folder *r, wm_run_mode mode, wm_error *err)
{
    int fd = r->lock;
    wm_status st;

    if (r->staged) {
        wmi_free(r->dir);
        r->dir = NULL;
        if ((mode == WM_RUN_OVERWRITE && (st = wmi_staged_begin(r->top, err))) ||
            (st = wmi_staged_path(&r->dir, r->top, err)) || (st = wmi_run_lock(&fd, r->dir, err)))
            return st;
        sweep(r->dir);
    } else {
        wmi_staged_drop(r->top); /* of a run that is not there any more */
        r->lock = -1;
    }
    r->metrics = fd;
    sweep(r->top);
    r->manifest = wmi_manifest_load(r->dir);
    return r->resumed ? wmi_run_lines_rewind(r, NULL, INT64_MAX, err) : WM_OK;
}

wm_status wm_run_folder_open(wm_run_folder **out, const char *dir, const char *command,
                             wm_run_mode mode, wm_error *err)
{
    WMI_NEED(err, out && dir && command);
    wm_run_folder *r = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_folder_make(dir, err)) || (st = wm_run_folder_settle(dir, err)) ||
        (st = wmi_alloc(&r, 1, sizeof *r, "run folder", err)))
        return st;
    r->lock = r->metrics = r->events = -1;
    if ((st = wmi_path_join(&r->top, "", dir, err)) ||
        (st = wmi_path_join(&r->dir, "", dir, err)) ||
        (st = wmi_path_join(&r->command, "", command, err)) || (st = admit(r, mode, err)) ||
        (st = wmi_run_lock(&r->lock, r->top, err)) || (st = settle_down(r, mode, err)) ||
        (st = wmi_manifest_add(&r->manifest, r->dir, WMI_RUN_METRICS, err)))
        goto done;
    *out = r;
    r = NULL;
done:
    free_folder(r);
    return st;
}

/* Removes the settings of a run that has made nothing else, and the folder if that was all in it.
 */
static void undo(wm_run_folder *r)
{
    static const char *const names[] = {"config.json", WMI_RUN_METRICS, WMI_MANIFEST};

    if (r->staged) {
        wmi_staged_drop(r->top);
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path;

        if (!member(&path, r, names[i], NULL))
            wmi_io_unlink(path);
    }
    wmi_io_rmdir(r->dir); /* fails, as it should, if there is anything else in it */
}

void wm_run_folder_close(wm_run_folder *r)
{
    bool begun;

    if (r && r->waiting && wmi_run_lines_sync(r, NULL))
        r->resumed = false; /* the last try: nobody is left to be told */
    if (r && r->staged && !wmi_staged_is_finished(r->top) &&
        only_begun(&begun, r->dir, NULL) == WM_OK && begun)
        undo(r);
    free_folder(r);
}

void wm_run_folder_discard(wm_run_folder *r)
{
    bool begun;

    if (r && !r->resumed && !r->staged && only_begun(&begun, r->dir, NULL) == WM_OK && begun)
        undo(r);
    wm_run_folder_close(r);
}

wm_status wm_run_folder_finish(wm_run_folder *r, wm_error *err)
{
    char *dir = NULL;
    wm_status st;

    if (!r)
        return WM_OK;
    if ((st = wmi_run_lines_sync(r, err)) || !r->staged)
        return st;
    if ((st = wmi_path_join(&dir, "", r->top, err)))
        return st;
    if ((st = complete_exchange(r->top, err))) {
        wmi_free(dir);
        return st;
    }
    wmi_free(r->dir);
    r->dir = dir;
    r->staged = false;
    return WM_OK;
}

bool wm_run_folder_staged(const wm_run_folder *r)
{
    return r && r->staged;
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
        (st = wm_run_folder_path(&path, r, "config.json", err)))
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

wm_status wm_run_folder_summary(wm_run_folder *r, const wm_summary *s, wm_error *err)
{
    const char *path;
    wm_status st;

    if (!r)
        return WM_OK;
    if ((st = wm_run_folder_path(&path, r, "summary.json", err)))
        return st;
    return wm_summary_write(s, path, err);
}

wm_status wm_run_folder_figure(wm_run_folder *r, wm_figure *f, const wm_sink *sink, wm_error *err)
{
    const char *path;
    char *name = NULL;
    wm_status st = WM_OK;

    if (r && f && !f->status && /* else wm_figure_write() says what is wrong */
        !(st = wmi_path_join(&name, "figures", f->name, err)))
        st = wmi_manifest_add(&r->manifest, r->dir, name, err);
    if (r && !st && !(st = member(&path, r, "figures", err)))
        st = wm_figure_write(f, path, sink, err);
    wmi_free(name);
    wm_figure_free(f);
    return st;
}
