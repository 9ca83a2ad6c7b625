/* test_traps.c - every table under traps/ is read, or refused, as its EXPECTED list says: columns,
 * a row, what is said. */
#include "asserts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "data/table/number.h"
#include "waymark/read.h"

static int wrong; /* says every difference, not only the first */
#define differ(...)                                                                                \
    do {                                                                                           \
        print_error(__VA_ARGS__);                                                                  \
        wrong++;                                                                                   \
    } while (0)

typedef struct heard {
    char text[4096];
} heard;

static void hear(void *ctx, wm_log_level level, const char *line)
{
    heard *h = ctx;
    const size_t n = strlen(h->text);

    (void)level;
    /* which kinds there are is said of any table */
    if (!strstr(line, " columns") && !strstr(line, " column\n"))
        snprintf(h->text + n, sizeof h->text - n, "%s\n", line);
}

static void describe_columns(const wm_schema *s, char *buf, size_t size)
{
    size_t at = 0;

    *buf = '\0';
    for (int64_t j = 0; j < wm_schema_dim(s); j++) {
        static const char *const kinds[] = {"continuous", "integer", "categorical"};
        const char *name = wm_schema_name(s, j);

        at += (size_t)snprintf(buf + at, size - at, "%s%s:%s", j ? " " : "", name ? name : "-",
                               kinds[wm_schema_kind(s, j)]);
        for (int64_t l = 0; l < wm_schema_levels(s, j); l++)
            at += (size_t)snprintf(buf + at, size - at, "%s%s", l ? " " : "[",
                                   wm_schema_level(s, j, l));
        if (wm_schema_levels(s, j))
            at += (size_t)snprintf(buf + at, size - at, "]");
    }
}

static void describe_row(const wm_data *d, char *buf, size_t size)
{
    const double *x = wm_data_rows(d) + (wm_data_count(d) - 1) * wm_data_dim(d);
    char number[WMI_NUMBER_TEXT];
    size_t at = 0;

    *buf = '\0';
    for (int64_t j = 0; j < wm_data_dim(d); j++)
        at += (size_t)snprintf(buf + at, size - at, "%s%s", j ? " " : "",
                               wmi_number_text(x[j], number));
}

static void check_words(const char *file, const char *words, const heard *h)
{
    char part[512];

    if (strcmp(words, "-") == 0) {
        if (*h->text)
            differ("%s: said '%s', expected nothing\n", file, h->text);
        return;
    }
    for (const char *p = words;; p++) {
        const size_t n = strcspn(p, "|");

        snprintf(part, sizeof part, "%.*s", (int)n, p);
        if (!strstr(h->text, part))
            differ("%s: said '%s', expected '%s'\n", file, h->text, part);
        p += n;
        if (!*p)
            break;
    }
}

static void check(char *file, const char *columns, const char *row, const char *words)
{
    const int64_t live = wmi_alloc_live();
    const bool refused = strcmp(columns, "!") == 0;
    char *plus = strchr(file, '+'), path[2][1100], text[4096];
    const char *paths[2] = {path[0], path[1]};
    wm_data *d[2] = {NULL, NULL};
    const int n = plus ? 2 : 1;
    heard h = {""};
    const wm_sink sink = {.ctx = &h, .log = hear};
    wm_read_opts opts;
    wm_schema *s;
    wm_error err = {0};
    wm_status st;

    if (plus)
        *plus = '\0';
    snprintf(path[0], sizeof path[0], "traps/%s", file);
    snprintf(path[1], sizeof path[1], "traps/%s", plus ? plus + 1 : "");
    wm_read_opts_init(&opts);
    opts.sink = &sink;
    opts.missing = WM_MISSING_KEEP;
    assert_ok(wm_schema_new(&s, &err), err);
    st = wm_data_read_tables(d, paths, n, s, &opts, &err);
    if (refused) {
        if (!st || !strstr(err.text, row))
            differ("%s: '%s', expected '%s'\n", file, st ? err.text : "was read", row);
    } else if (st) {
        differ("%s: '%s'\n", file, err.text);
    } else {
        describe_columns(s, text, sizeof text);
        if (*columns != '-' && strcmp(text, columns) != 0)
            differ("%s: columns '%s', expected '%s'\n", file, text, columns);
        describe_row(d[n - 1], text, sizeof text);
        if (*row != '-' && strcmp(text, row) != 0)
            differ("%s: row '%s', expected '%s'\n", file, text, row);
        check_words(plus ? plus + 1 : file, words, &h);
    }
    wm_data_free(d[0]);
    wm_data_free(d[1]);
    wm_schema_free(s);
    if (wmi_alloc_live() != live)
        differ("%s: leaks\n", file);
}

static void traps_are_read_as_they_should(void **state)
{
    FILE *f = fopen("traps/EXPECTED", "r");
    char line[1024];
    int n = 0;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char *part[4] = {line, line, line, line};

        line[strcspn(line, "\n")] = '\0';
        if (*line == '#' || !*line)
            continue;
        for (int i = 1; i < 4; i++) {
            part[i] = part[i - 1] + strcspn(part[i - 1], "\t");
            if (*part[i])
                *part[i]++ = '\0';
        }
        if (!*part[2])
            fail_msg("traps/EXPECTED: too few tabs in '%s'", line);
        check(part[0], part[1], part[2], part[3]);
        n++;
    }
    fclose(f);
    assert_true(n > 40);
    assert_int_equal(wrong, 0);
}

/* What a schema keeps is enough to read a later file in the same way. */
static void a_schema_repeats_what_was_found(void **state)
{
    static const char *const files[] = {"dates_german.csv",     "booleans.csv", "currency.csv",
                                        "thousands_points.csv", "percent.csv",  "index.csv",
                                        "all_missing.csv",      "dates_uk.csv"};
    char path[64], *text;
    wm_error err;

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        wm_schema *s, *fixed;
        wm_reader *r;
        wm_data *d;
        double row[8];
        int64_t got = 1, n = 0;

        snprintf(path, sizeof path, "traps/%s", files[i]);
        assert_ok(wm_schema_new(&s, &err), err);
        assert_ok(wm_data_read(&d, path, s, NULL, &err), err);
        assert_ok(wm_schema_write(s, &text, &err), err);
        assert_ok(wm_schema_parse(&fixed, text, &err), err);
        assert_ok(wm_reader_open(&r, path, fixed, NULL, &err), err);
        assert_int_equal(wm_reader_dim(r), wm_data_dim(d));
        for (; got; n += got) {
            assert_ok(wm_reader_next(r, 1, row, &got, NULL, &err), err);
            if (got)
                assert_memory_equal(row, wm_data_rows(d) + n * wm_data_dim(d),
                                    (size_t)wm_data_dim(d) * sizeof *row);
        }
        assert_int_equal(n, wm_data_count(d));
        wm_reader_close(r);
        wm_text_free(text);
        wm_schema_free(fixed);
        wm_schema_free(s);
        wm_data_free(d);
    }
}

/* Lists choose columns, and a model's file without names is read by places. */
static void lists_choose(void **state)
{
    static const struct {
        const char *columns, *drop, *left;
    } cases[] = {
        {"c,a", NULL, "c:integer a:continuous"},
        {"2-3", NULL, "b:categorical[blue red] c:integer"},
        {NULL, "b", "a:continuous c:integer"},
        {NULL, "2,?", "!no column is left"},
        {"[ab]", NULL, "a:continuous b:categorical[blue red]"},
        {"all", "3", "a:continuous b:categorical[blue red]"},
        {"a,nix", NULL, "!'nix' is no column: give names, or numbers from 1 to 3"},
        {"2-9", NULL, "!'2-9' is no column"},
    };
    wm_error err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wm_read_opts opts;
        wm_data *d = NULL;
        wm_schema *s;
        char text[256];

        wm_read_opts_init(&opts);
        opts.columns = cases[i].columns;
        opts.drop = cases[i].drop;
        assert_ok(wm_schema_new(&s, &err), err);
        if (*cases[i].left == '!') {
            assert_int_equal(wm_data_read(&d, "traps/p.csv", s, &opts, &err), WM_EINVAL);
            if (!strstr(err.text, cases[i].left + 1))
                fail_msg("'%s', expected '%s'", err.text, cases[i].left + 1);
        } else {
            assert_ok(wm_data_read(&d, "traps/p.csv", s, &opts, &err), err);
            describe_columns(s, text, sizeof text);
            assert_string_equal(text, cases[i].left);
        }
        wm_data_free(d);
        wm_schema_free(s);
    }
}

static void places_are_kept(void **state)
{
    static const char json[] = "{\"width\":3,\"columns\":[{\"name\":\"a\",\"kind\":\"continuous\"},"
                               "{\"name\":\"c\",\"kind\":\"integer\",\"number\":3}]}";
    double row[2];
    wm_reader *r;
    wm_schema *s;
    int64_t got;
    wm_error err;

    (void)state;
    assert_ok(wm_schema_parse(&s, json, &err), err);
    assert_ok(wm_reader_open(&r, "traps/q_headerless.csv", s, NULL, &err), err);
    assert_ok(wm_reader_next(r, 1, row, &got, NULL, &err), err);
    assert_true(row[0] == 3.5 && row[1] == 5);
    wm_reader_close(r);
    wm_schema_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traps_are_read_as_they_should),
        cmocka_unit_test(a_schema_repeats_what_was_found),
        cmocka_unit_test(lists_choose),
        cmocka_unit_test(places_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
