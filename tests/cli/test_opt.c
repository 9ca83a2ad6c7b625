/* test_opt.c - option tables: what is taken, what is refused and how, help, config files. */
#include "asserts.h"

#include "options/opt.h"
#include "scratch.h"
#include "waymark/fit.h"

typedef struct inner { /* as a library's struct within that of a command */
    int64_t steps;
    double share;
} inner;

typedef struct settings {
    int64_t n;
    double rate, limit;
    const char *name;
    int model;
    bool fast, shuffle;
    inner inner;
} settings;

static const char *const models[] = {"linear", "quadratic", "mlp", NULL};

#define OPTS inner
static const opt_row inner_rows[] = {
    INTEGER(steps, "steps", "N", -1, 100, "steps", .none = true, .unset = "auto, by the data"),
    REAL(share, "share", "X", 0, 1, "a share", .unset = "auto, by the data"),
    {0},
};
#undef OPTS
#define OPTS settings

static const opt_row rows[] = {
    HEADING("Model"),
    INTEGER(n, "n", "N", 1, 1e9, "samples", .letter = 'n'),
    REAL(rate, "rate", "X", 0, 1, "step size", .above = true),
    DURATION(limit, "limit", "TIME", 0, 1e9, "stop after", .above = true, .unset = "none"),
    TEXT(name, "name", "TEXT", "a name"),
    CHOICE(model, "model", "NAME", models, "bridge model"),
    FLAG(fast, "fast", "hurry", .letter = 'f'),
    FLAG(shuffle, "shuffle", "mix the rows"),
    TEXT(name, "config", "FILE", "a file", .transient = true),
    ROWS(inner, inner_rows),
    {0},
};

static settings values;
static opt_set set;

/* Parses words split at spaces into `values`. */
static wm_status parse(const char *line, wm_error *err)
{
    char copy[1024];
    const char *argv[32];
    int argc = 0;

    values =
        (settings){.n = 5, .rate = 0.1, .model = 1, .shuffle = true, .inner = {WM_AUTO, WM_UNSET}};
    set = (opt_set){.command = "demo", .n_groups = 1};
    set.group[0].rows = rows;
    set.group[0].values = &values;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *rest, *p = strtok_r(copy, " ", &rest); p; p = strtok_r(NULL, " ", &rest))
        argv[argc++] = p;
    return opt_parse(&set, argc, argv, NULL, err);
}

static void every_kind_is_taken(void **state)
{
    wm_error err = {0};

    (void)state;
    assert_ok(parse("P --n=1e5 --rate 2.5e-3 Q --limit 1h30m --name x --model mlp -f --no-shuffle "
                    "-- --n",
                    &err),
              err);
    assert_int_equal(values.n, 100000);
    assert_true(values.rate == 2.5e-3);
    assert_true(values.limit == 5400);
    assert_string_equal(values.name, "x");
    assert_int_equal(values.model, 2);
    assert_true(values.fast);
    assert_false(values.shuffle);
    assert_int_equal(set.n_args, 3);
    assert_string_equal(set.args[0], "P");
    assert_string_equal(set.args[1], "Q");
    assert_string_equal(set.args[2], "--n");
    opt_free(&set);
    assert_ok(parse("-n 7 -", &err), err);
    assert_int_equal(values.n, 7);
    assert_string_equal(set.args[0], "-"); /* standard input */
    opt_free(&set);
}

static void rows_of_an_inner_struct_and_what_is_not_set(void **state)
{
    wm_error err = {0};

    (void)state;
    assert_ok(parse("--n 3", &err), err);
    assert_int_equal(values.inner.steps, WM_AUTO);
    assert_false(wm_is_set(values.inner.share));
    opt_free(&set);
    assert_ok(parse("--steps -1 --share 0", &err), err);
    assert_int_equal(values.inner.steps, 0); /* none */
    assert_true(values.inner.share == 0);
    opt_free(&set);
    assert_int_equal(parse("--steps 0", &err), WM_EINVAL);
    assert_string_equal(err.text, "--steps 0: must be an integer other than 0, from -1 to 100");
    opt_free(&set);
    assert_ok(parse("--steps 7 --share 1 --steps auto --share auto", &err), err);
    assert_int_equal(values.inner.steps, WM_AUTO);
    assert_false(wm_is_set(values.inner.share));
    opt_free(&set);
    assert_int_equal(parse("--n auto", &err), WM_EINVAL);
    opt_free(&set);
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"--n 0", "--n 0: must be an integer from 1 to 1000000000"},
        {"--n 1.5", "--n 1.5: must be an integer"},
        {"--n 12x", "--n 12x: must be an integer"},
        {"--n 99999999999999999999", "--n 99999999999999999999: must be an integer"},
        {"--n 0x10", "--n 0x10: must be an integer"},
        {"--n", "--n: needs a value"},
        {"--rate 0", "--rate 0: must be a number above 0, at most 1"},
        {"--rate nan", "--rate nan: must be a number"},
        {"--rate inf", "--rate inf: must be a number"},
        {"--rate 1e999", "--rate 1e999: must be a number"},
        {"--rate -0.5", "--rate -0.5: must be a number"},
        {"--rate=", "--rate : must be a number"},
        {"--limit 30q", "--limit 30q: must be a duration such as 45s, 30m or 1h30m"},
        {"--limit 30m1h", "--limit 30m1h: must be a duration"},
        {"--limit -5", "--limit -5: must be a duration"},
        {"--limit m", "--limit m: must be a duration"},
        {"--limit 1h30", "--limit 1h30: must be a duration"},
        {"--model cubic", "--model cubic: must be linear, quadratic or mlp"},
        {"--modle mlp", "no option --modle; did you mean --model?"},
        {"--zzzzzzzz", "no option --zzzzzzzz"},
        {"-z", "no option -z"},
        {"--fast=yes", "--fast"},
        {"--config /no/such/file", "/no/such/file"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wm_error err = {0};

        if (parse(cases[i].line, &err) != WM_EINVAL || !strstr(err.text, cases[i].says))
            fail_msg("%s: said '%s'", cases[i].line, err.text);
        opt_free(&set);
    }
}

static void durations_are_read_and_said(void **state)
{
    const opt_row any = {.kind = OPT_DURATION, .name = "t"};
    static const struct {
        const char *text, *said;
        double seconds;
    } cases[] = {{"45", "45s", 45},        {"45s", "45s", 45},     {"30m", "30m", 1800},
                 {"1h30m", "1h30m", 5400}, {"2d", "48h", 172800},  {"0.5s", "0.5s", 0.5},
                 {"1.5h", "1h30m", 5400},  {"1h1s", "1h1s", 3601}, {"90s", "1m30s", 90}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wm_error err = {0};
        char text[48];
        double x;

        assert_ok(opt_duration(&x, &any, cases[i].text, &err), err);
        assert_true(x == cases[i].seconds);
        assert_string_equal(opt_duration_text(text, x), cases[i].said);
    }
}

static const char *help_text(void)
{
    static char text[8192];
    FILE *f = fmemopen(text, sizeof text, "w");

    assert_non_null(f);
    opt_print_help(&set, f);
    fclose(f);
    return text;
}

static void help_shows_what_is_in_force(void **state)
{
    wm_error err = {0};
    const char *text;

    (void)state;
    assert_ok(parse("--n 1000 --rate 0.01 --help", &err), err);
    assert_true(set.help);
    text = help_text();
    assert_non_null(strstr(text, "\nModel\n  -n, --n N                 samples (default: 1000)\n"));
    assert_non_null(strstr(text, "      --rate X              step size (default: 0.01)\n"));
    assert_non_null(strstr(text, "stop after (default: none)\n"));
    assert_non_null(strstr(text,
                           "      --model NAME          bridge model: linear, quadratic or mlp "
                           "(default: quadratic)\n"));
    assert_non_null(strstr(text, "  -f, --fast                hurry\n"));
    assert_non_null(strstr(text, "      --no-shuffle          do not: mix the rows\n"));
    assert_non_null(
        strstr(text, "      --steps N             steps (default: auto, by the data)\n"));
    for (const char *p = text, *end; (end = strchr(p, '\n')); p = end + 1)
        assert_true(end - p <= 92);
    opt_free(&set);
    /* Help is given even where the rest is wrong. */
    assert_ok(parse("--help --nonsense", &err), err);
    assert_true(set.help);
    opt_free(&set);
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(scratch(name), "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static wm_status parse_config(const char *text, const char *more, wm_error *err)
{
    char line[1400];

    write_file("c.json", text);
    snprintf(line, sizeof line, "--config %s %s", scratch("c.json"), more);
    return parse(line, err);
}

static void a_config_file_stands_below_the_command_line(void **state)
{
    wm_error err = {0};

    (void)state;
    assert_ok(parse_config("{\"command\": \"demo\", \"version\": \"9\", "
                           "\"rate\": 0.25, \"n\": 77, \"fast\": true, \"shuffle\": false, "
                           "\"limit\": \"2m\", \"model\": \"mlp\", "
                           "\"name\": null, \"arguments\": [\"P\", \"Q\"]}",
                           "-n 8 --no-fast", &err),
              err);
    assert_int_equal(values.n, 8);
    assert_true(values.rate == 0.25);
    assert_false(values.fast);
    assert_false(values.shuffle);
    assert_true(values.limit == 120);
    assert_int_equal(values.model, 2);
    assert_int_equal(set.n_args, 2);
    assert_string_equal(set.args[1], "Q");
    opt_free(&set);
    assert_ok(parse_config("{\"arguments\": [\"P\", \"Q\"]}", "R", &err), err);
    assert_int_equal(set.n_args, 1);
    assert_string_equal(set.args[0], "R");
    opt_free(&set);
}

static void a_bad_config_is_named(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{\"n\": 0}", "c.json: --n 0: must be an integer from 1"},
        {"{\"n\": true}", "c.json: n: neither text nor number"},
        {"{\"fast\": 1}", "c.json: --fast: must be true or false"},
        {"{\"mdoel\": \"mlp\"}", "c.json: no option --mdoel; did you mean --model?"},
        {"{\"n\": [1]}", "c.json: n: neither text nor number"},
        {"{\"n\": 1,\n}", "c.json:2: "},
        {"{\"n\": 1, \"n\": 2}", "duplicate"},
        {"[1]", "c.json: not an object"},
        {"{\"command\": \"mi\"}", "c.json: the config of 'mi', not of 'demo'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wm_error err = {0};

        if (parse_config(cases[i].text, "", &err) != WM_EINVAL || !strstr(err.text, cases[i].says))
            fail_msg("%s: said '%s'", cases[i].text, err.text);
        opt_free(&set);
    }
}

/* What is written back repeats the run: options, arguments, and things not set. */
static void a_written_config_gives_the_same_settings(void **state)
{
    char line[1400];
    wm_error err = {0};
    wm_summary *s;
    settings first;

    (void)state;
    assert_ok(parse("P --n 1000 --rate 0.3333333333333333 --no-shuffle", &err), err);
    first = values;
    assert_ok(wm_summary_new(&s, &err), err);
    opt_write_config(&set, s);
    assert_ok(wm_summary_write(s, scratch("w.json"), &err), err);
    wm_summary_free(s);
    opt_free(&set);
    assert_null(strstr(scratch_read(scratch("w.json")), "config")); /* transient */
    snprintf(line, sizeof line, "--config %s", scratch("w.json"));
    assert_ok(parse(line, &err), err);
    assert_int_equal(values.n, first.n);
    assert_true(values.rate == 0.3333333333333333);
    assert_true(values.limit == 0);
    assert_false(values.shuffle);
    assert_int_equal(set.n_args, 1);
    assert_string_equal(set.args[0], "P");
    opt_free(&set);
}

static void near_words_are_found(void **state)
{
    static const char *const names[] = {"reproduce", "ratio", "report", "mi", NULL};

    (void)state;
    assert_string_equal(opt_nearest("reprodcue", names), "reproduce");
    assert_string_equal(opt_nearest("rep", names), "reproduce");
    assert_string_equal(opt_nearest("ratios", names), "ratio");
    assert_string_equal(opt_nearest("im", names), "mi");
    assert_null(opt_nearest("xyzzy", names));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_kind_is_taken),
        TEST(what_is_wrong_is_named),
        TEST(durations_are_read_and_said),
        TEST(help_shows_what_is_in_force),
        TEST(a_config_file_stands_below_the_command_line),
        TEST(a_bad_config_is_named),
        TEST(a_written_config_gives_the_same_settings),
        TEST(near_words_are_found),
        TEST(rows_of_an_inner_struct_and_what_is_not_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
