/* grid_pairs.c - pairs (u, v) of grids of characters (SpatialMultiOmniglot, Ozair et al. 2019).
 * Cell i has alphabet i of n_i characters; z_i is uniform, u shows a drawing of z_i and v one of
 * z_i + 1 mod n_i. z is a function of u, and of v one to one, so
 *     I(u; v) = H(z) = sum_i log n_i nats.
 * A row takes three draws a cell (character, drawing of u, drawing of v) from its split's stream,
 * at a place that its number alone tells. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opts.h"
#include "base/rng.h"
#include "base/sums.h"
#include "images/alphabets.h"
#include "images/distort.h"
#include "images/grid_pairs.h"
#include "images/u8_files.h"

enum { SIDE = WM_DRAWING_SIDE, N_SPLITS = 4 };
enum { DRAW_CHARACTER, DRAW_U, DRAW_V, N_DRAWS }; /* elements of the stream, a cell */
#define OMP_MIN (1 << 16)                         /* pixels, where a second thread begins to pay */

struct wm_grid_pairs {
    const wm_alphabets *alphabets;
    int64_t rows, columns, held_out;
    double distort;
    wmi_rng stream[N_SPLITS], distortion;
};

static const char *const split_names[N_SPLITS] = {"train", "valid", "test", "unseen"};

void wm_grid_pairs_opts_init(wm_grid_pairs_opts *opts)
{
    *opts = (wm_grid_pairs_opts){.struct_size = sizeof *opts,
                                 .rows = 1,
                                 .columns = 1,
                                 .held_out = 0,
                                 .seed = 1,
                                 .distort = 0};
}

wm_status wm_grid_pairs_new(wm_grid_pairs **out, const wm_alphabets *alphabets,
                            const wm_grid_pairs_opts *opts, wm_error *err)
{
    const int64_t n = wm_alphabets_count(alphabets), drawings = wm_alphabets_drawings(alphabets);
    wm_grid_pairs_opts o;
    wm_status st;

    *out = NULL;
    wm_grid_pairs_opts_init(&o);
    if ((st = wmi_opts_take(&o, sizeof o, opts, "wm_grid_pairs_opts_init", err)))
        return st;
    if (o.rows < 1 || o.columns < 1)
        return wmi_fail(err, WM_EINVAL, "a grid of %" PRId64 " x %" PRId64 " cells", o.rows,
                        o.columns);
    if (o.columns > n / o.rows)
        return wmi_fail(err, WM_EINVAL,
                        "a grid of %" PRId64 " x %" PRId64 " cells needs an alphabet for each; "
                        "there are %" PRId64,
                        o.rows, o.columns, n);
    if (o.held_out < 0 || o.held_out >= drawings)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " of %" PRId64 " drawings held out: one at least must be left",
                        o.held_out, drawings);
    if (!(o.distort >= 0 && o.distort <= 3))
        return wmi_fail(err, WM_EINVAL, "drawings distorted by %g: 0 to 3", o.distort);
    if ((st = wmi_alloc(out, 1, sizeof **out, "grid pairs", err)))
        return st;
    (*out)->alphabets = alphabets;
    (*out)->rows = o.rows;
    (*out)->columns = o.columns;
    (*out)->held_out = o.held_out;
    (*out)->distort = o.distort;
    (*out)->distortion = wmi_rng_make(o.seed, "grid pairs, distortion");
    for (int i = 0; i < N_SPLITS; i++) {
        char name[32];

        snprintf(name, sizeof name, "grid pairs, %s", split_names[i]);
        (*out)->stream[i] = wmi_rng_make(o.seed, name);
    }
    return WM_OK;
}

void wm_grid_pairs_free(wm_grid_pairs *p)
{
    wmi_free(p);
}

int64_t wm_grid_pairs_cells(const wm_grid_pairs *p)
{
    return p->rows * p->columns;
}

int64_t wm_grid_pairs_height(const wm_grid_pairs *p)
{
    return p->rows * SIDE;
}

int64_t wm_grid_pairs_width(const wm_grid_pairs *p)
{
    return p->columns * SIDE;
}

double wm_grid_pairs_mi(const wm_grid_pairs *p)
{
    wmi_running_sum sum = {0};

    for (int64_t i = 0; i < p->rows * p->columns; i++)
        wmi_sum_add(&sum, log((double)wm_alphabets_size(p->alphabets, i)));
    return wmi_sum_value(&sum);
}

void wmi_grid_pairs_blocks(const wm_grid_pairs *p, int64_t *block)
{
    const int64_t width = p->columns * SIDE;

    for (int64_t i = 0; i < p->rows * SIDE * width; i++)
        block[i] = i / width / SIDE * p->columns + i % width / SIDE;
}

/* --- drawing -----------------------------------------------------------------------------------*/

/* What a cell of a row shows. */
typedef struct cell_draw {
    int64_t label;
    const uint8_t *u, *v; /* (28, 28) */
} cell_draw;

static cell_draw draw_cell(const wm_grid_pairs *p, wm_split split, int64_t row, int64_t cell)
{
    const wmi_rng *rng = &p->stream[split];
    const uint64_t at =
        ((uint64_t)row * (uint64_t)(p->rows * p->columns) + (uint64_t)cell) * N_DRAWS;
    const int64_t size = wm_alphabets_size(p->alphabets, cell);
    const int64_t seen = wm_alphabets_drawings(p->alphabets) - p->held_out;
    const int64_t from = split == WM_SPLIT_UNSEEN ? seen : 0;
    const int64_t count = split == WM_SPLIT_UNSEEN ? p->held_out : seen;
    const int64_t z = wmi_rng_below(rng, at + DRAW_CHARACTER, size);

    return (cell_draw){
        .label = z,
        .u = wm_alphabets_drawing(p->alphabets, cell, z,
                                  from + wmi_rng_below(rng, at + DRAW_U, count)),
        .v = wm_alphabets_drawing(p->alphabets, cell, (z + 1) % size,
                                  from + wmi_rng_below(rng, at + DRAW_V, count)),
    };
}

/* What pixels of a picture are, and how a row of a drawing becomes that. */
typedef struct pixel_form {
    int64_t bytes;
    void (*row)(const uint8_t *from, void *to); /* (28) */
} pixel_form;

static void row_of_bytes(const uint8_t *from, void *to)
{
    memcpy(to, from, SIDE);
}

static void row_of_floats(const uint8_t *from, void *to)
{
    float *x = to;

    for (int c = 0; c < SIDE; c++)
        x[c] = (float)from[c] * (1.0F / 255);
}

static const pixel_form as_bytes = {sizeof(uint8_t), row_of_bytes};
static const pixel_form as_floats = {sizeof(float), row_of_floats};

/* A drawing into cell `cell` of picture i of those at `pictures`, if there are any; hand: what
 * distorts it, or NULL. */
static void put(const wm_grid_pairs *p, const pixel_form *form, const uint8_t *from,
                const wmi_rng *hand, int64_t i, int64_t cell, void *pictures)
{
    const int64_t width = p->columns * SIDE;
    const int64_t first =
        (i * p->rows + cell / p->columns) * SIDE * width + cell % p->columns * SIDE;
    uint8_t other[WMI_DRAWING_PIXELS];

    if (!pictures)
        return;
    if (hand) {
        wmi_distort(from, hand, p->distort, other);
        from = other;
    }
    for (int r = 0; r < SIDE; r++)
        form->row(from + r * SIDE, (unsigned char *)pictures + (first + r * width) * form->bytes);
}

static wm_status check_draw(const wm_grid_pairs *p, wm_split split, int64_t first, int64_t n,
                            wm_error *err)
{
    if ((int)split < 0 || (int)split >= N_SPLITS || first < 0 || n < 0 || first > INT64_MAX - n ||
        first + n > INT64_MAX / (N_DRAWS * p->rows * p->columns))
        return wmi_fail(err, WM_EINVAL, "grid pairs: rows %" PRId64 " + %" PRId64 " of split %d",
                        first, n, (int)split);
    if (split == WM_SPLIT_UNSEEN && !p->held_out)
        return wmi_fail(err, WM_EINVAL, "grid pairs: no drawings are held out, so none are unseen");
    return WM_OK;
}

static wm_status draw(const wm_grid_pairs *p, const pixel_form *form, wm_split split, int64_t first,
                      int64_t n, void *u, void *v, uint8_t *labels, wm_error *err)
{
    const int64_t cells = p->rows * p->columns;
    const bool distort = p->distort > 0 && split == WM_SPLIT_TRAIN;
    wm_status st = check_draw(p, split, first, n, err);

    if (st)
        return st;
#pragma omp parallel for schedule(static) if (n * cells * WMI_DRAWING_PIXELS >= OMP_MIN)
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < cells; c++) {
            const cell_draw d = draw_cell(p, split, first + i, c);
            const uint64_t at = 2 * ((uint64_t)(first + i) * (uint64_t)cells + (uint64_t)c);
            const wmi_rng hands[2] = {wmi_rng_sub(&p->distortion, at),
                                      wmi_rng_sub(&p->distortion, at + 1)};

            put(p, form, d.u, distort ? &hands[0] : NULL, i, c, u);
            put(p, form, d.v, distort ? &hands[1] : NULL, i, c, v);
            if (labels)
                labels[i * cells + c] = (uint8_t)d.label;
        }
    return WM_OK;
}

wm_status wm_grid_pairs_draw(const wm_grid_pairs *p, wm_split split, int64_t first, int64_t n,
                             float *u, float *v, uint8_t *labels, wm_error *err)
{
    return draw(p, &as_floats, split, first, n, u, v, labels, err);
}

wm_status wmi_grid_pairs_bytes(const wm_grid_pairs *p, wm_split split, int64_t first, int64_t n,
                               uint8_t *u, uint8_t *v, uint8_t *labels, wm_error *err)
{
    return draw(p, &as_bytes, split, first, n, u, v, labels, err);
}

/* --- files -------------------------------------------------------------------------------------*/

enum { FILE_U, FILE_V, FILE_LABELS, N_FILES };
static const char *const file_names[N_FILES] = {"u", "v", "labels"};

static wm_status fill(const wmi_u8_file *file, int64_t first, int64_t n, uint8_t *to, wm_error *err)
{
    const int which = file->tag % N_FILES;

    return wmi_grid_pairs_bytes(file->ctx, (wm_split)(file->tag / N_FILES), first, n,
                                which == FILE_U ? to : NULL, which == FILE_V ? to : NULL,
                                which == FILE_LABELS ? to : NULL, err);
}

wm_status wm_grid_pairs_write(const wm_grid_pairs *p, const int64_t n[4], const char *folder,
                              bool overwrite, wm_error *err)
{
    wmi_u8_file files[N_SPLITS * N_FILES] = {0};
    int count = 0;

    for (int i = 0; i < N_SPLITS * N_FILES; i++) {
        const int split = i / N_FILES;
        wmi_u8_file *file = &files[count];
        wm_status st = check_draw(p, WM_SPLIT_TRAIN, 0, n[split], err);

        if (st)
            return st;
        if (!n[split])
            continue;
        *file = (wmi_u8_file){.fill = fill, .ctx = p, .tag = i, .dim = {n[split]}};
        if (i % N_FILES == FILE_LABELS) {
            file->rank = 2;
            file->dim[1] = p->rows * p->columns;
        } else {
            file->rank = 3;
            file->dim[1] = p->rows * SIDE;
            file->dim[2] = p->columns * SIDE;
        }
        snprintf(file->name, sizeof file->name, "%s/%s", split_names[split],
                 file_names[i % N_FILES]);
        count++;
    }
    return wmi_u8_files_write(files, count, folder, overwrite, err);
}
