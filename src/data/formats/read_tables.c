/* read_tables.c - several tables of the same columns, as far as they have them. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "data/formats/reader.h"
#include "data/table/schema.h"
#include "data/table/table.h"

wm_status wmi_drop_idle(wm_schema *s, const char *label, wm_data **tables, int n, wm_error *err)
{
    const int64_t dim = wm_schema_dim(s);
    int64_t kept = 0;
    bool *keep = NULL;
    wm_status st;

    if ((st = wmi_alloc(&keep, dim, sizeof *keep, "columns", err)))
        return st;
    for (int64_t j = 0; j < dim; j++) {
        keep[j] = !wmi_schema_idle(s, j);
        kept += keep[j];
    }
    if (kept == 0)
        st = wmi_fail(err, WM_EINVAL, "%s: no column with values is left", wmi_text_tail(label));
    for (int t = 0; t < n && !st && kept < dim; t++)
        wmi_data_keep_columns(tables[t], keep);
    if (!st && kept < dim)
        wmi_schema_drop_idle(s);
    wmi_free(keep);
    return st;
}

wm_status wm_data_read_tables(wm_data **out, const char *const *paths, int n, wm_schema *schema,
                              const wm_read_opts *opts, wm_error *err)
{
    WMI_NEED(err, out && paths && schema);
    wm_status st = WM_OK;

    for (int t = 0; t < n; t++)
        out[t] = NULL;
    for (int t = 0; t < n && !st; t++)
        st = wmi_data_read_path(&out[t], paths[t], schema, opts, true, err);
    if (!st && n > 0)
        st = wmi_drop_idle(schema, paths[n - 1], out, n, err);
    for (int t = 0; t < n && st; t++) {
        wm_data_free(out[t]);
        out[t] = NULL;
    }
    return st;
}
