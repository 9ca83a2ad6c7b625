"""The log-ratio of two densities from samples, and weights for covariate shift."""

from __future__ import annotations

import json
from typing import Any, Callable, Literal, Sequence, overload

import numpy as np

from ._base import Estimator, core, joint_settings, seed_of, threads_of
from ._columns import is_path
from ._frames import check_known, schema_text, take_known, take_tables
from ._load import model_schema
from ._results import Result


def model_list(model: str | list[str] | tuple[str, ...]) -> list[str]:
    if model == "auto":
        return []
    if not isinstance(model, (str, list, tuple)):
        raise TypeError(f"model={model!r}: a text as 'quadratic+mlp' is needed, or a list of them")
    return [model] if isinstance(model, str) else list(model)


class StudyEstimator(Estimator):
    """What ratios and mutual information share: a study, and log-ratios at points."""

    _save = staticmethod(core.ratio_save)

    def _open(self, path: str) -> None:
        self._model = core.ratio_load(path)

    def _study(self, p: np.ndarray, q: np.ndarray | None, watch: Any, weights: Sequence[Any] = (None, None),
               **more: Any) -> dict[str, Any]:
        settings = joint_settings(
            bridges=None if self.bridges == "auto" else self.bridges,
            spacing=None if self.spacing == "auto" else self.spacing, objective=self.objective,
            folds=self.folds, ensemble=self.ensemble, iterations=self.iterations, seed=seed_of(self.random_state),
            time_limit=self.time_limit, checkpoint=self.checkpoint, **more)
        try:
            self._model = core.study(p, q, schema_text(self.schema_), model_list(self.model), settings, *weights,
                                     watch, threads_of(self.n_jobs))
        finally:
            watch.close()
        return core.study_info(self._model)

    def _figures(self) -> Callable[[str], None]:
        model, schema = self._model, schema_text(self.schema_)
        return lambda folder: core.study_figures(model, schema, folder)

    def _log_ratio(self, x: np.ndarray) -> np.ndarray:
        out = np.empty(x.shape[0])
        self.n_far_ = core.log_ratio(self._fitted(), x, out, threads_of(self.n_jobs))
        return out

    def _held_out(self, side: int) -> np.ndarray:
        return np.frombuffer(core.held_out(self._model, side), dtype=np.float64)


class DensityRatio(StudyEstimator):
    """log p(x) / q(x) from a sample of p and one of q, by a telescope of bridges between them.

    Parameters
    ----------
    model : "auto", or a model as "quadratic+mlp", or a list of candidates
        Terms: linear, quadratic, additive, mlp. The best by held-out loss is kept.
    bridges : "auto" or int
    spacing : "auto", "power:P", "symmetric:P" or "list:0,0.2,1"
    objective : "logistic", "nwj", "lsq" or "multinomial"
    folds : fits, so that no row is judged by one that has seen it
    ensemble : networks in each fold
    iterations : of networks; None: by the amount of data
    missing : "refuse", "drop" or "mean": what is done with missing values
    on_doubt, on_reject : "raise", "warn" or "ignore"
    time_limit : seconds; the best so far is the answer
    checkpoint : files that begin so keep the state of a long fit, which goes on from there
    random_state : int, or a generator of NumPy's; None is chance
    n_jobs : threads; None or -1: all cores
    verbose : None: a progress bar where there is a terminal or notebook; True, False; or a callable

    Attributes
    ----------
    result_ : Result, with kl_pq, kl_qp, verdict, checks, columns, bridges
    log_ratios_p_, log_ratios_q_ : at the rows of the fit, each by fits that have not seen the row
    n_far_ : of the rows of the last log_ratio, those far outside of the samples

    >>> import waymark
    >>> p, q, truth = waymark.datasets.load("shift", mean_p=0, mean_q=1, n=2000)
    >>> ratio = waymark.DensityRatio(n_jobs=1).fit(p, q)
    >>> bool(ratio.result_.kl_pq.lo < truth["kl_pq"] < ratio.result_.kl_pq.hi)
    True
    >>> round(float(ratio.weights(q).mean()), 6)
    1.0
    """

    def __init__(self, model: str | list[str] = "auto", *, bridges: int | str = "auto", spacing: str = "auto",
                 objective: str = "logistic", folds: int = 5, ensemble: int = 1, iterations: int | None = None,
                 missing: str = "refuse", on_doubt: str = "warn", on_reject: str = "raise",
                 time_limit: float | None = None, checkpoint: str | None = None, random_state: Any = 1,
                 n_jobs: int | None = None, verbose: bool | Callable[..., Any] | None = None):
        self._keep(locals())

    def fit(self, p: Any, q: Any, p_weight: Any = None, q_weight: Any = None) -> DensityRatio:
        """From a sample of p, the numerator, and one of q: arrays, DataFrames, or names of files."""
        return self._fit_named(("p", "q"), (p, q), (p_weight, q_weight))

    def _fit_named(self, what: tuple[str, str], given: tuple[Any, Any], given_weights: tuple[Any, Any]) -> DensityRatio:
        """what: the tables' names in messages."""
        watch = self._watch()
        weights = [None if w is None else np.ascontiguousarray(w, dtype=np.float64) for w in given_weights]
        tables, schema = take_tables(given, what, self.missing, watch, weights=weights)
        self._note_columns(schema)
        info = self._study(tables[0], tables[1], watch, weights)
        self.log_ratios_p_, self.log_ratios_q_ = self._held_out(0), self._held_out(1)
        self.result_ = Result("ratio", info, self.get_params(), self._figures())
        self._give_verdict(self.on_doubt, self.on_reject)
        return self

    def log_ratio(self, x: Any) -> np.ndarray:
        """log p(x) / q(x) at the rows of x, natural logarithm."""
        self._fitted()
        rows = take_known(x, self.schema_, "x", self.missing, self._watch(), owner=type(self).__name__, look=False)
        out = self._log_ratio(rows)
        if np.isfinite(out.sum()):
            return out
        # A row that is not finite has no log-ratio: only then is it worth the time to look at all values.
        return self._log_ratio(check_known(rows, self.schema_, "x", self.missing))

    predict = score_samples = log_ratio

    def weights(self, x: Any, *, tail: str = "keep", scale: str = "mean", alpha: float = 0.0,
                clip_quantile: float | None = None) -> np.ndarray:
        """Importance weights of rows of q, with which they speak for p.

        tail: "keep", "clip" (at clip_quantile, 0.99) or "pareto" (smoothed, PSIS); scale: "mean" (of 1), "sum" (of 1) or
        "ratio" (none); alpha: relative weights r / (alpha r + 1 - alpha), which stay below 1 / alpha. Rows with a missing
        value, with missing="drop", have the weight NaN.
        """
        log_r = self.log_ratio(x)
        held = ~np.isnan(log_r)
        some, out = np.empty(int(held.sum())), np.full(len(log_r), np.nan)
        self.weights_info_ = core.weights(log_r[held], some, joint_settings(
            tail=tail, scale=scale, alpha=alpha, clip_quantile=clip_quantile))
        out[held] = some
        return out

    def score(self, p: Any, q: Any) -> float:
        """Donsker and Varadhan's lower bound of KL(p, q) on samples that the fit has not seen; more is better."""
        a, b = [x[~np.isnan(x)] for x in (self.log_ratio(p), self.log_ratio(q))]  # missing="drop"
        top = b.max()
        return float(a.mean() - (top + np.log(np.exp(b - top).mean())))

    def _open(self, path: str) -> None:
        super()._open(path)
        if not hasattr(self, "schema_"):
            text = model_schema(path)
            dim = core.ratio_dim(self._model)
            self._note_columns(json.loads(text)["columns"] if text else [{"kind": "continuous"}] * dim)


@overload
def estimate_weights(source: Any, target: Any, *, tail: str = "pareto", alpha: float = 0.0,
                     return_ratio: Literal[False] = False, **settings: Any) -> np.ndarray: ...
@overload
def estimate_weights(source: Any, target: Any, *, tail: str = "pareto", alpha: float = 0.0, return_ratio: Literal[True],
                     **settings: Any) -> tuple[np.ndarray, DensityRatio]: ...
def estimate_weights(source: Any, target: Any, *, tail: str = "pareto", alpha: float = 0.0, return_ratio: bool = False,
                     **settings: Any) -> np.ndarray | tuple[np.ndarray, DensityRatio]:
    """Weights for the rows of source, with which they speak for target: what `sample_weight` takes.

    Each row is weighted by fits that have not seen it. Settings are those of DensityRatio. `tail` is what is done to the
    largest weights: "pareto" (smoothed), "clip" or "keep". With return_ratio the fitted DensityRatio comes with them, for
    its verdict.

    >>> import waymark
    >>> target, source, _ = waymark.datasets.load("shift", mean_p=0, mean_q=1, n=1000)
    >>> w = waymark.estimate_weights(source, target)
    >>> w.shape, round(float(w.mean()), 6)
    ((1000,), 1.0)
    """
    ratio = DensityRatio(**settings)._fit_named(("target", "source"), (target, source), (None, None))
    if not is_path(source) and ratio.log_ratios_q_.size != len(source):
        raise ValueError("rows of source were left out for missing values, so weights would not fit them: missing='mean' "
                         "keeps them")
    out = np.empty_like(ratio.log_ratios_q_)
    ratio.weights_info_ = core.weights(ratio.log_ratios_q_, out, {"tail": tail, "alpha": alpha})
    return (out, ratio) if return_ratio else out
