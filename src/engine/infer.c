/* infer.c - shape inference that several ops share, and the one way in which it complains. */
#include "engine/infer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "engine/graph.h"

bool wmi_shape_equal(const wmi_shape *a, const wmi_shape *b)
{
    bool same = a->rank == b->rank;

    for (int i = 0; same && i < a->rank; i++)
        same = a->dim[i] == b->dim[i];
    return same;
}

wm_status wmi_infer_fail(const wmi_node *nd, wm_error *err, const char *fmt, ...)
{
    char text[256], why[160], shape[96];
    int at = snprintf(text, sizeof text, "%s '%s'", nd->op->name, nd->name);
    va_list ap;

    for (int i = 0; i < nd->n_in && at > 0 && (size_t)at < sizeof text; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%s", i ? ", " : " of ",
                       wmi_shape_text(&nd->in[i]->shape, shape));
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    return wmi_fail(err, WM_ESHAPE, "%s: %s", text, why);
}

wm_status wmi_infer_set(wmi_node *nd, int rank, const int64_t *dim, wm_error *err)
{
    int64_t n = 1;

    if (rank < 0 || rank > WMI_MAX_RANK)
        return wmi_infer_fail(nd, err, "rank %d, at most %d", rank, WMI_MAX_RANK);
    nd->shape = (wmi_shape){.rank = rank};
    for (int i = 0; i < rank; i++) {
        if (dim[i] < 0 || dim[i] > WMI_MAX_DIM || __builtin_mul_overflow(n, dim[i], &n) ||
            n > INT64_MAX / 64)
            return wmi_infer_fail(nd, err, "axis %d would have size %" PRId64, i, dim[i]);
        nd->shape.dim[i] = dim[i];
    }
    nd->n = n;
    return WM_OK;
}

wm_status wmi_infer_same(wmi_node *nd, wm_error *err)
{
    return wmi_infer_set(nd, nd->in[0]->shape.rank, nd->in[0]->shape.dim, err);
}

wm_status wmi_infer_broadcast(wmi_node *nd, wm_error *err)
{
    const wmi_shape *a = &nd->in[0]->shape, *b = &nd->in[1]->shape;
    const int rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t dim[WMI_MAX_RANK];

    for (int i = 0; i < rank; i++) {
        const int ia = i - (rank - a->rank), ib = i - (rank - b->rank);
        const int64_t da = ia < 0 ? 1 : a->dim[ia], db = ib < 0 ? 1 : b->dim[ib];

        if (da != db && da != 1 && db != 1)
            return wmi_infer_fail(nd, err, "sizes %" PRId64 " and %" PRId64 " do not broadcast", da,
                                  db);
        dim[i] = da == 1 ? db : da;
    }
    return wmi_infer_set(nd, rank, dim, err);
}
