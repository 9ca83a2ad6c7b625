/* idx.c - IDX, the format of MNIST: two zero bytes, a type, a rank, the sizes as big-endian 32-bit
 * numbers, then the values, big-endian and row-major. */
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "data/formats/array.h"

enum { MAX_RANK = 4 };

static const struct {
    unsigned char code;
    wmi_element type;
} known[] = {
    {0x08, WMI_ELEMENT_U8},  {0x09, WMI_ELEMENT_I8},  {0x0b, WMI_ELEMENT_I16},
    {0x0c, WMI_ELEMENT_I32}, {0x0d, WMI_ELEMENT_F32}, {0x0e, WMI_ELEMENT_F64},
};
#define N_KNOWN (sizeof known / sizeof *known)

static size_t find_type(unsigned char code)
{
    size_t i = 0;

    while (i < N_KNOWN && known[i].code != code)
        i++;
    return i;
}

static bool sniff(const unsigned char *head, size_t n)
{
    return n >= 4 && head[0] == 0 && head[1] == 0 && find_type(head[2]) < N_KNOWN && head[3] >= 1 &&
           head[3] <= MAX_RANK;
}

static wm_status open_file(wmi_cursor **out, const wmi_source_file *file, wm_error *err)
{
    const char *path = wmi_text_tail(file->path);
    unsigned char head[4 + 4 * MAX_RANK];
    wmi_array a = {.big_endian = true, .last = true};
    wm_status st;
    size_t got;

    *out = NULL;
    if ((st = wmi_bytes_read(file->bytes, head, 4, &got, err)))
        return st;
    if (got < 4 || head[0] || head[1])
        return wmi_fail(err, WM_EFORMAT, "%s: does not begin as an IDX file does", path);
    if (find_type(head[2]) == N_KNOWN)
        return wmi_fail(err, WM_EFORMAT, "%s: IDX type 0x%02x is not one of 08, 09, 0b to 0e", path,
                        head[2]);
    if (head[3] < 1 || head[3] > MAX_RANK)
        return wmi_fail(err, WM_EUNSUPPORTED, "%s: IDX of rank %d, expected 1 to 4", path, head[3]);
    a.type = known[find_type(head[2])].type;
    a.rank = head[3];
    a.at = 4 + 4 * (int64_t)a.rank;
    if ((st = wmi_bytes_read(file->bytes, head + 4, 4 * (size_t)a.rank, &got, err)))
        return st;
    if (got < 4 * (size_t)a.rank)
        return wmi_fail(err, WM_EFORMAT, "%s: cut short: ends within its header", path);
    for (int i = 0; i < a.rank; i++) {
        const unsigned char *p = head + 4 + 4 * i;

        a.dim[i] = (int64_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
                             (uint32_t)p[3]);
    }
    return wmi_array_open(out, file->path, file->bytes, false, &a, err);
}

const wmi_format wmi_format_idx = {"idx", sniff, open_file};
