/* alphabets_memory.h - opening alphabets with every allocation failing in turn. */
#ifndef WM_TESTS_ALPHABETS_MEMORY_H
#define WM_TESTS_ALPHABETS_MEMORY_H

#include "asserts.h"

#include "base/alloc.h"
#include "waymark/images.h"

/* Until it opens: either it does, or memory is what it lacks, and nothing stays allocated. */
static inline void open_without_memory(const char *path)
{
    wm_status st = WM_ENOMEM;

    for (int64_t k = 1; st; k++) {
        const int64_t live = wmi_alloc_live();
        wm_alphabets *a = NULL;
        wm_error err;

        wmi_alloc_fail_at(k);
        st = wm_alphabets_open(&a, path, "background", &err);
        wmi_alloc_fail_at(0);
        assert_true(st == WM_OK || st == WM_ENOMEM);
        wm_alphabets_free(a);
        assert_int_equal(wmi_alloc_live(), live);
    }
}

#endif
