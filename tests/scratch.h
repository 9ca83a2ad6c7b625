/* scratch.h - a folder for the files of one test program, removed with all it holds. */
#ifndef WM_TESTS_SCRATCH_H
#define WM_TESTS_SCRATCH_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static char scratch_folder[512];

static inline int scratch_make(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    snprintf(scratch_folder, sizeof scratch_folder, "%s/waymark-test-XXXXXX", base ? base : "/tmp");
    return mkdtemp(scratch_folder) ? 0 : -1;
}

/* The path of a name in the folder; eight may be in use at a time. */
static inline char *scratch(const char *name)
{
    static char paths[8][1024];
    static int next;

    next = (next + 1) % 8;
    snprintf(paths[next], sizeof paths[next], "%s/%s", scratch_folder, name);
    return paths[next];
}

static inline void scratch_delete(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;

    if (!dir) {
        unlink(path);
        return;
    }
    while ((entry = readdir(dir))) {
        char inner[2048];
        struct stat info;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) >= (int)sizeof inner)
            continue;
        if (lstat(inner, &info) == 0 && S_ISDIR(info.st_mode))
            scratch_delete(inner);
        else
            unlink(inner);
    }
    closedir(dir);
    rmdir(path);
}

static inline int scratch_remove(void **state)
{
    (void)state;
    scratch_delete(scratch_folder);
    return 0;
}

/* Entries of a folder, "." and ".." not counted; -1 if it cannot be read. */
static inline int scratch_count(const char *path)
{
    DIR *dir = opendir(path);
    int n = -2;

    if (!dir)
        return -1;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* The content of a file as text, cut at 64 KiB; "" if it cannot be read. Borrowed until the next
 * call. */
static inline const char *scratch_read(const char *path)
{
    static char text[65536];
    FILE *f = fopen(path, "rb");
    size_t n = 0;

    if (f) {
        n = fread(text, 1, sizeof text - 1, f);
        fclose(f);
    }
    text[n] = '\0';
    return text;
}

#endif
