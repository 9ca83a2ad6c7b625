/* utf8.c - is it UTF-8, how a letter is written in it, and how much of it a message shows. */
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

size_t wmi_utf8_letter(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    const size_t k = n ? letter_bytes(p[0]) : 0;

    if (k == 0 || k > n)
        return 0;
    for (size_t j = 1; j < k; j++)
        if ((p[j] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90))
        return 0; /* written longer than needed */
    if ((p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf4 && p[1] >= 0x90))
        return 0; /* half of a UTF-16 pair; beyond the last letter */
    return k;
}

size_t wmi_utf8_prefix(const char *text, size_t n)
{
    static const uint64_t high_bits = UINT64_C(0x8080808080808080);
    size_t i = 0, k;

    for (;;) {
        for (uint64_t eight; i + sizeof eight <= n; i += sizeof eight) {
            memcpy(&eight, text + i, sizeof eight);
            if (eight & high_bits)
                break;
        }
        do {
            k = i < n && !(text[i] & 0x80) ? 1 : wmi_utf8_letter(text + i, n - i);
            if (!k)
                return i;
            i += k;
        } while (i % sizeof(uint64_t));
    }
}

size_t wmi_utf8_write(uint32_t letter, char out[4])
{
    const size_t k = letter < 0x80 ? 1 : letter < 0x800 ? 2 : letter < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t j = k - 1; j > 0; j--, letter >>= 6)
        out[j] = (char)(0x80 | (letter & 0x3f));
    out[0] = (char)(first[k] | letter);
    return k;
}

bool wmi_text_is_utf8(const char *text, size_t n)
{
    return wmi_utf8_prefix(text, n) == n;
}

/* Those of ASCII, and of the 32 letters from U+0080, which some terminals obey too. */
void wmi_text_plain(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++)
        if (*p < 0x20 || *p == 0x7f)
            *p = ' ';
        else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
            p[0] = p[1] = ' ';
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
        buf[i] = text[i] ? text[i] : ' ';
    snprintf(buf + keep, WMI_TEXT_CUT - keep, "%s", keep < n ? "..." : "");
    wmi_text_plain(buf);
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
