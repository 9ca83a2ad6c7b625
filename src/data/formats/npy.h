/* npy.h - NumPy's .npy: written as version 1.0, row-major, in the machine's byte order; read in
 * every version and order. */
#ifndef WMI_DATA_NPY_H
#define WMI_DATA_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "data/formats/reader.h"

/* x as an array of rank 1 to 3 with these dimensions, into path, whole or not at all. */
WM_MUST_CHECK wm_status wmi_npy_write_f64(const char *path, const double *x, int rank,
                                          const int64_t *dim, wm_error *err);
WM_MUST_CHECK wm_status wmi_npy_write_f32(const char *path, const float *x, int rank,
                                          const int64_t *dim, wm_error *err);
WM_MUST_CHECK wm_status wmi_npy_write_bool(const char *path, const unsigned char *x, int rank,
                                           const int64_t *dim, wm_error *err);

enum { WMI_NPY_HEAD = 256 };
/* What stands before an array of the type that NumPy calls descr ("|u1"), of rank 1 to 3 and
 * dimensions not below 0. Returns its bytes. */
int wmi_npy_header_of(char head[WMI_NPY_HEAD], const char *descr, int rank, const int64_t *dim);
/* The same for floats of `width` bytes each. The bytes of a vector are always 128. */
int wmi_npy_header(char head[WMI_NPY_HEAD], size_t width, int rank, const int64_t *dim);

/* Rows of an .npy file at the start of bytes; own: closed with the cursor, and on failure. */
WM_MUST_CHECK wm_status wmi_npy_open(wmi_cursor **out, const char *label, wmi_bytes *bytes,
                                     bool own, wm_error *err);

#endif
