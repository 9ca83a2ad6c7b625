/* doubt.c - identifiers are numbers of rows in disguise: two samples that were written one after
 * the other differ in them completely, and nothing is learned from that. */
#include "data/table/doubt.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/utf8.h"
#include "waymark/sink.h"

enum { FEW_ROWS = 20, CHANCE_PAIRS = 5 };

/* Every value above the one before it. */
static bool rises(const double *x, int64_t n, int64_t dim)
{
    for (int64_t i = 1; i < n; i++)
        if (!(x[i * dim] > x[(i - 1) * dim]))
            return false;
    return true;
}

/* No value twice, to the number's surprise: of n values in a range of R, n^2 / 2R pairs would be
 * equal by chance. surprise: pairs that are enough. The first rows mostly tell; scratch: (n). */
static bool all_differ(const double *x, int64_t n, int64_t dim, double surprise, double *scratch)
{
    for (int64_t k = n < 1000 ? n : 1000;; k = n) {
        for (int64_t i = 0; i < k; i++) {
            if (isnan(x[i * dim]))
                return false;
            scratch[i] = x[i * dim];
        }
        wmi_sort_f64(scratch, k);
        for (int64_t i = 1; i < k; i++)
            if (scratch[i] == scratch[i - 1])
                return false;
        if (k == n)
            return (double)n * (double)n / 2 >= surprise * (scratch[n - 1] - scratch[0] + 1);
    }
}

/* id, ID, user_id, userId, index, key, uuid, obs, rownames. */
static bool says_identifier(const char *name)
{
    static const char *const whole[] = {"id", "index", "key", "uuid", "obs", "rownames", "row"};
    static const char *const ends[] = {"_id", "Id", "ID", ".id", " id"};
    const size_t n = name ? strlen(name) : 0;

    for (size_t i = 0; name && i < sizeof whole / sizeof *whole; i++)
        if (strcmp(name, whole[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (n >= strlen(ends[i]) && strcmp(name + n - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

wm_status wmi_doubt_identifiers(const wm_schema *s, const char *label, const wm_data *d,
                                const wm_sink *sink, wm_error *err)
{
    const int64_t n = wm_data_count(d), dim = wm_data_dim(d);
    double *scratch = NULL;
    wm_status st;

    if (!sink || n < FEW_ROWS)
        return WM_OK;
    if ((st = wmi_alloc(&scratch, n, sizeof *scratch, "values", err)))
        return st;
    for (int64_t j = 0; j < dim; j++) {
        const double *x = wm_data_rows(d) + j;
        const bool measured = wm_schema_kind(s, j) == WM_KIND_CONTINUOUS;
        const char *name = wm_schema_name(s, j);
        bool rising, distinct;
        char what[96];

        if (measured && wmi_schema_written(s, j)->script != WMI_DATE)
            continue;
        rising = rises(x, n, dim);
        distinct = !rising && !measured &&
                   all_differ(x, n, dim, says_identifier(name) ? 0 : CHANCE_PAIRS, scratch);
        if (!rising && !distinct)
            continue;
        wm_say(sink, WM_LOG_WARN, "%s: %s %s: drop it if it is an identifier%s",
               wmi_text_tail(label), wm_schema_describe(s, j, what, sizeof what),
               rising ? "rises with every row" : "is different in every row",
               rising ? " or a date" : "");
    }
    wmi_free(scratch);
    return WM_OK;
}
