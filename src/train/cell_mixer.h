/* cell_mixer.h - the waymarks of a step by reference: which cell, of which end of which trajectory,
 * stands in each cell of each row. A network of cells (nn/cell_net.h) then computes the codes of
 * both ends once.
 *
 * Cells being cheap to exchange, a row of the numerator may meet several rows of the denominator:
 * each has the numerator's cells but for those whose turn it is at the bridge, which are of
 * another trajectory each time. */
#ifndef WMI_TRAIN_CELL_MIXER_H
#define WMI_TRAIN_CELL_MIXER_H

#include "base/fail.h"
#include "waymark/waymarks.h"

typedef struct wmi_cell_mixer wmi_cell_mixer;

/* negatives: rows of the denominator for each of the numerator, at most `rows`. */
WM_MUST_CHECK wm_status wmi_cell_mixer_new(wmi_cell_mixer **out, int64_t bridges, int64_t cells,
                                           int64_t rows, int64_t negatives, wm_error *err);
void wmi_cell_mixer_free(wmi_cell_mixer *x);
/* From now on cells take their turns in an order of its own for each trajectory, a function of
 * (seed, step). */
WM_MUST_CHECK wm_status wmi_cell_mixer_random_order(wmi_cell_mixer *x, uint64_t seed,
                                                    wm_error *err);
/* mix (m, 1 + negatives, rows, cells): for bridge k the rows of waymark k, then those of waymark
 * k + 1, as numbers of the cells of the ends (2, rows, cells). */
void wmi_cell_mixer_fill(wmi_cell_mixer *x, int64_t step, float *mix);

#endif
