/* arena.c - a chain of blocks; the newest one is filled, a request that does not fit opens another.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

enum { BLOCK_BYTES = 32 * 1024 };

struct wmi_arena_block {
    wmi_arena_block *before;
    size_t used, size;
    alignas(max_align_t) unsigned char bytes[];
};

void *wmi_arena_alloc(wmi_arena *a, size_t bytes, wm_error *err)
{
    const size_t unit = alignof(max_align_t);
    void *p;

    if (bytes > SIZE_MAX / 2) {
        (void)wmi_fail(err, WM_ENOMEM, "arena: %zu bytes", bytes);
        return NULL;
    }
    bytes = (bytes + unit - 1) / unit * unit;
    if (!a->last || a->last->size - a->last->used < bytes) {
        const size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        wmi_arena_block *b = NULL;

        if (wmi_alloc(&b, 1, sizeof *b + size, "arena", err))
            return NULL;
        b->before = a->last;
        b->size = size;
        a->last = b;
    }
    p = a->last->bytes + a->last->used;
    a->last->used += bytes;
    return p;
}

char *wmi_arena_strdup(wmi_arena *a, const char *s, wm_error *err)
{
    const size_t n = strlen(s) + 1;
    char *copy = wmi_arena_alloc(a, n, err);

    if (copy)
        memcpy(copy, s, n);
    return copy;
}

void wmi_arena_free(wmi_arena *a)
{
    while (a->last) {
        wmi_arena_block *b = a->last;

        a->last = b->before;
        wmi_free(b);
    }
}
