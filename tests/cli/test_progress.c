/* test_progress.c - what a terminal and a log get to see, and when. */
#include "asserts.h"

#include <stdio.h>
#include <string.h>

#include "frame/progress.h"

typedef struct screen {
    char text[4096];
    FILE *f;
    progress p;
    wm_sink sink;
} screen;

static void open_screen(screen *s, bool terminal, bool quiet)
{
    memset(s, 0, sizeof *s);
    s->f = fmemopen(s->text, sizeof s->text, "w");
    assert_non_null(s->f);
    progress_init(&s->p, s->f, terminal, quiet);
    s->sink = progress_sink(&s->p);
}

static void report(screen *s, int64_t done, int64_t total, double elapsed)
{
    const wm_progress w = {.done = done,
                           .total = total,
                           .unit = "steps",
                           .message = "loss 0.6",
                           .elapsed = elapsed,
                           .rate = (double)done / elapsed,
                           .eta = total ? (double)(total - done) * elapsed / (double)done : NAN};

    s->sink.progress(s->sink.ctx, &w);
    fflush(s->f);
}

static void short_tasks_are_not_spoken_of(void **state)
{
    screen s;

    (void)state;
    for (int terminal = 0; terminal < 2; terminal++) {
        open_screen(&s, terminal, false);
        report(&s, 50, 100, 1.0);
        report(&s, 100, 100, 1.9);
        assert_string_equal(s.text, "");
        report(&s, 100, 100, 3.0); /* nor the end of one that nobody heard of */
        assert_string_equal(s.text, "");
        fclose(s.f);
    }
}

static void a_log_gets_a_line_now_and_then(void **state)
{
    screen s;

    (void)state;
    open_screen(&s, false, false);
    for (int k = 1; k <= 120; k++)
        report(&s, k, 120, k / 10.0);
    assert_string_equal(s.text, "20 of 120 steps  loss 0.6  10/s  to go 0:10\n"
                                "70 of 120 steps  loss 0.6  10/s  to go 0:05\n"
                                "120 of 120 steps  loss 0.6  10/s  took 0:12\n");
    fclose(s.f);
}

static void a_terminal_has_one_line(void **state)
{
    screen s;

    (void)state;
    open_screen(&s, true, false);
    report(&s, 25, 100, 2.5);
    assert_string_equal(s.text, "\r[#####...............]  25%  25 of 100 steps  loss 0.6  10/s  "
                                "to go 0:08\033[K");
    s.sink.log(s.sink.ctx, WM_LOG_WARN, "bridge 3 is saturated");
    assert_non_null(strstr(s.text, "to go 0:08\033[K\r\033[Kwarning: bridge 3 is saturated\n"));
    report(&s, 100, 100, 10);
    assert_non_null(strstr(s.text, "saturated\n100 of 100 steps  loss 0.6  10/s  took 0:10\n"));
    fclose(s.f);
}

static void a_second_task_starts_anew(void **state)
{
    screen s;
    size_t first;

    (void)state;
    open_screen(&s, false, false);
    report(&s, 50, 0, 5); /* a total that is not known */
    assert_string_equal(s.text, "50 steps  loss 0.6  10/s\n");
    first = strlen(s.text);
    report(&s, 1, 10, 0.5); /* its clock starts again: another task, still short */
    assert_int_equal(strlen(s.text), first);
    report(&s, 5, 10, 2.5);
    assert_string_equal(s.text + first, "5 of 10 steps  loss 0.6  2/s  to go 0:03\n");
    fclose(s.f);
}

static void quiet_is_quiet(void **state)
{
    screen s;

    (void)state;
    open_screen(&s, true, true);
    report(&s, 50, 100, 50);
    s.sink.log(s.sink.ctx, WM_LOG_WARN, "w");
    progress_clear(&s.p);
    assert_string_equal(s.text, "");
    fclose(s.f);
    open_screen(&s, false, false);
    s.sink.log(s.sink.ctx, WM_LOG_DEBUG, "d");
    s.sink.log(s.sink.ctx, WM_LOG_INFO, "i");
    fflush(s.f); /* cppcheck-suppress useClosedFile ; opened again above */
    assert_string_equal(s.text, "i\n");
    fclose(s.f); /* cppcheck-suppress useClosedFile ; likewise */
}

static void times_are_said_as_on_a_clock(void **state)
{
    char t[32];

    (void)state;
    assert_string_equal(progress_time(t, 7.4), "0:07");
    assert_string_equal(progress_time(t, 59.6), "1:00");
    assert_string_equal(progress_time(t, 754), "12:34");
    assert_string_equal(progress_time(t, 11100), "3:05:00");
    assert_string_equal(progress_time(t, NAN), "?");
    assert_string_equal(progress_time(t, INFINITY), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_tasks_are_not_spoken_of),
        cmocka_unit_test(a_log_gets_a_line_now_and_then),
        cmocka_unit_test(a_terminal_has_one_line),
        cmocka_unit_test(a_second_task_starts_anew),
        cmocka_unit_test(quiet_is_quiet),
        cmocka_unit_test(times_are_said_as_on_a_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
