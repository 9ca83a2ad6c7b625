/* room.c - a limit on memory (ulimit -v) that OpenBLAS could not live with. Its loader asks for a
 * buffer for each thread, again and again where it gets none, before main() has begun; so the room
 * is looked for before that, by a function that the dynamic linker calls ahead of all libraries'
 * own. Nothing is done where no limit is set. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Sanitizers need memory without limit, and cannot be entered so early. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define EARLY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EARLY 0
#endif
#endif
#ifndef EARLY
#define EARLY 1
#endif

#if EARLY && defined(__linux__)

/* Bytes of a buffer: 128 MiB in the versions of Debian 12 and 13 on x86-64. */
#define BUFFER ((size_t)128 << 20)

/* The number that a variable of the environment gives, or 0; getenv() is not ready yet. */
static long number_of(char *const *env, const char *name)
{
    const size_t n = strlen(name);

    for (; *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return strtol(*env + n + 1, NULL, 10);
    return 0;
}

static void look_for_room(int argc, char **argv, char **env)
{
    static const char text[] = "waymark: the limit on memory (ulimit -v) is too low for linear "
                               "algebra, which takes 128 MiB a thread: raise it, or set "
                               "OMP_NUM_THREADS\n";
    struct rlimit limit;
    long cores, threads;
    void *room;

    (void)argc;
    (void)argv;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return;
    cores = sysconf(_SC_NPROCESSORS_ONLN);
    threads = number_of(env, "OPENBLAS_NUM_THREADS");
    if (threads < 1)
        threads = number_of(env, "OMP_NUM_THREADS");
    if (threads < 1 || threads > cores)
        threads = cores > 0 ? cores : 1;
    room = mmap(NULL, ((size_t)threads + 1) * BUFFER, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
            _exit(1);
        _exit(1);
    }
    munmap(room, ((size_t)threads + 1) * BUFFER);
}

__attribute__((section(".preinit_array"),
               used)) static void (*const first_of_all)(int argc, char **argv,
                                                        char **env) = look_for_room;

#endif
