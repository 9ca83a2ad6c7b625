/* select.h - which columns of a file make the columns of a table. */
#ifndef WMI_DATA_SELECT_H
#define WMI_DATA_SELECT_H

#include "data/table/schema.h"

typedef struct wmi_selection {
    int64_t *from; /* (dim) place in the file, from 0; -1: the file does not have it */
    int64_t dim;
    bool whole; /* all columns of the file, in its order */
} wmi_selection;

/* What there is to choose from, and by what. */
typedef struct wmi_choice {
    const char *label;        /* of the file, for messages */
    int64_t width;            /* its columns */
    const char *const *names; /* (width), entries may be NULL; or NULL */
    const wm_schema *known;   /* columns of an earlier table, or NULL */
    const char *columns;      /* as in wm_read_opts, or NULL */
    const char *drop;
    bool lenient; /* a column of `known` may be absent: from is -1 then */
    const wm_sink *sink;
} wmi_choice;

/* The first table has the columns that the lists leave. A later one, or one for a fixed schema,
 * has those of `known`: by name, in any order and among others, where all are named in both;
 * else by place. Columns that only this file has are said, unless the schema is fixed.
 * WM_EINVAL: a list that names no column, or leaves none; a column that is absent, or there twice.
 * WM_ESHAPE: another number of columns without names. Freed with wmi_selection_free(). */
WM_MUST_CHECK wm_status wmi_select(wmi_selection *out, const wmi_choice *c, wm_error *err);
void wmi_selection_free(wmi_selection *s); /* leaves it empty */

#endif
