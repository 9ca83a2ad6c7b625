/* interrupt.c - the one piece of global state that a signal handler needs. */
#include "interrupt.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t asked, silent;

static void handle(int number)
{
    static const char text[] = "\nstopping at the next step; once more to stop at once\n";
    const int saved = errno;

    if (asked) {
        signal(number, SIG_DFL);
        raise(number); /* delivered when this handler returns */
        return;
    }
    asked = 1;
    if (!silent && write(STDERR_FILENO, text, sizeof text - 1) < 0)
        silent = 1; /* nobody listens */
    errno = saved;
}

void interrupt_install(bool quiet)
{
    struct sigaction action;

    silent = quiet;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART; /* a read or write under way must not fail for this */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

const volatile sig_atomic_t *interrupt_flag(void)
{
    return &asked;
}
