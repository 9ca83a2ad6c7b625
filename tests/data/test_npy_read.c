/* test_npy_read.c - npy files by hand, and by NumPy where it is installed. Malformed ones are under
 * bad/npy. */
#include "asserts.h"

#include "base/alloc.h"
#include "read_help.h"

static const double six[6] = {1, 2, 3, 4, 5, 6};

static void headers_of_all_versions(void **state)
{
    static const char *const dicts[] = {
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }",
        "{\"shape\":(3,2),\"descr\":\"<f8\",\"fortran_order\":False}",
        "  { 'fortran_order' : False , 'shape' : ( 3L , 2L , ) , 'descr' : '=f8' }     \n\n  ",
    };

    (void)state;
    for (int version = 1; version <= 3; version++)
        for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++)
            expect_rows(make_npy("a.npy", version, dicts[i], six, sizeof six), 3, 2, six);
}

static void orders_and_ranks(void **state)
{
    const double turned[6] = {1, 3, 5, 2, 4, 6}; /* (3, 2) in Fortran order */

    (void)state;
    expect_rows(make_npy("f.npy", 1, "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2), }",
                         turned, sizeof turned),
                3, 2, six);
    expect_rows(make_npy("v.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }",
                         six, sizeof six),
                6, 1, six);
    expect_rows(make_npy("i.npy", 1,
                         "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 1, 3), }", six,
                         sizeof six),
                1, 6, six);
}

static void types_and_byte_orders(void **state)
{
    static const struct {
        const char *descr;
        unsigned char bytes[16];
        size_t n;
        double expected[2];
    } cases[] = {
        {"<f8", {0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0}, 16, {1.5, -2}},
        {">f8", {0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0}, 16, {1.5, -2}},
        {"<f4", {0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0}, 8, {1.5, -2}},
        {">f4", {0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0}, 8, {1.5, -2}},
        {"<f2", {0, 0x3e, 0, 0xc0}, 4, {1.5, -2}},
        {"|i1", {0xff, 0x7f}, 2, {-1, 127}},
        {"<i2", {0xfe, 0xff, 1, 2}, 4, {-2, 513}},
        {">i2", {0xff, 0xfe, 2, 1}, 4, {-2, 513}},
        {"<i4", {0xfd, 0xff, 0xff, 0xff, 0, 0, 0, 1}, 8, {-3, 0x1p24}},
        {">i8",
         {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfc, 0, 0, 0, 0, 0, 0, 1, 0},
         16,
         {-4, 256}},
        {"|u1", {0xff, 0x7f}, 2, {255, 127}},
        {"u1", {0xff, 0x7f}, 2, {255, 127}},
        {"<u2", {0xfe, 0xff, 1, 2}, 4, {65534, 513}},
        {">u4", {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1}, 8, {4294967295.0, 1}},
        {"<u8", {0, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 0, 0, 0, 0, 0, 0}, 16, {0x1p63, 1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char dict[100];

        snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }",
                 cases[i].descr);
        expect_rows(make_npy("t.npy", 1, dict, cases[i].bytes, cases[i].n), 2, 1,
                    cases[i].expected);
    }
}

static void every_truncation_is_refused(void **state)
{
    const char *path = make_npy("t.npy", 1,
                                "{'descr': '<f8', 'fortran_order': True, 'shape': "
                                "(3, 2), }",
                                six, sizeof six);
    const int64_t live = wmi_alloc_live();
    wm_schema *s;
    wm_error err;
    wm_data *d;
    char *all;
    size_t n;

    (void)state;
    assert_ok(wmi_file_read(&all, &n, path, 4096, &err), err);
    for (size_t k = 0; k < n; k++) {
        wm_status st;

        assert_ok(wmi_file_write(scratch("cut.npy"), all, k, &err), err);
        assert_ok(wm_schema_new(&s, &err), err);
        st = wm_data_read(&d, scratch("cut.npy"), s, NULL, &err);
        if (st != WM_EFORMAT)
            fail_msg("cut to %zu bytes: status %d", k, (int)st);
        wm_schema_free(s);
    }
    wmi_free(all);
    assert_int_equal(wmi_alloc_live(), live);
}

static void what_numpy_writes_is_read(void **state)
{
    static const char *const pythons[] = {"python3", "/usr/bin/python3"};
    /* Every type, both byte orders, both orders of axes; value (i, j, k) is 6 i + 3 j + k. */
    static const char program[] =
        "import numpy as n, sys\n"
        "x = n.arange(24).reshape(4, 2, 3)\n"
        "for t in 'f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8'.split():\n"
        "  for e in '<>':\n"
        "    for o in 'CF':\n"
        "      n.save(sys.argv[1] + f'/{\"le\" if e == \"<\" else \"be\"}{t}{o}.npy',\n"
        "             n.asarray(x.astype(e + t), order=o))\n"
        "n.savez(sys.argv[1] + '/stored.npz', x=x)\n"
        "n.savez_compressed(sys.argv[1] + '/packed.npz', n.asarray(x / 1.0, order='F'))\n";
    static const char *const types[] = {"f2", "f4", "f8", "i1", "i2", "i4",
                                        "i8", "u1", "u2", "u4", "u8"};
    char command[4096], name[64];
    double x[24];
    int k = 0;
    wm_error err;

    (void)state;
    assert_ok(wmi_file_write(scratch("make.py"), program, sizeof program - 1, &err), err);
    for (; k < 2; k++) {
        snprintf(command, sizeof command, "%s %s %s 2>/dev/null", pythons[k], scratch("make.py"),
                 scratch_folder);
        if (system(command) == 0) /* NOLINT: a command of our own */
            break;
    }
    if (k == 2)
        skip();
    for (int i = 0; i < 24; i++)
        x[i] = i;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int v = 0; v < 4; v++) {
            snprintf(name, sizeof name, "%s%s%c.npy", v & 1 ? "be" : "le", types[i],
                     v & 2 ? 'F' : 'C');
            expect_rows(scratch(name), 4, 6, x);
        }
    expect_rows(scratch("stored.npz"), 4, 6, x);
    expect_rows(scratch("packed.npz"), 4, 6, x);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(headers_of_all_versions),   TEST(orders_and_ranks),
        TEST(types_and_byte_orders),     TEST(every_truncation_is_refused),
        TEST(what_numpy_writes_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
