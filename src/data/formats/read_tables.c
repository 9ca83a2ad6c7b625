/* read_tables.c - several tables of the same columns, as far as they have them. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "data/formats/reader.h"
#include "data/formats/source.h"
#include "data/table/kinds.h"
#include "data/table/schema.h"
#include "data/table/table.h"
#include "waymark/sink.h"

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

/* One value for all tables: a mean of its own in each would tell them apart. */
static wm_status fill_together(wm_data **tables, const char *const *paths, int n,
                               const wm_schema *schema, const wm_read_opts *opts, wm_error *err)
{
    int64_t *filled = NULL;
    wm_status st = wmi_alloc(&filled, n, sizeof *filled, "tables", err);

    if (!st)
        st = wmi_kinds_fill(schema, wmi_text_tail(paths[0]), tables, n, filled, err);
    for (int t = 0; t < n && !st; t++)
        if (filled[t])
            wm_say(opts->sink, WM_LOG_WARN,
                   "%s: %" PRId64 " missing values were filled in with the mean of their column in "
                   "all tables",
                   wmi_text_tail(paths[t]), filled[t]);
    wmi_free(filled);
    return st;
}

wm_status wm_data_read_tables(wm_data **out, const char *const *paths, int n, wm_schema *schema,
                              const wm_read_opts *opts, wm_error *err)
{
    WMI_NEED(err, out && paths && schema);
    wm_read_opts own;
    bool fill;
    wm_status st;

    for (int t = 0; t < n; t++)
        out[t] = NULL;
    if ((st = wmi_read_opts_take(&own, opts, err)))
        return st;
    fill = own.missing == WM_MISSING_MEAN && n > 0;
    if (fill)
        own.missing = WM_MISSING_KEEP;
    for (int t = 0; t < n && !st; t++)
        st = wmi_data_read_path(&out[t], paths[t], schema, &own, true, err);
    if (!st && n > 0)
        st = wmi_drop_idle(schema, paths[n - 1], out, n, err);
    if (!st && fill)
        st = fill_together(out, paths, n, schema, &own, err);
    for (int t = 0; t < n && st; t++) {
        wm_data_free(out[t]);
        out[t] = NULL;
    }
    return st;
}
