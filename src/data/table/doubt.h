/* doubt.h - columns that tell rows apart rather than say something about them. */
#ifndef WMI_DATA_DOUBT_H
#define WMI_DATA_DOUBT_H

#include "data/table/schema.h"
#include "waymark/data.h"

/* Says, of a table that was just read, which columns look like identifiers: whole numbers or
 * categories of which every row has its own, and what rises from row to row. */
WM_MUST_CHECK wm_status wmi_doubt_identifiers(const wm_schema *s, const char *label,
                                              const wm_data *d, const wm_sink *sink, wm_error *err);

#endif
