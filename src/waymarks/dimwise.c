/* dimwise.c - dimension-wise mixing (paper, equation 5): waymark k has the first k blocks of
 * columns from x_m and the rest from x_0. Here: which block switches when. */
#include "base/rng.h"
#include "waymarks/chain.h"

/* Block t's moment is the middle of its share of the chain, (t + 1/2) / blocks, and it switches at
 * the next waymark: with as many blocks as bridges at t + 1, and one block alone half-way. */
int64_t wmi_chain_switch(int64_t t, int64_t blocks, int64_t bridges)
{
    return ((2 * t + 1) * bridges + 2 * blocks - 1) / (2 * blocks);
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
