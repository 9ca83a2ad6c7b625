/* glyph_design.c - a script knows some strokes: lines, arcs, hooks, waves, loops, spirals, corners,
 * zigzags, each turned one way. A character is one to four of them, the first large, the others
 * starting from it, crossing it or standing beside it, and perhaps a dot. Where the numbers come
 * from: the look of the results. */
#include "images/glyph_design.h"

#include <math.h>

#define PI 3.14159265358979323846

/* Draws in order from one stream. */
typedef struct dice {
    wmi_rng rng;
    uint64_t next;
} dice;

static double between(dice *d, double lo, double hi)
{
    double u;

    wmi_rng_uniform_f64(&d->rng, d->next++, 1, &u);
    return lo + u * (hi - lo);
}

static int below(dice *d, int n)
{
    return (int)wmi_rng_below(&d->rng, d->next++, n);
}

static bool chance(dice *d, double p)
{
    return between(d, 0, 1) < p;
}

/* --- strokes, of length about 1, anywhere ------------------------------------------------------*/

static void add(wmi_stroke *s, double x, double y)
{
    s->x[s->n] = x;
    s->y[s->n++] = y;
}

/* Of an ellipse, n points from angle `from` over `sweep`; its size goes from 1 to `end`. */
static void add_arc(wmi_stroke *s, int n, double from, double sweep, double flat, double end)
{
    for (int i = 0; i < n; i++) {
        const double t = (double)i / (n - 1), a = from + t * sweep, r = 0.4 * (1 + t * (end - 1));

        add(s, r * cos(a), r * flat * sin(a));
    }
}

static void make_line(wmi_stroke *s, dice *d)
{
    const double bow = between(d, -0.06, 0.06);

    add(s, -0.5, 0), add(s, 0, bow), add(s, 0.5, 0);
}

static void make_arc(wmi_stroke *s, dice *d)
{
    const double sweep = between(d, 2.2, 4.6);

    add_arc(s, 6, 0, chance(d, 0.5) ? sweep : -sweep, between(d, 0.6, 1.4), 1);
}

static void make_loop(wmi_stroke *s, dice *d)
{
    const double sweep = between(d, 6.1, 6.6);

    add_arc(s, 9, between(d, 0, 2 * PI), chance(d, 0.5) ? sweep : -sweep, between(d, 0.7, 1.3),
            between(d, 0.9, 1.1));
}

static void make_spiral(wmi_stroke *s, dice *d)
{
    const double sweep = between(d, 7, 9.5);

    add_arc(s, 10, between(d, 0, 2 * PI), chance(d, 0.5) ? sweep : -sweep, 1,
            between(d, 0.15, 0.35));
}

/* A stem that turns back at its end. */
static void make_hook(wmi_stroke *s, dice *d)
{
    const double r = between(d, 0.14, 0.26), side = chance(d, 0.5) ? 1 : -1;
    const double sweep = between(d, 2.2, 4.0);

    add(s, -0.5, 0), add(s, -0.1, between(d, -0.03, 0.03));
    for (int i = 0; i < 5; i++) {
        const double a = -PI / 2 + sweep * i / 4;

        add(s, 0.25 + r * cos(a), side * (r + r * sin(a)));
    }
}

static void make_wave(wmi_stroke *s, dice *d)
{
    const double high = between(d, 0.12, 0.25) * (chance(d, 0.5) ? 1 : -1);
    const double turns = chance(d, 0.7) ? 1 : 1.5;

    for (int i = 0; i < 9; i++)
        add(s, -0.5 + i / 8.0, high * sin(2 * PI * turns * i / 8));
}

static void make_corner(wmi_stroke *s, dice *d)
{
    const double open = between(d, 0.7, 2.0), arm = between(d, 0.35, 0.7);

    s->smooth = false;
    add(s, 0.6, 0), add(s, 0, 0), add(s, arm * cos(open), arm * sin(open));
}

static void make_zigzag(wmi_stroke *s, dice *d)
{
    const double high = between(d, 0.2, 0.4), side = chance(d, 0.5) ? 1 : -1;

    s->smooth = false;
    add(s, -0.45, 0), add(s, between(d, -0.2, 0), side * high);
    add(s, between(d, 0, 0.25), -side * high * between(d, 0, 0.6)), add(s, 0.45, side * high * 0.6);
}

/* curved: the probability of a curve. */
static void make_stroke(wmi_stroke *s, double curved, dice *d)
{
    static void (*const curves[])(wmi_stroke *, dice *) = {
        make_arc, make_arc, make_arc, make_hook, make_hook, make_wave, make_loop, make_spiral};
    static void (*const straight[])(wmi_stroke *, dice *) = {make_line, make_line, make_line,
                                                             make_corner, make_zigzag};

    *s = (wmi_stroke){.smooth = true};
    if (chance(d, curved))
        curves[below(d, (int)(sizeof curves / sizeof *curves))](s, d);
    else
        straight[below(d, (int)(sizeof straight / sizeof *straight))](s, d);
}

/* --- characters --------------------------------------------------------------------------------*/

/* Turns and scales a stroke about 0, then moves it. */
static void place(wmi_stroke *s, double turn, double size, double x, double y)
{
    const double c = size * cos(turn), k = size * sin(turn);

    for (int i = 0; i < s->n; i++) {
        const double px = s->x[i], py = s->y[i];

        s->x[i] = c * px - k * py + x;
        s->y[i] = k * px + c * py + y;
    }
}

/* Near a quarter of a turn, or an eighth: hands prefer them. */
static double make_turn(dice *d)
{
    const double eighths = chance(d, 0.7) ? 2 * below(d, 4) : below(d, 8);

    return eighths * PI / 4 + between(d, -0.12, 0.12);
}

wmi_script wmi_script_make(const wmi_rng *rng)
{
    dice d = {*rng, 0};
    const double curved = between(&d, 0.2, 0.9);
    wmi_script s = {0};

    s.strokes = between(&d, 1.9, 3.1);
    s.joined = between(&d, 0.7, 0.95);
    s.dotted = chance(&d, 0.4) ? between(&d, 0.05, 0.25) : 0;
    s.slant = between(&d, -0.1, 0.2);
    s.aspect = between(&d, 0.75, 1.1);
    s.n_words = 6 + below(&d, WMI_SCRIPT_WORDS - 5);
    for (int i = 0; i < s.n_words; i++) {
        make_stroke(&s.words[i], curved, &d);
        place(&s.words[i], make_turn(&d), 1, 0, 0);
    }
    return s;
}

/* Moves a stroke so that one of its points lies on an earlier one. */
static void join(wmi_stroke *s, const wmi_glyph *g, dice *d)
{
    const wmi_stroke *other = &g->strokes[below(d, g->n)];
    const int own = below(d, 3) ? (chance(d, 0.5) ? 0 : s->n - 1) : s->n / 2;
    const double t = below(d, 5) / 4.0 * (other->n - 1);
    double x, y;

    wmi_stroke_at(other, t, &x, &y);
    place(s, 0, 1, x - s->x[own], y - s->y[own]);
}

static void add_dot(wmi_glyph *g, dice *d)
{
    wmi_stroke *s = &g->strokes[g->n++];
    const double a = between(d, 0, 2 * PI), r = between(d, 0.45, 0.65);

    *s = (wmi_stroke){.smooth = false};
    add(s, r * cos(a), r * sin(a)), add(s, r * cos(a) + 0.04, r * sin(a));
}

/* Into the middle of the canvas, with the script's slant and shape, the longer side `size` long. */
static void fit(wmi_glyph *g, const wmi_script *script, double size)
{
    double lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY}, scale;

    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->strokes[i].n; k++) {
            double *x = &g->strokes[i].x[k], *y = &g->strokes[i].y[k];

            *x = *x * script->aspect - *y * script->slant;
            lo[0] = fmin(lo[0], *x), hi[0] = fmax(hi[0], *x);
            lo[1] = fmin(lo[1], *y), hi[1] = fmax(hi[1], *y);
        }
    scale = size / fmax(fmax(hi[0] - lo[0], hi[1] - lo[1]), 0.2);
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->strokes[i].n; k++) {
            wmi_stroke *s = &g->strokes[i];

            s->x[k] = 0.5 + scale * (s->x[k] - 0.5 * (lo[0] + hi[0]));
            s->y[k] = 0.5 + scale * (s->y[k] - 0.5 * (lo[1] + hi[1]));
        }
}

void wmi_glyph_make(wmi_glyph *g, const wmi_script *script, const wmi_rng *rng)
{
    dice d = {*rng, 0};
    int strokes = (int)(script->strokes + between(&d, -1, 1) + 0.5);

    strokes = strokes < 1 ? 1 : strokes > WMI_GLYPH_STROKES - 1 ? WMI_GLYPH_STROKES - 1 : strokes;
    *g = (wmi_glyph){0};
    while (g->n < strokes) {
        wmi_stroke *s = &g->strokes[g->n];

        *s = script->words[below(&d, script->n_words)];
        if (chance(&d, 0.25)) /* the mirror image of a stroke is one too */
            for (int k = 0; k < s->n; k++)
                s->x[k] = -s->x[k];
        place(s, between(&d, -0.1, 0.1), g->n ? between(&d, 0.45, 0.85) : between(&d, 0.85, 1.1), 0,
              0);
        if (g->n && chance(&d, script->joined))
            join(s, g, &d);
        else if (g->n)
            place(s, 0, 1, between(&d, -0.35, 0.35), between(&d, -0.35, 0.35));
        g->n++;
    }
    if (chance(&d, script->dotted))
        add_dot(g, &d);
    fit(g, script, between(&d, 0.5, 0.7));
}
