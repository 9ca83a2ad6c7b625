/* paths.c - files by pattern (paths.h). */
#include "data/formats/paths.h"

#include <glob.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/utf8.h"

static wm_status add(wmi_paths *p, const char *path, wm_error *err)
{
    const wm_status st = wmi_alloc_text(&p->path[p->n], path, "path", err);

    p->n += !st;
    return st;
}

wm_status wmi_paths_find(wmi_paths *p, const char *path, wm_error *err)
{
    struct stat info;
    glob_t found;
    wm_status st;

    if (!path[strcspn(path, "*?[")] || stat(path, &info) == 0) {
        if ((st = wmi_alloc(&p->path, 1, sizeof(char *), "paths", err)))
            return st;
        return add(p, path, err);
    }
    if (glob(path, 0, NULL, &found))
        return wmi_fail(err, WM_EIO, "%s: no file has such a name", wmi_text_tail(path));
    st = wmi_alloc(&p->path, (int64_t)found.gl_pathc, sizeof(char *), "paths", err);
    for (size_t i = 0; i < found.gl_pathc && !st; i++)
        st = add(p, found.gl_pathv[i], err);
    globfree(&found);
    return st;
}

void wmi_paths_free(wmi_paths *p)
{
    for (int i = 0; i < p->n; i++)
        wmi_free(p->path[i]);
    wmi_free(p->path);
    *p = (wmi_paths){0};
}
