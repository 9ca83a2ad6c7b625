/* tune.h - choosing convolution algorithms by measuring, instead of by the fixed rule.
 *
 * The fixed rule keeps the bits of a seed on any run of the same machine; a measurement may fall
 * out differently tomorrow. So choices are kept in a table that a run writes down and a repetition
 * reads back: what is in the table is taken, what is not is measured and added. */
#ifndef WMI_ENGINE_TUNE_H
#define WMI_ENGINE_TUNE_H

#include <stdio.h>

#include "engine/conv.h"

typedef struct wmi_tuning wmi_tuning;

WM_MUST_CHECK wm_status wmi_tuning_new(wmi_tuning **out, wm_error *err);
void wmi_tuning_free(wmi_tuning *t);
int64_t wmi_tuning_count(const wmi_tuning *t);

/* A line for each choice: "n h w ci co kh kw stride passes algorithm". */
void wmi_tuning_print(const wmi_tuning *t, FILE *f);
/* Adds the choices of such a text; WM_EFORMAT names the line. */
WM_MUST_CHECK wm_status wmi_tuning_read(wmi_tuning *t, const char *text, wm_error *err);

/* Sets the algorithm of a prepared convolution from the table, or measures it; other ops are left
 * alone. */
WM_MUST_CHECK wm_status wmi_tune_node(wmi_tuning *t, wmi_node *nd, wm_error *err);

#endif
