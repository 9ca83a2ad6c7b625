#!/usr/bin/python3
"""Makes rng_values.h: elements of Waymark's random streams from a second implementation, written
from the paper (Salmon et al. 2011) and the comments of src/base/rng.h, in plain Python.
Usage: make_rng_values.py > rng_values.h"""
from math import cos, log, pi, sin, sqrt

M32, M64 = 2**32 - 1, 2**64 - 1


def philox(ctr, key):
    c, k = list(ctr), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & M32, (a >> 32) ^ c[3] ^ k[1], a & M32]
        k = [(k[0] + 0x9E3779B9) & M32, (k[1] + 0xBB67AE85) & M32]
    return c


def split(*words64):
    return [h for w in words64 for h in (w & M32, w >> 32)]


def absorb(state, message):
    r = philox(split(*state), split(message))
    return state[0] ^ (r[0] | r[1] << 32), state[1] ^ (r[2] | r[3] << 32)


def make(seed, name):
    state, data = absorb((0, 0), seed), name.encode()
    for i in range(0, len(data), 8):
        state = absorb(state, int.from_bytes(data[i:i + 8], "little"))
    return absorb(state, len(data))


def u64(state, index):
    r = philox(split(index // 2, state[1]), split(state[0]))
    return r[2 * (index % 2)] | r[2 * (index % 2) + 1] << 32


def word(state, index):
    return philox(split(index // 4, state[1]), split(state[0]))[index % 4]


def uniform(state, index):
    return ((u64(state, index) >> 12) + 0.5) * 2.0**-52


def normal(state, index):
    u, v = uniform(state, index & ~1), uniform(state, index | 1)
    return sqrt(-2 * log(u)) * (sin if index & 1 else cos)(2 * pi * v)


def normal_f32(state, index):  # in double: what the float version approximates
    u = ((word(state, index & ~1) >> 1) + 0.5) * 2.0**-31
    return sqrt(-2 * log(u)) * (sin if index & 1 else cos)(2 * pi * word(state, index | 1) * 2.0**-32)


def row(f, state, first, n=6):
    return "{" + ", ".join(f(state, first + i) for i in range(n)) + "}"


assert philox([0] * 4, [0] * 2) == [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]
FIRST = 2**40 + 1
print("/* clang-format off */")
print("/* Made by make_rng_values.py: elements FIRST .. FIRST + 5 of each stream. Do not edit. */")
print(f"#define FIRST UINT64_C({FIRST})")
print("""static const struct {
    uint64_t seed, sub; /* sub is UINT64_MAX for the stream itself */
    const char *name;
    uint64_t u64[6];
    double uniform[6], normal[6];
    double uniform_f32[6], normal_f32[6];
} stored[] = {""")
for seed, name, sub in [(1, "batch", None), (2, "batch", None), (1, "batch", 0), (1, "batch", 7),
                        (M64, "a stream name of more than 8 bytes", None), (0, "", None)]:
    s = make(seed, name)
    s = s if sub is None else absorb(s, sub)
    print(f'    {{UINT64_C({seed}), {"UINT64_MAX" if sub is None else sub}, "{name}",')
    print("     " + row(lambda t, i: f"0x{u64(t, i):016x}", s, FIRST) + ",")
    print("     " + row(lambda t, i: repr(uniform(t, i)), s, FIRST) + ",")
    print("     " + row(lambda t, i: repr(normal(t, i)), s, FIRST) + ",")
    print("     " + row(lambda t, i: repr(((word(t, i) >> 9) + 0.5) * 2.0**-23), s, FIRST) + ",")
    print("     " + row(lambda t, i: repr(normal_f32(t, i)), s, FIRST) + "},")
print("};")
