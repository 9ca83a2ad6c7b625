/* test_csv.c - text tables: what they are split at, headers, kinds, levels, values, messages. */
#include "csv_fixture.h"

/* --- shape -------------------------------------------------------------------------------------*/

static void delimiters_and_line_ends(void **state)
{
    static const char *const texts[] = {
        "1,-2.5,3\n4,5,6.25\n",
        "1;-2.5;3\n4;5;6.25\n",
        "1\t-2.5\t3\n4\t5\t6.25\n",
        "1|-2.5|3\n4|5|6.25\n",
        "1 -2.5 3\n4 5 6.25\n",
        "   1  -2.5   3   \n   4   5    6.25\n",
        "  1\t-2.5  3\n4 \t5 6.25\n",
        "1, -2.5, 3\n4, 5, 6.25\n",
        "1 ,\t-2.5 , 3 \n 4, 5, 6.25\n",
        "1,-2.5,3\r\n4,5,6.25\r\n",
        "1,-2.5,3\r4,5,6.25\r",
        "1,-2.5,3\n4,5,6.25",
        "\357\273\2771,-2.5,3\n4,5,6.25\n",
        "# made by hand\n#1,2\n1,-2.5,3\n4,5,6.25\n",
        "\n\n1,-2.5,3\n\n4,5,6.25\n\n\n  \n",
        "1,-2.5,3,\n4,5,6.25,\n",
        "1,-2.5,3,\n4,5,6.25\n",
        "a,b,c\n1,-2.5,3,\n4,5,6.25,\n",
        "a,b,c,\n1,-2.5,3,\n4,5,6.25,\n",
        "a;b;c\n1;-2.5;3\n4;5;6.25\n",
        "a b c\n1 -2.5 3\n4 5 6.25\n",
        "\"1\",\"-2.5\",3\n\"4\",5,\" 6.25 \"\n",
        "\"a,1\",\"b\nc\",\"d\"\"\"\n1,-2.5,3\n4,5,6.25\n",
        "+1,-25e-1,3e0\n4.0,.5e1,6.25\n",
    };
    const double want[] = {1, -2.5, 3, 4, 5, 6.25};
    table t = {.schema = NULL};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        load(&t, texts[i]);
        if (t.dim != 3 || t.n != 2)
            fail_msg("%" PRId64 " x %" PRId64 ":\n%s", t.n, t.dim, texts[i]);
        values_are(&t, 3, 2, want);
        assert_int_equal(t.count, 2);
        drop(&t);
        /* the same without a look at everything */
        if (read_text(&t, texts[i], strlen(texts[i]), (wmi_source_file){.header = -1},
                      &wmi_format_csv))
            fail_msg("%s: %s", texts[i], t.err.text);
        values_are(&t, 3, 2, want);
        assert_int_equal(t.count, -1);
    }
}

static void one_column(void **state)
{
    const double plain[] = {1, 2.5, 3}, gap[] = {1, NAN, NAN, 3};
    table t = {.schema = NULL};

    (void)state;
    load(&t, "1\n2.5\n3\n");
    values_are(&t, 1, 3, plain);
    drop(&t);
    load(&t, "x\r\n1\r\n2.5\r\n3\r\n\r\n");
    values_are(&t, 1, 3, plain);
    assert_string_equal(t.where, "line 4");
    drop(&t);
    /* a line left blank between others is a value that is missing */
    load(&t, "  \n1\n\n \n3\n\n\n");
    values_are(&t, 1, 4, gap);
    assert_string_equal(t.where, "line 4");
    drop(&t);
    load(&t, "New York\nSan Francisco\nNew York\n");
    assert_string_equal(columns(t.schema), "-:categorical[New York San Francisco]");
    values_are(&t, 1, 3, (const double[]){0, 1, 0});
    drop(&t);
}

static void tsv_by_name(void **state)
{
    table t = {.schema = NULL};

    (void)state;
    assert_int_equal(
        read_text(&t, "1\t2\n3\t4\n", 8, (wmi_source_file){.header = -1}, &wmi_format_tsv), WM_OK);
    values_are(&t, 2, 2, (const double[]){1, 2, 3, 4});
    /* told tabs, it does not see commas */
    refused(&t, read_text(&t, "1,2\nx,4\n", 8, (wmi_source_file){.header = 0}, &wmi_format_tsv),
            "t.csv:1: column 1: '1,2' has a decimal comma");
    assert_true(wmi_format_csv.sniff((const unsigned char *)"a,b", 3));
    assert_true(wmi_format_csv.sniff((const unsigned char *)"", 0));
    assert_true(wmi_format_csv.sniff((const unsigned char *)"\xff\xfe"
                                                            "a\0",
                                     4));
    assert_false(wmi_format_csv.sniff((const unsigned char *)"a\0\0b", 4));
    assert_false(wmi_format_tsv.sniff((const unsigned char *)"a\tb", 3));
}

static void missing_marks(void **state)
{
    const double want[] = {1, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 2, NAN};
    table t = {.schema = NULL};

    (void)state;
    load(&t, "x,y\n1,\nNA,N/A\nNaN,nan\nnull,NULL\nNone,?\n\"\",\"NA\"\n 2 , -nan \n");
    values_are(&t, 2, 7, want);
    assert_string_equal(columns(t.schema), "x:integer y:continuous");
    drop(&t);
    load(&t, "x,y\nred,1\nNA,2\n,3\nred,4\n");
    assert_string_equal(columns(t.schema), "x:categorical[red] y:integer");
    values_are(&t, 2, 4, (const double[]){0, 1, NAN, 2, NAN, 3, 0, 4});
    drop(&t);
    load(&t, "1,inf\n2,-Inf\n3,+infinity\n");
    values_are(&t, 2, 3, (const double[]){1, INFINITY, 2, -INFINITY, 3, INFINITY});
    drop(&t);
}

static void headers(void **state)
{
    static const struct {
        const char *text, *columns;
        int64_t rows;
    } cases[] = {
        {"X0,X1,Y0\n1.5,2.5,3.5\n", "X0:continuous X1:continuous Y0:continuous", 1},
        {"0,1,2\n3,4,5\n", "-:integer -:integer -:integer", 2},
        {"id,2019,2020\n1,2,3\n", "id:integer 2019:integer 2020:integer", 1},
        {",x,y\n0,1.5,2\n1,2.5,3\n", "-:continuous x:continuous y:integer", 2}, /* an index */
        {"a,b\nx,y\nz,y\n", "a:categorical[x z] b:categorical[y]", 2},
        {"x,y\nx,z\nx,y\n", "-:categorical[x] -:categorical[y z]", 3},
        {"x,x\nu,v\nw,v\n", "-:categorical[u w x] -:categorical[v x]", 3},
        {"x,x\n1,2\n3,4\n", "x:integer x:integer", 2},
        {"a,,a,\n1,2,3,4\n", "a:integer -:integer a:integer -:integer", 1},
        {"NA,1\n2,3\n", "-:integer -:integer", 2},
        {"a,1\nb,2\nc,3\n", "-:categorical[a b c] -:integer", 3},
        {"name,age\nAda,36\nAlan,41\n", "name:categorical[Ada Alan] age:integer", 2},
        {"1.5,a\n2.5,b\n", "-:continuous -:categorical[a b]", 2},
        {"\"x, y\"\t\"z\"\n1\t2\n", "x, y:integer z:integer", 1},
    };
    table t = {.schema = NULL};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        load(&t, cases[i].text);
        assert_string_equal(columns(t.schema), cases[i].columns);
        assert_int_equal(t.n, cases[i].rows);
        drop(&t);
    }
    assert_int_equal(load_with(&t, "0,1\n3,4\n", (wmi_source_file){.header = 1}), WM_OK);
    assert_string_equal(columns(t.schema), "0:integer 1:integer");
    drop(&t);
    assert_int_equal(load_with(&t, "a\nb\n", (wmi_source_file){.header = 0}), WM_OK);
    assert_string_equal(columns(t.schema), "-:categorical[a b]");
    drop(&t);
    assert_int_equal(load_with(&t, "a,b\n1,2\n1,3\n", (wmi_source_file){.header = 0}), WM_OK);
    assert_string_equal(columns(t.schema), "-:categorical[1 a] -:categorical[2 3 b]");
    drop(&t);
}

/* The first line of a later table is a header if it has the earlier one's names. */
static void header_of_a_known_table(void **state)
{
    table t = {.schema = NULL};

    (void)state;
    assert_int_equal(load_with(&t, "0,1\n3.5,4\n", (wmi_source_file){.header = 1}), WM_OK);
    assert_int_equal(read_text(&t, "0,1\n7,8\n", 8,
                               (wmi_source_file){.header = -1, .schema = t.schema},
                               &wmi_format_csv),
                     WM_OK);
    values_are(&t, 2, 1, (const double[]){7, 8});
    assert_int_equal(read_text(&t, "0,2\n7,8\n", 8,
                               (wmi_source_file){.header = -1, .schema = t.schema},
                               &wmi_format_csv),
                     WM_OK);
    assert_int_equal(t.n, 2);
    drop(&t);
}

/* --- kinds and levels --------------------------------------------------------------------------*/

static void kinds_of_columns(void **state)
{
    table t = {.schema = NULL}, u = {.schema = NULL};

    (void)state;
    load(&t, "a,b,c,d,e\n1,1.0,x,TRUE,1e+05\n2,2.0,y,FALSE,3\n-3,2.5,x,TRUE,4\n");
    assert_string_equal(columns(t.schema),
                        "a:integer b:continuous c:categorical[x y] d:categorical[FALSE TRUE] "
                        "e:integer");
    values_are(&t, 5, 3, (const double[]){1, 1, 0, 1, 1e5, 2, 2, 1, 0, 3, -3, 2.5, 0, 1, 4});
    drop(&t);
    /* the coding does not depend on the order of the rows */
    load(&t, "k,v\nzebra,1\nape,2\nmule,3\n");
    load(&u, "k,v\nmule,3\nzebra,1\nape,2\n");
    assert_string_equal(columns(t.schema), "k:categorical[ape mule zebra] v:integer");
    assert_string_equal(columns(u.schema), "k:categorical[ape mule zebra] v:integer");
    values_are(&t, 2, 3, (const double[]){2, 1, 0, 2, 1, 3});
    drop(&t);
    drop(&u);
    /* numbers among the texts are texts too */
    load(&t, "n\n0\n1\n2\n3+\n1\n0\n3+\n");
    assert_string_equal(columns(t.schema), "n:categorical[0 1 2 3+]");
    drop(&t);
}

static void told_kinds(void **state)
{
    static const char text[] = "a,b,c\n10,1,x\n9,2,y\n9.0,3,x\n";
    table t = {.schema = NULL};

    (void)state;
    assert_int_equal(load_with(&t, text, (wmi_source_file){.header = -1, .categorical = "a"}),
                     WM_OK);
    /* numbers sort as numbers, and 9 and 9.0 are the same */
    assert_string_equal(columns(t.schema), "a:categorical[9 10] b:integer c:categorical[x y]");
    values_are(&t, 3, 3, (const double[]){1, 1, 0, 0, 2, 1, 0, 3, 0});
    drop(&t);
    assert_int_equal(
        load_with(&t, text, (wmi_source_file){.header = -1, .continuous = "2", .integer = "a"}),
        WM_OK);
    assert_string_equal(columns(t.schema), "a:integer b:continuous c:categorical[x y]");
    drop(&t);
    refused(&t, load_with(&t, text, (wmi_source_file){.header = -1, .continuous = "c"}),
            "t.csv:2: column 3 ('c'): 'x' is not a number");
    drop(&t);
    refused(&t, load_with(&t, "a\n1\n2.5\n", (wmi_source_file){.header = -1, .integer = "all"}),
            "t.csv:3: column 1 ('a'): '2.5' is not a whole number");
    drop(&t);
    refused(&t, load_with(&t, text, (wmi_source_file){.header = -1, .continuous = "d"}),
            "'d' is no column");
    drop(&t);
    refused(
        &t,
        load_with(&t, text, (wmi_source_file){.header = -1, .continuous = "a", .categorical = "1"}),
        "column 1 ('a') is said to be continuous and categorical");
    drop(&t);
}

static wm_status read_more(table *t, const char *text)
{
    return read_text(t, text, strlen(text), (wmi_source_file){.header = -1, .schema = t->schema},
                     &wmi_format_csv);
}

static void later_tables(void **state)
{
    table t = {.schema = NULL};

    (void)state;
    load(&t, "n,k,g\n1,red,1\n2,blue,x\n3,red,2\n");
    assert_int_equal(read_more(&t, "n,k,g\n1.5,zinc,2\n2,amber,2\n3,red,1.0\n"), WM_OK);
    /* new levels follow, sorted; all-numbers g stays categorical, and 1.0 is its level 1 */
    assert_string_equal(columns(t.schema),
                        "n:continuous k:categorical[blue red amber zinc] g:categorical[1 2 x]");
    values_are(&t, 3, 3, (const double[]){1.5, 3, 1, 2, 2, 1, 3, 1, 0});
    refused(&t, read_more(&t, "n,k,g\n1,red,1\n2,red,x\nabc,red,2\n"),
            "t.csv:4: column 1 ('n'): 'abc' is not a number, which this column was before: "
            "declare it categorical for both");
    assert_string_equal(t.err.topic, "categorical");
    refused(&t, read_more(&t, "n,k\n1,red\n"),
            "t.csv: has no column 'g', which the earlier table has: drop it");
    assert_string_equal(t.err.topic, "drop");
    refused(&t, read_more(&t, "n,k,h\n1,red,1\n"),
            "t.csv: has no column 'g', which the earlier table has: drop it; it has 'h'");
    /* by name, in any order and among others */
    assert_int_equal(read_more(&t, "more,g,k,n\n?,x,red,7\n"), WM_OK);
    values_are(&t, 3, 1, (const double[]){7, 1, 2});
    refused(&t, read_more(&t, "1,red\n2,red\n"), "2 columns, expected 3");
    /* without a header the names are not looked at, and messages know them */
    refused(&t, read_more(&t, "1,red,1\nx,red,2\n"), "t.csv:2: column 1 ('n'): 'x' is not");
    drop(&t);
}

static void mixtures_are_refused(void **state)
{
    static char text[65536];
    table t = {.schema = NULL};

    (void)state;
    strcpy(text, "id,age\n");
    for (int i = 0; i < 300; i++)
        sprintf(text + strlen(text), "%d,%s\n", i, i == 14 || i == 20 ? "-" : "17");
    refused(&t, load_with(&t, text, (wmi_source_file){.header = -1}),
            "t.csv:16: column 2 ('age'): '-' is not a number, but 298 of 300 values are: correct "
            "it, write NA if it is missing, or declare the column categorical");
    drop(&t);
    assert_int_equal(load_with(&t, text, (wmi_source_file){.header = -1, .categorical = "age"}),
                     WM_OK);
    assert_string_equal(columns(t.schema), "id:integer age:categorical[- 17]");
    drop(&t);
    /* one in a hundred, but of whole numbers: a category */
    load(&t, "g\nA\n1\n2\nA\n1\n1\n1\n1\n1\n1\n1\n1\n1\n");
    assert_string_equal(columns(t.schema), "g:categorical[1 2 A]");
    drop(&t);
    refused(&t,
            load_with(&t, "1\n2\n3\n4\n5\n6\n7\n8\n9\nten\n11\n", (wmi_source_file){.header = -1}),
            "t.csv:10: column 1: 'ten' is not a number, but 10 of 11 values are");
    assert_string_equal(t.err.topic, "categorical");
    drop(&t);
    refused(
        &t,
        load_with(&t, "x,y\n1.5,1\nlow,2\n2.5,3\n3.5,4\n-,5\n", (wmi_source_file){.header = -1}),
        "t.csv:3: column 1 ('x'): 'low' is not a number, but 3 of 5 values are");
    drop(&t);
    refused(&t, load_with(&t, "a;b\n3,14;1\n2.71;2\n", (wmi_source_file){.header = -1}),
            "t.csv:2: column 1 ('a'): '3,14' has a decimal comma, or commas between thousands, "
            "unlike other values of the column");
    drop(&t);
    refused(&t, load_with(&t, "1,2,x\n4,5,6\n7,8,9\n", (wmi_source_file){.header = -1}),
            "t.csv:1: column 3: 'x' is not a number, but 2 of 3 values are: correct it, write NA "
            "if it is missing, or declare that the first line has names");
    drop(&t);
    assert_int_equal(
        load_with(&t, "a;b\n3,14;1\n2,71;2\n", (wmi_source_file){.header = -1, .categorical = "a"}),
        WM_OK);
    drop(&t);
}

static void too_many_levels(void **state)
{
    static char text[65536];
    size_t n = 0;
    table *t = malloc(sizeof *t);
    const wmi_source_file plain = {.header = -1};
    const wmi_source_file asked = {.header = -1, .categorical = "all"}; /* not left out then */

    (void)state;
    assert_non_null(t);
    n += (size_t)sprintf(text, "who\n");
    for (int i = 0; i < 1000; i++)
        n += (size_t)sprintf(text + n, "id%d\n", i);
    assert_int_equal(load_with(t, text, plain), WM_OK);
    assert_int_equal(wm_schema_levels(t->schema, 0), 1000);
    refused(t, read_more(t, "who\nid3\nid1000\n"), /* the first table is done with */
            "t.csv:3: column 1 ('who'): 'id1000' is level "
            "number 1001, more than make sense");
    drop(t);
    sprintf(text + n, "\"id\"\"x\"\n");
    refused(t, load_with(t, text, asked),
            "t.csv:1002: column 1 ('who'): 'id\"x' is level number 1001");
    drop(t);
    snprintf(text, sizeof text, "a,b\nx,%02994d y\n", 0);
    refused(t, load_with(t, text, asked),
            "t.csv:2: column 2 ('b'): a text of 2996 bytes is too long for a level");
    drop(t);
    free(t);
}

/* --- errors ------------------------------------------------------------------------------------*/

static void messages(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "t.csv: the file is empty"},
        {"\n\n  \n", "t.csv: the file is empty"},
        {"# only this", "t.csv: the file is empty"},
        {"a,b\n", "t.csv: no rows below the header"},
        {"1,2\n3,4\n5\n", "t.csv:3: 1 column, expected 2 as in line 1"},
        {"1,2\n3,4,5\n6,7\n", "t.csv:2: 3 columns, expected 2"},
        {"1,2\n3,4,\n6,7\n", "t.csv:2: 3 columns, expected 2"},
        {"#c\n\na,b\n1,2\n\"3\",\"4\"\n5,6,7\n", "t.csv:6: 3 columns, expected 2 as in line 3"},
        {"a,b\n\"x\ny\nz\",1\nu\n", "t.csv:5: 1 column, expected 2 as in line 1"},
        {"a,b\n1,2,3\n2,3\n3,4\n",
         "t.csv:2: 3 columns, expected 2 as in line 1; if the first column "
         "holds names of rows"},
        {"1,2\n3,\"4\n5,6\n", "t.csv:2: column 2: the quote that opens here is not closed"},
        {"\"1,2\n3,4\n", "t.csv:1: column 1: the quote that opens here is not closed"},
        {"1,2\n3,\"4\"5\n", "t.csv:2: column 2: text after the closing quote"},
    };
    const int64_t live = wmi_alloc_live();
    table t = {.schema = NULL};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refused(&t, load_with(&t, cases[i].text, (wmi_source_file){.header = -1}), cases[i].words);
        drop(&t);
        assert_int_equal(wmi_alloc_live(), live);
    }
    assert_int_equal(load_with(&t, "1\0,2\n", (wmi_source_file){.header = -1}), WM_OK);
    drop(&t);
    assert_ok(wm_schema_new(&t.schema, &t.err), t.err);
    refused(&t,
            read_text(&t, "1,2\n3,\0004\n", 9, (wmi_source_file){.header = -1, .schema = t.schema},
                      &wmi_format_csv),
            "t.csv:2: column 2: a NUL byte");
    drop(&t);
}

static void memory_runs_out(void **state)
{
    static const char text[] = "a,b\n1,x\n2,\"y\"\"\"\n";
    const int64_t live = wmi_alloc_live();
    wm_status st = WM_ENOMEM;
    int64_t k = 0;

    (void)state;
    while (st) {
        wmi_bytes *bytes = NULL;
        wmi_cursor *c = NULL;
        wm_schema *s = NULL;
        double x[8];
        int64_t got = 0;
        wm_error err = {0};

        assert_ok(wm_schema_new(&s, &err), err);
        assert_ok(wmi_bytes_memory(&bytes, "t", text, sizeof text - 1, &err), err);
        wmi_alloc_fail_at(++k);
        st = wmi_format_csv.open(
            &c, &(wmi_source_file){.path = "t", .header = -1, .schema = s, .bytes = bytes}, &err);
        if (!st)
            st = c->next(c, 4, x, &got, &err);
        wmi_alloc_fail_at(0);
        if (st && st != WM_ENOMEM)
            fail_msg("allocation %" PRId64 ": %s", k, err.text);
        assert_int_equal(err.code, st);
        if (!st)
            assert_true(got == 2 && x[0] == 1 && x[1] == 0 && x[2] == 2 && x[3] == 1);
        if (c)
            c->close(c);
        wmi_bytes_close(bytes);
        wm_schema_free(s);
        assert_int_equal(wmi_alloc_live(), live);
    }
    assert_true(k > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delimiters_and_line_ends),
        cmocka_unit_test(one_column),
        cmocka_unit_test(tsv_by_name),
        cmocka_unit_test(missing_marks),
        cmocka_unit_test(headers),
        cmocka_unit_test(header_of_a_known_table),
        cmocka_unit_test(kinds_of_columns),
        cmocka_unit_test(told_kinds),
        cmocka_unit_test(later_tables),
        cmocka_unit_test(mixtures_are_refused),
        cmocka_unit_test(too_many_levels),
        cmocka_unit_test(messages),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
