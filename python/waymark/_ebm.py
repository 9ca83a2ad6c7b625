"""A density of one sample: noise that is fitted first, and a telescope of ratios from the data to it."""

from __future__ import annotations

import json
from typing import Any, Callable

import numpy as np

from ._base import Estimator, core, joint_settings, seed_of, threads_of
from ._frames import Schema, schema_text, take_known, take_tables
from ._results import Result
from ._sampling import Draws


class EnergyModel(Estimator):
    """An energy-based model, phi(x) = q(x) times the ratios of the bridges; a density estimator for scikit-learn.

    Parameters
    ----------
    noise : "gaussian", "copula" or "flow": the density that bridges lead to
    model : terms of a bridge, "quadratic+additive+mlp"; None: by the data
    bridges : 1 is noise-contrastive estimation
    iterations, head_iterations, noise_iterations : steps of the three stages; None: by the data
    discrete : "auto", "no" or "yes": whether columns of few values have shares instead of a density
    held_out : share of the rows for validation
    missing, time_limit, checkpoint, random_state, n_jobs, verbose : as in DensityRatio

    Attributes
    ----------
    result_ : Result, with direct, noise_loglik, bridges, checks, verdict

    >>> import numpy as np, waymark
    >>> x = np.random.default_rng(1).normal(size=(500, 2))
    >>> model = waymark.EnergyModel(iterations=50, head_iterations=50, bridges=2, n_jobs=1).fit(x)
    >>> model.score_samples(x).shape
    (500,)
    >>> model.sample(4, random_state=1, steps=20).shape
    (4, 2)
    """

    _estimator_type = "density_estimator"
    _save = staticmethod(core.ebm_save)

    def __init__(self, noise: str = "gaussian", *, model: str | None = None, bridges: int = 10,
                 spacing: str | None = None, iterations: int | None = None, head_iterations: int | None = None,
                 noise_iterations: int | None = None, discrete: str = "auto", held_out: float = 0.1,
                 missing: str = "refuse", on_doubt: str = "ignore", on_reject: str = "warn",
                 time_limit: float | None = None, checkpoint: str | None = None, random_state: Any = 1,
                 n_jobs: int | None = None, verbose: bool | Callable[..., Any] | None = None):
        self._keep(locals())

    def fit(self, X: Any, y: Any = None) -> EnergyModel:
        """From rows: an array, a DataFrame, or the name of a file. y is not looked at."""
        watch = self._watch()
        (x,), schema = take_tables((X,), ("X",), self.missing, watch, one_column=False)
        if len(x) < 2:
            raise ValueError(f"X: Found array with {len(x)} sample(s): at least 2 are needed")
        self._note_columns(schema)
        settings = joint_settings(
            noise=self.noise, model=self.model, bridges=self.bridges, spacing=self.spacing,
            iterations=self.iterations, head_iterations=self.head_iterations,
            noise_iterations=self.noise_iterations, discrete=self.discrete, held_out=self.held_out,
            seed=seed_of(self.random_state), time_limit=self.time_limit, checkpoint=self.checkpoint)
        try:
            self._model = core.ebm(x, None, schema_text(schema), settings, watch, threads_of(self.n_jobs))
        finally:
            watch.close()
        self.result_ = self._result()
        self._give_verdict(self.on_doubt, self.on_reject)
        return self

    def _result(self) -> Result:
        info = core.ebm_info(self._model)
        info.pop("schema", None)
        return Result("ebm", info, self.get_params())

    def _densities(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        self._fitted()
        x = take_known(X, self.schema_, "X", "refuse" if self.missing == "drop" else self.missing, self._watch(),
                       one_column=False, owner=type(self).__name__)
        log_q, log_phi = np.empty(len(x)), np.empty(len(x))
        seed = 1 if self.random_state is None else seed_of(self.random_state)
        core.ebm_log_density(self._model, x, seed, log_q, log_phi, threads_of(self.n_jobs))
        return log_q, log_phi

    def score_samples(self, X: Any) -> np.ndarray:
        """log phi at the rows of X, in nats: the log-density, taking Z as 1 (see log_normaliser)."""
        return self._densities(X)[1]

    predict = score_samples

    def noise_score_samples(self, X: Any) -> np.ndarray:
        """The log-density of the noise alone."""
        return self._densities(X)[0]

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-density; more is better."""
        return float(self.score_samples(X).mean())

    def log_normaliser(self, *, chains: int = 100, steps: int = 1000, random_state: Any = None) -> Result:
        """log Z by annealed importance sampling: log_z, se, ess, checks. It is 0 if the bridges are right."""
        watch = self._watch()
        info = core.ebm_ais(self._fitted(), {"chains": chains, "steps": steps, "seed": self._seed(random_state)}, watch,
                            threads_of(self.n_jobs))
        watch.close()
        return Result("loglik", info, {})

    def _seed(self, random_state: Any) -> int:
        return seed_of(self.random_state if random_state is None else random_state)

    def draw(self, chains: int = 4, draws: int = 250, *, random_state: Any = None, **settings: Any) -> Draws:
        """Draws of each chain after annealing from the noise, with sample statistics and diagnosis. Settings: steps,
        kernel, max_depth, warmup, thin, draw_depth, draw_target, checkpoint."""
        watch = self._watch()
        out = core.ebm_sample(self._fitted(), {"chains": chains, "draws": draws, "seed": self._seed(random_state),
                                               **settings}, watch, threads_of(self.n_jobs))
        watch.close()
        return Draws(out, [s.get("name") for s in self.schema_])

    def sample(self, n_samples: int = 1, random_state: Any = None, **settings: Any) -> np.ndarray:
        """Rows of the model, each the end of a chain of its own; categories are numbers of levels."""
        drawn = self.draw(n_samples, 1, random_state=random_state, **settings)
        return drawn.x[:, 0]

    def _open(self, path: str) -> None:
        self._model = core.ebm_load(path)
        if not hasattr(self, "schema_"):
            info = core.ebm_info(self._model)
            columns: Schema = [{"kind": "continuous"}] * info["n_columns"]
            self._note_columns(json.loads(info["schema"])["columns"] if "schema" in info else columns)
            self.result_ = self._result()
