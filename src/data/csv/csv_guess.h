/* csv_guess.h - what a text table is split at, and whether its first line has names. */
#ifndef WMI_DATA_CSV_GUESS_H
#define WMI_DATA_CSV_GUESS_H

#include "data/csv/csv_scan.h"
#include "waymark/read.h"

typedef struct wmi_csv_shape {
    char delimiter; /* as in wmi_csv_scan */
    bool header;
    bool trailing;  /* rows end with a delimiter that begins no column */
    bool row_names; /* rows have one field more than the header: their own names, in front */
    /* Found, not told, although the first line is not of one mind: it has numbers in a header, or
     * text above numbers in a row of data. */
    bool doubtful;
    int64_t dim; /* 0: there is no row at all */
} wmi_csv_shape;

/* Look at what s holds, from its first row on; s does not move, but may read more.
 * delimiter: given, or -1 to look. header: 1 yes, 0 no, -1 look.
 * known: columns of an earlier table, whose names in the first line make it a header; or NULL. */
WM_MUST_CHECK wm_status wmi_csv_guess(wmi_csv_shape *out, wmi_csv_scan *s, int delimiter,
                                      int header, const wm_schema *known, wm_error *err);

#endif
