/* written.c - numbers in clothes, dates, yes and no. Numbers are undressed and then read as plain
 * ones are, so that rounding is the same. */
#include "data/table/written.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "data/table/number.h"

static const char *const currencies[] = {"$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5"}; /* $ EUR
    pound yen */

/* What is left of a text. */
typedef struct rest {
    const char *at, *end;
} rest;

static bool take(rest *r, const char *text)
{
    const size_t n = strlen(text);

    if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0)
        return false;
    r->at += n;
    return true;
}

static bool take_one_of(rest *r, const char *chars)
{
    if (r->at == r->end || !*r->at || !strchr(chars, *r->at))
        return false;
    r->at++;
    return true;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_letters(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (lower(a[i]) != lower(b[i]))
            return false;
    return true;
}

/* A space, no-break space, narrow no-break space or thin space. */
static bool take_space(rest *r)
{
    return take(r, " ") || take(r, "\xc2\xa0") || take(r, "\xe2\x80\xaf") ||
           take(r, "\xe2\x80\x89");
}

static bool is_digit(const rest *r, int ahead)
{
    return r->end - r->at > ahead && r->at[ahead] >= '0' && r->at[ahead] <= '9';
}

/* ---- numbers ---- */

const char *wmi_currency_called(const char *sign)
{
    for (size_t i = 0; i < sizeof currencies / sizeof *currencies; i++)
        if (strcmp(currencies[i], sign) == 0)
            return currencies[i];
    return NULL;
}

static bool take_currency(rest *r, const char **sign)
{
    for (size_t i = 0; i < sizeof currencies / sizeof *currencies; i++)
        if (take(r, currencies[i])) {
            *sign = currencies[i];
            return true;
        }
    return false;
}

static bool take_minus(rest *r)
{
    return take(r, "-") || take(r, "\xe2\x88\x92"); /* U+2212 */
}

/* A number without its clothes, as it grows. */
typedef struct plain {
    char text[64];
    size_t n;
} plain;

static bool put(plain *p, char c)
{
    if (p->n + 1 >= sizeof p->text)
        return false;
    p->text[p->n++] = c;
    return true;
}

static int take_digits(rest *r, plain *p)
{
    int n = 0;

    for (; is_digit(r, 0); r->at++, n++)
        if (!put(p, *r->at))
            return -1;
    return n;
}

/* The sign between groups that stands here and is followed by three digits, or 0. */
static char take_separator(rest *r, char decimal)
{
    rest after = *r;
    char sign = 0;

    if (take_space(&after))
        sign = ' ';
    else if (take(&after, "'") || take(&after, "\xe2\x80\x99"))
        sign = '\'';
    else if (take(&after, decimal == '.' ? "," : "."))
        sign = decimal == '.' ? ',' : '.';
    if (!sign || !is_digit(&after, 0) || !is_digit(&after, 1) || !is_digit(&after, 2) ||
        is_digit(&after, 3))
        return 0;
    *r = after;
    return sign;
}

/* 1234567 or 1,234,567. A group never begins with 0,123: that is a fraction. */
static bool take_whole_part(rest *r, plain *p, char decimal, wmi_written *wears)
{
    const char *first = r->at;
    const int n = take_digits(r, p);
    char sign;

    if (n < 0)
        return false;
    while (n >= 1 && n <= 3 && *first != '0' && (sign = take_separator(r, decimal))) {
        if ((wears->thousands && wears->thousands != sign) || take_digits(r, p) != 3)
            return false;
        wears->thousands = sign;
    }
    return true;
}

bool wmi_dressed_parse(const char *s, size_t n, char decimal, double *x, bool *whole,
                       wmi_written *wears)
{
    wmi_written w = {.script = WMI_DRESSED, .decimal = decimal};
    rest r = {s, s + n};
    plain p = {.n = 0};
    bool minus = take_minus(&r), as_whole = true;
    double value;

    if (!minus)
        (void)take(&r, "+");
    if (take_currency(&r, &w.currency)) {
        (void)take_space(&r);
        if (!minus)
            minus = take_minus(&r);
    }
    if (minus && !put(&p, '-'))
        return false;
    if (!is_digit(&r, 0) && !(r.at < r.end && *r.at == decimal && is_digit(&r, 1)))
        return false;
    if (!take_whole_part(&r, &p, decimal, &w))
        return false;
    if (r.at < r.end && *r.at == decimal) {
        as_whole = false;
        r.at++;
        if (!put(&p, '.') || take_digits(&r, &p) < 0)
            return false;
    }
    if (r.at < r.end && (*r.at == 'e' || *r.at == 'E')) {
        if (!put(&p, *r.at++) || ((take_one_of(&r, "+-")) && !put(&p, r.at[-1])) ||
            take_digits(&r, &p) < 1)
            return false;
    }
    if (r.at < r.end) {
        (void)take_space(&r);
        if (!(w.percent = take(&r, "%")) && !w.currency)
            (void)take_currency(&r, &w.currency);
    }
    if (r.at != r.end || !wmi_number_parse(p.text, p.n, &value, &as_whole))
        return false;
    *x = w.percent ? value / 100 : value;
    *whole = as_whole && !w.percent;
    *wears = w;
    return true;
}

bool wmi_written_merge(wmi_written *w, const wmi_written *wears)
{
    if ((w->thousands && wears->thousands && w->thousands != wears->thousands) ||
        (w->currency && wears->currency && w->currency != wears->currency))
        return false;
    w->thousands = wears->thousands ? wears->thousands : w->thousands;
    w->currency = wears->currency ? wears->currency : w->currency;
    w->percent = w->percent || wears->percent;
    return true;
}

/* ---- dates and times ---- */

/* Up to `most` digits; how many there were. */
static int take_int(rest *r, int most, int *value)
{
    int n = 0;

    for (*value = 0; n < most && is_digit(r, 0); n++)
        *value = 10 * *value + (*r->at++ - '0');
    return n;
}

/* Days since 1970-01-01 in the Gregorian calendar: years begin in March, so that the day that is
 * sometimes there is the last. */
static double days_of(int64_t year, int month, int day)
{
    const int64_t y = month <= 2 ? year - 1 : year, era = (y >= 0 ? y : y - 399) / 400;
    const int64_t of_era = y - era * 400, of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;

    return (double)(era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468);
}

static bool is_date(int year, int month, int day)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return month >= 1 && month <= 12 && day >= 1 &&
           day <= days[month - 1] + (month == 2 && leap ? 1 : 0);
}

/* 12:34[:56[.789]] [AM|PM]: a fraction of the day. */
static bool take_clock(rest *r, double *fraction)
{
    int hour, minute, second = 0, digits = 0;
    double part = 0, unit = 1;
    rest after;

    if (take_int(r, 2, &hour) < 1 || !take(r, ":") || take_int(r, 2, &minute) != 2)
        return false;
    if (take(r, ":")) {
        if (take_int(r, 2, &second) != 2)
            return false;
        if (take_one_of(r, ".,"))
            for (; is_digit(r, 0); r->at++, digits++)
                part += (unit /= 10) * (*r->at - '0');
    }
    after = *r;
    (void)take_space(&after);
    if (after.end - after.at >= 2 &&
        (same_letters(after.at, "am", 2) || same_letters(after.at, "pm", 2))) {
        if (hour < 1 || hour > 12)
            return false;
        hour = hour % 12 + (*after.at == 'p' || *after.at == 'P' ? 12 : 0);
        after.at += 2;
        *r = after;
    }
    *fraction = (3600 * hour + 60 * minute + second + part) / 86400;
    return hour < 24 && minute < 60 && second <= 60;
}

/* Z, +02:00, +0200, +02: a fraction of the day to be taken off. */
static bool take_zone(rest *r, double *fraction)
{
    int hour, minute = 0, sign;

    *fraction = 0;
    if (r->at == r->end || take(r, "Z") || take(r, " UTC"))
        return true;
    sign = *r->at == '-' ? -1 : 1;
    if (!take_one_of(r, "+-") || take_int(r, 2, &hour) != 2)
        return false;
    if (r->at < r->end && ((void)take(r, ":"), take_int(r, 2, &minute) != 2))
        return false;
    *fraction = sign * (60 * hour + minute) / 1440.0;
    return true;
}

static bool take_day(rest *r, wmi_date_order order, double *days)
{
    int part[3], width[3], year;
    char sign = 0;

    for (int i = 0; i < 3; i++) {
        width[i] = take_int(r, 4, &part[i]);
        if (i == 0)
            sign = r->at < r->end ? *r->at : '\0';
        if (!width[i] || (i < 2 && (!take_one_of(r, "-/.") || r->at[-1] != sign)))
            return false;
    }
    if (order == WMI_YMD) {
        if (width[0] != 4 || width[1] > 2 || width[2] > 2 || !is_date(part[0], part[1], part[2]))
            return false;
        *days = days_of(part[0], part[1], part[2]);
        return true;
    }
    if (width[0] > 2 || width[1] > 2 || !(width[2] == 4 || (width[2] == 2 && sign == '/')) ||
        (order == WMI_MDY && sign == '.')) /* points are never American */
        return false;
    year = width[2] == 4 ? part[2] : part[2] + (part[2] >= 69 ? 1900 : 2000);
    if (order == WMI_MDY) {
        const int day = part[1];

        part[1] = part[0];
        part[0] = day;
    }
    if (!is_date(year, part[1], part[0]))
        return false;
    *days = days_of(year, part[1], part[0]);
    return true;
}

bool wmi_date_parse(const char *s, size_t n, wmi_date_order order, double *days)
{
    rest r = {s, s + n};
    double day, clock = 0, zone = 0;

    if (n < 6 || !is_digit(&r, 0) || !take_day(&r, order, &day))
        return false;
    if (r.at < r.end && (!take_one_of(&r, "T ") || !take_clock(&r, &clock) ||
                         !take_zone(&r, &zone) || r.at != r.end))
        return false;
    *days = day + clock - zone;
    return true;
}

bool wmi_clock_parse(const char *s, size_t n, double *days)
{
    rest r = {s, s + n};
    double clock;

    if (n < 4 || !is_digit(&r, 0) || !take_clock(&r, &clock) || r.at != r.end)
        return false;
    *days = clock;
    return true;
}

static const char *const order_names[] = {[WMI_YMD] = "ymd", [WMI_DMY] = "dmy", [WMI_MDY] = "mdy"};

const char *wmi_date_order_name(wmi_date_order order)
{
    return order_names[order];
}

int wmi_date_order_called(const char *name)
{
    for (int i = 0; i < WMI_DATE_ORDERS; i++)
        if (strcmp(order_names[i], name) == 0)
            return i;
    return -1;
}

/* ---- yes and no ---- */

static const struct {
    const char *text[2];
} families[WMI_YES_NO_FAMILIES] = {
    {{"false", "true"}}, {{"no", "yes"}}, {{"f", "t"}}, {{"n", "y"}}};

const char *wmi_yes_no_text(int family, int value, const char *like, char buf[WMI_YES_NO_TEXT])
{
    const char *text = families[family].text[value];
    const bool first = lower(*like) != *like;
    const bool others = first && (!*like || !like[1] || lower(like[1]) != like[1]);
    size_t n = 0;

    for (; text[n]; n++)
        buf[n] = (n ? others : first) ? (char)(text[n] - 'a' + 'A') : text[n];
    buf[n] = '\0';
    return buf;
}

bool wmi_yes_no_is_word(int family)
{
    return families[family].text[0][1] != '\0';
}

int wmi_yes_no_parse(const char *s, size_t n, int *family)
{
    if (n == 0 || n > 5)
        return -1;
    for (int f = 0; f < WMI_YES_NO_FAMILIES; f++)
        for (int v = 0; v < 2; v++)
            if (strlen(families[f].text[v]) == n && same_letters(families[f].text[v], s, n)) {
                *family = f;
                return v;
            }
    return -1;
}

/* ---- all of them ---- */

bool wmi_written_parse(const wmi_written *w, const char *s, size_t n, double *x, bool *whole)
{
    wmi_written wears;
    int family, value;

    *whole = false;
    switch (w->script) {
    case WMI_DRESSED:
        return wmi_dressed_parse(s, n, w->decimal, x, whole, &wears) &&
               (!wears.thousands || wears.thousands == w->thousands) &&
               (!wears.currency || wears.currency == w->currency) && (!wears.percent || w->percent);
    case WMI_DATE:
        return wmi_date_parse(s, n, w->order, x);
    case WMI_CLOCK:
        return wmi_clock_parse(s, n, x);
    case WMI_YES_NO:
        *whole = true;
        if ((value = wmi_yes_no_parse(s, n, &family)) < 0)
            return wmi_number_parse(s, n, x, whole);
        *x = value;
        return true;
    case WMI_PLAIN:
        break;
    }
    return wmi_number_parse(s, n, x, whole);
}

const char *wmi_written_text(const wmi_written *w, char *buf, size_t size)
{
    static const char *const orders[] = {[WMI_YMD] = "year, month, day",
                                         [WMI_DMY] = "day, month, year",
                                         [WMI_MDY] = "month, day, year"};
    char clothes[80] = "";
    size_t n = 0;

    switch (w->script) {
    case WMI_DATE:
        snprintf(buf, size, "dates (%s), taken as days since 1970-01-01", orders[w->order]);
        break;
    case WMI_CLOCK:
        snprintf(buf, size, "times, taken as parts of a day");
        break;
    case WMI_YES_NO:
        snprintf(buf, size, "yes or no");
        break;
    case WMI_DRESSED:
        if (w->thousands)
            n +=
                (size_t)snprintf(clothes, sizeof clothes, ", '%c' between thousands", w->thousands);
        if (w->currency)
            n += (size_t)snprintf(clothes + n, sizeof clothes - n, ", %s", w->currency);
        if (w->percent)
            snprintf(clothes + n, sizeof clothes - n, ", percent (12 %% is 0.12)");
        snprintf(buf, size, "numbers with a decimal %s%s", w->decimal == ',' ? "comma" : "point",
                 clothes);
        break;
    case WMI_PLAIN:
        snprintf(buf, size, "plain");
        break;
    }
    return buf;
}
