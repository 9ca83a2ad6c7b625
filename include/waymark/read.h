/** @file read.h
 * Samples from files: npy, npz, CSV and TSV, IDX, safetensors. Rows are samples; arrays of a higher
 * rank have their later axes made one row, an array of rank one is one column. The format is found
 * by what a file holds, not by its name. Plain files are mapped; npy, IDX and text may also be
 * gzipped, or come from a pipe or standard input. */
#ifndef WAYMARK_READ_H
#define WAYMARK_READ_H

#include <signal.h>
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
 * - text: dates and times of day are continuous, as days since 1970-01-01 and parts of a day
 *   (2024-01-31, 2024-01-31T12:34:56, 31.01.2024, 1/31/2024 1:05 PM); true and false, yes and no, T
 *   and F, Y and N, in any case, are categorical with these two levels, or 0 and 1 where the column
 * is told to be numbers; numbers may have decimal commas, signs between thousands (1,234 1.234 1
 * 234 1'234), $, Euro, Pound or Yen signs, and percent signs (12 % is 0.12). Each of these only if
 * all values of the column are written so. Else it is categorical if a value is not a number;
 * integer if every number is written without a point, as 3 and not 3.0; else continuous. Numbers
 * with a little text among them (less than 1 %, a single one among ten or more, or a minority
 * beside fractions) are refused as a likely mistake unless the column is told to be categorical.
 * Levels are numbered in sorted order;
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
/** Read it back. A schema from text is fixed: columns are taken from a table by their names, or by
 * their places where one of the two has none, and read as they were written in the first; a table
 * that lacks one is refused, and so is a level that the schema does not have. @return WM_OK;
 * WM_EFORMAT, WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_schema_parse(wm_schema **out, const char *text, wm_error *err);
WM_API void wm_text_free(char *text); /**< NULL is fine */

/* ---- reading ---- */

/** What is done with missing values. In arrays that is NaN; in text an empty field, NA, N/A, nan
 * (in any case, also with a sign), null, NULL, None and ?, with or without quotes. */
typedef enum wm_missing {
    WM_MISSING_REFUSE, /**< an error that names the first one */
    WM_MISSING_DROP,   /**< rows with a missing value are left out */
    WM_MISSING_MEAN,   /**< the column's mean (rounded if integer), or its most frequent level;
                            of tables that are read together, that of all */
    WM_MISSING_KEEP,   /**< they stay, as NaN, for wm_data_drop_pairs(); whole tables only */
} wm_missing;

/** How dates are read whose values do not tell: 01/02/2024. */
typedef enum wm_dates {
    WM_DATES_FOUND, /**< by values above 12; else month first, with a warning */
    WM_DATES_DMY,   /**< day, month, year */
    WM_DATES_MDY,   /**< month, day, year */
    WM_DATES_TEXT,  /**< dates are texts like others */
} wm_dates;

/** How a file is to be read; start from wm_read_opts_init(). Texts are read during the call only.
 */
typedef struct wm_read_opts {
    size_t struct_size; /**< set by wm_read_opts_init() */
    const char *format; /**< "npy", "npz", "csv", "tsv", "idx", "safetensors"; NULL: by content */
    const char *array;  /**< npz, safetensors: which; NULL: the only one. PATH:NAME says the same */
    int header;         /**< CSV: 1 the first line has names, 0 not, -1 (default) look */
    wm_missing missing; /**< default refuse */
    /** Lists of columns: names, numbers from 1, ranges of numbers (2-5) and names with * and ? in
     * them, separated by commas; "all" is every one.
     * The columns to be read, in this order; NULL: all. They are all needed then. */
    const char *columns;
    const char *drop; /**< the columns to be left out; NULL: none */
    /** Streaming a text table: columns that wm_reader_kept() gives as they stand; NULL: none. */
    const char *keep;
    char decimal;   /**< text: '.' or ','; 0 (default): found, for each column */
    wm_dates dates; /**< default found */
    const char *continuous, *integer, *categorical; /**< columns whose kind is given rather than
                                                       looked for. NULL: none. Numbers told to be
                                                       categorical are levels in ascending order, at
                                                       most 1000; what is told to be integer must be
                                                       whole */
    /** Streaming: a level that the schema does not have becomes -1, which a model takes for an
     * average one, and is counted (wm_reader_unseen()); false (default): it is refused. */
    bool unseen;
    const wm_sink *sink; /**< words (rows dropped, kinds found) and progress, or NULL */
    /** Whole tables: rows that are kept at most. Of a longer one a random sample is, the same in
     * every run, and wm_data_total() says how many there were. 0 (default): all; WM_AUTO: 100,000,
     * or 40 MB of numbers if that is more. */
    int64_t max_rows;
    const volatile sig_atomic_t *stop; /**< not 0, set by a signal handler: reading and waiting for
                                          a pipe end with WM_EINTERRUPTED; or NULL */
} wm_read_opts;

/** Fill in the defaults. Threads: safe. */
WM_API void wm_read_opts_init(wm_read_opts *opts);

/** Read a whole table.
 * @param[out] out  freed with wm_data_free(); NULL on failure
 * @param path      file; "-" is standard input; "FILE:NAME" names an array in an npz or
 * safetensors; with *, ? or [...] all files of such names, one after the other as one table
 * @param schema    learns the columns from the first table and holds later ones to them: by their
 *                  names, in any order and among others, where both tables have them, else by
 *                  number and place; levels are added, and a column that is integer in one and
 *                  continuous in another becomes continuous. Not NULL
 * @param opts      or NULL for defaults
 * @return WM_OK; WM_EIO, WM_EFORMAT, WM_EINVAL (missing or infinite values, another kind than
 *         before, a number that no double holds), WM_ESHAPE (another width, no rows),
 *         WM_EUNSUPPORTED, WM_ENOMEM. Messages name file, line or row, column and value. After a
 *         failure the schema may have learned a part and should be freed.
 * Infinite values are always refused. Left out of a first text table, with a word, unless
 * opts->columns asks for them: columns without any value, and a first column that has no name where
 * the others have and holds whole numbers, or texts that are all different (the index of pandas,
 * the row names of R). Columns that look like identifiers are warned of. Threads: safe for distinct
 * schemas. */
WM_API WM_MUST_CHECK wm_status wm_data_read(wm_data **out, const char *path, wm_schema *schema,
                                            const wm_read_opts *opts, wm_error *err);

/** Read tables that have columns in common, such as two samples: as wm_data_read() of one after the
 * other, but a column that one of them lacks, or has no value of, is left out of all, with a word,
 * unless opts->columns asks for it.
 * @param[out] out  (n) tables, freed with wm_data_free(); all NULL on failure
 * @return as wm_data_read(); WM_EINVAL also where no column is common */
WM_API WM_MUST_CHECK wm_status wm_data_read_tables(wm_data **out, const char *const *paths, int n,
                                                   wm_schema *schema, const wm_read_opts *opts,
                                                   wm_error *err);

/** Of two tables whose rows are pairs: leaves out of both the rows in which either has a missing
 * value. Dropping rows from each by itself would pair the rest wrongly.
 * @param[out] dropped  how many, or NULL
 * @return WM_OK; WM_ESHAPE (other numbers of rows), WM_EINVAL (none is left) */
WM_API WM_MUST_CHECK wm_status wm_data_drop_pairs(wm_data *a, wm_data *b, int64_t *dropped,
                                                  wm_error *err);

/* ---- streaming: tables of any size in constant memory ---- */

/** A file that is being read. */
typedef struct wm_reader wm_reader;

/** Open a file to be read in order, a block of rows at a time.
 * @param schema  fixed (wm_schema_parse()) or filled by an earlier table: kinds and levels are not
 *                looked for here. Kept, must outlive the reader. NULL: every column must be numbers
 * Missing values: refused, or dropped with WM_MISSING_DROP; a mean is not known here: WM_EINVAL. */
WM_API WM_MUST_CHECK wm_status wm_reader_open(wm_reader **out, const char *path,
                                              const wm_schema *schema, const wm_read_opts *opts,
                                              wm_error *err);
WM_API void wm_reader_close(wm_reader *r);          /**< NULL is fine */
WM_API int64_t wm_reader_dim(const wm_reader *r);   /**< columns */
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

/** Values so far that are levels unknown to the schema. */
WM_API int64_t wm_reader_unseen(const wm_reader *r);

/** What opts->keep names, of a row that the latest wm_reader_next() gave: a line of CSV without its
 * end, borrowed until the next call. @param row  its number in the file, from 0; -1: the names
 * @return NULL where nothing is kept */
WM_API const char *wm_reader_kept(const wm_reader *r, int64_t row);

#ifdef __cplusplus
}
#endif
#endif
