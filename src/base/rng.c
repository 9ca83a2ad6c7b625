/* rng.c - Philox4x32-10 by Random123, and the maps from its words to uniforms and normals.
 * Arrays are made in chunks of 16 blocks that lie on a fixed grid of the sequence, each computed
 * whole even if only a part is asked for: so an element's bits depend neither on the range it was
 * drawn in nor on the threads, whatever the compiler does to the inner loops. */
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include <Random123/philox.h>

#define OMP_MIN 65536 /* elements: 0.4 ms of work, where a second thread begins to pay */

enum { CHUNK = 16 }; /* blocks in a chunk */

typedef union chunk {
    float f32[4 * CHUNK];  /* a block makes 4 floats: element 4b + i comes from word i ... */
    double f64[2 * CHUNK]; /* ... or 2 doubles: element 2b + i comes from words 2i, 2i + 1 */
} chunk;

typedef void chunk_maker(const wmi_rng *rng, uint64_t block, chunk *out);

static philox4x32_ctr_t philox(const wmi_rng *rng, uint64_t block)
{
    const philox4x32_ctr_t ctr = {{(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)rng->high,
                                   (uint32_t)(rng->high >> 32)}};
    const philox4x32_key_t key = {{(uint32_t)rng->key, (uint32_t)(rng->key >> 32)}};

    return philox4x32_R(10, ctr, key);
}

static uint64_t join(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

/* A step of a Davies-Meyer hash with Philox as the cipher and the message as its key. Draws use the
 * state the other way round (half of it is their key), so a sub-stream is not a draw of its parent.
 */
static wmi_rng absorb(wmi_rng state, uint64_t message)
{
    const wmi_rng cipher = {.key = message, .high = state.high};
    const philox4x32_ctr_t r = philox(&cipher, state.key);

    state.key ^= join(r.v[0], r.v[1]);
    state.high ^= join(r.v[2], r.v[3]);
    return state;
}

wmi_rng wmi_rng_make(uint64_t seed, const char *stream)
{
    const size_t length = strlen(stream);
    wmi_rng state = absorb((wmi_rng){0}, seed);

    for (size_t i = 0; i < length; i += 8) { /* 8 bytes at a time, the same on every machine */
        uint64_t word = 0;

        for (size_t j = i; j < length && j < i + 8; j++)
            word |= (uint64_t)(unsigned char)stream[j] << 8 * (j - i);
        state = absorb(state, word);
    }
    return absorb(state, length);
}

wmi_rng wmi_rng_sub(const wmi_rng *rng, uint64_t index)
{
    return absorb(*rng, index);
}

void wmi_rng_block(const wmi_rng *rng, uint64_t block, uint32_t out[4])
{
    const philox4x32_ctr_t r = philox(rng, block);

    memcpy(out, r.v, sizeof r.v);
}

/* Words of a chunk, transposed so that the maps below run over contiguous vectors. */
static void chunk_words(const wmi_rng *rng, uint64_t block, uint32_t w[4][CHUNK])
{
    for (uint64_t j = 0; j < CHUNK; j++) {
        const philox4x32_ctr_t r = philox(rng, block + j);

        for (int i = 0; i < 4; i++)
            w[i][j] = r.v[i];
    }
}

static void uniform_f32(const wmi_rng *rng, uint64_t block, chunk *out)
{
    uint32_t w[4][CHUNK];

    chunk_words(rng, block, w);
    for (int j = 0; j < CHUNK; j++)
        for (int i = 0; i < 4; i++)
            out->f32[4 * j + i] = ((float)(w[i][j] >> 9) + 0.5F) * 0x1p-23F;
}

static double open_unit(uint32_t low, uint32_t high)
{
    return ((double)(join(low, high) >> 12) + 0.5) * 0x1p-52;
}

static void uniform_f64(const wmi_rng *rng, uint64_t block, chunk *out)
{
    uint32_t w[4][CHUNK];

    chunk_words(rng, block, w);
    for (int j = 0; j < CHUNK; j++)
        for (int i = 0; i < 2; i++)
            out->f64[2 * j + i] = open_unit(w[2 * i][j], w[2 * i + 1][j]);
}

/* log u for u in (0, 1]: u = m 2^e with m in [sqrt(1/2), sqrt(2)), polynomial of Cephes' logf.
 * Error below 1.5 units in the last place; libm's logf cannot be vectorised without -ffast-math. */
static inline float log_unit(float u)
{
    uint32_t bits;
    float m, x, y, e;
    int32_t exponent;

    memcpy(&bits, &u, sizeof bits);
    exponent = (int32_t)(bits - 0x3f3504f3U) >> 23; /* 0x3f3504f3 is sqrt(1/2) */
    bits -= (uint32_t)exponent << 23;
    memcpy(&m, &bits, sizeof m);
    x = m - 1;
    e = (float)exponent;
    y = 7.0376836292e-2F;
    y = y * x - 1.1514610310e-1F;
    y = y * x + 1.1676998740e-1F;
    y = y * x - 1.2420140846e-1F;
    y = y * x + 1.4249322787e-1F;
    y = y * x - 1.6668057665e-1F;
    y = y * x + 2.0000714765e-1F;
    y = y * x - 2.4999993993e-1F;
    y = y * x + 3.3333331174e-1F;
    y = y * x * x * x - 2.12194440e-4F * e - 0.5F * x * x; /* log 2 in two parts */
    return x + y + 0.693359375F * e;
}

/* The radius word gives u in [2^-32, 1], so r = sqrt(-2 log u) lies in [0, 6.67]. The angle is
 * quarter * pi/2 + t with |t| <= pi/4, split exactly in integers; polynomials of Cephes' sinf,
 * cosf. */
static inline void box_muller_f32(uint32_t radius, uint32_t angle, float *z0, float *z1)
{
    const float u = ((float)(int32_t)(radius >> 1) + 0.5F) * 0x1p-31F;
    const float r = sqrtf(-2 * log_unit(u));
    const uint32_t quarter = (angle + 0x20000000U) >> 30;
    const float t = (float)(int32_t)(angle - (quarter << 30)) * (1.57079633F * 0x1p-30F);
    const float t2 = t * t;
    const float s =
        t + t * t2 * (-1.6666654611e-1F + t2 * (8.3321608736e-3F - 1.9515295891e-4F * t2));
    const float c =
        1 - 0.5F * t2 +
        t2 * t2 *
            (4.166664568298827e-2F + t2 * (-1.388731625493765e-3F + 2.443315711809948e-5F * t2));
    const float sine = quarter & 1 ? c : s, cosine = quarter & 1 ? s : c;

    *z0 = r * ((quarter + 1) & 2 ? -cosine : cosine);
    *z1 = r * (quarter & 2 ? -sine : sine);
}

static void normal_f32(const wmi_rng *rng, uint64_t block, chunk *out)
{
    uint32_t w[4][CHUNK];
    float z[4][CHUNK];

    chunk_words(rng, block, w);
    for (int i = 0; i < 4; i += 2) {
#pragma omp simd
        for (int j = 0; j < CHUNK; j++)
            box_muller_f32(w[i][j], w[i + 1][j], &z[i][j], &z[i + 1][j]);
    }
    for (int j = 0; j < CHUNK; j++)
        for (int i = 0; i < 4; i++)
            out->f32[4 * j + i] = z[i][j];
}

static void normal_f64(const wmi_rng *rng, uint64_t block, chunk *out)
{
    const double two_pi = 6.283185307179586;
    uint32_t w[4][CHUNK];

    chunk_words(rng, block, w);
    for (int j = 0; j < CHUNK; j++) {
        const double r = sqrt(-2 * log(open_unit(w[0][j], w[1][j])));
        const double angle = two_pi * open_unit(w[2][j], w[3][j]);

        out->f64[2 * j] = r * cos(angle);
        out->f64[2 * j + 1] = r * sin(angle);
    }
}

/* Elements [first, first + n) of `size` bytes each, from the chunks that cover them. */
static void fill(const wmi_rng *rng, uint64_t first, int64_t n, size_t size, chunk_maker *make,
                 void *out)
{
    const uint64_t per_chunk = sizeof(chunk) / size, end = first + (uint64_t)n;
    const uint64_t chunk0 = first / per_chunk;
    int64_t n_chunks;

    assert(n >= 0 && end >= first && end <= UINT64_C(1) << 63);
    if (n <= 0)
        return;
    n_chunks = (int64_t)((end - 1) / per_chunk - chunk0 + 1);
#pragma omp parallel for schedule(static) if (n >= OMP_MIN)
    for (int64_t k = 0; k < n_chunks; k++) {
        const uint64_t start = (chunk0 + (uint64_t)k) * per_chunk;
        const uint64_t lo = start > first ? start : first;
        const uint64_t hi = start + per_chunk < end ? start + per_chunk : end;
        chunk values;

        make(rng, (chunk0 + (uint64_t)k) * CHUNK, &values);
        memcpy((unsigned char *)out + (lo - first) * size,
               (unsigned char *)&values + (lo - start) * size, (hi - lo) * size);
    }
}

void wmi_rng_uniform_f32(const wmi_rng *rng, uint64_t first, int64_t n, float *out)
{
    fill(rng, first, n, sizeof *out, uniform_f32, out);
}

void wmi_rng_uniform_f64(const wmi_rng *rng, uint64_t first, int64_t n, double *out)
{
    fill(rng, first, n, sizeof *out, uniform_f64, out);
}

void wmi_rng_normal_f32(const wmi_rng *rng, uint64_t first, int64_t n, float *out)
{
    fill(rng, first, n, sizeof *out, normal_f32, out);
}

void wmi_rng_normal_f64(const wmi_rng *rng, uint64_t first, int64_t n, double *out)
{
    fill(rng, first, n, sizeof *out, normal_f64, out);
}

uint64_t wmi_rng_u64(const wmi_rng *rng, uint64_t index)
{
    const philox4x32_ctr_t r = philox(rng, index / 2);

    return index % 2 ? join(r.v[2], r.v[3]) : join(r.v[0], r.v[1]);
}

int64_t wmi_rng_below(const wmi_rng *rng, uint64_t index, int64_t bound)
{
    __extension__ typedef unsigned __int128 uint128;

    assert(bound >= 1);
    return (int64_t)((uint128)wmi_rng_u64(rng, index) * (uint128)bound >> 64);
}

void wmi_rng_permutation(const wmi_rng *rng, int64_t n, int64_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = i;
    for (int64_t i = n - 1; i > 0; i--) { /* Fisher-Yates */
        const int64_t j = wmi_rng_below(rng, (uint64_t)i, i + 1), kept = out[i];

        out[i] = out[j];
        out[j] = kept;
    }
}

void wmi_rng_box_muller_f32(const uint32_t words[2], float z[2])
{
    box_muller_f32(words[0], words[1], &z[0], &z[1]);
}
