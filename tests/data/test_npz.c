/* test_npz.c - arrays in zip files, made by Python's zipfile the way NumPy does it: each member is
 * written with ZIP64 sizes. Malformed ones are under bad/npz. */
#include "asserts.h"

#include "base/alloc.h"
#include "read_help.h"

/* a: (3, 2) of 1 to 6; f: the same in Fortran order; z: (20000, 5) of int32, deflated well. */
static const char program[] =
    "import struct, sys, zipfile\n"
    "def npy(descr, shape, data, order=False):\n"
    "  h = f\"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\\n\".encode()\n"
    "  return b'\\x93NUMPY\\1\\0' + struct.pack('<H', len(h)) + h + data\n"
    "a = npy('<f8', '(3, 2)', struct.pack('<6d', 1, 2, 3, 4, 5, 6))\n"
    "f = npy('<f8', '(3, 2)', struct.pack('<6d', 1, 3, 5, 2, 4, 6), True)\n"
    "z = npy('<i4', '(20000, 5)', struct.pack('<100000i', *range(100000)))\n"
    "def save(name, method, **arrays):\n"
    "  with zipfile.ZipFile(sys.argv[1] + '/' + name, 'w', method) as out:\n"
    "    for k, v in arrays.items():\n"
    "      with out.open(k + '.npy', 'w', force_zip64=True) as m: m.write(v)\n"
    "save('one.npz', zipfile.ZIP_STORED, a=a)\n"
    "save('fortran.npz', zipfile.ZIP_DEFLATED, arr_0=f)\n"
    "save('all.npz', zipfile.ZIP_DEFLATED, a=a, f=f, z=z)\n"
    "with zipfile.ZipFile(sys.argv[1] + '/mixed.npz', 'w') as out:\n"
    "  out.writestr('README.txt', 'notes')\n"
    "  out.writestr('deep/in/x.npy', a)\n";

static int make_archives(void **state)
{
    char command[2048];
    wm_error err;

    if (scratch_make(state))
        return -1;
    assert_ok(wmi_file_write(scratch("make.py"), program, sizeof program - 1, &err), err);
    snprintf(command, sizeof command, "python3 '%s' '%s'", scratch("make.py"), scratch_folder);
    return system(command); /* NOLINT: a command of our own */
}

static void arrays_are_found_by_name(void **state)
{
    const double six[6] = {1, 2, 3, 4, 5, 6};
    wm_read_opts opts;
    wm_data *d;

    (void)state;
    expect_rows(scratch("one.npz"), 3, 2, six);
    expect_rows(scratch("one.npz:a"), 3, 2, six);
    expect_rows(scratch("fortran.npz"), 3, 2, six);
    expect_rows(scratch("all.npz:a"), 3, 2, six);
    expect_rows(scratch("all.npz:f.npy"), 3, 2, six);
    expect_rows(scratch("mixed.npz"), 3, 2, six);
    expect_rows(scratch("mixed.npz:deep/in/x"), 3, 2, six);
    wm_read_opts_init(&opts);
    opts.array = "f";
    d = read_table(scratch("all.npz"), NULL, &opts);
    assert_int_equal(wm_data_count(d), 3);
    wm_data_free(d);
    expect_refused(scratch("all.npz:z"), NULL, &opts, WM_EINVAL,
                   "all.npz:z: array 'f' is asked for too");
    opts.array = "g";
    expect_refused(scratch("all.npz"), NULL, &opts, WM_EINVAL, "has no array 'g'; it has a, f, z");
    expect_refused(scratch("all.npz"), NULL, NULL, WM_EINVAL, "has 3 arrays: say which");
}

static void a_member_is_streamed(void **state)
{
    double rows[7 * 5];
    int64_t n = 0, got = 1;
    wm_reader *r;
    wm_error err;

    (void)state;
    assert_ok(wm_reader_open(&r, scratch("all.npz:z"), NULL, NULL, &err), err);
    assert_int_equal(wm_reader_dim(r), 5);
    assert_int_equal(wm_reader_count(r), 20000);
    while (got) {
        int64_t first;

        assert_ok(wm_reader_next(r, 7, rows, &got, &first, &err), err);
        assert_int_equal(first, n);
        for (int64_t i = 0; i < got * 5; i++)
            assert_true(rows[i] == (double)(n * 5 + i));
        n += got;
    }
    assert_int_equal(n, 20000);
    wm_reader_close(r);
}

static void want_of_memory_leaves_nothing_behind(void **state)
{
    int failed = 0;
    wm_status st = WM_ENOMEM;

    (void)state;
    for (int64_t k = 1; st; k++) {
        const int64_t live = wmi_alloc_live();
        const char *path = scratch("fortran.npz");
        wm_data *d = NULL;
        wm_schema *s;
        wm_error err;

        assert_ok(wm_schema_new(&s, &err), err);
        wmi_alloc_fail_at(k);
        st = wm_data_read(&d, path, s, NULL, &err);
        wmi_alloc_fail_at(0);
        assert_true(st == WM_OK || st == WM_ENOMEM);
        failed += st == WM_ENOMEM;
        wm_data_free(d);
        wm_schema_free(s);
        assert_int_equal(wmi_alloc_live(), live);
    }
    assert_true(failed > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_found_by_name),
        cmocka_unit_test(a_member_is_streamed),
        cmocka_unit_test(want_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, make_archives, scratch_remove);
}
