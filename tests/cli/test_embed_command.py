#!/usr/bin/env python3
"""test_embed_command.py WAYMARK: `waymark reproduce omniglot`, `embed`, `embed fit` and `probe` from outside:
what they print, what they leave, what they refuse. The numbers are tested in tests/estimators."""

import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import npy_files

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

    def test_missing_values(self):
        with open(self.path("x.csv"), "a") as f:
            f.write("1,2,,4\n")
        self.put("y.csv", [["side", "high"], *self.words, ["left", 1]])
        self.refused("\nSee --missing", "probe", "x.csv", "y.csv")
        got = self.json_of("probe", "x.csv", "y.csv", "--missing", "drop", "-o", "run")
        self.assertEqual(got["n_train"] + got["n_test"], 300)
        with open(self.path("run", "report.html")) as f:
            page = f.read()
        self.assertIn("<h1>waymark probe</h1>", page)
        self.assertRegex(page, r'<p class="value">0\.\d+ <span class="unit">of the rows held out')

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

    def test_numbers_for_labels_are_doubted(self):
        self.put("numbers.csv", [["size"], *[[i / 7] for i in range(300)]])
        done = self.run_it("probe", "x.csv", "numbers.csv", "--iterations", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("column 1 ('size') has 300 different labels in 240 rows", done.stderr)
        self.assertNotIn("different labels", self.run_it("probe", "x.csv", "y.csv", "--iterations", "1").stderr)

    def test_what_is_refused(self):
        self.put("short.csv", [["side"], *[[w[0]] for w in self.words[:9]]])
        self.put("same.csv", [["side"], *[["left"]] * 300])
        self.put("other.csv", [["side", "high"], ["up", 0], *self.words[1:]])
        self.refused("x.csv has 300 rows and short.csv has 9", "probe", "x.csv", "short.csv")
        self.refused("has one label only", "probe", "x.csv", "same.csv")
        self.refused("has the label 'up', which y.csv has not", "probe", "x.csv", "y.csv", "x.csv", "other.csv")
        self.refused("need their labels", "probe", "x.csv", "y.csv", "x.csv", code=2)
        self.refused("missing.csv", "probe", "missing.csv", "y.csv")


class Fit(Case):
    """`embed fit`: a person's own pairs."""

    def gaussian(self, n="4000", mi="1"):
        made = self.run_it("data", "gaussian", "--dx", "2", "--dy", "2", "--mi", mi, "-n", n, "-o", "g", "-q")
        self.assertEqual(made.returncode, 0, made.stderr)
        return "g/u.npy", "g/v.npy"

    def put_images(self, name, n, side, draw):
        """Bytes as (n, side, side): a bright cell out of four, told by draw(i)."""
        half = side // 2
        pixels = bytearray(n * side * side)
        for i in range(n):
            cell = draw(i)
            for y in range(half):
                at = (i * side + cell // 2 * half + y) * side + cell % 2 * half
                pixels[at:at + half] = bytes([200]) * half
        npy_files.write(self.path(name), (n, side, side), pixels, "|u1")
        return name

    def test_gaussian_pairs(self):
        u, v = self.gaussian("4000")
        got = self.json_of("embed", "fit", u, v, "--iterations", "400", "-o", "run")
        self.assertEqual((got["n_train"], got["n_valid"], got["n_test"]), (3200, 400, 400))
        self.assertEqual((got["command"], got["model"], got["objective"]), ("embed fit", "separable", "logistic"))
        # 5 standard errors of 400 pairs, and a tenth of a nat for the fit
        self.assertLess(abs(got["mi"] - 1), 5 * got["mi_se"] + 0.1)
        self.assertTrue(0.016 < got["mi_se"] < 0.095)  # about the root of 4 columns' variances over 400
        self.assertLess(abs(got["mi_calibrated"] - 1), 5 * got["mi_calibrated_se"] + 0.1)
        self.assertEqual([c["name"] for c in got["checks"]], ["chasm", "finished", "calibration"])
        self.assertEqual(len(got["bridges"]), 2)
        self.assertAlmostEqual(sum(b["mean_log_ratio"] for b in got["bridges"]), got["mi"])
        for b in got["bridges"]:
            self.assertTrue(0.5 < b["loss"] < 2 * math.log(2) and 0.5 < b["accuracy"] < 1)
        self.assertEqual((got["verdict"], got["units"]), ("trust", "nats"))
        with open(self.path("run", "summary.json")) as f:
            self.assertEqual(json.load(f), got)
        with open(self.path("run", "metrics.jsonl")) as f:
            lines = [json.loads(line) for line in f]
        self.assertEqual([line["step"] for line in lines], list(range(20, 401, 20)))
        for name in ("config.json", "model.safetensors", "report.html"):
            self.assertTrue(os.path.exists(self.path("run", name)), name)
        short = ("embed", "fit", u, v, "--iterations", "40")
        self.assertAlmostEqual(self.json_of(*short, "--bits")["mi"] * math.log(2), self.json_of(*short)["mi"], places=9)
        # g(u) by the run: the probe reads the sign of u's first column off it
        made = self.json_of("embed", "run", u, "-o", "g.npy")
        self.assertEqual((made["n"], made["features"]), (4000, got["features"]))

    def test_infonce_says_at_most_the_log_of_its_group(self):
        u, v = self.gaussian(mi="4")
        got = self.json_of("embed", "fit", u, v, "--objective", "infonce", "--iterations", "300", "--batch", "32",
                           "--average", "0.9")
        self.assertAlmostEqual(got["most"], math.log(16))
        self.assertLess(got["mi"], math.log(16))
        self.assertGreater(got["mi"], 0.8 * math.log(16))  # the truth, 4, is far above
        self.assertEqual([b["k"] for b in got["bridges"]], [0])

    def discrete(self, n=4000):
        """Two columns of four words each; a column of v names that of u in 3 of 4 rows."""
        draw, words = random.Random(7), ["ash", "elm", "fir", "oak"]
        u, v = [["a", "b"]], [["c", "d"]]
        for _ in range(n):
            row = [draw.randrange(4) for _ in range(2)]
            u.append([words[k] for k in row])
            v.append([words[k] if draw.random() < 0.75 else words[(k + draw.randrange(1, 4)) % 4] for k in row])
        self.put("u.csv", u)
        self.put("v.csv", v)
        # per column: log 4 less the entropy of (3/4, 1/12, 1/12, 1/12)
        return 2 * (math.log(4) + 0.75 * math.log(0.75) + 0.25 * math.log(1 / 12))

    def test_discrete_pairs(self):
        truth = self.discrete()
        got = self.json_of("embed", "fit", "u.csv", "v.csv", "--iterations", "300", "-o", "run")
        self.assertEqual((got["dim_u"], got["dim_v"], got["blocks"], len(got["bridges"])), (2, 2, 2, 2))
        self.assertLess(abs(got["mi"] - truth), 5 * got["mi_se"] + 0.1)
        one = self.json_of("embed", "fit", "u.csv", "v.csv", "--blocks", "1", "--iterations", "10")
        self.assertEqual((one["blocks"], len(one["bridges"])), (1, 1))
        # the run knows the words, whatever their order in another file
        self.put("few.csv", [["a", "b"], ["oak", "ash"], ["elm", "fir"]])
        self.assertEqual(self.json_of("embed", "run", "few.csv", "-o", "g.npy")["n"], 2)
        self.put("new.csv", [["a", "b"], ["oak", "beech"]])
        self.refused("beech", "embed", "run", "new.csv", "-o", "g.npy")
        self.refused("already knows how its columns are scaled", "embed", "run", "few.csv", "--divide", "2", "-o", "g.npy", code=2)

    def test_images(self):
        draw = random.Random(3)
        cells = [draw.randrange(4) for _ in range(600)]
        u = self.put_images("u.npy", 600, 12, lambda i: cells[i])
        v = self.put_images("v.npy", 600, 12, lambda i: (cells[i] + 1) % 4)
        small = ("--network", "stem 3/1 4, 4 down, dense 8", "--batch", "64", "--lr", "0.01", "--average", "0.9")
        self.refused("values reach 200", "embed", "fit", u, v, *small, code=2)
        got = self.json_of("embed", "fit", u, v, "--divide", "255", "--iterations", "150", *small, "-o", "run")
        self.assertEqual((got["blocks"], got["features"], got["dim_u"]), (4, 8, 144))
        self.assertGreater(got["mi"], 0.5)  # the truth is log 4
        self.assertEqual(self.json_of("embed", "run", u, "-o", "g.npy")["features"], 8)
        of_cells = ("--network", "stem 3/1 4, 4 down, dense 4, cells 2x2, join 8", "--batch", "80", "--lr", "0.01")
        cut = self.json_of("embed", "fit", u, v, "--divide", "255", "--iterations", "150", *of_cells, "--average", "0.9",
                           "--clip", "1", "--negatives", "8", "-o", "cells")
        self.assertEqual((cut["features"], len(cut["bridges"])), (8, 4))
        self.assertGreater(cut["mi"], 0.5)
        self.assertEqual(self.json_of("embed", "cells", u, "-o", "g.npy")["features"], 8)
        self.refused("more than one are for networks whose cells are the blocks of v", "embed", "fit", u, v, "--divide",
                     "255", *of_cells, "--blocks", "3", "--negatives", "2")
        self.refused("no 5 x 5 equal cells", "embed", "fit", u, v, "--divide", "255", "--network",
                     "stem 3/1 4, dense 4, cells 5x5, join 8")
        bands = self.json_of("embed", "fit", u, v, "--divide", "255", "--iterations", "2", *small, "--blocks", "3",
                             "--bridges", "2")
        self.assertEqual((bands["blocks"], len(bands["bridges"])), (3, 2))
        plain = self.json_of("embed", "fit", u, v, "--image", "12x12,no", "--integer", "all", "--iterations", "2",
                             "--network", "stem 3/1 4, 4 down, dense 8", "--features", "8", "--divide", "255")
        self.assertEqual(plain["blocks"], 144)
        self.refused("no image of 7 x 7", "embed", "fit", u, v, "--image", "7x7")
        self.refused("height x width is wanted", "embed", "fit", u, v, "--image", "7by7", code=2)
        self.refused("--blocks '5x99'", "embed", "fit", u, v, "--blocks", "5x99", "--divide", "255", code=2)

    def test_a_stopped_run_ends_in_the_same_bits(self):
        u, v = self.gaussian("2000")
        settings = ("--iterations", "1500", "--batch", "128", "--width", "32", "--features", "16")
        whole = self.json_of("embed", "fit", u, v, *settings, "-o", "whole")
        part = self.json_of("embed", "fit", u, v, *settings, "-o", "part", "--time-limit", "0.2s", "--checkpoint", "0")
        self.assertFalse(part["finished"])
        self.assertLess(part["steps"], 1500)
        self.assertEqual(part["verdict"], "doubt")
        on = self.json_of("embed", "fit", u, v, "-o", "part", "--resume")
        self.assertTrue(on["finished"])
        self.assertEqual((on["mi"], on["bridges"]), (whole["mi"], whole["bridges"]))
        models, losses = [], []
        for run in ("whole", "part"):
            with open(self.path(run, "model.safetensors"), "rb") as f:
                models.append(f.read())
            with open(self.path(run, "metrics.jsonl")) as f:
                lines = [json.loads(line) for line in f]
            losses.append([(x["step"], x["valid_loss"]) for x in lines if x["step"] % 75 == 0])  # and where it stopped
        self.assertEqual(*models)
        self.assertEqual(*losses)
        self.assertEqual(len(losses[0]), 20)
        again = self.json_of("embed", "fit", u, v, "-o", "part", "--resume")  # nothing is left to do
        self.assertEqual(again["mi"], whole["mi"])
        self.refused("part", "embed", "fit", u, v, "-o", "part")

    def test_a_table_is_printed(self):
        u, v = self.gaussian("500")
        done = self.run_it("embed", "fit", u, v, "--iterations", "20")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("I(u; v) = ", "from 50 test pairs; 400 trained it, 50 chose step", "2 bridges, logistic",
                      "ok         finished", "Verdict: trust."):
            self.assertIn(words, done.stdout)

    def test_what_is_refused(self):
        draw = random.Random(5)
        x = [[draw.gauss(0, 1), draw.gauss(0, 1)] for _ in range(100)]
        u = self.put("u.csv", x)
        v = self.put("v.csv", x[1:] + x[:1])
        fit = ("embed", "fit", u)
        self.refused("u.csv has 100 rows and short.csv has 9: row i of U and row i of V are a pair", *fit,
                     self.put("short.csv", x[:9]))
        self.refused("1 pair: 1 to train on", "embed", "fit", self.put("a.csv", [[1.5]]), self.put("b.csv", [[2.5]]))
        self.refused("100 pairs: 98 to train on", *fit, v, "--held-out", "0.02")
        holed = self.put("holed.csv", [*x[:6], [0.5, "nan"], *x[7:]])
        self.refused("holed.csv: line 7, column 2", *fit, holed)
        few = self.json_of(*fit, holed, "--missing", "drop", "--iterations", "2")
        self.assertEqual(few["n_train"] + few["n_valid"] + few["n_test"], 99)
        self.assertEqual(self.run_it(*fit, holed, "--missing", "mean", "--iterations", "2", "-q").returncode, 0)
        self.refused("inf", *fit, self.put("inf.csv", [*x[:6], [0.5, "inf"], *x[7:]]))
        self.refused("flat.csv: column 2 is constant (3)", *fit, self.put("flat.csv", [[r[0], 3] for r in x]),
                     "--continuous", "all")
        for blocks in ("0", "3", "1,2", "1,0", "2x1", "1,", "a", "+1"):
            self.refused(f"--blocks '{blocks}': v has 2 columns", *fit, v, "--blocks", blocks, code=2)
        self.refused("--network is for images", *fit, v, "--network", "dense 3", code=2)
        self.refused("--divide is for images", *fit, v, "--divide", "3", code=2)
        self.refused("has one bridge, not 2", *fit, v, "--objective", "infonce", "--bridges", "2", code=2)
        self.refused("lower --batch or raise --held-out", *fit, v, "--objective", "infonce", code=2)
        self.refused("cannot both be standard input", "embed", "fit", "-", "-", code=2)
        self.refused("nowhere.csv", *fit, "nowhere.csv")
        self.refused("takes U V", *fit, code=2)
        with open("/dev/full", "w") as full:
            done = subprocess.run([WAYMARK, *fit, v, "--iterations", "2", "--json", "-q"], cwd=self.folder,
                                  stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)


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
        self.refused("--only 'tre-5'", *command, "--only", "tre-5", code=2)
        self.refused("nowhere: No such file", *command, "--data", "nowhere")
        os.mkdir(self.path("empty"))
        self.refused("empty", *command, "--data", "empty")


if __name__ == "__main__":
    del sys.argv[1]
    unittest.main()
