/* diagnose_words.c - diagnostics in sentences, in Stan's order and wording, each with what to try
 * next. Thresholds are those of Vehtari et al. (2021) and of Stan. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "waymark/sample.h"

#define RHAT_MAX 1.01
#define E_BFMI_MIN 0.3
#define ESS_PER_CHAIN 100

typedef struct list {
    char (*text)[WM_WARNING_BYTES];
    int64_t n;
} list;

__attribute__((format(printf, 2, 3))) static void add(list *l, const char *fmt, ...)
{
    va_list ap;

    if (l->n == WM_WARNINGS_MAX)
        return;
    va_start(ap, fmt);
    vsnprintf(l->text[l->n++], WM_WARNING_BYTES, fmt, ap);
    va_end(ap);
}

/* How many of v (n) are above, or below, a limit; the place of the worst. */
static int64_t beyond(const double *v, int64_t n, double limit, bool above, int64_t *worst)
{
    int64_t count = 0;

    *worst = 0;
    for (int64_t i = 0; i < n; i++) {
        count += above ? v[i] > limit : v[i] < limit;
        if (isnan(v[*worst]) || (above ? v[i] > v[*worst] : v[i] < v[*worst]))
            *worst = i;
    }
    return count;
}

static void about_moves(list *l, const wm_diagnosis *d, double total)
{
    int64_t worst, n;

    if (d->divergent > 0)
        add(l,
            "%" PRId64
            " of %.0f (%.2g%%) transitions ended with a divergence: parts of the density "
            "may not be visited. Try a target acceptance closer to 1 (0.9, 0.99), which takes "
            "smaller "
            "steps; if they stay, rescale or reparametrise.",
            d->divergent, total, 100 * (double)d->divergent / total);
    if (d->saturated > 0)
        add(l,
            "%" PRId64 " of %.0f (%.2g%%) transitions hit the maximum treedepth limit of %" PRId64
            ": valid, but slow. Try a larger limit, a longer warm-up or the diagonal mass.",
            d->saturated, total, 100 * (double)d->saturated / total, d->max_depth);
    n = beyond(d->e_bfmi, d->chains, E_BFMI_MIN, false, &worst);
    if (n > 0)
        add(l,
            "%" PRId64 " of %" PRId64
            " chains had an E-BFMI below %.1f (least: %.2f, chain %" PRId64
            "): the energy moves too slowly for the tails. Try a longer warm-up, or reparametrise.",
            n, d->chains, E_BFMI_MIN, d->e_bfmi[worst], worst);
}

static void about_agreement(list *l, const wm_diagnosis *d)
{
    const double wanted = ESS_PER_CHAIN * (double)d->chains;
    int64_t worst, n, unknown = 0;

    for (int64_t k = 0; k < d->dim; k++)
        unknown += isnan(d->rhat[k]);
    if (unknown > 0)
        add(l, "R-hat cannot be computed for %" PRId64 " of %" PRId64 " dimensions: %s", unknown,
            d->dim,
            d->draws < 4 ? "there are fewer than four draws a chain. Draw more."
                         : "their draws do not move or are not finite. Look at the density there.");
    n = beyond(d->rhat, d->dim, RHAT_MAX, true, &worst);
    if (n > 0)
        add(l,
            "%" PRId64 " of %" PRId64
            " dimensions have an R-hat above %.2f (largest: %.3g, dimension %" PRId64
            "): the chains have not mixed, and means and quantiles cannot be trusted. Try more "
            "warm-up and draws; if that does not help, the density may have separate modes.",
            n, d->dim, RHAT_MAX, d->rhat[worst], worst);
    n = beyond(d->ess_bulk, d->dim, wanted, false, &worst);
    if (n > 0)
        add(l,
            "%" PRId64 " of %" PRId64
            " dimensions have a bulk effective sample size below %.0f, %d a "
            "chain (least: %.0f, dimension %" PRId64
            "): means and medians may be unreliable. Draw more.",
            n, d->dim, wanted, ESS_PER_CHAIN, d->ess_bulk[worst], worst);
    n = beyond(d->ess_tail, d->dim, wanted, false, &worst);
    if (n > 0)
        add(l,
            "%" PRId64 " of %" PRId64
            " dimensions have a tail effective sample size below %.0f, %d a "
            "chain (least: %.0f, dimension %" PRId64 "): variances and tail quantiles may be "
            "unreliable. Draw more.",
            n, d->dim, wanted, ESS_PER_CHAIN, d->ess_tail[worst], worst);
}

int64_t wm_diagnose_warnings(const wm_diagnosis *d, char text[WM_WARNINGS_MAX][WM_WARNING_BYTES])
{
    list l = {.text = text};

    about_moves(&l, d, (double)d->chains * (double)d->draws);
    about_agreement(&l, d);
    return l.n;
}
