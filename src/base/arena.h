/* arena.h - memory that dies together: what a graph is made of. Not for threads. */
#ifndef WMI_BASE_ARENA_H
#define WMI_BASE_ARENA_H

#include <stddef.h>

#include "base/fail.h"

typedef struct wmi_arena_block wmi_arena_block;

typedef struct wmi_arena {
    wmi_arena_block *last;
} wmi_arena; /* starts as {0} */

/* bytes of zeroed memory aligned for any type, or NULL with err set. */
void *wmi_arena_alloc(wmi_arena *a, size_t bytes, wm_error *err);
/* A copy of s, or NULL with err set. */
char *wmi_arena_strdup(wmi_arena *a, const char *s, wm_error *err);
void wmi_arena_free(wmi_arena *a);

#endif
