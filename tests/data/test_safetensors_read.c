/* test_safetensors_read.c - tensors as tables. Malformed files are under bad/safetensors. */
#include "asserts.h"

#include "read_help.h"

/* A file of this header, filled up with spaces to pad bytes, and data. */
static const char *make(const char *name, const char *header, size_t pad, const void *data,
                        size_t n)
{
    unsigned char file[2048] = {0};
    const size_t text = strlen(header), length = text + pad;
    wm_error err;

    assert_true(length + n + 8 <= sizeof file);
    file[0] = (unsigned char)length;
    file[1] = (unsigned char)(length >> 8);
    memset(file + 8, ' ', length);
    for (size_t i = 0; i < text; i++)
        file[8 + i] = (unsigned char)header[i];
    memcpy(file + 8 + length, data, n);
    assert_ok(wmi_file_write(scratch(name), file, 8 + length + n, &err), err);
    return scratch(name);
}

static void every_type(void **state)
{
    static const struct {
        const char *type;
        unsigned char bytes[16];
        int n;
        double expected[2];
    } cases[] = {
        {"F64", {0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0}, 16, {1.5, -2}},
        {"F32", {0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0}, 8, {1.5, -2}},
        {"F16", {0, 0x3e, 0, 0xc0}, 4, {1.5, -2}},
        {"BF16", {0xc0, 0x3f, 0, 0xc0}, 4, {1.5, -2}},
        {"I8", {0xff, 0x7f}, 2, {-1, 127}},
        {"U8", {0xff, 0x7f}, 2, {255, 127}},
        {"I16", {0xfe, 0xff, 1, 2}, 4, {-2, 513}},
        {"U16", {0xfe, 0xff, 1, 2}, 4, {65534, 513}},
        {"I32", {0xfd, 0xff, 0xff, 0xff, 0, 0, 0, 1}, 8, {-3, 0x1p24}},
        {"U32", {0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0}, 8, {4294967295.0, 1}},
        {"I64", {0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 1}, 16, {-4, 256}},
        {"U64", {0, 0, 0, 0, 0, 0, 0, 0x80, 1}, 16, {0x1p63, 1}},
        {"BOOL", {1, 0}, 2, {1, 0}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t pad = 0; pad < 4; pad++) { /* data on odd addresses too */
            char header[200];

            snprintf(header, sizeof header,
                     "{\"x\":{\"dtype\":\"%s\",\"shape\":[2,1],\"data_offsets\":[0,%d]}}",
                     cases[i].type, cases[i].n);
            expect_rows(make("x.safetensors", header, pad, cases[i].bytes, (size_t)cases[i].n), 2,
                        1, cases[i].expected);
        }
}

static void a_tensor_is_found_by_name(void **state)
{
    const float x[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const double first[6] = {1, 2, 3, 4, 5, 6}, second[4] = {7, 8, 9, 10};
    const char *path =
        make("two.safetensors",
             "{\"__metadata__\":{\"a\":\"b\"},"
             "\"b\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[24,40]},"
             "\"a:1\":{\"dtype\":\"F32\",\"shape\":[2,1,3],\"data_offsets\":[0,24]}}",
             0, x, sizeof x);

    (void)state;
    expect_refused(path, NULL, NULL, WM_EINVAL,
                   "has 2 tensors: say which, as in FILE:NAME; a:1, b");
    expect_rows(scratch("two.safetensors:b"), 4, 1, second);
    expect_rows(scratch("two.safetensors:a:1"), 2, 3, first);
    expect_refused(scratch("two.safetensors:c"), NULL, NULL, WM_EINVAL, "has no tensor 'c'");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(every_type), TEST(a_tensor_is_found_by_name)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
