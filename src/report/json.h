/* json.h - JSON objects from text and to text. The one place of this room that names jansson. */
#ifndef WMI_REPORT_JSON_H
#define WMI_REPORT_JSON_H

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include "base/fail.h"

/* Reads text (n bytes), which must be one JSON object; *out is for json_decref(). WM_EFORMAT names
 * the line and column of what is wrong. */
WM_MUST_CHECK wm_status wmi_json_read(json_t **out, const char *text, size_t n, const char *name,
                                      wm_error *err);
/* The text of a member, borrowed; "" where there is none. */
const char *wmi_json_text(const json_t *object, const char *key);
/* A number; NaN for anything else, as null is what a number that is not finite is written as. */
double wmi_json_real(const json_t *v);

/* v as JSON: what fits on a line of 100 columns stays on it, the rest is indented by 2. */
void wmi_json_print(const json_t *v, FILE *f);
/* v as JSON on one line, without newline. Both leave write errors to the stream, and memory errors
 * to it as well: a stream that has failed stays failed. */
void wmi_json_line(const json_t *v, FILE *f);

#endif
