/* gnuplot.c - running gnuplot without a shell: what it draws is renamed into place, what it says is
 * caught. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/figure/figure.h"
#include "waymark/sink.h"

extern char **environ;

/* Commands before the script: its folder, where csv and script are, and temporary names for what it
 * draws. In single quotes gnuplot knows one escape, the doubled quote. */
static wm_status make_prologue(char **out, const char *folder, const char *temp, wm_error *err)
{
    const int64_t room = 2 * (int64_t)strlen(folder) + (int64_t)strlen(temp) + 32;
    wm_status st = wmi_alloc(out, room, 1, "gnuplot commands", err);
    char *to = *out;

    if (st)
        return st;
    to += sprintf(to, "cd '");
    for (const char *p = folder; *p; p++) {
        if (*p == '\'')
            *to++ = '\'';
        *to++ = *p;
    }
    sprintf(to, "'; out = '%s'", temp);
    return WM_OK;
}

/* Starts gnuplot with its words going to a pipe. Returns the reading end, or -1 and *number. */
static int start(pid_t *pid, char *const argv[], int *number)
{
    posix_spawn_file_actions_t actions;
    int ends[2];

    if (pipe(ends)) {
        *number = errno;
        return -1;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC); /* dup2 below makes copies without it */
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    *number = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (*number) {
        close(ends[0]);
        return -1;
    }
    return ends[0];
}

/* The first words from fd, spaces for line ends; the rest is read and dropped, so that the writer
 * does not block. */
static void listen_to(int fd, char *said, size_t size)
{
    char buf[512];
    size_t used = 0;
    ssize_t n;

    while ((n = read(fd, buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR))
        for (ssize_t i = 0; i < n; i++) {
            const char c = strchr("\n\r\t ", buf[i]) ? ' ' : buf[i];

            if (used + 1 < size && !(c == ' ' && (!used || said[used - 1] == ' ')))
                said[used++] = c;
        }
    while (used && said[used - 1] == ' ')
        used--;
    said[used] = '\0';
    close(fd);
}

/* folder/temp.ext to folder/name.ext; removes it instead if keep is false. */
static wm_status place(const char *folder, const char *temp, const char *name, const char *ext,
                       bool keep, wm_error *err)
{
    char from_name[400], to_name[320], *from = NULL, *to = NULL;
    wm_status st;

    snprintf(from_name, sizeof from_name, "%s.%s", temp, ext);
    snprintf(to_name, sizeof to_name, "%s.%s", name, ext);
    if ((st = wmi_path_join(&from, folder, from_name, err)) ||
        (st = wmi_path_join(&to, folder, to_name, err)))
        goto done;
    if (!keep)
        unlink(from);
    else if (rename(from, to))
        st = wmi_fail(err, WM_EIO, "%s: gnuplot drew nothing: %s", wmi_path_tail(to),
                      strerror(errno));
done:
    wmi_free(from);
    wmi_free(to);
    return st;
}

wm_status wmi_gnuplot_run(bool *found, const char *folder, const char *name, const wm_sink *sink,
                          wm_error *err)
{
    char temp[360], script[310], said[160] = "", *prologue = NULL;
    int fd, number, result = 0;
    bool drawn;
    pid_t pid;
    wm_status st;

    *found = true;
    snprintf(temp, sizeof temp, "%.300s.%ld" WMI_TEMP_MARK, name, (long)getpid());
    snprintf(script, sizeof script, "%.300s.gp", name);
    if ((st = make_prologue(&prologue, folder, temp, err)))
        return st;
    {
        /* -d: the user's own start-up file must not change what is drawn. */
        char program[] = "gnuplot", plain[] = "-d", execute[] = "-e";
        char *const argv[] = {program, plain, execute, prologue, script, NULL};

        fd = start(&pid, argv, &number);
    }
    wmi_free(prologue);
    if (fd < 0 && number == ENOENT) {
        *found = false;
        return WM_OK;
    }
    if (fd < 0)
        return wmi_fail(err, WM_EIO, "cannot run gnuplot: %s", strerror(number));
    listen_to(fd, said, sizeof said);
    while (waitpid(pid, &result, 0) < 0 && errno == EINTR) {
    }
    drawn = WIFEXITED(result) && WEXITSTATUS(result) == 0;
    if (!drawn)
        st = wmi_fail(err, WM_EIO, "%.60s: gnuplot %s %d: %s", script,
                      WIFSIGNALED(result) ? "was killed by signal" : "failed with code",
                      WIFSIGNALED(result) ? WTERMSIG(result) : WEXITSTATUS(result), said);
    else if (*said)
        wm_say(sink, WM_LOG_WARN, "%s: gnuplot says: %s", script, said);
    {
        const wm_status svg = place(folder, temp, name, "svg", drawn, st ? NULL : err);
        const wm_status png = place(folder, temp, name, "png", drawn, st || svg ? NULL : err);

        return st ? st : svg ? svg : png;
    }
}
