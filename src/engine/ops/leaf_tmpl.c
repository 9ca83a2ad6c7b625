/* leaf_tmpl.c - nodes that compute nothing: inputs and parameters, whose memory comes from outside
 * the plan, and reshape, which is its input's memory under another shape. */
#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/real.h"

static wm_status leaf_infer(wmi_node *nd, wm_error *err)
{
    const wmi_leaf_attr *at = nd->attr;
    return wmi_infer_set(nd, at->rank, at->dim, err);
}

static wm_status reshape_infer(wmi_node *nd, wm_error *err)
{
    const wmi_reshape_attr *at = nd->attr;
    char text[96];
    const wm_status st = wmi_infer_set(nd, at->rank, at->dim, err);
    if (st)
        return st;
    if (nd->n != nd->in[0]->n)
        return wmi_infer_fail(nd, err, "%lld elements do not fit %s", (long long)nd->in[0]->n,
                              wmi_shape_text(&nd->shape, text));
    return WM_OK;
}

DEFINE_OP(input, .n_in = 0, .infer = leaf_infer, .flags = WMI_OP_LEAF);
DEFINE_OP(param, .n_in = 0, .infer = leaf_infer, .flags = WMI_OP_LEAF);
DEFINE_OP(reshape, .n_in = 1, .infer = reshape_infer, .flags = WMI_OP_ALIAS);
