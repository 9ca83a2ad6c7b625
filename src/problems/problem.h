/* problem.h - what a problem with known truth is: a row of the table in problem.c. */
#ifndef WMI_PROBLEMS_PROBLEM_H
#define WMI_PROBLEMS_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/rng.h"
#include "waymark/generators.h"

#define WMI_PROBLEM_PARAMS 8 /* at most */

typedef struct wmi_problem_type {
    wm_problem_info info;
    /* From value and given, which are within their ranges: fills dim, truth, own and the values
     * that follow from others. rng is the problem's own; sub-streams of it are for its shape. */
    wm_status (*start)(wm_problem *p, const wmi_rng *rng, wm_error *err);
    /* Rows first to first + n - 1 of both tables. For RATIO one of a (n, dim[0]) and b (n, dim[1])
     * may be NULL. Allocates nothing, and a row depends on rng and its number alone. */
    void (*draw)(const wm_problem *p, const wmi_rng *rng, int64_t first, int64_t n, double *a,
                 double *b);
    /* At one row, which is overwritten; for RATIO b is NULL. */
    double (*log_ratio)(const wm_problem *p, double *a, double *b);
} wmi_problem_type;

struct wm_problem {
    const wmi_problem_type *type;
    double value[WMI_PROBLEM_PARAMS]; /* NaN: not given, and start has yet to find it */
    bool given[WMI_PROBLEM_PARAMS];
    int64_t dim[2];
    wm_problem_truth truth; /* NaN before start */
    void *own;              /* one block of the problem's own, freed by wmi_free() */
};

/* A parameter by name; NULL if this problem has none of the name. */
double *wmi_problem_param(wm_problem *p, const char *name);
/* Its value, or `otherwise` if the problem has no such parameter. */
double wmi_problem_get(const wm_problem *p, const char *name, double otherwise);
bool wmi_problem_given(const wm_problem *p, const char *name);

/* The families; tables that end with a NULL name. */
extern const wmi_problem_type wmi_problems_columns[]; /* columns alike and independent: ratios */
extern const wmi_problem_type wmi_problems_normals[]; /* Gaussians in general: ratios */
extern const wmi_problem_type wmi_problems_pairs[];   /* correlated pairs and maps of them: MI */
extern const wmi_problem_type wmi_problems_levels[];  /* levels and intervals: MI */

#endif
