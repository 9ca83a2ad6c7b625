/* number.h - decimal text to double and back, whatever the locale says. */
#ifndef WMI_DATA_NUMBER_H
#define WMI_DATA_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

enum { WMI_NUMBER_TEXT = 32 }; /* bytes that wmi_number_text() may write, its NUL included */

/* The n bytes at s, which need no NUL, as a number: 12, +1, -.5, 1e5, 2.E-3, inf, nan (any case).
 * Neither spaces nor hexadecimal. The double is the nearest one, ties to even, as strtod gives it;
 * what is too large is infinite. *whole: written without a point, and a whole number that a double
 * holds exactly (|x| <= 2^53), so also 1e5. False, with *x untouched, if it is no number. */
bool wmi_number_parse(const char *s, size_t n, double *x, bool *whole);

/* The shortest text that reads back as the same double: 1, -0.25, 1e+30, nan; -0 is 0. Returns buf.
 */
const char *wmi_number_text(double x, char buf[WMI_NUMBER_TEXT]);

#endif
