/* alloc.c - checked, aligned, zeroed memory with counters for the tests.
 * The counters are the library's only mutable globals; they are atomic and change no result. */
#include "base/alloc.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int_fast64_t calls, live, fail_in;

wm_status wmi_alloc(void *out, int64_t count, size_t size, const char *what, wm_error *err)
{
    void *p = NULL;
    size_t bytes, rounded;

    memcpy(out, &p, sizeof p); /* out is a T ** of any T */
    atomic_fetch_add(&calls, 1);
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) ||
        __builtin_add_overflow(bytes, (size_t)WMI_ALIGN, &rounded))
        return wmi_fail(err, WM_ENOMEM, "%s: %" PRId64 " x %zu bytes is more than can be addressed",
                        what, count, size);
    rounded -= rounded % WMI_ALIGN; /* aligned_alloc wants a multiple, and never zero bytes */
    if (atomic_load(&fail_in) > 0 && atomic_fetch_sub(&fail_in, 1) == 1)
        return wmi_fail(err, WM_ENOMEM, "%s: allocation of %zu bytes made to fail", what, bytes);
    p = aligned_alloc(WMI_ALIGN, rounded);
    if (!p)
        return wmi_fail(err, WM_ENOMEM, "%s: no memory for %zu bytes", what, bytes);
    memset(p, 0, rounded);
    atomic_fetch_add(&live, 1);
    memcpy(out, &p, sizeof p);
    return WM_OK;
}

wm_status wmi_alloc_text(char **out, const char *text, const char *what, wm_error *err)
{
    const size_t n = strlen(text) + 1;
    wm_status st = wmi_alloc(out, (int64_t)n, 1, what, err);

    if (!st)
        memcpy(*out, text, n);
    return st;
}

void wmi_free(void *p)
{
    if (!p)
        return;
    atomic_fetch_sub(&live, 1);
    free(p);
}

void wmi_alloc_fail_at(int64_t k)
{
    atomic_store(&fail_in, k);
}

int64_t wmi_alloc_count(void)
{
    return atomic_load(&calls);
}

int64_t wmi_alloc_live(void)
{
    return atomic_load(&live);
}
