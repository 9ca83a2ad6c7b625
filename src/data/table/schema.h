/* schema.h - what a format may do to a schema; the public part is in waymark/read.h. */
#ifndef WMI_DATA_SCHEMA_H
#define WMI_DATA_SCHEMA_H

#include "base/fail.h"
#include "data/table/written.h"
#include "waymark/read.h"

#define WMI_MAX_LEVELS 1000 /* of a column; more are identifiers or free text */

bool wmi_schema_fixed(const wm_schema *s); /* made from text */
void wmi_schema_fix(wm_schema *s);         /* it learns nothing any more */
/* Begin a table of this width: the first sets it, later ones must have it (WM_ESHAPE, with label
 * and both widths). names (dim) or NULL; where both have names they must be the same in the same
 * order (WM_EINVAL names the first that differs). */
WM_MUST_CHECK wm_status wmi_schema_begin(wm_schema *s, const char *label, int64_t dim,
                                         const char *const *names, wm_error *err);
/* The same for a schema that learns nothing: only what it already knows is held to. */
WM_MUST_CHECK wm_status wmi_schema_check(const wm_schema *s, const char *label, int64_t dim,
                                         const char *const *names, wm_error *err);
/* Columns may be some of a file's: from (dim), from 0, of `width`. Messages, lists and files
 * without names go by these numbers. */
void wmi_schema_place(wm_schema *s, const int64_t *from, int64_t width);
int64_t wmi_schema_number(const wm_schema *s, int64_t column); /* from 1, in the first file */
int64_t wmi_schema_width(const wm_schema *s);
/* How a column's values are written; setting it does nothing to a fixed schema. */
const wmi_written *wmi_schema_written(const wm_schema *s, int64_t column);
void wmi_schema_set_written(wm_schema *s, int64_t column, const wmi_written *w);
/* A column that a table has no values for: its numbers mean nothing until wmi_schema_drop_idle()
 * takes it out, together with those of all tables. */
bool wmi_schema_idle(const wm_schema *s, int64_t column);
void wmi_schema_set_idle(wm_schema *s, int64_t column);
void wmi_schema_drop_idle(wm_schema *s);
/* Number of a level by its text, added if it is new and the schema is not fixed; -1 if it is new
 * and the schema is fixed. WM_EINVAL for one too many, WM_EFORMAT for text that is not UTF-8,
 * WM_ENOMEM. */
WM_MUST_CHECK wm_status wmi_schema_level_number(wm_schema *s, int64_t column, const char *text,
                                                int64_t *number, wm_error *err);
/* The same without adding: -1 if it is not there. */
int64_t wmi_schema_level_find(const wm_schema *s, int64_t column, const char *text);
/* The same for n bytes without a NUL. */
int64_t wmi_schema_level_find_n(const wm_schema *s, int64_t column, const char *text, size_t n);
/* What a table's column was found, or told, to be. The first word stands; after that integer and
 * continuous meet in continuous, and categorical meets nothing else (WM_EINVAL). A fixed schema
 * does not change. */
WM_MUST_CHECK wm_status wmi_schema_set_kind(wm_schema *s, const char *label, int64_t column,
                                            wm_kind kind, wm_error *err);
/* Calls back for each column of a list (data/table/column_list.h). */
WM_MUST_CHECK wm_status wmi_schema_each(const wm_schema *s, const char *list,
                                        wm_status (*f)(void *ctx, int64_t column, wm_error *err),
                                        void *ctx, wm_error *err);
/* The kinds that three such lists (or NULL) give: kind (dim) is a wm_kind, or -1 where no list has
 * the column. WM_EINVAL for a column in two of them. */
WM_MUST_CHECK wm_status wmi_schema_forced(const wm_schema *s, const char *continuous,
                                          const char *integer, const char *categorical, int *kind,
                                          wm_error *err);

uint64_t wmi_text_hash(const char *text, size_t n);

/* "continuous", "integer", "categorical". */
const char *wmi_kind_name(wm_kind kind);
int wmi_kind_called(const char *name); /* -1: there is none */

#endif
