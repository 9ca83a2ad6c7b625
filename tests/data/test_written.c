/* test_written.c - numbers in clothes, dates, yes and no: values against the calendar and by hand.
 */
#include "asserts.h"

#include <math.h>
#include <string.h>

#include "data/table/written.h"

static double dressed(const char *text, char decimal, wmi_written *wears)
{
    double x = NAN;
    bool whole;

    return wmi_dressed_parse(text, strlen(text), decimal, &x, &whole, wears) ? x : NAN;
}

static void numbers_are_undressed(void **state)
{
    static const struct {
        const char *text;
        double value;
        char decimal, thousands;
    } cases[] = {
        {"3.14", 3.14, '.', 0},
        {"3,14", 3.14, ',', 0},
        {"1,234,567", 1234567, '.', ','},
        {"1.234.567,5", 1234567.5, ',', '.'},
        {"1 234", 1234, '.', ' '},
        {"1\xc2\xa0"
         "234,5",
         1234.5, ',', ' '},
        {"1\xe2\x80\xaf"
         "234",
         1234, ',', ' '},
        {"1'234.50", 1234.5, '.', '\''},
        {"-1,234", -1234, '.', ','},
        {"\xe2\x88\x92"
         "5",
         -5, '.', 0},
        {"12 %", 0.12, '.', 0},
        {"12,5%", 0.125, ',', 0},
        {"$1,234.50", 1234.5, '.', ','},
        {"-$5", -5, '.', 0},
        {"$-5", -5, '.', 0},
        {"5 \xe2\x82\xac", 5, ',', 0},
        {"\xc2\xa3"
         "1e3",
         1000, '.', 0},
        {".5", 0.5, '.', 0},
        {",5", 0.5, ',', 0},
    };
    wmi_written wears;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double x = dressed(cases[i].text, cases[i].decimal, &wears);

        if (x != cases[i].value || wears.thousands != cases[i].thousands)
            fail_msg("'%s' is %.17g with '%c'", cases[i].text, x, wears.thousands);
    }
    assert_string_equal((dressed("5 \xc2\xa5", '.', &wears), wears.currency), "\xc2\xa5");
}

static void what_is_no_number_stays_text(void **state)
{
    static const char *const texts[] = {"",          "-",      "$",       "%",         "1,23",
                                        "12,34,567", "0,123",  "1,2345",  "1,234 567", "$5 $",
                                        "5 % %",     "1 2345", "abc",     "1e",        "1.2.3",
                                        "5 USD",     "1,",     "$ - 5 x", "--5",       "1 234,567"};
    wmi_written wears;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!isnan(dressed(texts[i], '.', &wears)))
            fail_msg("'%s' was read", texts[i]);
}

static void a_column_wears_one_thing(void **state)
{
    wmi_written column = {.script = WMI_DRESSED, .decimal = '.'}, wears;
    double x;
    bool whole;

    (void)state;
    assert_true((dressed("$5", '.', &wears), wmi_written_merge(&column, &wears)));
    assert_true((dressed("$1,234", '.', &wears), wmi_written_merge(&column, &wears)));
    assert_false((dressed("\xe2\x82\xac"
                          "5",
                          '.', &wears),
                  wmi_written_merge(&column, &wears)));
    assert_false((dressed("1 234", '.', &wears), wmi_written_merge(&column, &wears)));
    /* a sign may be absent, but none may be new */
    assert_true(wmi_written_parse(&column, "7", 1, &x, &whole) && x == 7 && whole);
    assert_false(wmi_written_parse(&column, "7%", 2, &x, &whole));
}

static void dates_are_days(void **state)
{
    static const struct {
        const char *text;
        wmi_date_order order;
        double days; /* NAN: is none */
    } cases[] = {
        {"1970-01-01", WMI_YMD, 0},
        {"2024-01-31", WMI_YMD, 19753},
        {"2024/1/31", WMI_YMD, 19753},
        {"31.01.2024", WMI_DMY, 19753},
        {"31/01/2024", WMI_DMY, 19753},
        {"1/31/2024", WMI_MDY, 19753},
        {"1/31/24", WMI_MDY, 19753},
        {"1/31/69", WMI_MDY, -335},
        {"2000-02-29", WMI_YMD, 11016},
        {"1900-02-29", WMI_YMD, NAN},
        {"0001-01-01", WMI_YMD, -719162},
        {"2024-01-31T12:00:00", WMI_YMD, 19753.5},
        {"2024-01-31 06:00", WMI_YMD, 19753.25},
        {"2024-01-31T12:00:00Z", WMI_YMD, 19753.5},
        {"2024-01-31T12:00:00+12:00", WMI_YMD, 19753},
        {"2024-01-31T12:00:00-0600", WMI_YMD, 19753.75},
        {"1/31/2024 6:00 PM", WMI_MDY, 19753.75},
        {"1/31/2024 12:00 am", WMI_MDY, 19753},
        {"31/01/2024", WMI_MDY, NAN},
        {"01.31.2024", WMI_MDY, NAN},
        {"1.2.34", WMI_DMY, NAN},
        {"2024-13-01", WMI_YMD, NAN},
        {"2024-01/31", WMI_YMD, NAN},
        {"2024-01-31x", WMI_YMD, NAN},
        {"2024-01-31 25:00", WMI_YMD, NAN},
        {"20240131", WMI_YMD, NAN},
        {"192.168.1.1", WMI_DMY, NAN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double days = NAN;
        const bool is = wmi_date_parse(cases[i].text, strlen(cases[i].text), cases[i].order, &days);

        if (is == isnan(cases[i].days) || (is && days != cases[i].days))
            fail_msg("'%s' is %.17g", cases[i].text, days);
    }
}

static void clocks_are_parts_of_a_day(void **state)
{
    double x;

    (void)state;
    assert_true(wmi_clock_parse("06:00", 5, &x) && x == 0.25);
    assert_true(wmi_clock_parse("18:00:00.0", 10, &x) && x == 0.75);
    assert_false(wmi_clock_parse("24:00", 5, &x));
    assert_false(wmi_clock_parse("1:2", 3, &x));
    assert_false(wmi_clock_parse("12:34:5", 7, &x));
}

static void yes_and_no(void **state)
{
    char buf[WMI_YES_NO_TEXT];
    int family = -1;

    (void)state;
    assert_int_equal(wmi_yes_no_parse("TRUE", 4, &family), 1);
    assert_string_equal(wmi_yes_no_text(family, 0, "TRUE", buf), "FALSE");
    assert_string_equal(wmi_yes_no_text(family, 0, "True", buf), "False");
    assert_string_equal(wmi_yes_no_text(family, 0, "true", buf), "false");
    assert_true(wmi_yes_no_is_word(family));
    assert_int_equal(wmi_yes_no_parse("n", 1, &family), 0);
    assert_string_equal(wmi_yes_no_text(family, 1, "N", buf), "Y");
    assert_false(wmi_yes_no_is_word(family));
    assert_int_equal(wmi_yes_no_parse("maybe", 5, &family), -1);
    assert_int_equal(wmi_yes_no_parse("", 0, &family), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_undressed),     cmocka_unit_test(what_is_no_number_stays_text),
        cmocka_unit_test(a_column_wears_one_thing),  cmocka_unit_test(dates_are_days),
        cmocka_unit_test(clocks_are_parts_of_a_day), cmocka_unit_test(yes_and_no),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
