"""Arrays, DataFrames and files as the library's tables: float64, C order, with a schema.

A schema is a list of {"name", "kind", "levels", ...}, one for each column, as the library writes it. Kinds follow the
library's rules for files: whole numbers that repeat are integers, other numbers continuous, bools and categories
categorical; text is read by the library itself, so that dates, yes and no, decimal commas mean what they mean there.
"""

from __future__ import annotations

import csv
import json
import os
import tempfile
import warnings
from typing import Any

import numpy as np

from ._core import core
from ._errors import DataWarning

Schema = list[dict[str, Any]]

# What stands for a missing value in text, as in files.
MARKS = frozenset(("", "NA", "N/A", "nan", "NaN", "NAN", "-nan", "null", "NULL", "None", "?"))
PLAIN = (str, bytes, int, float, bool, np.generic)


def schema_text(schema: Schema | None) -> str | None:
    """As the library reads it."""
    return None if schema is None else json.dumps({"columns": schema})


# ---- what is given ----


def is_path(x: Any) -> bool:
    return isinstance(x, (str, os.PathLike))


def is_frame(x: Any) -> bool:
    """pandas, polars, pyarrow, or anything else that has named columns."""
    return not isinstance(x, np.ndarray) and (
        hasattr(x, "__dataframe__") or hasattr(x, "__arrow_c_stream__")
        or (hasattr(x, "columns") and hasattr(x, "__getitem__")))


def frame_names(x: Any) -> list[str]:
    names = x.column_names if hasattr(x, "column_names") else x.columns
    return [str(n) for n in names]


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
    if np.ma.isMaskedArray(x):  # what is masked is missing; asarray() would bring it back
        x = x.filled(np.nan) if x.dtype.kind == "f" else x.astype(object).filled(None) if np.ma.is_masked(x) else x.data
    a = np.asarray(x)
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
        return Column(name, "continuous", to_days(x))
    if x.dtype.kind == "c":
        raise ValueError(f"{what}: Complex data not supported")
    return object_column(name, x.tolist(), what)


def series_column(name: str, s: Any, what: str) -> Column:
    """A column of a DataFrame."""
    dtype = str(s.dtype if hasattr(s, "dtype") else getattr(s, "type", ""))
    if hasattr(s, "cat") and dtype == "category":  # pandas
        codes = np.asarray(s.cat.codes, dtype=np.float64)
        return Column(name, "categorical", np.where(codes < 0, np.nan, codes),
                      [str(c) for c in s.cat.categories])
    if dtype.startswith(("Categorical", "Enum")) and hasattr(s, "to_list"):  # polars
        texts = s.to_list()
        levels = sorted({t for t in texts if t is not None})
        at = {t: float(i) for i, t in enumerate(levels)}
        return Column(name, "categorical", np.array([at.get(t, np.nan) for t in texts]), levels)
    if dtype in ("boolean", "Boolean", "bool") and hasattr(s, "to_list"):
        return object_column(name, s.to_list(), what)
    if hasattr(s, "isna") and dtype[:1] in "IUF" and hasattr(s, "to_numpy"):  # pandas' nullable numbers
        x = s.to_numpy(dtype=np.float64, na_value=np.nan)
        return Column(name, "integer" if dtype[0] in "IU" or is_whole(x) else "continuous", x)
    if dtype.startswith("datetime64[") and "," in dtype:  # with a time zone
        s = s.dt.tz_convert("UTC").dt.tz_localize(None)
    x = s.to_numpy() if hasattr(s, "to_numpy") else np.asarray(s)
    if dtype.startswith(("Int", "UInt", "int", "uint")) and x.dtype.kind == "f":  # nulls made it floats
        return Column(name, "integer", np.array(x, dtype=np.float64))
    return array_column(name, np.asarray(x), what)


# ---- text, by the library's own reader ----


def write_texts(path: str, columns: list[Column], names: list[str]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f)
        out.writerow(names)
        out.writerows(zip(*[["NA" if v is None else v for v in c.values] for c in columns]))


def table_of(part: tuple[int, int, Any]) -> np.ndarray:
    return np.frombuffer(part[2], dtype=np.float64).reshape(part[0], part[1])


def settle_texts(sides: list[list[Column]], watch: Any) -> None:
    """Texts of one or two tables become numbers or codes, by the rules of files."""
    places = [j for j, c in enumerate(sides[0]) if any(s[j].kind == "text" for s in sides)]
    if not places:
        return
    for side in sides:  # what is numbers in one table and text in the other is text
        for j in places:
            if side[j].kind != "text":
                c = side[j]
                texts = [None if v != v else (c.levels[int(v)] if c.levels else repr(float(v)))
                         for v in np.asarray(c.values, dtype=np.float64).tolist()]
                side[j] = Column(c.name, "text", texts)
    names = [f"c{j}" for j in places]
    with tempfile.TemporaryDirectory() as folder:
        paths = tuple(os.path.join(folder, f"{i}.csv") for i in range(len(sides)))
        for path, side in zip(paths, sides):
            write_texts(path, [side[j] for j in places], names)
        try:
            parts, text = core.read(
                paths, {"missing": "keep", "header": True, "columns": ",".join(names)}, watch)
        except (ValueError, OSError) as e:
            raise ValueError(named(str(e), sides[0], paths)) from None
    found = json.loads(text)["columns"]
    for side, part in zip(sides, parts):
        rows = table_of(part)
        for at, j in enumerate(places):
            entry = {k: v for k, v in found[at].items() if k not in ("name", "number")}
            c = Column(side[j].name, entry["kind"], np.array(rows[:, at]), entry.get("levels"))
            c.entry = entry
            side[j] = c


def named(message: str, columns: list[Column], paths: tuple[str, ...]) -> str:
    """A message of the reader, with the person's names for files and columns."""
    for path, side in zip(paths, ("the first table", "the second table") if len(paths) > 1 else ("the table",)):
        message = message.replace(path, side)
    for j in reversed(range(len(columns))):
        message = message.replace(f"'c{j}'", f"'{columns[j].name or j}'")
    return message


# ---- tables ----


def columns_of(x: Any, what: str, one_column: bool) -> list[Column]:
    if is_frame(x):
        names = frame_names(x)
        if len(x) < 1:
            raise ValueError(f"{what}: Found array with 0 sample(s) while a minimum of 1 is required.")
        if not names:
            raise ValueError(f"{what}: Found array with 0 feature(s) while a minimum of 1 is required.")
        return [series_column(n, frame_column(x, j), f"{what}, column '{n}'") for j, n in enumerate(names)]
    a = as_matrix(x, what, one_column)
    if a.dtype.names or a.dtype.kind in "V":
        raise TypeError(f"{what}: structured arrays are not supported: give a DataFrame")
    return [array_column(None, a[:, j], f"{what}, column {j}") for j in range(a.shape[1])]


def match_columns(sides: list[list[Column]], what: tuple[str, ...]) -> list[list[Column]]:
    """By name where both tables have names, else by place; what one lacks is left out with a word."""
    if len(sides) == 1:
        return sides
    a, b = sides
    if all(c.name is not None for c in a) and all(c.name is not None for c in b):
        where = {c.name: c for c in b}
        kept = [c for c in a if c.name in where]
        lost = [c.name for c in a if c.name not in where] + [c.name for c in b if c.name not in {d.name for d in a}]
        if not kept:
            raise ValueError(f"{what[0]} and {what[1]} have no column in common")
        if lost:
            warnings.warn(f"columns that only one table has are left out: {', '.join(map(str, lost))}",
                          DataWarning, stacklevel=5)
        return [kept, [where[c.name] for c in kept]]
    if len(a) != len(b):
        raise ValueError(f"{what[0]} has {len(a)} columns and {what[1]} has {len(b)}")
    return sides


def join_kinds(sides: list[list[Column]]) -> Schema:
    """One schema; codes are numbered anew where levels differ."""
    schema: Schema = []
    for j, first in enumerate(sides[0]):
        own = [s[j] for s in sides]
        entry: dict[str, Any] = dict(first.entry)
        if any(c.levels is not None for c in own):
            levels: list[str] = []
            for c in own:
                levels += [t for t in c.levels or [] if t not in levels]
            for c in own:
                if c.levels is None:
                    raise ValueError(f"column '{c.name or j}' is categories in one table and numbers in the other")
                if c.levels != levels:
                    to = np.array([float(levels.index(t)) for t in c.levels])
                    held = ~np.isnan(c.values)
                    c.values = c.values.copy()
                    c.values[held] = to[c.values[held].astype(np.int64)]
            entry.update(kind="categorical", levels=levels)
        else:
            entry["kind"] = "integer" if all(c.kind == "integer" for c in own) else "continuous"
        if first.name is not None:
            entry["name"] = first.name
        schema.append(entry)
    return schema


def stack(columns: list[Column]) -> np.ndarray:
    out = np.empty((len(columns[0].values), len(columns)))
    for j, c in enumerate(columns):
        out[:, j] = c.values
    return out


def plain_table(x: Any) -> np.ndarray | None:
    """An array that is a table as it stands: float64, C order. Not copied."""
    if (isinstance(x, np.ndarray) and not np.ma.isMaskedArray(x) and x.ndim == 2 and x.dtype == np.float64
            and x.flags.c_contiguous and x.size):
        return x
    return None


def plain_schema(tables: list[np.ndarray]) -> Schema:
    dim = tables[0].shape[1]
    return [{"kind": "integer" if all(is_whole(t[:, j]) for t in tables) else "continuous"} for j in range(dim)]


# ---- missing values ----


def check_missing(missing: str) -> None:
    if missing not in ("refuse", "drop", "mean"):
        raise ValueError(f"missing={missing!r}: there are refuse, drop, mean")


def refuse_infinite(x: np.ndarray, schema: Schema, what: str) -> None:
    if np.isfinite(x.sum()):  # a sum that is finite has no infinite term, and costs no array
        return
    bad = np.argwhere(np.isinf(x))
    if bad.size:
        i, j = bad[0]
        name = schema[j].get("name", int(j))
        raise ValueError(f"{what}: Input contains infinity: row {i}, column {name!r}; {len(bad)} such values")


def treat_missing(x: np.ndarray, schema: Schema, missing: str, what: str) -> np.ndarray:
    """x without missing values; refuses, fills by the column's mean or most frequent level."""
    gone = np.isnan(x)
    if not gone.any():
        return x
    i, j = np.argwhere(gone)[0]
    if missing == "refuse":
        raise ValueError(
            f"{what}: Input contains NaN: row {i}, column {schema[j].get('name', int(j))!r}; {int(gone.sum())} missing "
            "values in all. missing='drop' leaves such rows out, missing='mean' fills them")
    x = x.copy()
    for j in np.flatnonzero(gone.any(axis=0)):
        held = x[~gone[:, j], j]
        if not held.size:
            raise ValueError(f"{what}: column {schema[j].get('name', int(j))!r} has no value at all")
        if schema[j]["kind"] == "categorical":
            values, counts = np.unique(held, return_counts=True)
            fill = values[np.argmax(counts)]
        else:
            fill = held.mean()
            fill = np.round(fill) if schema[j]["kind"] == "integer" else fill
        x[gone[:, j], j] = fill
    return x


def drop_missing(tables: list[np.ndarray], together: bool, what: tuple[str, ...]) -> list[np.ndarray]:
    """Rows with a missing value left out of each table, or, of pairs, out of both."""
    keep = [~np.isnan(t).any(axis=1) for t in tables]
    if together:
        keep = [np.logical_and.reduce(keep)] * len(tables)
    for k, name in zip(keep, what):
        if not k.any():
            raise ValueError(f"{name}: every row has a missing value")
        if not k.all():
            warnings.warn(f"{name}: {int((~k).sum())} of {k.size} rows have a missing value and were left out",
                          DataWarning, stacklevel=5)
            if together:
                break
    return [t if k.all() else np.ascontiguousarray(t[k]) for t, k in zip(tables, keep)]


# ---- the two ways in ----


def read_files(paths: tuple[str, ...], missing: str, watch: Any) -> tuple[list[np.ndarray], Schema]:
    parts, text = core.read(paths, {"missing": missing}, watch)
    return [table_of(p) for p in parts], json.loads(text)["columns"]


def take_tables(given: tuple[Any, ...], what: tuple[str, ...], missing: str = "refuse", watch: Any = None,
                one_column: bool = True) -> tuple[list[np.ndarray], Schema]:
    """Tables with columns in common, and their schema."""
    check_missing(missing)
    if all(is_path(x) for x in given):
        return read_files(tuple(os.fspath(x) for x in given), missing, watch)
    tables = [t for t in map(plain_table, given) if t is not None]
    if len(tables) == len(given):
        if len({t.shape[1] for t in tables}) > 1:
            raise ValueError(f"{what[0]} has {tables[0].shape[1]} columns and {what[1]} has {tables[1].shape[1]}")
        schema = plain_schema(tables)
    else:
        sides = match_columns([columns_of(x, w, one_column) for x, w in zip(given, what)], what)
        settle_texts(sides, watch)
        schema = join_kinds(sides)
        tables = [stack(s) for s in sides]
    for t, w in zip(tables, what):
        refuse_infinite(t, schema, w)
    if missing == "drop":
        tables = drop_missing(tables, False, what)
    return [treat_missing(t, schema, missing, w) for t, w in zip(tables, what)], schema


def take_one(x: Any, what: str, missing: str, watch: Any) -> tuple[np.ndarray, Schema]:
    """A table with its missing values as they are, unless a file's are refused or filled."""
    if is_path(x):
        tables, schema = read_files((os.fspath(x),), "keep" if missing == "drop" else missing, watch)
        return tables[0], schema
    table = plain_table(x)
    if table is not None:
        return table, plain_schema([table])
    side = [columns_of(x, what, True)]
    settle_texts(side, watch)
    schema = join_kinds(side)
    return stack(side[0]), schema


def take_pairs(u: Any, v: Any, missing: str = "refuse", watch: Any = None) -> tuple[list[np.ndarray], list[Schema]]:
    """Two tables whose rows are pairs, each with its schema."""
    check_missing(missing)
    what = ("u", "v")
    taken = [take_one(x, w, missing, watch) for x, w in zip((u, v), what)]
    tables, schemas = [t for t, _ in taken], [s for _, s in taken]
    if len(tables[0]) != len(tables[1]):
        raise ValueError(f"u has {len(tables[0])} rows and v has {len(tables[1])}: row i of both are a pair")
    for t, s, w in zip(tables, schemas, what):
        refuse_infinite(t, s, w)
    if missing == "drop":
        tables = drop_missing(tables, True, ("u and v", ""))
    return [treat_missing(t, s, missing, w) for t, s, w in zip(tables, schemas, what)], schemas


def take_known(x: Any, schema: Schema, what: str = "x", missing: str = "refuse", watch: Any = None,
               one_column: bool = True, owner: str = "the model", look: bool = True) -> np.ndarray:
    """New rows for a model: columns by name, or place; levels that it does not know are -1. With missing='drop' rows
    with a missing value stay, as NaN. look: for values that are not finite, see check_known()."""
    if is_path(x):
        return table_of(core.read_known(os.fspath(x), schema_text(schema), watch))
    table = plain_table(x)
    if table is None:
        columns = columns_of(x, what, one_column)
        table = stack_known(by_name(columns, schema, what, owner), schema, watch, what)
    check_width(table.shape[1], schema, owner)
    return check_known(table, schema, what, missing) if look else table


def check_known(table: np.ndarray, schema: Schema, what: str, missing: str) -> np.ndarray:
    """Without infinite values, and without missing ones unless they are to stay."""
    refuse_infinite(table, schema, what)
    return table if missing == "drop" else treat_missing(table, schema, missing, what)


def check_width(width: int, schema: Schema, owner: str) -> None:
    if width != len(schema):
        raise ValueError(f"X has {width} features, but {owner} is expecting {len(schema)} features as input")


def by_name(columns: list[Column], schema: Schema, what: str, owner: str) -> list[Column]:
    names = [c.name for c in columns]
    if all(n is not None for n in names) and all("name" in s for s in schema):
        lost = [s["name"] for s in schema if s["name"] not in names]
        if lost:
            raise ValueError(f"{what} lacks the columns {', '.join(lost)}")
        return [columns[names.index(s["name"])] for s in schema]
    check_width(len(columns), schema, owner)
    return columns


def stack_known(columns: list[Column], schema: Schema, watch: Any, what: str) -> np.ndarray:
    out = np.empty((len(columns[0].values), len(schema)))
    for j, (c, s) in enumerate(zip(columns, schema)):
        if s["kind"] == "categorical":
            out[:, j] = known_levels(c, s["levels"])
        elif c.kind == "text":
            out[:, j] = known_text(c, s, watch, what)
        else:
            out[:, j] = c.values
    return out


def known_levels(c: Column, levels: list[str]) -> np.ndarray:
    at = {t: float(i) for i, t in enumerate(levels)}
    if c.levels is not None:
        to = np.array([at.get(t, -1.0) for t in c.levels] or [0.0])
        gone = np.isnan(c.values)
        return np.where(gone, np.nan, to[np.where(gone, 0, c.values).astype(np.int64)])
    if c.kind == "text":
        folded = {t.lower(): i for t, i in at.items()}
        return np.array([np.nan if v is None else at.get(v, folded.get(v.lower(), -1.0)) for v in c.values])
    texts = [format(v, "g") for v in np.asarray(c.values).tolist()]
    return np.array([np.nan if t == "nan" else at.get(t, -1.0) for t in texts])


def known_text(c: Column, entry: dict[str, Any], watch: Any, what: str) -> np.ndarray:
    """Dates and dressed numbers, as they were written in the first table."""
    held = [v for v in c.values if v is not None]
    out = np.full(len(c.values), np.nan)
    if not held:
        return out
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.csv")
        write_texts(path, [Column("x", "text", held)], ["x"])
        try:
            rows = table_of(core.read_known(path, schema_text([{**entry, "name": "x"}]), watch))
        except ValueError as e:
            raise ValueError(str(e).replace(path, what).replace("'x'", f"'{c.name}'")) from None
    out[[v is not None for v in c.values]] = rows[:, 0]
    return out
