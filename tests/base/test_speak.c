/* test_speak.c - log lines and progress, with a clock that the test moves. */
#include "asserts.h"

#include <string.h>

#include "waymark/sink.h"

typedef struct listener {
    int logs, reports;
    wm_log_level level;
    char text[1024];
    wm_progress last;
    double now;
} listener;

static void hear_log(void *ctx, wm_log_level level, const char *text)
{
    listener *l = ctx;

    l->logs++;
    l->level = level;
    strncpy(l->text, text, sizeof l->text - 1);
}

static void hear_progress(void *ctx, const wm_progress *p)
{
    listener *l = ctx;

    l->reports++;
    l->last = *p;
    strncpy(l->text, p->message, sizeof l->text - 1);
}

static double read_clock(void *ctx)
{
    return ((listener *)ctx)->now;
}

static wm_sink sink_to(listener *l)
{
    wm_sink sink;

    wm_sink_init(&sink);
    sink.ctx = l;
    sink.log = hear_log;
    sink.progress = hear_progress;
    sink.clock = read_clock;
    return sink;
}

static void a_line_arrives_with_its_level(void **state)
{
    listener l = {0};
    const wm_sink sink = sink_to(&l);
    char word[2000];

    (void)state;
    wm_say(&sink, WM_LOG_WARN, "bridge %d is saturated", 3);
    assert_int_equal(l.logs, 1);
    assert_int_equal(l.level, WM_LOG_WARN);
    assert_string_equal(l.text, "bridge 3 is saturated");
    memset(word, 'w', sizeof word);
    word[sizeof word - 1] = 0;
    wm_say(&sink, WM_LOG_INFO, "%s", word);
    assert_int_equal(strlen(l.text), 511);
}

static void silence_is_allowed(void **state)
{
    wm_sink sink;
    wm_task p;

    (void)state;
    memset(&sink, 0xff, sizeof sink);
    wm_sink_init(&sink);
    assert_int_equal(sink.struct_size, sizeof sink);
    assert_true(!sink.ctx && !sink.log && !sink.progress && !sink.clock && sink.interval == 0.5);
    for (int k = 0; k < 2; k++) { /* no callbacks, no sink */
        const wm_sink *s = k ? NULL : &sink;

        wm_say(s, WM_LOG_INFO, "unheard");
        wm_task_start(&p, s, "steps", 0, 10);
        wm_task_update(&p, 10, "unheard");
        wm_task_finish(&p, 10, "unheard");
    }
}

static void progress_is_throttled_and_the_end_is_not(void **state)
{
    listener l = {.now = 100};
    const wm_sink sink = sink_to(&l);
    wm_task p;

    (void)state;
    wm_task_start(&p, &sink, "steps", 0, 1000);
    for (int64_t done = 1; done <= 1000; done++) {
        l.now = 100 + (double)done / 64; /* exact in binary: 1/64 s a step, 15.625 s in all */
        wm_task_update(&p, done, "loss %d", (int)done);
        if (done == 31)
            assert_int_equal(l.reports, 0);
        if (done == 32)
            assert_int_equal(l.reports, 1); /* the first after half a second */
    }
    assert_int_equal(l.reports, 32); /* one in 32 steps makes 31, and the last */
    assert_int_equal(l.last.done, 1000);
    assert_string_equal(l.text, "loss 1000");
    wm_task_update(&p, 1000, "again");
    wm_task_finish(&p, 1000, "again");
    assert_int_equal(l.reports, 32); /* the last word was said */
}

static void rate_and_eta_leave_out_a_resumed_run(void **state)
{
    listener l = {.now = 5};
    const wm_sink sink = sink_to(&l);
    wm_task p;

    (void)state;
    wm_task_start(&p, &sink, "steps", 600, 1000);
    l.now = 15;
    wm_task_update(&p, 700, "%s", "");
    assert_int_equal(l.last.total, 1000);
    assert_string_equal(l.last.unit, "steps");
    assert_near(l.last.elapsed, 10, 1e-12);
    assert_near(l.last.rate, 10, 1e-12); /* (700 - 600) / 10 s */
    assert_near(l.last.eta, 30, 1e-12);  /* (1000 - 700) / 10 */
}

static void what_cannot_be_known_is_not_claimed(void **state)
{
    listener l = {.now = 0};
    const wm_sink sink = sink_to(&l);
    wm_task p;

    (void)state;
    wm_task_start(&p, &sink, "draws", 0, 0); /* no total */
    l.now = 2;
    wm_task_update(&p, 8, "%s", "");
    assert_true(l.last.rate == 4 && isnan(l.last.eta));
    wm_task_finish(&p, 9, "stopped"); /* at once, within the interval */
    assert_int_equal(l.reports, 2);
    assert_string_equal(l.text, "stopped");
    wm_task_start(&p, &sink, "draws", 0, 5);
    l.now = 4;
    wm_task_update(&p, 0, "%s", "compiling"); /* nothing done yet */
    assert_true(l.last.rate == 0 && isnan(l.last.eta));
    wm_task_start(&p, &sink, "draws", 0, 5);
    wm_task_update(&p, 5, "%s", "no time at all");
    assert_true(l.last.rate == 0 && isnan(l.last.eta) && l.last.elapsed == 0);
}

static void the_system_clock_does_not_go_back(void **state)
{
    const double first = wm_clock(NULL);

    (void)state;
    assert_true(isfinite(first));
    for (int k = 0; k < 1000; k++)
        assert_true(wm_clock(NULL) >= first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_arrives_with_its_level),
        cmocka_unit_test(silence_is_allowed),
        cmocka_unit_test(progress_is_throttled_and_the_end_is_not),
        cmocka_unit_test(rate_and_eta_leave_out_a_resumed_run),
        cmocka_unit_test(what_cannot_be_known_is_not_claimed),
        cmocka_unit_test(the_system_clock_does_not_go_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
