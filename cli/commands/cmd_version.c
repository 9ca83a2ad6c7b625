/* cmd_version.c - what is running here: the first lines of any report of a fault. */
#include <omp.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "frame/commands.h"
#include "waymark/version.h"

static wm_status run(cli_call *call, wm_error *err)
{
    struct utsname machine;
    const int known = uname(&machine) >= 0;

    (void)err;
    WM_PUT(call->summary, WM_TEXT("version", wm_version()), WM_TEXT("compiler", __VERSION__),
           WM_TEXT("system", known ? machine.sysname : NULL),
           WM_TEXT("machine", known ? machine.machine : NULL));
    if (cli_shows_tables(call))
        printf("waymark %s\n%s %s, compiler %s, %d threads\n", wm_version(),
               known ? machine.sysname : "?", known ? machine.machine : "?", __VERSION__,
               omp_get_max_threads());
    return WM_OK;
}

const cli_command cmd_version = {
    .name = "version",
    .about = "print the version, and what it was built for",
    .examples = "waymark version --json",
    .run = run,
};
