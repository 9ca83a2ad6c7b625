"""What is given, as columns: arrays, and DataFrames of pandas, polars, pyarrow or others with named columns.

Kinds follow the library's rules for files: whole numbers that repeat are integers, other numbers continuous, bools and
categories categorical; text stays text, for the library to read.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

# What stands for a missing value in text, as in files.
MARKS = frozenset(("", "NA", "N/A", "nan", "NaN", "NAN", "-nan", "null", "NULL", "None", "?"))
PLAIN = (str, bytes, int, float, bool, np.generic)


# ---- what is given ----


def is_path(x: Any) -> bool:
    return isinstance(x, (str, os.PathLike))


def has_columns(x: Any) -> bool:
    return hasattr(x, "__getitem__") and (hasattr(x, "column_names") or hasattr(x, "columns"))


def is_lazy(x: Any) -> bool:
    """polars' LazyFrame and its like, which work where one only asks for their columns."""
    return hasattr(x, "collect") and not hasattr(x, "to_numpy")


def is_frame(x: Any) -> bool:
    """pandas, polars, pyarrow, or anything else that has named columns."""
    return not isinstance(x, np.ndarray) and (is_lazy(x) or has_columns(x) or hasattr(x, "__arrow_c_stream__"))


def is_series(x: Any) -> bool:
    """A single column of pandas, polars or pyarrow."""
    return (not isinstance(x, np.ndarray) and hasattr(x, "to_numpy") and not has_columns(x)
            and getattr(x, "ndim", 1) == 1)


def settled_frame(x: Any, what: str) -> Any:
    """A DataFrame whose columns can be taken one by one: of those that only lend Arrow's stream, pyarrow makes one."""
    if is_lazy(x):
        raise TypeError(f"{what}: a {type(x).__name__} has no rows before its collect()")
    if any(hasattr(x, one_by_one) for one_by_one in ("iloc", "get_column", "column_names")):
        return x
    if not hasattr(x, "__arrow_c_stream__") and type(x).__module__.partition(".")[0] != "pyarrow":
        return x
    try:
        import pyarrow
    except ImportError:
        raise TypeError(f"{what}: a {type(x).__name__} needs pyarrow to be read") from None
    if isinstance(x, pyarrow.RecordBatch):  # of old releases, which does not tell the names of its columns
        return pyarrow.Table.from_batches([x])
    try:
        return pyarrow.table(x)
    except TypeError:
        raise TypeError(f"{what}: a {type(x).__name__} needs pyarrow 14 or later to be read") from None


def frame_names(x: Any, what: str) -> list[str]:
    names = [str(n) for n in (x.column_names if hasattr(x, "column_names") else x.columns)]
    twice = {n for n in names if names.count(n) > 1} if len(set(names)) < len(names) else set()
    if twice:
        raise ValueError(f"{what}: more than one column is called {min(twice)!r}")
    return names


def frame_column(x: Any, j: int) -> Any:
    if hasattr(x, "iloc"):
        return x.iloc[:, j]
    if hasattr(x, "column_names"):
        return x.column(j)
    return x[x.columns[j]]


def as_matrix(x: Any, what: str, one_column: bool) -> np.ndarray:
    """An array with two axes; its values are looked at by others."""
    if hasattr(x, "toarray") and not isinstance(x, np.ndarray):
        raise TypeError(f"{what}: sparse input is not supported: a dense array is needed (toarray())")
    if isinstance(x, np.ma.MaskedArray):  # what is masked is missing; asarray() would bring it back
        x = x.filled(np.nan) if x.dtype.kind == "f" else x.astype(object).filled(None) if np.ma.is_masked(x) else x.data
    if isinstance(x, dict):
        raise TypeError(f"{what}: a dict: a DataFrame is needed (pandas.DataFrame(...))")
    try:
        a = np.asarray(x)
    except ValueError as e:  # rows of several lengths
        raise ValueError(f"{what}: {e}") from None
    if a.ndim == 1 and one_column:
        a = a.reshape(-1, 1)
    if a.ndim != 2:
        raise ValueError(
            f"{what}: Expected 2D array, got {a.ndim}D array instead. Reshape your data: rows are samples, "
            "columns are features; x.reshape(-1, 1) is a single column")
    if np.iscomplexobj(a):
        raise ValueError(f"{what}: Complex data not supported")
    if a.shape[0] < 1:
        raise ValueError(f"{what}: Found array with 0 sample(s) (shape={a.shape}) while a minimum of 1 is required.")
    if a.shape[1] < 1:
        raise ValueError(
            f"{what}: Found array with 0 feature(s) (shape={a.shape}) while a minimum of 1 is required.")
    return a


# ---- columns of numbers ----


def is_whole(x: np.ndarray) -> bool:
    """The rule for arrays of floats: every value whole, and at least one comes twice."""
    head = x[:64]
    head = head[~np.isnan(head)]
    if head.size and not np.array_equal(head, np.floor(head)):
        return False
    x = x[~np.isnan(x)]
    return bool(x.size and np.array_equal(x, np.floor(x)) and np.unique(x).size < x.size)


def is_number(x: np.ndarray) -> bool:
    return x.dtype.kind in "fiub"


def to_days(x: np.ndarray) -> np.ndarray:
    out = x.astype("M8[us]" if x.dtype.kind == "M" else "m8[us]").astype(np.int64) / 86400e6
    return np.where(np.isnat(x), np.nan, out)


class Column:
    """A column before its levels are numbered: numbers, codes with levels, or texts."""

    def __init__(self, name: str | None, kind: str, values: Any, levels: list[str] | None = None):
        self.name, self.kind, self.values, self.levels = name, kind, values, levels
        self.entry: dict[str, Any] = {}  # how text is written, as the reader found it


def check_plain(value: Any, what: str) -> None:
    if isinstance(value, PLAIN) or hasattr(value, "isoformat") or type(value).__name__ == "Decimal":
        return
    raise TypeError(f"{what}: argument must be a string or a number, not {type(value).__name__!r}")


def is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip() in MARKS
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and value != value


def object_column(name: str | None, values: Any, what: str) -> Column:
    """Objects: numbers where all are, else texts."""
    values = list(values)
    missing = [is_missing(v) for v in values]
    held = [v for v, m in zip(values, missing) if not m]
    for v in held:
        check_plain(v, what)
    if held and all(isinstance(v, (bool, np.bool_)) for v in held):
        codes = [np.nan if m else float(v) for v, m in zip(values, missing)]
        return Column(name, "categorical", np.array(codes), ["False", "True"])
    if all(isinstance(v, (int, float, np.number)) for v in held):
        x = np.array([np.nan if m else float(v) for v, m in zip(values, missing)])
        return Column(name, "integer" if is_whole(x) else "continuous", x)
    texts = [None if m else v.isoformat() if hasattr(v, "isoformat") else
             v.decode() if isinstance(v, bytes) else str(v) for v, m in zip(values, missing)]
    return Column(name, "text", texts)


def array_column(name: str | None, x: np.ndarray, what: str) -> Column:
    if x.dtype.kind == "b":
        return Column(name, "categorical", x.astype(np.float64), ["False", "True"] if name else ["0", "1"])
    if x.dtype.kind in "iu":
        return Column(name, "integer", x.astype(np.float64))
    if x.dtype.kind == "f":
        x = x.astype(np.float64, copy=False)
        return Column(name, "integer" if is_whole(x) else "continuous", x)
    if x.dtype.kind in "Mm":
        column = Column(name, "continuous", to_days(x))
        if x.dtype.kind == "M":
            column.entry = {"written": {"date": "ymd"}}  # so that the model takes dates of text files too
        return column
    if x.dtype.kind == "c":
        raise ValueError(f"{what}: Complex data not supported")
    return object_column(name, x.tolist(), what)


def series_column(name: str | None, s: Any, what: str) -> Column:
    """A column of a DataFrame."""
    dtype = str(s.dtype if hasattr(s, "dtype") else getattr(s, "type", ""))
    if hasattr(s, "cat") and dtype == "category":  # pandas
        codes = np.asarray(s.cat.codes, dtype=np.float64)
        return Column(name, "categorical", np.where(codes < 0, np.nan, codes),
                      [str(c) for c in s.cat.categories])
    if dtype.startswith(("Categorical", "Enum", "dictionary")):  # polars; pyarrow, whose arrays lose missing values here
        texts = [None if t is None else str(t) for t in (s.to_list() if hasattr(s, "to_list") else s.to_pylist())]
        levels = sorted({t for t in texts if t is not None})
        at: dict[str | None, float] = {t: float(i) for i, t in enumerate(levels)}
        return Column(name, "categorical", np.array([at.get(t, np.nan) for t in texts]), levels)
    if dtype in ("boolean", "Boolean", "bool") and hasattr(s, "to_list"):
        return object_column(name, s.to_list(), what)
    if hasattr(s, "isna") and dtype[:1] in "IUF" and hasattr(s, "to_numpy"):  # pandas' nullable numbers
        x = s.to_numpy(dtype=np.float64, na_value=np.nan)
        return Column(name, "integer" if dtype[0] in "IU" or is_whole(x) else "continuous", x)
    if dtype.startswith("datetime64[") and "," in dtype:  # with a time zone
        s = s.dt.tz_convert("UTC").dt.tz_localize(None)
    elif dtype.startswith("period["):
        s = s.dt.to_timestamp()
    x = np.asarray(s) if hasattr(s, "type") or not hasattr(s, "to_numpy") else s.to_numpy()  # pyarrow's may refuse to copy
    if dtype.startswith(("Int", "UInt", "int", "uint")) and x.dtype.kind == "f":  # nulls made it floats
        return Column(name, "integer", np.array(x, dtype=np.float64))
    return array_column(name, np.asarray(x), what)


def columns_of(x: Any, what: str, one_column: bool) -> list[Column]:
    """Of anything that is a table; a series is a table of one column, without its name, where that is allowed."""
    if is_series(x) and one_column and len(x):
        return [series_column(None, x, what)]
    if is_frame(x) and not is_series(x):
        x = settled_frame(x, what)
        names = frame_names(x, what)
        if len(x) < 1:
            raise ValueError(f"{what}: Found array with 0 sample(s) while a minimum of 1 is required.")
        if not names:
            raise ValueError(f"{what}: Found array with 0 feature(s) while a minimum of 1 is required.")
        return [series_column(n, frame_column(x, j), f"{what}, column '{n}'") for j, n in enumerate(names)]
    a = as_matrix(x, what, one_column)
    if a.dtype.names or a.dtype.kind in "V":
        raise TypeError(f"{what}: structured arrays are not supported: give a DataFrame")
    return [array_column(None, a[:, j], f"{what}, column {j}") for j in range(a.shape[1])]
