"""Draws with their statistics, and our samplers on a log-density written in Python."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ._base import core, seed_of, threads_of
from ._progress import Watch
from ._results import Check

STATISTICS = {"lp": np.float64, "acceptance_rate": np.float64, "step_size": np.float64, "energy": np.float64,
              "tree_depth": np.int64, "n_steps": np.int64, "diverging": np.bool_}


class Draws:
    """x [chain, draw, dim] with sample statistics [chain, draw]: lp, acceptance_rate, step_size, energy, tree_depth,
    n_steps, diverging; and rhat, ess_bulk, ess_tail, checks, verdict where there are four draws or more."""

    def __init__(self, raw: dict[str, Any], names: list[str | None] | None = None):
        chains, draws, dim = raw["shape"]
        self.x = np.frombuffer(raw["x"], dtype=np.float64).reshape(chains, draws, dim)
        self.names = [n or f"x{j}" for j, n in enumerate(names or [None] * dim)]
        self.sample_stats: dict[str, Any] = {k: np.frombuffer(raw[k], dtype=t).reshape(chains, draws) for k, t in STATISTICS.items()}
        found = raw.get("diagnosis")
        self.diagnosis = {k: np.frombuffer(found[k], dtype=np.float64)
                          for k in ("mean", "sd", "rhat", "ess_bulk", "ess_tail")} if found else {}
        self.verdict = found["verdict"] if found else None
        self.checks = [Check(c["name"], c["outcome"], c["value"], c["limit"], c["meaning"])
                       for c in found["checks"]] if found else []

    def __getattr__(self, name: str) -> np.ndarray:
        for kept in ("sample_stats", "diagnosis"):
            if name in self.__dict__.get(kept, {}):
                return self.__dict__[kept][name]
        raise AttributeError(name)

    def to_arviz(self) -> Any:
        """ArviZ's InferenceData, for its plots and summaries."""
        import arviz

        posterior = {n: self.x[:, :, j] for j, n in enumerate(self.names)}
        try:
            return arviz.from_dict(posterior=posterior, sample_stats=self.sample_stats)
        except TypeError:  # from 1.0 on groups come as one dict
            return arviz.from_dict({"posterior": posterior, "sample_stats": self.sample_stats})

    def __repr__(self) -> str:
        chains, draws, dim = self.x.shape
        lines = [f"{chains} chains of {draws} draws of {dim} columns"]
        for j, n in enumerate(self.names[:10] if self.diagnosis else []):
            lines.append(f"  {n:<12} mean {self.mean[j]:.4g}, sd {self.sd[j]:.4g}, R-hat {self.rhat[j]:.3f}, "
                         f"ESS {self.ess_bulk[j]:.0f}")
        lines += [str(c) for c in self.checks if c.outcome != "ok"]
        return "\n".join(lines + ([f"Verdict: {self.verdict}."] if self.verdict else []))


def sample(log_density: Callable[[np.ndarray], Any], start: Any, *, draws: int = 1000, warmup: int = 1000,
           kernel: str = "nuts", random_state: Any = 1, n_jobs: int | None = 1,
           verbose: bool | Callable[..., Any] | None = None, **settings: Any) -> Draws:
    """Draws of a density of your own by NUTS, HMC or MALA.

    log_density takes points (n, dim), of all chains at once, and returns their log-densities (n) and gradients (n, dim).
    start has a row for each chain. Settings: target_accept, step_size, hmc_steps, thin, mass, max_depth, warmup_depth.

    >>> import numpy as np, waymark
    >>> def normal(x):
    ...     return -0.5 * (x**2).sum(axis=1), -x
    >>> drawn = waymark.sample(normal, np.zeros((4, 2)), draws=200, warmup=200)
    >>> drawn.x.shape
    (4, 200, 2)
    """
    points = np.ascontiguousarray(start, dtype=np.float64)
    if points.ndim != 2:
        raise ValueError(f"start: a row for each chain is needed, not an array of {points.ndim} axes")
    dim = points.shape[1]

    def evaluate(x: memoryview, log_f: memoryview, grad: memoryview | None, n: int) -> None:
        answer = log_density(np.frombuffer(x, dtype=np.float64).reshape(n, dim))
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise TypeError("log_density: two arrays are to be returned, log-densities and gradients")
        for got, shape, into, what in ((answer[0], (n,), log_f, "log-densities"), (answer[1], (n, dim), grad, "gradients")):
            if np.shape(got) != shape:
                raise ValueError(f"log_density: {what} have shape {np.shape(got)}, and {n} points of {dim} columns need {shape}")
            if into is not None:
                np.frombuffer(into, dtype=np.float64).reshape(shape)[:] = got

    watch = Watch(verbose)
    out = core.sample(evaluate, points, {"draws": draws, "warmup": warmup, "kernel": kernel,
                                         "seed": seed_of(random_state), **settings}, watch, threads_of(n_jobs))
    watch.close()
    return Draws(out)
