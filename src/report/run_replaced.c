/* run_replaced.c - keeping, restoring and dropping the files of a replaced run (run_replaced.h). */
#include "report/run_replaced.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define PLACE ".replaced"
#define FIGURES "figures"

const char *const wmi_run_files[WMI_RUN_FILES] = {"config.json",       "summary.json",
                                                  "metrics.jsonl",     "model.safetensors",
                                                  "state.safetensors", "report.html"};
/* Endings of what a figure is: its picture, numbers and script. */
static const char *const figure_ends[] = {".svg", ".png", ".csv", ".gp"};

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; name && i < n; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

static bool is_of_run(const char *name)
{
    return is_one_of(name, wmi_run_files, WMI_RUN_FILES);
}

/* Models and states have names that the old run's command gave them. */
static bool is_of_run_or_tensors(const char *name)
{
    const char *end = strrchr(name, '.');

    return is_of_run(name) || (end && strcmp(end, ".safetensors") == 0);
}

static bool is_figure(const char *name)
{
    return is_one_of(strrchr(name, '.'), figure_ends, sizeof figure_ends / sizeof *figure_ends);
}

static bool is_file(const char *name)
{
    return name[0] != '.' && strcmp(name, FIGURES) != 0;
}

/* For each name in folder `from` of `top` that is chosen: into folder `to`, or, where that is NULL,
 * away. The last failure's errno, or 0; a folder that is not there is empty. */
static int each_file(int top, const char *from, bool (*chosen)(const char *), const char *to)
{
    const int fd = openat(top, from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int into = to ? openat(top, to, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    int failed = 0;

    while (dir && !failed && (entry = readdir(dir)))
        if (chosen(entry->d_name) && (to ? renameat(fd, entry->d_name, into, entry->d_name)
                                         : unlinkat(fd, entry->d_name, 0)))
            failed = errno;
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    if (into >= 0)
        close(into);
    return failed;
}

static int open_folder(const char *dir)
{
    return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

wm_status wmi_replaced_keep(const char *dir, wm_error *err)
{
    const int top = open_folder(dir);
    struct stat info;
    bool was_run;
    int failed = 0;

    if (top < 0)
        return wmi_fail(err, WM_EIO, "%s: %s", wmi_path_tail(dir), strerror(errno));
    wmi_replaced_drop(dir);
    /* Without config.json there was no run, and other tensors are somebody else's. */
    was_run = fstatat(top, "config.json", &info, 0) == 0;
    if (mkdirat(top, PLACE, 0777) || mkdirat(top, PLACE "/" FIGURES, 0777))
        failed = errno;
    if (!failed)
        failed = each_file(top, ".", was_run ? is_of_run_or_tensors : is_of_run, PLACE);
    if (!failed)
        failed = each_file(top, FIGURES, is_figure, PLACE "/" FIGURES);
    close(top);
    if (failed)
        return wmi_fail(err, WM_EIO, "%s: the old run cannot be put aside: %s", wmi_path_tail(dir),
                        strerror(failed));
    return WM_OK;
}

bool wmi_run_has_results(const char *dir)
{
    DIR *names = opendir(dir);
    const struct dirent *entry;
    struct stat info;
    bool found = false;

    while (names && !found && (entry = readdir(names)))
        found = is_of_run_or_tensors(entry->d_name) && strcmp(entry->d_name, "config.json") != 0 &&
                fstatat(dirfd(names), entry->d_name, &info, 0) == 0 && info.st_size > 0;
    if (names)
        closedir(names);
    return found;
}

void wmi_replaced_restore(const char *dir)
{
    const int top = open_folder(dir);

    if (top < 0)
        return;
    if (!each_file(top, PLACE "/" FIGURES, is_file, FIGURES) &&
        !each_file(top, PLACE, is_file, "."))
        wmi_replaced_drop(dir);
    close(top);
}

void wmi_replaced_drop(const char *dir)
{
    const int top = open_folder(dir);

    if (top < 0)
        return;
    each_file(top, PLACE "/" FIGURES, is_file, NULL);
    unlinkat(top, PLACE "/" FIGURES, AT_REMOVEDIR);
    each_file(top, PLACE, is_file, NULL);
    unlinkat(top, PLACE, AT_REMOVEDIR);
    close(top);
}
