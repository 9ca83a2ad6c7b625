/* test_distort.c - drawings by other hands: how far they may be from the first. */
#include "asserts.h"

#include <string.h>

#include "images/distort.h"
#include "images/ink.h"

enum { SIDE = 28, SIZE = SIDE * SIDE };

/* A cross a little to the left, as strokes give it. */
static void cross(uint8_t *pixels)
{
    const wmi_stroke s[] = {{.n = 2, .x = {0.25, 0.55}, .y = {0.5, 0.5}},
                            {.n = 2, .x = {0.4, 0.4}, .y = {0.3, 0.7}}};
    float canvas[WMI_CANVAS] = {0};

    wmi_ink_draw(s, 2, 1, canvas);
    wmi_ink_bytes(canvas, pixels);
}

typedef struct ink {
    double sum, x, y;
} ink;

static ink ink_of(const uint8_t *pixels)
{
    ink k = {0};

    for (int i = 0; i < SIZE; i++) {
        k.sum += pixels[i];
        k.x += pixels[i] * (double)(i % SIDE);
        k.y += pixels[i] * (double)(i / SIDE);
    }
    k.x /= k.sum;
    k.y /= k.sum;
    return k;
}

static void no_strength_no_change(void **state)
{
    const wmi_rng rng = wmi_rng_make(1, "hands");
    uint8_t from[SIZE], to[SIZE];

    (void)state;
    cross(from);
    wmi_distort(from, &rng, 0, to);
    assert_memory_equal(from, to, SIZE);
    memset(from, 0, SIZE);
    wmi_distort(from, &rng, 3, to);
    assert_memory_equal(from, to, SIZE); /* a blank page stays one */
    memset(from, 255, SIZE);
    wmi_distort(from, &rng, 0, to);
    assert_memory_equal(from, to, SIZE); /* up to its margins */
}

/* At strength 1 the ink moves by a normal shift of 1.5 pixels and by what bends at the middle of
 * the mesh, where each axis blends two knots evenly: 1 / 2 of a pixel. So sd = sqrt(1.5^2 + 0.5^2)
 * = 1.58, scaled by exp(0.12 z) and mixed between axes by the turn, both of which leave it within a
 * few percent; 400 hands know a standard deviation to 3.5 % (one standard error). The mean is 0
 * within 4 sd / 20. A scale of sd 0.12 on each axis spreads the amount of ink by sqrt(2) 0.12. */
static void hands_differ_by_what_is_said(void **state)
{
    enum { HANDS = 400 };
    const wmi_rng rng = wmi_rng_make(1, "hands");
    uint8_t from[SIZE], to[SIZE];
    double sum[3] = {0}, square[3] = {0};
    ink first;

    (void)state;
    cross(from);
    first = ink_of(from);
    for (int i = 0; i < HANDS; i++) {
        const wmi_rng hand = wmi_rng_sub(&rng, (uint64_t)i);
        double by[3];
        ink k;

        wmi_distort(from, &hand, 1, to);
        k = ink_of(to);
        by[0] = k.x - first.x;
        by[1] = k.y - first.y;
        by[2] = log(k.sum / first.sum);
        for (int j = 0; j < 3; j++) {
            sum[j] += by[j] / HANDS;
            square[j] += by[j] * by[j] / HANDS;
        }
    }
    for (int j = 0; j < 2; j++) {
        assert_true(fabs(sum[j]) < 4 * 1.6 / 20);
        assert_true(sqrt(square[j]) > 1.3 && sqrt(square[j]) < 1.9);
    }
    assert_true(fabs(sum[2]) < 0.1);
    assert_true(sqrt(square[2]) > 0.08 && sqrt(square[2]) < 0.25);
}

static void a_hand_is_a_function_of_its_number(void **state)
{
    const wmi_rng rng = wmi_rng_make(1, "hands"), other = wmi_rng_make(2, "hands");
    uint8_t from[SIZE], a[SIZE], b[SIZE];

    (void)state;
    cross(from);
    wmi_distort(from, &rng, 1, a);
    wmi_distort(from, &rng, 1, b);
    assert_memory_equal(a, b, SIZE);
    wmi_distort(from, &other, 1, b);
    assert_memory_not_equal(a, b, SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_strength_no_change),
                                       cmocka_unit_test(hands_differ_by_what_is_said),
                                       cmocka_unit_test(a_hand_is_a_function_of_its_number)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
