/* bend.h - columns with long tails, made more nearly normal by one monotone map for both tables. A
 * map that p and q share leaves log p/q as it is, while moments, splines and networks have an
 * easier time: prices, waiting times, shares, Student distributions. */
#ifndef WMI_COLUMNS_BEND_H
#define WMI_COLUMNS_BEND_H

#include <stdbool.h>
#include <stdint.h>

typedef enum wmi_bend_kind {
    WMI_BEND_NOT,
    WMI_BEND_LOG,   /* of the distance from an end */
    WMI_BEND_ROOT,  /* its cube root */
    WMI_BEND_LOGIT, /* of shares between 0 and 1 */
    WMI_BEND_ASINH, /* both tails */
} wmi_bend_kind;

/* z = (f(side (x - from) / unit) - mean) / sd, with side = -1 for columns that are long to the
 * left, where z has its sign changed too. */
typedef struct wmi_bend {
    wmi_bend_kind kind;
    double side, from, unit, mean, sd;
} wmi_bend;

/* The map under which a column of both tables, x[t] (n[t]) values `stride` apart, is likeliest as
 * a normal one in each: WMI_BEND_NOT unless that wins clearly, and in neither table loses. */
wmi_bend wmi_bend_find(const int64_t n[2], const double *const x[2], int64_t stride);
/* Rising in x; x must be one that the map was found for, or lie between two of these. */
double wmi_bend_at(const wmi_bend *b, double x);

#endif
