/* rng.h - random numbers as a function of (seed, stream name, index): Philox4x32-10 (Salmon et al.
 * 2011). There is no state to advance, save or share: a checkpoint keeps the seed and the step, any
 * thread may draw any element, and drawing a range at once or in pieces gives the same bits.
 *
 * One wmi_rng is one sequence. Its draws of different kinds (uniform, normal, u64, permutation)
 * read the same Philox blocks, so two quantities that must be independent need two stream names or
 * two sub-streams. All functions are safe to call from any thread. */
#ifndef WMI_BASE_RNG_H
#define WMI_BASE_RNG_H

#include <stdint.h>

/* Block b is Philox with key `key` of the counter (b, high), low words first. Plain data: copy it.
 */
typedef struct wmi_rng {
    uint64_t key, high;
} wmi_rng;

/* The sequence of a seed and a name such as "batch": 128 bits hashed from both, so that other names
 * and neighbouring seeds give unrelated sequences. */
wmi_rng wmi_rng_make(uint64_t seed, const char *stream);
/* Sub-stream `index` of rng, for instance step t or chain c; nests. Unrelated to rng's own draws.
 */
wmi_rng wmi_rng_sub(const wmi_rng *rng, uint64_t index);

/* The 128 bits of block `block`: what every draw below is made of. */
void wmi_rng_block(const wmi_rng *rng, uint64_t block, uint32_t out[4]);

/* In the functions below out[i] is element first + i of the sequence; first + n <= 2^63. */

/* Uniform on the open interval (0, 1), symmetric about 1/2: odd multiples of 2^-24 and of 2^-53. */
void wmi_rng_uniform_f32(const wmi_rng *rng, uint64_t first, int64_t n, float *out);
void wmi_rng_uniform_f64(const wmi_rng *rng, uint64_t first, int64_t n, double *out);
/* Standard normal by Box-Muller, always finite: |z| < 6.67 in float and < 8.58 in double, where
 * what is cut off has probability 3e-11 and 1e-17. Float: 6 ns an element on one core. */
void wmi_rng_normal_f32(const wmi_rng *rng, uint64_t first, int64_t n, float *out);
void wmi_rng_normal_f64(const wmi_rng *rng, uint64_t first, int64_t n, double *out);

/* Element `index` as 64 random bits. */
uint64_t wmi_rng_u64(const wmi_rng *rng, uint64_t index);
/* Element `index` as an integer in [0, bound), bound >= 1. Each value's probability is within 2^-64
 * of 1 / bound: no experiment of fewer than 2^64 / bound draws could tell. */
int64_t wmi_rng_below(const wmi_rng *rng, uint64_t index, int64_t bound);
/* A uniform permutation of 0 .. n-1, from elements 1 .. n-1. Serial. */
void wmi_rng_permutation(const wmi_rng *rng, int64_t n, int64_t *out);

/* The float Box-Muller step, open to the tests because its extreme inputs are too rare to draw:
 * words (radius, angle) into two normals. */
void wmi_rng_box_muller_f32(const uint32_t words[2], float z[2]);

#endif
