"""Models from files: what they are stands in the header of the safetensors file."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._ebm import EnergyModel
    from ._embed import Embedding
    from ._ratio import DensityRatio


def model_header(path: str) -> dict[str, str]:
    """The metadata of a safetensors file."""
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        if size > 100_000_000:
            raise ValueError(f"{path}: not a safetensors file")
        try:
            return json.loads(f.read(size)).get("__metadata__", {})
        except (ValueError, AttributeError):
            raise ValueError(f"{path}: not a safetensors file") from None


def model_schema(path: str) -> str | None:
    return model_header(path).get("schema")


def load(path: str | os.PathLike) -> DensityRatio | EnergyModel | Embedding:
    """A model that `save` or the command has written: a file, or the run folder that holds it."""
    name = os.fspath(path)
    if os.path.isdir(name):
        name = os.path.join(name, "model.safetensors")
    kind = (model_header(name).get("format", "") + "  ").split(" ")[1]
    model: DensityRatio | EnergyModel | Embedding
    if kind == "ratio":
        from ._ratio import DensityRatio as Ratio
        model = Ratio()
    elif kind == "ebm":
        from ._ebm import EnergyModel as Energy
        model = Energy()
    elif kind == "embed":
        from ._embed import Embedding as Pairs
        model = Pairs()
    else:
        raise ValueError(f"{name}: not a model of Waymark's")
    model._open(name)
    return model
