/* pick.c - columns of an array. Text tables pick theirs before values are read, because those that
 * are left out need not be numbers. */
#include "data/formats/pick.h"

#include "base/alloc.h"

typedef struct picked {
    wmi_cursor base;
    wmi_cursor *all;
    wmi_selection selection;
    double *rows; /* (room, all->dim) */
    int64_t room;
} picked;

static void pick_close(wmi_cursor *base)
{
    picked *p = (picked *)base;

    p->all->close(p->all);
    wmi_selection_free(&p->selection);
    wmi_free(p->rows);
    wmi_free(p);
}

static void pick_where(const wmi_cursor *base, int64_t row, char *buf, size_t size)
{
    const picked *p = (const picked *)base;

    p->all->where(p->all, row, buf, size);
}

static wm_status pick_next(wmi_cursor *base, int64_t max, double *rows, int64_t *got, wm_error *err)
{
    picked *p = (picked *)base;
    const int64_t width = p->all->dim, dim = base->dim;
    wm_status st;

    *got = 0;
    if (max > p->room) {
        wmi_free(p->rows);
        p->room = 0;
        if ((st = wmi_alloc(&p->rows, max * width, sizeof *p->rows, "rows", err)))
            return st;
        p->room = max;
    }
    if ((st = p->all->next(p->all, max, p->rows, got, err)))
        return st;
    for (int64_t i = 0; i < *got; i++)
        for (int64_t j = 0; j < dim; j++)
            rows[i * dim + j] = p->rows[i * width + p->selection.from[j]];
    return WM_OK;
}

wm_status wmi_pick_columns(wmi_cursor **cursor, wmi_selection *s, wm_error *err)
{
    picked *p = NULL;
    wm_status st;

    if (s->whole) {
        wmi_selection_free(s);
        return WM_OK;
    }
    if ((st = wmi_alloc(&p, 1, sizeof *p, "columns", err))) {
        wmi_selection_free(s);
        return st;
    }
    p->all = *cursor;
    p->selection = *s;
    *s = (wmi_selection){0};
    p->base = (wmi_cursor){.dim = p->selection.dim,
                           .count = p->all->count,
                           .sized = p->all->sized,
                           .integers = p->all->integers,
                           .bools = p->all->bools,
                           .from = p->selection.from,
                           .width = p->all->dim,
                           .next = pick_next,
                           .where = pick_where,
                           .close = pick_close};
    *cursor = &p->base;
    return WM_OK;
}
