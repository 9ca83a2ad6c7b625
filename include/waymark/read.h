/** @file read.h
 * Samples from files: npy, npz, CSV and TSV, IDX, safetensors. Rows are samples; arrays of a higher
 * rank have their later axes made one row, an array of rank one is one column. The format is found
 * by what a file holds, not by its name. Plain files are mapped; npy, IDX and text may also be
 * gzipped, or come from a pipe or standard input. */
#ifndef WAYMARK_READ_H
#define WAYMARK_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/data.h"
#include "waymark/sink.h"
#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- columns ---- */

/** What a column is. Told by wm_read_opts, or found in the first table:
 * - text: categorical if a value is not a number; integer if every number is written without a
 *   point, as 3 and not 3.0; else continuous. Numbers with a little text among them (less than 1 %,
 *   a single one among ten or more, or a minority beside fractions) are refused as a likely mistake
 *   unless the column is told to be categorical. Levels are numbered in sorted order;
 * - arrays of integers: integer; of bools: categorical, with the levels 0 and 1;
 * - arrays of floats: integer if every value is whole and at least one comes twice, because counts
 *   are often kept as floats and measurements do not repeat; else continuous. Never categorical:
 *   numbers do not say that their order means nothing.
 * Few different values do not make a column categorical. Missing values say nothing. In a later
 * table a column that is categorical stays so, its numbers being taken as names of levels. */
typedef enum wm_kind {
    WM_KIND_CONTINUOUS,
    WM_KIND_INTEGER,     /**< whole numbers whose order means something: counts, grades */
    WM_KIND_CATEGORICAL, /**< levels without order; in a table a level is its number, from 0 */
} wm_kind;

/** Names, kinds and levels of the columns of one table, or of several that must agree. */
typedef struct wm_schema wm_schema;

/** A schema that knows nothing yet, freed with wm_schema_free(). @return WM_OK or WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_schema_new(wm_schema **out, wm_error *err);
WM_API void wm_schema_free(wm_schema *s); /**< NULL is fine */

WM_API int64_t wm_schema_dim(const wm_schema *s); /**< columns; 0 before the first table */
/** Name of a column, borrowed; NULL where the files had none. */
WM_API const char *wm_schema_name(const wm_schema *s, int64_t column);
WM_API wm_kind wm_schema_kind(const wm_schema *s, int64_t column);
WM_API int64_t wm_schema_levels(const wm_schema *s, int64_t column); /**< 0 unless categorical */
/** Text of a level, borrowed. */
WM_API const char *wm_schema_level(const wm_schema *s, int64_t column, int64_t level);
/** Columns by name or number from 1, as messages call them: "column 3 ('age')". */
WM_API const char *wm_schema_describe(const wm_schema *s, int64_t column, char *buf, size_t size);

/** The columns of a, then those of b, freed with wm_schema_free(). @return WM_OK or WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_schema_join(wm_schema **out, const wm_schema *a,
                                              const wm_schema *b, wm_error *err);

/** The schema as one line of JSON, for a model file; freed with wm_text_free(). */
WM_API WM_MUST_CHECK wm_status wm_schema_write(const wm_schema *s, char **out, wm_error *err);
/** Read it back. A schema from text is fixed: a table with other columns, or with a level that it
 * does not have, is refused. @return WM_OK; WM_EFORMAT, WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_schema_parse(wm_schema **out, const char *text, wm_error *err);
WM_API void wm_text_free(char *text); /**< NULL is fine */

/* ---- reading ---- */

/** What is done with missing values. In arrays that is NaN; in text an empty field, NA, N/A, nan
 * (in any case, also with a sign), null, NULL, None and ?, with or without quotes. */
typedef enum wm_missing {
    WM_MISSING_REFUSE, /**< an error that names the first one */
    WM_MISSING_DROP,   /**< rows with a missing value are left out */
    WM_MISSING_MEAN,   /**< the column's mean (rounded if integer), or its most frequent level */
    WM_MISSING_KEEP,   /**< they stay, as NaN, for wm_data_drop_pairs(); whole tables only */
} wm_missing;

/** How a file is to be read; start from wm_read_opts_init(). Texts are read during the call only.
 */
typedef struct wm_read_opts {
    size_t struct_size;
    const char *format; /**< "npy", "npz", "csv", "tsv", "idx", "safetensors"; NULL: by content */
    const char *array;  /**< npz, safetensors: which; NULL: the only one. PATH:NAME says the same */
    int header;         /**< CSV: 1 the first line has names, 0 not, -1 (default) look */
    wm_missing missing; /**< default refuse */
    /** Columns whose kind is given rather than looked for: names or numbers from 1, separated by
     * commas; "all" is every one. NULL: none. Numbers told to be categorical are levels in
     * ascending order, at most 1000; what is told to be integer must be whole. */
    const char *continuous, *integer, *categorical;
    const wm_sink *sink; /**< words (rows dropped, kinds found) and progress, or NULL */
} wm_read_opts;

WM_API void wm_read_opts_init(wm_read_opts *opts);

/** Read a whole table.
 * @param[out] out  freed with wm_data_free(); NULL on failure
 * @param path      file; "-" is standard input; "FILE:NAME" names an array in an npz or safetensors
 * @param schema    learns the columns from the first table and holds later ones to them: the same
 *                  number, and the same names where both have them; levels are added, and a column
 *                  that is integer in one and continuous in another becomes continuous. Not NULL
 * @param opts      or NULL for defaults
 * @return WM_OK; WM_EIO, WM_EFORMAT, WM_EINVAL (missing or infinite values, another kind than
 *         before, a number that no double holds), WM_ESHAPE (another width, no rows),
 *         WM_EUNSUPPORTED, WM_ENOMEM. Messages name file, line or row, column and value. After a
 *         failure the schema may have learned a part and should be freed.
 * Infinite values are always refused. Threads: safe for distinct schemas. */
WM_API WM_MUST_CHECK wm_status wm_data_read(wm_data **out, const char *path, wm_schema *schema,
                                            const wm_read_opts *opts, wm_error *err);

/** Of two tables whose rows are pairs: leaves out of both the rows in which either has a missing
 * value. Dropping rows from each by itself would pair the rest wrongly.
 * @param[out] dropped  how many, or NULL
 * @return WM_OK; WM_ESHAPE (other numbers of rows), WM_EINVAL (none is left) */
WM_API WM_MUST_CHECK wm_status wm_data_drop_pairs(wm_data *a, wm_data *b, int64_t *dropped,
                                                  wm_error *err);

/* ---- streaming: tables of any size in constant memory ---- */

typedef struct wm_reader wm_reader;

/** Open a file to be read in order, a block of rows at a time.
 * @param schema  fixed (wm_schema_parse()) or filled by an earlier table: kinds and levels are not
 *                looked for here. Kept, must outlive the reader. NULL: every column must be numbers
 * Missing values: refused, or dropped with WM_MISSING_DROP; a mean is not known here: WM_EINVAL. */
WM_API WM_MUST_CHECK wm_status wm_reader_open(wm_reader **out, const char *path,
                                              const wm_schema *schema, const wm_read_opts *opts,
                                              wm_error *err);
WM_API void wm_reader_close(wm_reader *r); /**< NULL is fine */
WM_API int64_t wm_reader_dim(const wm_reader *r);
WM_API int64_t wm_reader_count(const wm_reader *r); /**< rows in all, or -1 if that is not known */
/** The shape of a row, which is one row of numbers all the same: for a table and for an array of
 * rank two the columns, for images (n, height, width) or (n, height, width, channels) these.
 * @param[out] shape  sizes, the missing ones 1
 * @return how many there are, 1 to 3; arrays of a higher rank count as tables */
WM_API int wm_reader_shape(const wm_reader *r, int64_t shape[3]);

/** The next rows.
 * @param[out] rows  (max, dim)
 * @param[out] got   rows read, up to @p max; 0 at the end
 * @param[out] first number of the first row in the file, from 0 (rows dropped are counted); may be
 *                   NULL. With WM_MISSING_DROP a call returns rows without gaps between them. */
WM_API WM_MUST_CHECK wm_status wm_reader_next(wm_reader *r, int64_t max, double *rows, int64_t *got,
                                              int64_t *first, wm_error *err);

#ifdef __cplusplus
}
#endif
#endif
