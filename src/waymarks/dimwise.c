/* dimwise.c - dimension-wise mixing (paper, equation 5): waymark k has the first k blocks of
 * columns from x_m and the rest from x_0. Here: which block switches when. */
#include <inttypes.h>

#include "base/fail.h"
#include "base/rng.h"
#include "waymarks/chain.h"

/* Block t's moment is the middle of its share of the chain, (t + 1/2) / blocks, and it switches at
 * the next waymark: with as many blocks as bridges at t + 1, and one block alone half-way. */
int64_t wmi_chain_switch(int64_t t, int64_t blocks, int64_t bridges)
{
    return ((2 * t + 1) * bridges + 2 * blocks - 1) / (2 * blocks);
}

wm_status wm_columns_split(int64_t *columns, int64_t dim, int64_t blocks, wm_error *err)
{
    if (blocks < 1 || blocks > dim)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " blocks of %" PRId64 " columns: choose 1 to %" PRId64, blocks,
                        dim, dim);
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t j = b * dim / blocks; j < (b + 1) * dim / blocks; j++)
            columns[j] = b;
    return WM_OK;
}

void wm_chain_draw_turns(const wm_chain *chain, uint64_t seed, int64_t step, int64_t rows,
                         int64_t *turns)
{
    const wmi_rng all = wmi_rng_make(seed, "waymarks/turns");
    const wmi_rng now = wmi_rng_sub(&all, (uint64_t)step);

    for (int64_t i = 0; i < rows; i++) {
        const wmi_rng row = wmi_rng_sub(&now, (uint64_t)i);

        wmi_rng_permutation(&row, chain->blocks, turns + i * chain->blocks);
    }
}
