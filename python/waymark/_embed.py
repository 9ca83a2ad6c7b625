"""Representations: g(u), from which v can be told."""

from __future__ import annotations

import json
from typing import Any, Callable

import numpy as np

from ._base import Estimator, core, joint_settings, seed_of, threads_of
from ._frames import schema_text, take_known, take_pairs
from ._results import Estimate, Result


class Embedding(Estimator):
    """A representation of u that is learned from pairs (u, v); a transformer for scikit-learn.

    Parameters
    ----------
    features : columns of the representation
    bridges : "auto" or int
    objective : "logistic", or "infonce" for comparison
    iterations, batch, lr, width, blocks : of the networks and their training
    held_out : share of the pairs; half of them choose the best step, half test it
    missing, on_doubt, on_reject, time_limit, checkpoint, random_state, n_jobs, verbose : as in DensityRatio

    Attributes
    ----------
    result_ : Result, with mi (by test pairs), mi_calibrated, bridges, checks, verdict

    >>> import waymark
    >>> u, v, truth = waymark.datasets.load("gaussian", n=1000)
    >>> e = waymark.Embedding(features=8, iterations=50, on_doubt="ignore", on_reject="ignore", n_jobs=1).fit(u, v)
    >>> e.transform(u).shape
    (1000, 8)
    """

    _save = staticmethod(core.embed_save)

    def __init__(self, features: int = 128, *, bridges: int | str = "auto", objective: str = "logistic",
                 iterations: int = 10000, batch: int = 512, lr: float = 1e-3, width: int = 128, blocks: int = 1,
                 held_out: float = 0.2, missing: str = "refuse", on_doubt: str = "warn", on_reject: str = "raise",
                 time_limit: float | None = None, checkpoint: str | None = None, random_state: Any = 1,
                 n_jobs: int | None = None, verbose: bool | Callable[..., Any] | None = None):
        self._keep(locals())

    @property
    def mi_(self) -> Estimate:
        """The mutual information of the pairs, by those that trained nothing."""
        self._fitted()
        return self.result_.mi

    def fit(self, u: Any, v: Any) -> Embedding:
        """From pairs: row i of u and row i of v."""
        watch = self._watch()
        tables, schemas = take_pairs(u, v, self.missing, watch)
        n, seed = len(tables[0]), seed_of(self.random_state)
        order = np.random.default_rng(seed).permutation(n)
        settings = joint_settings(
            objective=self.objective, bridges=None if self.bridges == "auto" else self.bridges, width=self.width,
            blocks=self.blocks, features=self.features, iterations=self.iterations, batch=self.batch, lr=self.lr,
            seed=seed, time_limit=self.time_limit, checkpoint=self.checkpoint)
        self._note_columns(schemas[0])
        try:
            self._model, info = core.embed(*[np.ascontiguousarray(t[order]) for t in tables],
                                           *[schema_text(s) for s in schemas], self.held_out, settings, watch,
                                           threads_of(self.n_jobs))
        finally:
            watch.close()
        self._width = info["features"]
        self.result_ = Result("embed fit", info, self.get_params())
        self._give_verdict(self.on_doubt, self.on_reject)
        return self

    def transform(self, u: Any) -> np.ndarray:
        """g(u), float32."""
        self._fitted()
        rows = take_known(u, self.schema_, "u", "refuse" if self.missing == "drop" else self.missing, self._watch(),
                          owner=type(self).__name__)
        out = np.empty((len(rows), self._width), dtype=np.float32)
        core.embed_rows(self._model, rows, out, threads_of(self.n_jobs))
        return out

    predict = transform

    def fit_transform(self, u: Any, v: Any) -> np.ndarray:
        """fit, then transform."""
        return self.fit(u, v).transform(u)

    def score(self, u: Any = None, v: Any = None) -> float:
        """The mutual information by the test pairs of the fit, in nats; more is better."""
        return self.mi_.value

    def _open(self, path: str) -> None:
        self._model, self._width, schema = core.embed_load(path)
        if not hasattr(self, "schema_"):
            if schema is None:
                raise ValueError(f"{path}: a model of images, which only the command can use")
            self._note_columns(json.loads(schema)["columns"])
