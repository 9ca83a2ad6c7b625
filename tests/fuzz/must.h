/* must.h - what every fuzz target has in common. */
#ifndef WMI_TESTS_FUZZ_MUST_H
#define WMI_TESTS_FUZZ_MUST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A finding of our own: says what, and stops as a sanitizer does. */
static inline void must(bool holds, const char *what, const wm_error *err)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz: %s: %s\n", what, err->text);
    abort();
}

#endif
