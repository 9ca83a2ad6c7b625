/* test_utf8.c - letters of UTF-8 against its definition: all that exist, and bytes that are none.
 */
#include "asserts.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* The n bytes in a block of their own, so that a sanitizer sees a read behind them. */
static size_t prefix(const char *text, size_t n)
{
    char *own = malloc(n ? n : 1), *end = own + (n ? 0 : 1);
    size_t k;

    assert_non_null(own);
    if (n)
        memcpy(own, text, n);
    k = wmi_utf8_prefix(n ? own : end, n);
    assert_true(wmi_text_is_utf8(n ? own : end, n) == (k == n));
    free(own);
    return k;
}

static void every_letter_is_written_and_read(void **state)
{
    char text[4];

    (void)state;
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        const bool pair = c >= 0xd800 && c <= 0xdfff; /* halves of UTF-16 are no letters */
        const size_t k = wmi_utf8_write(c, text);
        uint32_t got = (unsigned char)text[0] & (k == 1 ? 0x7f : 0x7fU >> k);

        for (size_t j = 1; j < k; j++)
            got = got << 6 | ((unsigned char)text[j] & 0x3f);
        assert_true(got == c);
        assert_true(wmi_utf8_letter(text, k) == (pair ? 0 : k));
        assert_true(wmi_utf8_letter(text, k - 1) == 0);
    }
}

static void bytes_that_are_no_letters_end_a_prefix(void **state)
{
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf", /* one byte too long */
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", /* see utf8.c */
        "\xf5\x80",
        "\xff",
        "\xc3(",
        "\xe2\x82",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t before = 0; before <= 24; before++) { /* the words of eight bytes, and beside */
            char text[40];

            memset(text, 'a', before);
            memcpy(text + before, bad[i], strlen(bad[i]));
            assert_true(prefix(text, before + strlen(bad[i])) == before);
        }
}

static void a_prefix_reads_no_further_than_its_bytes(void **state)
{
    static const char text[] = "plain, then \xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82 and plain again";

    (void)state;
    for (size_t n = 0; n < sizeof text; n++) {
        const size_t k = prefix(text, n);

        assert_true(k <= n && n - k < 4);
        assert_true(((unsigned char)text[k] & 0xc0) != 0x80); /* between letters */
    }
}

static void what_moves_a_terminal_becomes_spaces(void **state)
{
    char text[] = "\033[31mred\r\n\x7f\xc2\x9b" /* CSI as one letter */
                  "2J \xc2\xa0\xc3\x9b\xe2\x82\xac",
         cut[WMI_TEXT_CUT];

    (void)state;
    wmi_text_plain(text);
    assert_string_equal(text, " [31mred     2J \xc2\xa0\xc3\x9b\xe2\x82\xac");
    assert_string_equal(wmi_text_cut(cut, "a\0\033b\xc2\x85", 6), "a  b  ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_letter_is_written_and_read),
        cmocka_unit_test(bytes_that_are_no_letters_end_a_prefix),
        cmocka_unit_test(a_prefix_reads_no_further_than_its_bytes),
        cmocka_unit_test(what_moves_a_terminal_becomes_spaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
