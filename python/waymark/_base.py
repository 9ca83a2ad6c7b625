"""What the estimators have in common: scikit-learn's manners, without needing scikit-learn."""

from __future__ import annotations

import inspect
import operator
import os
import tempfile
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from ._core import core
from ._errors import DoubtWarning, RejectedError, not_fitted, warn
from ._frames import Schema
from ._progress import Watch
from ._results import Result


def seed_of(random_state: Any) -> int:
    """An int, or anything of NumPy's that gives one; None is chance."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    try:
        seed = operator.index(random_state)
    except TypeError:
        raise TypeError(f"random_state={random_state!r}: None, a whole number or a generator of NumPy's is needed") from None
    if not 0 <= seed < 2**64:
        raise ValueError(f"random_state={random_state!r}: a seed is not negative, and below 2**64")
    return seed


def threads_of(n_jobs: int | None) -> int:
    """None and -1: all cores; -2: all but one, as joblib counts."""
    if n_jobs is None or n_jobs == -1:
        return 0
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: 1 is one thread, None all cores")
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


def is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and isinstance(value, (str, int, float)) and value == default)


class Estimator:
    """Parameters by the names of the constructor, files and pickles."""

    _save: Callable[[Any, str], None]
    _model: Any = None
    schema_: Schema
    result_: Result

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...  # settings, by the names of the constructor's arguments

    # ---- parameters ----

    @classmethod
    def _param_names(cls) -> list[str]:
        return [n for n in inspect.signature(cls.__init__).parameters if n != "self"]

    def _keep(self, given: dict[str, Any]) -> None:
        """The arguments of the constructor, as they were given: attributes of the same names."""
        for name in self._param_names():
            setattr(self, name, given[name])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings, by name."""
        return {n: getattr(self, n) for n in self._param_names()}

    def set_params(self, **params: Any):
        """Change settings; returns the estimator."""
        names = self._param_names()
        for name, value in params.items():
            if name not in names:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {names}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        said = [f"{n}={v!r}" for n, v in self.get_params().items() if not is_default(v, defaults[n].default)]
        return f"{type(self).__name__}({', '.join(said)})"

    def _repr_html_(self) -> str:
        result = getattr(self, "result_", None)
        return result._repr_html_() if result is not None else f"<code>{self!r}</code>"

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None

    def __sklearn_tags__(self):
        """Asked for by scikit-learn alone."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(estimator_type=getattr(self, "_estimator_type", None),
                    target_tags=TargetTags(required=False), transformer_tags=None, regressor_tags=None,
                    classifier_tags=None, input_tags=InputTags(allow_nan=False, sparse=False))

    # ---- work ----

    def _watch(self) -> Watch:
        return Watch(getattr(self, "verbose", None))

    def _fitted(self) -> Any:
        if self._model is None:
            raise not_fitted(self)
        return self._model

    def _note_columns(self, schema: Schema) -> None:
        self.schema_ = schema
        self.n_features_in_ = len(schema)
        if all("name" in s for s in schema):
            self.feature_names_in_ = np.array([s["name"] for s in schema], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _give_verdict(self, on_doubt: str, on_reject: str) -> None:
        """A doubted answer warns, a rejected one raises, unless told otherwise."""
        for name, how in (("on_doubt", on_doubt), ("on_reject", on_reject)):
            if how not in ("raise", "warn", "ignore"):
                raise ValueError(f"{name}={how!r}: there are raise, warn, ignore")
        verdict = self.result_.verdict
        if verdict == "reject" and getattr(self.result_, "kl_pq_verdict", verdict) != "reject":
            verdict = "doubt"  # KL(q, p) is no number, which weights of rows of q do not need
        how = {"trust": "ignore", "doubt": on_doubt, "reject": on_reject}[verdict]
        if how == "ignore":
            return
        words = f"the verdict is {verdict}: {self.result_.reason}"
        if how == "raise":
            raise RejectedError(words + f" (on_{verdict}='warn' gives the answer all the same)", self.result_)
        warn(words, DoubtWarning)

    # ---- files and pickles ----

    def save(self, path: str | os.PathLike) -> None:
        """The model as a safetensors file, which `waymark.load` and the command read."""
        type(self)._save(self._fitted(), os.fspath(path))

    def __getstate__(self) -> dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if k != "_model"}
        if self._model is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.safetensors")
                self.save(path)
                with open(path, "rb") as f:
                    state["_model_file"] = f.read()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        model = state.pop("_model_file", None)
        self.__dict__.update(state)
        if model is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.safetensors")
                with open(path, "wb") as f:
                    f.write(model)
                self._open(path)

    def _open(self, path: str) -> None:
        raise NotImplementedError


def joint_settings(**settings: Any) -> dict[str, Any]:
    """Those that are set."""
    return {k: v for k, v in settings.items() if v is not None}


__all__ = ["Estimator", "core", "joint_settings", "seed_of", "threads_of"]
