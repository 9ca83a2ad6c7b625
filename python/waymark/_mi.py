"""Mutual information of pairs of rows."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ._base import core, seed_of, threads_of
from ._frames import schema_text, take_known, take_pairs
from ._ratio import StudyEstimator
from ._results import Estimate, Result


class MutualInformation(StudyEstimator):
    """I(u; v) in nats, with interval, checks and a verdict; row i of u and row i of v are a pair.

    Parameters as those of DensityRatio, and
    gaussianise : continuous columns are made normal by rank first, which leaves the mutual information as it is
    compare : also what InfoNCE, NWJ, DV, JS, SMILE and KSG say, in result_.compare

    >>> import waymark
    >>> u, v, truth = waymark.datasets.load("gaussian", n=2000)
    >>> mi = waymark.MutualInformation(n_jobs=1).fit(u, v)
    >>> bool(abs(mi.mi_.value - truth["mi"]) < 5 * mi.mi_.se)
    True
    """

    def __init__(self, model: str | list[str] = "auto", *, bridges: int | str = "auto", spacing: str = "auto",
                 objective: str = "logistic", folds: int = 5, ensemble: int = 1, iterations: int | None = None,
                 gaussianise: bool = True, compare: bool = False, missing: str = "refuse", on_doubt: str = "warn",
                 on_reject: str = "raise", time_limit: float | None = None, checkpoint: str | None = None,
                 random_state: Any = 1, n_jobs: int | None = None,
                 verbose: bool | Callable[..., Any] | None = None):
        self._keep(locals())

    @property
    def mi_(self) -> Estimate:
        """The mutual information."""
        self._fitted()
        return self.result_.mi

    def fit(self, u: Any, v: Any) -> MutualInformation:
        """From pairs: arrays, DataFrames or names of files with as many rows."""
        watch = self._watch()
        tables, schemas = take_pairs(u, v, self.missing, watch)
        joint, dim_u = np.hstack(tables), tables[0].shape[1]
        self._note_columns(schemas[0] + schemas[1])
        self.dim_u_ = dim_u
        info = self._study(joint, None, watch, pairs=dim_u, by_rank=self.gaussianise)
        info = {"mi": info.pop("kl_pq"), "dim_u": dim_u, "dim_v": joint.shape[1] - dim_u, **info}
        info.pop("kl_qp")
        if self.compare:
            info["compare"] = core.mi_methods(joint, schema_text(self.schema_), dim_u, self.gaussianise,
                                              seed_of(self.random_state), watch, threads_of(self.n_jobs))
        self.result_ = Result("mi", info, self.get_params(), self._figures())
        self._give_verdict(self.on_doubt, self.on_reject)
        return self

    def log_ratio(self, u: Any, v: Any) -> np.ndarray:
        """log p(u, v) / (p(u) p(v)) of pairs: pointwise mutual information."""
        self._fitted()
        a = take_known(u, self.schema_[: self.dim_u_], "u", self.missing, self._watch())
        b = take_known(v, self.schema_[self.dim_u_:], "v", self.missing, self._watch())
        if len(a) != len(b):
            raise ValueError(f"u has {len(a)} rows and v has {len(b)}")
        return self._log_ratio(np.hstack([a, b]))

    score_samples = log_ratio

    def score(self, u: Any, v: Any) -> float:
        """Mean log-ratio of pairs that the fit has not seen: their mutual information by this model, in nats."""
        log_r = self.log_ratio(u, v)
        return float(log_r[~np.isnan(log_r)].mean())  # missing="drop"
