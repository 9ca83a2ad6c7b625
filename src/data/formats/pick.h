/* pick.h - some columns of an array, as a cursor over the cursor of all. */
#ifndef WMI_DATA_PICK_H
#define WMI_DATA_PICK_H

#include "data/formats/reader.h"
#include "data/table/select.h"

/* *cursor becomes one that yields the selection, which is taken over with it; a selection of all
 * columns changes nothing. On failure *cursor is as it was. */
WM_MUST_CHECK wm_status wmi_pick_columns(wmi_cursor **cursor, wmi_selection *s, wm_error *err);

#endif
