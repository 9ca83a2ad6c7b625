/* named_numbers.h - numbers that are a function of (name, index), which the scripts that make
 * reference values make as well (named_numbers.py). */
#ifndef WM_TESTS_NAMED_NUMBERS_H
#define WM_TESTS_NAMED_NUMBERS_H

#include <stdint.h>

/* FNV-1a of the name, mixed with the index by MurmurHash3's finaliser. */
static inline uint32_t named_hash(const char *name, uint32_t i)
{
    uint32_t h = 2166136261u;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    h ^= i * 0x9E3779B1u;
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}

/* In [-1, 1), multiples of 2^-23: exact in single precision too. */
static inline double named_uniform(const char *name, int64_t i)
{
    return (double)(named_hash(name, (uint32_t)i) >> 8) / 8388608.0 - 1;
}

#endif
