/* test_array.c - rows of arrays in any order, from any source, in blocks of any size. */
#include "asserts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "data/formats/array.h"

/* A stream that gives its bytes out in small, uneven pieces. */
typedef struct drip {
    const unsigned char *bytes;
    size_t n, at;
    int *closed;
} drip;

static wm_status drip_read(void *ctx, void *buf, size_t n, size_t *got, wm_error *err)
{
    drip *d = ctx;
    size_t k = d->at % 13 + 1;

    (void)err;
    k = k < n ? k : n;
    k = k < d->n - d->at ? k : d->n - d->at;
    memcpy(buf, d->bytes + d->at, k);
    d->at += k;
    *got = k;
    return WM_OK;
}

static void drip_close(void *ctx)
{
    ++*((drip *)ctx)->closed;
    free(ctx);
}

static wmi_bytes *open_drip(const void *bytes, size_t n, int64_t size, int *closed)
{
    static const wmi_bytes_stream stream = {drip_read, NULL, drip_close};
    drip *d = malloc(sizeof *d);
    wm_error err;
    wmi_bytes *b;

    *d = (drip){bytes, n, 0, closed};
    assert_ok(wmi_bytes_from(&b, "drip", &stream, d, size, &err), err);
    return b;
}

/* Reads the array in blocks of max rows; the values go to out. */
static void read_blocks(wmi_bytes *bytes, bool own, const wmi_array *a, int64_t max, double *out,
                        int64_t expected)
{
    wmi_cursor *c;
    wm_error err;
    int64_t got = 1, n = 0;

    assert_ok(wmi_array_open(&c, "label", bytes, own, a, &err), err);
    assert_int_equal(c->count, expected);
    while (got) {
        assert_ok(c->next(c, max, out + n * c->dim, &got, &err), err);
        assert_true(got <= max);
        n += got;
    }
    assert_int_equal(n, expected);
    c->close(c);
}

/* Value (i, j, k) of the shape (4, 2, 3) is 100 i + 10 j + k. */
static void orders_and_sources_agree(void **state)
{
    int16_t c_order[24], f_order[24];
    double out[24];
    int closed = 0;
    wm_error err;

    (void)state;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 3; k++) {
                const int16_t v = (int16_t)(100 * i + 10 * j + k);

                c_order[(i * 2 + j) * 3 + k] = v;
                f_order[i + 4 * (j + 2 * k)] = v;
            }
    for (int fortran = 0; fortran < 2; fortran++)
        for (int64_t max = 1; max <= 5; max++)
            for (int source = 0; source < 3; source++) {
                const wmi_array a = {.type = WMI_ELEMENT_I16,
                                     .big_endian = wmi_machine_is_big(),
                                     .fortran = fortran,
                                     .rank = 3,
                                     .dim = {4, 2, 3},
                                     .last = true};
                const void *bytes = fortran ? f_order : c_order;
                wmi_bytes *b;

                memset(out, 0, sizeof out);
                if (source == 0) {
                    assert_ok(wmi_bytes_memory(&b, "m", bytes, sizeof c_order, &err), err);
                    read_blocks(b, false, &a, max, out, 4);
                    wmi_bytes_close(b);
                } else {
                    b = open_drip(bytes, sizeof c_order, source == 1 ? 48 : -1, &closed);
                    closed = 0;
                    read_blocks(b, true, &a, max, out, 4);
                    assert_int_equal(closed, 1);
                }
                for (int i = 0; i < 24; i++)
                    assert_true(out[i] == c_order[i]);
            }
}

static void a_vector_is_a_column(void **state)
{
    const float x[3] = {1, 2, 3};
    const wmi_array a = {.type = WMI_ELEMENT_F32,
                         .big_endian = wmi_machine_is_big(),
                         .fortran = true,
                         .rank = 1,
                         .dim = {3},
                         .at = 4,
                         .last = false};
    unsigned char padded[20] = {0};
    double out[3];
    char where[32];
    wmi_cursor *c;
    wmi_bytes *b;
    wm_error err;

    (void)state;
    memcpy(padded + 4, x, sizeof x); /* bytes before and after are somebody else's */
    assert_ok(wmi_bytes_memory(&b, "m", padded, sizeof padded, &err), err);
    read_blocks(b, false, &a, 2, out, 3);
    assert_true(out[0] == 1 && out[1] == 2 && out[2] == 3);
    assert_ok(wmi_array_open(&c, "label", b, true, &a, &err), err);
    assert_int_equal(c->dim, 1);
    assert_true(c->sized && !c->integers && !c->bools && !c->kinds_set);
    c->where(c, 2, where, sizeof where);
    assert_string_equal(where, "row 3");
    c->close(c);
}

static void kinds_of_types(void **state)
{
    const unsigned char x[2] = {0, 1};
    wmi_array a = {.type = WMI_ELEMENT_BOOL, .rank = 1, .dim = {2}, .last = true};
    wmi_cursor *c;
    wmi_bytes *b;
    wm_error err;

    (void)state;
    for (int i = 0; i < 2; i++) {
        a.type = i ? WMI_ELEMENT_U8 : WMI_ELEMENT_BOOL;
        assert_ok(wmi_bytes_memory(&b, "m", x, 2, &err), err);
        assert_ok(wmi_array_open(&c, "label", b, true, &a, &err), err);
        assert_true(c->integers && c->bools == (i == 0));
        c->close(c);
    }
}

/* A stream whose header lies is found out without memory being taken for the lie. */
static void streams_that_lie(void **state)
{
    const unsigned char x[64] = {0};
    wmi_array a = {.type = WMI_ELEMENT_F64, .rank = 2, .dim = {INT64_C(1) << 40, 4}, .last = true};
    double out[8];
    int closed = 0;
    wmi_cursor *c = NULL;
    wm_error err;
    int64_t got;

    (void)state;
    assert_ok(wmi_array_open(&c, "s", open_drip(x, sizeof x, -1, &closed), true, &a, &err), err);
    assert_false(c->sized);
    assert_ok(c->next(c, 2, out, &got, &err), err);
    assert_int_equal(got, 2);
    assert_int_equal(c->next(c, 2, out, &got, &err), WM_EFORMAT);
    assert_string_equal(err.text, "s: ends within row 3 of 1099511627776");
    c->close(c);
    assert_int_equal(closed, 1);
    a.fortran = true;
    assert_int_equal(wmi_array_open(&c, "s", open_drip(x, sizeof x, -1, &closed), true, &a, &err),
                     WM_EFORMAT);
    assert_string_equal(err.text, "s: ends after 64 of 35184372088832 bytes");
    assert_int_equal(closed, 2);
    a = (wmi_array){.type = WMI_ELEMENT_F64, .rank = 1, .dim = {7}, .last = true};
    assert_ok(wmi_array_open(&c, "s", open_drip(x, sizeof x, -1, &closed), true, &a, &err), err);
    assert_ok(c->next(c, 7, out, &got, &err), err);
    assert_int_equal(c->next(c, 0, NULL, &got, &err), WM_EFORMAT);
    assert_string_equal(err.text, "s: bytes after the last row, 7");
    c->close(c);
}

static void want_of_memory_leaves_nothing_behind(void **state)
{
    const wmi_array a = {
        .type = WMI_ELEMENT_U8, .fortran = true, .rank = 2, .dim = {4, 4}, .last = true};
    const unsigned char x[16] = {0};
    const int64_t live = wmi_alloc_live();
    int closed = 0, failed = 0;

    (void)state;
    for (int64_t k = 1; k <= 5; k++) {
        wmi_bytes *b = open_drip(x, sizeof x, 16, &closed);
        wmi_cursor *c;
        wm_error err;

        wmi_alloc_fail_at(k);
        if (wmi_array_open(&c, "s", b, true, &a, &err))
            failed++;
        else
            c->close(c);
        wmi_alloc_fail_at(0);
        assert_int_equal(wmi_alloc_live(), live);
        assert_int_equal(closed, k);
    }
    assert_int_equal(failed, 4); /* cursor, label, bytes, places */
}

static void shapes_as_text(void **state)
{
    int64_t many[32];
    char buf[128];

    (void)state;
    assert_string_equal(wmi_array_shape_text(buf, sizeof buf, 0, NULL), "()");
    assert_string_equal(wmi_array_shape_text(buf, sizeof buf, 1, (int64_t[]){5}), "(5,)");
    assert_string_equal(wmi_array_shape_text(buf, sizeof buf, 2, (int64_t[]){5, -1}), "(5, -1)");
    for (int i = 0; i < 32; i++)
        many[i] = INT64_MIN;
    assert_true(strlen(wmi_array_shape_text(buf, sizeof buf, 32, many)) < sizeof buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_and_sources_agree),
        cmocka_unit_test(a_vector_is_a_column),
        cmocka_unit_test(kinds_of_types),
        cmocka_unit_test(streams_that_lie),
        cmocka_unit_test(want_of_memory_leaves_nothing_behind),
        cmocka_unit_test(shapes_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
