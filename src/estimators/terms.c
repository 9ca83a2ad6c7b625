/* terms.c - names of terms, joined (terms.h). */
#include "estimators/terms.h"

#include <stdio.h>
#include <string.h>

/* Names of the terms in `of`, with `between` between them. */
static const char *join(const wmi_term *table, int n, unsigned of, const char *between, char *buf,
                        size_t size)
{
    size_t at = 0;

    buf[0] = 0;
    for (int i = 0; i < n; i++)
        if (of & table[i].term && at < size) {
            const int put = snprintf(buf + at, size - at, "%s%s", at ? between : "", table[i].name);

            at += put > 0 ? (size_t)put : 0;
        }
    return buf;
}

const char *wmi_terms_text(const wmi_term *table, int n, unsigned model, char *buf, size_t size)
{
    return join(table, n, model, "+", buf, size);
}

wm_status wmi_terms_parse(const wmi_term *table, int n, const char *text, unsigned *out,
                          wm_error *err)
{
    char known[128];

    *out = 0;
    for (const char *p = text;; p++) {
        const size_t length = strcspn(p, "+");
        int i = 0;

        while (i < n && (strlen(table[i].name) != length || strncmp(p, table[i].name, length) != 0))
            i++;
        if (i == n)
            return wmi_fail(err, WM_EINVAL, "model '%.60s': '%.*s' is none of %s (joined by +)",
                            text, (int)(length < 40 ? length : 40), p,
                            join(table, n, ~0U, ", ", known, sizeof known));
        *out |= table[i].term;
        p += length;
        if (!*p)
            return WM_OK;
    }
}
