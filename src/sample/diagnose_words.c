/* diagnose_words.c - diagnostics as checks, in Stan's order and wording, each with what to try
 * next. Thresholds are those of Vehtari et al. (2021) and of Stan. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "check/checks.h"
#include "waymark/sample.h"

#define RHAT_MAX 1.01
/* R-hat squared less 1 is, of independent draws, (F - 1) / (draws / 2) with F the ratio of the
 * variances between and within half-chains, rarely above 3.5: with few draws R-hat says no more. */
#define RHAT_CHANCE 2.5
#define E_BFMI_MIN 0.3
#define ESS_PER_CHAIN 100

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

/* A number within its limit; of too few draws it may be unknown, which the warnings tell. */
static void fine(wm_checks *list, const char *name, double value, double limit, const char *what)
{
    if (isnan(value))
        wmi_checks_add_unknown(list, name, value, limit, false, "The %s cannot be computed.", what);
    else
        wmi_checks_add(list, name, value, limit, WM_CHECK_OK, "The %s is %.4g.", what, value);
}

static void about_moves(wm_checks *list, const wm_diagnosis *d)
{
    const double total = (double)d->chains * (double)d->draws;
    int64_t worst, n;

    if (d->divergent > 0)
        wmi_checks_add(list, "divergences", (double)d->divergent, 0, WM_CHECK_DOUBT,
                       "%" PRId64 " of %.0f (%.2g%%) transitions ended with a divergence: parts of "
                       "the density may not be visited. Try a target acceptance closer to 1 (0.9, "
                       "0.99), which takes smaller steps; if they stay, rescale or reparametrise.",
                       d->divergent, total, 100 * (double)d->divergent / total);
    else
        wmi_checks_add(list, "divergences", 0, 0, WM_CHECK_OK,
                       "No transition ended with a divergence.");
    if (d->saturated > 0)
        wmi_checks_add(list, "treedepth", (double)d->saturated, 0, WM_CHECK_DOUBT,
                       "%" PRId64 " of %.0f (%.2g%%) transitions hit the maximum treedepth limit "
                       "of %" PRId64 ": valid, but slow. Try a larger limit, a longer warm-up or "
                       "the diagonal mass.",
                       d->saturated, total, 100 * (double)d->saturated / total, d->max_depth);
    else
        wmi_checks_add(list, "treedepth", 0, 0, WM_CHECK_OK,
                       "No transition hit the maximum treedepth.");
    n = beyond(d->e_bfmi, d->chains, E_BFMI_MIN, false, &worst);
    if (n > 0)
        wmi_checks_add(list, "e_bfmi", d->e_bfmi[worst], E_BFMI_MIN, WM_CHECK_DOUBT,
                       "%" PRId64 " of %" PRId64 " chains had an E-BFMI below %.1f (least: %.2f, "
                       "chain %" PRId64 "): the energy moves too slowly for the tails. Try a "
                       "longer warm-up, or reparametrise.",
                       n, d->chains, E_BFMI_MIN, d->e_bfmi[worst], worst);
    else
        fine(list, "e_bfmi", d->e_bfmi[worst], E_BFMI_MIN, "least E-BFMI of the chains");
}

static void about_rhat(wm_checks *list, const wm_diagnosis *d)
{
    const double limit = fmax(RHAT_MAX, 1 + RHAT_CHANCE / (double)d->draws);
    int64_t worst, n, unknown = 0;

    for (int64_t k = 0; k < d->dim; k++)
        unknown += isnan(d->rhat[k]);
    if (unknown > 0)
        wmi_checks_add_unknown(list, "rhat_known", (double)unknown, 0, true,
                               "R-hat cannot be computed for %" PRId64 " of %" PRId64
                               " dimensions: %s",
                               unknown, d->dim,
                               d->draws < 4 ? "there are fewer than four draws a chain. Draw more."
                                            : "their draws do not move or are not finite. Look at "
                                              "the density there.");
    n = beyond(d->rhat, d->dim, limit, true, &worst);
    if (n > 0)
        wmi_checks_add(list, "rhat", d->rhat[worst], limit, WM_CHECK_DOUBT,
                       "%" PRId64 " of %" PRId64 " dimensions have an R-hat above %.2f (largest: "
                       "%.3g, dimension %" PRId64 "): the chains have not mixed, and means and "
                       "quantiles cannot be trusted. Try more warm-up and thinning; if that does "
                       "not help, the density may have separate modes.",
                       n, d->dim, limit, d->rhat[worst], worst);
    else
        fine(list, "rhat", d->rhat[worst], limit, "largest R-hat");
}

/* An effective sample size: name and kind of it, and what it is needed for. 100 a chain are wanted,
 * but not of draws that are fewer: who asked for these wants them to be good for half. */
static void about_ess(wm_checks *list, const char *name, const char *kind, const char *use,
                      const double *ess, const wm_diagnosis *d)
{
    const double wanted = fmin(ESS_PER_CHAIN, 0.5 * (double)d->draws) * (double)d->chains;
    int64_t worst, n = beyond(ess, d->dim, wanted, false, &worst);
    char least[64];

    snprintf(least, sizeof least, "least %s effective sample size", kind);
    if (n > 0)
        wmi_checks_add(list, name, ess[worst], wanted, WM_CHECK_DOUBT,
                       "%" PRId64 " of %" PRId64 " dimensions have a %s effective sample size "
                       "below %.0f, %.3g a chain (least: %.0f, dimension %" PRId64 "): %s may be "
                       "unreliable. Neighbouring draws are much alike: thin more.",
                       n, d->dim, kind, wanted, wanted / (double)d->chains, ess[worst], worst, use);
    else
        fine(list, name, ess[worst], wanted, least);
}

void wm_diagnose_checks(const wm_diagnosis *d, wm_checks *list)
{
    about_moves(list, d);
    about_rhat(list, d);
    about_ess(list, "ess_bulk", "bulk", "means and medians", d->ess_bulk, d);
    about_ess(list, "ess_tail", "tail", "variances and tail quantiles", d->ess_tail, d);
}
