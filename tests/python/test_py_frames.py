"""DataFrames: columns by name, kinds and missing values by the rules of files. A stand-in with a DataFrame's manners is
enough for most; pandas and polars are used where they are installed."""

import csv
import os
import tempfile
import unittest
import warnings

import numpy as np

import waymark
from waymark._frames import take_known, take_pairs, take_tables

try:
    import pandas
except ImportError:
    pandas = None
try:
    import polars
except ImportError:
    polars = None
try:
    import pyarrow
except ImportError:
    pyarrow = None


class Frame(dict):
    """Named columns, as lists or arrays."""

    @property
    def columns(self):
        return list(self)

    def __len__(self):
        return len(next(iter(self.values()))) if self.keys() else 0


def columns(n=300, seed=1, shift=0.0):
    rng = np.random.default_rng(seed)
    return {
        "x": rng.normal(size=n) + shift,
        "count": rng.integers(0, 6, size=n),
        "grade": np.round(rng.normal(size=n) * 2),
        "yes": rng.random(n) < 0.5 + shift / 4,
        "town": rng.choice(["Bonn", "Ulm", "Köln"], size=n, p=[0.5, 0.3, 0.2] if shift else [0.2, 0.3, 0.5]).tolist(),
        "day": np.datetime64("2024-01-01") + rng.integers(0, 90, size=n),
        "price": [f"$ {v:.2f}" for v in np.exp(rng.normal(size=n) + shift)],
    }


def write_csv(path, table):
    with open(path, "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f)
        out.writerow(table)
        out.writerows(zip(*table.values()))


class Kinds(unittest.TestCase):
    def test_kinds(self):
        (x,), schema = take_tables((Frame(columns()),), ("X",))
        self.assertEqual([(s["name"], s["kind"]) for s in schema],
                         [("x", "continuous"), ("count", "integer"), ("grade", "integer"), ("yes", "categorical"),
                          ("town", "categorical"), ("day", "continuous"), ("price", "continuous")])
        self.assertEqual(schema[4]["levels"], ["Bonn", "Köln", "Ulm"])
        self.assertEqual(x[0, 5], (columns()["day"][0] - np.datetime64("1970-01-01")).astype(float))
        self.assertAlmostEqual(x[0, 6], float(columns()["price"][0][2:]))

    def test_as_the_same_table_in_files(self):
        tables = [columns(seed=1), columns(seed=2, shift=0.5)]
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, n) for n in ("p.csv", "q.csv")]
            for path, table in zip(paths, tables):
                write_csv(path, table)
            files, schema = take_tables(tuple(paths), ("p", "q"))
        frames, ours = take_tables(tuple(Frame(t) for t in tables), ("p", "q"))
        self.assertEqual([s["kind"] for s in schema if s["name"] != "grade"],
                         [s["kind"] for s in ours if s["name"] != "grade"])  # written as 3.0: continuous in text
        for a, b in zip(files, frames):
            np.testing.assert_allclose(a, b, rtol=1e-12)

    def test_columns_are_matched_by_name(self):
        p, q = columns(seed=1), columns(seed=2)
        turned = Frame({k: q[k] for k in reversed(q)})
        a, _ = take_tables((Frame(p), Frame(q)), ("p", "q"))
        b, _ = take_tables((Frame(p), turned), ("p", "q"))
        np.testing.assert_array_equal(a[1], b[1])
        less = Frame({k: v for k, v in q.items() if k != "grade"})
        with self.assertWarnsRegex(waymark.DataWarning, "left out: grade"):
            c, schema = take_tables((Frame(p), less), ("p", "q"))
        self.assertEqual(len(schema), 6)
        with self.assertRaisesRegex(ValueError, "no column in common"):
            take_tables((Frame(p), Frame({"z": [1.0, 2.0]})), ("p", "q"))

    def test_levels_of_both_tables(self):
        (a, b), schema = take_tables((Frame(c=["u", "v"] * 5), Frame(c=["v", "w"] * 5)), ("p", "q"))
        self.assertEqual(schema[0]["levels"], ["u", "v", "w"])
        np.testing.assert_array_equal(a[:2, 0], [0, 1])
        np.testing.assert_array_equal(b[:2, 0], [1, 2])

    def test_numbers_among_text_are_refused(self):
        words = r"^X: row 200, column 'c': 'oops' is not a number, .* declare the column categorical \(astype\('category'\)\)$"
        with self.assertRaisesRegex(ValueError, words):
            take_tables((Frame(c=["1", "2", "3", "4"] * 50 + ["oops"]),), ("X",))

    def test_missing(self):
        texts = ["a", None, "NA", "b", "a"]
        numbers = [1.5, 2.5, float("nan"), 4.5, 5.5]
        frame = Frame(c=texts, x=numbers)
        with self.assertRaisesRegex(ValueError, "Input contains NaN: row 1, column 'c'; 3 missing"):
            take_tables((frame,), ("X",))
        with self.assertWarns(waymark.DataWarning):
            (x,), _ = take_tables((frame,), ("X",), missing="drop")
        np.testing.assert_array_equal(x, [[0, 1.5], [1, 4.5], [0, 5.5]])
        (x,), _ = take_tables((frame,), ("X",), missing="mean")
        np.testing.assert_array_equal(x[:, 0], [0, 0, 0, 1, 0])
        self.assertEqual(x[2, 1], 3.5)

    def test_pairs_are_dropped_together(self):
        with self.assertWarns(waymark.DataWarning):
            (u, v), _ = take_pairs(Frame(x=[1.5, None, 3.5, 4.5]), np.array([1.0, 2.0, np.nan, 4.5]), "drop")
        np.testing.assert_array_equal(u[:, 0], [1.5, 4.5])
        np.testing.assert_array_equal(v[:, 0], [1.0, 4.5])

    def test_new_rows(self):
        _, schema = take_tables((Frame(columns()),), ("X",))
        new = columns(n=5, seed=9)
        new["town"][2] = "Trier"
        with self.assertWarnsRegex(waymark.DataWarning, "column 'town': 1 of 5 rows have a level that the model does not"):
            x = take_known(Frame({k: new[k] for k in reversed(new)}), schema)
        self.assertEqual(x[2, 4], -1)  # a level that the model does not know
        np.testing.assert_array_equal(x[:, 0], new["x"])
        self.assertAlmostEqual(x[1, 6], float(new["price"][1][2:]))
        new.pop("x")
        with self.assertRaisesRegex(ValueError, "lacks the columns x"):
            take_known(Frame(new), schema)

    def test_levels_by_number(self):
        _, schema = take_tables((Frame(x=[1.5, 2.5, 3.5], town=["Bonn", "Ulm", "Bonn"]),), ("X",))
        for dtype in (np.float64, np.float32, int):  # an array has no names, so no levels: whatever its type
            np.testing.assert_array_equal(take_known(np.array([[2, 1], [3, 0]], dtype=dtype), schema), [[2, 1], [3, 0]])
        with self.assertRaisesRegex(ValueError, "column 'town': categories are given by number in an array: 0 to 1"):
            take_known(np.array([[2, 0.5]]), schema)

    def test_text_that_is_no_number_is_named_by_row(self):
        _, schema = take_tables((np.array([[1.5], [2.5]]),), ("X",))
        with self.assertRaisesRegex(ValueError, "x: row 2, .*'three' is not a number"):
            take_known(np.array([["1"], [None], ["three"]], dtype=object), schema)

    def test_names_that_are_not_one_columns(self):
        class Twice(Frame):
            columns = property(lambda self: ["x", "x"])

        with self.assertRaisesRegex(ValueError, "p: more than one column is called 'x'"):
            take_tables((Twice(x=[1.0, 2.0]), Frame(x=[1.0, 2.0])), ("p", "q"))

    def test_what_is_nearly_a_frame(self):
        with self.assertRaisesRegex(TypeError, "X: a dict: a DataFrame is needed"):
            take_tables(({"x": [1.0, 2.0]},), ("X",))

    def test_weights_go_with_their_rows(self):
        x, w = np.array([[1.5], [np.nan], [3.5]]), [np.array([1.0, 2.0, 3.0])]
        with self.assertWarns(waymark.DataWarning):
            take_tables((x,), ("X",), missing="drop", weights=w)
        np.testing.assert_array_equal(w[0], [1, 3])
        with self.assertWarns(waymark.DataWarning), self.assertRaisesRegex(ValueError, "weights: 2 for 3 rows of X"):
            take_tables((x,), ("X",), missing="drop", weights=[np.ones(2)])

    def test_objects(self):
        with self.assertRaisesRegex(TypeError, "column 'c': argument must be a string or a number, not 'dict'"):
            take_tables((Frame(c=[{}, {}]),), ("X",))
        (x,), schema = take_tables((np.array([[1, "a"], [2, "b"], [2, "a"]], dtype=object),), ("X",))
        self.assertEqual([s["kind"] for s in schema], ["integer", "categorical"])
        np.testing.assert_array_equal(x, [[1, 0], [2, 1], [2, 0]])

    def test_dates_are_known_again_in_text(self):
        day = np.datetime64("2024-01-01") + np.arange(40)
        _, schema = take_tables((Frame(day=day),), ("X",))
        for rows in (Frame(day=day[:3]), Frame(day=["2024-01-01", "2024-01-02", "2024-01-03"])):
            np.testing.assert_array_equal(take_known(rows, schema)[:, 0], day[:3].astype(float))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.csv")
            write_csv(path, {"day": day[:3].tolist()})
            np.testing.assert_array_equal(take_known(path, schema)[:, 0], day[:3].astype(float))

    def test_a_fit_keeps_names(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", waymark.DoubtWarning)
            r = waymark.DensityRatio("additive", folds=2, n_jobs=1, on_reject="warn").fit(
                Frame(columns(seed=1)), Frame(columns(seed=2, shift=0.5)))
        self.assertEqual(list(r.feature_names_in_), list(columns()))
        self.assertEqual({c["name"] for c in r.result_.columns}, set(columns()))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.safetensors")
            r.save(path)
            rows = Frame(columns(n=20, seed=4))
            np.testing.assert_array_equal(waymark.load(path).log_ratio(rows), r.log_ratio(rows))


@unittest.skipUnless(pandas, "pandas is not installed")
class Pandas(unittest.TestCase):
    def test_as_a_plain_frame(self):
        (a,), first = take_tables((Frame(columns()),), ("X",))
        (b,), second = take_tables((pandas.DataFrame(columns()),), ("X",))
        self.assertEqual(first, second)
        np.testing.assert_allclose(a, b)

    def test_types_of_its_own(self):
        f = pandas.DataFrame({
            "c": pandas.Categorical(["u", "v", None, "u"], categories=["v", "u"]),
            "n": pandas.array([1, 2, None, 2], dtype="Int64"),
            "b": pandas.array([True, None, False, True], dtype="boolean"),
            "t": pandas.to_datetime(["2024-01-01", "2024-01-02", None, "2024-01-03"]).tz_localize("Europe/Berlin"),
        })
        (x,), schema = take_tables((f.fillna({"b": True}).iloc[[0, 1, 3]],), ("X",))
        self.assertEqual([s["kind"] for s in schema], ["categorical", "integer", "categorical", "continuous"])
        self.assertEqual(schema[0]["levels"], ["v", "u"])
        np.testing.assert_array_equal(x[:, 0], [1, 0, 1])
        with self.assertRaisesRegex(ValueError, "Input contains NaN"):
            take_tables((f,), ("X",))

    def test_a_series_is_one_column(self):
        for s in (pandas.Series([1.5, 2.5, 4.0], name="x"), pandas.Series([1.5, 2.5, None], dtype="Float64")):
            (x,), schema = take_tables((s,), ("X",), missing="mean")
            self.assertEqual((x.shape, schema), ((3, 1), [{"kind": "continuous"}]))
        with self.assertRaisesRegex(ValueError, "Reshape your data"):
            take_tables((s,), ("X",), one_column=False)
        with self.assertRaisesRegex(ValueError, "0 sample"):
            take_tables((s[:0],), ("X",))

    def test_periods_are_dates(self):
        f = pandas.DataFrame({"t": pandas.period_range("2024-01", periods=3, freq="M")})
        (x,), schema = take_tables((f,), ("X",))
        self.assertEqual(schema[0]["kind"], "continuous")
        np.testing.assert_array_equal(np.diff(x[:, 0]), [31, 29])


@unittest.skipUnless(polars, "polars is not installed")
class Polars(unittest.TestCase):
    def test_as_a_plain_frame(self):
        table = columns()
        f = polars.DataFrame({k: np.asarray(v) if k != "town" else v for k, v in table.items()})
        (a,), first = take_tables((Frame(table),), ("X",))
        (b,), second = take_tables((f,), ("X",))
        self.assertEqual(first, second)
        np.testing.assert_allclose(a, b)
        g = f.with_columns(polars.col("town").cast(polars.Categorical))
        (c,), third = take_tables((g,), ("X",))
        np.testing.assert_allclose(a, c)

    def test_rows_that_are_not_there_yet(self):
        with self.assertRaisesRegex(TypeError, "LazyFrame has no rows before its collect"), warnings.catch_warnings():
            warnings.simplefilter("error")  # and its columns are not asked for, which would be work
            take_tables((polars.DataFrame({"x": [1.5, 2.5]}).lazy(),), ("X",))

    def test_a_series_is_one_column(self):
        (x,), _ = take_tables((polars.Series("x", [1.5, 2.5]),), ("X",))
        np.testing.assert_array_equal(x, [[1.5], [2.5]])


@unittest.skipUnless(pyarrow, "pyarrow is not installed")
class Arrow(unittest.TestCase):
    def columns(self):
        return {"x": pyarrow.array([1.5, None, 2.5, 4.5]), "n": pyarrow.array([1, 2, None, 2]),
                "b": pyarrow.array([True, False, None, True]),
                "c": pyarrow.array(["u", "v", None, "u"]).dictionary_encode()}

    def test_tables_and_batches_are_alike(self):
        found = []
        for make in (pyarrow.table, pyarrow.RecordBatch.from_pydict):
            (x,), schema = take_tables((make(self.columns()),), ("X",), missing="mean")
            self.assertEqual([s["kind"] for s in schema], ["continuous", "integer", "categorical", "categorical"])
            found.append(x)
        np.testing.assert_array_equal(*found)
        np.testing.assert_array_equal(found[0][:, 2:], [[1, 0], [0, 1], [1, 0], [1, 0]])

    def test_what_only_lends_its_stream(self):
        class Stream:
            def __arrow_c_stream__(self, requested_schema=None):
                return pyarrow.table({"x": [1.5, 2.5]}).__arrow_c_stream__(requested_schema)

        if not hasattr(pyarrow.Table, "__arrow_c_stream__"):
            with self.assertRaisesRegex(TypeError, "X: a Stream needs pyarrow 14 or later"):
                take_tables((Stream(),), ("X",))
            return
        (x,), schema = take_tables((Stream(),), ("X",))
        np.testing.assert_array_equal(x, [[1.5], [2.5]])
        self.assertEqual(schema[0]["name"], "x")


class Names(unittest.TestCase):
    def test_a_column_of_names_is_left_out_as_of_a_file(self):
        n = 600
        p, q = ({**columns(n, seed), "name": [f"{side}{i}" for i in range(n)]} for seed, side in ((1, "a"), (2, "b")))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            tables, schema = take_tables((Frame(p), Frame(q)), ("p", "q"), watch=waymark._progress.Watch(False))
        self.assertNotIn("name", [c["name"] for c in schema])
        self.assertEqual([t.shape for t in tables], [(n, len(p) - 1)] * 2)
        texts = [str(w.message) for w in said]
        self.assertTrue(any("q: column 'name' has more than 1000 different texts" in t for t in texts), texts)
        self.assertFalse([t for t in texts if ".csv" in t or "'c" in t], texts)
        with self.assertRaisesRegex(ValueError, "no column"):
            take_tables((Frame(name=p["name"]), Frame(name=q["name"])), ("p", "q"))


if __name__ == "__main__":
    unittest.main()
