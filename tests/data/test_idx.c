/* test_idx.c - IDX files of every type and rank, plain and gzipped. Malformed ones are under
 * bad/idx. */
#include "asserts.h"

#include <zlib.h>

#include "read_help.h"

static void write_gz(const char *path, const void *bytes, unsigned n)
{
    gzFile f = gzopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(gzwrite(f, bytes, n), n);
    assert_int_equal(gzclose(f), Z_OK);
}

static void every_type_and_rank(void **state)
{
    static const struct {
        unsigned char bytes[40];
        unsigned n;
        int64_t rows, dim;
        double expected[4];
    } cases[] = {
        {{0, 0, 8, 1, 0, 0, 0, 2, 7, 255}, 10, 2, 1, {7, 255}},
        {{0, 0, 9, 2, 0, 0, 0, 1, 0, 0, 0, 2, 127, 128}, 14, 1, 2, {127, -128}},
        {{0, 0, 0xb, 1, 0, 0, 0, 2, 1, 2, 0xff, 0xfe}, 12, 2, 1, {258, -2}},
        {{0, 0, 0xc, 1, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfd}, 12, 1, 1, {-3}},
        {{0, 0, 0xd, 1, 0, 0, 0, 1, 0x3f, 0xc0, 0, 0}, 12, 1, 1, {1.5}},
        {{0, 0, 0xe, 1, 0, 0, 0, 1, 0xc0, 4, 0, 0, 0, 0, 0, 0}, 16, 1, 1, {-2.5}},
        {{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4}, 20, 2, 2, {1, 2, 3, 4}},
        {{0, 0, 8, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4},
         24,
         1,
         4,
         {1, 2, 3, 4}},
    };
    wm_error err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        /* Found by what they hold: MNIST's files have no ending. */
        assert_ok(wmi_file_write(scratch("x-idx-ubyte"), cases[i].bytes, cases[i].n, &err), err);
        expect_rows(scratch("x-idx-ubyte"), cases[i].rows, cases[i].dim, cases[i].expected);
        write_gz(scratch("x-idx-ubyte.gz"), cases[i].bytes, cases[i].n);
        expect_rows(scratch("x-idx-ubyte.gz"), cases[i].rows, cases[i].dim, cases[i].expected);
    }
}

static void pixels_are_integers(void **state)
{
    const unsigned char two[12] = {0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 0};
    unsigned char file[14];
    wm_schema *s;
    wm_error err;

    (void)state;
    memcpy(file, two, 12);
    file[11] = 2;
    file[12] = 9;
    file[13] = 200;
    assert_ok(wmi_file_write(scratch("i"), file, 14, &err), err);
    wm_data_free(read_table(scratch("i"), &s, NULL));
    assert_int_equal(wm_schema_kind(s, 0), WM_KIND_INTEGER);
    assert_int_equal(wm_schema_kind(s, 1), WM_KIND_INTEGER);
    assert_null(wm_schema_name(s, 0));
    wm_schema_free(s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(every_type_and_rank), TEST(pixels_are_integers)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
