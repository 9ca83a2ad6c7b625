#!/usr/bin/env python3
"""test_embed_command.py WAYMARK: `waymark reproduce omniglot`, `embed` and `probe` from outside: what they
print, what they leave, what they refuse. The numbers are tested in tests/estimators."""

import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

WAYMARK = os.path.abspath(sys.argv[1])


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def put(self, name, rows):
        with open(self.path(name), "w") as f:
            f.writelines(",".join(map(str, row)) + "\n" for row in rows)
        return name

    def run_it(self, *words):
        return subprocess.run([WAYMARK, *words], capture_output=True, text=True, timeout=300, cwd=self.folder)

    def json_of(self, *words):
        done = self.run_it(*words, "--json", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, says, *words, code=1):
        done = self.run_it(*words, "-q")
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(says, done.stderr)


class Probe(Case):
    def setUp(self):
        super().setUp()
        draw = random.Random(4)
        x = [[draw.gauss(0, 1) for _ in range(4)] for _ in range(300)]
        self.words = [["left" if row[0] < 0 else "right", int(row[1] > 0.5)] for row in x]
        self.put("x.csv", x)
        self.put("y.csv", [["side", "high"], *self.words])

    def test_several_columns(self):
        got = self.json_of("probe", "x.csv", "y.csv")
        self.assertEqual((got["n_train"], got["n_test"], got["features"]), (240, 60, 4))
        self.assertEqual([c["classes"] for c in got["columns"]], [2, 2])
        self.assertGreater(got["accuracy"], 0.9)  # a line parts both; 60 rows judge it
        lo, hi = got["accuracy_ci95"]
        self.assertTrue(0 <= lo <= got["accuracy"] <= hi <= 1)
        side = got["columns"][0]
        self.assertEqual([row["is"] for row in side["confusion"]], ["left", "right"])
        self.assertEqual(sum(sum(row["said"]) for row in side["confusion"]), 60)
        right = sum(row["said"][i] for i, row in enumerate(side["confusion"]))
        self.assertAlmostEqual(side["accuracy"], right / 60)

    def test_the_seed_draws_the_rows(self):
        one, same, other = (self.json_of("probe", "x.csv", "y.csv", "--seed", s) for s in "112")
        for got in (one, same, other):
            del got["seconds"]
        self.assertEqual(one, same)
        self.assertNotEqual(one["columns"], other["columns"])

    def test_test_files_and_ridge(self):
        got = self.json_of("probe", "x.csv", "y.csv", "x.csv", "y.csv")
        self.assertEqual((got["n_train"], got["n_test"]), (300, 300))
        self.assertEqual(got["accuracy"], 1)
        held = self.json_of("probe", "x.csv", "y.csv", "x.csv", "y.csv", "--ridge", "100")
        self.assertGreater(held["columns"][0]["train_loss"], 0.6)  # weights near 0: log 2 is chance
        self.assertLess(held["columns"][0]["train_loss"], math.log(2))

    def test_a_table_is_printed(self):
        done = self.run_it("probe", "x.csv", "y.csv")
        self.assertEqual(done.returncode, 0)
        self.assertIn("column 1 ('side')", done.stdout)
        self.assertIn("mean", done.stdout)

    def test_what_is_refused(self):
        self.put("short.csv", [["side"], *[[w[0]] for w in self.words[:9]]])
        self.put("same.csv", [["side"], *[["left"]] * 300])
        self.put("other.csv", [["side", "high"], ["up", 0], *self.words[1:]])
        self.refused("x.csv has 300 rows and short.csv has 9", "probe", "x.csv", "short.csv")
        self.refused("has one label only", "probe", "x.csv", "same.csv")
        self.refused("has the label 'up', which y.csv has not", "probe", "x.csv", "y.csv", "x.csv", "other.csv")
        self.refused("need their labels", "probe", "x.csv", "y.csv", "x.csv", code=2)
        self.refused("missing.csv", "probe", "missing.csv", "y.csv")


class Omniglot(Case):
    def smoke(self, *words):
        return self.json_of("reproduce", "omniglot", "--preset", "smoke", *words)

    def test_rows_models_and_their_use(self):
        got = self.smoke("--only", "1,tre-4", "-o", "run")
        rows = got["rows"]
        self.assertEqual([(r["method"], r["dim"]) for r in rows],
                         [("tre", 1), ("single", 1), ("infonce", 1), ("tre", 4)])
        for r in rows:
            self.assertAlmostEqual(r["truth"], math.log(3 if r["dim"] == 1 else 36))
            for key in ("mi", "mi_se", "probe_accuracy", "probe_accuracy_unseen", "seconds"):
                self.assertIsInstance(r[key], (int, float), key)
            self.assertTrue(0 <= r["probe_accuracy"] <= 1)
        self.assertEqual([r["bridges"] for r in rows], [1, 1, 1, 4])
        self.assertEqual(rows[0]["mi"], rows[1]["mi"])  # one cell, one bridge
        self.assertLessEqual(rows[2]["mi"], rows[2]["most"])
        # chance is 1/3, and 5 standard errors of a share of 200 rows are 5 x 0.033
        self.assertGreater(rows[0]["probe_accuracy"], 0.5)
        self.assertEqual([c["name"] for c in got["checks"]], ["mi_1", "probe_1", "mi_4", "probe_4"])
        for name in ("tre-4.safetensors", "figures/omniglot.csv", "summary.json", "metrics.jsonl"):
            self.assertTrue(os.path.exists(self.path("run", name)), name)

        again = self.smoke("--only", "1,tre-4", "-o", "run", "--resume")  # from the models
        self.assertEqual([r["mi"] for r in again["rows"]], [r["mi"] for r in rows])
        self.assertEqual([r["probe_accuracy"] for r in again["rows"]], [r["probe_accuracy"] for r in rows])

        model = "run/tre-4.safetensors"
        self.assertEqual(self.run_it("data", "glyphs", "--grid", "4", "--train", "2", "--valid", "2", "--test",
                                     "60", "-o", "grids", "-q").returncode, 0)
        u = "grids/test/u.npy"
        made = self.json_of("embed", model, u, "-o", "g.npy", "--divide", "255")
        self.assertEqual((made["n"], made["features"]), (60, 16))
        self.assertEqual(self.json_of("probe", "g.npy", "grids/test/labels.npy")["features"], 16)
        self.refused("values reach 255", "embed", model, u, "-o", "g.npy", code=2)
        self.refused("-o FILE.npy is needed", "embed", model, u, code=2)
        self.refused("is a folder", "embed", "run", u, "-o", "g.npy")
        self.put("x.csv", [[1, 2], [3, 4]])
        self.refused("x.csv has 2 columns", "embed", model, "x.csv", "-o", "g.npy")
        self.refused("x.csv", "embed", "x.csv", u, "-o", "g.npy")

    def test_what_is_refused(self):
        command = ("reproduce", "omniglot", "--preset", "smoke")
        self.refused("--only 'tre-5'", *command, "--only", "tre-5")
        self.refused("nowhere: No such file", *command, "--data", "nowhere")
        os.mkdir(self.path("empty"))
        self.refused("empty", *command, "--data", "empty")


if __name__ == "__main__":
    del sys.argv[1]
    unittest.main()
