/* text.c - shortest exact numbers, and clean UTF-8. */
#include "report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

char *wmi_number_point(char *number)
{
    for (char *p = number; *p; p++)
        if (!strchr("0123456789+-e", *p))
            *p = '.';
    return number;
}

const char *wmi_real_text(char out[WMI_REAL_TEXT], double x)
{
    out[0] = '\0';
    if (!isfinite(x))
        return out;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, WMI_REAL_TEXT, "%.*g", digits, x);
        if (strtod(out, NULL) == x)
            break;
    }
    return wmi_number_point(out);
}

int wmi_text_letter(const char *text, uint32_t *point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    const int n = s[0] < 0x80       ? 1
                  : s[0] >> 5 == 6  ? 2
                  : s[0] >> 4 == 14 ? 3
                  : s[0] >> 3 == 30 ? 4
                                    : 0;

    if (n <= 1) {
        *point = s[0];
        return n;
    }
    *point = s[0] & (0xffU >> (n + 1));
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) /* also the end of the text */
            return 0;
        *point = *point << 6 | (s[i] & 0x3fU);
    }
    return *point < least[n] || *point > 0x10ffff || (*point >= 0xd800 && *point <= 0xdfff) ? 0 : n;
}

char *wmi_text_clean(wmi_arena *a, const char *s, wm_error *err)
{
    char *out = wmi_arena_alloc(a, 3 * strlen(s) + 1, err); /* U+FFFD takes three bytes */
    char *to = out;

    if (!out)
        return NULL;
    while (*s) {
        uint32_t point;
        const int n = wmi_text_letter(s, &point);

        if (n == 0) {
            memcpy(to, "\xef\xbf\xbd", 3);
            to += 3;
            s++;
        } else if (point < 0x20 || (point >= 0x7f && point < 0xa0)) { /* a terminal may obey */
            *to++ = ' ';
            s += n;
        } else {
            memcpy(to, s, (size_t)n);
            to += n;
            s += n;
        }
    }
    *to = '\0';
    return out;
}

int wmi_text_width(const char *s)
{
    int width = 0;

    while (*s) {
        uint32_t c;
        const int n = wmi_text_letter(s, &c);

        s += n ? n : 1;
        if ((c >= 0x300 && c <= 0x36f) || c == 0x200d || (c >= 0xfe00 && c <= 0xfe0f))
            continue;
        width += (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
                         (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
                         (c >= 0xff00 && c <= 0xff60) || (c >= 0x1f300 && c <= 0x1faff)
                     ? 2
                     : 1;
    }
    return width;
}
