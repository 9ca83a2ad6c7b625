#!/usr/bin/env python3
"""test_mi_command.py WAYMARK: `waymark mi` and `ratio` on columns of categories and whole numbers: these are mixed
column by column without being told, the answer is right, and both the tables and the JSON say what was done."""

import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

WAYMARK = os.path.abspath(sys.argv[1])
WORDS = ["ash", "elm", "fir", "oak"]
SENTENCE = "dimension-wise mixing"


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def put(self, name, rows):
        with open(os.path.join(self.folder, name), "w") as f:
            f.writelines(",".join(map(str, row)) + "\n" for row in rows)

    def run_it(self, *words):
        done = subprocess.run([WAYMARK, *words], capture_output=True, text=True, timeout=300, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def json_of(self, *words):
        return json.loads(self.run_it(*words, "--json"))

    def assertInside(self, got, name, truth):
        lo, hi = got[name + "_ci95"]
        self.assertTrue(lo <= truth <= hi, f"{truth} is not in {lo} .. {hi}")


class Mixing(Case):
    def test_categories(self):
        """Three columns of four words; a column of v names that of u in 3 of 4 rows."""
        draw = random.Random(7)
        u, v = [["a", "b", "c"]], [["d", "e", "f"]]
        for _ in range(1500):
            row = [draw.randrange(4) for _ in range(3)]
            u.append([WORDS[k] for k in row])
            v.append([WORDS[k] if draw.random() < 0.75 else WORDS[(k + draw.randrange(1, 4)) % 4] for k in row])
        self.put("u.csv", u)
        self.put("v.csv", v)
        # a column: log 4 less the entropy of (3/4, 1/12, 1/12, 1/12)
        truth = 3 * (math.log(4) + 0.75 * math.log(0.75) + 0.25 * math.log(1 / 12))
        quick = ("mi", "u.csv", "v.csv", "--no-shuffled", "--model", "quadratic")
        got = self.json_of(*quick)
        self.assertInside(got, "mi", truth)
        self.assertEqual((got["mixed_columns"], len(got["bridges"])), (3, 1))  # all columns of v turn at once
        self.assertNotIn("alphas", got)
        # a bridge for each column of v, whatever the number of its indicators
        by_column = self.json_of(*quick, "--bridges", "3")
        self.assertInside(by_column, "mi", truth)
        self.assertEqual(len(by_column["bridges"]), 3)
        for name, rows in (("u.csv", u), ("v.csv", v)):
            self.put(name, rows[:300])
        says = self.run_it(*quick, "--bridges", "3")
        self.assertIn("3 columns of whole numbers or categories go, one after the other", says)
        self.assertIn(SENTENCE, says)

    def test_known_pairs(self):
        """The generator's own levels, whole numbers in npy files."""
        truth = json.loads(self.run_it("data", "discrete", "--columns", "2", "-n", "1500", "-o", "d", "--json"))["mi"]
        got = self.json_of("mi", "d/u.npy", "d/v.npy", "--no-shuffled", "--model", "quadratic")
        self.assertInside(got, "mi", truth)
        self.assertEqual((got["mixed_columns"], len(got["bridges"])), (2, 1))

    def test_both_kinds(self):
        """A number that moves and a category that switches; a table of numbers alone does not speak of mixing."""
        draw = random.Random(3)
        p = [["x", "tree"], *([draw.gauss(0, 1), draw.choice(WORDS[:2])] for _ in range(1000))]
        q = [["x", "tree"], *([draw.gauss(1, 1), draw.choices(WORDS[:2], [1, 3])[0]] for _ in range(1000))]
        truth = 0.5 + 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
        self.put("p.csv", p)
        self.put("q.csv", q)
        quick = ("ratio", "p.csv", "q.csv", "--model", "quadratic")
        got = self.json_of(*quick)
        self.assertInside(got, "kl_pq", truth)
        self.assertEqual(got["mixed_columns"], 1)
        self.assertIn("alphas", got)
        p, q = p[:300], q[:300]
        self.put("p.csv", p)
        self.put("q.csv", q)
        self.assertNotIn("the others move gradually", self.run_it(*quick))  # one bridge: nothing moves
        self.assertIn("the others move gradually", self.run_it(*quick, "--bridges", "2"))
        self.put("p.csv", [row[:1] for row in p])
        self.put("q.csv", [row[:1] for row in q])
        self.assertEqual(self.json_of(*quick)["mixed_columns"], 0)
        self.assertNotIn(SENTENCE, self.run_it(*quick))


class Columns(Case):
    def test_a_constant_column_is_named_as_the_user_has_it(self):
        draw = random.Random(2)
        self.put("u.csv", [[draw.gauss(0, 1)] for _ in range(100)])
        self.put("v.csv", [["a", "b"]] + [[draw.gauss(0, 1), 1] for _ in range(100)])
        done = subprocess.run([WAYMARK, "mi", "u.csv", "v.csv", "-q"], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("waymark mi: column 2 of v ('b') is constant (1)", done.stderr)


class Repeats(Case):
    def test_copies_are_doubted(self):
        """A table against itself is no test of anything: rows that are held out have been seen."""
        draw = random.Random(4)
        rows = [[draw.gauss(0, 1), draw.gauss(0, 1)] for _ in range(1200)]
        self.put("p.csv", rows[:600])
        self.put("q.csv", rows[600:])
        quick = ("--model", "quadratic")
        self.assertEqual(self.json_of("ratio", "p.csv", "q.csv", *quick)["verdict"], "trust")
        got = self.json_of("ratio", "p.csv", "p.csv", *quick)
        self.assertEqual(got["verdict"], "doubt")
        check = [c for c in got["checks"] if not c["ok"]]
        self.assertEqual([(c["name"], c["value"]) for c in check], [("repeats", 0.5)])
        self.assertIn("50 % of the rows are exact copies", check[0]["meaning"])


class Missing(Case):
    def test_pairs_are_dropped_together(self):
        """One value is missing in each file, in different rows: the rest must stay paired."""
        draw = random.Random(1)
        u = [[draw.gauss(0, 1)] for _ in range(400)]
        v = [[row[0] + 0.05 * draw.gauss(0, 1)] for row in u]
        u[100], v[200] = ["nan"], [""]
        self.put("u.csv", [["u"], *u])
        self.put("v.csv", [["v"], *v])
        got = self.json_of("mi", "u.csv", "v.csv", "--missing", "drop", "--no-shuffled", "--model", "quadratic")
        self.assertEqual(got["n_test"], 398)
        self.assertLess(abs(got["mi"] - 0.5 * math.log(1 + 1 / 0.05 ** 2)), 0.3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
