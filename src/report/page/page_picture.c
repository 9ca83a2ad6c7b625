/* page_picture.c - grids of images that a run made: the PNG in the run folder, as the summary's
 * "pictures" name it, with what it shows and the CSV beside it as a table. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/page/page_html.h"

enum {
    MAX_PICTURES = 100,
    COMFORTABLE = 480, /* pixels a side that a small picture is magnified to, at most */
    MOST_TIMES = 4,
    WIDE = 1200 /* beyond it a phone scrolls the picture */
};

typedef struct picture {
    const char *title, *caption;
    char name[200]; /* of its file, without .png */
    int64_t width, height;
} picture;

/* Takes a row of the summary if its file is a PNG in the run folder itself: a path could lead out
 * of it. */
static bool take(picture *out, const json_t *row)
{
    const char *file = wmi_json_text(row, "file");
    const size_t n = strlen(file);

    *out =
        (picture){.title = wmi_json_text(row, "title"), .caption = wmi_json_text(row, "caption")};
    if (n < 5 || n - 4 >= sizeof out->name || file[0] == '.' || strchr(file, '/') ||
        strcmp(file + n - 4, ".png") != 0)
        return false;
    memcpy(out->name, file, n - 4);
    if (!*out->title)
        out->title = out->name;
    return true;
}

static int64_t big_endian(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;

    return (int64_t)b[0] << 24 | (int64_t)b[1] << 16 | (int64_t)b[2] << 8 | b[3];
}

/* Width and height stand at the same place of every PNG. */
static bool measure(picture *pic, const char *bytes, size_t n)
{
    if (n < 24 || memcmp(bytes + 12, "IHDR", 4) != 0)
        return false;
    pic->width = big_endian(bytes + 16);
    pic->height = big_endian(bytes + 20);
    return pic->width > 0 && pic->height > 0;
}

/* Magnified by a whole number where it is small, so that its pixels stay square and alike. */
static void put_image(const picture *pic, const char *bytes, size_t n, bool table, FILE *out)
{
    const bool wide = pic->width > WIDE;
    int64_t times = COMFORTABLE / (pic->width > pic->height ? pic->width : pic->height);

    times = times < 1 ? 1 : times > MOST_TIMES ? MOST_TIMES : times;
    if (wide)
        wmi_html_sheet("picture", out);
    fprintf(out,
            "<img class=\"pixels\" width=\"%" PRId64 "\" height=\"%" PRId64
            "\" style=\"--width:%" PRId64 "px;--aspect:%.5f\" src=\"",
            pic->width, pic->height, times * pic->width, (double)pic->width / (double)pic->height);
    wmi_html_png(bytes, n, out);
    fputs("\" alt=\"", out);
    wmi_html_text(pic->title, out);
    fputs(table ? ". The numbers follow as a table.\">\n" : ".\">\n", out);
    if (wide)
        fputs("</div>\n", out);
}

/* Whether the CSV is there: older runs have none. */
static wm_status find_table(bool *out, const wmi_page *p, const picture *pic, wm_error *err)
{
    char file[sizeof pic->name + 4], *path = NULL;
    wm_status st;

    *out = false;
    snprintf(file, sizeof file, "%s.csv", pic->name);
    if ((st = wmi_path_join(&path, p->folder, file, err)))
        return st;
    *out = wmi_file_exists(path);
    wmi_free(path);
    return WM_OK;
}

static wm_status put_picture(wmi_page *p, picture *pic, wm_error *err)
{
    char *bytes = NULL;
    size_t n;
    bool table, drawn;
    wm_status st;

    wmi_html_figure(pic->title, pic->caption, p->out);
    if ((st = find_table(&table, p, pic, err)) ||
        (st = wmi_page_read_png(p, &bytes, &n, p->folder, pic->name, "", err)))
        return st;
    drawn = bytes && measure(pic, bytes, n);
    if (drawn)
        put_image(pic, bytes, n, table, p->out);
    else if (bytes)
        wmi_page_problem(p, "%s.png: a PNG picture without a size", pic->name);
    wmi_free(bytes);
    p->figures += drawn;
    if (table)
        st = wmi_page_csv(p, p->folder, pic->name, "", pic->title, drawn, err);
    else
        wmi_html_no_numbers(p->out);
    fputs("</figure>\n", p->out);
    return st;
}

bool wmi_page_has_pictures(const wmi_page *p)
{
    return json_is_object(json_array_get(json_object_get(p->summary, "pictures"), 0));
}

wm_status wmi_page_pictures(wmi_page *p, wm_error *err)
{
    const json_t *rows = json_object_get(p->summary, "pictures");
    const size_t n = json_array_size(rows);
    wm_status st = WM_OK;

    if (!wmi_page_has_pictures(p))
        return WM_OK;
    wmi_page_section(p, "images", "Images");
    for (size_t i = 0; i < n && i < MAX_PICTURES && !st; i++) {
        picture pic;

        if (take(&pic, json_array_get(rows, i)))
            st = put_picture(p, &pic, err);
        else
            wmi_page_problem(p, "summary.json: picture %zu: '%.80s' is not the name of a PNG file",
                             i + 1, wmi_json_text(json_array_get(rows, i), "file"));
    }
    if (n > MAX_PICTURES)
        fprintf(p->out, "<p class=\"note\">The first %d of %zu pictures.</p>\n", MAX_PICTURES, n);
    fputs("</section>\n", p->out);
    return st;
}
