"""The extension, loaded when it is first needed."""

from __future__ import annotations

import os

_CORETYPE = "OPENBLAS_CORETYPE"


def _blas_core() -> str | None:
    """What OpenBLAS should take this processor for: releases take those that came after them for the
    oldest that they know, and choose their kernels while they are loaded."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
            text = f.read(8192)
    except OSError:
        return None
    flags = set(text.partition("\nflags")[2].partition("\n")[0].split())
    if {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= flags:
        return "SkylakeX"
    return "Haswell" if {"avx2", "fma"} <= flags else None


def _load():
    core = None if _CORETYPE in os.environ else _blas_core()
    if core:
        os.environ[_CORETYPE] = core
    try:
        from . import _waymark
    finally:
        if core:
            del os.environ[_CORETYPE]  # other libraries choose for themselves
    return _waymark


core = _load()
