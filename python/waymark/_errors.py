"""Warnings and exceptions of our own."""

from __future__ import annotations

import sys
import warnings


class DataWarning(UserWarning):
    """Something about the data that may be a mistake: rows left out, columns that one table lacks."""


class DoubtWarning(UserWarning):
    """The answer may be off by more than its interval says."""


def warn(text: str, category: type[Warning]) -> None:
    """A warning about the line that called the package, however deep in it this is."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("waymark."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


class RejectedError(ValueError):
    """A check failed: the answer means nothing. `result` has it all the same."""

    def __init__(self, message: str, result=None):
        super().__init__(message)
        self.result = result


class NotFittedError(ValueError, AttributeError):
    """The estimator was asked before it was fitted."""


def not_fitted(estimator) -> Exception:
    """scikit-learn's exception where scikit-learn is in use, so that its tools know it."""
    words = f"This {type(estimator).__name__} is not fitted yet: call fit first."
    known = sys.modules.get("sklearn.exceptions")
    return known.NotFittedError(words) if known else NotFittedError(words)
