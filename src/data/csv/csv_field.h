/* csv_field.h - a field of a text table: a number, a missing value, or text. */
#ifndef WMI_DATA_CSV_FIELD_H
#define WMI_DATA_CSV_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/table/written.h"

/* Without the spaces around it and without its quotes. */
typedef struct wmi_csv_field {
    const char *at; /* in the scan's buffer: until the next row is asked for */
    uint32_t n;
    bool quoted;
    bool doubled; /* holds "" for " */
} wmi_csv_field;

#define WMI_CSV_MAX_TEXT 1000 /* bytes of a name or a level */

typedef enum wmi_csv_value {
    WMI_CSV_MISSING,
    WMI_CSV_WHOLE, /* written without a point */
    WMI_CSV_REAL,
    WMI_CSV_TEXT,
} wmi_csv_value;

/* What a field says; *x is its number, NaN for a missing value, untouched for text. Quotes make no
 * difference: "3.5" is a number and "NA" is missing. */
wmi_csv_value wmi_csv_read(const wmi_csv_field *f, double *x);
/* The same for a column that is written in some way (data/table/written.h). */
wmi_csv_value wmi_csv_read_as(const wmi_csv_field *f, const wmi_written *w, double *x);
/* The same before anything is known of the column: what may be a number or a date is one. */
wmi_csv_value wmi_csv_glance(const wmi_csv_field *f);
/* Whether it looks like a number with commas in it: 3,14 or 1,234.5 */
bool wmi_csv_comma_number(const wmi_csv_field *f);
/* Its text with a NUL and single quotes, into buf; false if it is longer than WMI_CSV_MAX_TEXT. */
bool wmi_csv_text(const wmi_csv_field *f, char buf[WMI_CSV_MAX_TEXT + 1], size_t *n);
/* Whether it is this text. */
bool wmi_csv_same(const wmi_csv_field *f, const char *text);

#endif
