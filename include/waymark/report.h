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
WM_API void wm_summary_bool(wm_summary *s, const char *key, bool value);
WM_API void wm_summary_null(wm_summary *s, const char *key);
/** Arrays of @p n values. */
WM_API void wm_summary_reals(wm_summary *s, const char *key, const double *x, int64_t n);
WM_API void wm_summary_integers(wm_summary *s, const char *key, const int64_t *x, int64_t n);
WM_API void wm_summary_texts(wm_summary *s, const char *key, const char *const *x, int64_t n);

/** A new object at the end of the list @p key, which the first call makes; an object at @p key.
 * Both are borrowed from @p s and die with it. NULL after a failure, which the setters accept. */
WM_API wm_summary *wm_summary_row(wm_summary *s, const char *key);
WM_API wm_summary *wm_summary_object(wm_summary *s, const char *key);
/** The empty list at @p key, for a table that may get no row. */
WM_API void wm_summary_list(wm_summary *s, const char *key);

/** The object as JSON and a newline. Doubles are printed with as many digits as bring back the
 * same bits. @return WM_OK, or the first failure of the building, or WM_EIO */
WM_API WM_MUST_CHECK wm_status wm_summary_print(const wm_summary *s, FILE *f, wm_error *err);
/** The same into a file, written whole or not at all. */
WM_API WM_MUST_CHECK wm_status wm_summary_write(const wm_summary *s, const char *path,
                                                wm_error *err);

/* --- tables ------------------------------------------------------------------------------------*/

/** A text table for a terminal. */
typedef struct wm_table wm_table;

typedef enum wm_align { WM_ALIGN_LEFT, WM_ALIGN_RIGHT, WM_ALIGN_CENTRE } wm_align;

/** What a cell means; shown in colour, and only on a terminal (NO_COLOR is honoured). */
typedef enum wm_tone { WM_TONE_PLAIN, WM_TONE_GOOD, WM_TONE_WARN, WM_TONE_BAD } wm_tone;

/** @param title a line above the table, or NULL. @return WM_OK or WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_table_new(wm_table **out, const char *title, wm_error *err);
WM_API void wm_table_free(wm_table *t); /**< NULL is fine */

/** Add a column; all columns come before the first cell. */
WM_API void wm_table_column(wm_table *t, const char *header, wm_align align);

/** Add the next cell; rows are filled from left to right. An unfinished last row is padded. */
WM_API void wm_table_text(wm_table *t, const char *text); /**< NULL: an empty cell */
WM_API void wm_table_integer(wm_table *t, int64_t value);
/** @param digits after the point, 0 to 17. Not finite: "-". Where so many digits would show only
 * zeros, or the number has more than 9 before the point, it is printed as 1.2e-07. */
WM_API void wm_table_real(wm_table *t, double value, int digits);
/** The value with its standard error: "19.93 ± 0.04". */
WM_API void wm_table_real_se(wm_table *t, double value, double se, int digits);
/** Tone of the cell added last. */
WM_API void wm_table_tone(wm_table *t, wm_tone tone);
/** A line between the rows before and after. */
WM_API void wm_table_rule(wm_table *t);

/** @return WM_OK, or the first failure of the building, or WM_EIO */
WM_API WM_MUST_CHECK wm_status wm_table_print(const wm_table *t, FILE *f, wm_error *err);

/* --- figures -----------------------------------------------------------------------------------*/

/** A figure of one or more panels. It is written as NAME.csv (the numbers) and NAME.gp (a gnuplot
 * script that reads them, to be changed at will), and drawn as NAME.svg and NAME.png where gnuplot
 * is installed. */
typedef struct wm_figure wm_figure;
typedef struct wm_panel wm_panel;

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
    const char *name; /**< in the legend and the CSV; an empty one stays out of the legend */
    wm_mark mark;
    wm_colour colour;
    bool dashed;
    double width; /**< of the line, in units of the default; 0 is 1 */
    int64_t n;
    const double *x, *y;   /**< (n), (n); points that are not finite are left out */
    const double *lo, *hi; /**< (n), (n), for ERROR_BARS and BAND, LEVEL_BARS may; else NULL */
} wm_series;

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

/** @param name  of the files: letters, digits, '-' and '_'
 * @param title above the whole figure, or NULL
 * @return WM_OK, WM_EINVAL (a name that is no file name), WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_figure_new(wm_figure **out, const char *name, const char *title,
                                             wm_error *err);
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
WM_API void wm_panel_legend(wm_panel *p, wm_legend place);
WM_API void wm_panel_series(wm_panel *p, const wm_series *series);

/** Colours of a grid, the same to colour-blind eyes. */
typedef enum wm_scale {
    WM_SCALE_SEQUENTIAL, /**< dark to light */
    WM_SCALE_DIVERGING,  /**< blue below `middle`, white at it, red above */
} wm_scale;

/** Values on a regular grid, drawn as coloured cells with a colour bar: a heat map, or a map of a
 * function of two variables. Start from {0}. Arrays are read during the call only. */
typedef struct wm_grid {
    const char *name;                  /**< of the values: beside the colour bar, and in the CSV */
    int64_t nx, ny;                    /**< at least 1 each */
    double x_from, x_to, y_from, y_to; /**< middles of the first and last cells */
    const double *z;                   /**< (ny, nx), the first row at y_from; not finite: empty */
    wm_scale scale;
    double middle; /**< of DIVERGING: its colours reach as far below it as above */
    double lo, hi; /**< ends of the colours, which values beyond them share; both 0: the data's */
    bool labels;   /**< the value in every cell, where the cells are large enough for it */
    int digits;    /**< of these labels after the point */
    const double *contours; /**< (n_contours) lines at these values, if no cell is empty; or NULL */
    int64_t n_contours;
} wm_grid;

/** The grid of a panel, under its series; a second one replaces the first. A row above the others:
 * wm_panel_y_range(p, ny - 0.5, -0.5) for cells at y = 0 ... ny - 1. */
WM_API void wm_panel_grid(wm_panel *p, const wm_grid *grid);

/** Write NAME.csv and NAME.gp into @p folder, which is made if need be, and draw them.
 * @param sink  gets a warning if gnuplot is not there; both files are kept. Or NULL
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
    int64_t n_values;
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
 * and what else the command makes. Calls with a NULL folder do nothing and succeed, so that a
 * command without -o needs no second way. One process at a time: the folder is locked. */
typedef struct wm_run_folder wm_run_folder;

typedef enum wm_run_mode {
    WM_RUN_NEW,       /**< refuse a folder that holds a run, unless that ended before it began */
    WM_RUN_RESUME,    /**< go on with the run of the same command, or start one if there is none */
    WM_RUN_OVERWRITE, /**< replace the run that is there (see wm_run_folder_open) */
} wm_run_mode;

/** Open or make a run folder.
 * @param[out] out  closed with wm_run_folder_close(); NULL on failure
 * @param dir       made with the folders above it
 * @param command   the command that runs, as config.json will say
 * @param mode      OVERWRITE puts aside config.json, summary.json, metrics.jsonl, report.html,
 *                  model.safetensors, state.safetensors, where there was a run all other
 *                  safetensors files too, and the pictures, numbers and scripts in figures/,
 *                  nothing else; when the folder is closed they are removed, or come back where
 *                  the new run has made no such file
 * @return WM_OK; WM_EINVAL (the folder holds a run, that of another command, or one of the
 *         files above without a run), WM_EIO (also:
 *         another process has it open), WM_EFORMAT (its config.json is broken), WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_run_folder_open(wm_run_folder **out, const char *dir,
                                                  const char *command, wm_run_mode mode,
                                                  wm_error *err);
WM_API void wm_run_folder_close(wm_run_folder *r); /**< NULL is fine */
/** Close the folder of a run that failed. One that had only said its settings leaves nothing: its
 * files go, and the folder if that was all in it; what others have made stays. NULL is fine. */
WM_API void wm_run_folder_discard(wm_run_folder *r);

/** Whether RESUME found a run. */
WM_API bool wm_run_folder_resumed(const wm_run_folder *r);
/** Path of @p name ("model.safetensors", "figures") in the folder, borrowed until it is closed;
 * *out is NULL if @p r is. @return WM_OK or WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_run_folder_path(const char **out, wm_run_folder *r,
                                                  const char *name, wm_error *err);

/** Write config.json: "command" and the version, then what @p settings holds. */
WM_API WM_MUST_CHECK wm_status wm_run_folder_config(wm_run_folder *r, const wm_summary *settings,
                                                    wm_error *err);
/** Append @p line to metrics.jsonl as one line; it is handed to the system before this returns.
 * Lines that a resumed run must drop carry an integer "step". */
WM_API WM_MUST_CHECK wm_status wm_run_folder_metrics(wm_run_folder *r, const wm_summary *line,
                                                     wm_error *err);
/** After a resume from a checkpoint at @p step: drop the lines of later steps, and a last line that
 * was cut short. Lines without a step stay.
 * @param stage  where a run counts its steps anew in every stage: the "stage" of the lines meant;
 *               else NULL */
WM_API WM_MUST_CHECK wm_status wm_run_folder_rewind(wm_run_folder *r, const char *stage,
                                                    int64_t step, wm_error *err);
/** Write summary.json. Figures come after it: a run must not lose its result to gnuplot. */
WM_API WM_MUST_CHECK wm_status wm_run_folder_summary(wm_run_folder *r, const wm_summary *s,
                                                     wm_error *err);
/** wm_figure_write() into figures/. */
WM_API WM_MUST_CHECK wm_status wm_run_folder_figure(wm_run_folder *r, const wm_figure *f,
                                                    const wm_sink *sink, wm_error *err);

/* --- the page ----------------------------------------------------------------------------------*/

/** What wm_report_write() made. */
typedef struct wm_report_info {
    int64_t bytes;
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
 * advice), bridges, rows, mi, kl_pq and kl_qp with _se and _ci95, units, truth, and pictures (with
 * file, a PNG in the folder itself, title and caption; the CSV of the same name is its table). A
 * run that has not ended has a page without an answer.
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
