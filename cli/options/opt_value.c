/* opt_value.c - numbers, durations and names from text, checked whole. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "options/opt.h"

/* "from 1 to 1000", "from 0 up", "above 0" */
static const char *range_text(char *out, size_t size, const opt_row *row)
{
    const bool bounded = row->lo != 0 || row->hi != 0, top = row->hi > 0 && row->hi < 1e18;

    if (!bounded && !row->above)
        snprintf(out, size, "any finite number");
    else if (row->above && top)
        snprintf(out, size, "above %.10g, at most %.10g", row->lo, row->hi);
    else if (row->above)
        snprintf(out, size, "above %.10g", row->lo);
    else if (top || row->hi <= 0)
        snprintf(out, size, "from %.10g to %.10g", row->lo, row->hi);
    else
        snprintf(out, size, "from %.10g up", row->lo);
    return out;
}

bool opt_in_range(const opt_row *row, double x)
{
    if (!isfinite(x))
        return false;
    if (row->above && x <= row->lo)
        return false;
    if (row->lo == 0 && row->hi == 0)
        return true;
    return x >= row->lo && x <= row->hi;
}

static wm_status out_of_range(const opt_row *row, const char *text, const char *kind, wm_error *err)
{
    char range[80];

    return opt_fail(err, "--%s %.60s: must be %s %s", row->name, text, kind,
                    range_text(range, sizeof range, row));
}

/* A finite double that is all of text. strtod alone would take "", " 1", "0x1p3", "nan". */
static bool whole_real(const char *text, double *x)
{
    char *end;

    if (!*text || strspn(text, "0123456789+-.eE") != strlen(text))
        return false;
    *x = strtod(text, &end);
    return *end == '\0' && isfinite(*x);
}

wm_status opt_real(double *out, const opt_row *row, const char *text, wm_error *err)
{
    double x;

    if (!whole_real(text, &x) || !opt_in_range(row, x))
        return out_of_range(row, text, "a number", err);
    *out = x;
    return WM_OK;
}

wm_status opt_integer(int64_t *out, const opt_row *row, const char *text, wm_error *err)
{
    const size_t sign = text[0] == '-' || text[0] == '+';
    double x;

    if (isdigit((unsigned char)text[sign]) && text[sign + strspn(text + sign, "0123456789")] == 0) {
        const long long v = (errno = 0, strtoll(text, NULL, 10));

        if (errno || !opt_in_range(row, (double)v))
            return out_of_range(row, text, "an integer", err);
        if (v == 0 && row->none)
            return out_of_range(row, text, "an integer other than 0,", err);
        *out = v == -1 && row->none ? 0 : v;
        return WM_OK;
    }
    /* 1e5 is what people write for a sample size; exact up to 2^53. */
    if (!whole_real(text, &x) || x != floor(x) || fabs(x) > 9007199254740992.0 ||
        !opt_in_range(row, x))
        return out_of_range(row, text, "an integer", err);
    *out = (int64_t)x;
    return WM_OK;
}

wm_status opt_duration(double *out, const opt_row *row, const char *text, wm_error *err)
{
    static const struct {
        char letter;
        double seconds;
    } units[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
    const char *p = text;
    double total = 0, last = INFINITY;

    if (whole_real(text, &total)) { /* seconds */
        p = "";
    } else {
        total = 0;
    }
    while (*p) {
        const size_t n = strspn(p, "0123456789.");
        char number[32];
        double x;
        size_t u = 0;

        while (u < 4 && units[u].letter != p[n])
            u++;
        snprintf(number, sizeof number, "%.*s", (int)n, p);
        /* Units fall from left to right: 1h30m, not 30m1h. */
        if (n == 0 || n >= sizeof number || u == 4 || units[u].seconds >= last ||
            !whole_real(number, &x))
            return opt_fail(err, "--%s %.60s: must be a duration such as 45s, 30m or 1h30m",
                            row->name, text);
        last = units[u].seconds;
        total += x * last;
        p += n + 1;
    }
    if (!*text || !opt_in_range(row, total) || total < 0)
        return opt_fail(err, "--%s %.60s: must be a duration such as 45s, 30m or 1h30m", row->name,
                        text);
    *out = total;
    return WM_OK;
}

const char *opt_duration_text(char out[48], double seconds)
{
    const double whole = floor(seconds);
    int n = 0;

    if (seconds != whole || seconds >= 1e15) {
        snprintf(out, 48, "%.10gs", seconds);
        return out;
    }
    if (whole >= 3600)
        n += snprintf(out + n, (size_t)(48 - n), "%.0fh", floor(whole / 3600));
    if (fmod(whole, 3600) >= 60)
        n += snprintf(out + n, (size_t)(48 - n), "%.0fm", floor(fmod(whole, 3600) / 60));
    if (fmod(whole, 60) > 0 || n == 0)
        snprintf(out + n, (size_t)(48 - n), "%.0fs", fmod(whole, 60));
    return out;
}

/* Letters to add, drop, change or swap with a neighbour; words of up to 31 letters. */
static int distance(const char *a, const char *b)
{
    const int n = (int)strlen(a), m = (int)strlen(b);
    int d[32][32];

    if (n > 31 || m > 31)
        return 99;
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= m; j++) {
            int best;

            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
            best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[n][m];
}

const char *opt_nearest(const char *word, const char *const *names)
{
    const char *best = NULL;
    int least = (int)strlen(word) / 3 + 2; /* farther than this is another word */

    for (; *names; names++) {
        const bool begins = strlen(word) >= 2 && strncmp(word, *names, strlen(word)) == 0;
        const int d = begins ? 1 : distance(word, *names);

        if (d < least) {
            least = d;
            best = *names;
        }
    }
    return best;
}
