/* main.c - the table of commands, in the order of the help. */
#include <stdlib.h>
#include <unistd.h>

#include "commands.h"
#include "waymark/version.h"

static const cli_command *const table[] = {
    &cmd_demo,
    &cmd_ratio,
    &cmd_apply,
    &cmd_mi,
    &cmd_ebm,
    &cmd_loglik,
    &cmd_sample,
    &cmd_embed,
    &cmd_embed_fit,
    &cmd_probe,
    &cmd_data,
    &cmd_data_mnist,
    &cmd_data_omniglot,
    &cmd_data_glyphs,
    &cmd_reproduce_peaked,
    &cmd_reproduce_gaussian,
    &cmd_reproduce_mnist,
    &cmd_reproduce_omniglot,
    &cmd_report,
    &cmd_version,
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
