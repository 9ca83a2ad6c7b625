/* table_write.c - tables into files: npy and CSV. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/formats/npy.h"
#include "data/table/number.h"
#include "waymark/write.h"

wm_status wm_data_write_npy(const wm_data *d, const char *path, wm_error *err)
{
    WMI_NEED(err, d && path);
    const int64_t dim[2] = {wm_data_count(d), wm_data_dim(d)};

    return wmi_npy_write_f64(path, wm_data_rows(d), 2, dim, err);
}

wm_status wm_npy_write(const char *path, const double *x, int rank, const int64_t *dim,
                       wm_error *err)
{
    WMI_NEED(err, path && x && dim);
    return wmi_npy_write_f64(path, x, rank, dim, err);
}

wm_status wm_npy_write_flags(const char *path, const unsigned char *x, int rank, const int64_t *dim,
                             wm_error *err)
{
    WMI_NEED(err, path && x && dim);
    return wmi_npy_write_bool(path, x, rank, dim, err);
}

wm_status wm_data_write_csv(const wm_data *const *tables, const char *const *prefixes, int n,
                            const char *path, wm_error *err)
{
    WMI_NEED(err, tables && prefixes && path);
    char text[WMI_NUMBER_TEXT];
    wmi_file *file = NULL;
    wm_status st;
    FILE *f;

    if (n < 1)
        return wmi_fail(err, WM_EINVAL, "%s: no table to write", wmi_path_tail(path));
    for (int t = 1; t < n; t++)
        if (wm_data_count(tables[t]) != wm_data_count(tables[0]))
            return wmi_fail(
                err, WM_ESHAPE, "%s: tables of %" PRId64 " and %" PRId64 " rows side by side",
                wmi_path_tail(path), wm_data_count(tables[0]), wm_data_count(tables[t]));
    if ((st = wmi_file_open(&file, path, err)))
        return st;
    f = wmi_file_stream(file);
    for (int t = 0; t < n; t++)
        for (int64_t j = 0; j < wm_data_dim(tables[t]); j++)
            fprintf(f, "%s%s%" PRId64, t || j ? "," : "", prefixes[t], j);
    fputc('\n', f);
    for (int64_t i = 0; i < wm_data_count(tables[0]); i++) {
        for (int t = 0; t < n; t++) {
            const int64_t dim = wm_data_dim(tables[t]);
            const double *row = wm_data_rows(tables[t]) + i * dim;

            for (int64_t j = 0; j < dim; j++) {
                if (t || j)
                    fputc(',', f);
                fputs(wmi_number_text(row[j], text), f);
            }
        }
        fputc('\n', f);
    }
    return wmi_file_commit(file, err);
}

/* A field of CSV, in quotes if it would be read as something else. */
static void put_text(FILE *f, const char *text)
{
    if (*text && !text[strcspn(text, ",;\t\"\r\n ")]) {
        fputs(text, f);
        return;
    }
    fputc('"', f);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', f);
        fputc(*text, f);
    }
    fputc('"', f);
}

wm_status wm_data_write_named(const wm_data *d, const wm_schema *schema, const char *path,
                              wm_error *err)
{
    WMI_NEED(err, d && schema && path);
    const int64_t dim = wm_data_dim(d);
    char text[WMI_NUMBER_TEXT];
    wmi_file *file = NULL;
    wm_status st;
    FILE *f;

    if (wm_schema_dim(schema) != dim)
        return wmi_fail(err, WM_ESHAPE, "%s: a schema of %" PRId64 " columns for %" PRId64,
                        wmi_path_tail(path), wm_schema_dim(schema), dim);
    for (int64_t i = 0; i < wm_data_count(d) * dim; i++) {
        const int64_t j = i % dim;
        const double v = wm_data_rows(d)[i];

        if (wm_schema_kind(schema, j) == WM_KIND_CATEGORICAL &&
            !(v >= 0 && v < (double)wm_schema_levels(schema, j)))
            return wmi_fail(err, WM_EINVAL, "%s: row %" PRId64 ", column %" PRId64 " is level %g",
                            wmi_path_tail(path), i / dim + 1, j + 1, v);
    }
    if ((st = wmi_file_open(&file, path, err)))
        return st;
    f = wmi_file_stream(file);
    for (int64_t j = 0; j < dim; j++) {
        if (j)
            fputc(',', f);
        if (wm_schema_name(schema, j))
            put_text(f, wm_schema_name(schema, j));
        else
            fprintf(f, "X%" PRId64, j);
    }
    fputc('\n', f);
    for (int64_t i = 0; i < wm_data_count(d) * dim; i++) {
        const int64_t j = i % dim;
        const double v = wm_data_rows(d)[i];

        if (wm_schema_kind(schema, j) == WM_KIND_CATEGORICAL)
            put_text(f, wm_schema_level(schema, j, (int64_t)v));
        else
            fputs(wmi_number_text(v, text), f);
        fputc(j + 1 < dim ? ',' : '\n', f);
    }
    return wmi_file_commit(file, err);
}

wm_status wm_data_write_folder(const wm_data *const *tables, const char *const *names, int n,
                               const char *folder, bool csv, bool overwrite, wm_error *err)
{
    WMI_NEED(err, tables && names && folder);
    static const char *const prefix[] = {"X"};
    const char *end = csv ? ".csv" : ".npy";
    wm_status st = WM_OK;
    int done = 0;

    for (int t = 0; t < n && !overwrite; t++)
        if ((st = wmi_file_absent(folder, names[t], end, err)))
            return st;
    st = wmi_folder_make(folder, err);
    for (; done < n && !st; done += !st) {
        char *path = NULL;

        if (!(st = wmi_path_end(&path, folder, names[done], end, err)))
            st = csv ? wm_data_write_csv(&tables[done], prefix, 1, path, err)
                     : wm_data_write_npy(tables[done], path, err);
        wmi_free(path);
    }
    while (st && !overwrite && done-- > 0) /* half of a problem is none */
        wmi_file_remove(folder, names[done], end);
    return st;
}
