/* written.h - how the values of a text column are written, where that is not plainly: 1.234,50 EUR,
 * 12 %, 31.01.2024, yes. A schema keeps it, so that a later file is read in the same way. */
#ifndef WMI_DATA_WRITTEN_H
#define WMI_DATA_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>

typedef enum wmi_notation {
    WMI_PLAIN,   /* numbers as wmi_number_parse() takes them, or texts */
    WMI_DRESSED, /* numbers with separators, a currency or a percent sign */
    WMI_DATE,    /* days since 1970-01-01, fractions for the time of day */
    WMI_CLOCK,   /* times of day alone, as a fraction of it */
    WMI_YES_NO,  /* true and false, yes and no, in any case */
} wmi_notation;

typedef enum wmi_date_order { WMI_YMD, WMI_DMY, WMI_MDY, WMI_DATE_ORDERS } wmi_date_order;

typedef struct wmi_written {
    wmi_notation script;
    /* DRESSED; what is not 0 may stand in a value, and need not */
    char decimal;         /* '.' or ',' */
    char thousands;       /* between groups of three digits: , . ' or a space of any kind (' ') */
    const char *currency; /* one of a few signs, never freed; NULL: none */
    bool percent;         /* 12 % is 0.12 */
    wmi_date_order order; /* DATE */
} wmi_written;

/* A dressed number with this decimal sign (. or ,): its value, whether it is whole and written so,
 * and what it wears, in *wears. False, with nothing touched, if it is none. Plain numbers pass,
 * 1e5 too. */
bool wmi_dressed_parse(const char *s, size_t n, char decimal, double *x, bool *whole,
                       wmi_written *wears);
/* Whether two values may stand in one column; then *w allows both. */
bool wmi_written_merge(wmi_written *w, const wmi_written *wears);

/* 2024-01-31, 31.1.2024, 1/31/2024 (two digits of a year only after slashes: 69 and more are 19..),
 * with or without a time: 2024-01-31T12:34:56.5+02:00, 31.01.2024 12:34, 1/31/2024 1:05 PM. */
bool wmi_date_parse(const char *s, size_t n, wmi_date_order order, double *days);
/* 12:34, 12:34:56.5, 1:05 PM. */
bool wmi_clock_parse(const char *s, size_t n, double *days);

/* 1 for true, 0 for false, -1 for anything else; *family says of which pair it is, from 0. */
enum { WMI_YES_NO_FAMILIES = 4, WMI_YES_NO_TEXT = 8 };
int wmi_yes_no_parse(const char *s, size_t n, int *family);
/* A value in the letters of another, `like` (a text of the family): TRUE, True or true. Returns
 * buf.
 */
const char *wmi_yes_no_text(int family, int value, const char *like, char buf[WMI_YES_NO_TEXT]);
/* A family of whole words: one of them in a column is enough to tell it. */
bool wmi_yes_no_is_word(int family);

/* A value that is written so, as a number. *whole: it is, and is written as one. */
bool wmi_written_parse(const wmi_written *w, const char *s, size_t n, double *x, bool *whole);

/* "dates (day, month, year), as days since 1970-01-01". Returns buf. */
const char *wmi_written_text(const wmi_written *w, char *buf, size_t size);
/* Both ways between a value of wmi_date_order and "ymd"; -1 if it is none. */
const char *wmi_date_order_name(wmi_date_order order);
int wmi_date_order_called(const char *name);
/* The sign itself if it is one of ours, or NULL. */
const char *wmi_currency_called(const char *sign);

#endif
