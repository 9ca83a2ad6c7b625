/* draws.h - draws that base/rng.h has not: gamma variables, and random rotations. */
#ifndef WMI_PROBLEMS_DRAWS_H
#define WMI_PROBLEMS_DRAWS_H

#include <stdint.h>

#include "base/rng.h"

/* Element `index` of a sequence of Gamma(shape, 1) variables, shape > 0. */
double wmi_draw_gamma(const wmi_rng *rng, uint64_t index, double shape);
/* What a normal variable, or a vector of them, is divided by to become Student's with dof degrees:
 * sqrt(chi^2 / dof), element `index`. */
double wmi_draw_student_divisor(const wmi_rng *rng, uint64_t index, double dof);

/* A rotation of R^d as a product of min(d, 256) reflections I - 2 w w' with random w: dense
 * up to that, and 4 d multiplications a row for each. Does nothing for d = 1. */
int64_t wmi_rotation_size(int64_t d); /* doubles that it takes */
void wmi_rotation_make(const wmi_rng *rng, int64_t d, double *w);
void wmi_rotation_apply(const double *w, int64_t d, double *x); /* x (d), in place */
void wmi_rotation_undo(const double *w, int64_t d, double *x);

#endif
