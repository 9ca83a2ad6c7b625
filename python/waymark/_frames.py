"""Arrays, DataFrames and files as the library's tables: float64, C order, with a schema.

A schema is a list of {"name", "kind", "levels", ...}, one for each column, as the library writes it. Kinds follow the
library's rules for files: whole numbers that repeat are integers, other numbers continuous, bools and categories
categorical; text is read by the library itself, so that dates, yes and no, decimal commas mean what they mean there.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import json
import os
import re
import tempfile
from typing import Any, Iterator

import numpy as np

from ._columns import Column, columns_of, is_path, is_whole
from ._core import core
from ._errors import DataWarning, warn

Schema = list[dict[str, Any]]
Weights = list[np.ndarray | None]


def schema_text(schema: Schema | None) -> str | None:
    """As the library reads it."""
    return None if schema is None else json.dumps({"columns": schema})


# ---- text, by the library's own reader ----


def write_texts(path: str, columns: list[Column], names: list[str]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f)
        out.writerow(names)
        out.writerows(zip(*[["NA" if v is None else v for v in c.values] for c in columns]))


def table_of(part: tuple[int, int, Any]) -> np.ndarray:
    return np.frombuffer(part[2], dtype=np.float64).reshape(part[0], part[1])


def settle_texts(sides: list[list[Column]], what: tuple[str, ...], watch: Any) -> None:
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
        labels, tables = [sides[0][j].name or str(j) for j in places], dict(zip(paths, what))

        def say(event: str, *values: Any) -> None:
            if watch:
                watch(event, *(named(v, labels, tables) if event == "log" else v for v in values))

        try:
            parts, text = core.read(paths, {"missing": "keep", "header": True}, say)
        except (ValueError, OSError) as e:
            raise ValueError(named(str(e), labels, tables)) from None
    found = {e["name"]: e for e in json.loads(text)["columns"]}
    kept = [at for at, name in enumerate(names) if name in found]
    for side, part in zip(sides, parts):
        rows = table_of(part)
        for column, at in enumerate(kept):
            j = places[at]
            entry = {k: v for k, v in found[names[at]].items() if k not in ("name", "number")}
            c = Column(side[j].name, entry["kind"], np.array(rows[:, column]), entry.get("levels"))
            c.entry = entry
            side[j] = c
        for at in reversed(range(len(places))):  # names and free text, which the reader left out with a word
            if at not in kept:
                del side[places[at]]


def named(message: str, columns: list[str], tables: dict[str, str]) -> str:
    """A message of the reader about files that we wrote, in the person's words: tables, rows, columns, and what a
    DataFrame's columns are declared by."""
    for path, what in tables.items():
        found = re.fullmatch(re.escape(path) + r":(\d+): column (\d+) \('.*?'\): (.*)", message, re.S)
        if found:
            message = f"{what}: row {int(found[1]) - 2}, column '{columns[int(found[2]) - 1]}': {found[3]}"
        message = message.replace(path, what).replace(os.path.basename(path), what)
    message = re.sub(r"column (\d+) \('c\d+'\)", lambda m: f"column '{columns[int(m[1]) - 1]}'", message)
    return message.replace("(see the setting 'categorical')", "(astype('category'))")


# ---- tables ----


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
            warn(f"columns that only one table has are left out: {', '.join(map(str, lost))}", DataWarning)
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


def drop_missing(tables: list[np.ndarray], together: bool, what: tuple[str, ...],
                 weights: Weights | None = None) -> list[np.ndarray]:
    """Rows with a missing value left out of each table, or, of pairs, out of both; and out of the weights of rows."""
    keep = [~np.isnan(t).any(axis=1) for t in tables]
    if together:
        keep = [np.logical_and.reduce(keep)] * len(tables)
    for k, name in zip(keep, what):
        if not k.any():
            raise ValueError(f"{name}: every row has a missing value")
        if not k.all():
            warn(f"{name}: {int((~k).sum())} of {k.size} rows have a missing value and were left out", DataWarning)
            if together:
                break
    for i, w in enumerate(weights or []):
        if w is not None and len(w) != len(keep[i]):
            raise ValueError(f"weights: {len(w)} for {len(keep[i])} rows of {what[i]}")
        if weights and w is not None:
            weights[i] = w[keep[i]]
    return [t if k.all() else np.ascontiguousarray(t[k]) for t, k in zip(tables, keep)]


# ---- the two ways in ----


def check_paths(given: tuple[Any, ...], what: tuple[str, ...]) -> None:
    """Files are read together, so that a column is of one kind in both."""
    named = [w for x, w in zip(given, what) if is_path(x)]
    if named and len(named) < len(given):
        raise ValueError(f"{named[0]} is the name of a file and the other table is not: give both as files or both as tables")


@contextlib.contextmanager
def opened(*paths: str) -> Iterator[None]:
    """A file that is not there is Python's own exception."""
    try:
        yield
    except OSError as e:
        for path in paths:
            if not os.path.exists(path):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from e
        raise


def read_files(paths: tuple[str, ...], missing: str, watch: Any) -> tuple[list[np.ndarray], Schema]:
    with opened(*paths):
        parts, text = core.read(paths, {"missing": missing}, watch)
    return [table_of(p) for p in parts], json.loads(text)["columns"]


def take_tables(given: tuple[Any, ...], what: tuple[str, ...], missing: str = "refuse", watch: Any = None,
                one_column: bool = True, weights: Weights | None = None) -> tuple[list[np.ndarray], Schema]:
    """Tables with columns in common, and their schema. weights lose the rows that the tables lose."""
    check_missing(missing)
    check_paths(given, what)
    if all(is_path(x) for x in given):
        return read_files(tuple(os.fspath(x) for x in given), missing, watch)
    tables = [t for t in map(plain_table, given) if t is not None]
    if len(tables) == len(given):
        if len({t.shape[1] for t in tables}) > 1:
            raise ValueError(f"{what[0]} has {tables[0].shape[1]} columns and {what[1]} has {tables[1].shape[1]}")
        schema = plain_schema(tables)
    else:
        sides = match_columns([columns_of(x, w, one_column) for x, w in zip(given, what)], what)
        settle_texts(sides, what, watch)
        schema = join_kinds(sides)
        tables = [stack(s) for s in sides]
    for t, w in zip(tables, what):
        refuse_infinite(t, schema, w)
    if missing == "drop":
        tables = drop_missing(tables, False, what, weights)
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
    settle_texts(side, (what,), watch)
    schema = join_kinds(side)
    return stack(side[0]), schema


def take_pairs(u: Any, v: Any, missing: str = "refuse", watch: Any = None) -> tuple[list[np.ndarray], list[Schema]]:
    """Two tables whose rows are pairs, each with its schema."""
    check_missing(missing)
    what = ("u", "v")
    check_paths((u, v), what)
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
        path = os.fspath(x)
        with opened(path):
            table = table_of(core.read_known(path, schema_text(schema), watch))
        say_unknown(table, schema, path)
        return table
    given = plain_table(x)
    if given is None:
        columns = columns_of(x, what, one_column)
        given = stack_known(by_name(columns, schema, what, owner), schema, watch, what)
    check_width(given.shape[1], schema, owner)
    say_unknown(given, schema, what)
    return check_known(given, schema, what, missing) if look else given


def say_unknown(table: np.ndarray, schema: Schema, what: str) -> None:
    """Levels that the model has not seen, which it takes for average ones; numbers that are no level at all are refused."""
    for j, s in enumerate(schema):
        if s["kind"] != "categorical":
            continue
        code, name = table[:, j], s.get("name", j)
        if not np.array_equal(code, np.floor(code), equal_nan=True):
            raise ValueError(f"{what}, column {name!r}: categories are given by number in an array: 0 to {len(s['levels']) - 1}")
        unknown = int((code < 0).sum())
        if unknown:
            warn(f"{what}, column {name!r}: {unknown} of {len(code)} rows have a level that the model does not know, "
                 "and count as average ones", DataWarning)


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
    if c.name is None:
        return np.asarray(c.values)  # an array of numbers has the numbers of levels, whatever its type
    texts = [format(v, "g") for v in np.asarray(c.values).tolist()]
    return np.array([np.nan if t == "nan" else at.get(t, -1.0) for t in texts])


def known_text(c: Column, entry: dict[str, Any], watch: Any, what: str) -> np.ndarray:
    """Dates and dressed numbers, as they were written in the first table."""
    rows = [i for i, v in enumerate(c.values) if v is not None]
    out = np.full(len(c.values), np.nan)
    if not rows:
        return out
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.csv")
        write_texts(path, [Column("x", "text", [c.values[i] for i in rows])], ["x"])
        try:
            read = table_of(core.read_known(path, schema_text([{**entry, "name": "x"}]), watch))
        except ValueError as e:
            found = re.fullmatch(re.escape(path) + r":(\d+): column 1 \('x'\): (.*)", str(e))
            if not found:
                raise ValueError(str(e).replace(path, what)) from None
            raise ValueError(f"{what}: row {rows[int(found[1]) - 2]}, {c.name or 'a column'}: {found[2]}") from None
    out[rows] = read[:, 0]
    return out
