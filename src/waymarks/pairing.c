/* pairing.c - which rows meet at a step, without a table of permutations to store or to rebuild:
 * place i of round e of a table of n rows is a pseudo-random permutation of 0 .. n-1, computed for
 * that place alone. Small tables are shuffled outright; for larger ones it is a Feistel network on
 * the next power of two, walked until it lands below n (Black and Rogaway 2002). */
#include "base/rng.h"
#include "waymark/waymarks.h"

enum {
    SMALL = 256, /* rows: a shuffle costs as much as a small batch, and halves of fewer than five
                    bits would mix poorly */
    ROUNDS = 8
};

typedef struct shuffle {
    int64_t n, round;     /* round < 0: nothing drawn yet */
    int half[2];          /* bits of the two halves, together enough for n */
    uint64_t key[ROUNDS]; /* of this round */
    int64_t row[SMALL];   /* of this round, if n <= SMALL */
} shuffle;

/* The finaliser of MurmurHash3: every bit of x moves every bit of the result. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

static void shuffle_start(shuffle *s, int64_t n)
{
    int bits = 0;

    while (bits < 62 && (int64_t)1 << bits < n)
        bits++;
    s->n = n;
    s->round = -1;
    s->half[0] = bits / 2;
    s->half[1] = bits - bits / 2;
}

static int64_t feistel(const shuffle *s, int64_t x)
{
    uint64_t part[2]; /* low and high half */

    part[0] = (uint64_t)x & (((uint64_t)1 << s->half[0]) - 1);
    part[1] = (uint64_t)x >> s->half[0];
    for (int r = 0; r < ROUNDS; r++) {
        const int to = r & 1;

        part[to] ^= mix(part[1 - to] ^ s->key[r]) & (((uint64_t)1 << s->half[to]) - 1);
    }
    return (int64_t)(part[1] << s->half[0] | part[0]);
}

/* The row at a place of the endless way through the table. */
static int64_t shuffle_row(shuffle *s, const wmi_rng *rng, uint64_t place)
{
    const int64_t round = (int64_t)(place / (uint64_t)s->n);
    int64_t x = (int64_t)(place % (uint64_t)s->n);

    if (round != s->round) {
        const wmi_rng now = wmi_rng_sub(rng, (uint64_t)round);

        s->round = round;
        if (s->n <= SMALL)
            wmi_rng_permutation(&now, s->n, s->row);
        else
            for (int r = 0; r < ROUNDS; r++)
                s->key[r] = wmi_rng_u64(&now, (uint64_t)r);
    }
    if (s->n <= SMALL)
        return s->row[x];
    do { /* fewer than two turns on average; it comes back below n since x itself is */
        x = feistel(s, x);
    } while (x >= s->n);
    return x;
}

static void draw(uint64_t seed, const char *stream, int64_t step, int64_t n, int64_t rows,
                 int64_t *out)
{
    const wmi_rng rng = wmi_rng_make(seed, stream);
    shuffle s;

    shuffle_start(&s, n);
    for (int64_t i = 0; i < rows; i++)
        out[i] = shuffle_row(&s, &rng, (uint64_t)step * (uint64_t)rows + (uint64_t)i);
}

void wm_pairing_draw(uint64_t seed, int64_t step, int64_t n0, int64_t nm, int64_t rows,
                     int64_t *row0, int64_t *rowm)
{
    if (row0)
        draw(seed, "waymarks/p0", step, n0, rows, row0);
    if (rowm)
        draw(seed, "waymarks/pm", step, nm, rows, rowm);
}
