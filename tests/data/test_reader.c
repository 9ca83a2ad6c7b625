/* test_reader.c - tables and streams from files of any format: missing values, kinds, words, sizes.
 */
#define _XOPEN_SOURCE 700 /* truncate */

#include "asserts.h"

#include <zlib.h>

#include "base/alloc.h"
#include "read_help.h"

/* What a sink was told. */
typedef struct heard {
    char text[1024];
    double now, step; /* of a clock that moves by step when it is read */
    int reports;
    wm_progress last;
} heard;

static void hear(void *ctx, wm_log_level level, const char *text)
{
    heard *h = ctx;
    const size_t n = strlen(h->text);

    snprintf(h->text + n, sizeof h->text - n, "%s%s\n", level == WM_LOG_WARN ? "! " : "", text);
}

static void hear_progress(void *ctx, const wm_progress *p)
{
    heard *h = ctx;

    h->reports++;
    h->last = *p;
}

static double tick(void *ctx)
{
    heard *h = ctx;

    return h->now += h->step;
}

static void listen(wm_read_opts *opts, wm_sink *sink, heard *h)
{
    *h = (heard){.step = 0};
    wm_read_opts_init(opts);
    wm_sink_init(sink);
    sink->ctx = h;
    sink->log = hear;
    sink->progress = hear_progress;
    sink->clock = tick;
    opts->sink = sink;
}

static const char *write_text(const char *name, const char *text)
{
    wm_error err;

    assert_ok(wmi_file_write(scratch(name), text, strlen(text), &err), err);
    return scratch(name);
}

/* (4, 2) with holes in rows 2 and 3. */
static const double holes[8] = {1.5, 10, NAN, 20, 3, NAN, 4.5, 40};

static const char *npy_with_holes(void)
{
    return make_npy("h.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 2), }",
                    holes, sizeof holes);
}

static void missing_values(void **state)
{
    static const char *const files[] = {"h.npy", "h.csv"};
    wm_read_opts opts;
    wm_sink sink;
    wm_data *d;
    heard h;

    (void)state;
    npy_with_holes();
    write_text("h.csv", "a,b\n1.5,10.0\n,20\n3,NA\n4.5,40\n");
    for (int i = 0; i < 2; i++) {
        listen(&opts, &sink, &h);
        expect_refused(scratch(files[i]), NULL, &opts, WM_EINVAL,
                       i ? "h.csv: line 3, column 1 ('a'): the value is missing"
                         : "h.npy: row 2, column 1: the value is missing");
        assert_string_equal(h.text, "");

        opts.missing = WM_MISSING_DROP;
        d = read_table(scratch(files[i]), NULL, &opts);
        assert_int_equal(wm_data_count(d), 2);
        assert_memory_equal(wm_data_rows(d), holes, 2 * sizeof *holes);
        assert_memory_equal(wm_data_rows(d) + 2, holes + 6, 2 * sizeof *holes);
        wm_data_free(d);
        assert_non_null(strstr(h.text, "! "));
        assert_non_null(strstr(h.text, "2 of 4 rows have a missing value and were left out\n"));

        listen(&opts, &sink, &h);
        opts.missing = WM_MISSING_MEAN;
        d = read_table(scratch(files[i]), NULL, &opts);
        assert_int_equal(wm_data_count(d), 4);
        assert_near(wm_data_rows(d)[2], 3, 1e-15);
        assert_near(wm_data_rows(d)[5], 70.0 / 3, 1e-14);
        wm_data_free(d);
        assert_non_null(strstr(h.text, "2 missing values were filled in with the mean"));
    }
    opts.missing = WM_MISSING_DROP;
    expect_refused(write_text("e.csv", "a,b\n1,NA\nNA,2\n"), NULL, &opts, WM_EINVAL,
                   "every one of its 2 rows has a missing value");
}

static void text_and_numbers_in_one_table(void **state)
{
    wm_read_opts opts;
    wm_sink sink;
    wm_schema *s;
    wm_data *d;
    heard h;

    (void)state;
    listen(&opts, &sink, &h);
    opts.missing = WM_MISSING_MEAN;
    write_text("m.csv", "x,n,c\n0.5,1,red\n1.5,2,blue\n2.5,4,\n?,2,red\n");
    d = read_table(scratch("m.csv"), &s, &opts);
    assert_int_equal(wm_schema_kind(s, 0), WM_KIND_CONTINUOUS);
    assert_int_equal(wm_schema_kind(s, 1), WM_KIND_INTEGER);
    assert_int_equal(wm_schema_kind(s, 2), WM_KIND_CATEGORICAL);
    assert_near(wm_data_rows(d)[9], 1.5, 1e-15);
    assert_string_equal(wm_schema_level(s, 2, (int64_t)wm_data_rows(d)[8]), "red");
    assert_non_null(strstr(h.text, "m.csv: 1 continuous, 1 integer, 1 categorical columns\n"));
    wm_data_free(d);
    expect_refused(
        make_npy("w.npy", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1,2)}", "12", 2),
        s, NULL, WM_ESHAPE, "w.npy: 2 columns, expected 3");
    wm_schema_free(s);
}

static void kinds_that_are_told(void **state)
{
    const double x[6] = {1, 0.5, 2, 0.5, 1, 0.25};
    wm_read_opts opts;
    wm_schema *s;

    (void)state;
    make_npy("k.npy", 1, "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }", x, sizeof x);
    wm_read_opts_init(&opts);
    opts.integer = "1";
    expect_refused(scratch("k.npy"), NULL, &opts, WM_EINVAL,
                   "k.npy: row 2, column 1: 0.5 is not whole, but the column is to be integer");
    opts.integer = NULL;
    opts.categorical = "all";
    wm_data_free(read_table(scratch("k.npy"), &s, &opts));
    for (int j = 0; j < 3; j++)
        assert_int_equal(wm_schema_levels(s, j), 2);
    assert_string_equal(wm_schema_level(s, 2, 0), "0.25");
    wm_schema_free(s);
    opts.categorical = "1";
    opts.continuous = "1,2";
    expect_refused(scratch("k.npy"), NULL, &opts, WM_EINVAL, "");
    opts.categorical = "4";
    expect_refused(scratch("k.npy"), NULL, &opts, WM_EINVAL, "'4' is no column");
}

static void progress_comes_after_two_seconds(void **state)
{
    wm_read_opts opts;
    wm_sink sink;
    heard h;
    wm_error err;
    char *text = NULL;
    const int64_t n = 1200000;

    (void)state;
    /* Three blocks and a half of numbers. */
    assert_ok(wmi_alloc(&text, 2 * n + 1, 1, "text", &err), err);
    for (int64_t i = 0; i < n; i++)
        text[2 * i] = '7', text[2 * i + 1] = '\n';
    write_text("p.csv", text);
    wmi_free(text);
    listen(&opts, &sink, &h);
    h.step = 0.01;
    wm_data_free(read_table(scratch("p.csv"), NULL, &opts));
    assert_int_equal(h.reports, 0);
    listen(&opts, &sink, &h);
    h.step = 1.5;
    wm_data_free(read_table(scratch("p.csv"), NULL, &opts));
    assert_true(h.reports >= 2); /* of the look that finds the kinds, too */
    assert_int_equal(h.last.done, n);
    assert_string_equal(h.last.unit, "rows");
}

/* A table whose size is not known beforehand grows as it comes. */
static void a_large_gzipped_array(void **state)
{
    enum { ROWS = 600000, DIM = 3 };
    const char dict[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (600000, 3), }";
    unsigned char head[128];
    float row[DIM];
    wm_data *d;
    gzFile f = gzopen(scratch("g.npy.gz"), "wb1");

    (void)state;
    gzwrite(f, head, (unsigned)npy_head(head, sizeof head, 1, dict));
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < DIM; j++)
            row[j] = (float)(i + j) / 8;
        gzwrite(f, row, sizeof row);
    }
    assert_int_equal(gzclose(f), Z_OK);
    d = read_table(scratch("g.npy.gz"), NULL, NULL);
    assert_int_equal(wm_data_count(d), ROWS);
    for (int64_t i = 0; i < ROWS * DIM; i++)
        assert_true(wm_data_rows(d)[i] == (double)(i / DIM + i % DIM) / 8);
    wm_data_free(d);
}

/* Bytes of this process in memory. */
static int64_t resident(void)
{
    long pages = 0, all = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (!f || fscanf(f, "%ld %ld", &all, &pages) != 2) /* NOLINT: two numbers of the kernel's */
        pages = 0;
    if (f)
        fclose(f);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

/* 128 MiB of holes, streamed: what was read does not stay. */
static void streaming_takes_constant_memory(void **state)
{
    static double rows[1000 * 8];
    static const char *const orders[] = {"False", "True"};
    wm_error err;

    (void)state;
    for (int k = 0; k < 2; k++) {
        char dict[128];
        wm_reader *r;
        int64_t got = 1, n = 0, most = 0, start;

        snprintf(dict, sizeof dict,
                 "{'descr': '<f4', 'fortran_order': %s, 'shape': (4194304, 8), }", orders[k]);
        make_npy("big.npy", 1, dict, NULL, 0);
        assert_int_equal(
            truncate(scratch("big.npy"), (off_t)(10 + strlen(dict) + 1 + (INT64_C(128) << 20))), 0);
        start = resident();
        assert_ok(wm_reader_open(&r, scratch("big.npy"), NULL, NULL, &err), err);
        while (got) {
            assert_ok(wm_reader_next(r, 1000, rows, &got, NULL, &err), err);
            n += got;
            if (n % 100000 == 0)
                most = resident() > most ? resident() : most;
        }
        wm_reader_close(r);
        assert_int_equal(n, 4194304);
        if (most - start > INT64_C(48) << 20)
            fail_msg("%d MiB resident", (int)((most - start) >> 20));
    }
}

static void a_stream_is_the_table_in_pieces(void **state)
{
    static const char csv[] = "x,c\n1,a\n2,b\n3,a\n4,b\n5,a\n";
    double rows[10];
    wm_schema *s;
    wm_error err;
    wm_data *d;

    (void)state;
    d = read_table(write_text("s.csv", csv), &s, NULL);
    for (int64_t max = 1; max <= 6; max++) {
        int64_t got = 1, n = 0, first;
        wm_reader *r;

        assert_ok(wm_reader_open(&r, scratch("s.csv"), s, NULL, &err), err);
        assert_int_equal(wm_reader_dim(r), 2);
        while (got) {
            assert_ok(wm_reader_next(r, max, rows + 2 * (n < 5 ? n : 0), &got, &first, &err), err);
            assert_int_equal(first, n);
            n += got;
        }
        assert_int_equal(n, 5);
        assert_memory_equal(rows, wm_data_rows(d), sizeof rows);
        wm_reader_close(r);
    }
    wm_reader_close(NULL);
    wm_data_free(d);
    wm_schema_free(s);
}

/* Tables that are read together miss no value in a way that tells them apart. */
static void tables_are_filled_with_one_mean(void **state)
{
    const double x[3] = {1.5, NAN, 2.5}, y[3] = {NAN, 8.25, 7.75};
    char path[2][1100];
    const char *paths[2] = {path[0], path[1]};
    wm_data *d[2];
    wm_schema *s;
    wm_read_opts opts;
    wm_error err;

    (void)state;
    make_npy("x.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", x, sizeof x);
    make_npy("y.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", y, sizeof y);
    for (int t = 0; t < 2; t++)
        snprintf(path[t], sizeof path[t], "%s", scratch(t ? "y.npy" : "x.npy"));
    wm_read_opts_init(&opts);
    opts.missing = WM_MISSING_MEAN;
    assert_ok(wm_schema_new(&s, &err), err);
    assert_ok(wm_data_read_tables(d, paths, 2, s, &opts, &err), err);
    assert_near(wm_data_rows(d[0])[1], 5, 1e-15);
    assert_near(wm_data_rows(d[1])[0], 5, 1e-15);
    for (int t = 0; t < 2; t++)
        wm_data_free(d[t]);
    wm_schema_free(s);
}

/* Rows of two tables that belong together: what one lacks, both lose. */
static void pairs_are_dropped_together(void **state)
{
    const double x[6] = {NAN, 1, 2, 3, 4, 5}, y[12] = {0, 10, 1, 11, 2, NAN, 3, 13, NAN, 14, 5, 15};
    wm_schema *s[2];
    wm_data *d[2];
    wm_read_opts opts;
    wm_reader *r;
    int64_t dropped;
    wm_error err;

    (void)state;
    make_npy("x.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }", x, sizeof x);
    make_npy("y.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6, 2), }", y,
             sizeof y);
    wm_read_opts_init(&opts);
    opts.missing = WM_MISSING_KEEP;
    for (int i = 0; i < 2; i++) {
        assert_ok(wm_schema_new(&s[i], &err), err);
        assert_ok(wm_data_read(&d[i], scratch(i ? "y.npy" : "x.npy"), s[i], &opts, &err), err);
        assert_int_equal(wm_data_count(d[i]), 6);
    }
    assert_ok(wm_data_drop_pairs(d[0], d[1], &dropped, &err), err);
    assert_int_equal(dropped, 3);
    for (int64_t i = 0; i < 3; i++) {
        const double kept[3] = {1, 3, 5};

        assert_near(wm_data_rows(d[0])[i], kept[i], 0);
        assert_near(wm_data_rows(d[1])[2 * i], kept[i], 0);
        assert_near(wm_data_rows(d[1])[2 * i + 1], 10 + kept[i], 0);
    }
    assert_ok(wm_data_drop_pairs(d[0], d[1], &dropped, &err), err);
    assert_int_equal(dropped, 0);
    for (int64_t i = 0; i < 3; i++)
        wm_data_rows_mut(d[1])[2 * i] = NAN;
    assert_int_equal(wm_data_drop_pairs(d[0], d[1], &dropped, &err), WM_EINVAL);
    assert_int_equal(wm_reader_open(&r, scratch("x.npy"), s[0], &opts, &err), WM_EINVAL);
    for (int i = 0; i < 2; i++) {
        wm_data_free(d[i]);
        wm_schema_free(s[i]);
    }
}

static void a_stream_drops_rows(void **state)
{
    /* Runs: 1; 3 and 4; 7. */
    const double x[8] = {NAN, 1, NAN, 3, 4, NAN, NAN, 7};
    double rows[8];
    int64_t got, first;
    wm_read_opts opts;
    wm_reader *r;
    wm_error err;

    (void)state;
    make_npy("d.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (8,), }", x, sizeof x);
    wm_read_opts_init(&opts);
    opts.missing = WM_MISSING_DROP;
    assert_ok(wm_reader_open(&r, scratch("d.npy"), NULL, &opts, &err), err);
    assert_ok(wm_reader_next(r, 8, rows, &got, &first, &err), err);
    assert_true(got == 1 && first == 1 && rows[0] == 1);
    assert_ok(wm_reader_next(r, 1, rows, &got, &first, &err), err);
    assert_true(got == 1 && first == 3 && rows[0] == 3);
    assert_ok(wm_reader_next(r, 8, rows, &got, &first, &err), err);
    assert_true(got == 1 && first == 4 && rows[0] == 4);
    assert_ok(wm_reader_next(r, 8, rows, &got, &first, &err), err);
    assert_true(got == 1 && first == 7 && rows[0] == 7);
    for (int i = 0; i < 2; i++) {
        assert_ok(wm_reader_next(r, 8, rows, &got, NULL, &err), err);
        assert_int_equal(got, 0);
    }
    wm_reader_close(r);
    opts.missing = WM_MISSING_REFUSE;
    assert_ok(wm_reader_open(&r, scratch("d.npy"), NULL, &opts, &err), err);
    assert_int_equal(wm_reader_next(r, 8, rows, &got, NULL, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "d.npy: row 1, column 1: the value is missing"));
    assert_non_null(strstr(err.text, "can be dropped"));
    assert_string_equal(err.topic, "missing");
    assert_null(strstr(err.text, "mean")); /* a stream has none */
    assert_int_equal(wm_reader_next(r, 0, rows, &got, NULL, &err), WM_EINVAL);
    wm_reader_close(r);
    opts.missing = WM_MISSING_MEAN;
    assert_int_equal(wm_reader_open(&r, scratch("d.npy"), NULL, &opts, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "a mean for missing values is not known"));
}

static void a_stream_knows_its_levels(void **state)
{
    const double x[6] = {5, 0.5, 7, 0.25, 5, 1};
    const char dict[] = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }";
    double rows[6], y[6];
    wm_schema *s, *empty;
    wm_read_opts opts;
    int64_t got;
    wm_reader *r;
    wm_error err;

    (void)state;
    wm_read_opts_init(&opts);
    opts.categorical = "1";
    wm_data_free(read_table(make_npy("l.npy", 1, dict, x, sizeof x), &s, &opts));
    assert_ok(wm_reader_open(&r, scratch("l.npy"), s, NULL, &err), err);
    assert_ok(wm_reader_next(r, 3, rows, &got, NULL, &err), err);
    assert_true(rows[0] == 0 && rows[2] == 1 && rows[4] == 0 && rows[3] == 0.25);
    wm_reader_close(r);
    memcpy(y, x, sizeof x);
    y[4] = 6;
    assert_ok(wm_reader_open(&r, make_npy("n.npy", 1, dict, y, sizeof y), s, NULL, &err), err);
    assert_ok(wm_reader_next(r, 2, rows, &got, NULL, &err), err);
    assert_int_equal(wm_reader_next(r, 2, rows, &got, NULL, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "n.npy: row 3, column 1: 6 is none of its 2 levels (5, 7)"));
    assert_int_equal(got, 0);
    wm_reader_close(r);
    assert_int_equal(wm_reader_open(&r, write_text("3.csv", "1,2,3\n"), s, NULL, &err), WM_ESHAPE);
    assert_int_equal(
        wm_reader_open(
            &r, make_npy("1.npy", 1, "{'descr':'<f8','fortran_order':False,'shape':(2,)}", x, 16),
            s, NULL, &err),
        WM_ESHAPE);
    assert_ok(wm_schema_new(&empty, &err), err);
    assert_int_equal(wm_reader_open(&r, scratch("l.npy"), empty, NULL, &err), WM_EINVAL);
    wm_schema_free(empty);
    wm_schema_free(s);
}

static void an_array_without_rows_is_an_empty_stream(void **state)
{
    double rows[2];
    int64_t got = 1;
    wm_reader *r;
    wm_error err;

    (void)state;
    make_npy("z.npy", 1, "{'descr': '<f8', 'fortran_order': True, 'shape': (0, 2), }", NULL, 0);
    assert_ok(wm_reader_open(&r, scratch("z.npy"), NULL, NULL, &err), err);
    assert_int_equal(wm_reader_count(r), 0);
    assert_ok(wm_reader_next(r, 1, rows, &got, NULL, &err), err);
    assert_int_equal(got, 0);
    wm_reader_close(r);
}

static void want_of_memory_leaves_nothing_behind(void **state)
{
    wm_read_opts opts;
    int failed = 0;

    (void)state;
    wm_read_opts_init(&opts);
    write_text("m.csv", "x,c\n0.5,red\n1.5,blue\n?,red\n");
    npy_with_holes();
    for (int file = 0; file < 2; file++)
        for (int stream = 0; stream < 2; stream++) {
            wm_status st = WM_ENOMEM;

            opts.categorical = stream ? NULL : "2";
            opts.missing = stream ? WM_MISSING_DROP : WM_MISSING_MEAN;
            for (int64_t k = 1; st; k++) {
                const char *path = file ? scratch("h.npy") : scratch("m.csv");
                const int64_t live = wmi_alloc_live();
                wm_data *d = NULL;
                wm_reader *r = NULL;
                wm_schema *s;
                wm_error err;

                if (stream) {
                    wm_data_free(read_table(path, &s, &opts));
                    wmi_alloc_fail_at(k);
                    st = wm_reader_open(&r, path, s, &opts, &err);
                } else {
                    assert_ok(wm_schema_new(&s, &err), err);
                    wmi_alloc_fail_at(k);
                    st = wm_data_read(&d, path, s, &opts, &err);
                }
                wmi_alloc_fail_at(0);
                assert_true(st == WM_OK || st == WM_ENOMEM);
                failed += st == WM_ENOMEM;
                wm_reader_close(r);
                wm_data_free(d);
                wm_schema_free(s);
                assert_int_equal(wmi_alloc_live(), live);
            }
        }
    assert_true(failed > 30);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

static void a_stream_knows_the_shape_of_its_rows(void **state)
{
    static const struct {
        const char *shape;
        int axes;
        int64_t want[3];
    } cases[] = {{"(24,)", 1, {1, 1, 1}},
                 {"(4, 6)", 1, {6, 1, 1}},
                 {"(2, 3, 4)", 2, {3, 4, 1}},
                 {"(1, 2, 4, 3)", 3, {2, 4, 3}},
                 {"(1, 2, 2, 2, 3)", 1, {24, 1, 1}}};
    uint8_t bytes[24] = {0};
    int64_t shape[3];
    wm_reader *r;
    wm_error err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char dict[128];

        snprintf(dict, sizeof dict, "{'descr': '|u1', 'fortran_order': False, 'shape': %s, }",
                 cases[i].shape);
        make_npy("shape.npy", 1, dict, bytes, sizeof bytes);
        assert_ok(wm_reader_open(&r, scratch("shape.npy"), NULL, NULL, &err), err);
        assert_int_equal(wm_reader_shape(r, shape), cases[i].axes);
        for (int k = 0; k < 3; k++)
            assert_int_equal(shape[k], cases[i].want[k]);
        wm_reader_close(r);
    }
    assert_ok(wm_reader_open(&r, write_text("shape.csv", "a,b\n1,2\n3,4\n"), NULL, NULL, &err),
              err);
    assert_int_equal(wm_reader_shape(r, shape), 1);
    assert_int_equal(shape[0], 2);
    wm_reader_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(missing_values),
        TEST(text_and_numbers_in_one_table),
        TEST(kinds_that_are_told),
        TEST(progress_comes_after_two_seconds),
        TEST(a_large_gzipped_array),
        TEST(streaming_takes_constant_memory),
        TEST(a_stream_is_the_table_in_pieces),
        TEST(tables_are_filled_with_one_mean),
        TEST(pairs_are_dropped_together),
        TEST(a_stream_drops_rows),
        TEST(a_stream_knows_its_levels),
        TEST(a_stream_knows_the_shape_of_its_rows),
        TEST(an_array_without_rows_is_an_empty_stream),
        TEST(want_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
