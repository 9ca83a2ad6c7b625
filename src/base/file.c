/* file.c - temporary file, fsync, rename, fsync of the folder; and the few paths around it. */
#define _XOPEN_SOURCE 700 /* realpath */

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/io.h"

/* A temporary is called TARGET.<pid>-<number>.wmtmp: the folder's sweep knows it by this. */
#define TAIL_MAX 150 /* bytes of a path in a message; wm_error.text has 256 */

struct wmi_file {
    FILE *stream;
    int fd, number; /* of the stream: number is the errno of its first failed write */
    char *path;     /* the real target, symbolic links followed */
    char *temp;     /* NULL when the target is written straight through */
};

const char *wmi_path_tail(const char *path)
{
    const size_t n = strlen(path);
    const char *tail = n > TAIL_MAX ? path + (n - TAIL_MAX) : path;

    while (((unsigned char)*tail & 0xc0) == 0x80)
        tail++; /* not in the middle of a UTF-8 letter */
    return tail;
}

static wm_status fail_errno(wm_error *err, const char *path, const char *what, int number)
{
    return wmi_fail(err, number == ENOMEM ? WM_ENOMEM : WM_EIO, "%s: %s: %s", wmi_path_tail(path),
                    what, strerror(number));
}

static wm_status copy_text(char **out, const char *text, size_t n, size_t room, wm_error *err)
{
    wm_status st = wmi_alloc(out, (int64_t)(n + room + 1), 1, "path", err);

    if (!st)
        memcpy(*out, text, n);
    return st;
}

/* Where a write to path really goes. Links are followed so that the file they point at is renamed
 * over, not the link; a link that points nowhere is itself replaced. */
static wm_status real_target(char **out, const char *path, wm_error *err)
{
    struct stat info;
    wm_status st;
    char *real = NULL;

    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode))
        real = realpath(path, NULL);
    st = copy_text(out, real ? real : path, strlen(real ? real : path), 0, err);
    free(real);
    return st;
}

/* Tried twice: a failure that passes must not leave a file behind. */
static void remove_temp(const wmi_file *f)
{
    if (f->temp && wmi_io_unlink(f->temp))
        (void)wmi_io_unlink(f->temp);
}

static void drop(wmi_file *f)
{
    wmi_free(f->path);
    wmi_free(f->temp);
    wmi_free(f);
}

static int lock_temp(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_SETLK, &lock);
}

/* Whether a temporary belongs to a process that is no more, here or, by its lock, elsewhere. */
static bool is_stale(int folder, const char *name, size_t base)
{
    const long pid = strtol(name + base + 1, NULL, 10);
    bool stale;
    int fd;

    if (pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
        return false;
    fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    stale = fd >= 0 && lock_temp(fd) == 0;
    if (fd >= 0)
        close(fd);
    return stale;
}

/* Removes the temporaries of this target that killed writers left. */
static void remove_stale(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t base = strlen(name), mark = strlen(WMI_TEMP_MARK);
    const struct dirent *entry;
    char folder[PATH_MAX];
    DIR *dir;

    if (snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1,
                 slash ? path : ".") >= (int)sizeof folder ||
        !(dir = opendir(folder)))
        return;
    while ((entry = readdir(dir))) {
        const size_t n = strlen(entry->d_name);

        if (n > base + mark && strncmp(entry->d_name, name, base) == 0 &&
            entry->d_name[base] == '.' && strcmp(entry->d_name + n - mark, WMI_TEMP_MARK) == 0 &&
            is_stale(dirfd(dir), entry->d_name, base))
            unlinkat(dirfd(dir), entry->d_name, 0);
    }
    closedir(dir);
}

/* Sets f->temp and returns a descriptor, or -1 with errno. Mode 0666 leaves the rights to the
 * umask, which mkstemp would not. */
static int open_temp(wmi_file *f)
{
    const size_t n = strlen(f->path);

    remove_stale(f->path);
    for (int k = 0; k < 1000; k++) {
        int fd;

        snprintf(f->temp + n, 48, ".%ld-%d" WMI_TEMP_MARK, (long)getpid(), k);
        fd = wmi_io_open(f->temp, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (fd >= 0)
            (void)lock_temp(fd); /* a file system without locks is trusted */
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

wm_status wmi_file_open(wmi_file **out, const char *path, wm_error *err)
{
    wm_status st;
    wmi_file *f = NULL;
    struct stat info;
    int fd = -1, number;

    *out = NULL;
    if ((st = wmi_alloc(&f, 1, sizeof *f, "file", err)))
        return st;
    if ((st = real_target(&f->path, path, err)))
        goto failed;
    if (stat(f->path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
        fd = wmi_io_open(f->path, O_WRONLY, 0); /* a device or a pipe: nothing to rename over */
    } else if (stat(f->path, &info) == 0 && S_ISDIR(info.st_mode)) {
        st = fail_errno(err, path, "cannot write", EISDIR);
        goto failed;
    } else {
        if ((st = copy_text(&f->temp, f->path, strlen(f->path), 48, err)))
            goto failed;
        fd = open_temp(f);
    }
    if (fd < 0) {
        st = fail_errno(err, path, "cannot write", errno);
        goto failed;
    }
    f->fd = fd;
    f->stream = wmi_io_stream(fd, &f->number);
    if (!f->stream) {
        number = errno;
        wmi_io_close(fd);
        remove_temp(f);
        st = fail_errno(err, path, "cannot write", number);
        goto failed;
    }
    *out = f;
    return WM_OK;
failed:
    drop(f);
    return st;
}

FILE *wmi_file_stream(wmi_file *f)
{
    return f->stream;
}

/* The rename itself is only on the disk once the folder is. Folders that cannot be opened or synced
 * (some network file systems) leave that to the system. */
static int sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    int fd, number = 0;

    if (!slash)
        snprintf(folder, sizeof folder, ".");
    else if (slash == path)
        snprintf(folder, sizeof folder, "/");
    else if ((size_t)(slash - path) < sizeof folder)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    else
        return ENAMETOOLONG;
    fd = wmi_io_open(folder, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return 0;
    if (wmi_io_sync(fd) && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
        number = errno;
    wmi_io_close(fd);
    return number;
}

wm_status wmi_file_commit(wmi_file *f, wm_error *err)
{
    wm_status st = WM_OK;
    int number = 0;

    if (fflush(f->stream) || ferror(f->stream))
        number = f->number ? f->number : EIO;
    if (!number && f->temp && wmi_io_sync(f->fd))
        number = errno;
    if (fclose(f->stream) && !number)
        number = errno ? errno : EIO;
    if (!number && f->temp && wmi_io_rename(f->temp, f->path))
        number = errno;
    if (number) {
        remove_temp(f);
        st = fail_errno(err, f->path, "cannot write", number);
    } else if (f->temp && (number = sync_folder(f->path))) {
        st = fail_errno(err, f->path, "written, but the folder does not sync", number);
    }
    drop(f);
    return st;
}

void wmi_file_abandon(wmi_file *f)
{
    if (!f)
        return;
    fclose(f->stream);
    remove_temp(f);
    drop(f);
}

wm_status wmi_file_write(const char *path, const void *bytes, size_t n, wm_error *err)
{
    wmi_file *f = NULL;
    wm_status st = wmi_file_open(&f, path, err);

    if (st)
        return st;
    if (n)
        fwrite(bytes, 1, n, f->stream);
    return wmi_file_commit(f, err); /* finds what that did not say */
}

wm_status wmi_file_size(int64_t *out, const char *path, wm_error *err)
{
    struct stat info;

    *out = 0;
    if (stat(path, &info))
        return fail_errno(err, path, "cannot read", errno);
    if (S_ISDIR(info.st_mode))
        return fail_errno(err, path, "cannot read", EISDIR);
    if (!S_ISREG(info.st_mode))
        return wmi_fail(err, WM_EIO, "%s: is not a regular file", wmi_path_tail(path));
    *out = info.st_size;
    return WM_OK;
}

wm_status wmi_file_read(char **out, size_t *n, const char *path, int64_t max, wm_error *err)
{
    int64_t size;
    wm_status st = wmi_file_size(&size, path, err);
    char *bytes = NULL;
    size_t got = 0;
    FILE *f;

    *out = NULL;
    *n = 0;
    if (st)
        return st;
    if (size > max)
        return wmi_fail(err, WM_EFORMAT, "%s: %" PRId64 " bytes, at most %" PRId64 " make sense",
                        wmi_path_tail(path), size, max);
    if (!(f = fopen(path, "rb")))
        return fail_errno(err, path, "cannot read", errno);
    if ((st = wmi_alloc(&bytes, size + 1, 1, "file content", err)))
        goto done;
    got = fread(bytes, 1, (size_t)size, f);
    if (ferror(f)) {
        st = fail_errno(err, path, "cannot read", errno);
        goto done;
    }
    bytes[got] = '\0';
    *out = bytes;
    *n = got;
    bytes = NULL;
done:
    wmi_free(bytes);
    fclose(f);
    return st;
}

wm_status wmi_folder_make(const char *path, wm_error *err)
{
    wm_status st;
    struct stat info;
    char *part = NULL;

    if (!*path)
        return wmi_fail(err, WM_EINVAL, "the name of a folder is empty");
    if ((st = copy_text(&part, path, strlen(path), 0, err)))
        return st;
    for (char *p = part + 1;; p++) {
        const char at = *p;

        if (at && at != '/')
            continue;
        *p = '\0';
        /* Looked at first: an existing folder above may refuse mkdir with EROFS or EACCES. */
        if (stat(part, &info) && wmi_io_mkdir(part) && errno != EEXIST) {
            st = fail_errno(err, part, "cannot make the folder", errno);
            break;
        }
        if (stat(part, &info) || !S_ISDIR(info.st_mode)) {
            st = fail_errno(err, part, "cannot make the folder", ENOTDIR);
            break;
        }
        if (!at)
            break;
        *p = at;
    }
    wmi_free(part);
    return st;
}

void wmi_folder_sweep(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir)))
        if (strstr(entry->d_name, WMI_TEMP_MARK))
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

bool wmi_file_exists(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0;
}

wm_status wmi_path_end(char **out, const char *folder, const char *name, const char *end,
                       wm_error *err)
{
    const size_t n = strlen(folder);
    const bool slash = n > 0 && folder[n - 1] != '/';
    const size_t room = strlen(name) + strlen(end) + 2;
    wm_status st = copy_text(out, folder, n, room, err);

    if (!st)
        snprintf(*out + n, room, "%s%s%s", slash ? "/" : "", name, end);
    return st;
}

wm_status wmi_path_join(char **out, const char *folder, const char *name, wm_error *err)
{
    return wmi_path_end(out, folder, name, "", err);
}

wm_status wmi_file_absent(const char *folder, const char *name, const char *end, wm_error *err)
{
    char *path = NULL;
    wm_status st = wmi_path_end(&path, folder, name, end, err);

    if (!st && wmi_file_exists(path))
        st = wmi_fail(err, WM_EINVAL, "%s: is there already", wmi_path_tail(path));
    wmi_free(path);
    return st;
}

void wmi_file_remove(const char *folder, const char *name, const char *end)
{
    char *path = NULL;

    if (wmi_path_end(&path, folder, name, end, NULL) == WM_OK)
        remove(path);
    wmi_free(path);
}
