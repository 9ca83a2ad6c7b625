/* text.h - numbers and UTF-8 as reports need them. */
#ifndef WMI_REPORT_TEXT_H
#define WMI_REPORT_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/fail.h"

#define WMI_REAL_TEXT 32 /* bytes that hold any double */

/* The shortest of %.15g, %.16g and %.17g that reads back as x, with a point in every locale; "" if
 * x is not finite. Returns out. */
const char *wmi_real_text(char out[WMI_REAL_TEXT], double x);

/* Puts a point where the locale has another sign, in a finite number that printf() has written.
 * Returns it. */
char *wmi_number_point(char *number);

/* Length of the UTF-8 letter at text and its code point, or 0. Surrogates, overlong forms and what
 * is beyond U+10FFFF are not letters. */
int wmi_text_letter(const char *text, uint32_t *point);

/* A copy of s in which bytes that are not UTF-8 are U+FFFD and control characters are spaces, or
 * NULL with err set. */
char *wmi_text_clean(wmi_arena *a, const char *s, wm_error *err);

/* Terminal columns that s takes: 0 for combining marks, 2 for East Asian wide letters. */
int wmi_text_width(const char *s);

#endif
