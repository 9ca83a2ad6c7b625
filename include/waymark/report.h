/** @file report.h
 * What a run leaves behind: a summary in JSON, tables for a terminal, figures, and the run folder
 * that holds them.
 *
 * Summaries, tables and figures are built by many small calls that return nothing. The first that
 * fails (out of memory, or misuse) is kept, and the call that prints or writes the object reports
 * it. A NULL object is ignored by these calls, so that a child that could not be made needs no
 * test of its own. Texts are UTF-8; bytes that are not become U+FFFD. Names and numbers are copied.
 * None of these objects may be used by two threads at once; distinct ones may. */
#ifndef WAYMARK_REPORT_H
#define WAYMARK_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "waymark/fit.h"
#include "waymark/sink.h"
#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- summaries ---------------------------------------------------------------------------------*/

/** A JSON object whose keys keep the order in which they were first set. */
typedef struct wm_summary wm_summary;

/** An empty object, freed with wm_summary_free(). @return WM_OK or WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_summary_new(wm_summary **out, wm_error *err);
/** Frees an object made by wm_summary_new() with all its children; NULL is fine. */
WM_API void wm_summary_free(wm_summary *s);

/** Set a key; a key that exists is replaced in its place, and its children are no longer shown. */
WM_API void wm_summary_text(wm_summary *s, const char *key, const char *value); /**< NULL: null */
WM_API void wm_summary_integer(wm_summary *s, const char *key, int64_t value);
WM_API void wm_summary_real(wm_summary *s, const char *key, double value); /**< not finite: null */
WM_API void wm_summary_bool(wm_summary *s, const char *key, bool value);   /**< true or false */
WM_API void wm_summary_null(wm_summary *s, const char *key);               /**< null */
/** Arrays of @p n values. */
WM_API void wm_summary_reals(wm_summary *s, const char *key, const double *x, int64_t n);
WM_API void wm_summary_integers(wm_summary *s, const char *key, const int64_t *x, int64_t n);
WM_API void wm_summary_texts(wm_summary *s, const char *key, const char *const *x, int64_t n);

/** A struct of arguments where a pointer to one is wanted: WM_WITH(wm_heat_map, .nx = 3, .ny = 2).
 */
#define WM_WITH(TYPE, ...) (&(TYPE){__VA_ARGS__})

/** A key with its value, for WM_PUT(). */
typedef struct wm_field {
    const char *key; /**< NULL ends a list */
    enum {
        WM_FIELD_TEXT,
        WM_FIELD_INTEGER,
        WM_FIELD_REAL,
        WM_FIELD_BOOL
    } kind;           /**< which counts */
    const char *text; /**< or NULL: null */
    int64_t integer;  /**< or a truth value */
    double real;      /**< not finite: null */
} wm_field;
/** Set the keys of a list, as the setters above do. */
WM_API void wm_summary_put(wm_summary *s, const wm_field *fields);
/** Several keys at once: WM_PUT(s, WM_TEXT("name", "p"), WM_REAL("mean", m), WM_INTEGER("n", 3)).
 */
#define WM_PUT(s, ...) wm_summary_put((s), (const wm_field[]){__VA_ARGS__, {.key = NULL}})
/** A text, for WM_PUT(). */
#define WM_TEXT(KEY, X)                                                                            \
    {                                                                                              \
        .key = (KEY), .kind = WM_FIELD_TEXT, .text = (X)                                           \
    }
/** A whole number, for WM_PUT(). */
#define WM_INTEGER(KEY, X)                                                                         \
    {                                                                                              \
        .key = (KEY), .kind = WM_FIELD_INTEGER, .integer = (X)                                     \
    }
/** A real number, for WM_PUT(). */
#define WM_REAL(KEY, X)                                                                            \
    {                                                                                              \
        .key = (KEY), .kind = WM_FIELD_REAL, .real = (X)                                           \
    }
/** A truth value, for WM_PUT(). */
#define WM_BOOL(KEY, X)                                                                            \
    {                                                                                              \
        .key = (KEY), .kind = WM_FIELD_BOOL, .integer = (X)                                        \
    }

/** A new object at the end of the list @p key, which the first call makes; an object at @p key.
 * Both are borrowed from @p s and die with it. NULL after a failure, which the setters accept. */
WM_API wm_summary *wm_summary_row(wm_summary *s, const char *key);
WM_API wm_summary *wm_summary_object(wm_summary *s, const char *key);
/** The empty list at @p key, for a table that may get no row. */
WM_API void wm_summary_list(wm_summary *s, const char *key);

/** The object as JSON and a newline. Doubles are printed with as many digits as bring back the
 * same bits. @p f is not flushed. @return WM_OK, or the first failure of the building, or WM_EIO */
WM_API WM_MUST_CHECK wm_status wm_summary_print(const wm_summary *s, FILE *f, wm_error *err);
/** The same into a file, written whole or not at all. */
WM_API WM_MUST_CHECK wm_status wm_summary_write(const wm_summary *s, const char *path,
                                                wm_error *err);

/* --- tables ------------------------------------------------------------------------------------*/

/** A text table for a terminal. */
typedef struct wm_text_table wm_text_table;

/** Where a column has its cells. */
typedef enum wm_align { WM_ALIGN_LEFT, WM_ALIGN_RIGHT, WM_ALIGN_CENTRE } wm_align;

/** What a cell means; shown in colour, and only on a terminal (NO_COLOR is honoured). */
typedef enum wm_tone { WM_TONE_PLAIN, WM_TONE_GOOD, WM_TONE_WARN, WM_TONE_BAD } wm_tone;

/** @param title   a line above the table, or NULL
 * @param headers as wm_text_table_columns() takes them, or NULL
 * @return freed with wm_text_table_free(); NULL without memory, which the calls below accept and
 *         the one that prints reports */
WM_API wm_text_table *wm_text_table_new(const char *title, const char *headers);
WM_API void wm_text_table_free(wm_text_table *t); /**< NULL is fine */

/** Add a column; all columns come before the first cell. */
WM_API void wm_text_table_column(wm_text_table *t, const char *header, wm_align align);

/** Several at once, separated by '|'; aligned to the right, but for those that begin with '<':
 * "<method|nats|seconds". */
WM_API void wm_text_table_columns(wm_text_table *t, const char *headers);

/** What stands in a cell, for WM_ROW(). */
typedef struct wm_cell {
    enum {
        WM_AS_END,
        WM_AS_TEXT,
        WM_AS_INTEGER,
        WM_AS_REAL,
        WM_AS_SE,
        WM_AS_KNOWN
    } kind;           /**< how */
    const char *text; /**< NULL: an empty cell */
    int64_t integer;  /**< a whole number */
    double real, se;  /**< a number, and its standard error */
    int digits;       /**< after the point, 0 to 17 */
} wm_cell;
/** Add the next cells, up to one that is WM_AS_END. Rows are filled from left to right, by as many
 * calls as it takes; an unfinished last row is padded. */
WM_API void wm_text_table_cells(wm_text_table *t, const wm_cell *cells);
/** The same: WM_ROW(t, WM_CELL_TEXT("one ratio"), WM_CELL_INTEGER(1), WM_CELL_REAL(seconds, 1)). */
#define WM_ROW(t, ...) wm_text_table_cells((t), (const wm_cell[]){__VA_ARGS__, {.kind = WM_AS_END}})
/** A text, or NULL for an empty cell. */
#define WM_CELL_TEXT(X) ((wm_cell){.kind = WM_AS_TEXT, .text = (X)})
/** A whole number. */
#define WM_CELL_INTEGER(X) ((wm_cell){.kind = WM_AS_INTEGER, .integer = (X)})
/** A number; not finite: "-". Where so many digits would show only zeros, or the number has more
 * than 9 before the point, it is printed as 1.2e-07. */
#define WM_CELL_REAL(X, DIGITS) ((wm_cell){.kind = WM_AS_REAL, .real = (X), .digits = (DIGITS)})
/** The same, and empty for NaN: what is not known. */
#define WM_CELL_KNOWN(X, DIGITS) ((wm_cell){.kind = WM_AS_KNOWN, .real = (X), .digits = (DIGITS)})
/** The number with its standard error: "19.93 ± 0.04". */
#define WM_CELL_SE(X, SE, DIGITS)                                                                  \
    ((wm_cell){.kind = WM_AS_SE, .real = (X), .se = (SE), .digits = (DIGITS)})
/** Tone of the cell added last. */
WM_API void wm_text_table_tone(wm_text_table *t, wm_tone tone);
/** A line between the rows before and after. */
WM_API void wm_text_table_rule(wm_text_table *t);

/** @p f is not flushed. @return WM_OK, or the first failure of the building, or WM_EIO */
WM_API WM_MUST_CHECK wm_status wm_text_table_print(const wm_text_table *t, FILE *f, wm_error *err);
/** The same to the end: prints the table and frees it, also after a failure. */
WM_API WM_MUST_CHECK wm_status wm_text_table_finish(wm_text_table *t, FILE *f, wm_error *err);

/* --- figures -----------------------------------------------------------------------------------*/

/** A figure of one or more panels. It is written as NAME.csv (the numbers), NAME.gp (a gnuplot
 * script that reads them, to be changed at will) and NAME.json (all of the figure, for the report
 * page and for other programs), and drawn as NAME.svg and NAME.png where gnuplot is installed. */
typedef struct wm_figure wm_figure;
/** One pair of axes of a figure. */
typedef struct wm_panel wm_panel;

/** How a series is drawn. */
typedef enum wm_mark {
    WM_MARK_LINE,
    WM_MARK_POINTS,
    WM_MARK_LINE_POINTS,
    WM_MARK_ERROR_BARS,   /**< points joined by a line, with bars from lo to hi */
    WM_MARK_BAND,         /**< a line with the region from lo to hi shaded */
    WM_MARK_STEPS,        /**< a line of steps centred on x, for histograms */
    WM_MARK_BARS,         /**< filled bars from 0 to y */
    WM_MARK_FILLED_STEPS, /**< STEPS with a light filling: histograms that lie over each other */
    WM_MARK_AREA,         /**< a line with a light filling down to 0 */
    WM_MARK_LEVEL_BARS,   /**< level bars from 0 to x at height y, the first on top, with a whisker
                               from lo to hi (values of x) where these are given; for labels see
                               wm_panel_y_ticks() */
} wm_mark;

/** Colours that remain distinct to colour-blind eyes; AUTO takes the next one of the panel. */
typedef enum wm_colour {
    WM_COLOUR_AUTO,
    WM_COLOUR_BLUE,
    WM_COLOUR_VERMILION,
    WM_COLOUR_GREEN,
    WM_COLOUR_PURPLE,
    WM_COLOUR_ORANGE,
    WM_COLOUR_SKY,
    WM_COLOUR_BLACK,
    WM_COLOUR_GREY,
} wm_colour;

/** One series of a panel; start from {0}. Arrays are read during the call only. */
typedef struct wm_series {
    const char *name;      /**< in the legend and the CSV; an empty one stays out of the legend */
    wm_mark mark;          /**< default a line */
    wm_colour colour;      /**< default the next one of the panel */
    bool dashed;           /**< the line is */
    double width;          /**< of the line, in units of the default; 0 is 1 */
    int64_t n;             /**< points */
    const double *x, *y;   /**< (n), (n); points that are not finite are left out */
    const double *lo, *hi; /**< (n), (n), for ERROR_BARS and BAND, LEVEL_BARS may; else NULL */
} wm_series;

/** Where the names of the series stand. */
typedef enum wm_legend {
    WM_LEGEND_AUTO, /**< below the axes if the panel has two or more names */
    WM_LEGEND_NONE,
    WM_LEGEND_BELOW,
    WM_LEGEND_RIGHT,
    WM_LEGEND_TOP_LEFT, /**< this and the following: inside the axes */
    WM_LEGEND_TOP_RIGHT,
    WM_LEGEND_BOTTOM_LEFT,
    WM_LEGEND_BOTTOM_RIGHT,
} wm_legend;

enum {
    WM_LOG_X = 1, /**< flags of wm_panel_axes() */
    WM_LOG_Y = 2,
};

/** @param name  of the files: letters, digits, '-' and '_'; else writing says WM_EINVAL
 * @param title above the whole figure, or NULL
 * @return freed with wm_figure_free(); NULL without memory, which the calls below accept and the
 *         one that writes reports */
WM_API wm_figure *wm_figure_new(const char *name, const char *title);
WM_API void wm_figure_free(wm_figure *f); /**< NULL is fine */

/** Panels per row; default 3 at most, 2 if there are four panels. */
WM_API void wm_figure_columns(wm_figure *f, int columns);
/** Size of one panel in pixels; default 640 x 440 for one panel, 480 x 380 for several. */
WM_API void wm_figure_panel_size(wm_figure *f, int width, int height);

/** A further panel, borrowed from @p f; NULL after a failure, which the calls below accept. */
WM_API wm_panel *wm_figure_panel(wm_figure *f, const char *title);
/** Labels (NULL: none) and any of WM_LOG_X, WM_LOG_Y. */
WM_API void wm_panel_axes(wm_panel *p, const char *x_label, const char *y_label, unsigned flags);
/** Ends of an axis; NaN leaves an end to the data. */
WM_API void wm_panel_x_range(wm_panel *p, double lo, double hi);
WM_API void wm_panel_y_range(wm_panel *p, double lo, double hi);
/** Ticks at @p at (n) only, with these labels, or NULL for the numbers. */
WM_API void wm_panel_x_ticks(wm_panel *p, const double *at, const char *const *labels, int64_t n);
WM_API void wm_panel_y_ticks(wm_panel *p, const double *at, const char *const *labels, int64_t n);
/** A thin line across the panel at x (upright) or y (level): the truth, a limit. */
WM_API void wm_panel_x_line(wm_panel *p, double x, const char *label);
WM_API void wm_panel_y_line(wm_panel *p, double y, const char *label);
/** Default AUTO. */
WM_API void wm_panel_legend(wm_panel *p, wm_legend place);
/** A further series; copied. */
WM_API void wm_panel_series(wm_panel *p, const wm_series *series);
/** The same for y against x, both (n), with its name, after which other members may be set:
 * WM_PLOT(panel, n, x, y, "truth", .dashed = true). */
#define WM_PLOT(panel, count, xs, ys, ...)                                                         \
    wm_panel_series((panel), &(wm_series){.n = (count), .x = (xs), .y = (ys), .name = __VA_ARGS__})

/** Colours of a heat map, the same to colour-blind eyes. */
typedef enum wm_colour_scale {
    WM_COLOURS_SEQUENTIAL, /**< dark to light */
    WM_COLOURS_DIVERGING,  /**< blue below `middle`, white at it, red above */
} wm_colour_scale;

/** Values on a regular grid, drawn as coloured cells with a colour bar: a matrix, or a map of a
 * function of two variables. Start from {0}. Arrays are read during the call only. */
typedef struct wm_heat_map {
    const char *name;                  /**< of the values: beside the colour bar, and in the CSV */
    int64_t nx, ny;                    /**< at least 1 each */
    double x_from, x_to, y_from, y_to; /**< middles of the first and last cells */
    const double *z;                   /**< (ny, nx), the first row at y_from; not finite: empty */
    wm_colour_scale scale;             /**< default sequential */
    double middle; /**< of DIVERGING: its colours reach as far below it as above */
    double lo, hi; /**< ends of the colours, which values beyond them share; both 0: the data's */
    bool labels;   /**< the value in every cell, where the cells are large enough for it */
    int digits;    /**< of these labels after the point */
    const double *contours; /**< (n_contours) lines at these values, if no cell is empty; or NULL */
    int64_t n_contours;     /**< lines */
} wm_heat_map;

/** The heat map of a panel, under its series; a second one replaces the first. A row above the
 * others: wm_panel_y_range(p, ny - 0.5, -0.5) for cells at y = 0 ... ny - 1. */
WM_API void wm_panel_heat_map(wm_panel *p, const wm_heat_map *grid);

/** Write NAME.csv, NAME.json and NAME.gp into @p folder, which is made if need be, and draw them.
 * @param sink  gets a warning if gnuplot is not there; the files are kept. Or NULL
 * @return WM_OK also without gnuplot; the first failure of the building, WM_EINVAL (no panel),
 *         WM_EIO (also: gnuplot failed, with its first words), WM_ENOMEM
 * Cost: some tenths of a second for gnuplot. */
WM_API WM_MUST_CHECK wm_status wm_figure_write(const wm_figure *f, const char *folder,
                                               const wm_sink *sink, wm_error *err);

/* --- pictures ----------------------------------------------------------------------------------*/

/** Images of one size, to be shown side by side. Start from {0}. Read during the call only. */
typedef struct wm_image_grid {
    int64_t n, height, width; /**< at least 1 each */
    int64_t channels;         /**< 1: grey, 3: red, green, blue */
    const double *x;          /**< (n, height, width, channels) */
    double lo, hi;            /**< black and white; values beyond them too. lo > hi: a negative */
    int64_t columns;          /**< images a row; 0: as many as rows, or one more */
    int64_t scale;            /**< pixels of the picture a pixel of an image, along a side; 0: 1 */
    const double *values;     /**< (n, n_values): what is known of each image, or NULL */
    const char *const *value_names; /**< (n_values): letters, digits and '_' */
    int64_t n_values;               /**< numbers known of each image */
    bool sorted; /**< images stand in the order of their last value, the least or NaN first */
} wm_image_grid;

/** Write the images as one PNG, row by row from the top left, with a thin grey gap between them;
 * whole or not at all. With values these go, image by image, into a CSV beside it that is called
 * alike, whole or not at all: row and column in the picture, counted from 1, and the values.
 * @param path  with values: must end in .png
 * @return WM_OK; WM_EINVAL (sizes, NaN, a picture of more than 30000 pixels a side), WM_EIO,
 *         WM_ENOMEM. Threads: safe for distinct paths. */
WM_API WM_MUST_CHECK wm_status wm_image_grid_write(const wm_image_grid *g, const char *path,
                                                   wm_error *err);

/* --- the run folder ----------------------------------------------------------------------------*/

/** A folder that holds one run of one command: config.json, metrics.jsonl, summary.json, figures/
 * and what else the command makes; .manifest.json names them. Calls with a NULL folder do nothing
 * and succeed, so that a command without -o needs no second way. One process at a time: the folder
 * is locked. */
typedef struct wm_run_folder wm_run_folder;

/** What becomes of a run that is in the folder already. */
typedef enum wm_run_mode {
    WM_RUN_NEW,       /**< refuse a folder that holds a run, unless that ended before it began */
    WM_RUN_RESUME,    /**< go on with the run of the same command, or start one if there is none;
                         with one that was to replace another, if there is such a run */
    WM_RUN_OVERWRITE, /**< replace the run that is there (see wm_run_folder_open) */
} wm_run_mode;

/** Open or make a run folder.
 * @param[out] out  closed with wm_run_folder_close(); NULL on failure
 * @param dir       made with the folders above it
 * @param command   the command that runs, as config.json will say
 * @param mode      OVERWRITE leaves the old run as it is, and works in @p dir/.next until
 *                  wm_run_folder_finish(); then the files that the old run's .manifest.json names
 *                  (where there is none: config.json, summary.json, metrics.jsonl, report.html,
 *                  model.safetensors, state.safetensors) give way to those of the new run. Nothing
 *                  else is removed, and no link is followed
 * @return WM_OK; WM_EINVAL (the folder holds a run, that of another command, or one of the
 *         files above without a run), WM_EIO (also:
 *         another process has it open), WM_EFORMAT (its config.json is broken, or of another
 *         program), WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_run_folder_open(wm_run_folder **out, const char *dir,
                                                  const char *command, wm_run_mode mode,
                                                  wm_error *err);
/** The run is complete and, when this returns, on the disk; where it replaces another it takes that
 * one's place now. After a failure it waits in @p dir/.next, and the next that opens the folder
 * tries again. Paths that were asked for before may have moved to the folder itself.
 * @return WM_OK, WM_EIO or WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_run_folder_finish(wm_run_folder *r, wm_error *err);
/** Close the folder. A run that is to replace another and has not finished stays beside it, for
 * RESUME, unless it had only said its settings. NULL is fine. */
WM_API void wm_run_folder_close(wm_run_folder *r);
/** Close the folder of a run that failed. One that had only said its settings leaves nothing: its
 * files go, and the folder if that was all in it; what others have made stays. NULL is fine. */
WM_API void wm_run_folder_discard(wm_run_folder *r);

/** Whether RESUME found a run. */
WM_API bool wm_run_folder_resumed(const wm_run_folder *r);
/** Whether the run is to replace another, which stays until this one has finished. */
WM_API bool wm_run_folder_staged(const wm_run_folder *r);
/** For those who read a run without opening its folder: completes the replacement of a run by a
 * finished one, if that was cut short. @return WM_OK, WM_EIO or WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_run_folder_settle(const char *dir, wm_error *err);
/** Path of the config.json that RESUME would go on with, into @p path; "" where there is none.
 * @return WM_OK, WM_EINVAL (too long), or as wm_run_folder_settle() */
WM_API WM_MUST_CHECK wm_status wm_run_folder_settings(char *path, size_t size, const char *dir,
                                                      wm_error *err);
/** Path of @p name ("model.safetensors", "figures") in the folder, borrowed until it is closed;
 * *out is NULL if @p r is. @return WM_OK or WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_run_folder_path(const char **out, wm_run_folder *r,
                                                  const char *name, wm_error *err);

/** Write config.json: "command" and the version, then what @p settings holds. */
WM_API WM_MUST_CHECK wm_status wm_run_folder_config(wm_run_folder *r, const wm_summary *settings,
                                                    wm_error *err);
/** Append @p line to metrics.jsonl as one line; it is handed to the system before this returns.
 * What cannot be written is tried again with the next line and by wm_run_folder_finish(), which
 * fails if it cannot be written then. Lines that a resumed run must drop carry an integer "step".
 */
WM_API WM_MUST_CHECK wm_status wm_run_folder_metrics(wm_run_folder *r, const wm_summary *line,
                                                     wm_error *err);
/** From now on lines of metrics go to an event file too, which TensorBoard reads while the run goes
 * on: numbers as scalars STAGE/KEY, at the line's "step". It is the one file of a run that has the
 * time of day in it. NULL is fine. */
WM_API void wm_run_folder_tensorboard(wm_run_folder *r);
/** What a line says of the bridges. */
typedef enum wm_metrics_bridges {
    WM_METRICS_ROWS,   /**< "bridges": k, loss, accuracy and mean log-ratio of each */
    WM_METRICS_LOSSES, /**< "bridge": a list of losses */
    WM_METRICS_SUM,    /**< "ESTIMATE_own_waymarks": the sum of their mean log-ratios */
} wm_metrics_bridges;

/** Evaluations of a fit as lines of metrics.jsonl: wm_metrics_eval() is an on_eval, and this its
 * ctx. Plain data of the caller, in which all that is not named is 0; stages or model_text is
 * needed. */
typedef struct wm_metrics {
    wm_run_folder *folder;     /**< NULL: nothing is written */
    const char *const *stages; /**< (WM_STAGES) "stage" of the lines. The first line of each drops
                                  what a killed run had said of its step and later ones */
    const char *(*model_text)(unsigned model, char *buf,
                              size_t size); /**< instead, of a study: lines have "model", with the
                                               round (wm_ratio_model_text) */
    const char *estimate;                   /**< name of the estimate: "mi" */
    double per_nat; /**< its units, and those of mean log-ratios: 1, or 1 / log 2 for bits */
    bool seconds;   /**< lines have them */
    wm_metrics_bridges bridges; /**< what lines say of them */
    wm_status status;           /**< the writer's own: the first failure, */
    wm_error error;             /**< with its detail */
} wm_metrics;

/** Write a line. @param ctx a wm_metrics. @return 0: a failure is kept, and does not end the fit */
WM_API int wm_metrics_eval(void *ctx, const wm_evaluation *e);
/** The first failure, for after the fit. */
WM_API WM_MUST_CHECK wm_status wm_metrics_done(const wm_metrics *m, wm_error *err);

/** Write summary.json. Figures come after it: a run must not lose its result to gnuplot. */
WM_API WM_MUST_CHECK wm_status wm_run_folder_summary(wm_run_folder *r, const wm_summary *s,
                                                     wm_error *err);
/** wm_figure_write() into figures/, and wm_figure_free(), also after a failure or without a folder.
 */
WM_API WM_MUST_CHECK wm_status wm_run_folder_figure(wm_run_folder *r, wm_figure *f,
                                                    const wm_sink *sink, wm_error *err);

/* --- the page ----------------------------------------------------------------------------------*/

/** What wm_report_write() made. */
typedef struct wm_report_info {
    int64_t bytes;   /**< of the page */
    int64_t figures; /**< that were drawn; one without a picture is in the page as a table */
    int64_t
        problems; /**< files that could not be shown; the page names them, and the sink got them */
} wm_report_info;

/** Write one HTML page of a run folder, which needs no other file: verdict and estimates, checks,
 * bridges, figures with their numbers as tables, training curves, settings. It follows the reader's
 * light or dark theme, fits a phone, and prints.
 *
 * It is made of summary.json, config.json, metrics.jsonl and figures/, whatever command left them:
 * keys of the summary that it does not know are listed. Of its own accord it knows the keys
 * verdict, reason (a sentence for the verdict), checks (with name, value, limit, ok, meaning,
 * advice), bridges, rows, mi, kl_pq and kl_qp with _se and _ci95, units, truth, pictures (with
 * file, a PNG in the folder itself, title and caption; the CSV of the same name is its table), and
 * columns: a list with name, share (the part of the KL divergence that is lost without the column,
 * or null), kl (of the column alone, in `units`), note, p and q (shares), and either edges (of p's
 * and q's bins, one more than these) or levels. A run that has not ended has a page without an
 * answer.
 * @param[out] info  or NULL
 * @param folder     the run folder
 * @param path       of the page, written whole or not at all
 * @param sink       gets a warning for every figure or line that cannot be shown, or NULL
 * @return WM_OK; WM_EIO (no such folder, not readable or writable), WM_EINVAL (not a run folder),
 *         WM_EFORMAT (summary.json or config.json is broken, with line and column), WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_report_write(wm_report_info *info, const char *folder,
                                               const char *path, const wm_sink *sink,
                                               wm_error *err);

#ifdef __cplusplus
}
#endif
#endif
