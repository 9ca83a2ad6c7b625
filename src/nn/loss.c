/* loss.c - objectives by name, and the mean over bridges. */
#include "nn/loss.h"

/* The builder is NULL for an objective that is not a mean over bridges. */
static const struct {
    const char *name;
    wmi_node *(*build)(wmi_graph *g, wmi_node *s, wmi_node *weights, int64_t n_num);
} objectives[] = {
    [WMI_LOGISTIC] = {"logistic", wmi_logistic_loss},
    [WMI_NWJ] = {"nwj", wmi_nwj_loss},
    [WMI_LSQ] = {"lsq", wmi_lsq_loss},
    [WMI_MULTINOMIAL] = {"multinomial", NULL},
    [WMI_INFONCE] = {"infonce", NULL},
    [WMI_DENOISE] = {"denoise", NULL},
};

const char *wmi_objective_name(wmi_objective o)
{
    return objectives[o].name;
}

wmi_node *wmi_loss_bridges(wmi_graph *g, wmi_objective o, wmi_node *scores, wmi_node *weights,
                           int64_t n_num, wmi_node **per_bridge)
{
    wmi_node *losses;

    if (per_bridge)
        *per_bridge = NULL;
    if (!objectives[o].build)
        return wmi_graph_fail(g, WM_EINVAL,
                              "the %s objective is not a mean over bridges: it needs %s",
                              objectives[o].name,
                              o == WMI_INFONCE   ? "all pairs"
                              : o == WMI_DENOISE ? "levels"
                                                 : "labelled rows");
    losses = objectives[o].build(g, scores, weights, n_num);
    if (per_bridge)
        *per_bridge = losses;
    return wmi_mean(g, losses, WMI_ALL_AXES);
}

wmi_node *wmi_infonce_loss(wmi_graph *g, wmi_node *scores, wmi_node *own)
{
    return wmi_mean(g, wmi_sub(g, wmi_logsumexp(g, scores), own), WMI_ALL_AXES);
}
