/* test_run_folder.c - whose folder it is, and what stands in it after a resume. */
#include "asserts.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/io.h"
#include "report/run/run_folder.h"
#include "scratch.h"
#include "waymark/report.h"
#include "waymark/version.h"

static wm_summary *step_line(int64_t step)
{
    wm_summary *s;
    wm_error err;

    assert_ok(wm_summary_new(&s, &err), err);
    if (step >= 0)
        wm_summary_integer(s, "step", step);
    wm_summary_real(s, "loss", 0.5);
    return s;
}

static void append(wm_run_folder *r, int64_t step)
{
    wm_summary *s = step_line(step);
    wm_error err;

    assert_ok(wm_run_folder_metrics(r, s, &err), err);
    wm_summary_free(s);
}

/* A run of `command` with settings, three lines of metrics and a summary. */
static void make_run(const char *dir, const char *command)
{
    wm_run_folder *r;
    wm_summary *s;
    wm_error err = {0};

    assert_ok(wm_run_folder_open(&r, dir, command, WM_RUN_NEW, &err), err);
    assert_false(wm_run_folder_resumed(r));
    assert_ok(wm_summary_new(&s, &err), err);
    wm_summary_integer(s, "seed", 7);
    wm_summary_text(s, "command", "not this one");
    assert_ok(wm_run_folder_config(r, s, &err), err);
    wm_summary_free(s);
    for (int k = 1; k <= 3; k++)
        append(r, 100 * k);
    s = step_line(-1);
    assert_ok(wm_run_folder_summary(r, s, &err), err);
    wm_summary_free(s);
    wm_run_folder_close(r);
}

static void a_run_leaves_its_files(void **state)
{
    const int64_t live = wmi_alloc_live();

    (void)state;
    make_run(scratch("deep/run"), "mi");
    assert_string_equal(scratch_read(scratch("deep/run/config.json")),
                        "{\n  \"command\": \"mi\",\n  \"version\": \"" WM_VERSION
                        "\",\n  \"seed\": 7\n}\n");
    assert_string_equal(scratch_read(scratch("deep/run/metrics.jsonl")),
                        "{\"step\": 100, \"loss\": 0.5}\n{\"step\": 200, \"loss\": 0.5}\n"
                        "{\"step\": 300, \"loss\": 0.5}\n");
    assert_string_equal(scratch_read(scratch("deep/run/summary.json")), "{\n  \"loss\": 0.5\n}\n");
    assert_int_equal(scratch_count(scratch("deep/run")), 4); /* and the manifest */
    assert_int_equal(wmi_alloc_live(), live);
}

static void a_run_is_not_overwritten_by_chance(void **state)
{
    wm_run_folder *r;
    wm_error err = {0};

    (void)state;
    make_run(scratch("run"), "mi");
    assert_int_equal(wm_run_folder_open(&r, scratch("run"), "mi", WM_RUN_NEW, &err), WM_EINVAL);
    assert_null(r);
    assert_non_null(strstr(err.text, "run: holds a run of 'mi'"));
    assert_int_equal(wm_run_folder_open(&r, scratch("run"), "ratio", WM_RUN_RESUME, &err),
                     WM_EINVAL);
    assert_non_null(strstr(err.text, "holds a run of 'mi', which 'ratio' cannot resume"));
    assert_non_null(strstr(scratch_read(scratch("run/metrics.jsonl")), "300"));
}

/* The old run, another's files and those of its own are what they were until the new run has
 * finished; then only what the old run had made is gone. */
static void overwriting_removes_the_old_run_only(void **state)
{
    const char *state_path;
    wm_run_folder *r;
    wm_error err = {0};

    (void)state;
    make_run(scratch("run"), "mi");
    assert_ok(wm_run_folder_open(&r, scratch("run"), "mi", WM_RUN_RESUME, &err), err);
    assert_ok(wm_run_folder_path(&state_path, r, "state.safetensors", &err), err);
    assert_ok(wmi_file_write(state_path, "x", 1, &err), err);
    wm_run_folder_close(r);
    assert_ok(wmi_file_write(scratch("run/state.noise.safetensors"), "x", 1, &err), err);
    assert_ok(wmi_file_write(scratch("run/mine.safetensors"), "x", 1, &err), err);
    assert_ok(wmi_folder_make(scratch("run/figures"), &err), err);
    assert_ok(wmi_file_write(scratch("run/figures/mine.svg"), "x", 1, &err), err);
    assert_ok(wm_run_folder_open(&r, scratch("run"), "ratio", WM_RUN_OVERWRITE, &err), err);
    assert_false(wm_run_folder_resumed(r));
    assert_true(wm_run_folder_staged(r));
    append(r, 1);
    assert_non_null(strstr(scratch_read(scratch("run/metrics.jsonl")), "300"));
    assert_true(wmi_file_exists(scratch("run/state.safetensors")));
    assert_ok(wm_run_folder_finish(r, &err), err);
    assert_string_equal(scratch_read(scratch("run/metrics.jsonl")),
                        "{\"step\": 1, \"loss\": 0.5}\n");
    append(r, 2); /* the folder is open still */
    assert_non_null(strstr(scratch_read(scratch("run/metrics.jsonl")), "\"step\": 2"));
    wm_run_folder_close(r);
    assert_int_equal(scratch_count(scratch("run")), 4); /* metrics, manifest, mine, figures */
    assert_true(wmi_file_exists(scratch("run/mine.safetensors")));
    assert_true(wmi_file_exists(scratch("run/figures/mine.svg")));
}

static void a_folder_in_the_place_of_a_file_is_in_the_way(void **state)
{
    wm_run_folder *r;
    wm_error err = {0};

    (void)state;
    make_run(scratch("run"), "mi");
    assert_ok(wm_run_folder_open(&r, scratch("run"), "mi", WM_RUN_OVERWRITE, &err), err);
    append(r, 1);
    assert_int_equal(remove(scratch("run/metrics.jsonl")), 0);
    assert_ok(wmi_folder_make(scratch("run/metrics.jsonl"), &err), err);
    assert_int_equal(wm_run_folder_finish(r, &err), WM_EIO);
    wm_run_folder_close(r);
    assert_true(wmi_file_exists(scratch("run/summary.json"))); /* nothing of the old run has gone */
    assert_int_equal(rmdir(scratch("run/metrics.jsonl")), 0);
    assert_ok(wm_run_folder_settle(scratch("run"), &err), err);
    assert_non_null(strstr(scratch_read(scratch("run/metrics.jsonl")), "\"step\": 1,"));
}

static void check_old_run(void)
{
    assert_string_equal(scratch_read(scratch("run/model.safetensors")), "old");
    assert_non_null(strstr(scratch_read(scratch("run/config.json")), "\"mi\""));
    assert_non_null(strstr(scratch_read(scratch("run/metrics.jsonl")), "\"step\": 100"));
}

static void make_old_run(void)
{
    const char *path;
    wm_run_folder *r;
    wm_error err = {0};

    make_run(scratch("run"), "mi");
    assert_ok(wm_run_folder_open(&r, scratch("run"), "mi", WM_RUN_RESUME, &err), err);
    assert_ok(wm_run_folder_path(&path, r, "model.safetensors", &err), err);
    assert_ok(wmi_file_write(path, "old", 3, &err), err);
    wm_run_folder_close(r);
}

/* A run that is to replace another and ends before it has made anything, as by a misspelt file
 * name, leaves nothing. One that is cut short later stays beside the old one, and goes on. */
static void a_run_that_does_not_finish_replaces_nothing(void **state)
{
    wm_summary *s = step_line(1);
    char settings[2048];
    const char *path;
    wm_run_folder *r;
    wm_error err = {0};

    (void)state;
    make_old_run();
    for (int i = 0; i < 2; i++) {
        assert_ok(wm_run_folder_open(&r, scratch("run"), "ratio", WM_RUN_OVERWRITE, &err), err);
        assert_ok(wm_run_folder_config(r, s, &err), err);
        if (i)
            wm_run_folder_discard(r); /* it failed */
        else
            wm_run_folder_close(r); /* it was interrupted */
        check_old_run();
        assert_false(wmi_file_exists(scratch("run/.next")));
    }
    for (int i = 0; i < 3; i++) { /* begun, gone on with, and again to its end */
        assert_ok(wm_run_folder_settings(settings, sizeof settings, scratch("run"), &err), err);
        assert_string_equal(settings, scratch(i ? "run/.next/config.json" : "run/config.json"));
        assert_ok(wm_run_folder_open(&r, scratch("run"), "ratio",
                                     i ? WM_RUN_RESUME : WM_RUN_OVERWRITE, &err),
                  err);
        assert_int_equal(wm_run_folder_resumed(r), i > 0);
        assert_ok(wm_run_folder_config(r, s, &err), err);
        append(r, i + 1);
        check_old_run();
        if (i == 2) {
            assert_ok(wm_run_folder_path(&path, r, "model.safetensors", &err), err);
            assert_ok(wmi_file_write(path, "new", 3, &err), err);
            assert_ok(wm_run_folder_finish(r, &err), err);
        }
        wm_run_folder_close(r);
    }
    assert_string_equal(scratch_read(scratch("run/model.safetensors")), "new");
    assert_string_equal(scratch_read(scratch("run/metrics.jsonl")),
                        "{\"step\": 1, \"loss\": 0.5}\n{\"step\": 2, \"loss\": 0.5}\n"
                        "{\"step\": 3, \"loss\": 0.5}\n");
    assert_false(wmi_file_exists(scratch("run/.next")));
    assert_ok(wm_run_folder_open(&r, scratch("new"), "ratio", WM_RUN_OVERWRITE, &err), err);
    assert_ok(wm_run_folder_config(r, s, &err), err);
    wm_run_folder_discard(r);
    assert_false(wmi_file_exists(scratch("new"))); /* where there was nothing, nothing is left */
    wm_summary_free(s);
}

/* A whole run that replaces the old one; returns what failed first. */
static wm_status replace(wm_error *err)
{
    wm_summary *s = step_line(1);
    wm_run_folder *r = NULL;
    const char *path;
    wm_status st;

    if (!(st = wm_run_folder_open(&r, scratch("run"), "ratio", WM_RUN_OVERWRITE, err)) &&
        !(st = wm_run_folder_config(r, s, err)) && !(st = wm_run_folder_metrics(r, s, err)) &&
        !(st = wm_run_folder_path(&path, r, "model.safetensors", err)) &&
        !(st = wmi_file_write(path, "new", 3, err)) && !(st = wm_run_folder_summary(r, s, err)))
        st = wm_run_folder_finish(r, err);
    if (st)
        wm_run_folder_discard(r);
    else
        wm_run_folder_close(r);
    wm_summary_free(s);
    return st;
}

static bool is_new_run(void)
{
    return strcmp(scratch_read(scratch("run/model.safetensors")), "new") == 0 &&
           strstr(scratch_read(scratch("run/config.json")), "\"ratio\"") &&
           strcmp(scratch_read(scratch("run/metrics.jsonl")), "{\"step\": 1, \"loss\": 0.5}\n") ==
               0;
}

/* Whatever call fails, or ends the process, there is the old run or the new one, whole: the new one
 * where an exchange was cut short, by whoever opens the folder next. */
static void every_failed_call_leaves_a_whole_run(void **state)
{
    static const char *const ends[] = {"EIO", "ENOSPC", "kill"};

    (void)state;
    for (int e = 0; e < 3; e++)
        for (int n = 1;; n++) {
            const bool killed = e == 2;
            wm_error err = {0};
            int result = 0;
            pid_t child;

            make_old_run();
            child = fork();
            if (child == 0) {
                wmi_io_fail_at(n, e == 1, ends[e]);
                _exit(replace(&err) ? 1 : wmi_io_failed() ? 2 : 0);
            }
            assert_int_equal(waitpid(child, &result, 0), child);
            assert_true(WIFEXITED(result) || (killed && WTERMSIG(result) == SIGKILL));
            assert_ok(wm_run_folder_settle(scratch("run"), &err), err);
            if (WIFEXITED(result) && WEXITSTATUS(result) != 1)
                assert_true(is_new_run());
            else if (!is_new_run())
                check_old_run();
            scratch_delete(scratch("run"));
            if (WIFEXITED(result) && WEXITSTATUS(result) == 0) {
                assert_true(n > 30); /* it has come through all of it */
                break;
            }
        }
}

static void links_are_not_followed(void **state)
{
    wm_run_folder *r;
    wm_error err = {0};

    (void)state;
    make_old_run();
    assert_ok(wmi_folder_make(scratch("photos"), &err), err);
    assert_ok(wmi_file_write(scratch("photos/a.png"), "mine", 4, &err), err);
    assert_int_equal(symlink(scratch("photos"), scratch("run/figures")), 0);
    assert_int_equal(wm_run_folder_open(&r, scratch("run"), "mi", WM_RUN_OVERWRITE, &err),
                     WM_EINVAL);
    assert_non_null(strstr(err.text, "run/figures: is a link"));
    assert_string_equal(scratch_read(scratch("photos/a.png")), "mine");
    check_old_run();
}

static void strangers_files_are_safe(void **state)
{
    wm_run_folder *r;
    wm_error err = {0};

    (void)state;
    assert_ok(wmi_folder_make(scratch("home"), &err), err);
    assert_ok(wmi_file_write(scratch("home/model.safetensors"), "mine", 4, &err), err);
    assert_int_equal(wm_run_folder_open(&r, scratch("home"), "mi", WM_RUN_NEW, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "home/model.safetensors: is there, but no config.json"));
    assert_int_equal(wm_run_folder_open(&r, scratch("home"), "mi", WM_RUN_RESUME, &err), WM_EINVAL);
    assert_ok(wmi_file_write(scratch("home/config.json"), "{\"a\": 1}", 8, &err), err);
    assert_int_equal(wm_run_folder_open(&r, scratch("home"), "mi", WM_RUN_NEW, &err), WM_EFORMAT);
    assert_non_null(
        strstr(err.text, "config.json: not a run's config.json (it names no command and version)"));
    assert_int_equal(wm_run_folder_open(&r, scratch("home"), "mi", WM_RUN_OVERWRITE, &err),
                     WM_EFORMAT); /* another program's layout */
    assert_ok(wmi_file_write(scratch("home/config.json"), "{", 1, &err), err);
    assert_int_equal(wm_run_folder_open(&r, scratch("home"), "mi", WM_RUN_RESUME, &err),
                     WM_EFORMAT);
    assert_string_equal(scratch_read(scratch("home/model.safetensors")), "mine");
}

static void a_resume_goes_back_to_its_checkpoint(void **state)
{
    FILE *f;
    wm_run_folder *r;
    wm_error err = {0};

    (void)state;
    make_run(scratch("run"), "mi");
    f = fopen(scratch("run/metrics.jsonl"), "ab");
    assert_non_null(f);
    fputs("{\"step\": 400, \"lo", f); /* killed in the middle of a line */
    fclose(f);
    assert_ok(wm_run_folder_open(&r, scratch("run"), "mi", WM_RUN_RESUME, &err), err);
    assert_true(wm_run_folder_resumed(r));
    assert_ok(wmi_run_lines_rewind(r, NULL, 1000, &err), err); /* only the half line goes */
    assert_string_equal(scratch_read(scratch("run/metrics.jsonl")),
                        "{\"step\": 100, \"loss\": 0.5}\n{\"step\": 200, \"loss\": 0.5}\n"
                        "{\"step\": 300, \"loss\": 0.5}\n");
    assert_ok(wmi_run_lines_rewind(r, NULL, 200, &err), err);
    append(r, 300);
    append(r, -1); /* without a step: kept by any rewind that keeps what is before it */
    assert_ok(wmi_run_lines_rewind(r, NULL, 300, &err), err);
    assert_string_equal(scratch_read(scratch("run/metrics.jsonl")),
                        "{\"step\": 100, \"loss\": 0.5}\n{\"step\": 200, \"loss\": 0.5}\n"
                        "{\"step\": 300, \"loss\": 0.5}\n{\"loss\": 0.5}\n");
    assert_ok(wmi_run_lines_rewind(r, NULL, 0, &err), err);
    assert_string_equal(scratch_read(scratch("run/metrics.jsonl")), "");
    wm_run_folder_close(r);
}

static void stages_count_their_own_steps(void **state)
{
    static const char *const lines[] = {"heads", "heads", "bridges", "bridges", "bridges"};
    wm_run_folder *r;
    wm_error err = {0};

    (void)state;
    assert_ok(wm_run_folder_open(&r, scratch("run"), "ebm", WM_RUN_NEW, &err), err);
    for (int i = 0; i < 5; i++) {
        wm_summary *s;

        assert_ok(wm_summary_new(&s, &err), err);
        wm_summary_text(s, "stage", lines[i]);
        wm_summary_integer(s, "step", i < 2 ? 100 * (i + 1) : 10 * (i - 1));
        assert_ok(wm_run_folder_metrics(r, s, &err), err);
        wm_summary_free(s);
    }
    assert_ok(wmi_run_lines_rewind(r, "noise", 0, &err), err);
    assert_non_null(strstr(scratch_read(scratch("run/metrics.jsonl")), "\"step\": 30"));
    assert_ok(wmi_run_lines_rewind(r, "bridges", 20, &err), err);
    assert_string_equal(scratch_read(scratch("run/metrics.jsonl")),
                        "{\"stage\": \"heads\", \"step\": 100}\n"
                        "{\"stage\": \"heads\", \"step\": 200}\n"
                        "{\"stage\": \"bridges\", \"step\": 10}\n"
                        "{\"stage\": \"bridges\", \"step\": 20}\n");
    assert_ok(wmi_run_lines_rewind(r, "heads", 150, &err), err);
    assert_string_equal(scratch_read(scratch("run/metrics.jsonl")),
                        "{\"stage\": \"heads\", \"step\": 100}\n");
    wm_run_folder_close(r);
}

/* A run whose table could not be read left its settings; the next try may use the folder. */
static void a_run_that_did_nothing_is_no_obstacle(void **state)
{
    wm_summary *s = step_line(1);
    wm_run_folder *r;
    wm_error err = {0};

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_ok(wm_run_folder_open(&r, scratch("run"), "mi", WM_RUN_NEW, &err), err);
        assert_ok(wm_run_folder_config(r, s, &err), err);
        wm_run_folder_close(r);
    }
    assert_ok(wmi_file_write(scratch("run/state.noise.safetensors"), "x", 1, &err), err);
    assert_int_equal(wm_run_folder_open(&r, scratch("run"), "mi", WM_RUN_NEW, &err), WM_EINVAL);
    assert_ok(wm_run_folder_open(&r, scratch("run"), "mi", WM_RUN_OVERWRITE, &err), err);
    assert_ok(wm_run_folder_config(r, s, &err), err);
    append(r, 1);
    assert_ok(wm_run_folder_finish(r, &err), err);
    wm_run_folder_close(r);
    assert_int_equal(wm_run_folder_open(&r, scratch("run"), "mi", WM_RUN_NEW, &err), WM_EINVAL);
    wm_summary_free(s);
}

static void resuming_nothing_starts_a_run(void **state)
{
    wm_run_folder *r;
    wm_error err = {0};

    (void)state;
    assert_ok(wm_run_folder_open(&r, scratch("run"), "mi", WM_RUN_RESUME, &err), err);
    assert_false(wm_run_folder_resumed(r));
    wm_run_folder_close(r);
    /* The empty metrics.jsonl of a run that died before its config.json is no obstacle. */
    assert_ok(wm_run_folder_open(&r, scratch("run"), "mi", WM_RUN_NEW, &err), err);
    wm_run_folder_close(r);
}

static void one_process_at_a_time(void **state)
{
    wm_run_folder *r;
    wm_error err = {0};
    pid_t child;
    int result;

    (void)state;
    assert_ok(wm_run_folder_open(&r, scratch("run"), "mi", WM_RUN_NEW, &err), err);
    append(r, 1);
    assert_ok(wmi_run_lines_rewind(r, NULL, 1, &err), err); /* must not lose the lock */
    child = fork();
    if (child == 0) {
        wm_run_folder *other;
        const wm_status st =
            wm_run_folder_open(&other, scratch("run"), "mi", WM_RUN_OVERWRITE, &err);

        _exit(st == WM_EIO && strstr(err.text, "another process") ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    assert_non_null(strstr(scratch_read(scratch("run/metrics.jsonl")), "\"step\": 1"));
    wm_run_folder_close(r);
}

static void leftovers_of_killed_writers_are_swept(void **state)
{
    wm_run_folder *r;
    wm_error err = {0};

    (void)state;
    make_run(scratch("run"), "mi");
    assert_ok(wmi_file_write(scratch("run/state.safetensors.77-0.wmtmp"), "x", 1, &err), err);
    assert_ok(wm_run_folder_open(&r, scratch("run"), "mi", WM_RUN_RESUME, &err), err);
    assert_int_equal(scratch_count(scratch("run")), 4);
    wm_run_folder_close(r);
}

static void no_folder_is_fine(void **state)
{
    wm_summary *s = step_line(1);
    const char *path = "x";
    wm_error err;

    (void)state;
    assert_ok(wm_run_folder_path(&path, NULL, "a", &err), err);
    assert_null(path);
    assert_ok(wm_run_folder_config(NULL, s, &err), err);
    assert_ok(wm_run_folder_metrics(NULL, s, &err), err);
    assert_ok(wmi_run_lines_rewind(NULL, NULL, 1, &err), err);
    assert_ok(wm_run_folder_summary(NULL, s, &err), err);
    assert_ok(wm_run_folder_figure(NULL, NULL, NULL, &err), err);
    assert_false(wm_run_folder_resumed(NULL));
    assert_ok(wm_run_folder_finish(NULL, &err), err);
    wm_run_folder_close(NULL);
    wm_summary_free(s);
}

static void paths_live_with_the_folder(void **state)
{
    const char *a, *b;
    wm_run_folder *r;
    wm_error err = {0};

    (void)state;
    assert_ok(wm_run_folder_open(&r, scratch("run"), "mi", WM_RUN_NEW, &err), err);
    assert_ok(wm_run_folder_path(&a, r, "model.safetensors", &err), err);
    assert_ok(wm_run_folder_path(&b, r, "figures", &err), err);
    assert_string_equal(a, scratch("run/model.safetensors"));
    assert_string_equal(b, scratch("run/figures"));
    wm_run_folder_close(r);
    assert_ok(wmi_file_write(scratch("file"), "", 0, &err), err);
    assert_int_equal(wm_run_folder_open(&r, scratch("file"), "mi", WM_RUN_NEW, &err), WM_EIO);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_leaves_its_files),
        TEST(a_run_is_not_overwritten_by_chance),
        TEST(overwriting_removes_the_old_run_only),
        TEST(a_folder_in_the_place_of_a_file_is_in_the_way),
        TEST(a_run_that_does_not_finish_replaces_nothing),
        TEST(every_failed_call_leaves_a_whole_run),
        TEST(links_are_not_followed),
        TEST(strangers_files_are_safe),
        TEST(a_resume_goes_back_to_its_checkpoint),
        TEST(stages_count_their_own_steps),
        TEST(a_run_that_did_nothing_is_no_obstacle),
        TEST(resuming_nothing_starts_a_run),
        TEST(one_process_at_a_time),
        TEST(leftovers_of_killed_writers_are_swept),
        TEST(no_folder_is_fine),
        TEST(paths_live_with_the_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
