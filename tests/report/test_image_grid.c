/* test_image_grid.c - PNG files decoded by a program that is not libpng, pixel for pixel. */
#include "asserts.h"
#include "scratch.h"

#include "base/alloc.h"
#include "base/file.h"
#include "waymark/report.h"

/* Decodes NAME of the scratch folder; returns its pixels, borrowed until the next call. */
static const unsigned char *decoded(const char *name, int *w, int *h, int *c)
{
    static unsigned char bytes[1 << 16];
    char command[4096];
    size_t n;
    char *end;
    FILE *f;

    snprintf(command, sizeof command, "python3 -B decode_png.py '%s' '%s'", scratch(name),
             scratch("pixels"));
    assert_int_equal(system(command), 0); /* NOLINT: a command of our own */
    f = fopen(scratch("pixels"), "rb");
    assert_non_null(f);
    n = fread(bytes, 1, sizeof bytes - 1, f);
    fclose(f);
    end = memchr(bytes, '\n', n);
    assert_non_null(end);
    *end = '\0';
    *w = (int)strtol((char *)bytes, &end, 10);
    *h = (int)strtol(end, &end, 10);
    *c = (int)strtol(end, &end, 10);
    end++;
    assert_int_equal((unsigned char *)end - bytes + *w * *h * *c, n);
    return (unsigned char *)end;
}

static void grey_images_stand_in_rows(void **state)
{
    /* Three images of 2 x 3; -1 is black, 1 white, beyond them too. */
    const double x[3][6] = {
        {-1, 1, 0, -2, 2, 0.5}, {1, 1, 1, 1, 1, 1}, {-INFINITY, INFINITY, -1, -1, -1, -1}};
    const unsigned char want[7][9] = {
        {128, 128, 128, 128, 128, 128, 128, 128, 128},
        {128, 0, 255, 128, 128, 255, 255, 255, 128},
        {128, 0, 255, 191, 128, 255, 255, 255, 128},
        {128, 128, 128, 128, 128, 128, 128, 128, 128},
        {128, 0, 255, 0, 128, 128, 128, 128, 128}, /* no fourth image */
        {128, 0, 0, 0, 128, 128, 128, 128, 128},
        {128, 128, 128, 128, 128, 128, 128, 128, 128},
    };
    wm_image_grid g = {
        .n = 3, .height = 2, .width = 3, .channels = 1, .x = x[0], .lo = -1, .hi = 1};
    const unsigned char *got;
    wm_error err = {0};
    int w, h, c;

    (void)state;
    assert_ok(wm_image_grid_write(&g, scratch("grey.png"), &err), err);
    got = decoded("grey.png", &w, &h, &c);
    assert_int_equal(w, 9), assert_int_equal(h, 7), assert_int_equal(c, 1);
    assert_memory_equal(got, want, sizeof want);
    g.lo = 1, g.hi = -1; /* a negative, in one row */
    g.columns = 7;
    assert_ok(wm_image_grid_write(&g, scratch("grey.png"), &err), err);
    got = decoded("grey.png", &w, &h, &c);
    assert_int_equal(w, 13), assert_int_equal(h, 4);
    assert_int_equal(got[13 + 1], 255), assert_int_equal(got[13 + 2], 0);
}

static void colours_are_magnified(void **state)
{
    const double x[2][2][3] = {{{0, 0.2, 1}, {1, 0, 0}}, {{0, 1, 0}, {0, 0, 1}}};
    const wm_image_grid g = {.n = 2,
                             .height = 1,
                             .width = 2,
                             .channels = 3,
                             .x = &x[0][0][0],
                             .hi = 1,
                             .columns = 1,
                             .scale = 3};
    const unsigned char *got;
    wm_error err = {0};
    int w, h, c;

    (void)state;
    assert_ok(wm_image_grid_write(&g, scratch("rgb.png"), &err), err);
    got = decoded("rgb.png", &w, &h, &c);
    assert_int_equal(w, 2 + 6 + 2), assert_int_equal(h, 2 + 3 + 2 + 3 + 2);
    assert_int_equal(c, 3);
    for (int y = 0; y < h; y++)
        for (int k = 0; k < w; k++) {
            const bool inside = k >= 2 && k < 8 && ((y >= 2 && y < 5) || (y >= 7 && y < 10));

            for (int j = 0; j < 3; j++)
                assert_int_equal(got[(y * w + k) * 3 + j],
                                 inside ? (int)(255 * x[y >= 7][(k - 2) / 3][j] + 0.5) : 128);
        }
}

static void values_stand_beside_the_picture(void **state)
{
    static const char *const names[] = {"chain", "log_density"};
    const double x[3] = {0, 1, 0.5}, values[3][2] = {{2, -10.25}, {0, 0.1}, {1, NAN}};
    wm_image_grid g = {.n = 3,
                       .height = 1,
                       .width = 1,
                       .channels = 1,
                       .x = x,
                       .hi = 1,
                       .values = values[0],
                       .value_names = names,
                       .n_values = 2};
    char *text = NULL;
    wm_error err = {0};
    size_t n;

    (void)state;
    assert_ok(wm_image_grid_write(&g, scratch("known.png"), &err), err);
    assert_ok(wmi_file_read(&text, &n, scratch("known.csv"), 1000, &err), err);
    assert_string_equal(text, "row,column,chain,log_density\n1,1,2,-10.25\n1,2,0,0.1\n2,1,1,\n");
    wmi_free(text);
    g.sorted = true;
    assert_ok(wm_image_grid_write(&g, scratch("sorted.png"), &err), err);
    assert_ok(wmi_file_read(&text, &n, scratch("sorted.csv"), 1000, &err), err);
    assert_string_equal(text, "row,column,chain,log_density\n1,1,1,\n1,2,2,-10.25\n2,1,0,0.1\n");
    wmi_free(text);
    assert_int_equal(wm_image_grid_write(&g, scratch("known.PNG"), &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "known.PNG: a picture with values must be called NAME.png"));
    assert_int_equal(wm_image_grid_write(&g, scratch("nowhere/x.png"), &err), WM_EIO);
    if (access("/dev/full", W_OK) == 0) { /* a full disk: for the numbers, then for the picture */
        assert_int_equal(symlink("/dev/full", scratch("full.csv")), 0);
        assert_int_equal(wm_image_grid_write(&g, scratch("full.png"), &err), WM_EIO);
        assert_non_null(strstr(err.text, "No space left"));
        assert_int_not_equal(access(scratch("full.png"), F_OK), 0);
        assert_int_equal(symlink("/dev/full", scratch("full2.png")), 0);
        assert_int_equal(wm_image_grid_write(&g, scratch("full2.png"), &err), WM_EIO);
        assert_non_null(strstr(err.text, "No space left"));
    }
}

static void what_cannot_be_shown_is_refused(void **state)
{
    const double x[4] = {0, 1, NAN, 1};
    const wm_image_grid good = {.n = 2, .height = 1, .width = 2, .channels = 1, .x = x, .hi = 1};
    const char *path = scratch("bad.png");
    const int before = scratch_count(scratch_folder);
    wm_image_grid g = good;
    wm_error err = {0};

    (void)state;
    assert_int_equal(wm_image_grid_write(&g, path, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "bad.png: image 2, row 1, column 1 is NaN"));
    g.n = 1;
    g.channels = 2;
    assert_int_equal(wm_image_grid_write(&g, path, &err), WM_EINVAL);
    g.channels = 1, g.hi = 0;
    assert_int_equal(wm_image_grid_write(&g, path, &err), WM_EINVAL);
    g.hi = 1, g.width = 0;
    assert_int_equal(wm_image_grid_write(&g, path, &err), WM_EINVAL);
    g.width = 2, g.scale = 29999;
    assert_int_equal(wm_image_grid_write(&g, path, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "at most 30000 a side"));
    g.scale = 1, g.columns = -1;
    assert_int_equal(wm_image_grid_write(&g, path, &err), WM_EINVAL);
    g.columns = 0;
    assert_int_equal(wm_image_grid_write(&g, scratch("nowhere/x.png"), &err), WM_EIO);
    for (int k = 1; k < 20; k++) { /* the k-th allocation fails */
        const int64_t live = wmi_alloc_live();

        wmi_alloc_fail_at(k);
        if (wm_image_grid_write(&g, scratch("rgb.png"), &err) == WM_OK)
            k = 20;
        wmi_alloc_fail_at(0);
        assert_int_equal(wmi_alloc_live(), live);
    }
    assert_int_equal(scratch_count(scratch_folder), before); /* no temporaries */
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(wm_image_grid_write(&g, "/dev/full", &err), WM_EIO);
        assert_non_null(strstr(err.text, "No space left"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grey_images_stand_in_rows),
        cmocka_unit_test(colours_are_magnified),
        cmocka_unit_test(values_stand_beside_the_picture),
        cmocka_unit_test(what_cannot_be_shown_is_refused),
    };

    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
