/* utf8.c - is it UTF-8, and how much of it does a message show. */
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

enum { TAIL = 80 };

/* Bytes of the letter that begins with c, or 0 if none does. */
static size_t letter_bytes(unsigned char c)
{
    if (c < 0x80)
        return 1;
    if (c < 0xc2 || c > 0xf4) /* the middle of a letter, one written too long, or past the last */
        return 0;
    return c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

bool wmi_text_is_utf8(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t k;

    for (size_t i = 0; i < n; i += k) {
        k = letter_bytes(p[i]);
        if (k == 0 || k > n - i)
            return false;
        for (size_t j = 1; j < k; j++)
            if ((p[i + j] & 0xc0) != 0x80)
                return false;
        if ((p[i] == 0xe0 && p[i + 1] < 0xa0) || (p[i] == 0xf0 && p[i + 1] < 0x90))
            return false; /* written longer than needed */
        if ((p[i] == 0xed && p[i + 1] >= 0xa0) || (p[i] == 0xf4 && p[i + 1] >= 0x90))
            return false; /* half of a UTF-16 pair; beyond the last letter */
    }
    return true;
}

const char *wmi_text_cut(char buf[WMI_TEXT_CUT], const char *text, size_t n)
{
    size_t keep = n;

    if (n > WMI_TEXT_CUT - 1) {
        keep = WMI_TEXT_CUT - 4;
        while (keep > WMI_TEXT_CUT - 8 && ((unsigned char)text[keep] & 0xc0) == 0x80)
            keep--;
    }
    for (size_t i = 0; i < keep; i++)
        buf[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i];
    snprintf(buf + keep, WMI_TEXT_CUT - keep, "%s", keep < n ? "..." : "");
    return buf;
}

const char *wmi_text_tail(const char *path)
{
    const size_t n = strlen(path);
    const char *p = n > TAIL ? path + (n - TAIL) : path;

    while (((unsigned char)*p & 0xc0) == 0x80)
        p++; /* not in the middle of a letter */
    return p;
}
