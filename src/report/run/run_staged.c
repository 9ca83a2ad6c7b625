/* run_staged.c - exchanging a run for the one that replaces it (run_staged.h). Every step can be
 * done again after a crash: names that have moved are not there to be moved, names that are gone
 * need not be removed. Links are moved and removed as such, never followed. */
#include "report/run/run_staged.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/io.h"
#include "report/run/run_manifest.h"

#define FINISHED ".finished"
#define FIGURES "figures"

wm_status wmi_staged_path(char **out, const char *dir, wm_error *err)
{
    return wmi_path_join(out, dir, WMI_STAGED, err);
}

static bool is_folder(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Calls `visit` with the name of each entry of dir/sub ("figures/a.svg"; sub "": dir itself) that
 * is no folder. Ends at the first errno that it returns. Folders that are links hold nothing. */
typedef int visitor(void *ctx, const char *dir, const char *name);

static int each(const char *dir, const char *sub, visitor *visit, void *ctx)
{
    char *path = NULL;
    const struct dirent *entry;
    DIR *names;
    int failed = 0;

    if (wmi_path_join(&path, dir, sub, NULL))
        return ENOMEM;
    names = is_folder(path) ? opendir(path) : NULL;
    while (names && !failed && (entry = readdir(names))) {
        char *name = NULL, *full = NULL;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (wmi_path_join(&name, sub, entry->d_name, NULL) || wmi_path_join(&full, dir, name, NULL))
            failed = ENOMEM;
        else if (!is_folder(full))
            failed = visit(ctx, dir, name);
        wmi_free(full);
        wmi_free(name);
    }
    if (names)
        closedir(names);
    wmi_free(path);
    return failed;
}

static int remove_file(void *ctx, const char *dir, const char *name)
{
    char *path = NULL;
    int failed = wmi_path_join(&path, dir, name, NULL) ? ENOMEM : 0;

    (void)ctx;
    if (!failed && wmi_io_unlink(path) && errno != ENOENT)
        failed = errno;
    wmi_free(path);
    return failed;
}

static void remove_folder(const char *dir, const char *name)
{
    char *path = NULL;

    if (!wmi_path_join(&path, dir, name, NULL))
        wmi_io_rmdir(path);
    wmi_free(path);
}

void wmi_staged_drop(const char *dir)
{
    char *next = NULL;

    if (!wmi_staged_path(&next, dir, NULL) && is_folder(next)) {
        remove_file(NULL, next, FINISHED); /* first: from here on it is no run */
        each(next, FIGURES, remove_file, NULL);
        remove_folder(next, FIGURES);
        each(next, "", remove_file, NULL);
        wmi_io_rmdir(next);
    }
    wmi_free(next);
}

wm_status wmi_staged_begin(const char *dir, wm_error *err)
{
    char *next = NULL, *figures = NULL;
    struct stat info;
    wm_status st;

    wmi_staged_drop(dir);
    if ((st = wmi_path_join(&figures, dir, FIGURES, err)) ||
        (st = wmi_staged_path(&next, dir, err)))
        goto done;
    if (lstat(figures, &info) == 0 && !S_ISDIR(info.st_mode))
        st = wmi_fail(err, WM_EINVAL,
                      "%s: is a link, and files behind links are not replaced: choose another "
                      "folder, or remove it",
                      wmi_path_tail(figures));
    else
        st = wmi_folder_make(next, err);
done:
    wmi_free(figures);
    wmi_free(next);
    return st;
}

/* ---- the exchange ---- */

static int list_name(void *ctx, const char *dir, const char *name)
{
    (void)dir;
    if (strcmp(name, FINISHED) == 0 || strstr(name, WMI_TEMP_MARK))
        return 0;
    return json_array_append_new(ctx, json_string(name)) ? ENOMEM : 0;
}

/* Says for good which files the new run has. */
static wm_status mark_finished(const char *next, const char *dir, wm_error *err)
{
    json_t *list = json_array(), *all = json_pack("{s:O}", "files", list);
    char *path = NULL;
    wmi_file *f = NULL;
    wm_status st;

    if (!all || each(next, "", list_name, list) || each(next, FIGURES, list_name, list))
        st = wmi_fail(err, WM_ENOMEM, "%s: no memory for the names of its files",
                      wmi_path_tail(dir));
    else if (!(st = wmi_path_join(&path, next, FINISHED, err)) &&
             !(st = wmi_file_open(&f, path, err))) {
        wmi_json_print(all, wmi_file_stream(f));
        st = wmi_file_commit(f, err);
    }
    json_decref(all);
    json_decref(list);
    wmi_free(path);
    return st;
}

static json_t *read_finished(const char *next)
{
    char *path = NULL, *text = NULL;
    json_t *list = NULL;
    size_t n;

    if (!wmi_path_join(&path, next, FINISHED, NULL) && wmi_file_exists(path) &&
        !wmi_file_read(&text, &n, path, 1 << 24, NULL) && wmi_json_read(&list, text, n, path, NULL))
        list = NULL;
    wmi_free(text);
    wmi_free(path);
    return list;
}

bool wmi_staged_is_finished(const char *dir)
{
    char *next = NULL;
    json_t *list = wmi_staged_path(&next, dir, NULL) ? NULL : read_finished(next);

    wmi_free(next);
    json_decref(list);
    return list != NULL;
}

typedef struct exchange {
    const json_t *old, *list; /* manifests: of the old run, and of the files of the new one */
} exchange;

/* Files of the old run that the new one does not have. */
static int remove_old(void *ctx, const char *dir, const char *name)
{
    const exchange *x = ctx;
    const json_t *files = json_object_get(x->list, "files");

    if (!wmi_manifest_names(x->old, name) || strcmp(name, WMI_MANIFEST) == 0)
        return 0;
    for (size_t i = 0; i < json_array_size(files); i++)
        if (strcmp(json_string_value(json_array_get(files, i)), name) == 0)
            return 0;
    return remove_file(NULL, dir, name);
}

/* A folder that somebody has put in a file's place is found before anything has moved. */
static int find_folder(const json_t *list, const char *dir)
{
    const json_t *files = json_object_get(list, "files");
    int failed = 0;

    for (size_t i = 0; i < json_array_size(files) && !failed; i++) {
        const char *name = json_string_value(json_array_get(files, i));
        char *path = NULL;

        if (name && wmi_path_join(&path, dir, name, NULL))
            failed = ENOMEM;
        else if (name && is_folder(path))
            failed = EISDIR;
        wmi_free(path);
    }
    return failed;
}

static int move_in(const char *next, const char *dir, const char *name)
{
    char *from = NULL, *to = NULL;
    int failed = 0;

    if (wmi_path_join(&from, next, name, NULL) || wmi_path_join(&to, dir, name, NULL))
        failed = ENOMEM;
    else if (wmi_io_rename(from, to) && errno != ENOENT) /* it has moved already */
        failed = errno;
    wmi_free(from);
    wmi_free(to);
    return failed;
}

/* The manifest comes last: until then the old one says what may be removed. */
static int move_all(const json_t *list, const char *next, const char *dir)
{
    const json_t *files = json_object_get(list, "files");
    char *figures = NULL;
    int failed = 0;

    for (size_t i = 0; i < json_array_size(files) && !failed; i++) {
        const char *name = json_string_value(json_array_get(files, i));

        if (!name || strcmp(name, WMI_MANIFEST) == 0)
            continue;
        if (!figures && strchr(name, '/') &&
            (wmi_path_join(&figures, dir, FIGURES, NULL) ||
             (wmi_io_mkdir(figures) && errno != EEXIST)))
            failed = errno;
        else
            failed = move_in(next, dir, name);
    }
    wmi_free(figures);
    return failed ? failed : move_in(next, dir, WMI_MANIFEST);
}

wm_status wmi_staged_finish(const char *dir, const json_t *old, wm_error *err)
{
    exchange x = {.old = old};
    char *next = NULL;
    json_t *list = NULL;
    int failed;
    wm_status st;

    if ((st = wmi_staged_path(&next, dir, err)) ||
        (!wmi_staged_is_finished(dir) && (st = mark_finished(next, dir, err))))
        goto done;
    x.list = list = read_finished(next);
    failed = !list ? EIO : find_folder(list, dir);
    if (!failed && wmi_manifest_names(list, WMI_MANIFEST)) {
        char *manifest = NULL;

        /* Once the new manifest has moved, the old run's files are gone. */
        if ((st = wmi_path_join(&manifest, next, WMI_MANIFEST, err)))
            goto done;
        if (wmi_file_exists(manifest) && !(failed = each(dir, "", remove_old, &x)))
            failed = each(dir, FIGURES, remove_old, &x);
        wmi_free(manifest);
    }
    if (!failed)
        failed = move_all(list, next, dir);
    if (failed)
        st =
            wmi_fail(err, WM_EIO,
                     "%s: the new run is whole, but has not taken the place of the old one yet: %s",
                     wmi_path_tail(next), strerror(failed));
    else
        wmi_staged_drop(dir);
done:
    json_decref(list);
    wmi_free(next);
    return st;
}
