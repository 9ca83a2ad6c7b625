/* test_io.c - every call that changes files made to fail, one after the other. */
#include "asserts.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/io.h"
#include "scratch.h"

enum { BYTES = 100000 }; /* more than the buffer of a stream: several writes */

static char old_text[BYTES + 1], new_text[BYTES + 1];

static bool is_whole(const char *text)
{
    const char *now = scratch_read(scratch("a")); /* its first 64 KiB */

    return strncmp(now, text, strlen(now)) == 0 && strlen(now) == 65535;
}

/* Until the call that is to fail does not come any more: the old file or the new one, whole, and
 * the new one where success is said. */
static int sweep(const char *what, bool must_survive)
{
    for (int n = 1;; n++) {
        wm_error err = {0};
        wm_status st;
        bool met;

        assert_ok(wmi_file_write(scratch("a"), old_text, BYTES, &err), err);
        wmi_io_fail_at(n, false, what);
        st = wmi_file_write(scratch("a"), new_text, BYTES, &err);
        met = wmi_io_failed();
        wmi_io_fail_at(0, false, "");
        if (must_survive || !met)
            assert_ok(st, err);
        else if (st)
            assert_non_null(strstr(err.text, "/a: "));
        assert_true(is_whole(st ? old_text : new_text) ||
                    (st && strstr(err.text, "does not sync") && is_whole(new_text)));
        assert_int_equal(scratch_count(scratch_folder), 1); /* no temporary is left */
        if (!met)
            return n - 1;
    }
}

static void a_failed_call_leaves_the_old_file(void **state)
{
    static const char *const ends[] = {"ENOSPC", "EIO", "EFBIG", "EACCES"};

    (void)state;
    /* open, write, fsync, close, rename, and open, fsync, close of the folder */
    for (int i = 0; i < 4; i++)
        assert_true(sweep(ends[i], false) >= 8);
}

static void interrupted_and_short_calls_are_gone_on_with(void **state)
{
    (void)state;
    assert_true(sweep("EINTR", true) >= 8);
    assert_true(sweep("short", true) >= 8);
}

/* A writer that stands still goes on where it was. */
static void a_stopped_writer_goes_on(void **state)
{
    wm_error err = {0};
    pid_t child;
    int result;

    (void)state;
    assert_ok(wmi_file_write(scratch("a"), old_text, BYTES, &err), err);
    child = fork();
    if (child == 0) {
        wmi_io_fail_at(3, false, "stop");
        _exit(wmi_file_write(scratch("a"), new_text, BYTES, &err) ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &result, WUNTRACED), child);
    assert_true(WIFSTOPPED(result));
    assert_true(is_whole(old_text));
    assert_int_equal(kill(child, SIGCONT), 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    assert_true(is_whole(new_text));
}

/* A writer that is killed leaves its temporary, and the next one removes it; that of a writer who
 * is at work, and files of like names, stay. */
static void what_a_killed_writer_left_is_cleared(void **state)
{
    wm_error err = {0};
    wmi_file *f = NULL;
    pid_t child;
    int result;

    (void)state;
    child = fork();
    if (child == 0) {
        wmi_io_fail_at(3, false, "kill");
        _exit(wmi_file_write(scratch("a"), old_text, BYTES, &err) ? 1 : 2);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFSIGNALED(result));
    assert_int_equal(scratch_count(scratch_folder), 1);
    assert_ok(wmi_file_open(&f, scratch("a.1"), &err), err); /* the name of the other's begins so */
    assert_ok(wmi_file_write(scratch("a"), new_text, BYTES, &err), err);
    assert_int_equal(scratch_count(scratch_folder), 2);
    assert_ok(wmi_file_commit(f, &err), err);
    assert_int_equal(scratch_count(scratch_folder), 2);
    assert_true(is_whole(new_text));
}

static void a_disk_that_stays_full_is_named(void **state)
{
    wm_error err = {0};

    (void)state;
    wmi_io_fail_at(2, true, "ENOSPC");
    assert_int_equal(wmi_file_write(scratch("a"), new_text, BYTES, &err), WM_EIO);
    wmi_io_fail_at(0, false, "");
    assert_non_null(strstr(err.text, "No space left on device"));
    wmi_io_fail_at(1, true, "EACCES");
    assert_int_equal(wmi_folder_make(scratch("b/c"), &err), WM_EIO);
    wmi_io_fail_at(0, false, "");
    assert_non_null(strstr(err.text, "/b: cannot make the folder"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_failed_call_leaves_the_old_file), TEST(interrupted_and_short_calls_are_gone_on_with),
        TEST(a_stopped_writer_goes_on), TEST(what_a_killed_writer_left_is_cleared),
        TEST(a_disk_that_stays_full_is_named)};

    memset(old_text, 'o', BYTES);
    memset(new_text, 'n', BYTES);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
