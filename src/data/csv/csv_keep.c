/* csv_keep.c - fields as they stand, with commas between them and quotes where these are needed. */
#include "data/csv/csv_keep.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

static wm_status put(wmi_csv_keep *k, const char *text, size_t n, wm_error *err)
{
    if (k->n + n > k->room) {
        const size_t room = 2 * (k->n + n) + 4096;
        char *grown = NULL;
        wm_status st = wmi_alloc(&grown, (int64_t)room, 1, "columns that are kept", err);

        if (st)
            return st;
        if (k->n)
            memcpy(grown, k->text, k->n);
        wmi_free(k->text);
        k->text = grown;
        k->room = room;
    }
    memcpy(k->text + k->n, text, n);
    k->n += n;
    return WM_OK;
}

/* A quote inside a field that has none around it is not yet written twice. */
static wm_status put_field(wmi_csv_keep *k, const wmi_csv_field *f, wm_error *err)
{
    bool quotes = f->quoted;
    wm_status st = WM_OK;

    for (uint32_t i = 0; i < f->n && !quotes; i++)
        quotes = strchr(",\"\r\n", f->at[i]) != NULL;
    if (!quotes)
        return put(k, f->at, f->n, err);
    if ((st = put(k, "\"", 1, err)))
        return st;
    for (uint32_t i = 0; i < f->n && !st; i++)
        if (!(st = put(k, &f->at[i], 1, err)) && f->at[i] == '"' && !f->quoted)
            st = put(k, "\"", 1, err);
    return st ? st : put(k, "\"", 1, err);
}

static wm_status put_line(wmi_csv_keep *k, const wmi_csv_field *fields, wm_error *err)
{
    wm_status st = WM_OK;

    for (int64_t j = 0; j < k->columns.dim && !st; j++)
        if (!(st = j ? put(k, ",", 1, err) : WM_OK))
            st = put_field(k, &fields[k->columns.from[j]], err);
    return st ? st : put(k, "", 1, err);
}

static wm_status make_header(wmi_csv_keep *k, const wmi_csv_table *t, wm_error *err)
{
    char number[32];
    wm_status st = WM_OK;

    for (int64_t j = 0; j < k->columns.dim && !st; j++) {
        const int64_t from = k->columns.from[j];
        const char *name = t->all_names ? t->all_names[from] : NULL;

        snprintf(number, sizeof number, "column%" PRId64, from + 1);
        name = name ? name : number;
        if (!(st = j ? put(k, ",", 1, err) : WM_OK))
            st = put_field(k, &(wmi_csv_field){.at = name, .n = (uint32_t)strlen(name)}, err);
    }
    if (st || (st = put(k, "", 1, err)) ||
        (st = wmi_alloc(&k->header, (int64_t)k->n, 1, "columns that are kept", err)))
        return st;
    memcpy(k->header, k->text, k->n);
    wmi_csv_keep_clear(k);
    return WM_OK;
}

wm_status wmi_csv_keep_start(wmi_csv_keep *k, const wmi_csv_table *t, const char *list,
                             wm_error *err)
{
    const wmi_choice choice = {
        .label = t->scan.path, .width = t->shape.dim, .names = t->all_names, .columns = list};
    wm_status st;

    if (!list)
        return WM_OK;
    if ((st = wmi_select(&k->columns, &choice, err)))
        return st;
    return make_header(k, t, err);
}

void wmi_csv_keep_free(wmi_csv_keep *k)
{
    wmi_selection_free(&k->columns);
    wmi_free(k->header);
    wmi_free(k->text);
    wmi_free(k->at);
    *k = (wmi_csv_keep){0};
}

void wmi_csv_keep_clear(wmi_csv_keep *k)
{
    k->n = 0;
    k->rows = 0;
}

wm_status wmi_csv_keep_row(wmi_csv_keep *k, const wmi_csv_table *t, wm_error *err)
{
    if (!k->columns.dim)
        return WM_OK;
    if (k->rows == k->rows_room) {
        const int64_t room = 2 * k->rows + 1024;
        size_t *grown = NULL;
        wm_status st = wmi_alloc(&grown, room, sizeof *grown, "columns that are kept", err);

        if (st)
            return st;
        if (k->rows)
            memcpy(grown, k->at, (size_t)k->rows * sizeof *grown);
        wmi_free(k->at);
        k->at = grown;
        k->rows_room = room;
    }
    k->at[k->rows++] = k->n;
    return put_line(k, t->fields, err);
}

const char *wmi_csv_keep_line(const wmi_csv_keep *k, int64_t row)
{
    return row >= 0 && row < k->rows ? k->text + k->at[row] : NULL;
}
