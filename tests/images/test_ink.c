/* test_ink.c - a pen whose coverage can be computed. */
#include "asserts.h"

#include "images/ink.h"

#define PI 3.14159265358979323846

static void a_line_covers_what_it_should(void **state)
{
    /* From (7, 14) to (21, 14) in pixels, one pixel to each side: rows 13 and 14 are covered. */
    const wmi_stroke s = {.n = 2, .x = {0.25, 0.75}, .y = {0.5, 0.5}};
    float canvas[WMI_CANVAS] = {0};
    uint8_t bytes[WMI_CANVAS];

    (void)state;
    wmi_ink_draw(&s, 1, 1, canvas);
    wmi_ink_bytes(canvas, bytes);
    for (int r = 0; r < 28; r++)
        for (int c = 0; c < 28; c++) {
            const bool near_row = r == 13 || r == 14;
            const double beyond = fmax(fmax(7 - (c + 0.5), c + 0.5 - 21), 0);
            const double want = fmin(fmax(1.5 - hypot(beyond, fabs(r + 0.5 - 14)), 0), 1);

            assert_near(canvas[r * 28 + c], want, 1e-6);
            assert_int_equal(bytes[r * 28 + c], (int)(255 * want + 0.5));
            if (c >= 7 && c < 21)
                assert_int_equal(bytes[r * 28 + c], near_row ? 255 : 0);
        }
}

static void a_dot_has_the_area_of_a_circle(void **state)
{
    /* Coverage falls from 1 to 0 over a pixel about the radius r: its integral is
     * pi ((r + 1/2)^3 - (r - 1/2)^3) / 3 = pi (r^2 + 1/12). Pixels sample it; at r = 5 the sum is
     * within 1 % wherever the middle lies. */
    (void)state;
    for (int k = 0; k < 8; k++) {
        const double x = (13.6 + 0.13 * k) / 28, y = (14.4 - 0.11 * k) / 28;
        const wmi_stroke s = {.n = 2, .smooth = k % 2, .x = {x, x}, .y = {y, y}};
        float canvas[WMI_CANVAS] = {0};
        double sum = 0;

        wmi_ink_draw(&s, 1, 5, canvas);
        for (int i = 0; i < WMI_CANVAS; i++)
            sum += (double)canvas[i];
        assert_near(sum / (PI * (25 + 1.0 / 12)), 1, 0.01);
    }
}

static void curves_pass_through_their_points(void **state)
{
    const wmi_stroke s = {
        .n = 4, .smooth = true, .x = {0.1, 0.4, 0.5, 0.9}, .y = {0.2, 0.8, 0.3, 0.6}};
    double x, y, before, after;

    (void)state;
    for (int i = 0; i < 4; i++) {
        wmi_stroke_at(&s, i, &x, &y);
        assert_near(x, s.x[i], 1e-15);
        assert_near(y, s.y[i], 1e-15);
    }
    for (int i = 1; i < 3; i++) { /* without corners: the slopes to both sides agree */
        const double h = 1e-6;

        wmi_stroke_at(&s, i - h, &x, &before);
        wmi_stroke_at(&s, i + h, &x, &after);
        assert_near((after - s.y[i]) / h, (s.y[i] - before) / h, 1e-4);
    }
}

static void what_runs_off_the_canvas_is_lost(void **state)
{
    const wmi_stroke s = {.n = 3, .smooth = true, .x = {-3, 0.5, 4}, .y = {-2, 0.5, 3}};
    float canvas[WMI_CANVAS + 2] = {0};
    double sum = 0;

    (void)state;
    canvas[0] = canvas[WMI_CANVAS + 1] = 7; /* the sanitizer sees the rest */
    wmi_ink_draw(&s, 1, 1, canvas + 1);
    assert_true(canvas[0] == 7 && canvas[WMI_CANVAS + 1] == 7);
    for (int i = 1; i <= WMI_CANVAS; i++) {
        assert_true(canvas[i] >= 0 && canvas[i] <= 1);
        sum += (double)canvas[i];
    }
    assert_true(sum > 28); /* from corner to corner, nearly */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_covers_what_it_should),
        cmocka_unit_test(a_dot_has_the_area_of_a_circle),
        cmocka_unit_test(curves_pass_through_their_points),
        cmocka_unit_test(what_runs_off_the_canvas_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
