/* csv_field.c - what stands in a field. The marks for a missing value are listed in waymark/read.h.
 */
#include "data/csv/csv_field.h"

#include <math.h>
#include <string.h>

#include "data/table/number.h"

/* nan, in any case and with a sign, is a number to the parser and becomes NaN there. */
static bool is_missing(const char *s, size_t n)
{
    static const char *const marks[] = {"NA", "N/A", "null", "NULL", "None", "?"};

    if (n == 0)
        return true;
    if (n > 4 || (*s != 'N' && *s != 'n' && *s != '?'))
        return false;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strncmp(marks[i], s, n) == 0 && marks[i][n] == '\0')
            return true;
    return false;
}

wmi_csv_value wmi_csv_read(const wmi_csv_field *f, double *x)
{
    bool whole;

    if (wmi_number_parse(f->at, f->n, x, &whole))
        return whole ? WMI_CSV_WHOLE : isnan(*x) ? WMI_CSV_MISSING : WMI_CSV_REAL;
    if (!is_missing(f->at, f->n))
        return WMI_CSV_TEXT;
    *x = (double)NAN;
    return WMI_CSV_MISSING;
}

wmi_csv_value wmi_csv_read_as(const wmi_csv_field *f, const wmi_written *w, double *x)
{
    bool whole;

    if (w->script == WMI_PLAIN)
        return wmi_csv_read(f, x);
    if (wmi_written_parse(w, f->at, f->n, x, &whole))
        return whole ? WMI_CSV_WHOLE : isnan(*x) ? WMI_CSV_MISSING : WMI_CSV_REAL;
    return wmi_csv_read(f, x) == WMI_CSV_MISSING ? WMI_CSV_MISSING : WMI_CSV_TEXT;
}

wmi_csv_value wmi_csv_glance(const wmi_csv_field *f)
{
    wmi_written wears;
    double x;
    bool whole;
    const wmi_csv_value v = wmi_csv_read(f, &x);

    if (v != WMI_CSV_TEXT)
        return v;
    if (wmi_dressed_parse(f->at, f->n, '.', &x, &whole, &wears) ||
        wmi_dressed_parse(f->at, f->n, ',', &x, &whole, &wears) || wmi_clock_parse(f->at, f->n, &x))
        return WMI_CSV_REAL;
    for (int order = 0; order < WMI_DATE_ORDERS; order++)
        if (wmi_date_parse(f->at, f->n, (wmi_date_order)order, &x))
            return WMI_CSV_REAL;
    return WMI_CSV_TEXT;
}

bool wmi_csv_comma_number(const wmi_csv_field *f)
{
    char plain[64];
    size_t n = 0, digits = 0, commas = 0;
    double x;
    bool whole;

    if (f->n >= sizeof plain)
        return false;
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->at[i] == ',') {
            commas++;
            continue;
        }
        digits += f->at[i] >= '0' && f->at[i] <= '9';
        plain[n++] = f->at[i];
    }
    return commas && digits && wmi_number_parse(plain, n, &x, &whole);
}

bool wmi_csv_text(const wmi_csv_field *f, char buf[WMI_CSV_MAX_TEXT + 1], size_t *n)
{
    size_t k = 0;

    for (uint32_t i = 0; i < f->n; i++) {
        if (k == WMI_CSV_MAX_TEXT)
            return false;
        buf[k++] = f->at[i];
        i += f->doubled && f->at[i] == '"'; /* its twin */
    }
    buf[k] = '\0';
    *n = k;
    return true;
}

bool wmi_csv_same(const wmi_csv_field *f, const char *text)
{
    char buf[WMI_CSV_MAX_TEXT + 1];
    size_t n;

    if (!f->doubled)
        return f->n == strlen(text) && memcmp(f->at, text, f->n) == 0;
    return wmi_csv_text(f, buf, &n) && strcmp(buf, text) == 0;
}
