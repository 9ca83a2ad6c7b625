/* npy_files.h - npy files for the tests in C, with any header. */
#ifndef WM_TESTS_NPY_FILES_H
#define WM_TESTS_NPY_FILES_H

#include <stddef.h>
#include <string.h>

#include "asserts.h"
#include "base/file.h"
#include "scratch.h"

/* What stands before the numbers: this dictionary as header. Returns its length in bytes. */
static inline size_t npy_head(unsigned char *out, size_t room, int version, const char *dict)
{
    const size_t length = strlen(dict) + 1;
    size_t at = 8;

    assert_true(length + 12 <= room);
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)version;
    out[7] = 0;
    for (int i = 0; i < (version == 1 ? 2 : 4); i++)
        out[at++] = (unsigned char)(length >> (8 * i));
    memcpy(out + at, dict, length - 1);
    out[at + length - 1] = '\n';
    return at + length;
}

/* A file of such a head and n bytes. Returns its path in the scratch folder. */
static inline const char *make_npy(const char *name, int version, const char *dict,
                                   const void *data, size_t n)
{
    unsigned char file[8192];
    const size_t head = npy_head(file, sizeof file, version, dict);
    wm_error err;

    assert_true(head + n <= sizeof file);
    if (n)
        memcpy(file + head, data, n);
    assert_ok(wmi_file_write(scratch(name), file, head + n, &err), err);
    return scratch(name);
}

#endif
