/** @file images.h
 * Images: MNIST and its kin from their IDX files, handwritten alphabets (Omniglot, or drawn by our
 * own generator), and pairs of grids of characters whose mutual information is known.
 *
 * Pixels are bytes, 0 is background and 255 is ink, row by row from the top left. */
#ifndef WAYMARK_IMAGES_H
#define WAYMARK_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Parts of a data set that never share a row. */
typedef enum wm_split {
    WM_SPLIT_TRAIN,
    WM_SPLIT_VALID,
    WM_SPLIT_TEST,
    WM_SPLIT_UNSEEN, /**< grid pairs: a second test, of drawings that no other split has */
} wm_split;

/* --- labelled images ---------------------------------------------------------------------------*/

/** Images of one size with a label each, in three parts. */
typedef struct wm_image_set wm_image_set;

/** A part of an image set, borrowed from it. */
typedef struct wm_image_part {
    int64_t n;             /**< images */
    const uint8_t *pixels; /**< (n, height, width) */
    const uint8_t *labels; /**< (n) */
} wm_image_part;

/** Read the four IDX files of MNIST (train-images-idx3-ubyte, train-labels-idx1-ubyte, and t10k-
 * for test; also gzipped), or the npy files that wm_image_set_write() makes.
 * @param[out] out  freed with wm_image_set_free(); NULL on failure
 * @param folder    holds them, or a folder in it does, at most three deep
 * @param valid     IDX: images that become the validation part, the last ones of train
 * @return WM_OK; WM_EIO (no such files), WM_EINVAL (two folders have them; valid is not below the
 *         size of train), WM_EFORMAT (not IDX, cut short), WM_ESHAPE (numbers or sizes of images
 *         and labels do not agree), WM_ENOMEM. Threads: safe. */
WM_API WM_MUST_CHECK wm_status wm_image_set_open(wm_image_set **out, const char *folder,
                                                 int64_t valid, wm_error *err);
WM_API void wm_image_set_free(wm_image_set *s);            /**< NULL is fine */
WM_API int64_t wm_image_set_height(const wm_image_set *s); /**< pixels */
WM_API int64_t wm_image_set_width(const wm_image_set *s);  /**< pixels */
/** @param split  TRAIN, VALID or TEST; of another all is zero. */
WM_API wm_image_part wm_image_set_part(const wm_image_set *s, wm_split split);
/** The folder in which the files were found, borrowed. */
WM_API const char *wm_image_set_folder(const wm_image_set *s);
/** Write train.npy, valid.npy and test.npy, (n, height, width) of uint8, with train_labels.npy and
 * so on, (n), into a folder, which is made with those above it: all of them or, unless they replace
 * older ones, none. @return WM_OK; WM_EINVAL (a file is there already), WM_EIO, WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_image_set_write(const wm_image_set *s, const char *folder,
                                                  bool overwrite, wm_error *err);

/* --- alphabets ---------------------------------------------------------------------------------*/

enum { WM_DRAWING_SIDE = 28 }; /**< pixels along a side of every drawing */

/** Alphabets of characters, each drawn the same number of times. The largest alphabet comes first,
 * ties in the order of their names; characters and drawings are sorted by name. */
typedef struct wm_alphabets wm_alphabets;

/** Omniglot in any of its forms, told apart by what is there:
 * - packed arrays: alphabets.txt (name, tab, characters, tab, part), omniglot_28x28.npy, and the
 *   numbers from 0 of alphabet, character and version of each image in npy files of these names;
 * - folders of PNG images as the authors publish them, Alphabet/character01/0709_01.png, in @p path
 *   or in its images_background and images_evaluation. Dark is ink; an image of any size is
 *   averaged over areas to 28 x 28;
 * - the same in a zip file, at any depth in it.
 * @param[out] out  freed with wm_alphabets_free(); NULL on failure
 * @param part      "background" or "evaluation", as published; NULL: both
 * @return WM_OK; WM_EIO, WM_EFORMAT (a label out of range, a drawing missing or twice, a damaged
 *         image), WM_EINVAL (no such part), WM_ESHAPE, WM_ENOMEM. Messages name the file. Threads:
 *         safe. */
WM_API WM_MUST_CHECK wm_status wm_alphabets_open(wm_alphabets **out, const char *path,
                                                 const char *part, wm_error *err);
/** Alphabets of our own: characters of a few smooth strokes, each drawn @p drawings times with
 * unsteady hands. A function of the seed; an alphabet and a character do not depend on how many
 * others there are.
 * @param sizes     (n) characters of each alphabet, 1 to 256; NULL: those of the nine largest
 *                  background alphabets of Omniglot, 55, 52, 48, 47, 46, 43, 42, 41, 41
 * @param n         alphabets, 1 to 64; not read if @p sizes is NULL
 * @param drawings  of each character, 1 to 1000; 0: 20
 * @return WM_OK; WM_EINVAL, WM_ENOMEM. Cost: 2 ms a character on one core. Threads: safe; runs in
 * parallel.
 */
WM_API WM_MUST_CHECK wm_status wm_alphabets_open_glyphs(wm_alphabets **out, const int64_t *sizes,
                                                        int64_t n, int64_t drawings, uint64_t seed,
                                                        wm_error *err);
WM_API void wm_alphabets_free(wm_alphabets *a); /**< NULL is fine */

WM_API int64_t wm_alphabets_count(const wm_alphabets *a);    /**< alphabets */
WM_API int64_t wm_alphabets_drawings(const wm_alphabets *a); /**< of each character */
/** @param i  alphabet, from 0 to count - 1, here and below */
WM_API const char *wm_alphabets_name(const wm_alphabets *a, int64_t i);
WM_API int64_t wm_alphabets_size(const wm_alphabets *a, int64_t i); /**< characters */
/** The pixels of a drawing, (28, 28), borrowed. */
WM_API const uint8_t *wm_alphabets_drawing(const wm_alphabets *a, int64_t i, int64_t character,
                                           int64_t drawing);

/* --- pairs of grids ----------------------------------------------------------------------------*/

/** The SpatialMultiOmniglot problem (Ozair et al. 2019): u and v are grids of drawings, cell i
 * (raster order) of alphabet i. In every cell an independent, uniform character z; u has a random
 * drawing of it, v an independent random drawing of its successor, the first following the last.
 * A drawing tells its character, so the mutual information is the sum of the log of the sizes.
 *
 * Rows are drawn, not stored: row @c index of a split is a function of (seed, split, index), so
 * there are as many as one likes, and no two splits share draws. */
typedef struct wm_grid_pairs wm_grid_pairs;

/** Start from wm_grid_pairs_opts_init(). */
typedef struct wm_grid_pairs_opts {
    size_t struct_size;    /**< set by wm_grid_pairs_opts_init() */
    int64_t rows, columns; /**< of cells; default 1 x 1 */
    int64_t held_out;      /**< drawings of each character, the last ones, that TRAIN, VALID and
                                TEST never use and UNSEEN alone does; default 0 */
    uint64_t seed;         /**< default 1 */
    double distort;        /**< TRAIN shows every drawing turned, scaled, sheared, shifted and bent
                                by chance, as another hand might have drawn it; other splits never.
                                0 (default) to 3; 1 is what still reads well. The mutual
                                information stays what it is */
} wm_grid_pairs_opts;

/** Fill in the defaults. Threads: safe. */
WM_API void wm_grid_pairs_opts_init(wm_grid_pairs_opts *opts);

/** @param alphabets  kept, must outlive *out
 * @param opts       or NULL for defaults
 * @return WM_OK; WM_EINVAL (more cells than alphabets, held_out leaves no drawing), WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_grid_pairs_new(wm_grid_pairs **out, const wm_alphabets *alphabets,
                                                 const wm_grid_pairs_opts *opts, wm_error *err);
WM_API void wm_grid_pairs_free(wm_grid_pairs *p); /**< NULL is fine */

WM_API int64_t wm_grid_pairs_cells(const wm_grid_pairs *p);  /**< rows x columns */
WM_API int64_t wm_grid_pairs_height(const wm_grid_pairs *p); /**< pixels: 28 x rows */
WM_API int64_t wm_grid_pairs_width(const wm_grid_pairs *p);  /**< pixels: 28 x columns */
WM_API double wm_grid_pairs_mi(const wm_grid_pairs *p);      /**< the truth, in nats */

/** Draw rows first .. first + n - 1 of a split.
 * @param[out] u,v     (n, height, width), in [0, 1], ink is 1; either may be NULL
 * @param[out] labels  (n, cells), the characters of u, from 0; or NULL
 * @return WM_OK or WM_EINVAL (first or n negative, UNSEEN without held_out)
 * Threads: safe; runs in parallel when large. */
WM_API WM_MUST_CHECK wm_status wm_grid_pairs_draw(const wm_grid_pairs *p, wm_split split,
                                                  int64_t first, int64_t n, float *u, float *v,
                                                  uint8_t *labels, wm_error *err);

/** Write train/u.npy, train/v.npy (n, height, width) and train/labels.npy (n, cells), uint8, and
 * the same of valid, test and unseen, into a folder: all of them or, unless they replace older
 * ones, none. The splits have the rows from 0 on.
 * @param n  (4) rows of each wm_split; 0: no such files
 * @return WM_OK; WM_EINVAL (a file is there already), WM_EIO, WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_grid_pairs_write(const wm_grid_pairs *p, const int64_t n[4],
                                                   const char *folder, bool overwrite,
                                                   wm_error *err);

#ifdef __cplusplus
}
#endif
#endif
