/* element.c - loops over elements, one a type. The loops are told apart by the compiler for stride
 * one and for the machine's own byte order, so that they vectorise where it matters. */
#include "data/formats/element.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int width;
    bool integer;
} types[] = {
    [WMI_ELEMENT_F16] = {"float16", 2, false}, [WMI_ELEMENT_BF16] = {"bfloat16", 2, false},
    [WMI_ELEMENT_F32] = {"float32", 4, false}, [WMI_ELEMENT_F64] = {"float64", 8, false},
    [WMI_ELEMENT_I8] = {"int8", 1, true},      [WMI_ELEMENT_I16] = {"int16", 2, true},
    [WMI_ELEMENT_I32] = {"int32", 4, true},    [WMI_ELEMENT_I64] = {"int64", 8, true},
    [WMI_ELEMENT_U8] = {"uint8", 1, true},     [WMI_ELEMENT_U16] = {"uint16", 2, true},
    [WMI_ELEMENT_U32] = {"uint32", 4, true},   [WMI_ELEMENT_U64] = {"uint64", 8, true},
    [WMI_ELEMENT_BOOL] = {"bool", 1, true},
};

int64_t wmi_element_width(wmi_element type)
{
    return types[type].width;
}

bool wmi_element_integer(wmi_element type)
{
    return types[type].integer;
}

const char *wmi_element_name(wmi_element type)
{
    return types[type].name;
}

bool wmi_machine_is_big(void)
{
    const uint16_t one = 1;
    unsigned char low;

    memcpy(&low, &one, 1);
    return low == 0;
}

/* ---- bits to numbers ---- */

static inline uint8_t same8(uint8_t u)
{
    return u;
}

static inline double of_f16(uint16_t u)
{
    const uint64_t sign = (uint64_t)(u >> 15) << 63, exponent = (u >> 10) & 31, tail = u & 1023;
    uint64_t bits;
    double x;

    if (exponent == 0) {
        x = (double)tail * 0x1p-24;
        return sign ? -x : x;
    }
    bits = sign | (exponent == 31 ? (uint64_t)0x7ff : exponent - 15 + 1023) << 52 | tail << 42;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline double of_f32(uint32_t u)
{
    float x;

    memcpy(&x, &u, sizeof x);
    return (double)x;
}

static inline double of_f64(uint64_t u)
{
    double x;

    memcpy(&x, &u, sizeof x);
    return x;
}

static inline double of_bf16(uint16_t u)
{
    return of_f32((uint32_t)u << 16);
}

/* Every whole number up to 2^53 is a double; above, only multiples of a power of two are. */
static inline bool exact_u64(uint64_t u)
{
    return u <= (uint64_t)1 << 53 || ((double)u < 0x1p64 && (uint64_t)(double)u == u);
}

static inline bool exact_i64(uint64_t u)
{
    return exact_u64((int64_t)u < 0 ? -u : u); /* -u of INT64_MIN's bits is 2^63, as it should */
}

/* U: an unsigned type of the width; VALUE and GOOD: expressions in u. */
#define LOOP(U, SWAP, GOOD, VALUE)                                                                 \
    for (int64_t i = 0; i < n; i++) {                                                              \
        U u;                                                                                       \
        memcpy(&u, from + i * (int64_t)sizeof u, sizeof u);                                        \
        if (swap)                                                                                  \
            u = SWAP(u);                                                                           \
        if (!(GOOD))                                                                               \
            return i;                                                                              \
        to[i * stride] = VALUE;                                                                    \
    }                                                                                              \
    return n

static inline int64_t decode(wmi_element type, bool swap, const unsigned char *from, int64_t n,
                             double *to, int64_t stride)
{
    switch (type) {
    case WMI_ELEMENT_F16:
        LOOP(uint16_t, __builtin_bswap16, true, of_f16(u));
    case WMI_ELEMENT_BF16:
        LOOP(uint16_t, __builtin_bswap16, true, of_bf16(u));
    case WMI_ELEMENT_F32:
        LOOP(uint32_t, __builtin_bswap32, true, of_f32(u));
    case WMI_ELEMENT_F64:
        LOOP(uint64_t, __builtin_bswap64, true, of_f64(u));
    case WMI_ELEMENT_I8:
        LOOP(uint8_t, same8, true, (double)(int8_t)u);
    case WMI_ELEMENT_I16:
        LOOP(uint16_t, __builtin_bswap16, true, (double)(int16_t)u);
    case WMI_ELEMENT_I32:
        LOOP(uint32_t, __builtin_bswap32, true, (double)(int32_t)u);
    case WMI_ELEMENT_I64:
        LOOP(uint64_t, __builtin_bswap64, exact_i64(u), (double)(int64_t)u);
    case WMI_ELEMENT_U8:
        LOOP(uint8_t, same8, true, (double)u);
    case WMI_ELEMENT_U16:
        LOOP(uint16_t, __builtin_bswap16, true, (double)u);
    case WMI_ELEMENT_U32:
        LOOP(uint32_t, __builtin_bswap32, true, (double)u);
    case WMI_ELEMENT_U64:
        LOOP(uint64_t, __builtin_bswap64, exact_u64(u), (double)u);
    case WMI_ELEMENT_BOOL:
        LOOP(uint8_t, same8, u <= 1, (double)u);
    }
    return 0;
}

int64_t wmi_elements_decode(wmi_element type, bool swap, const unsigned char *from, int64_t n,
                            double *to, int64_t stride)
{
    if (swap)
        return decode(type, true, from, n, to, stride);
    return stride == 1 ? decode(type, false, from, n, to, 1)
                       : decode(type, false, from, n, to, stride);
}

const char *wmi_element_text(wmi_element type, bool swap, const unsigned char *from, char *buf,
                             size_t size)
{
    uint64_t u;
    double x = 0;

    if (types[type].width == 8) {
        memcpy(&u, from, sizeof u);
        u = swap ? __builtin_bswap64(u) : u;
        if (type == WMI_ELEMENT_F64)
            snprintf(buf, size, "%.17g", of_f64(u));
        else if (type == WMI_ELEMENT_I64)
            snprintf(buf, size, "%" PRId64, (int64_t)u);
        else
            snprintf(buf, size, "%" PRIu64, u);
    } else if (type == WMI_ELEMENT_BOOL) {
        snprintf(buf, size, "%d", (int)*from);
    } else {
        decode(type, swap, from, 1, &x, 1);
        snprintf(buf, size, "%.9g", x);
    }
    return buf;
}
