/* terms.c - names of terms, joined (terms.h). */
#include "nn/terms.h"

#include <stdio.h>
#include <string.h>

static const char *const names[WMI_TERMS] = {"linear", "quadratic", "additive", "mlp",
                                             "resnet", "separable", "mixture"};

const char *wmi_term_name(int i)
{
    return names[i];
}

/* Names of the terms in `of`, with `between` between them. */
static const char *join(unsigned of, const char *between, char *buf, size_t size)
{
    size_t at = 0;

    buf[0] = 0;
    for (int i = 0; i < WMI_TERMS; i++)
        if (of & 1u << i && at < size) {
            const int put = snprintf(buf + at, size - at, "%s%s", at ? between : "", names[i]);

            at += put > 0 ? (size_t)put : 0;
        }
    return buf;
}

const char *wmi_terms_text(unsigned model, char *buf, size_t size)
{
    return join(model, "+", buf, size);
}

wm_status wmi_terms_parse(unsigned known, const char *text, unsigned *out, wm_error *err)
{
    char words[128];

    *out = 0;
    for (const char *p = text;; p++) {
        const size_t length = strcspn(p, "+");
        int i = 0;

        while (i < WMI_TERMS && (!(known & 1u << i) || strlen(names[i]) != length ||
                                 strncmp(p, names[i], length) != 0))
            i++;
        if (i == WMI_TERMS)
            return wmi_fail(err, WM_EINVAL, "model '%.60s': '%.*s' is none of %s (joined by +)",
                            text, (int)(length < 40 ? length : 40), p,
                            join(known, ", ", words, sizeof words));
        *out |= 1u << i;
        p += length;
        if (!*p)
            return WM_OK;
    }
}
