/* npy.c - the .npy writer: magic, version 1.0, a header padded so that data start on 64 bytes. */
#include "data/formats/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

#define PREFIX 10 /* magic (6), version (2), header length (2) */

static bool little_endian(void)
{
    const uint16_t one = 1;
    unsigned char low;

    memcpy(&low, &one, 1);
    return low == 1;
}

int wmi_npy_header_of(char head[WMI_NPY_HEAD], const char *descr, int rank, const int64_t *dim)
{
    int n = PREFIX;

    memcpy(head, "\x93NUMPY\x01", 8); /* the NUL is the minor version */
    n += snprintf(head + n, WMI_NPY_HEAD - (size_t)n,
                  "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < rank; i++)
        n += snprintf(head + n, WMI_NPY_HEAD - (size_t)n, "%" PRId64 "%s", dim[i],
                      i < rank - 1 ? ", "
                      : rank == 1  ? ",)"
                                   : ")");
    n += snprintf(head + n, WMI_NPY_HEAD - (size_t)n, ", }");
    while ((n + 1) % 64)
        head[n++] = ' ';
    head[n++] = '\n';
    head[8] = (char)((n - PREFIX) & 0xff);
    head[9] = (char)((n - PREFIX) >> 8);
    return n;
}

int wmi_npy_header(char head[WMI_NPY_HEAD], size_t width, int rank, const int64_t *dim)
{
    char descr[8];

    snprintf(descr, sizeof descr, "%cf%d", little_endian() ? '<' : '>', width == 8 ? 8 : 4);
    return wmi_npy_header_of(head, descr, rank, dim);
}

/* width: bytes of an element; one byte is a bool. */
static wm_status write_array(const char *path, const void *x, size_t width, int rank,
                             const int64_t *dim, wm_error *err)
{
    char head[WMI_NPY_HEAD];
    int64_t count = 1, bytes;
    int size;
    wmi_file *f = NULL;
    wm_status st;

    if (rank < 1 || rank > 3)
        return wmi_fail(err, WM_EINVAL, "%s: an array of rank %d, expected 1 to 3",
                        wmi_path_tail(path), rank);
    for (int i = 0; i < rank; i++)
        if (dim[i] < 0 || __builtin_mul_overflow(count, dim[i], &count) ||
            __builtin_mul_overflow(count, (int64_t)width, &bytes))
            return wmi_fail(err, WM_EINVAL, "%s: dimension %d is %" PRId64, wmi_path_tail(path), i,
                            dim[i]);
    if ((st = wmi_file_open(&f, path, err)))
        return st;
    size = width == 1 ? wmi_npy_header_of(head, "|b1", rank, dim)
                      : wmi_npy_header(head, width, rank, dim);
    fwrite(head, 1, (size_t)size, wmi_file_stream(f));
    if (count)
        fwrite(x, width, (size_t)count, wmi_file_stream(f));
    return wmi_file_commit(f, err);
}

wm_status wmi_npy_write_f64(const char *path, const double *x, int rank, const int64_t *dim,
                            wm_error *err)
{
    return write_array(path, x, sizeof *x, rank, dim, err);
}

wm_status wmi_npy_write_bool(const char *path, const unsigned char *x, int rank, const int64_t *dim,
                             wm_error *err)
{
    return write_array(path, x, sizeof *x, rank, dim, err);
}

wm_status wmi_npy_write_f32(const char *path, const float *x, int rank, const int64_t *dim,
                            wm_error *err)
{
    return write_array(path, x, sizeof *x, rank, dim, err);
}
