/* order.h - doubles in rising order, for qsort() and bsearch(). NaN has no place in an order: who
 * sorts has none. */
#ifndef WMI_BASE_ORDER_H
#define WMI_BASE_ORDER_H

#include <stdint.h>
#include <stdlib.h>

/* Also of structs whose first member is the double. */
static inline int wmi_rising_f64(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* x (n), in place. */
static inline void wmi_sort_f64(double *x, int64_t n)
{
    qsort(x, (size_t)n, sizeof *x, wmi_rising_f64);
}

#endif
