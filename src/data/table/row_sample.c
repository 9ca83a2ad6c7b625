/* row_sample.c - rows kept by the hash of their number (row_sample.h). */
#include "data/table/row_sample.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "waymark/fit.h"

enum {
    LEAST_ROWS = 100000,   /* that are kept of any table, where the library chooses */
    NUMBERS = 40000000 / 8 /* or so many numbers, if that is more */
};

static const double FALLS = 0.8; /* of the share, when there are too many */

void wmi_row_sample_begin(wmi_row_sample *s, int64_t max_rows, int64_t dim, int64_t expected)
{
    s->limit =
        max_rows == WM_AUTO ? (NUMBERS / dim > LEAST_ROWS ? NUMBERS / dim : LEAST_ROWS) : max_rows;
    if (s->seen == 0) /* else a table goes on in another file */
        s->share = 1;
    if (s->limit > 0 && s->seen == 0 && expected > s->limit)
        s->share = 0.98 * (double)s->limit / (double)expected; /* rarely too many */
}

void wmi_row_sample_free(wmi_row_sample *s)
{
    wmi_free(s->place);
    *s = (wmi_row_sample){0};
}

static wm_status make_room(wmi_row_sample *s, int64_t n, wm_error *err)
{
    const int64_t room = s->n + n + s->n / 2;
    double *place = NULL;
    wm_status st;

    if (s->n + n <= s->room)
        return WM_OK;
    if ((st = wmi_alloc(&place, room, sizeof *place, "sample of rows", err)))
        return st;
    if (s->n > 0)
        memcpy(place, s->place, (size_t)s->n * sizeof *place);
    wmi_free(s->place);
    s->place = place;
    s->room = room;
    return WM_OK;
}

wm_status wmi_row_sample_take(wmi_row_sample *s, int64_t n, int64_t dim, double *rows,
                              int64_t *kept, wm_error *err)
{
    const wmi_rng rng = wmi_rng_make(0, "rows");
    wm_status st;

    *kept = n;
    if (!s->limit)
        return WM_OK;
    if ((st = make_room(s, n, err)))
        return st;
    wmi_rng_uniform_f64(&rng, (uint64_t)s->seen, n, s->place + s->n);
    s->seen += n;
    s->n += n;
    *kept = wmi_row_sample_thin(s, s->n - n, n, dim, rows);
    return WM_OK;
}

int64_t wmi_row_sample_thin(wmi_row_sample *s, int64_t first, int64_t most, int64_t dim,
                            double *rows)
{
    int64_t kept = first;

    for (int64_t i = first; i < s->n; i++)
        if (s->place[i] < s->share) {
            s->place[kept] = s->place[i];
            if (kept < i)
                memmove(rows + (kept - first) * dim, rows + (i - first) * dim,
                        (size_t)dim * sizeof *rows);
            kept++;
        }
    s->n = kept;
    if (kept - first <= most)
        return kept - first;
    s->share *= FALLS;
    return wmi_row_sample_thin(s, first, most, dim, rows);
}
