/* cmd_data_alphabets.c - `waymark data omniglot` and `waymark data glyphs`: pairs of grids of
 * characters, u and v, whose mutual information is known. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/estimate.h"
#include "frame/commands.h"
#include "options/fitting.h"
#include "waymark/images.h"

/* --- options -----------------------------------------------------------------------------------*/

typedef struct pairs_opts {
    const char *from, *grid, *out, *png;
    int part;
    int64_t n[4], held_out, script_seed;
    double distort;
    bool overwrite;
} pairs_opts;

static const char *const part_names[] = {"background", "evaluation", "all", NULL};
static const char *const split_names[] = {"train", "valid", "test", "unseen"};

#define OPTS pairs_opts

static const opt_row shared_rows[] = {
    TEXT(grid, "grid", "N", "cells of u and of v: 1, 4, 9, ... in a square, or as in 2x3"),
    TEXT(out, "out", "DIR",
         "folder for train/u.npy, train/v.npy, train/labels.npy and so on, and truth.json",
         .letter = 'o', .transient = true),
    TEXT(png, "png", "FILE", "picture of the first pairs of train, each u with its v",
         .transient = true),
    FLAG(overwrite, "overwrite", "replace files of these names", .transient = true),
    INTEGER(n[0], "train", "N", 0, 1e9, "pairs for training"),
    INTEGER(n[1], "valid", "N", 0, 1e9, "for validation"),
    INTEGER(n[2], "test", "N", 0, 1e9, "for the test"),
    INTEGER(n[3], "unseen", "N", 0, 1e9, "for the test on held-out drawings"),
    INTEGER(held_out, "held-out", "N", 0, 999,
            "drawings of each character, the last ones, that only --unseen uses"),
    REAL(distort, "distort", "X", 0, 3,
         "train shows drawings turned, scaled, sheared, shifted and bent by chance; 1 reads well"),
    {0},
};

static const opt_row omniglot_rows[] = {
    TEXT(from, "from", "PATH",
         "folder or zip file of Omniglot: ALPHABET/character01/*.png, or packed arrays"),
    CHOICE(part, "part", "NAME", part_names, "of its alphabets, as published"),
    {.kind = OPT_ROWS, .rows = shared_rows},
    {0},
};

static const opt_row glyphs_rows[] = {
    INTEGER(script_seed, "script-seed", "N", 0, 9e15,
            "other numbers give other alphabets; --seed draws other pairs of the same"),
    {.kind = OPT_ROWS, .rows = shared_rows},
    {0},
};

static void defaults(void *opts)
{
    *(pairs_opts *)opts =
        (pairs_opts){.grid = "1", .n = {50000, 10000, 10000, 10000}, .script_seed = 1};
}

/* "9" is 3 x 3, "2x3" is what it says. */
static wm_status read_grid(cli_call *call, wm_grid_pairs_opts *g, wm_error *err)
{
    const pairs_opts *o = call->opts;
    const opt_row row = {.name = "grid", .lo = 1, .hi = 4096};
    int64_t size[3] = {0, 0, 1}, cells = 0;

    wm_grid_pairs_opts_init(g);
    g->held_out = o->held_out;
    g->distort = o->distort;
    g->seed = (uint64_t)call->common->seed;
    if (strchr(o->grid, 'x') ? !image_parse(size, o->grid) || size[2] > 1 ||
                                   fmax((double)size[0], (double)size[1]) > row.hi
                             : opt_integer(&cells, &row, o->grid, NULL))
        return cli_usage(call, err, "--grid %.40s: must be 1, 4, 9, ... or as in 2x3, up to 4096",
                         o->grid);
    if (!size[0]) {
        size[0] = size[1] = (int64_t)lround(sqrt((double)cells));
        if (size[0] * size[0] != cells)
            return cli_usage(call, err,
                             "--grid %lld: that many cells make no square; %lldx%lld has %lld, "
                             "1x%lld is a row",
                             (long long)cells, (long long)cells, (long long)cells,
                             (long long)cells * (long long)cells, (long long)cells);
    }
    g->rows = size[0];
    g->columns = size[1];
    return WM_OK;
}

/* --- words -------------------------------------------------------------------------------------*/

static void put_facts(const cli_call *call, wm_summary *s, const wm_alphabets *a,
                      const wm_grid_pairs *p)
{
    const pairs_opts *o = call->opts;
    wm_summary *counts;

    WM_PUT(s, WM_TEXT("problem", o->from ? "omniglot" : "glyphs"), WM_TEXT("kind", "mi"),
           WM_REAL("mi", wm_grid_pairs_mi(p)), WM_INTEGER("cells", wm_grid_pairs_cells(p)),
           WM_INTEGER("height", wm_grid_pairs_height(p)),
           WM_INTEGER("width", wm_grid_pairs_width(p)), WM_INTEGER("channels", 1),
           WM_INTEGER("drawings", wm_alphabets_drawings(a)), WM_INTEGER("held_out", o->held_out),
           WM_REAL("distort", o->distort));
    for (int64_t i = 0; i < wm_grid_pairs_cells(p); i++) {
        wm_summary *row = wm_summary_row(s, "alphabets");

        wm_summary_text(row, "name", wm_alphabets_name(a, i));
        wm_summary_integer(row, "characters", wm_alphabets_size(a, i));
    }
    counts = wm_summary_object(s, "pairs");
    for (int i = 0; i < (o->held_out ? 4 : 3); i++)
        wm_summary_integer(counts, split_names[i], o->n[i]);
}

static wm_status print_truth(const cli_call *call, const wm_alphabets *a, const wm_grid_pairs *p,
                             wm_error *err)
{
    const double unit = units_per_nat(call);
    char headers[48];
    wm_text_table *t;

    printf("u and v have %lld x %lld cells, %lld x %lld pixels; %lld drawings of each "
           "character\n\n",
           (long long)(wm_grid_pairs_height(p) / WM_DRAWING_SIDE),
           (long long)(wm_grid_pairs_width(p) / WM_DRAWING_SIDE),
           (long long)wm_grid_pairs_height(p), (long long)wm_grid_pairs_width(p),
           (long long)wm_alphabets_drawings(a));
    snprintf(headers, sizeof headers, "cell|<alphabet|characters|%s", units_name(call));
    t = wm_text_table_new(NULL, headers);
    for (int64_t i = 0; i < wm_grid_pairs_cells(p); i++)
        WM_ROW(t, WM_CELL_INTEGER(i + 1), WM_CELL_TEXT(wm_alphabets_name(a, i)),
               WM_CELL_INTEGER(wm_alphabets_size(a, i)),
               WM_CELL_REAL(log((double)wm_alphabets_size(a, i)) * unit, 6));
    wm_text_table_rule(t);
    WM_ROW(t, WM_CELL_TEXT(""), WM_CELL_TEXT("MI(u, v)"), WM_CELL_TEXT(""),
           WM_CELL_REAL(wm_grid_pairs_mi(p) * unit, 6));
    return wm_text_table_finish(t, stdout, err);
}

/* --- files -------------------------------------------------------------------------------------*/

/* truth.json comes last, and an old one goes first: it must never stand beside other pairs. */
static wm_status write_pairs(cli_call *call, const wm_alphabets *a, const wm_grid_pairs *p,
                             wm_error *err)
{
    const pairs_opts *o = call->opts;
    int64_t n[4] = {o->n[0], o->n[1], o->n[2], o->held_out ? o->n[3] : 0};
    char path[CLI_PATH_SIZE], unseen[40] = "";
    wm_summary *s = NULL;
    wm_status st;

    if ((st = cli_path(path, o->out, "truth", ".json", call, err)) ||
        (st = cli_spare_files((const char *[]){path}, 1, o->overwrite, err)))
        return st;
    unlink(path);
    if ((st = wm_grid_pairs_write(p, n, o->out, o->overwrite, err)) ||
        (st = wm_summary_new(&s, err)))
        return st;
    put_facts(call, s, a, p);
    wm_summary_integer(s, "seed", call->common->seed);
    st = wm_summary_write(s, path, err);
    wm_summary_free(s);
    if (st)
        return st;
    if (n[3])
        snprintf(unseen, sizeof unseen, ", unseen (%lld)", (long long)n[3]);
    wm_say(call->sink, WM_LOG_INFO, "wrote train (%lld), valid (%lld), test (%lld)%s to %s",
           (long long)n[0], (long long)n[1], (long long)n[2], unseen, o->out);
    return WM_OK;
}

static wm_status write_png(const cli_call *call, const wm_grid_pairs *p, wm_error *err)
{
    enum { PAIRS = 24 };
    const int64_t pixels = wm_grid_pairs_height(p) * wm_grid_pairs_width(p);
    float *uv = malloc(2 * PAIRS * (size_t)pixels * sizeof *uv);
    double *x = malloc(2 * PAIRS * (size_t)pixels * sizeof *x);
    wm_image_grid g = {.n = 2 * PAIRS,
                       .height = wm_grid_pairs_height(p),
                       .width = wm_grid_pairs_width(p),
                       .channels = 1,
                       .x = x,
                       .lo = 1, /* ink is dark */
                       .hi = 0,
                       .columns = 8,
                       .scale = 2};
    wm_status st = WM_ENOMEM;

    if (!uv || !x ||
        (st = wm_grid_pairs_draw(p, WM_SPLIT_TRAIN, 0, PAIRS, uv, uv + PAIRS * pixels, NULL, err)))
        goto done;
    for (int64_t i = 0; i < 2 * PAIRS; i++) /* u, v, u, v, ... */
        for (int64_t k = 0; k < pixels; k++)
            x[i * pixels + k] = (double)uv[(i % 2 * PAIRS + i / 2) * pixels + k];
    st = wm_image_grid_write(&g, ((const pairs_opts *)call->opts)->png, err);
done:
    free(uv);
    free(x);
    return st;
}

/* --- the commands ------------------------------------------------------------------------------*/

static wm_status run_with(cli_call *call, const wm_grid_pairs_opts *g, const wm_alphabets *a,
                          wm_error *err)
{
    const pairs_opts *o = call->opts;
    wm_grid_pairs *p = NULL;
    wm_status st;

    if ((st = wm_grid_pairs_new(&p, a, g, err)))
        return st;
    put_facts(call, call->summary, a, p);
    if (o->out)
        st = write_pairs(call, a, p, err);
    if (!st && o->png)
        st = write_png(call, p, err);
    if (!st && cli_shows_tables(call))
        st = print_truth(call, a, p, err);
    wm_grid_pairs_free(p);
    return st;
}

static wm_status run_omniglot(cli_call *call, wm_error *err)
{
    const pairs_opts *o = call->opts;
    wm_grid_pairs_opts g;
    wm_alphabets *a = NULL;
    wm_status st;

    if (!o->from)
        return cli_usage(call, err,
                         "--from PATH: the folder or zip file of Omniglot is needed; "
                         "`waymark data glyphs` needs none");
    if ((st = read_grid(call, &g, err)) ||
        (st = wm_alphabets_open(&a, o->from, o->part == 2 ? NULL : part_names[o->part], err)))
        return st;
    st = run_with(call, &g, a, err);
    wm_alphabets_free(a);
    return st;
}

static wm_status run_glyphs(cli_call *call, wm_error *err)
{
    /* The library's own sizes, but no more alphabets than are shown: drawing them takes time. */
    static const int64_t sizes[] = {55, 52, 48, 47, 46, 43, 42, 41, 41};
    const int64_t all = (int64_t)(sizeof sizes / sizeof *sizes);
    const pairs_opts *o = call->opts;
    wm_grid_pairs_opts g;
    wm_alphabets *a = NULL;
    wm_status st;

    if ((st = read_grid(call, &g, err)) ||
        (st = wm_alphabets_open_glyphs(&a, sizes,
                                       g.rows * g.columns < all ? g.rows * g.columns : all, 0,
                                       (uint64_t)o->script_seed, err)))
        return st;
    st = run_with(call, &g, a, err);
    wm_alphabets_free(a);
    return st;
}

const cli_command cmd_data_omniglot = {
    .name = "data omniglot",
    .about = "pairs of grids of Omniglot characters, whose mutual information is known",
    .details = "In every cell an independent, uniform character of the cell's alphabet (the "
               "largest first): u shows a drawing of it, v another drawing of the next character. "
               "Their mutual information is the sum of the logs of the alphabets' sizes. Images "
               "are uint8, ink is 255; labels are the characters of u.",
    .examples = "waymark data omniglot --from omniglot/python --grid 9              # the truth\n"
                "waymark data omniglot --from images_background.zip --grid 4 -o o4 --held-out 4\n"
                "waymark data omniglot --from omniglot/python --grid 4 --png look.png",
    .common = CLI_SEED | CLI_BITS,
    CLI_OPTIONS(omniglot_rows, pairs_opts, defaults),
    .run = run_omniglot,
};

const cli_command cmd_data_glyphs = {
    .name = "data glyphs",
    .about = "the same with alphabets drawn by our own generator: no download",
    .details = "Nine alphabets of 55 to 41 characters made of a few strokes, each drawn 20 times "
               "with unsteady hands; the pairs are those of `waymark data omniglot`.",
    .examples =
        "waymark data glyphs --grid 9                     # the truth\n"
        "waymark data glyphs --grid 4 --png look.png\n"
        "waymark data glyphs --grid 1 -o g1               # g1/train/u.npy, v.npy, labels.npy and "
        "so on",
    .common = CLI_SEED | CLI_BITS,
    CLI_OPTIONS(glyphs_rows, pairs_opts, defaults),
    .run = run_glyphs,
};
