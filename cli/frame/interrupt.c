/* interrupt.c - the one piece of global state that a signal handler needs. */
#include "frame/interrupt.h"

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

/* Inputs are mapped; one that another program cuts short has no bytes where it had some. */
static void input_is_gone(int number)
{
    static const char text[] = "\nwaymark: an input file was cut short while it was read\n";

    (void)number;
    if (write(STDERR_FILENO, text, sizeof text - 1) > 0)
        _exit(1);
    _exit(1); /* nobody listens */
}

static void handle_by(int number, void (*handler)(int))
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART; /* a read or write under way must not fail for this */
    sigaction(number, &action, NULL);
}

void interrupt_install(bool quiet)
{
    silent = quiet;
    handle_by(SIGINT, handle);
    handle_by(SIGTERM, handle);
    handle_by(SIGHUP, handle); /* the terminal is gone: stop in good order */
    handle_by(SIGBUS, input_is_gone);
    handle_by(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails, and is said with its file */
}

const volatile sig_atomic_t *interrupt_flag(void)
{
    return &asked;
}
