/* array.h - a cursor over the rows of an array in some bytes: what npy, npz, IDX and safetensors
 * share once their headers are read. Rows are the first axis; the others are made one row, in C
 * order; rank one is one column. */
#ifndef WMI_DATA_ARRAY_H
#define WMI_DATA_ARRAY_H

#include "data/formats/bytes.h"
#include "data/formats/element.h"
#include "data/formats/reader.h"

#define WMI_ARRAY_MAX_RANK 32 /* NumPy's */

typedef struct wmi_array {
    wmi_element type;
    bool big_endian;
    bool fortran; /* the first axis varies fastest */
    int rank;
    int64_t dim[WMI_ARRAY_MAX_RANK];
    int64_t at; /* byte of the first value; of a stream: where it stands now */
    bool last;  /* nothing may follow it */
} wmi_array;

/* (1000, 3) */
const char *wmi_array_shape_text(char *buf, size_t size, int rank, const int64_t *dim);

/* A cursor over the array. Shape and bytes must fit each other (WM_EFORMAT); rank 0 and rows of no
 * column are refused (WM_ESHAPE), no rows are not. label is copied, for messages. own: the bytes
 * are closed with the cursor, and on failure. Mapped arrays of either order, and streams in C
 * order, take constant memory; a stream in Fortran order is read into memory whole. */
WM_MUST_CHECK wm_status wmi_array_open(wmi_cursor **out, const char *label, wmi_bytes *bytes,
                                       bool own, const wmi_array *a, wm_error *err);

#endif
