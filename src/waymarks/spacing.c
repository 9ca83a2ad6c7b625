/* spacing.c - the coefficients alpha_k of a chain (paper, appendix B; the symmetric form, the
 * lowest alpha and the dropped first bridge as in the authors' code). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/opts.h"
#include "waymark/waymarks.h"

void wm_spacing_init(wm_spacing *spacing)
{
    *spacing = (wm_spacing){.struct_size = sizeof *spacing, .kind = WM_SPACING_POWER, .power = 1};
}

/* One number that ends at `,` or at the end of the text; *text moves behind it. */
static bool read_number(const char **text, double *out)
{
    char *end;

    if (strchr(" \t\n\r\f\v", **text)) /* strtod would skip blanks; at the end of text, too */
        return false;
    *out = strtod(*text, &end);
    if (end == *text || (*end && *end != ','))
        return false;
    *text = end;
    return true;
}

static wm_status parse_list(wm_spacing *s, const char *text, wm_error *err)
{
    const char *at = text;

    s->n_list = 0;
    for (;;) {
        if (s->n_list == WM_ALPHAS_MAX)
            return wmi_fail(err, WM_EINVAL, "spacing list: more than %d values", WM_ALPHAS_MAX);
        if (!read_number(&at, &s->list[s->n_list]))
            return wmi_fail(err, WM_EINVAL,
                            "spacing list:%s: value %" PRId64 " ('%.20s') is not a number; write "
                            "list:0,0.1,1",
                            text, s->n_list + 1, at);
        s->n_list++;
        if (!*at)
            return WM_OK;
        at++;
    }
}

wm_status wm_spacing_parse(wm_spacing *spacing, const char *text, wm_error *err)
{
    static const struct {
        const char *word;
        wm_spacing_kind kind;
    } forms[] = {{"power:", WM_SPACING_POWER},
                 {"symmetric:", WM_SPACING_SYMMETRIC},
                 {"snr:", WM_SPACING_SNR}};
    wm_spacing s = *spacing;
    wm_status st;

    if (strncmp(text, "list:", 5) == 0) {
        s.kind = WM_SPACING_LIST;
        if ((st = parse_list(&s, text + 5, err)))
            return st;
        *spacing = s;
        return WM_OK;
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *at = text + strlen(forms[i].word);

        if (strncmp(text, forms[i].word, strlen(forms[i].word)) != 0)
            continue;
        if (!read_number(&at, &s.power) || *at || !(s.power > 0) || !isfinite(s.power))
            return wmi_fail(err, WM_EINVAL,
                            "spacing '%s': '%s' is not a %s; write a number above 0, such as "
                            "%s2",
                            text, text + strlen(forms[i].word),
                            forms[i].kind == WM_SPACING_SNR ? "logarithm" : "power", forms[i].word);
        s.kind = forms[i].kind;
        *spacing = s;
        return WM_OK;
    }
    return wmi_fail(err, WM_EINVAL,
                    "spacing '%s' is not known; write power:P, symmetric:P, snr:L or list:0,...,1",
                    text);
}

/* What a chain needs of its alphas. */
static wm_status check_increasing(const double *a, int64_t m, const char *remedy, wm_error *err)
{
    for (int64_t k = 0; k <= m; k++) {
        if (!(a[k] >= 0 && a[k] <= 1))
            return wmi_fail(err, WM_EINVAL, "spacing: alpha %" PRId64 " is %g, outside [0, 1]", k,
                            a[k]);
        if (k && !(a[k] > a[k - 1]))
            return wmi_fail(err, WM_EINVAL,
                            "spacing: alphas must increase, but alpha %" PRId64 " is %g and alpha "
                            "%" PRId64 " is %g; %s",
                            k - 1, a[k - 1], k, a[k], remedy);
    }
    return WM_OK;
}

static wm_status list_alphas(double *a, int64_t *m, const wm_spacing *s, int64_t bridges,
                             wm_error *err)
{
    wm_status st;

    if (s->n_list < 2 || s->n_list > WM_ALPHAS_MAX)
        return wmi_fail(err, WM_EINVAL,
                        "spacing list of %" PRId64 " values: 2 to %d are needed, 0 first and 1 "
                        "last",
                        s->n_list, WM_ALPHAS_MAX);
    *m = s->n_list - 1;
    memcpy(a, s->list, (size_t)s->n_list * sizeof *a);
    if ((st = check_increasing(a, *m, "sort the list and drop repeats", err)))
        return st;
    if (a[0] != 0)
        return wmi_fail(err, WM_EINVAL,
                        "spacing list starts at %g: start it at 0, the data (and drop the first "
                        "bridge if slightly perturbed data will do)",
                        a[0]);
    if (a[*m] != 1)
        return wmi_fail(err, WM_EINVAL, "spacing list ends at %g: end it at 1", a[*m]);
    if (bridges && bridges != *m - s->drop_first)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " bridges, but the spacing list makes %" PRId64
                        "; leave the number out or change the list",
                        bridges, *m - s->drop_first);
    return WM_OK;
}

/* alpha at a log of (1 - alpha^2) / alpha^2. */
static double alpha_of(double log_snr)
{
    return 1 / sqrt(1 + exp(log_snr));
}

static double snr_alpha(int64_t k, int64_t m, const wm_spacing *s)
{
    const double lowest = s->lowest > 0 ? s->lowest : 0.01,
                 from = log1p(-lowest * lowest) - 2 * log(lowest);

    const double ends = 1.6; /* steps there are 2.6 times those of the middle */
    const double u = 2 * (double)(k - 1) / (double)(m - 2) - 1, half = (from + s->power) / 2;

    if (k == 0 || k == m)
        return k == 0 ? 0 : 1;
    return k == 1 ? lowest : alpha_of(from - half - half * sinh(ends * u) / sinh(ends));
}

static wm_status formula_alphas(double *a, int64_t m, const wm_spacing *s, wm_error *err)
{
    if (!(s->power > 0) || !isfinite(s->power))
        return wmi_fail(err, WM_EINVAL, "spacing: power %g; it must be above 0", s->power);
    if (s->lowest != 0 && !(s->lowest > 0 && s->lowest < 1))
        return wmi_fail(err, WM_EINVAL, "spacing: lowest alpha %g; it must be in (0, 1)",
                        s->lowest);
    if (s->lowest != 0 && m < 2)
        return wmi_fail(err, WM_EINVAL,
                        "spacing: a lowest alpha of %g needs 2 bridges, %" PRId64 " asked for",
                        s->lowest, m);
    for (int64_t k = 0; k <= m; k++) {
        const double t = (double)k / (double)m, p = s->power;

        if (s->kind == WM_SPACING_SNR) {
            a[k] = snr_alpha(k, m, s);
        } else if (s->kind == WM_SPACING_SYMMETRIC) {
            a[k] = 2 * k <= m ? 0.5 * pow(2 * t, p) : 1 - 0.5 * pow(2 - 2 * t, p);
        } else if (s->lowest > 0) {
            const double root = pow(s->lowest, 1 / p);
            const double u = (double)(k - 1) / (double)(m - 1); /* 0 at the lowest, 1 at the end */

            a[k] = k == 0   ? 0
                   : k == 1 ? s->lowest
                   : k == m ? 1 /* neither end may move by a rounding */
                            : pow(root + (1 - root) * u, p);
        } else {
            a[k] = pow(t, p);
        }
    }
    return check_increasing(a, m, "choose a smaller power or fewer bridges", err);
}

static wm_status make_alphas(wm_alphas *out, const wm_spacing *spacing, int64_t bridges,
                             wm_error *err)
{
    /* A dropped bridge is made first: one more than the caller sees. */
    const int64_t drop = spacing->drop_first ? 1 : 0;
    int64_t m = bridges + drop;
    wm_status st;

    if (spacing->lowest != 0 && spacing->kind != WM_SPACING_POWER &&
        spacing->kind != WM_SPACING_SNR)
        return wmi_fail(err, WM_EINVAL,
                        "spacing: a lowest alpha (%g) goes with power and snr spacing only; "
                        "put it into the list, or choose power:P",
                        spacing->lowest);
    if (spacing->kind == WM_SPACING_LIST) {
        if ((st = list_alphas(out->alpha, &m, spacing, bridges, err)))
            return st;
    } else {
        if (bridges < 1 || m >= WM_ALPHAS_MAX)
            return wmi_fail(err, WM_EINVAL,
                            "%" PRId64 " bridges: at least 1 is needed (1 is a single ratio) and "
                            "at most %" PRId64 " can be had",
                            bridges, WM_ALPHAS_MAX - 1 - drop);
        if ((st = formula_alphas(out->alpha, m, spacing, err)))
            return st;
    }
    if (m - drop < 1)
        return wmi_fail(err, WM_EINVAL,
                        "spacing: dropping the first of %" PRId64 " bridges leaves none; add a "
                        "waymark or keep it",
                        m);
    out->bridges = m - drop;
    memmove(out->alpha, out->alpha + drop, (size_t)(out->bridges + 1) * sizeof *out->alpha);
    return WM_OK;
}

wm_status wm_spacing_alphas(wm_alphas *out, const wm_spacing *spacing, int64_t bridges,
                            wm_error *err)
{
    wm_spacing own;
    wm_status st;

    wm_spacing_init(&own);
    st = wmi_opts_take(&own, sizeof own, spacing, "wm_spacing_init", err);
    return st ? st : make_alphas(out, &own, bridges, err);
}
