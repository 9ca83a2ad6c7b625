/* chain.c - waymarks as rows of arrays: one table per chain says what each column does, and rows
 * are made independently of each other, in any order and by any thread. */
#include "waymarks/chain.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

#define OMP_MIN 65536 /* values: below, waking the threads costs more than they save */

/* Number of blocks, all of 0 .. blocks-1 in use; whether any column is linear or mixed. */
static wm_status read_columns(const int64_t *columns, int64_t dim, int64_t *blocks, bool *linear,
                              wm_error *err)
{
    bool *seen = NULL;
    wm_status st;

    *blocks = 0;
    *linear = false;
    if ((st = wmi_alloc(&seen, dim, sizeof *seen, "blocks of columns", err)))
        return st;
    for (int64_t j = 0; j < dim; j++) {
        const int64_t kind = columns ? columns[j] : WM_COLUMN_LINEAR;

        if (kind < WM_COLUMN_KEPT || kind >= dim) {
            st = wmi_fail(err, WM_EINVAL,
                          "column %" PRId64 ": block %" PRId64 ", with %" PRId64
                          " columns blocks are numbered 0 to %" PRId64 " at most",
                          j + 1, kind, dim, dim - 1);
            goto done;
        }
        *linear = *linear || kind == WM_COLUMN_LINEAR;
        if (kind >= 0)
            seen[kind] = true;
        if (kind >= *blocks)
            *blocks = kind + 1;
    }
    for (int64_t b = 0; b < *blocks; b++)
        if (!seen[b]) {
            st = wmi_fail(err, WM_EINVAL,
                          "no column is in block %" PRId64 " of %" PRId64
                          "; number the blocks without gaps",
                          b, *blocks);
            goto done;
        }
done:
    wmi_free(seen);
    return st;
}

static wm_status check(int64_t bridges, const wm_alphas *alphas, int64_t dim, int64_t blocks,
                       bool linear, wm_error *err)
{
    if (linear && !alphas)
        return wmi_fail(err, WM_EINVAL, "linear columns need alphas, and none were given");
    if (linear && alphas->bridges != bridges)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " bridges, but the alphas are for %" PRId64,
                        bridges, alphas->bridges);
    if (!linear && blocks == 0)
        return wmi_fail(err, WM_EINVAL,
                        "all %" PRId64 " columns are kept: let some be linear or mixed", dim);
    if (!linear && blocks < bridges)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " bridges from %" PRId64 " blocks of mixed columns: some "
                        "waymarks would be the same; use at most %" PRId64 " bridges",
                        bridges, blocks, blocks);
    return WM_OK;
}

static int64_t kind_of(const int64_t *columns, int64_t j)
{
    return columns ? columns[j] : WM_COLUMN_LINEAR;
}

static wm_status fill(wm_chain *c, const wm_alphas *alphas, const int64_t *columns, wm_error *err)
{
    const int64_t n = c->bridges + 1;
    wm_status st;

    c->n_runs = 1;
    for (int64_t j = 1; j < c->dim; j++)
        c->n_runs += kind_of(columns, j) != kind_of(columns, j - 1);
    if ((st = wmi_alloc(&c->alpha, n, sizeof *c->alpha, "alphas", err)) ||
        (st = wmi_alloc(&c->runs, c->n_runs, sizeof *c->runs, "runs of columns", err)) ||
        (st = wmi_alloc(&c->switches, c->blocks, sizeof *c->switches, "turns of blocks", err)))
        return st;
    for (int64_t k = 0; k < n; k++)
        c->alpha[k] = alphas ? alphas->alpha[k] : (double)k / (double)c->bridges;
    for (int64_t t = 0; t < c->blocks; t++)
        c->switches[t] = wmi_chain_switch(t, c->blocks, c->bridges);
    for (int64_t j = 0, r = -1; j < c->dim; j++) {
        if (j == 0 || kind_of(columns, j) != kind_of(columns, j - 1))
            c->runs[++r] = (wmi_column_run){.from = j, .kind = kind_of(columns, j)};
        c->runs[r].count++;
    }
    return WM_OK;
}

wm_status wm_chain_new(wm_chain **out, int64_t bridges, const wm_alphas *alphas, int64_t dim,
                       const int64_t *columns, wm_error *err)
{
    wm_chain *c = NULL;
    int64_t blocks;
    bool linear;
    wm_status st;

    *out = NULL;
    if (bridges < 1)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " bridges: at least 1 is needed (1 is a single ratio)", bridges);
    if (dim < 1)
        return wmi_fail(err, WM_EINVAL, "waymarks of %" PRId64 " columns: at least 1 is needed",
                        dim);
    if ((st = read_columns(columns, dim, &blocks, &linear, err)) ||
        (st = check(bridges, alphas, dim, blocks, linear, err)) ||
        (st = wmi_alloc(&c, 1, sizeof *c, "a chain of waymarks", err)))
        goto done;
    c->bridges = bridges;
    c->dim = dim;
    c->blocks = blocks;
    if ((st = fill(c, linear ? alphas : NULL, columns, err)))
        goto done;
    *out = c;
    c = NULL;
done:
    wm_chain_free(c);
    return st;
}

void wm_chain_free(wm_chain *chain)
{
    if (!chain)
        return;
    wmi_free(chain->alpha);
    wmi_free(chain->runs);
    wmi_free(chain->switches);
    wmi_free(chain);
}

int64_t wm_chain_bridges(const wm_chain *chain)
{
    return chain->bridges;
}

int64_t wm_chain_dim(const wm_chain *chain)
{
    return chain->dim;
}

int64_t wm_chain_blocks(const wm_chain *chain)
{
    return chain->blocks;
}

void wmi_chain_coefficients(const wm_chain *chain, int64_t k, double *a, double *b)
{
    for (int64_t r = 0; r < chain->n_runs; r++) {
        const wmi_column_run *run = &chain->runs[r];

        for (int64_t j = run->from; j < run->from + run->count; j++) {
            const bool linear = run->kind == WM_COLUMN_LINEAR;
            const bool turned = run->kind >= 0 && k >= chain->switches[run->kind];
            const double alpha = linear ? chain->alpha[k] : turned;

            a[j] = sqrt(1 - alpha * alpha);
            b[j] = alpha;
        }
    }
}

#define real float
#define CHAIN(name) name##_f32
#include "waymarks/chain_tmpl.h"
#undef real
#undef CHAIN

#define real double
#define CHAIN(name) name##_f64
#include "waymarks/chain_tmpl.h"
