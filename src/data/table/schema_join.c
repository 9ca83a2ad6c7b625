/* schema_join.c - the columns of two tables side by side. */
#include "base/alloc.h"
#include "data/table/schema.h"

/* Kinds and levels of `from` become those of columns first, first + 1, ... of s. */
static wm_status take_columns(wm_schema *s, const wm_schema *from, int64_t first, wm_error *err)
{
    wm_status st = WM_OK;

    for (int64_t j = 0; !st && j < wm_schema_dim(from); j++) {
        st = wmi_schema_set_kind(s, "", first + j, wm_schema_kind(from, j), err);
        wmi_schema_set_written(s, first + j, wmi_schema_written(from, j));
        for (int64_t l = 0; !st && l < wm_schema_levels(from, j); l++) {
            int64_t number;

            st = wmi_schema_level_number(s, first + j, wm_schema_level(from, j, l), &number, err);
        }
    }
    return st;
}

wm_status wm_schema_join(wm_schema **out, const wm_schema *a, const wm_schema *b, wm_error *err)
{
    WMI_NEED(err, out && a && b);
    const int64_t na = wm_schema_dim(a), nb = wm_schema_dim(b);
    const int64_t wide = wmi_schema_width(a);
    const char **names = NULL;
    int64_t *place = NULL;
    wm_schema *s = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wm_schema_new(&s, err)) ||
        (st = wmi_alloc(&names, na + nb, sizeof(const char *), "names", err)) ||
        (st = wmi_alloc(&place, na + nb, sizeof *place, "columns", err)))
        goto done;
    for (int64_t j = 0; j < na + nb; j++) {
        names[j] = j < na ? wm_schema_name(a, j) : wm_schema_name(b, j - na);
        place[j] = (j < na ? wmi_schema_number(a, j) : wide + wmi_schema_number(b, j - na)) - 1;
    }
    if ((st = wmi_schema_begin(s, "", na + nb, names, err)))
        goto done;
    wmi_schema_place(s, place, wide + wmi_schema_width(b));
    if ((st = take_columns(s, a, 0, err)) || (st = take_columns(s, b, na, err)))
        goto done;
    *out = s;
    s = NULL; /* the caller's now */
done:
    wmi_free(names);
    wmi_free(place);
    wm_schema_free(s);
    return st;
}
