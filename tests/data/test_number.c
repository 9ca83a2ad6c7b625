/* test_number.c - decimal text to double, held against strtod bit by bit, and back. */
#include "asserts.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/table/number.h"

static uint64_t lcg = 1; /* each test starts it anew */

static uint64_t draw(void)
{
    lcg = lcg * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (lcg >> 32) ^ (lcg << 32);
}

static int draw_below(int n)
{
    return (int)((draw() >> 8) % (uint64_t)n);
}

static uint64_t bits_of(double x)
{
    uint64_t b;

    memcpy(&b, &x, sizeof b);
    return b;
}

static double random_double(void)
{
    const uint64_t b = draw();
    double x;

    memcpy(&x, &b, sizeof x);
    return isfinite(x) ? x : 1.5;
}

/* A copy without NUL and with digits behind it: the parser must not look past n. */
static void same_as_strtod(const char *text)
{
    char buf[2048];
    const size_t n = strlen(text);
    const double want = strtod(text, NULL);
    double x = 0;
    bool whole;

    assert_true(n + 4 < sizeof buf);
    snprintf(buf, sizeof buf, "%s9e9", text);
    if (!wmi_number_parse(buf, n, &x, &whole))
        fail_msg("%s: is no number", text);
    if (bits_of(x) != bits_of(want))
        fail_msg("%s: %.17g (%a), strtod says %.17g (%a)", text, x, x, want, want);
}

/* Digits, a point anywhere or nowhere, an exponent or none. */
static void random_decimal(char *text, int max_digits, int max_exponent)
{
    const int n = 1 + draw_below(max_digits), point = draw_below(2 * n + 2) - n;
    char *p = text;

    if (draw_below(3) == 0)
        *p++ = draw_below(2) ? '-' : '+';
    for (int i = 0; i <= n; i++) {
        if (i == point)
            *p++ = '.';
        if (i < n)
            *p++ = (char)('0' + (draw_below(4) ? draw_below(10) : 0));
    }
    if (draw_below(2))
        p += sprintf(p, "%c%s%d", draw_below(2) ? 'e' : 'E', draw_below(4) ? "" : "+0",
                     draw_below(max_exponent));
    else if (draw_below(2))
        p += sprintf(p, "e-%d", draw_below(max_exponent));
    *p = '\0';
}

static void a_million_texts_as_strtod_reads_them(void **state)
{
    static const char *const shapes[] = {"%.17g", "%.15g", "%.16e", "%g", "%.3e", "%.20g"};
    char text[512];

    (void)state;
    lcg = 1;
    for (int i = 0; i < 300000; i++) { /* of every size, most beyond the fast path */
        snprintf(text, sizeof text, shapes[i % 6], random_double());
        same_as_strtod(text);
    }
    for (int i = 0; i < 300000; i++) { /* as tables hold them */
        const double x = ((double)draw_below(2000000) - 1e6) / 1e6 * pow(10, draw_below(9) - 4);

        snprintf(text, sizeof text, i % 2 ? "%.*g" : "%.*f", draw_below(18), x);
        same_as_strtod(text);
    }
    for (int i = 0; i < 300000; i++) {
        random_decimal(text, 19, 30);
        same_as_strtod(text);
    }
    for (int i = 0; i < 100000; i++) {
        random_decimal(text, 60, 360);
        same_as_strtod(text);
    }
}

/* All digits of the point half-way between two doubles, which an 80-bit long double holds exactly;
 * then the same a little more or less, where only the last digit decides. */
static void ties_and_their_neighbours(void **state)
{
    char text[1600];

    (void)state;
    if (sizeof(long double) <= sizeof(double) || LDBL_MANT_DIG < 64)
        skip();
    lcg = 2;
    for (int i = 0; i < 20000; i++) {
        double x = random_double();
        long double tie;
        size_t n;

        if (i % 2) /* where tables are */
            x = (1 + (double)draw_below(1 << 30) / (1 << 30)) * ldexp(1, draw_below(120) - 60);
        tie = ((long double)x + (long double)nextafter(x, INFINITY)) / 2;
        snprintf(text, sizeof text, "%.1100Lg", tie);
        same_as_strtod(text);
        n = strcspn(text, "e");
        if (!strchr(text, 'e')) { /* one more digit, far behind */
            snprintf(text + n, sizeof text - n, "%s0000000000000000000000001",
                     strchr(text, '.') ? "" : ".");
            same_as_strtod(text);
        }
        text[n - 1] = (char)(text[n - 1] == '0' ? '1' : text[n - 1] - 1);
        same_as_strtod(text);
    }
    /* whole numbers just above 2^53, and the tie of 2^53 + 1 */
    for (uint64_t k = 0; k < 5000; k++) {
        snprintf(text, sizeof text, "%" PRIu64, (UINT64_C(1) << 53) + k);
        same_as_strtod(text);
        snprintf(text, sizeof text, "%" PRIu64 ".%s", (UINT64_C(1) << 60) + 64 * k,
                 k % 3 ? "000000000000000000000000000000000000000001" : "0");
        same_as_strtod(text);
    }
}

static void ends_of_the_range(void **state)
{
    static const char *const texts[] = {"0",
                                        "-0",
                                        "0.0",
                                        "000",
                                        "-0e5",
                                        "0e999999999999999999999",
                                        "4.9406564584124654e-324",
                                        "2.4703282292062327e-324",
                                        "2.4703282292062328e-324",
                                        "1e-324",
                                        "-1e-400",
                                        "2.2250738585072014e-308",
                                        "2.2250738585072011e-308",
                                        "1.7976931348623157e308",
                                        "1.7976931348623158e308",
                                        "1.7976931348623159e308",
                                        "1e309",
                                        "-1e999999999999999999999999",
                                        "1e-999999999999999999999999",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "9999999999999999999",
                                        "99999999999999999999",
                                        "10000000000000000000",
                                        "0.00000000000000000000000000000000000000000000000001e50",
                                        "1e22",
                                        "1e23",
                                        "9007199254740993",
                                        "9007199254740992e22",
                                        "123456789012345678e-27",
                                        "123456789012345678e27",
                                        "1e27",
                                        "1e28",
                                        "100000000000000000000000000000000000000000000000000e-50",
                                        ".5",
                                        "5.",
                                        "+1",
                                        "1E5",
                                        "1e+05"};
    char text[2000];

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        same_as_strtod(texts[i]);
    /* a thousand zeros, undone by the exponent; and a digit beyond what strtod is given */
    snprintf(text, sizeof text, "0.%01000d1e1001", 0);
    same_as_strtod(text);
    snprintf(text, sizeof text, "1%01000de-1000", 0);
    same_as_strtod(text);
    snprintf(text, sizeof text, "9007199254740993.%01000d1", 0);
    same_as_strtod(text);
    snprintf(text, sizeof text, "9007199254740993%01000d1e-1001", 0);
    same_as_strtod(text);
}

static void what_is_no_number(void **state)
{
    static const char *const texts[] = {
        "",    "+",   "-",    ".",   "-.",  "e5",  "1e",      "1e+", "1.2.3", "1,5", "0x10",
        "1 ",  " 1",  "--1",  "1-",  "12a", "in",  "infi",    "na",  "nano",  "n",   "1e5.0",
        "1_0", "1d5", "1e5e", "\"1", "abc", "+-1", "infinit", "١",   "1.e",   ".e1", "1\n"};
    double x = 42;
    bool whole;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (wmi_number_parse(texts[i], strlen(texts[i]), &x, &whole))
            fail_msg("'%s' was read as %g", texts[i], x);
    assert_true(x == 42);
}

static void words(void **state)
{
    static const char *const infinite[] = {"inf", "Inf", "INF", "+inf", "infinity", "Infinity"};
    static const char *const missing[] = {"nan", "NaN", "NAN", "-nan", "+NaN"};
    double x = 0;
    bool whole = true;

    (void)state;
    for (size_t i = 0; i < sizeof infinite / sizeof *infinite; i++) {
        assert_true(wmi_number_parse(infinite[i], strlen(infinite[i]), &x, &whole));
        assert_true(x == (double)INFINITY && !whole);
    }
    assert_true(wmi_number_parse("-inf", 4, &x, &whole) && x == -(double)INFINITY);
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        x = 0;
        assert_true(wmi_number_parse(missing[i], strlen(missing[i]), &x, &whole));
        assert_true(isnan(x));
    }
}

static void whole_is_without_a_point(void **state)
{
    static const struct {
        const char *text;
        bool whole;
    } cases[] = {{"1", true},
                 {"-17", true},
                 {"+3", true},
                 {"1e5", true},
                 {"1e+05", true},
                 {"100e-2", true},
                 {"0", true},
                 {"1.0", false},
                 {"1.", false},
                 {"5e-1", false},
                 {"inf", false},
                 {"9007199254740992", true},
                 {"9007199254740994", false},
                 {"1e300", false},
                 {"0.5", false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double x;
        bool whole;

        assert_true(wmi_number_parse(cases[i].text, strlen(cases[i].text), &x, &whole));
        if (whole != cases[i].whole)
            fail_msg("%s: whole = %d", cases[i].text, whole);
    }
}

static void text_is_short_and_reads_back(void **state)
{
    static const struct {
        double x;
        const char *text;
    } cases[] = {{0, "0"},
                 {-0.0, "0"},
                 {1, "1"},
                 {-1, "-1"},
                 {0.1, "0.1"},
                 {-0.25, "-0.25"},
                 {100, "100"},
                 {123456.75, "123456.75"},
                 {1e15, "1000000000000000"},
                 {1e16, "1e+16"},
                 {1e30, "1e+30"},
                 {1.1e30, "1.1e+30"},
                 {1e-5, "0.00001"},
                 {1.5e-6, "1.5e-06"},
                 {0.3, "0.3"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {1 / 3.0, "0.3333333333333333"},
                 {-1.7976931348623157e308, "-1.7976931348623157e+308"},
                 {-1.25e-5, "-0.0000125"}};
    char buf[WMI_NUMBER_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(wmi_number_text(cases[i].x, buf), cases[i].text);
    assert_string_equal(wmi_number_text(NAN, buf), "nan");
    assert_string_equal(wmi_number_text(-(double)INFINITY, buf), "-inf");
    lcg = 3;
    for (int i = 0; i < 100000; i++) {
        const double x = i % 2 ? random_double() : ldexp((double)draw(), -draw_below(90));
        double back = 0;
        bool whole;

        wmi_number_text(x, buf);
        assert_true(strlen(buf) < WMI_NUMBER_TEXT);
        assert_true(wmi_number_parse(buf, strlen(buf), &back, &whole));
        if (x != 0)
            assert_true(bits_of(back) == bits_of(x));
    }
}

/* A locale with a decimal comma, where one is installed. */
static void locale_does_not_matter(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    char buf[WMI_NUMBER_TEXT], old[128];
    double x = 0;
    bool whole;
    size_t i = 0;

    (void)state;
    snprintf(old, sizeof old, "%s", setlocale(LC_NUMERIC, NULL));
    while (i < 4 && !setlocale(LC_NUMERIC, names[i]))
        i++;
    if (i == 4)
        skip();
    snprintf(buf, sizeof buf, "%.1f", 0.5);
    assert_string_equal(buf, "0,5"); /* else this test says nothing */
    assert_true(wmi_number_parse("123.4567890123456789e-200", 25, &x, &whole));
    assert_true(x == 123.4567890123456789e-200);
    assert_false(wmi_number_parse("0,5", 3, &x, &whole));
    assert_string_equal(wmi_number_text(0.5, buf), "0.5");
    setlocale(LC_NUMERIC, old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_texts_as_strtod_reads_them),
        cmocka_unit_test(ties_and_their_neighbours),
        cmocka_unit_test(ends_of_the_range),
        cmocka_unit_test(what_is_no_number),
        cmocka_unit_test(words),
        cmocka_unit_test(whole_is_without_a_point),
        cmocka_unit_test(text_is_short_and_reads_back),
        cmocka_unit_test(locale_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
