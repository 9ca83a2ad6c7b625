/* glyphs.c - alphabets of our own, so that experiments with handwriting need no download. A script
 * gives an alphabet its look, each character is designed once and drawn many times: a drawing moves
 * the points of the strokes, the strokes and the whole, as an unsteady hand does. Drawing j of all
 * characters of an alphabet is by hand j, with its own pen and slant, as in Omniglot. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "images/alphabets.h"
#include "images/glyph_design.h"

enum { MAX_SETS = 64, TRIES = 40, DRAWINGS = 20 };

/* Sizes of the nine largest background alphabets of Omniglot. */
static const int64_t standard_sizes[] = {55, 52, 48, 47, 46, 43, 42, 41, 41};
#define N_STANDARD ((int64_t)(sizeof standard_sizes / sizeof *standard_sizes))

/* Sub-streams of an alphabet. */
enum { STREAM_SCRIPT, STREAM_CHARACTERS, STREAM_HANDS, STREAM_DRAWINGS };

/* --- characters that can be told apart ---------------------------------------------------------*/

enum { COARSE = WM_DRAWING_SIDE / 2, LIKENESS = COARSE * COARSE };

/* A design as a broad pen would draw it, at half the size, as a vector of length 1: two are alike
 * as far as these agree. */
typedef struct likeness {
    float x[LIKENESS];
} likeness;

static void take_likeness(likeness *l, const wmi_glyph *g)
{
    float canvas[WMI_CANVAS] = {0};
    double sum = 0;

    wmi_ink_draw(g->strokes, g->n, 1.6, canvas);
    memset(l, 0, sizeof *l);
    for (int i = 0; i < WMI_CANVAS; i++)
        l->x[i / WM_DRAWING_SIDE / 2 * COARSE + i % WM_DRAWING_SIDE / 2] += canvas[i];
    for (int i = 0; i < LIKENESS; i++)
        sum += (double)l->x[i] * l->x[i];
    for (int i = 0; i < LIKENESS; i++)
        l->x[i] = (float)(l->x[i] / sqrt(sum));
}

static double agreement(const likeness *a, const likeness *b)
{
    double sum = 0;

    for (int i = 0; i < LIKENESS; i++)
        sum += (double)a->x[i] * b->x[i];
    return sum;
}

static double ink_of(const wmi_stroke *strokes, int n)
{
    float canvas[WMI_CANVAS] = {0};
    double sum = 0;

    wmi_ink_draw(strokes, n, 1.2, canvas);
    for (int i = 0; i < WMI_CANVAS; i++)
        sum += canvas[i];
    return sum;
}

/* From 0 to 1: how much of the strokes lies under others. A hand would not keep them apart. */
static double hidden(const wmi_glyph *g)
{
    double sum = 0;

    for (int i = 0; i < g->n; i++)
        sum += ink_of(&g->strokes[i], 1);
    return 1 - ink_of(g->strokes, g->n) / sum;
}

/* Strokes on top of each other, or in a line: small differences would be lost in the drawing. */
static bool cramped(const wmi_glyph *g)
{
    double lo[2] = {1, 1}, hi[2] = {0, 0};

    if (g->n < 2)
        return false;
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->strokes[i].n; k++) {
            lo[0] = fmin(lo[0], g->strokes[i].x[k]), hi[0] = fmax(hi[0], g->strokes[i].x[k]);
            lo[1] = fmin(lo[1], g->strokes[i].y[k]), hi[1] = fmax(hi[1], g->strokes[i].y[k]);
        }
    return fmin(hi[0] - lo[0], hi[1] - lo[1]) < 0.25 || hidden(g) > 0.22;
}

/* Character c of an alphabet: the first of some tries that is unlike those before it (c), or the
 * one that is least like them. */
static void design(wmi_glyph *out, likeness *known, int64_t c, const wmi_script *script,
                   const wmi_rng *characters)
{
    const double enough = 0.7; /* cosine */
    const wmi_rng own = wmi_rng_sub(characters, (uint64_t)c);
    double best = INFINITY;

    for (int t = 0; t < TRIES && best > enough; t++) {
        const wmi_rng rng = wmi_rng_sub(&own, (uint64_t)t);
        double most = 0;
        likeness l;
        wmi_glyph g;

        wmi_glyph_make(&g, script, &rng);
        if (t < TRIES / 2 && cramped(&g))
            continue;
        take_likeness(&l, &g);
        for (int64_t i = 0; i < c; i++)
            most = fmax(most, agreement(&l, &known[i]));
        if (most < best) {
            best = most;
            *out = g;
            known[c] = l;
        }
    }
}

/* --- hands -------------------------------------------------------------------------------------*/

/* How one person writes. */
typedef struct hand {
    double radius;      /* of the pen, pixels */
    double slant, size; /* shear, and log of the scale */
} hand;

static hand make_hand(const wmi_rng *hands, int64_t j)
{
    double z[3];

    wmi_rng_normal_f64(hands, 3 * (uint64_t)j, 3, z);
    return (hand){0.75 * exp(0.06 * z[0]), 0.08 * z[1], 0.09 * z[2]};
}

/* x' = a x + b y + e, y' = c x + d y + f about the point (ox, oy). */
typedef struct affine {
    double a, b, c, d, e, f, ox, oy;
} affine;

static void move(const affine *m, double *x, double *y)
{
    const double px = *x - m->ox, py = *y - m->oy;

    *x = m->ox + m->a * px + m->b * py + m->e;
    *y = m->oy + m->c * px + m->d * py + m->f;
}

/* Turn, shear, log-scales and shift, in this order. */
static affine make_affine(double turn, double shear, double sx, double sy, double e, double f)
{
    const double cs = cos(turn), sn = sin(turn), kx = exp(sx), ky = exp(sy);

    return (affine){.a = kx * (cs - shear * sn),
                    .b = kx * (-sn - shear * cs),
                    .c = ky * sn,
                    .d = ky * cs,
                    .e = e,
                    .f = f,
                    .ox = 0.5,
                    .oy = 0.5};
}

/* A stroke as it came out: each point misses a little, less where points are close. */
static void shake(wmi_stroke *s, const double *z, const affine *whole)
{
    const double steady = 0.02; /* standard deviation, sides of the canvas */
    affine own = make_affine(0.07 * z[0], 0, 0.09 * z[1], 0.09 * z[1], 0.018 * z[2], 0.018 * z[3]);
    double gap = INFINITY;

    own.ox = own.oy = 0;
    for (int k = 0; k < s->n; k++) {
        own.ox += s->x[k] / s->n;
        own.oy += s->y[k] / s->n;
        if (k)
            gap = fmin(gap, hypot(s->x[k] - s->x[k - 1], s->y[k] - s->y[k - 1]));
    }
    for (int k = 0; k < s->n; k++) {
        s->x[k] += fmin(steady, 0.15 * gap) * z[4 + 2 * k];
        s->y[k] += fmin(steady, 0.15 * gap) * z[5 + 2 * k];
        move(&own, &s->x[k], &s->y[k]);
        move(whole, &s->x[k], &s->y[k]);
    }
}

/* Moves a character that runs over the edge back, and shrinks one that is too large, as who has
 * only so much paper does. Along one axis. */
static void keep_on_canvas(wmi_glyph *g, bool upright)
{
    const double edge = 0.05;
    double lo = INFINITY, hi = -INFINITY, shrink, middle;

    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->strokes[i].n; k++) {
            const double p = upright ? g->strokes[i].y[k] : g->strokes[i].x[k];

            lo = fmin(lo, p);
            hi = fmax(hi, p);
        }
    shrink = fmin(1, (1 - 2 * edge) / fmax(hi - lo, 1e-9));
    middle = fmin(fmax(0.5 * (lo + hi), edge + 0.5 * shrink * (hi - lo)),
                  1 - edge - 0.5 * shrink * (hi - lo));
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->strokes[i].n; k++) {
            double *p = upright ? &g->strokes[i].y[k] : &g->strokes[i].x[k];

            *p = middle + shrink * (*p - 0.5 * (lo + hi));
        }
}

static void draw(const wmi_glyph *g, const hand *h, const wmi_rng *rng, uint8_t *pixels)
{
    enum { WHOLE = 8, STROKE = 4 + 2 * WMI_STROKE_POINTS };
    double z[WHOLE + WMI_GLYPH_STROKES * STROKE];
    float canvas[WMI_CANVAS] = {0};
    wmi_glyph own = *g;
    affine whole;

    wmi_rng_normal_f64(rng, 0, (int64_t)(sizeof z / sizeof *z), z);
    whole = make_affine(0.07 * z[0], h->slant + 0.06 * z[1], h->size + 0.07 * z[2],
                        h->size + 0.07 * z[3], 0.035 * z[4], 0.035 * z[5]);
    for (int i = 0; i < own.n; i++)
        shake(&own.strokes[i], z + WHOLE + i * STROKE, &whole);
    keep_on_canvas(&own, false);
    keep_on_canvas(&own, true);
    wmi_ink_draw(own.strokes, own.n, h->radius * exp(0.06 * z[6]), canvas);
    wmi_ink_bytes(canvas, pixels);
}

/* --- alphabets ---------------------------------------------------------------------------------*/

static void make_alphabet(wm_alphabets *a, int64_t at, const wmi_rng *rng, likeness *known)
{
    const wmi_rng of_script = wmi_rng_sub(rng, STREAM_SCRIPT);
    const wmi_rng of_characters = wmi_rng_sub(rng, STREAM_CHARACTERS);
    const wmi_rng of_hands = wmi_rng_sub(rng, STREAM_HANDS);
    const wmi_rng of_drawings = wmi_rng_sub(rng, STREAM_DRAWINGS);
    const wmi_script script = wmi_script_make(&of_script);

    for (int64_t c = 0; c < wm_alphabets_size(a, at); c++) {
        const wmi_rng of_character = wmi_rng_sub(&of_drawings, (uint64_t)c);
        wmi_glyph g;

        design(&g, known, c, &script, &of_characters);
        for (int64_t j = 0; j < wm_alphabets_drawings(a); j++) {
            const wmi_rng of_drawing = wmi_rng_sub(&of_character, (uint64_t)j);
            const hand h = make_hand(&of_hands, j);

            draw(&g, &h, &of_drawing, wmi_alphabets_pixels(a, at, c, j));
        }
    }
}

wm_status wm_alphabets_open_glyphs(wm_alphabets **out, const int64_t *sizes, int64_t n,
                                   int64_t drawings, uint64_t seed, wm_error *err)
{
    const wmi_rng rng = wmi_rng_make(seed, "glyphs");
    wmi_alphabet alphabets[MAX_SETS];
    char names[MAX_SETS][16];
    int64_t place[MAX_SETS];
    likeness *known = NULL;
    wm_alphabets *a = NULL;
    wm_status st;

    *out = NULL;
    if (!sizes) {
        sizes = standard_sizes;
        n = N_STANDARD;
    }
    if (n < 1 || n > MAX_SETS)
        return wmi_fail(err, WM_EINVAL, "glyphs: %" PRId64 " alphabets, expected 1 to %d", n,
                        MAX_SETS);
    for (int64_t i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "glyphs-%02d", (int)i + 1);
        alphabets[i] = (wmi_alphabet){names[i], sizes[i]};
    }
    if ((st = wmi_alphabets_new(&a, alphabets, n, drawings ? drawings : DRAWINGS, "glyphs", place,
                                err)) ||
        (st = wmi_alloc(&known, n * WMI_MAX_CHARACTERS, sizeof *known, "glyphs", err)))
        goto done;
#pragma omp parallel for schedule(static, 1) /* the sizes differ little */
    for (int64_t i = 0; i < n; i++) {
        const wmi_rng own = wmi_rng_sub(&rng, (uint64_t)i);

        make_alphabet(a, place[i], &own, known + i * WMI_MAX_CHARACTERS);
    }
    *out = a;
    a = NULL;
done:
    wmi_free(known);
    wm_alphabets_free(a);
    return st;
}
