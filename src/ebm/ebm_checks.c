/* ebm_checks.c - what could be wrong with an energy-based model. */
#include <inttypes.h>
#include <math.h>

#include "check/checks.h"
#include "ebm/ebm_impl.h"

/* Nats by which log Z may miss 0, or three standard errors of AIS. */
static const double OFF = 0.5;
static const double LEAST_ESS = 5; /* chains that the weights of AIS must rest on */

/* Whether log Z is 0 within what AIS can tell, if its weights tell anything. */
static void check_normaliser(wm_checks *list, const wm_ais *ais)
{
    const double limit = fmax(OFF, 3 * ais->se);

    if (ais->ess < LEAST_ESS)
        wmi_checks_add_unknown(list, "normaliser", ais->ess, LEAST_ESS, true,
                               "The weights of AIS rest on %.1f of %" PRId64
                               " chains, fewer than %.0f, so log Z is not known: more steps of AIS "
                               "may tell.",
                               ais->ess, ais->used, LEAST_ESS);
    else if (fabs(ais->log_z) <= limit)
        wmi_checks_add(list, "normaliser", ais->log_z, limit, WM_CHECK_OK,
                       "By AIS log Z of phi is %.2f +- %.2f nats, within %.2f of 0: direct "
                       "likelihoods hold to that.",
                       ais->log_z, ais->se, limit);
    else
        wmi_checks_add(list, "normaliser", ais->log_z, limit, WM_CHECK_DOUBT,
                       "By AIS log Z of phi is %.2f +- %.2f nats, not within %.2f of 0: direct "
                       "likelihoods are off by that; more training or more bridges may help.",
                       ais->log_z, ais->se, limit);
}

void wm_ebm_check(const wm_ebm *e, const wm_ais *ais, wm_checks *list)
{
    wmi_easiest easiest = WMI_EASIEST_NONE;
    wm_ebm_info info;

    wm_ebm_get_info(e, &info);
    for (int64_t k = 0; k < info.bridges; k++) {
        wm_bridge b;

        wm_ebm_get_bridge(e, k, &b);
        wmi_easiest_see(&easiest, &(wmi_easiest){k, b.loss, b.accuracy, b.alpha_from, b.alpha_to});
    }
    wmi_check_chasm(list, &easiest, 0, "bridges");
    wmi_check_finished(list, info.finished);
    if (ais)
        check_normaliser(list, ais);
}
