/* number.c - correctly rounded decimals.
 *
 * strtod() is exact but obeys the locale's decimal point, wants a NUL, and takes a few hundred
 * nanoseconds. Almost every number in a table is w * 10^q with w < 2^64 and |q| <= 27, where
 * 5^|q| < 2^63 is exact, so that one product or one quotient of 128 bits with its remainder holds
 * all that rounding has to know. What is left (long tails of digits at a tie, large exponents) goes
 * to strtod() as digits and an exponent, without a point for a locale to dislike. */
#include "data/table/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DIGITS = 19,     /* 10^19 < 2^64 */
    MAX_POWER = 27,      /* 5^27 < 2^63 */
    DOUBLE_POWER = 22,   /* 10^22 is a double */
    STRTOD_DIGITS = 800, /* a tie between two doubles has at most 767 digits */
    LOW_BITS = 64 - 53,  /* of a 64-bit product, below those that a double keeps */
    EXPONENT_BIAS = 1023 + 52,
};
#define EXACT_INTEGER 9007199254740992.0    /* 2^53 */
#define EXPONENT_END INT64_C(1000000000000) /* beyond it another digit makes no difference */

/* (-1)^negative * digits * 10^exponent; more: non-zero digits were left off. */
typedef struct decimal {
    uint64_t digits;
    int64_t exponent;
    bool negative, more, point, has_exponent;
} decimal;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* More digits than fit in 64 bits, perhaps: those beyond MAX_DIGITS only move the exponent. */
static void take_many_digits(decimal *d, const char *p, const char *end)
{
    int used = 0, after = 0;

    for (d->digits = 0; p < end; p++) {
        const unsigned digit = (unsigned)(*p - '0');

        if (*p == '.') {
            after = 1;
        } else if (used < MAX_DIGITS) {
            d->digits = 10 * d->digits + digit;
            used += d->digits != 0; /* leading zeros count for nothing */
            d->exponent -= after;
        } else {
            d->more |= digit != 0;
            d->exponent += 1 - after;
        }
    }
}

/* Digits with at most one point among them; NULL if there is none. */
static const char *take_digits(decimal *d, const char *p, const char *end)
{
    const char *const start = p, *point = NULL;
    uint64_t w = 0;
    int64_t n;

    for (; p < end && is_digit(*p); p++)
        w = 10 * w + (unsigned)(*p - '0');
    if (p < end && *p == '.') {
        point = p++;
        for (; p < end && is_digit(*p); p++)
            w = 10 * w + (unsigned)(*p - '0');
    }
    n = p - start - (point != NULL);
    d->point = point != NULL;
    if (n > MAX_DIGITS) { /* w has overflowed, unless there are leading zeros */
        take_many_digits(d, start, p);
    } else {
        d->digits = w;
        d->exponent = point ? -(p - point - 1) : 0;
    }
    return n ? p : NULL;
}

/* The exponent after e or E; NULL if there is none. */
static const char *take_exponent(decimal *d, const char *p, const char *end)
{
    bool negative = false;
    int64_t e = 0;

    if (p < end && (*p == '-' || *p == '+'))
        negative = *p++ == '-';
    if (p == end || !is_digit(*p))
        return NULL;
    for (; p < end && is_digit(*p); p++)
        if (e < EXPONENT_END)
            e = 10 * e + (*p - '0');
    d->exponent += negative ? -e : e;
    d->has_exponent = true;
    return p;
}

/* False if the text is not a decimal as a whole. */
static bool take_decimal(decimal *d, const char *s, size_t n)
{
    const char *p = s, *const end = s + n;

    *d = (decimal){0};
    if (p < end && (*p == '-' || *p == '+'))
        d->negative = *p++ == '-';
    p = take_digits(d, p, end);
    if (!p)
        return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p = take_exponent(d, p + 1, end);
        if (!p)
            return false;
    }
    return p == end;
}

/* --- rounding ----------------------------------------------------------------------------------*/

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 u128;

/* clang-format off */
static const uint64_t power_of_5[MAX_POWER + 1] = {
    1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1953125, 9765625, 48828125, 244140625,
    1220703125, 6103515625, 30517578125, 152587890625, 762939453125, 3814697265625,
    19073486328125, 95367431640625, 476837158203125, 2384185791015625, 11920928955078125,
    59604644775390625, 298023223876953125, 1490116119384765625, 7450580596923828125
};
/* clang-format on */

/* The double nearest to (m + s) * 2^e, 0 < s < 2 if sticky else s = 0, where m has its top bit set,
 * an even m if s may pass 1, and the result is in the normal range. */
static double round_to_double(uint64_t m, bool sticky, int e)
{
    const uint64_t half = UINT64_C(1) << (LOW_BITS - 1), rest = m & (2 * half - 1);
    uint64_t keep = m >> LOW_BITS, bits;
    double x;

    if (rest > half || (rest == half && (sticky || (keep & 1))))
        keep++; /* at most 2^53: the carry below moves into the exponent, as it should */
    bits = ((uint64_t)(e + LOW_BITS + EXPONENT_BIAS - 1) << 52) + keep;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double scale_up(uint64_t w, int power)
{
    const u128 product = (u128)w * power_of_5[power];
    const uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    int shift;

    if (!high) {
        shift = __builtin_clzll(low);
        return round_to_double(low << shift, false, power - shift);
    }
    shift = __builtin_clzll(high);
    return round_to_double((uint64_t)((product << shift) >> 64), (uint64_t)(product << shift) != 0,
                           power + 64 - shift);
}

static double scale_down(uint64_t w, int power)
{
    const int shift_w = __builtin_clzll(w), shift_d = __builtin_clzll(power_of_5[power]);
    const uint64_t divisor = power_of_5[power] << shift_d;
    const u128 dividend = (u128)(w << shift_w) << 63; /* so that 2^62 < quotient < 2^64 */
    uint64_t quotient = (uint64_t)(dividend / divisor);
    const bool sticky = (u128)quotient * divisor != dividend;
    int e = shift_d - shift_w - power - 63;

    if (!(quotient >> 63)) {
        quotient <<= 1;
        e--;
    }
    return round_to_double(quotient, sticky, e);
}

/* w * 10^q, w > 0, rounded once; false if that needs more than 128 bits. */
static bool scale(uint64_t w, int64_t q, double *x)
{
    if (q < -MAX_POWER || q > MAX_POWER)
        return false;
    *x = q < 0 ? scale_down(w, (int)-q) : scale_up(w, (int)q);
    return true;
}
#else
static bool scale(uint64_t w, int64_t q, double *x)
{
    (void)w, (void)q, (void)x;
    return false;
}
#endif

/* The long way round: significant digits as they stand, and an exponent. */
static double by_strtod(const decimal *d, const char *s, size_t n)
{
    char text[STRTOD_DIGITS + 48];
    int64_t exponent = 0, written = 0; /* of the digits in text */
    bool point = false, rest = false;
    size_t k = 0;

    for (; k < n && s[k] != 'e' && s[k] != 'E'; k++) {
        if (s[k] == '.') {
            point = true;
        } else if (is_digit(s[k]) && written < STRTOD_DIGITS) {
            if (written || s[k] != '0')
                text[written++] = s[k];
            exponent -= point;
        } else if (is_digit(s[k])) {
            rest |= s[k] != '0';
            exponent += !point;
        }
    }
    if (k < n) {
        decimal e = {0};

        (void)take_exponent(&e, s + k + 1, s + n);
        exponent += e.exponent;
    }
    if (!written)
        return d->negative ? -0.0 : 0.0;
    if (rest) { /* a last digit that breaks a tie */
        text[written++] = '1';
        exponent--;
    }
    snprintf(text + written, sizeof text - (size_t)written, "e%" PRId64, exponent);
    return d->negative ? -strtod(text, NULL) : strtod(text, NULL);
}

static double decimal_value(const decimal *d, const char *s, size_t n)
{
    static const double power_of_10[DOUBLE_POWER + 1] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const uint64_t w = d->digits;
    double x, above;

    if (w == 0)
        return d->negative ? -0.0 : 0.0;
    if (w <= (uint64_t)EXACT_INTEGER && d->exponent >= -DOUBLE_POWER &&
        d->exponent <= DOUBLE_POWER && !d->more) {
        /* both operands are exact, so the machine's one rounding is the right one */
        x = d->exponent < 0 ? (double)w / power_of_10[-d->exponent]
                            : (double)w * power_of_10[d->exponent];
        return d->negative ? -x : x;
    }
    /* Digits left off: between w and w + 1, which mostly round to the same double. */
    if (scale(w, d->exponent, &x) &&
        (!d->more || (scale(w + 1, d->exponent, &above) && above == x)))
        return d->negative ? -x : x;
    return by_strtod(d, s, n);
}

/* --- words -------------------------------------------------------------------------------------*/

static bool same_word(const char *s, size_t n, const char *word)
{
    if (n != strlen(word))
        return false;
    for (size_t i = 0; i < n; i++)
        if ((s[i] | 0x20) != word[i])
            return false;
    return true;
}

static bool parse_word(const char *s, size_t n, double *x)
{
    const bool sign = n > 0 && (*s == '-' || *s == '+'), negative = sign && *s == '-';

    s += sign;
    n -= sign;
    if (n < 3 || ((*s | 0x20) != 'n' && (*s | 0x20) != 'i'))
        return false; /* most text, at once */
    if (same_word(s, n, "nan"))
        *x = (double)NAN;
    else if (same_word(s, n, "inf") || same_word(s, n, "infinity"))
        *x = negative ? -(double)INFINITY : (double)INFINITY;
    else
        return false;
    return true;
}

bool wmi_number_parse(const char *s, size_t n, double *x, bool *whole)
{
    decimal d;

    if (!take_decimal(&d, s, n)) {
        *whole = false;
        return parse_word(s, n, x);
    }
    *x = decimal_value(&d, s, n);
    *whole = !d.point && fabs(*x) <= EXACT_INTEGER && (!d.has_exponent || *x == floor(*x));
    return true;
}

/* --- back to text ------------------------------------------------------------------------------*/

/* Of |x|: its significant digits, and the power of ten of the first. */
typedef struct shortest {
    char digits[24];
    int n, exponent;
} shortest;

static void digits_of(shortest *r, double x, int precision)
{
    char text[64];
    const char *p = text;

    snprintf(text, sizeof text, "%.*e", precision - 1, fabs(x));
    for (r->n = 0; *p && *p != 'e'; p++) /* what is no digit is the locale's point */
        if (is_digit(*p) && r->n < precision)
            r->digits[r->n++] = *p;
    r->exponent = (int)strtol(p + 1, NULL, 10);
    while (r->n > 1 && r->digits[r->n - 1] == '0')
        r->n--;
}

/* Digits with a point after the first `before` of them; zeros where it stands outside. */
static char *put_digits(char *p, const shortest *r, int before)
{
    if (before <= 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = before; i < 0; i++)
            *p++ = '0';
    }
    for (int i = 0; i < r->n; i++) {
        if (i && i == before)
            *p++ = '.';
        *p++ = r->digits[i];
    }
    for (int i = r->n; i < before; i++)
        *p++ = '0';
    return p;
}

const char *wmi_number_text(double x, char buf[WMI_NUMBER_TEXT])
{
    shortest r = {.exponent = 0};
    char *p = buf;

    if (x < 0)
        *p++ = '-';
    if (isnan(x) || isinf(x) || x == 0) {
        snprintf(p, 4, "%s", isnan(x) ? "nan" : x == 0 ? "0" : "inf");
        return buf;
    }
    for (int precision = 15; precision <= 17; precision++) {
        char text[48];
        double back = 0;
        bool whole;
        int length;

        digits_of(&r, x, precision);
        length = snprintf(text, sizeof text, "%.*se%d", r.n, r.digits, r.exponent - (r.n - 1));
        if (wmi_number_parse(text, (size_t)length, &back, &whole) && back == fabs(x))
            break;
    }
    if (r.exponent >= -5 && r.exponent <= 15) {
        *put_digits(p, &r, r.exponent + 1) = '\0';
        return buf;
    }
    p = put_digits(p, &r, 1);
    snprintf(p, (size_t)(buf + WMI_NUMBER_TEXT - p), "e%+03d", r.exponent);
    return buf;
}
