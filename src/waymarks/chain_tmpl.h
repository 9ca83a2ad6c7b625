/* chain_tmpl.h - the array work of chain.c over `real`: included there once for float and once for
 * double, with real and CHAIN(name) defined. No include guard: it is meant to be read twice. */

/* Row i of waymark k. */
static void CHAIN(row)(const wm_chain *c, const CHAIN(wm_ends) * e, int64_t k, int64_t i, real *out)
{
    const real *x0 = e->x0 + (e->row0 ? e->row0[i] : i) * c->dim;
    const real *xm = e->xm + (e->rowm ? e->rowm[i] : i) * c->dim;
    const int64_t *turns = e->turns ? e->turns + i * c->blocks : NULL;

    for (const wmi_column_run *r = c->runs; r < c->runs + c->n_runs; r++) {
        bool switched = false;

        if (r->kind == WM_COLUMN_LINEAR) {
            CHAIN(wm_waymark_linear)
            (c->alpha[k], r->count, x0 + r->from, xm + r->from, out + r->from);
            continue;
        }
        if (r->kind >= 0)
            switched = k >= c->switches[turns ? turns[r->kind] : r->kind];
        memcpy(out + r->from, (switched ? xm : x0) + r->from, (size_t)r->count * sizeof *out);
    }
}

void CHAIN(wm_chain_waymark)(const wm_chain *c, int64_t k, const CHAIN(wm_ends) * e, real *out)
{
#pragma omp parallel for schedule(static) if (e->rows * c->dim >= OMP_MIN)
    for (int64_t i = 0; i < e->rows; i++)
        CHAIN(row)(c, e, k, i, out + i * c->dim);
}

void CHAIN(wm_chain_waymarks)(const wm_chain *c, const CHAIN(wm_ends) * e, real *out)
{
    const int64_t rows = e->rows, all = (c->bridges + 1) * rows;

#pragma omp parallel for schedule(static) if (all * c->dim >= OMP_MIN)
    for (int64_t a = 0; a < all; a++)
        CHAIN(row)(c, e, a / rows, a % rows, out + a * c->dim);
}

/* Waymark k is the second half of bridge k - 1 and the first half of bridge k. */
static void CHAIN(place)(const wm_chain *c, int64_t rows, int64_t k, int64_t i, const real *from,
                         real *out)
{
    const size_t bytes = (size_t)c->dim * sizeof *out;

    if (k > 0)
        memcpy(out + ((2 * k - 1) * rows + i) * c->dim, from, bytes);
    if (k < c->bridges)
        memcpy(out + (2 * k * rows + i) * c->dim, from, bytes);
}

void CHAIN(wmi_chain_bridges)(const wm_chain *c, const CHAIN(wm_ends) * e, real *out)
{
    const int64_t rows = e->rows, all = (c->bridges + 1) * rows;

#pragma omp parallel for schedule(static) if (all * c->dim >= OMP_MIN)
    for (int64_t a = 0; a < all; a++) {
        const int64_t k = a / rows, i = a % rows;
        real *first = out + ((k > 0 ? 2 * k - 1 : 0) * rows + i) * c->dim;

        CHAIN(row)(c, e, k, i, first);
        if (k > 0 && k < c->bridges)
            memcpy(out + (2 * k * rows + i) * c->dim, first, (size_t)c->dim * sizeof *out);
    }
}

wm_status CHAIN(wmi_chain_bridges_mapped)(const wm_chain *c, const CHAIN(wm_ends) * e,
                                          CHAIN(wmi_map) * map, void *ctx, real *work, real *out,
                                          wm_error *err)
{
    const int64_t rows = e->rows, all = (c->bridges + 1) * rows;
    real *x = work + all * c->dim;
    wm_status st;

    CHAIN(wm_chain_waymarks)(c, e, work);
    if ((st = map(ctx, all, c->dim, work, x, err)))
        return st;
#pragma omp parallel for schedule(static) if (all * c->dim >= OMP_MIN)
    for (int64_t a = 0; a < all; a++)
        CHAIN(place)(c, rows, a / rows, a % rows, x + a * c->dim, out);
    return WM_OK;
}
