/* page_part.c - files of the run folder that go into the page: pictures as data, tables of numbers.
 * A file that cannot be read is named in the page; the rest of the page is made all the same. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/page/page_html.h"
#include "report/page/page_numbers.h"

enum { PRINTED_LINES = 80 };

wm_status wmi_page_judge(wmi_page *p, wm_status st, const wm_error *why, bool tell, wm_error *err)
{
    if (st == WM_ENOMEM) {
        if (err)
            *err = *why;
        return st;
    }
    if (st && tell)
        wmi_page_problem(p, "%s", why->text);
    return WM_OK;
}

wm_status wmi_page_read(wmi_page *p, char **out, size_t *n, const char *folder, const char *name,
                        const char *ext, int64_t max, bool tell, wm_error *err)
{
    char file[300], *path = NULL;
    wm_error why = {0};
    wm_status st;

    *out = NULL;
    *n = 0;
    if (snprintf(file, sizeof file, "%s%s", name, ext) >= (int)sizeof file)
        return WM_OK;
    if ((st = wmi_path_join(&path, folder, file, err)))
        return st;
    st = wmi_file_read(out, n, path, max, &why);
    wmi_free(path);
    return wmi_page_judge(p, st, &why, tell, err);
}

wm_status wmi_page_read_png(wmi_page *p, char **out, size_t *n, const char *folder,
                            const char *name, const char *shown, wm_error *err)
{
    wm_status st = wmi_page_read(p, out, n, folder, name, ".png", WMI_PAGE_PICTURE, true, err);

    if (st || !*out)
        return st;
    if (*n < 8 || memcmp(*out, "\x89PNG\r\n\x1a\n", 8) != 0) {
        wmi_page_problem(p, "%s%s.png: not a PNG picture", shown, name);
        wmi_free(*out);
        *out = NULL;
    }
    return WM_OK;
}

void wmi_html_png(const void *bytes, size_t n, FILE *out)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = bytes;

    fputs("data:image/png;base64,", out);
    for (size_t i = 0; i < n; i += 3) {
        const unsigned a = at[i], b = i + 1 < n ? at[i + 1] : 0, c = i + 2 < n ? at[i + 2] : 0;

        putc(letters[a >> 2], out);
        putc(letters[(a & 3) << 4 | b >> 4], out);
        putc(i + 1 < n ? letters[(b & 15) << 2 | c >> 6] : '=', out);
        putc(i + 2 < n ? letters[c & 63] : '=', out);
    }
}

/* Where numbers come from. */
typedef struct source {
    const wm_figure *figure; /* or NULL for the CSV */
    const char *csv, *title;
    size_t n;
} source;

/* Prints them into memory first, then into the page: what they are wrapped in depends on their
 * size. Folded away if something is drawn above; those that fit are open in print. */
static wm_status put_numbers(wmi_page *p, const source *from, const char *file, bool drawn,
                             wm_error *err)
{
    wmi_numbers t = {.file = file};
    char *tables = NULL;
    wm_error why = {0};
    wm_status st = WM_OK;
    size_t size;

    if (!(t.out = open_memstream(&tables, &size)))
        return wmi_fail(err, WM_ENOMEM, "%s: no memory for its table", file);
    if (from->figure)
        wmi_numbers_of_figure(&t, from->figure);
    else
        st = wmi_numbers_of_csv(&t, from->csv, from->n, file, from->title, &why);
    if (fclose(t.out) && !st)
        st = wmi_fail(&why, WM_ENOMEM, "%s: no memory for its table", file);
    if (st)
        st = wmi_page_judge(p, st, &why, true, err);
    else
        fprintf(p->out, "<details%s%s>\n<summary>Numbers of this figure</summary>\n%s</details>\n",
                t.lines > PRINTED_LINES            ? " class=\"long\""
                : t.columns <= 4 && t.longest > 16 ? " class=\"narrow\""
                                                   : "",
                drawn ? "" : " open", tables);
    free(tables);
    return st;
}

wm_status wmi_page_figure_numbers(wmi_page *p, const wm_figure *f, const char *file, bool drawn,
                                  wm_error *err)
{
    return put_numbers(p, &(source){.figure = f}, file, drawn, err);
}

wm_status wmi_page_csv(wmi_page *p, const char *folder, const char *name, const char *shown,
                       const char *title, bool drawn, wm_error *err)
{
    source from = {.title = title};
    char *text = NULL, file[300];
    wm_status st =
        wmi_page_read(p, &text, &from.n, folder, name, ".csv", WMI_PAGE_PICTURE, true, err);

    if (st || !text)
        return st;
    from.csv = text;
    snprintf(file, sizeof file, "%s%s.csv", shown, name);
    st = put_numbers(p, &from, file, drawn, err);
    wmi_free(text);
    return st;
}
