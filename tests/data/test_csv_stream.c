/* test_csv_stream.c - text tables a block at a time, from pipes, large and random ones. */
#include "csv_fixture.h"

static void streaming_keeps_to_its_schema(void **state)
{
    static const char json[] =
        "{\"columns\":[{\"name\":\"x\",\"kind\":\"continuous\"},{\"name\":\"k\",\"kind\":"
        "\"categorical\",\"levels\":[\"red\",\"blue\",\"7\"]}]}";
    wm_schema *fixed;
    table t = {.schema = NULL};
    wm_error err;

    (void)state;
    assert_ok(wm_schema_parse(&fixed, json, &err), err);
    for (int loading = 0; loading < 2; loading++) {
        const wmi_source_file file = {.header = -1,
                                      .schema = loading ? fixed : NULL,
                                      .fixed = loading ? NULL : fixed,
                                      .continuous = loading ? "k" : NULL};
        static const struct {
            const char *text, *words; /* NULL: is read as 1, 1, 2, 0 */
        } cases[] = {
            {"x,k\n1,blue\n2,red\n", NULL},
            {"1,blue\n2,red\n", NULL},
            {"1;\"blue\"\n2;red\n", NULL},
            {"x,k\n1,blue\n2,mauve\n",
             "t.csv:3: column 2 ('k'): 'mauve' is no level of this column (it has red, blue, 7)"},
            {"1,blue\nabc,red\n1,red\n",
             "t.csv:2: column 1 ('x'): 'abc' is not a number, which this column was before"},
            {"y,k\n1,blue\n",
             "t.csv: has no column 'x', which the model was fitted on; it has 'y'"},
            {"k,y,x\nblue,?,1\nred,4,2\n", NULL},
            {"1\n2\n", "t.csv: 1 column, expected 2"},
            {"1,blue\n2\n", "t.csv:2: 1 column, expected 2"},
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const wm_status st =
                read_text(&t, cases[i].text, strlen(cases[i].text), file, &wmi_format_csv);

            if (cases[i].words)
                refused(&t, st, cases[i].words);
            else if (st)
                fail_msg("%s: %s", cases[i].text, t.err.text);
            else
                values_are(&t, 2, 2, (const double[]){1, 1, 2, 0});
        }
        assert_int_equal(read_text(&t, "1,7.0\n2,NA\n", 11, file, &wmi_format_csv), WM_OK);
        values_are(&t, 2, 2, (const double[]){1, 2, 2, NAN});
    }
    wm_schema_free(fixed);
    /* without a schema: numbers only */
    refused(&t,
            read_text(&t, "a,b\n1,2\n1,x\n", 12, (wmi_source_file){.header = -1}, &wmi_format_csv),
            "t.csv:3: column 2 ('b'): 'x' is not a number");
    assert_string_equal(strstr(t.err.text, "'x'"), "'x' is not a number");
}

/* However long the file: the same number of allocations, and lines that are right to the end. */
static void streaming_takes_constant_memory(void **state)
{
    enum { MAX = 1000 };
    int64_t calls[2];
    static double rows[MAX * 3];

    (void)state;
    for (int k = 0; k < 2; k++) {
        const int64_t n = k ? 200000 : 20000;
        FILE *f = fopen(scratch("long.csv"), "w");
        const int64_t before = wmi_alloc_count();
        wm_reader *r;
        wm_error err;
        int64_t got = 1, first, at = 0;

        assert_non_null(f);
        for (int64_t i = 0; i < n; i++)
            fprintf(f, "%" PRId64 ",%" PRId64 ".25,\"%s%d\"\n", i, i, i % 5 ? "" : " ",
                    (int)(i % 7));
        fclose(f);
        assert_ok(wm_reader_open(&r, scratch("long.csv"), NULL, NULL, &err), err);
        assert_int_equal(wm_reader_dim(r), 3);
        assert_int_equal(wm_reader_count(r), -1);
        while (got) {
            assert_ok(wm_reader_next(r, MAX, rows, &got, &first, &err), err);
            assert_true(first == at || !got);
            for (int64_t i = 0; i < got; i++, at++)
                assert_true(rows[3 * i] == (double)at && rows[3 * i + 1] == (double)at + 0.25 &&
                            rows[3 * i + 2] == (double)(at % 7));
        }
        assert_int_equal(at, n);
        wm_reader_close(r);
        calls[k] = wmi_alloc_count() - before;
    }
    assert_int_equal(calls[0], calls[1]);
}

/* A table that comes through a pipe is read as often as a file. */
static void pipes(void **state)
{
    static const char text[] = "k,x\nred,1.5\nblue,\"2\"\n\"red\",3\n";
    const double want[] = {1, 1.5, 0, 2, 1, 3};
    int ends[2], saved;
    char path[64];
    wm_error err;

    (void)state;
    saved = dup(STDIN_FILENO);
    for (int standard = 0; standard < 2; standard++) {
        wm_schema *s;
        wm_data *d = NULL;

        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], text, sizeof text - 1), sizeof text - 1);
        close(ends[1]);
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        if (standard)
            dup2(ends[0], STDIN_FILENO);
        assert_ok(wm_schema_new(&s, &err), err);
        assert_ok(wm_data_read(&d, standard ? "-" : path, s, NULL, &err), err);
        assert_int_equal(wm_data_count(d), 3);
        assert_memory_equal(wm_data_rows(d), want, sizeof want);
        assert_string_equal(columns(s), "k:categorical[blue red] x:continuous");
        wm_data_free(d);
        wm_schema_free(s);
        close(ends[0]);
    }
    if (saved >= 0) {
        dup2(saved, STDIN_FILENO);
        close(saved);
    }
}

/* More rows than a block of the cursor, and than the buffer: exact values, right lines, and the
 * table read by its public name. */
static void large_tables(void **state)
{
    enum { N = 150000 };
    FILE *f = fopen(scratch("large.csv"), "w");
    wm_schema *s;
    wm_data *d;
    wm_error err = {0};
    const double *x;
    uint64_t u = 1;

    (void)state;
    assert_non_null(f);
    fprintf(f, "x,\"text\nwith lines\",n\r\n");
    for (int i = 0; i < N; i++) {
        u = u * UINT64_C(6364136223846793005) + 1442695040888963407U;
        fprintf(f, "%.17g,\"%c\n%s\",%d\r\n", (double)(u >> 11) * 0x1p-53, 'a' + i % 3,
                i % 2 ? "\"\"" : "", i);
    }
    fclose(f);
    assert_ok(wm_schema_new(&s, &err), err);
    assert_ok(wm_data_read(&d, scratch("large.csv"), s, NULL, &err), err);
    assert_int_equal(wm_data_count(d), N);
    assert_int_equal(wm_schema_levels(s, 1), 6);
    x = wm_data_rows(d);
    u = 1;
    for (int i = 0; i < N; i++, x += 3) {
        u = u * UINT64_C(6364136223846793005) + 1442695040888963407U;
        assert_true(x[0] == (double)(u >> 11) * 0x1p-53);
        assert_true(x[1] == 2 * (i % 3) + (i % 2)); /* "a", "a\n\"", ...: the quote sorts last */
        assert_true(x[2] == i);
    }
    wm_data_free(d);
    wm_schema_free(s);
    /* a value that is missing near the end, with its line */
    f = fopen(scratch("large.csv"), "a");
    assert_non_null(f);
    fprintf(f, "NA,b,1\n");
    fclose(f);
    assert_ok(wm_schema_new(&s, &err), err);
    assert_int_equal(wm_data_read(&d, scratch("large.csv"), s, NULL, &err), WM_EINVAL);
    if (!strstr(err.text, "300003") || !strstr(err.text, "column 1 ('x')")) /* 2 + 2 N + 1 */
        fail_msg("%s", err.text);
    wm_schema_free(s);
}

/* A table of random shape, kinds and quoting is what was written, whatever it is split at. */
static void random_tables(void **state)
{
    static const char *const words[] = {"red", "light blue", "x, y", "a;b", "say \"hi\"", "1st"};
    static char text[1 << 16];
    static double want[MAX_VALUES];
    uint64_t u = 7;

    (void)state;
    for (int round = 0; round < 300; round++) {
        const char delimiter = "\t;|, "[round % 5];
        const int dim = 2 + round % 4, rows = 30 + round % 50;
        size_t n = 0;
        table t;

        for (int j = 0; j < dim; j++)
            n += (size_t)sprintf(text + n, "%s\"col %d\"", j ? (char[]){delimiter, 0} : "", j);
        n += (size_t)sprintf(text + n, "\n");
        for (int i = 0; i < rows * dim; i++) {
            u = u * UINT64_C(6364136223846793005) + 1442695040888963407U;
            if (i % dim)
                text[n++] = delimiter;
            if (i % dim == 0) { /* a text, quoted, with its quotes doubled */
                const char *w = words[i / dim % 6];

                text[n++] = '"';
                for (; *w; w++) {
                    text[n++] = *w;
                    if (*w == '"')
                        text[n++] = '"';
                }
                text[n++] = '"';
            } else {
                want[i] = ldexp((double)(int64_t)u, -(int)((u >> 33) % 80));
                n += (size_t)sprintf(text + n, (u >> 35) % 3 ? "%.17g" : "\"%.17g\"", want[i]);
            }
            if (i % dim == dim - 1)
                n += (size_t)sprintf(text + n, round % 2 ? "\r\n" : "\n");
        }
        load(&t, text);
        assert_int_equal(t.dim, dim);
        assert_int_equal(t.n, rows);
        for (int i = 0; i < rows * dim; i++)
            if (i % dim)
                assert_true(t.x[i] == want[i]);
        assert_string_equal(wm_schema_name(t.schema, 1), "col 1");
        assert_int_equal(wm_schema_kind(t.schema, 0), WM_KIND_CATEGORICAL);
        assert_int_equal(wm_schema_levels(t.schema, 0), 6);
        assert_string_equal(wm_schema_level(t.schema, 0, 0), "1st");
        drop(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streaming_keeps_to_its_schema),
        cmocka_unit_test(streaming_takes_constant_memory),
        cmocka_unit_test(pipes),
        cmocka_unit_test(large_tables),
        cmocka_unit_test(random_tables),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
