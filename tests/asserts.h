/* asserts.h - cmocka with what it lacks: doubles compared with a tolerance, and arrays of them. */
#ifndef WM_TESTS_CHECK_H
#define WM_TESTS_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* wants the four above */

#include "waymark/status.h"

/* |a - b| <= tol; NaN never passes. */
#define assert_near(a, b, tol)                                                                     \
    do {                                                                                           \
        const double near_a_ = (a), near_b_ = (b), near_t_ = (tol);                                \
        if (!(fabs(near_a_ - near_b_) <= near_t_))                                                 \
            fail_msg("%s = %.17g, expected %.17g within %g", #a, near_a_, near_b_, near_t_);       \
    } while (0)

/* Succeeds, or prints the error record. */
#define assert_ok(call, err)                                                                       \
    do {                                                                                           \
        if ((call) != WM_OK)                                                                       \
            fail_msg("%s: %s (%s:%d)", #call, (err).text, (err).file, (err).line);                 \
    } while (0)

#endif
