/* patches.h - a file of ours, changed as the bytes of a fuzzer say: four of them are a place (two
 * bytes), what is done there, and with what. What comes out is near to a good file, so that it gets
 * past the first lines of its reader. */
#ifndef WMI_TESTS_FUZZ_PATCHES_H
#define WMI_TESTS_FUZZ_PATCHES_H

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "must.h"

enum { PATCH = 4, PATCHED_ROOM = 1 << 18, PATCH_PATH = 300 };

typedef struct patched {
    size_t n;
    uint8_t byte[PATCHED_ROOM];
} patched;

/* The length of the header follows what is put in and taken out, as a forger would have it. */
static inline void patch_length(patched *f, int by)
{
    uint64_t length;

    memcpy(&length, f->byte, sizeof length);
    length += (uint64_t)(int64_t)by;
    memcpy(f->byte, &length, sizeof length);
}

static inline void patch_one(patched *f, const uint8_t *with)
{
    static const double odd[] = {0, -1, 1e300, -1e300, 5e-324, 0.5, 1e9, 3};
    const uint16_t place = (uint16_t)(with[0] | with[1] << 8);
    const size_t at = f->n ? place % f->n : 0;
    const uint64_t length = f->n >= 8 ? *(const uint64_t *)(const void *)f->byte : 0;

    if (f->n < 16 || f->n + 1 >= PATCHED_ROOM)
        return;
    switch (with[2] % 8) {
    case 0: /* truncated, now and then */
        if (with[3] < 16)
            f->n = at;
        break;
    case 1:
    case 2: /* one byte more, or less, in the header */
        if (at < 8 || at >= 8 + length)
            break;
        if (with[2] % 8 == 1) {
            memmove(f->byte + at + 1, f->byte + at, f->n - at);
            f->byte[at] = with[3];
            f->n++;
            patch_length(f, 1);
        } else {
            memmove(f->byte + at, f->byte + at + 1, f->n - at - 1);
            f->n--;
            patch_length(f, -1);
        }
        break;
    case 3: /* a number that does not belong there */
        if (at + 8 <= f->n)
            memcpy(f->byte + (at & ~(size_t)7), &odd[with[3] % 8], 8);
        break;
    case 4:
        f->byte[at] = (uint8_t)(f->byte[at] ^ 1u << with[3] % 8);
        break;
    default:
        f->byte[at] = with[3];
    }
}

/* The good file (n bytes) with the patches of data. */
static inline void patch_all(patched *f, const uint8_t *good, size_t n, const uint8_t *data,
                             size_t size)
{
    f->n = n < PATCHED_ROOM ? n : PATCHED_ROOM;
    memcpy(f->byte, good, f->n);
    for (size_t i = 0; i + PATCH <= size; i += PATCH)
        patch_one(f, data + i);
}

static inline void patch_write(const patched *f, const char *path)
{
    FILE *out = fopen(path, "wb");

    if (!out || fwrite(f->byte, 1, f->n, out) != f->n || fclose(out))
        abort();
}

static inline void patch_read(patched *f, const char *path)
{
    FILE *in = fopen(path, "rb");

    must(in, "no file to begin with", &(wm_error){0});
    f->n = fread(f->byte, 1, PATCHED_ROOM, in);
    fclose(in);
}

/* A name for a file of this process. */
static inline void patch_path(char path[PATCH_PATH], const char *name)
{
    const char *top = getenv("TMPDIR");

    snprintf(path, PATCH_PATH, "%.200s/fuzz-%ld-%.60s", top ? top : "/tmp", (long)getpid(), name);
}

#endif
