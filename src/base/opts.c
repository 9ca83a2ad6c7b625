/* opts.c - options of any size, threads for a call (opts.h). */
#include "base/opts.h"

#include <limits.h>
#include <string.h>

#include <omp.h>

wm_status wmi_opts_take(void *own, size_t size, const void *given, const char *init, wm_error *err)
{
    size_t has;

    if (!given)
        return WM_OK;
    memcpy(&has, given, sizeof has); /* the first member */
    if (has > size && has % sizeof has == 0 && has < 2 * size)
        return wmi_fail(err, WM_EINVAL,
                        "options of %zu bytes, where %s() of this version makes %zu: the program "
                        "was built for a later one",
                        has, init, size);
    if (has < sizeof has || has > size || has % sizeof has != 0)
        return wmi_fail(err, WM_EINVAL, "options were not made by %s()", init);
    memcpy(own, given, has);
    memcpy(own, &size, sizeof size);
    return WM_OK;
}

int wmi_threads_use(int64_t threads)
{
    const int before = omp_get_max_threads();

    if (threads <= 0)
        return 0;
    omp_set_num_threads(threads < INT_MAX ? (int)threads : INT_MAX);
    return before;
}

void wmi_threads_restore(int before)
{
    if (before > 0)
        omp_set_num_threads(before);
}
