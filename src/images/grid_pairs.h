/* grid_pairs.h - pairs of grids, for files and for models of pairs. */
#ifndef WMI_IMAGES_GRID_PAIRS_H
#define WMI_IMAGES_GRID_PAIRS_H

#include "waymark/images.h"

/* The cell of every pixel, (height x width), for mixing whole cells: wm_chain's blocks. */
void wmi_grid_pairs_blocks(const wm_grid_pairs *p, int64_t *block);
/* As wm_grid_pairs_draw(), the bytes of the drawings. */
WM_MUST_CHECK wm_status wmi_grid_pairs_bytes(const wm_grid_pairs *p, wm_split split, int64_t first,
                                             int64_t n, uint8_t *u, uint8_t *v, uint8_t *labels,
                                             wm_error *err);

#endif
