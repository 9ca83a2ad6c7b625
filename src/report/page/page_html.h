/* page_html.h - what the parts of the report page share: the page itself, and HTML written so that
 * nothing that comes from a file can be taken for markup. */
#ifndef WMI_REPORT_PAGE_HTML_H
#define WMI_REPORT_PAGE_HTML_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/fail.h"
#include "report/figure/figure.h"
#include "report/json.h"
#include "waymark/sink.h"

#define WMI_PAGE_SECTIONS 12
#define WMI_PAGE_PICTURE (8 << 20) /* bytes of a file of a figure that the page takes in */

/* A page in the making: the sections go to `out`, and their names to the list that the navigation
 * is made of. */
typedef struct wmi_page {
    FILE *out;
    const char *folder;
    const wm_sink *sink;
    wmi_arena arena;
    json_t *summary, *config; /* objects; NULL where the file is not there */
    int64_t figures, problems;
    int n_sections;
    struct {
        const char *id, *title;
    } section[WMI_PAGE_SECTIONS];
} wmi_page;

/* Text with & < > " ' escaped; bytes that are not UTF-8, control characters and those that turn the
 * direction of writing are U+FFFD. */
void wmi_html_bytes(const char *text, size_t n, FILE *out);
void wmi_html_text(const char *text, FILE *out);
/* Four significant digits, or a dash for what is not finite. */
void wmi_html_real(double x, FILE *out);
/* The same number of decimals all down a column: those that give its largest number four digits. */
int wmi_html_decimals(double largest);
void wmi_html_fixed(double x, int decimals, FILE *out);
/* A count with thin groups: 10,000. */
void wmi_html_count(int64_t n, FILE *out);
/* A key as words: "mean_log_ratio" is "mean log-ratio". */
void wmi_html_words(const char *key, FILE *out);
/* Any value: numbers short, lists of numbers in a line, objects as a list of names and values. */
void wmi_html_value(const json_t *v, FILE *out);
/* A list of objects as a table whose columns are the union of their keys, with a caption (plain
 * text), inside a region that scrolls by itself. */
void wmi_html_rows(const json_t *rows, const char *caption, FILE *out);
/* The region that a wide table scrolls in; closed with </div>. */
void wmi_html_region(const char *label, FILE *out);
/* The same for a wide drawing or picture, which a phone scrolls instead of shrinking it. */
void wmi_html_sheet(const char *label, FILE *out);
/* Starts a figure with its title and a caption, which may be ""; closed with </figure>. */
void wmi_html_figure(const char *title, const char *caption, FILE *out);
/* In place of the table of a figure. */
void wmi_html_no_numbers(FILE *out);

/* Starts a section with an h2 and a row in the navigation; closed with </section>. */
void wmi_page_section(wmi_page *p, const char *id, const char *title);
/* Something in the folder that cannot be shown: said in the page and to the sink. */
void wmi_page_problem(wmi_page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The parts, in their order. Those that have nothing to show print nothing. */
void wmi_page_answer(wmi_page *p); /* page_answer.c: verdict, estimates */
WM_MUST_CHECK wm_status wmi_page_columns(wmi_page *p, wm_error *err); /* page_columns.c */
void wmi_page_reasons(wmi_page *p);  /* page_answer.c: checks, bridges */
void wmi_page_results(wmi_page *p);  /* page_rest.c: rows of an experiment */
void wmi_page_others(wmi_page *p);   /* every key that no other part knows */
void wmi_page_settings(wmi_page *p); /* the command line, provenance */
WM_MUST_CHECK wm_status wmi_page_pictures(wmi_page *p, wm_error *err); /* page_picture.c */
WM_MUST_CHECK wm_status wmi_page_figures(wmi_page *p, wm_error *err);  /* page_figure.c */
WM_MUST_CHECK wm_status wmi_page_training(wmi_page *p, wm_error *err); /* page_curve.c */

/* Whether the summary lists pictures, columns, as wmi_page_pictures() and wmi_page_columns() show
 * them. */
bool wmi_page_has_pictures(const wmi_page *p);
bool wmi_page_has_columns(const wmi_page *p);

/* What a failure with one file (st, why) means to the page: lack of memory is returned and ends it;
 * any other failure is told in the page, where `tell` is set, and WM_OK returned (page_part.c). */
WM_MUST_CHECK wm_status wmi_page_judge(wmi_page *p, wm_status st, const wm_error *why, bool tell,
                                       wm_error *err);
/* Reads folder/NAMEext for the page (page_part.c) into *out, for wmi_free(). A file that cannot be
 * read leaves NULL and WM_OK, and the page says why where `tell` is set. */
WM_MUST_CHECK wm_status wmi_page_read(wmi_page *p, char **out, size_t *n, const char *folder,
                                      const char *name, const char *ext, int64_t max, bool tell,
                                      wm_error *err);
/* The same for NAME.png. Messages call it `shown` + NAME.png. */
WM_MUST_CHECK wm_status wmi_page_read_png(wmi_page *p, char **out, size_t *n, const char *folder,
                                          const char *name, const char *shown, wm_error *err);
/* The numbers of a figure, which `file` has all of, as tables; those of folder/NAME.csv, called
 * shown
 * + NAME.csv in messages, as one table. Folded away if something is drawn above. */
WM_MUST_CHECK wm_status wmi_page_figure_numbers(wmi_page *p, const wm_figure *f, const char *file,
                                                bool drawn, wm_error *err);
WM_MUST_CHECK wm_status wmi_page_csv(wmi_page *p, const char *folder, const char *name,
                                     const char *shown, const char *title, bool drawn,
                                     wm_error *err);
/* A PNG (n bytes) as the address of an image. */
void wmi_html_png(const void *bytes, size_t n, FILE *out);

/* Keys of a summary that are estimates, shown large with what stands beside them under KEY_se,
 * KEY_ci95 and KEY_bpd (page_answer.c); ends with NULL. */
extern const char *const wmi_page_estimates[];

/* The style sheet, without <style> (page_style.c). */
extern const char *const wmi_page_style[]; /* pieces, ends with NULL */

#endif
