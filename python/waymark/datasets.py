"""Problems whose answer is known, to try estimators on.

>>> from waymark import datasets
>>> "shift" in datasets.names()
True
>>> p, q, truth = datasets.load("shift", n=100, mean_p=0, mean_q=1)
>>> p.shape, round(truth["kl_pq"], 3)
((100, 1), 0.5)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._core import core
from ._frames import table_of


def problems() -> list[dict[str, Any]]:
    """Name, kind ("ratio" or "mi"), one line about it, and parameters of each."""
    return core.problems()


def names(kind: str | None = None) -> list[str]:
    """Of all problems, or of those of a kind: "ratio" (two samples), "mi" (pairs)."""
    return [p["name"] for p in problems() if kind in (None, p["kind"])]


def _settings(settings: dict[str, float]) -> dict[str, float]:
    return {k.replace("_", "-"): float(v) for k, v in settings.items()}


def load(name: str, n: int = 10000, *, n_second: int | None = None, random_state: int = 1, stream: str = "train",
         shape_seed: int = 1, **settings: float) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    """Two samples, p and q, or u and v, and the truth: kl_pq and kl_qp, or mi, in nats.

    Other streams under one random_state give unrelated rows of the same problem: "train", "test". Settings are the
    parameters of the problem, with _ for -.
    """
    a, b, truth = core.problem_draw(name, _settings(settings), shape_seed, n, n if n_second is None else n_second,
                                    random_state, stream)
    return table_of(a), table_of(b), truth


def log_ratio(name: str, a: Any, b: Any = None, *, shape_seed: int = 1, **settings: float) -> np.ndarray:
    """The true log-ratio at rows of your own: x, or u and v."""
    first = np.ascontiguousarray(a, dtype=np.float64)
    out = np.empty(len(first))
    core.problem_log_ratio(name, _settings(settings), shape_seed, first,
                           None if b is None else np.ascontiguousarray(b, dtype=np.float64), out)
    return out
