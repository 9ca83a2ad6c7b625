/* main.c - the table of commands, in the order of the help. */
#include <stdlib.h>
#include <unistd.h>

#include "commands.h"

static const cli_command *const table[] = {
    &cmd_demo, &cmd_reproduce_peaked, &cmd_reproduce_gaussian, &cmd_version, NULL,
};

/* Threads that wait at a barrier spin for milliseconds by default, which is fine on an idle machine
 * and disastrous on a busy one: beside two other programs on two cores a training step took 75 ms,
 * and 26 ms with short spins. libgomp reads its settings when it is loaded, before main(), so the
 * program starts itself once more. Whoever has set either variable knows better. */
static void start_with_short_spins(char **argv)
{
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT"))
        return;
    if (setenv("GOMP_SPINCOUNT", "10000", 1) == 0)
        execv("/proc/self/exe", argv); /* comes back only if it cannot: then go on as we are */
}

int main(int argc, char **argv)
{
    start_with_short_spins(argv);
    return cli_main(table, argc, argv);
}
