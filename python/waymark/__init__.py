"""Density ratios from samples, also where the two are far apart; and what comes of them.

>>> import waymark
>>> p, q, truth = waymark.datasets.load("shift", mean_p=0, mean_q=1, n=1000)
>>> ratio = waymark.DensityRatio().fit(p, q)
>>> ratio.result_.verdict
'trust'
>>> ratio.log_ratio(p[:3]).shape
(3,)

`DensityRatio` takes two samples, `MutualInformation` and `Embedding` take pairs, `EnergyModel` takes one
sample; each has scikit-learn's shape. `estimate_weights(source, target)` is what `sample_weight` takes.
Data are arrays, DataFrames of pandas or polars, or the names of files.
"""

from __future__ import annotations

TYPE_CHECKING = False  # checkers know this name; typing takes longer to load than all of this

__version__ = "0.1.0"

# Loaded when they are first asked for: NumPy and the library take longer to load than all of this.
_HOME = {
    "DensityRatio": "_ratio",
    "estimate_weights": "_ratio",
    "load": "_load",
    "MutualInformation": "_mi",
    "EnergyModel": "_ebm",
    "Embedding": "_embed",
    "sample": "_sampling",
    "Draws": "_sampling",
    "Result": "_results",
    "Estimate": "_results",
    "DoubtWarning": "_errors",
    "DataWarning": "_errors",
    "RejectedError": "_errors",
    "NotFittedError": "_errors",
}

__all__ = [*_HOME, "datasets"]

if TYPE_CHECKING:
    from . import datasets as datasets  # "as" says that a name is the package's own, not only used here
    from ._ebm import EnergyModel as EnergyModel
    from ._embed import Embedding as Embedding
    from ._errors import DataWarning as DataWarning
    from ._errors import DoubtWarning as DoubtWarning
    from ._errors import NotFittedError as NotFittedError
    from ._errors import RejectedError as RejectedError
    from ._load import load as load
    from ._mi import MutualInformation as MutualInformation
    from ._ratio import DensityRatio as DensityRatio
    from ._ratio import estimate_weights as estimate_weights
    from ._results import Estimate as Estimate
    from ._results import Result as Result
    from ._sampling import Draws as Draws
    from ._sampling import sample as sample


def __getattr__(name: str):
    import importlib

    if name == "datasets":
        return importlib.import_module(".datasets", __name__)
    if name not in _HOME:
        raise AttributeError(f"module 'waymark' has no attribute {name!r}")
    value = getattr(importlib.import_module("." + _HOME[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
