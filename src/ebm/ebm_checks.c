/* ebm_checks.c - what could be wrong with an energy-based model. */
#include <inttypes.h>
#include <math.h>

#include "check/checks.h"
#include "ebm/ebm_impl.h"

/* Nats by which log Z may miss 0, or three standard errors of AIS. */
static const double OFF = 0.5;
static const int64_t FEW_ROWS = 30; /* held out: their mean, and the step they choose, are chance */
static const double LEAST_ESS = 5;  /* chains that the weights of AIS must rest on */
/* Held-out logistic loss of neighbouring levels; 1.386 is chance, the rest is for its noise. */
static const double WORSE_THAN_CHANCE = 1.5;

/* Whether log Z is 0 within what AIS can tell, if its weights tell anything; NULL: nobody asked. */
static void check_normaliser(wm_checks *list, const wm_ais *ais)
{
    const double limit = ais ? fmax(OFF, 3 * ais->se) : OFF;

    if (!ais)
        wmi_checks_add_unknown(list, "normaliser", NAN, limit, true,
                               "Nobody has looked at log Z of phi, which the direct likelihood "
                               "takes as 0. A model may promise much where there are no data: "
                               "chains (AIS and RAISE) tell.");
    else if (ais->ess < LEAST_ESS)
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

/* Gradients that fit say nothing of how two levels differ: whether f_k - f_k+1 tells them apart. */
static void check_neighbours(const wm_ebm *e, wm_checks *list)
{
    int64_t worst = 0, many = 0;

    for (int64_t k = 0; k < e->info.bridges; k++) {
        worst = e->bridges[k].loss > e->bridges[worst].loss ? k : worst;
        many += e->bridges[k].loss > WORSE_THAN_CHANCE ? 1 : 0;
    }
    if (many)
        wmi_checks_add(list, "neighbours", e->bridges[worst].loss, WORSE_THAN_CHANCE,
                       WM_CHECK_DOUBT,
                       "%" PRId64 " of %" PRId64 " levels are told from the next one worse than by "
                       "chance (bridge %" PRId64 ": a loss of %.3f, chance is 1.386): where the "
                       "model puts its mass is not settled, and more training may help.",
                       many, e->info.bridges, worst, e->bridges[worst].loss);
    else
        wmi_checks_add(list, "neighbours", e->bridges[worst].loss, WORSE_THAN_CHANCE, WM_CHECK_OK,
                       "Levels are told from the next ones no worse than by chance (at most a loss "
                       "of %.3f; chance is 1.386).",
                       e->bridges[worst].loss);
}

/* Of a model whose file says nothing of rows, nothing is said. */
static void check_samples(wm_checks *list, const wm_ebm_info *info)
{
    if (info->n_valid > 0 && info->n_valid < FEW_ROWS)
        wmi_checks_add(list, "samples", (double)info->n_valid, (double)FEW_ROWS, WM_CHECK_DOUBT,
                       "Only %" PRId64 " row%s held out, of at least %" PRId64
                       ": how well the model fits others than its %" PRId64
                       " training rows, and the step of training that was best, are chance.",
                       info->n_valid, info->n_valid == 1 ? " was" : "s were", FEW_ROWS,
                       info->n_train);
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
    check_samples(list, &info);
    if (e->net.levels)
        check_neighbours(e, list);
    check_normaliser(list, ais);
}
