/* test_file.c - whole or nothing: after any failure the old file is there, and no temporary. */
#include "asserts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "scratch.h"

static void a_file_is_written_and_replaced(void **state)
{
    wm_error err;
    char *text;
    size_t n;

    (void)state;
    assert_ok(wmi_file_write(scratch("a"), "one", 3, &err), err);
    assert_string_equal(scratch_read(scratch("a")), "one");
    assert_ok(wmi_file_write(scratch("a"), "second", 6, &err), err);
    assert_ok(wmi_file_read(&text, &n, scratch("a"), 100, &err), err);
    assert_int_equal(n, 6);
    assert_string_equal(text, "second");
    wmi_free(text);
    assert_ok(wmi_file_write(scratch("a"), NULL, 0, &err), err);
    assert_string_equal(scratch_read(scratch("a")), "");
    assert_int_equal(scratch_count(scratch_folder), 1);
}

static void rights_are_those_of_the_umask(void **state)
{
    const mode_t old = umask(027);
    struct stat info;
    wm_error err;

    (void)state;
    assert_ok(wmi_file_write(scratch("rights"), "x", 1, &err), err);
    umask(old);
    assert_int_equal(stat(scratch("rights"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
}

static void nothing_is_seen_before_commit(void **state)
{
    wm_error err;
    wmi_file *f;

    (void)state;
    assert_ok(wmi_file_write(scratch("a"), "old", 3, &err), err);
    assert_ok(wmi_file_open(&f, scratch("a"), &err), err);
    fprintf(wmi_file_stream(f), "new %d", 42);
    fflush(wmi_file_stream(f));
    assert_string_equal(scratch_read(scratch("a")), "old");
    assert_ok(wmi_file_commit(f, &err), err);
    assert_string_equal(scratch_read(scratch("a")), "new 42");
    assert_int_equal(scratch_count(scratch_folder), 1);
}

static void an_abandoned_write_leaves_no_trace(void **state)
{
    const int64_t live = wmi_alloc_live();
    wm_error err;
    wmi_file *f;

    (void)state;
    assert_ok(wmi_file_write(scratch("a"), "old", 3, &err), err);
    assert_ok(wmi_file_open(&f, scratch("a"), &err), err);
    fputs("half of", wmi_file_stream(f));
    wmi_file_abandon(f);
    wmi_file_abandon(NULL);
    assert_string_equal(scratch_read(scratch("a")), "old");
    assert_int_equal(scratch_count(scratch_folder), 1);
    assert_int_equal(wmi_alloc_live(), live);
}

/* A limit on the size of files refuses the write as a full disk does, at the same places. */
static void write_beyond_the_limit(size_t bytes, bool streamed)
{
    struct rlimit old, small;
    wm_error err = {0};
    wm_status st;
    wmi_file *f;
    char *many = calloc(bytes, 1);

    assert_non_null(many);
    assert_ok(wmi_file_write(scratch("a"), "old", 3, &err), err);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 1000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    if (streamed) {
        st = wmi_file_open(&f, scratch("a"), &err);
        if (!st) {
            fwrite(many, 1, bytes, wmi_file_stream(f));
            st = wmi_file_commit(f, &err);
        }
    } else {
        st = wmi_file_write(scratch("a"), many, bytes, &err);
    }
    setrlimit(RLIMIT_FSIZE, &old);
    free(many);
    assert_int_equal(st, WM_EIO);
    assert_non_null(strstr(err.text, "/a: cannot write: "));
    assert_non_null(strstr(err.text, strerror(EFBIG)));
    assert_string_equal(scratch_read(scratch("a")), "old");
    assert_int_equal(scratch_count(scratch_folder), 1);
}

static void a_disk_that_fills_up_keeps_the_old_file(void **state)
{
    (void)state;
    write_beyond_the_limit(2000, true);    /* found by the flush at commit */
    write_beyond_the_limit(5000000, true); /* found by fwrite, whose errno is lost */
    write_beyond_the_limit(2000, false);
    write_beyond_the_limit(5000000, false);
}

static void a_full_device_is_named(void **state)
{
    wm_error err = {0};

    (void)state;
    if (access("/dev/full", W_OK))
        skip();
    assert_int_equal(wmi_file_write("/dev/full", "x", 1, &err), WM_EIO);
    assert_non_null(strstr(err.text, "/dev/full: cannot write: "));
    assert_non_null(strstr(err.text, strerror(ENOSPC)));
}

static void a_device_is_written_through(void **state)
{
    wm_error err;
    struct stat info;

    (void)state;
    assert_ok(wmi_file_write("/dev/null", "x", 1, &err), err);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode)); /* not renamed over */
}

static void targets_that_cannot_be(void **state)
{
    wm_error err = {0};

    (void)state;
    assert_int_equal(wmi_file_write(scratch("no/such"), "x", 1, &err), WM_EIO);
    assert_non_null(strstr(err.text, "no/such: cannot write: "));
    assert_non_null(strstr(err.text, strerror(ENOENT)));
    assert_int_equal(mkdir(scratch("dir"), 0777), 0);
    assert_int_equal(wmi_file_write(scratch("dir"), "x", 1, &err), WM_EIO);
    assert_non_null(strstr(err.text, strerror(EISDIR)));
    assert_int_equal(scratch_count(scratch_folder), 1);
}

static void a_link_is_followed(void **state)
{
    struct stat info;
    wm_error err;

    (void)state;
    assert_ok(wmi_file_write(scratch("real"), "old", 3, &err), err);
    assert_int_equal(symlink("real", scratch("link")), 0);
    assert_ok(wmi_file_write(scratch("link"), "new", 3, &err), err);
    assert_int_equal(lstat(scratch("link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_string_equal(scratch_read(scratch("real")), "new");
}

static void reading_is_bounded(void **state)
{
    wm_error err = {0};
    char *text;
    size_t n;

    (void)state;
    assert_ok(wmi_file_write(scratch("a"), "0123456789", 10, &err), err);
    assert_int_equal(wmi_file_read(&text, &n, scratch("a"), 9, &err), WM_EFORMAT);
    assert_null(text);
    assert_non_null(strstr(err.text, "10 bytes, at most 9"));
    assert_int_equal(wmi_file_read(&text, &n, scratch_folder, 9, &err), WM_EIO);
    assert_int_equal(wmi_file_read(&text, &n, scratch("none"), 9, &err), WM_EIO);
    assert_non_null(strstr(err.text, strerror(ENOENT)));
    assert_int_equal(mkfifo(scratch("fifo"), 0600), 0);
    assert_int_equal(wmi_file_read(&text, &n, scratch("fifo"), 9, &err), WM_EIO); /* at once */
    assert_non_null(strstr(err.text, "fifo: is not a regular file"));
}

static void folders_are_made_with_their_parents(void **state)
{
    wm_error err = {0};

    (void)state;
    assert_ok(wmi_folder_make(scratch("x/y//z/"), &err), err);
    assert_true(wmi_file_exists(scratch("x/y/z")));
    assert_ok(wmi_folder_make(scratch("x/y/z"), &err), err);
    assert_ok(wmi_folder_make("/", &err), err);
    assert_ok(wmi_file_write(scratch("x/file"), "", 0, &err), err);
    assert_int_equal(wmi_folder_make(scratch("x/file/deeper"), &err), WM_EIO);
    assert_non_null(strstr(err.text, "x/file: cannot make the folder: "));
    assert_int_equal(wmi_folder_make("", &err), WM_EINVAL);
    assert_false(wmi_file_exists(scratch("x/y/none")));
}

static void the_sweep_takes_only_temporaries(void **state)
{
    wm_error err;
    wmi_file *f;

    (void)state;
    assert_ok(wmi_file_write(scratch("kept"), "x", 1, &err), err);
    assert_ok(wmi_file_open(&f, scratch("killed"), &err), err); /* as kill -9 would leave it */
    assert_int_equal(scratch_count(scratch_folder), 2);
    wmi_folder_sweep(scratch_folder);
    assert_int_equal(scratch_count(scratch_folder), 1);
    assert_true(wmi_file_exists(scratch("kept")));
    wmi_folder_sweep(scratch("no folder"));
    wmi_file_abandon(f);
}

static void paths_join_and_shorten(void **state)
{
    wm_error err;
    char *path, many[400];

    (void)state;
    assert_ok(wmi_path_join(&path, "a/b", "c", &err), err);
    assert_string_equal(path, "a/b/c");
    wmi_free(path);
    assert_ok(wmi_path_join(&path, "/", "c", &err), err);
    assert_string_equal(path, "/c");
    wmi_free(path);
    assert_string_equal(wmi_path_tail("short"), "short");
    for (size_t i = 0; i + 1 < sizeof many; i += 2)
        memcpy(many + i, "\xc3\xa9", 2); /* e acute: an odd cut would halve one */
    many[398] = 'x';
    many[399] = '\0';
    assert_true(strlen(wmi_path_tail(many)) <= 150);
    assert_int_equal((unsigned char)wmi_path_tail(many)[0], 0xc3);
}

static void every_failed_allocation_is_reported(void **state)
{
    const int64_t live = wmi_alloc_live();
    wm_error err;
    int failures = 0;

    (void)state;
    assert_ok(wmi_file_write(scratch("a"), "old", 3, &err), err);
    for (int k = 1; k < 20; k++) {
        wm_status st;

        wmi_alloc_fail_at(k);
        st = wmi_file_write(scratch("a"), "new", 3, &err);
        wmi_alloc_fail_at(0);
        if (!st)
            break;
        failures++;
        assert_int_equal(st, WM_ENOMEM);
        assert_string_equal(scratch_read(scratch("a")), "old");
    }
    assert_int_equal(failures, 3); /* the record, the path, the temporary's name */
    assert_string_equal(scratch_read(scratch("a")), "new");
    assert_int_equal(scratch_count(scratch_folder), 1);
    assert_int_equal(wmi_alloc_live(), live);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_written_and_replaced),
        TEST(rights_are_those_of_the_umask),
        TEST(nothing_is_seen_before_commit),
        TEST(an_abandoned_write_leaves_no_trace),
        TEST(a_disk_that_fills_up_keeps_the_old_file),
        TEST(a_full_device_is_named),
        TEST(a_device_is_written_through),
        TEST(targets_that_cannot_be),
        TEST(a_link_is_followed),
        TEST(reading_is_bounded),
        TEST(folders_are_made_with_their_parents),
        TEST(the_sweep_takes_only_temporaries),
        TEST(paths_join_and_shorten),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
