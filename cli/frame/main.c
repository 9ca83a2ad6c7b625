/* main.c - the table of commands (commands.def), and the start of the program. */
#include <stdlib.h>
#include <unistd.h>

#include "frame/commands.h"
#include "waymark/version.h"

static const cli_command *const table[] = {
#define COMMAND(NAME) &cmd_##NAME,
#include "frame/commands.def"
#undef COMMAND
    NULL,
};

/* OpenBLAS chooses its kernels while it is loaded. Where it has chosen badly, the program starts
 * once more and tells it. */
static void start_with_good_blas(char **argv)
{
    static const char name[] = "OPENBLAS_CORETYPE";
    const char *core = wm_blas_core();

    if (core && !getenv(name) && setenv(name, core, 1) == 0)
        (void)execv("/proc/self/exe", argv); /* where that fails, the slow kernels will do */
}

int main(int argc, char **argv)
{
    start_with_good_blas(argv);
    return cli_main(table, argc, argv);
}
