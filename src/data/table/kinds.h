/* kinds.h - what the columns of an array are, found in its values (the rule is told at wm_kind),
 * and the levels of those that are categorical. Text formats do this themselves. */
#ifndef WMI_DATA_KINDS_H
#define WMI_DATA_KINDS_H

#include "data/formats/reader.h"

/* Settles the kinds of a table's columns in a schema that wmi_schema_begin() has seen, and puts
 * level numbers into the categorical ones. Missing values are NaN, and stay.
 * forced: (dim) from wmi_schema_forced(); first: the schema knew no table before this one.
 * WM_EINVAL: too many levels, one that a fixed schema lacks, another kind than before. */
WM_MUST_CHECK wm_status wmi_kinds_settle(wm_schema *s, const char *label, wm_data *d,
                                         const wmi_cursor *c, const int *forced, bool first,
                                         wm_error *err);

/* Fills missing values of n tables of the same columns: by the mean of all of them, rounded in
 * integer columns, or their most frequent level, the first of those in a tie. filled (n) counts
 * them. WM_EINVAL: a column without a value in any. */
WM_MUST_CHECK wm_status wmi_kinds_fill(const wm_schema *s, const char *label,
                                       wm_data *const *tables, int n, int64_t *filled,
                                       wm_error *err);

/* "3 continuous, 2 integer columns"; false if all are continuous. */
bool wmi_kinds_text(const wm_schema *s, char *buf, size_t size);

/* The levels of the categorical columns whose texts are numbers, for arrays that are streamed. */
typedef struct wmi_level_map wmi_level_map;
WM_MUST_CHECK wm_status wmi_level_map_new(wmi_level_map **out, const wm_schema *s, wm_error *err);
void wmi_level_map_free(wmi_level_map *m); /* NULL is fine */
/* The level of x in a column; x itself where it is NaN or the column is not categorical; -1 if the
 * schema does not have it. */
double wmi_level_map_find(const wmi_level_map *m, int64_t column, double x);

/* The value of a row and column that is no level. */
WM_MUST_CHECK wm_status wmi_refuse_level(const wm_schema *s, const char *label, const char *where,
                                         int64_t column, double x, wm_error *err);

bool wmi_is_whole(double x); /* a whole number within +-2^53 */

#endif
