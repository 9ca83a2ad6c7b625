"""Warnings and exceptions of our own."""

from __future__ import annotations

import sys


class DataWarning(UserWarning):
    """Something about the data that may be a mistake: rows left out, columns that one table lacks."""


class DoubtWarning(UserWarning):
    """The answer may be off by more than its interval says."""


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
