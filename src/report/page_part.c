/* page_part.c - files of the run folder that go into the page: pictures as data, tables of numbers.
 * One that cannot be read is named in the page, and is no failure. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/page_html.h"
#include "report/page_numbers.h"

enum { PRINTED_LINES = 80 };

/* What a file's own trouble means to the page: only memory ends it. */
static wm_status judge(wmi_page *p, wm_status st, const wm_error *why, bool tell, wm_error *err)
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
    return judge(p, st, &why, tell, err);
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

wm_status wmi_page_numbers(wmi_page *p, const char *folder, const char *name, const char *shown,
                           const wmi_plan *plan, bool drawn, wm_error *err)
{
    char *text = NULL, *tables = NULL, file[300];
    wmi_numbers numbers = {0};
    wm_error why = {0};
    size_t n, size;
    FILE *memory;
    wmi_numbers_size got;
    wm_status st = wmi_page_read(p, &text, &n, folder, name, ".csv", WMI_PAGE_PICTURE, true, err);

    if (st || !text)
        return st;
    snprintf(file, sizeof file, "%s%s.csv", shown, name);
    if ((st = wmi_numbers_read(&numbers, text, n, file, &why))) {
        st = judge(p, st, &why, true, err);
        goto done;
    }
    if (!(memory = open_memstream(&tables, &size))) {
        st = wmi_fail(err, WM_ENOMEM, "%s: no memory for its table", file);
        goto done;
    }
    got = wmi_numbers_print(&numbers, plan, file, memory);
    if (fclose(memory))
        st = wmi_fail(err, WM_ENOMEM, "%s: no memory for its table", file);
    else
        fprintf(p->out, "<details%s%s>\n<summary>Numbers of this figure</summary>\n%s</details>\n",
                got.lines > PRINTED_LINES              ? " class=\"long\""
                : got.columns <= 4 && got.longest > 16 ? " class=\"narrow\""
                                                       : "",
                drawn ? "" : " open", tables);
    free(tables);
done:
    wmi_numbers_clear(&numbers);
    wmi_free(text);
    return st;
}
