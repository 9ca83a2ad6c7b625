/* text.h - numbers and UTF-8 as reports need them. */
#ifndef WMI_REPORT_TEXT_H
#define WMI_REPORT_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/fail.h"

#define WMI_REAL_TEXT 32 /* bytes that hold any double */

/* The shortest of %.15g, %.16g and %.17g that reads back as x, with a point in every locale; "" if
 * x is not finite. Returns out. */
const char *wmi_real_text(char out[WMI_REAL_TEXT], double x);

/* Length of the UTF-8 letter at text and its code point, or 0. Surrogates, overlong forms and what
 * is beyond U+10FFFF are not letters. */
int wmi_text_letter(const char *text, uint32_t *point);

/* A copy of s in which bytes that are not UTF-8 are U+FFFD and control characters are spaces, or
 * NULL with err set. */
char *wmi_text_clean(wmi_arena *a, const char *s, wm_error *err);

/* Terminal columns that s takes: 0 for combining marks, 2 for East Asian wide letters. */
int wmi_text_width(const char *s);

/* v as JSON: what fits on a line of 100 columns stays on it, the rest is indented by 2. */
void wmi_json_print(const json_t *v, FILE *f);
/* v as JSON on one line, without newline. Both leave write errors to the stream, and memory errors
 * to it as well: a stream that has failed stays failed. */
void wmi_json_line(const json_t *v, FILE *f);

#endif
