/* utf8.h - text from files, on its way into a model file or a message. */
#ifndef WMI_BASE_UTF8_H
#define WMI_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WMI_TEXT_CUT = 44 }; /* bytes that wmi_text_cut() may write, its NUL included */

/* Whether n bytes are UTF-8: what JSON, and so a model file, can hold. */
bool wmi_text_is_utf8(const char *text, size_t n);
/* Bytes of the letter at text, which has n; 0: they are none. */
size_t wmi_utf8_letter(const char *text, size_t n);
/* How many of the n bytes, from the first, are letters. */
size_t wmi_utf8_prefix(const char *text, size_t n);
/* Writes a letter, at most 0x10ffff; how many bytes it takes. */
size_t wmi_utf8_write(uint32_t letter, char out[4]);
/* Control characters become spaces, in place: what files hold must not move a terminal. */
void wmi_text_plain(char *text);
/* The n bytes of a name or value as a message shows them: cut between letters and with "..." where
 * they are long, control characters made spaces. Returns buf. */
const char *wmi_text_cut(char buf[WMI_TEXT_CUT], const char *text, size_t n);
/* The end of a path, at most 80 bytes: a message must have room for place, value and advice. */
const char *wmi_text_tail(const char *path);

#endif
