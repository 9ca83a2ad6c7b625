/* test_csv_decode.c - text of every encoding comes out as UTF-8, whatever pieces it is read in, and
 * UTF-8 as it is. */
#include "asserts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "data/csv/csv_decode.h"

/* All of n bytes, read in pieces of `piece`; the caller frees *out. */
static wm_status decode(const char *text, size_t n, size_t piece, char **out, size_t *got,
                        wmi_csv_encoding *encoding, wm_error *err)
{
    wmi_csv_decoder d = {0};
    wmi_bytes *bytes;
    bool ended = false;
    wm_status st;

    *got = 0;
    *out = malloc(3 * n + piece + 1);
    assert_non_null(*out);
    assert_ok(wmi_bytes_memory(&bytes, "t", text, n, err), *err);
    wmi_csv_decoder_start(&d);
    do {
        size_t some;

        st = wmi_csv_decode(&d, bytes, "t.csv", *out + *got, piece, &some, &ended, err);
        assert_true(some <= piece && (st || some || ended));
        *got += some;
    } while (!st && !ended);
    *encoding = d.encoding;
    wmi_csv_decoder_free(&d);
    wmi_bytes_close(bytes);
    return st;
}

/* text (n) comes out as want, in all pieces. */
static void comes_out(const char *text, size_t n, const char *want, wmi_csv_encoding as)
{
    const int64_t live = wmi_alloc_live();

    for (size_t piece = 4; piece < 3 * n + 8; piece = piece < 40 ? piece + 1 : 2 * piece) {
        wmi_csv_encoding encoding;
        wm_error err = {0};
        size_t got;
        char *out;

        assert_ok(decode(text, n, piece, &out, &got, &encoding, &err), err);
        assert_int_equal(got, strlen(want));
        assert_memory_equal(out, want, got);
        assert_int_equal(encoding, as);
        free(out);
    }
    assert_int_equal(wmi_alloc_live(), live);
}

static void utf8_stays(void **state)
{
    static const char *const texts[] = {
        "", "a", "a,b\n1,2\n", "größe,x\n", "東京,𝄞𝄞,ß", "\xef\xbb\xbfx,y\n", "é", "abcdefg€"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        comes_out(texts[i], strlen(texts[i]), texts[i], WMI_CSV_UTF8);
}

static void other_bytes_are_windows_1252(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"caf\xe9", "café"},
        {"\xe9", "é"},
        {"\xe9t\xe9,1\n", "été,1\n"},
        {"5 \x80,\x84x\x93,\x85,\x9f", "5 €,„x“,…,Ÿ"},
        {"1\xa0"
         "234",
         "1\xc2\xa0"
         "234"},
        {"größe,K\xf6ln,東京", "größe,Köln,東京"}, /* letters of both */
        {"abcdefghijklmnopqrstuvwxyz\xff", "abcdefghijklmnopqrstuvwxyzÿ"},
        {"\xe2\x82", "â‚"},             /* UTF-8 cut short */
        {"\xed\xa0\x80", "í\xc2\xa0€"}, /* half of a pair is no letter of UTF-8 */
        {"\xc0\xaf", "À¯"},             /* nor is one written too long */
        {"\xf4\x90\x80\x80", "ô\xc2\x90€€"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        comes_out(cases[i].text, strlen(cases[i].text), cases[i].want, WMI_CSV_WINDOWS);
}

static void utf16_of_both_orders(void **state)
{
    static const char want[] = "\xef\xbb\xbf"
                               "a,ß€\n𝄞";
    static const char low[] = "\xff\xfe"
                              "a\0,\0\xdf\0\xac\x20\n\0\x34\xd8\x1e\xdd";
    static const char high[] = "\xfe\xff\0a\0,\0\xdf\x20\xac\0\n\xd8\x34\xdd\x1e";

    (void)state;
    comes_out(low, sizeof low - 1, want, WMI_CSV_UTF16_LOW);
    comes_out(high, sizeof high - 1, want, WMI_CSV_UTF16_HIGH);
    comes_out("1\0,\0002\0\n\0", 8, "1,2\n", WMI_CSV_UTF16_LOW); /* without a mark */
    comes_out("\0001\0,\0002\0\n", 8, "1,2\n", WMI_CSV_UTF16_HIGH);
}

static void damaged_utf16_is_refused(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *words;
    } cases[] = {
        {"\xff\xfe"
         "a\0b",
         5, "t.csv: damaged UTF-16: it ends within a letter"},
        {"\xff\xfe\x34\xd8", 4, "half of a letter"}, /* the first half, and the end */
        {"\xff\xfe\x34\xd8"
         "a\0",
         6, "half of a letter"},
        {"\xfe\xff\xdd\x1e\0a", 6, "half of a letter"}, /* the second half alone */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 4; piece < 20; piece++) {
            wmi_csv_encoding encoding;
            wm_error err = {0};
            size_t got;
            char *out;

            assert_int_equal(decode(cases[i].text, cases[i].n, piece, &out, &got, &encoding, &err),
                             WM_EFORMAT);
            assert_non_null(strstr(err.text, cases[i].words));
            free(out);
        }
}

/* A file of which the first letter that is not UTF-8 comes late: all before it stays. */
static void late_letters(void **state)
{
    enum { N = 1 << 20 };
    char *text = malloc(N + 2), *out;
    wmi_csv_encoding encoding;
    wm_error err = {0};
    size_t got;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < N; i++)
        text[i] = i % 61 ? (char)('a' + i % 26) : '\n';
    text[N] = '\xe9';
    text[N + 1] = '\n';
    assert_ok(decode(text, N + 2, 1 << 16, &out, &got, &encoding, &err), err);
    assert_int_equal(got, N + 3);
    assert_memory_equal(out, text, N);
    assert_memory_equal(out + N, "é\n", 3);
    assert_int_equal(encoding, WMI_CSV_WINDOWS);
    free(out);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_stays),           cmocka_unit_test(other_bytes_are_windows_1252),
        cmocka_unit_test(utf16_of_both_orders), cmocka_unit_test(damaged_utf16_is_refused),
        cmocka_unit_test(late_letters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
