/* test_png_read.c - PNG images of every kind, written by hand (png_files.py), pixel for pixel; the
 * malformed ones of bad_png/ in the words of its EXPECTED; averages over areas. */
#include "asserts.h"
#include "scratch.h"

#include "base/alloc.h"
#include "base/file.h"
#include "images/png_read.h"

static wm_status read_path(wmi_picture *out, const char *path, wm_error *err)
{
    char *bytes = NULL;
    size_t n;
    wm_status st;

    assert_ok(wmi_file_read(&bytes, &n, path, 1 << 20, err), *err);
    st = wmi_png_read(out, bytes, n, path, err);
    wmi_free(bytes);
    return st;
}

static int make_images(void **state)
{
    char command[2048];

    if (scratch_make(state))
        return -1;
    snprintf(command, sizeof command, "python3 -B png_files.py good '%s'", scratch_folder);
    return system(command); /* NOLINT: a command of our own */
}

static void every_kind_is_read(void **state)
{
    static const char *const names[] = {"grey8", "filter1", "bit1",     "bit2",  "bit4",
                                        "rgb8",  "palette", "palette1", "alpha", "interlaced"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64], text[4096], *at;
        wm_error err = {0};
        wmi_picture p;

        snprintf(name, sizeof name, "%s.txt", names[i]);
        snprintf(text, sizeof text, "%.4000s", scratch_read(scratch(name)));
        snprintf(name, sizeof name, "%s.png", names[i]);
        assert_ok(read_path(&p, scratch(name), &err), err);
        assert_int_equal(p.height, strtol(text, &at, 10));
        assert_int_equal(p.width, strtol(at, &at, 10));
        assert_int_equal(p.channels, strtol(at, &at, 10));
        for (int64_t k = 0; k < p.height * p.width * p.channels; k++) {
            const long want = strtol(at, &at, 10);

            if (p.pixels[k] != want)
                fail_msg("%s: value %d is %d, expected %ld", names[i], (int)k, p.pixels[k], want);
        }
        wmi_free(p.pixels);
    }
}

static void bad_images_are_refused(void **state)
{
    const int64_t live = wmi_alloc_live();
    FILE *f = fopen("bad_png/EXPECTED", "r");
    char line[512];
    int n = 0;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char *tab = strchr(line, '\t'), path[600];
        wm_error err = {0};
        wmi_picture p;

        assert_non_null(tab);
        *tab = '\0';
        tab[1 + strcspn(tab + 1, "\n")] = '\0';
        snprintf(path, sizeof path, "bad_png/%s", line);
        assert_int_equal(read_path(&p, path, &err), WM_EFORMAT);
        assert_null(p.pixels);
        if (!strstr(err.text, tab + 1) || !strstr(err.text, line))
            fail_msg("%s: said '%s', expected '%s'", path, err.text, tab + 1);
        n++;
    }
    fclose(f);
    assert_int_equal(n, scratch_count("bad_png") - 1); /* all but EXPECTED are listed */
    assert_int_equal(wmi_alloc_live(), live);
}

/* Every length of a good file but the whole is refused. */
static void every_cut_is_found(void **state)
{
    wm_error err = {0};
    char *bytes = NULL;
    wmi_picture p;
    size_t n;

    (void)state;
    assert_ok(wmi_file_read(&bytes, &n, scratch("rgb8.png"), 1 << 20, &err), err);
    for (size_t k = 0; k < n; k++)
        assert_int_equal(wmi_png_read(&p, bytes, k, "cut", &err), WM_EFORMAT);
    assert_ok(wmi_png_read(&p, bytes, n, "whole", &err), err);
    wmi_free(p.pixels);
    wmi_free(bytes);
}

static void areas_are_averaged(void **state)
{
    uint8_t two[4], three[9], one[1];
    /* 3 x 3 to 2 x 2: a cell covers 1.5 x 1.5 pixels, the middle ones by halves. */
    uint8_t square[9] = {255, 255, 255, 255, 0, 255, 255, 255, 255}; /* one dark pixel */
    uint8_t rgb[6] = {255, 0, 255, 0, 0, 0};
    const wmi_picture p = {3, 3, 1, square}, q = {1, 2, 3, rgb};
    uint8_t checks[16], back[4];

    (void)state;
    wmi_picture_ink(&p, 2, two);
    for (int i = 0; i < 4; i++)
        assert_int_equal(two[i], 28); /* 255 * 0.25 / 2.25 = 28.33 */
    wmi_picture_ink(&p, 3, three);
    for (int i = 0; i < 9; i++)
        assert_int_equal(three[i], i == 4 ? 255 : 0);
    wmi_picture_ink(&p, 1, one);
    assert_int_equal(one[0], 28); /* 255 / 9 */
    wmi_picture_ink(&q, 1, one);
    assert_int_equal(one[0], 170); /* (85 + 255) / 2 */
    /* Enlarged by two and averaged again: the same. */
    for (int i = 0; i < 4; i++)
        back[i] = (uint8_t)(60 * i + 7);
    wmi_picture_ink(&(wmi_picture){2, 2, 1, back}, 4, checks);
    for (int i = 0; i < 16; i++)
        assert_int_equal(checks[i], 255 - back[i / 8 * 2 + i % 4 / 2]);
    /* A whole page of ink keeps it at sizes that do not divide: 105 to 28. */
    {
        uint8_t *dark = NULL, canvas[28 * 28];
        wm_error err;

        assert_ok(wmi_alloc(&dark, 105 * 105, 1, "page", &err), err);
        dark[0] = 255; /* but for a corner: 1 / 3.75^2 of the first cell is light */
        wmi_picture_ink(&(wmi_picture){105, 105, 1, dark}, 28, canvas);
        assert_int_equal(canvas[0], 237); /* 255 * (1 - 1 / 14.0625) = 236.87 */
        for (int i = 1; i < 28 * 28; i++)
            assert_int_equal(canvas[i], 255);
        wmi_free(dark);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_read),
        cmocka_unit_test(bad_images_are_refused),
        cmocka_unit_test(every_cut_is_found),
        cmocka_unit_test(areas_are_averaged),
    };

    return cmocka_run_group_tests(tests, make_images, scratch_remove);
}
