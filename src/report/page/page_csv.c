/* page_csv.c - a CSV as one table, as it stands: that of a picture, or of a figure that has no
 * description. Read twice: once for the number of its rows and the size of its numbers, once to
 * print. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "data/csv/csv_scan.h"
#include "report/page/page_html.h"
#include "report/page/page_numbers.h"

enum { MAX_COLUMNS = 64 };

typedef struct table {
    wmi_csv_scan scan;
    int64_t columns, rows;
    double largest[MAX_COLUMNS];
    bool whole[MAX_COLUMNS]; /* every number of the column is a whole one */
} table;

/* From the first row on; the header becomes the current row. */
static wm_status start(table *t, wm_error *err)
{
    bool got;
    wm_status st = wmi_csv_scan_start(&t->scan, err);

    if (st)
        return st;
    wmi_csv_scan_delimiter(&t->scan, ',');
    if ((st = wmi_csv_scan_row(&t->scan, &got, err)))
        return st;
    if (!got)
        return wmi_fail(err, WM_EFORMAT, "%.150s:1: the file is empty", t->scan.path);
    t->columns = t->scan.n;
    if (t->columns > MAX_COLUMNS)
        return wmi_fail(err, WM_EFORMAT, "%.150s:1: %" PRId64 " columns, a page shows at most %d",
                        t->scan.path, t->columns, MAX_COLUMNS);
    return WM_OK;
}

/* The next row that is not blank; *got = false at the end. */
static wm_status next_row(table *t, bool *got, wm_error *err)
{
    wm_status st;

    do
        st = wmi_csv_scan_row(&t->scan, got, err);
    while (!st && *got && t->scan.n == 0);
    if (!st && *got && t->scan.n != t->columns)
        st = wmi_fail(err, WM_EFORMAT, "%.150s:%" PRId64 ": %" PRId64 " columns, expected %" PRId64,
                      t->scan.path, t->scan.row_line, t->scan.n, t->columns);
    return st;
}

static wm_status study(table *t, wm_error *err)
{
    bool got = true;
    wm_status st = start(t, err);

    for (int64_t k = 0; k < t->columns && !st; k++)
        t->whole[k] = true;
    while (!st && !(st = next_row(t, &got, err)) && got) {
        t->rows++;
        for (int64_t k = 0; k < t->columns; k++) {
            double x = NAN;

            if (wmi_csv_read(&t->scan.field[k], &x) == WMI_CSV_TEXT || !isfinite(x))
                continue;
            t->largest[k] = fmax(t->largest[k], fabs(x));
            t->whole[k] = t->whole[k] && x == floor(x);
        }
    }
    return st;
}

static void put_field(const wmi_csv_field *f, int decimals, FILE *out)
{
    char text[WMI_CSV_MAX_TEXT + 1];
    double x;
    size_t n;

    if (f->n == 0)
        fputs("\xe2\x80\x93", out);
    else if (wmi_csv_read(f, &x) != WMI_CSV_TEXT)
        wmi_html_fixed(x, decimals, out);
    else if (wmi_csv_text(f, text, &n))
        wmi_html_bytes(text, n, out);
    else
        fputs("\xe2\x80\xa6", out); /* a text too long for a table */
}

static wm_status print(table *t, wmi_numbers *to, const char *title, wm_error *err)
{
    const int64_t shown = t->rows < WMI_NUMBERS_ROWS ? t->rows : WMI_NUMBERS_ROWS;
    bool got;
    int64_t i = 0;
    wm_status st = start(t, err);

    if (st)
        return st;
    wmi_numbers_open(to, title, "", shown, t->rows, t->columns);
    for (int64_t k = 0; k < t->columns; k++) {
        fputs("<th scope=\"col\">", to->out);
        put_field(&t->scan.field[k], 0, to->out);
        fputs("</th>", to->out);
    }
    fputs("</tr></thead>\n<tbody>\n", to->out);
    for (int64_t row = 0; !(st = next_row(t, &got, err)) && got; row++) {
        if (row != wmi_numbers_pick(i, shown, t->rows))
            continue;
        i++;
        fputs("<tr>", to->out);
        for (int64_t k = 0; k < t->columns; k++) {
            fputs("<td class=\"number\">", to->out);
            put_field(&t->scan.field[k], t->whole[k] ? 0 : wmi_html_decimals(t->largest[k]),
                      to->out);
            fputs("</td>", to->out);
        }
        fputs("</tr>\n", to->out);
    }
    wmi_numbers_close(to);
    return st;
}

wm_status wmi_numbers_of_csv(wmi_numbers *t, const char *text, size_t n, const char *name,
                             const char *title, wm_error *err)
{
    table csv = {.scan = {.path = name}};
    wm_status st = wmi_bytes_memory(&csv.scan.bytes, name, text, n, err);

    if (!st)
        st = study(&csv, err);
    wmi_csv_scan_close(&csv.scan);
    if (!st && !(st = wmi_bytes_rewind(csv.scan.bytes, err)))
        st = print(&csv, t, title, err);
    wmi_csv_scan_close(&csv.scan);
    wmi_bytes_close(csv.scan.bytes);
    return st;
}
