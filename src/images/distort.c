/* distort.c - pixel (x, y) of the new drawing is read off the old one at
 *     centre + A (x - centre - shift) + bend(x, y),
 * A = turn by an angle, shear, scale of each axis, by bilinear interpolation; outside is
 * background. bend is smooth: displacements of a grid of MESH x MESH knots, each axis blended
 * between its two knots by a cubic. */
#include "images/distort.h"

#include <math.h>

#include "waymark/images.h"

enum { SIDE = WM_DRAWING_SIDE, MESH = 4 };
enum { TURN, SCALE_X, SCALE_Y, SHEAR, SHIFT_X, SHIFT_Y, BEND, N_DRAWS = BEND + 2 * MESH * MESH };

static const float turn_sd = 0.16F, scale_sd = 0.12F, shear_sd = 0.15F; /* radians; logs; slope */
static const float shift_sd = 1.5F, bend_sd = 1.0F;                     /* pixels */

/* Of a knot's two neighbours the share of the second, at each pixel of an axis. */
typedef struct blend {
    int knot[SIDE];
    float share[SIDE];
} blend;

static blend blend_of_axis(void)
{
    blend b;

    for (int i = 0; i < SIDE; i++) {
        const float at = (float)i * (float)(MESH - 1) / (float)(SIDE - 1);
        const int knot = at < MESH - 2 ? (int)at : MESH - 2;
        const float t = at - (float)knot;

        b.knot[i] = knot;
        b.share[i] = t * t * (3 - 2 * t);
    }
    return b;
}

static float bent(const float *knots, const blend *b, int r, int c)
{
    const float *at = knots + b->knot[r] * MESH + b->knot[c];
    const float above = at[0] + b->share[c] * (at[1] - at[0]);
    const float below = at[MESH] + b->share[c] * (at[MESH + 1] - at[MESH]);

    return above + b->share[r] * (below - above);
}

static void middle_of_ink(const uint8_t *from, float *x, float *y)
{
    float sum = 0, sx = 0, sy = 0;

    for (int r = 0; r < SIDE; r++)
        for (int c = 0; c < SIDE; c++) {
            const float ink = from[r * SIDE + c];

            sum += ink;
            sx += ink * (float)c;
            sy += ink * (float)r;
        }
    *x = sum > 0 ? sx / sum : (SIDE - 1) / 2.0F;
    *y = sum > 0 ? sy / sum : (SIDE - 1) / 2.0F;
}

static float pixel(const uint8_t *from, int r, int c)
{
    return r >= 0 && r < SIDE && c >= 0 && c < SIDE ? from[r * SIDE + c] : 0;
}

static uint8_t read_at(const uint8_t *from, float x, float y)
{
    const float fx = floorf(x), fy = floorf(y), tx = x - fx, ty = y - fy;
    int r, c;
    float above, below;

    if (!(fx >= -1 && fx < SIDE && fy >= -1 && fy < SIDE))
        return 0;
    r = (int)fy;
    c = (int)fx;
    above = pixel(from, r, c) + tx * (pixel(from, r, c + 1) - pixel(from, r, c));
    below = pixel(from, r + 1, c) + tx * (pixel(from, r + 1, c + 1) - pixel(from, r + 1, c));
    return (uint8_t)(above + ty * (below - above) + 0.5F);
}

void wmi_distort(const uint8_t *from, const wmi_rng *rng, double strength, uint8_t *to)
{
    const blend axis = blend_of_axis();
    float z[N_DRAWS], sine, cosine, sx, sy, shear, middle_x, middle_y;

    wmi_rng_normal_f32(rng, 0, N_DRAWS, z);
    for (int i = 0; i < N_DRAWS; i++)
        z[i] *= (float)strength;
    for (int i = BEND; i < N_DRAWS; i++)
        z[i] *= bend_sd;
    sine = sinf(turn_sd * z[TURN]);
    cosine = cosf(turn_sd * z[TURN]);
    sx = expf(scale_sd * z[SCALE_X]);
    sy = expf(scale_sd * z[SCALE_Y]);
    shear = shear_sd * z[SHEAR];
    middle_of_ink(from, &middle_x, &middle_y);
    for (int r = 0; r < SIDE; r++)
        for (int c = 0; c < SIDE; c++) {
            const float x = sx * ((float)c - middle_x - shift_sd * z[SHIFT_X]);
            const float y = sy * ((float)r - middle_y - shift_sd * z[SHIFT_Y]);
            const float leaning = x + shear * y;

            to[r * SIDE + c] = read_at(
                from, middle_x + cosine * leaning - sine * y + bent(z + BEND, &axis, r, c),
                middle_y + sine * leaning + cosine * y + bent(z + BEND + MESH * MESH, &axis, r, c));
        }
}
