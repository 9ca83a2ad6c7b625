"""Numbers that are a function of (name, index), which the C tests make as well (named_numbers.h)."""
import numpy as np


def hash32(name, count):
    """FNV-1a of the name, mixed with the index by MurmurHash3's finaliser."""
    h = 2166136261
    for byte in name.encode():
        h = ((h ^ byte) * 16777619) % 2**32
    with np.errstate(over="ignore"):
        k = np.uint32(h) ^ (np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B1))
        k = (k ^ (k >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        k = (k ^ (k >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        return k ^ (k >> np.uint32(16))


def uniform(name, count):
    """In [-1, 1), multiples of 2^-23: exact in single precision too."""
    return (hash32(name, count) >> np.uint32(8)).astype(np.float64) / 2**23 - 1
