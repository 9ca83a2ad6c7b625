/* comm_open.c - whether a launcher has started this process as one of several, and the module that
 * knows how to reach the others. A process on its own never loads it: it costs 100 ms and more. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dist/comm.h"

#define MODULE "waymark_mpi.so"

enum { PATH = 4096 };

int64_t wmi_comm_launched(void)
{
    /* Open MPI; MPICH and other launchers of PMI; Slurm, whose own variable is also set for a
     * command that it starts once. */
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"};
    const char *slurm = getenv("SLURM_NTASKS"), *by_step = getenv("SLURM_STEP_ID");

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);

        if (text && atoll(text) > 0)
            return atoll(text);
    }
    if (getenv("PMIX_RANK") && slurm && by_step && atoll(slurm) > 0)
        return atoll(slurm);
    return 1;
}

/* The folder that this program was started from, with its slash; "" where that is not known. */
static void find_folder(char folder[PATH])
{
    const ssize_t n = readlink("/proc/self/exe", folder, PATH - 1);
    char *slash;

    folder[n > 0 ? n : 0] = '\0';
    slash = strrchr(folder, '/');
    if (slash)
        slash[1] = '\0';
    else
        folder[0] = '\0';
}

/* Beside the program (as built), in the library folder of where it is installed, and in that which
 * the build was told. */
static void *load_module(void)
{
    static const char *const beside[] = {"", "../" WMI_MODULE_SUBDIR "/"};
    char folder[PATH], path[PATH + sizeof WMI_MODULE_SUBDIR + sizeof MODULE + 8];
    void *module = NULL;

    find_folder(folder);
    for (size_t i = 0; !module && *folder && i < sizeof beside / sizeof *beside; i++) {
        snprintf(path, sizeof path, "%s%s" MODULE, folder, beside[i]);
        module = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* MPI's own modules look for its names */
    }
    return module ? module : dlopen(WMI_MODULE_DIR "/" MODULE, RTLD_NOW | RTLD_GLOBAL);
}

wm_status wm_comm_open(wm_comm **out, wm_error *err)
{
    const int64_t launched = wmi_comm_launched();
    wmi_transport_entry *entry = NULL;
    void *module, *symbol;
    const char *why;

    *out = NULL;
    if (launched < 2)
        return WM_OK;
    if (!(module = load_module())) {
        why = dlerror();
        return wmi_fail(err, WM_EUNSUPPORTED,
                        "started as one of %d processes, but without a module for MPI (%.80s): "
                        "build with libopenmpi-dev installed, or start one process",
                        (int)launched, why ? why : "not found");
    }
    symbol = dlsym(module, WMI_TRANSPORT_ENTRY);
    if (symbol)
        memcpy(&entry, &symbol, sizeof entry); /* as POSIX has it; C knows no such cast */
    if (!entry)
        return wmi_fail(err, WM_EUNSUPPORTED, MODULE " has no " WMI_TRANSPORT_ENTRY);
    return wmi_comm_by(out, entry(), err);
}
