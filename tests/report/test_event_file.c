/* test_event_file.c - event files for TensorBoard, read back by a small parser of records and of
 * the protocol buffers in them. Checksums: known answers of RFC 3720, B.4. */
#include "asserts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report/run/event_file.h"
#include "scratch.h"
#include "waymark/report.h"

static void checksums_have_known_answers(void **state)
{
    unsigned char bytes[32] = {0};

    (void)state;
    assert_int_equal(wmi_crc32c(bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, 32);
    assert_int_equal(wmi_crc32c(bytes, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(wmi_crc32c(bytes, 32), 0x46dd794e);
    assert_int_equal(wmi_crc32c("123456789", 9), 0xe3069283);
}

/* ---- the parser ---- */

typedef struct cursor {
    const unsigned char *at, *end;
} cursor;

static uint64_t take_fixed(cursor *c, int n)
{
    uint64_t v = 0;

    assert_true(c->end - c->at >= n);
    for (int i = 0; i < n; i++)
        v |= (uint64_t)*c->at++ << 8 * i;
    return v;
}

static uint64_t take_varint(cursor *c)
{
    uint64_t v = 0;
    int shift = 0;

    do {
        assert_true(c->at < c->end && shift < 64);
        v |= (uint64_t)(*c->at & 0x7f) << shift;
        shift += 7;
    } while (*c->at++ & 0x80);
    return v;
}

static cursor take_bytes(cursor *c)
{
    const uint64_t n = take_varint(c);
    const cursor inner = {c->at, c->at + n};

    assert_true(n <= (uint64_t)(c->end - c->at));
    c->at += n;
    return inner;
}

static void check_crc(cursor *c, const void *data, size_t n)
{
    const uint32_t turned = (uint32_t)take_fixed(c, 4) - 0xa282ead8;

    assert_int_equal(turned >> 17 | turned << 15, wmi_crc32c(data, n));
}

/* A record's event: its step, and as text "tag=value;" of each scalar, or the version. */
static int64_t read_event(cursor *file, char *out, size_t size)
{
    const unsigned char *const start = file->at;
    const uint64_t n = take_fixed(file, 8);
    cursor event;
    int64_t step = -1;
    size_t used = 0;

    check_crc(file, start, 8);
    event = (cursor){file->at, file->at + n};
    assert_true(n <= (uint64_t)(file->end - file->at));
    file->at += n;
    check_crc(file, event.at, n);
    *out = 0;
    while (event.at < event.end)
        switch (take_varint(&event)) {
        case 1 << 3 | 1:
            take_fixed(&event, 8);
            break;
        case 2 << 3:
            step = (int64_t)take_varint(&event);
            break;
        case 3 << 3 | 2: {
            const cursor text = take_bytes(&event);

            snprintf(out, size, "%.*s", (int)(text.end - text.at), text.at);
            break;
        }
        case 5 << 3 | 2: {
            cursor summary = take_bytes(&event);

            while (summary.at < summary.end) {
                cursor value, tag;
                uint32_t bits;
                float v;

                assert_int_equal(take_varint(&summary), 1 << 3 | 2);
                value = take_bytes(&summary);
                assert_int_equal(take_varint(&value), 1 << 3 | 2);
                tag = take_bytes(&value);
                assert_int_equal(take_varint(&value), 2 << 3 | 5);
                bits = (uint32_t)take_fixed(&value, 4);
                assert_true(value.at == value.end);
                memcpy(&v, &bits, sizeof v);
                used += (size_t)snprintf(out + used, size - used, "%.*s=%g;",
                                         (int)(tag.end - tag.at), tag.at, v);
            }
            break;
        }
        default:
            fail_msg("a field that TensorBoard does not know");
        }
    return step;
}

/* ---- */

static const wm_bridge bridges[] = {{0, 0.5, 1.25, 0.75, 0.5}, {0.5, 1, 1, 0.875, 2}};

static void write_run(const char *dir, wm_run_mode mode, int64_t step)
{
    static const char *const stages[WM_STAGES] = {"noise", "heads", "bridges"};
    const wm_evaluation e = {.stage = WM_STAGE_BRIDGES,
                             .step = step,
                             .train_loss = 1.5,
                             .valid_loss = NAN,
                             .estimate = 3,
                             .n_bridges = 2,
                             .bridges = bridges};
    wm_metrics m = {.stages = stages, .estimate = "direct", .per_nat = 1};
    wm_summary *settings;
    wm_error err = {0};

    assert_ok(wm_run_folder_open(&m.folder, dir, "test", mode, &err), err);
    wm_run_folder_tensorboard(m.folder);
    assert_ok(wm_summary_new(&settings, &err), err);
    assert_ok(wm_run_folder_config(m.folder, settings, &err), err);
    wm_summary_free(settings);
    assert_int_equal(wm_metrics_eval(&m, &e), 0);
    assert_ok(wm_metrics_done(&m, &err), err);
    wm_run_folder_close(m.folder);
}

static void lines_become_events(void **state)
{
    static const char want[] =
        "bridges/train_loss=1.5;bridges/direct=3;bridges/loss of bridge 0=1.25;bridges/accuracy of "
        "bridge 0=0.75;bridges/mean_log_ratio of bridge 0=0.5;bridges/loss of bridge "
        "1=1;bridges/accuracy of bridge 1=0.875;bridges/mean_log_ratio of bridge 1=2;";
    char path[600], said[800];
    static unsigned char bytes[4000];
    cursor file = {bytes, bytes};
    FILE *f;

    (void)state;
    write_run(scratch("events"), WM_RUN_NEW, 300);
    write_run(scratch("events"), WM_RUN_RESUME, 70000); /* goes on in the same file */
    snprintf(path, sizeof path, "%s/events.out.tfevents.1.waymark", scratch("events"));
    f = fopen(path, "rb");
    assert_non_null(f);
    file.end += fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_int_equal(read_event(&file, said, sizeof said), -1);
    assert_string_equal(said, "brain.Event:2");
    assert_int_equal(read_event(&file, said, sizeof said), 300);
    assert_string_equal(said, want); /* a loss that is not known is left out */
    assert_int_equal(read_event(&file, said, sizeof said), 70000);
    assert_string_equal(said, want);
    assert_true(file.at == file.end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(checksums_have_known_answers),
                                       cmocka_unit_test(lines_become_events)};

    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
