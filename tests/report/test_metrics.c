/* test_metrics.c - evaluations as lines of metrics.jsonl: the keys that pages and people read. */
#include "asserts.h"

#include <stdio.h>
#include <string.h>

#include "scratch.h"
#include "waymark/report.h"

static const wm_bridge bridges[] = {{0, 0.5, 1.25, 0.75, 0.5}, {0.5, 1, 1, 0.875, 2}};

static wm_evaluation at(wm_stage stage, int64_t step)
{
    return (wm_evaluation){.stage = stage,
                           .step = step,
                           .train_loss = 1.5,
                           .valid_loss = 2.5,
                           .estimate = 3,
                           .seconds = 0.25,
                           .n_bridges = stage == WM_STAGE_NOISE ? 0 : 2,
                           .bridges = bridges};
}

/* What lines m writes of the evaluations into a folder of its own. */
static const char *lines_of(wm_metrics m, const char *name, int n, const wm_evaluation *e)
{
    char path[600];
    wm_summary *settings;
    wm_error err = {0};

    assert_ok(wm_run_folder_open(&m.folder, scratch(name), "test", WM_RUN_NEW, &err), err);
    assert_ok(wm_summary_new(&settings, &err), err);
    assert_ok(wm_run_folder_config(m.folder, settings, &err), err);
    wm_summary_free(settings);
    for (int i = 0; i < n; i++)
        assert_int_equal(wm_metrics_eval(&m, &e[i]), 0);
    assert_ok(wm_metrics_done(&m, &err), err);
    wm_run_folder_close(m.folder);
    snprintf(path, sizeof path, "%s/metrics.jsonl", scratch(name));
    return scratch_read(path);
}

static void stages_have_rows_of_bridges(void **state)
{
    static const char *const stages[WM_STAGES] = {"noise", "heads", "bridges"};
    const wm_evaluation e[] = {at(WM_STAGE_NOISE, 10), at(WM_STAGE_BRIDGES, 20)};
    const wm_metrics m = {.stages = stages, .estimate = "direct", .per_nat = 2, .seconds = true};

    (void)state;
    assert_string_equal(
        lines_of(m, "stages", 2, e),
        "{\"stage\": \"noise\", \"step\": 10, \"train_loglik\": -1.5, \"valid_loglik\": -2.5, "
        "\"seconds\": 0.25}\n"
        "{\"stage\": \"bridges\", \"step\": 20, \"train_loss\": 1.5, \"valid_loss\": 2.5, "
        "\"direct\": 6.0, \"seconds\": 0.25, \"bridges\": [{\"k\": 0, \"loss\": 1.25, "
        "\"accuracy\": 0.75, \"mean_log_ratio\": 1.0}, {\"k\": 1, \"loss\": 1.0, "
        "\"accuracy\": 0.875, \"mean_log_ratio\": 4.0}]}\n");
}

static const char *name_of(unsigned model, char *buf, size_t size)
{
    snprintf(buf, size, "model %u", model);
    return buf;
}

static void studies_have_losses_and_rounds(void **state)
{
    const wm_metrics m = {
        .model_text = name_of, .estimate = "log_ratio", .per_nat = 1, .bridges = WM_METRICS_LOSSES};
    wm_evaluation e = at(WM_STAGE_BRIDGES, 5);

    (void)state;
    e.model = 8;
    e.round = 2;
    assert_string_equal(lines_of(m, "study", 1, &e),
                        "{\"model\": \"model 8, round 3\", \"step\": 5, \"train_loss\": 1.5, "
                        "\"valid_loss\": 2.5, \"log_ratio\": 3.0, \"bridge\": [1.25, 1.0]}\n");
}

static void a_sum_of_bridges(void **state)
{
    static const char *const stages[WM_STAGES] = {[WM_STAGE_BRIDGES] = "tre-4"};
    const wm_metrics m = {
        .stages = stages, .estimate = "mi", .per_nat = 1, .bridges = WM_METRICS_SUM};
    const wm_evaluation e = at(WM_STAGE_BRIDGES, 5);

    (void)state;
    assert_string_equal(lines_of(m, "sum", 1, &e),
                        "{\"stage\": \"tre-4\", \"step\": 5, \"train_loss\": 1.5, \"valid_loss\": "
                        "2.5, \"mi\": 3.0, \"mi_own_waymarks\": 2.5}\n");
}

/* A run was killed after step 30, its checkpoint is of step 20. */
static void a_resumed_stage_takes_back_what_it_repeats(void **state)
{
    static const char *const stages[WM_STAGES] = {"noise", "heads", "bridges"};
    wm_metrics m = {.stages = stages, .estimate = "direct", .per_nat = 1};
    const wm_evaluation e[] = {at(WM_STAGE_HEADS, 30), at(WM_STAGE_BRIDGES, 20),
                               at(WM_STAGE_BRIDGES, 30)};
    wm_error err = {0};
    char path[600];
    int lines = 0;

    (void)state;
    lines_of(m, "resumed", 3, e);
    assert_ok(wm_run_folder_open(&m.folder, scratch("resumed"), "test", WM_RUN_RESUME, &err), err);
    wm_metrics_eval(&m, &e[2]);
    assert_ok(wm_metrics_done(&m, &err), err);
    wm_run_folder_close(m.folder);
    snprintf(path, sizeof path, "%s/metrics.jsonl", scratch("resumed"));
    for (const char *at_line = scratch_read(path); *at_line; at_line++)
        lines += *at_line == '\n';
    assert_int_equal(lines, 3); /* heads 30, bridges 20, bridges 30 once */
}

static void without_a_folder_nothing_is_written(void **state)
{
    static const char *const stages[WM_STAGES] = {"noise", "heads", "bridges"};
    wm_metrics m = {.stages = stages, .estimate = "direct", .per_nat = 1};
    const wm_evaluation e = at(WM_STAGE_HEADS, 1);
    wm_error err = {0};

    (void)state;
    assert_int_equal(wm_metrics_eval(&m, &e), 0);
    assert_ok(wm_metrics_done(&m, &err), err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_have_rows_of_bridges),
        cmocka_unit_test(studies_have_losses_and_rounds),
        cmocka_unit_test(a_sum_of_bridges),
        cmocka_unit_test(a_resumed_stage_takes_back_what_it_repeats),
        cmocka_unit_test(without_a_folder_nothing_is_written),
    };

    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
