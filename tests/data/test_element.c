/* test_element.c - every type of element in both byte orders, and the ends of what a double holds.
 */
#include "asserts.h"

#include <string.h>

#include "data/formats/element.h"

/* The bytes of a value of width w in the other order. */
static void turn(unsigned char *to, const void *from, size_t w)
{
    for (size_t i = 0; i < w; i++)
        to[i] = ((const unsigned char *)from)[w - 1 - i];
}

/* Three values of a type, at an odd address, decoded with strides one and two and both orders. */
static void check_type(wmi_element type, const void *bytes, const double *expected)
{
    const size_t w = (size_t)wmi_element_width(type);
    unsigned char odd[32], turned[32];
    double out[6];

    memcpy(odd + 1, bytes, 3 * w);
    for (size_t i = 0; i < 3; i++)
        turn(turned + 1 + i * w, odd + 1 + i * w, w);
    for (int swap = 0; swap < 2; swap++)
        for (int64_t stride = 1; stride <= 2; stride++) {
            for (int i = 0; i < 6; i++)
                out[i] = -77;
            assert_int_equal(
                wmi_elements_decode(type, swap, swap ? turned + 1 : odd + 1, 3, out, stride), 3);
            for (int64_t i = 0; i < 3; i++)
                if (out[i * stride] != expected[i])
                    fail_msg("%s: %.17g, expected %.17g", wmi_element_name(type), out[i * stride],
                             expected[i]);
            assert_true(stride == 1 || out[1] == -77);
        }
}

static void every_type_in_both_orders(void **state)
{
    (void)state;
    check_type(WMI_ELEMENT_F64, (double[]){0.1, -1e300, 0x1p-1074},
               (double[]){0.1, -1e300, 0x1p-1074});
    check_type(WMI_ELEMENT_F32, (float[]){0.5F, -3e38F, 0x1p-149F},
               (double[]){0.5, (double)-3e38F, 0x1p-149});
    check_type(WMI_ELEMENT_I8, (int8_t[]){-128, 127, -1}, (double[]){-128, 127, -1});
    check_type(WMI_ELEMENT_U8, (uint8_t[]){128, 255, 0}, (double[]){128, 255, 0});
    check_type(WMI_ELEMENT_I16, (int16_t[]){-32768, 32767, 258}, (double[]){-32768, 32767, 258});
    check_type(WMI_ELEMENT_U16, (uint16_t[]){65535, 1, 258}, (double[]){65535, 1, 258});
    check_type(WMI_ELEMENT_I32, (int32_t[]){INT32_MIN, INT32_MAX, 5},
               (double[]){-0x1p31, 0x1p31 - 1, 5});
    check_type(WMI_ELEMENT_U32, (uint32_t[]){UINT32_MAX, 1, 2}, (double[]){0x1p32 - 1, 1, 2});
    check_type(WMI_ELEMENT_I64, (int64_t[]){INT64_MIN, INT64_C(1) << 53, -3},
               (double[]){-0x1p63, 0x1p53, -3});
    check_type(WMI_ELEMENT_U64, (uint64_t[]){UINT64_C(1) << 63, 7, 0}, (double[]){0x1p63, 7, 0});
    check_type(WMI_ELEMENT_BOOL, (uint8_t[]){1, 0, 1}, (double[]){1, 0, 1});
    /* One; the largest; the smallest below normal. */
    check_type(WMI_ELEMENT_F16, (uint16_t[]){0x3c00, 0x7bff, 0x8001},
               (double[]){1, 65504, -0x1p-24});
    check_type(WMI_ELEMENT_F16, (uint16_t[]){0xc100, 0x0400, 0x03ff},
               (double[]){-2.5, 0x1p-14, 1023 * 0x1p-24});
    check_type(WMI_ELEMENT_F16, (uint16_t[]){0x7c00, 0xfc00, 0x8000},
               (double[]){INFINITY, -INFINITY, 0});
    check_type(WMI_ELEMENT_BF16, (uint16_t[]){0x3f80, 0xc049, 0x7f80},
               (double[]){1, -3.140625, INFINITY});
}

static void not_a_number_stays_one(void **state)
{
    double out[1];

    (void)state;
    wmi_elements_decode(WMI_ELEMENT_F16, false, (const unsigned char *)(uint16_t[]){0x7e00}, 1, out,
                        1);
    assert_true(isnan(out[0]));
    wmi_elements_decode(WMI_ELEMENT_BF16, false, (const unsigned char *)(uint16_t[]){0x7fc0}, 1,
                        out, 1);
    assert_true(isnan(out[0]));
}

/* The first value that a double cannot hold is pointed at and told as it stands. */
static void check_inexact(wmi_element type, const void *bytes, int64_t n, int64_t at,
                          const char *text)
{
    unsigned char turned[64];
    double out[8];
    char buf[40];
    const size_t w = (size_t)wmi_element_width(type);

    assert_int_equal(wmi_elements_decode(type, false, bytes, n, out, 1), at);
    assert_string_equal(wmi_element_text(type, false, (const unsigned char *)bytes + w * (size_t)at,
                                         buf, sizeof buf),
                        text);
    turn(turned, (const unsigned char *)bytes + w * (size_t)at, w);
    assert_string_equal(wmi_element_text(type, true, turned, buf, sizeof buf), text);
    assert_int_equal(wmi_elements_decode(type, true, turned, 1, out, 1), 0);
}

static void what_a_double_cannot_hold_is_refused(void **state)
{
    const int64_t edge = INT64_C(1) << 53;
    double out[4];

    (void)state;
    check_inexact(WMI_ELEMENT_I64, (int64_t[]){edge, edge + 1}, 2, 1, "9007199254740993");
    check_inexact(WMI_ELEMENT_I64, (int64_t[]){edge + 2, -edge, -edge - 1}, 3, 2,
                  "-9007199254740993");
    check_inexact(WMI_ELEMENT_I64, (int64_t[]){INT64_MAX}, 1, 0, "9223372036854775807");
    check_inexact(WMI_ELEMENT_U64, (uint64_t[]){1, UINT64_MAX}, 2, 1, "18446744073709551615");
    check_inexact(WMI_ELEMENT_U64, (uint64_t[]){UINT64_MAX - 1023}, 1, 0, "18446744073709550592");
    check_inexact(WMI_ELEMENT_BOOL, (uint8_t[]){1, 0, 2}, 3, 2, "2");
    /* Multiples of a power of two beyond 2^53 are exact. */
    assert_int_equal(wmi_elements_decode(WMI_ELEMENT_U64, false,
                                         (const unsigned char *)(uint64_t[]){UINT64_MAX - 2047}, 1,
                                         out, 1),
                     1);
    assert_true(out[0] == 0x1p64 - 2048);
}

static void types_know_themselves(void **state)
{
    (void)state;
    assert_string_equal(wmi_element_name(WMI_ELEMENT_BF16), "bfloat16");
    assert_true(wmi_element_integer(WMI_ELEMENT_BOOL) && wmi_element_integer(WMI_ELEMENT_U64));
    assert_false(wmi_element_integer(WMI_ELEMENT_F16));
    for (int t = WMI_ELEMENT_F16; t <= WMI_ELEMENT_BOOL; t++)
        assert_non_null(wmi_element_name((wmi_element)t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_in_both_orders),
        cmocka_unit_test(not_a_number_stays_one),
        cmocka_unit_test(what_a_double_cannot_hold_is_refused),
        cmocka_unit_test(types_know_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
