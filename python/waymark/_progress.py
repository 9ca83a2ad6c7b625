"""Progress bars, warnings of the library as Python's, and callbacks."""

from __future__ import annotations

import logging
import math
import sys
from typing import Any, Callable

from ._errors import DataWarning, warn

log = logging.getLogger("waymark")

PROGRESS = ("done", "total", "unit", "message", "elapsed", "eta")
EVAL = ("stage", "round", "model", "step", "train_loss", "valid_loss", "estimate", "seconds")


def _clock(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "?"
    minutes, s = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{s:02d}" if hours else f"{minutes:02d}:{s:02d}"


def bar(e: dict[str, Any], width: int = 20) -> str:
    """One line, as tqdm draws it.

    >>> bar(dict(done=5, total=10, unit="steps", message="", elapsed=2.0, eta=2.0), width=4)
    ' 50%|##  | 5/10 [00:02<00:02, 2.50steps/s]'
    >>> bar(dict(done=5, total=10, unit="steps", message="", elapsed=1.0, eta=10.0), width=4)   # 4 of them before
    ' 50%|##  | 5/10 [00:01<00:10, 0.50steps/s]'
    """
    # By the time to go: what is done counts also what was done before elapsed began, by earlier folds or a stopped run.
    rate = (e["total"] - e["done"]) / e["eta"] if e["eta"] > 0 else math.nan
    tail = f"[{_clock(e['elapsed'])}<{_clock(e['eta'])}, {'?' if math.isnan(rate) else format(rate, '.2f')}{e['unit']}/s]"
    message = f" {e['message']}" if e["message"] else ""
    if not e["total"]:
        return f"{e['done']} {e['unit']} {tail}{message}"
    share = min(1.0, e["done"] / e["total"])
    full = round(share * width)
    blocks = "#" * full + " " * (width - full)
    return f"{round(100 * share):3d}%|{blocks}| {e['done']}/{e['total']} {tail}{message}"


class Watch:
    """What the library says while it works.

    verbose: None shows a bar in a terminal or notebook, once a second of work has passed; True always; False never; a
    callable gets every event as a dict with the key "event".
    """

    def __init__(self, verbose: bool | Callable[[dict[str, Any]], Any] | None):
        if verbose is not None and not isinstance(verbose, (bool, int)) and not callable(verbose):
            raise TypeError(f"verbose={verbose!r}: None, True, False or a function is needed")
        self._callback = verbose if callable(verbose) else None
        self._shown = 0
        notebook = "ipykernel" in sys.modules
        self._draw = self._callback is None and bool(
            verbose if verbose is not None else notebook or getattr(sys.stderr, "isatty", bool)())
        self._patience = 1.0 if verbose is None else 0.0

    def __call__(self, event: str, *values: Any) -> None:
        if event == "log":
            self._say(*values)
            return
        e = dict(zip(PROGRESS if event == "progress" else EVAL, values))
        if self._callback:
            self._callback({"event": event, **e})
        elif event == "progress" and self._draw and e["elapsed"] >= self._patience:
            line = bar(e)
            sys.stderr.write("\r" + line + " " * max(0, self._shown - len(line)))
            sys.stderr.flush()
            self._shown = len(line)

    def _say(self, level: str, text: str) -> None:
        if level == "warning":
            self.close()
            warn(text, DataWarning)
        else:
            log.log(logging.INFO if level == "info" else logging.DEBUG, "%s", text)
        if self._callback:
            self._callback({"event": "log", "level": level, "text": text})

    def close(self) -> None:
        """Take the bar away."""
        if self._shown:
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()
            self._shown = 0
