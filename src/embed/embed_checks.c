/* embed_checks.c - what could be wrong with a mutual information by separable bridges. */
#include <math.h>

#include "check/checks.h"
#include "check/impossible.h"
#include "embed/embed_impl.h"

static const double APART = 0.1;      /* share by which what scores say and tell may differ */
static const double NEAR_BOUND = 0.9; /* share of the most that InfoNCE can say */

/* Whether the scores' size and what they tell agree: a tenth apart, beyond three errors, they do
 * not. */
static void check_calibration(wm_checks *list, const wm_estimate *mi, const wm_estimate *calibrated)
{
    const double apart = mi->value - calibrated->value;
    const double noise = 3 * hypot(mi->se, calibrated->se);
    const double limit = fmax(APART * fabs(calibrated->value), noise);

    if (fabs(apart) > limit)
        wmi_checks_add(list, "calibration", fabs(apart), limit, WM_CHECK_DOUBT,
                       "The scores say %.3g nats and tell %.3g, %.2g apart where %.2g would pass: "
                       "they are too %s. Take the calibrated estimate, or fit longer.",
                       mi->value, calibrated->value, fabs(apart), limit,
                       apart > 0 ? "sure" : "timid");
    else
        wmi_checks_add(list, "calibration", fabs(apart), limit, WM_CHECK_OK,
                       "What the scores say and what they tell agree: %.3g and %.3g nats, %.2g "
                       "apart, of at most %.2g.",
                       mi->value, calibrated->value, fabs(apart), limit);
}

static void check_bound(wm_checks *list, double mi, double most)
{
    const double reached = mi / most;

    if (reached > NEAR_BOUND)
        wmi_checks_add(list, "bound", reached, NEAR_BOUND, WM_CHECK_DOUBT,
                       "The estimate is %.0f %% of the most that InfoNCE can say, more than %.0f "
                       "%%: the truth may be far above. The logistic objective has no such bound.",
                       100 * reached, 100 * NEAR_BOUND);
    else
        wmi_checks_add(list, "bound", reached, NEAR_BOUND, WM_CHECK_OK,
                       "The estimate is %.0f %% of the most that InfoNCE can say.", 100 * reached);
}

void wm_embed_check(const wm_embed *e, int64_t n, const wm_estimate *mi,
                    const wm_estimate *calibrated, wm_checks *list)
{
    const bool infonce = e->info.objective == WM_EMBED_INFONCE;
    wmi_easiest easiest = WMI_EASIEST_NONE;

    for (int64_t k = 0; !infonce && k < e->info.bridges; k++) {
        const wm_bridge b = wm_embed_get_bridge(e, k);

        wmi_easiest_see(&easiest, &(wmi_easiest){k, b.loss, b.accuracy, (double)NAN, (double)NAN});
    }
    if (infonce)
        check_bound(list, mi->value, log((double)e->info.batch_pairs));
    else
        wmi_check_chasm(list, &easiest, 0, "bridges or blocks");
    wmi_check_finished(list, e->info.finished);
    if (infonce)
        return;
    check_calibration(list, mi, calibrated);
    wmi_check_divergences(list, 1, &(wmi_divergence){"I(u; v)", *mi}, n);
}
