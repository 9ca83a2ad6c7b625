/* csv_script.h - finding out how the columns of a text table are written. */
#ifndef WMI_DATA_CSV_SCRIPT_H
#define WMI_DATA_CSV_SCRIPT_H

#include "data/csv/csv_field.h"
#include "data/formats/reader.h"

/* What the values of a column seen so far can be. */
typedef struct wmi_csv_script {
    unsigned may;           /* bits, private */
    wmi_written dressed[2]; /* what values wear, with a decimal point and with a comma */
    bool real[2];           /* one is not whole */
    bool text;              /* one is no plain number */
    unsigned said;          /* yes and no: bits of the values of each family */
} wmi_csv_script;

void wmi_csv_script_start(wmi_csv_script *s, const wmi_source_file *file);
/* v: what wmi_csv_read() says of the field. */
void wmi_csv_script_see(wmi_csv_script *s, const wmi_csv_field *f, wmi_csv_value v);

/* With all values seen, of all columns of a file: whether some column can only have decimal
 * commas, or only points, which settles the others. */
typedef struct wmi_csv_decimals {
    bool comma, point;
    char delimiter; /* of the file */
} wmi_csv_decimals;
void wmi_csv_script_vote(wmi_csv_decimals *d, const wmi_csv_script *s);

/* How the column is written. before: how it was in an earlier table, or NULL. *family: of yes and
 * no. *unsure: why it may be otherwise, with the setting that says so; or NULL. */
wmi_written wmi_csv_script_settle(const wmi_csv_script *s, const wmi_csv_decimals *d,
                                  const wmi_written *before, int *family, const char **unsure);

#endif
