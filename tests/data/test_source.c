/* test_source.c - the format is found by content, the array by name; what cannot be read is told.
 * Files of other tools are under bad/foreign. */
#include "asserts.h"

#include "base/alloc.h"
#include "data/formats/source.h"
#include "read_help.h"

static const char dict[] = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }";
static const double two[2] = {1.5, 2};

static void the_name_does_not_matter(void **state)
{
    wm_error err;

    (void)state;
    expect_rows(make_npy("x.csv", 1, dict, two, sizeof two), 1, 2, two);
    expect_rows(make_npy("x.npz", 1, dict, two, sizeof two), 1, 2, two);
    expect_rows(make_npy("x", 1, dict, two, sizeof two), 1, 2, two);
    expect_rows(make_npy("x.y:z", 1, dict, two, sizeof two), 1, 2, two); /* a colon of its own */
    assert_ok(wmi_file_write(scratch("x.dat"), "1.5 2\n", 6, &err), err);
    expect_rows(scratch("x.dat"), 1, 2, two);
    /* But a damaged array file is not bad CSV. */
    assert_ok(wmi_file_write(scratch("y.npy"), "1.5 2\n", 6, &err), err);
    expect_refused(scratch("y.npy"), NULL, NULL, WM_EFORMAT, "y.npy: does not begin as an npy");
    /* Words that begin other formats can begin a table. */
    assert_ok(wmi_file_write(scratch("z.csv"), "PAR1,PAR2\n1.5,2\n", 16, &err), err);
    expect_rows(scratch("z.csv"), 1, 2, two);
}

static void a_named_format_is_the_only_one(void **state)
{
    wm_read_opts opts;

    (void)state;
    wm_read_opts_init(&opts);
    make_npy("x.npy", 1, dict, two, sizeof two);
    opts.format = "npy";
    wm_data_free(read_table(scratch("x.npy"), NULL, &opts));
    opts.format = "idx";
    expect_refused(scratch("x.npy"), NULL, &opts, WM_EFORMAT, "does not begin as an IDX");
    opts.format = "npz";
    expect_refused(scratch("x.npy"), NULL, &opts, WM_EFORMAT, "not a zip file");
    opts.format = "safetensors";
    expect_refused(scratch("x.npy"), NULL, &opts, WM_EFORMAT, "not a safetensors file");
    opts.format = "xlsx";
    expect_refused(scratch("x.npy"), NULL, &opts, WM_EINVAL, "no format is called 'xlsx'");
    opts.format = "np";
    expect_refused(scratch("x.npy"), NULL, &opts, WM_EINVAL, "no format is called 'np'");
}

static void options_that_make_no_sense(void **state)
{
    wm_read_opts opts;

    (void)state;
    make_npy("x.npy", 1, dict, two, sizeof two);
    wm_read_opts_init(&opts);
    opts.struct_size--;
    expect_refused(scratch("x.npy"), NULL, &opts, WM_EINVAL, "not made by wm_read_opts_init()");
    wm_read_opts_init(&opts);
    opts.header = 2;
    expect_refused(scratch("x.npy"), NULL, &opts, WM_EINVAL, "header is 2");
    wm_read_opts_init(&opts);
    opts.missing = (wm_missing)7;
    expect_refused(scratch("x.npy"), NULL, &opts, WM_EINVAL, "missing is 7");
    wm_read_opts_init(&opts);
    opts.array = "a";
    expect_refused(scratch("x.npy"), NULL, &opts, WM_EINVAL,
                   "x.npy: npy files have no named arrays, so no 'a'");
}

static void files_that_are_not_there(void **state)
{
    (void)state;
    expect_refused("", NULL, NULL, WM_EINVAL, "the name of a file is empty");
    expect_refused(scratch("no.npy"), NULL, NULL, WM_EIO, "no.npy: cannot read: No such file");
    expect_refused(scratch("no.npz:a"), NULL, NULL, WM_EIO, "no.npz:a: cannot read: No such file");
    expect_refused(":a", NULL, NULL, WM_EIO, ":a: cannot read");
    expect_refused(scratch_folder, NULL, NULL, WM_EIO, "Is a directory");
}

static void want_of_memory_leaves_nothing_behind(void **state)
{
    const char *path = make_npy("x.npy", 1, dict, two, sizeof two);
    wm_status st = WM_ENOMEM;
    wm_read_opts opts;
    int failed = 0;

    (void)state;
    wm_read_opts_init(&opts);
    for (int64_t k = 1; st; k++) {
        const int64_t live = wmi_alloc_live();
        wmi_stream s;
        wm_error err;

        wmi_alloc_fail_at(k);
        st = wmi_stream_open(&s, path, NULL, NULL, &opts, false, &err);
        wmi_alloc_fail_at(0);
        assert_true(st == WM_OK || st == WM_ENOMEM);
        failed += st == WM_ENOMEM;
        wmi_stream_close(&s);
        wmi_stream_close(&s);
        assert_int_equal(wmi_alloc_live(), live);
    }
    assert_true(failed >= 5);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_name_does_not_matter),
        TEST(a_named_format_is_the_only_one),
        TEST(options_that_make_no_sense),
        TEST(files_that_are_not_there),
        TEST(want_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
