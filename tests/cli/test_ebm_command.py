#!/usr/bin/env python3
"""test_ebm_command.py WAYMARK: `waymark ebm`, `loglik`, `sample` and `reproduce mnist` from outside: what they
write and say, what they refuse, and that a run which was stopped or killed ends in the same bits."""

import base64
import csv
import json
import math
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import npy_files

from sealed import sealed

WAYMARK = os.path.abspath(sys.argv[1])
TOP = tempfile.mkdtemp()
SIDE, LEVELS = 8, 4

TINY = ["--bridges", 3, "--batch", 100, "--heads-iterations", 30, "--iterations", 30, "--bases", 6]
TABLE = TINY + ["--width", 8, "--blocks", 1, "--check-steps", 24, "--check-chains", 8]
IMAGES = TINY + ["--dequantize", LEVELS, "--logit", 1e-3, "--network", "stem 3/1 4, 4 down, dense 8"]
CHAINS = ["--chains", 8, "--steps", 24]
STATISTICS = {"lp", "acceptance_rate", "step_size", "energy", "tree_depth", "n_steps", "diverging"}


def waymark(*words, **more):
    return subprocess.run([WAYMARK, *map(str, words)], capture_output=True, text=True, timeout=300,
                          cwd=TOP, **more)


def must(*words, **more):
    done = waymark(*words, **more)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done


def path(*names):
    return os.path.join(TOP, *names)


def write_npy(name, shape, values):
    npy_files.write(path(name), shape, values, "|u1")


def read_npy(name):
    return npy_files.read(path(name))


def content(*names):
    with open(path(*names), "rb") as f:
        return f.read()


def summary(folder):
    return json.loads(content(folder, "summary.json"))


def setUpModule():
    """Two clusters in the plane, images that are brighter to one corner, and a model of each."""
    draw = random.Random(1)
    with open(path("plane.csv"), "w") as f:
        f.write("a,b\n")
        for i in range(400):
            f.write("%.6f,%.6f\n" % (draw.gauss(4 * (i % 2) - 2, 0.5), draw.gauss(0, 0.5)))
    pixels = [min(LEVELS - 1, int((i % SIDE + i // SIDE % SIDE) / 5 + 1.5 * draw.random()))
              for i in range(200 * SIDE * SIDE)]
    write_npy("images.npy", (200, SIDE, SIDE), pixels)
    write_npy("flat.npy", (200, SIDE * SIDE), pixels)
    must("ebm", "plane.csv", *TABLE, "-o", "plane", "-q")
    must("ebm", "images.npy", *IMAGES, "-o", "pictures", "-q")


def tearDownModule():
    shutil.rmtree(TOP)


class Case(unittest.TestCase):
    def refused(self, code, says, *words, folder=None):
        """Fails with this code and these words; the folder, if one is named, has got no result."""
        done = waymark(*words)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(says, done.stderr)
        if folder and os.path.exists(path(folder)):
            self.assertLessEqual(set(os.listdir(path(folder))), {"config.json", "metrics.jsonl"})
            self.assertEqual(content(folder, "metrics.jsonl"), b"")

    def estimate(self, s, name, dim, error):
        """A log-likelihood with what stands beside it."""
        self.assertTrue(math.isfinite(s[name]), name)
        self.assertAlmostEqual(s[name + "_bpd"], -s[name] / (dim * math.log(2)), places=9)
        if error:
            self.assertGreater(s[name + "_se"], 0)
        else:
            self.assertIsNone(s[name + "_se"])

    def check_rows(self, s):
        for check in s["checks"]:
            self.assertEqual(set(check) - {"advice"}, {"name", "value", "limit", "ok", "outcome", "meaning"})
            self.assertEqual(check["ok"], check["outcome"] == "ok")
        self.assertEqual(s["verdict"], "trust" if all(c["ok"] for c in s["checks"]) else "doubt")


    def picture(self, folder, name, title, columns, n, at=0):
        """The page shows the bytes of NAME.png and the numbers of NAME.csv, now and when it is made again."""
        row = summary(folder)["pictures"][at]
        self.assertEqual((row["file"], row["title"]), (name + ".png", title))
        table = [line.split(",") for line in content(folder, name + ".csv").decode().splitlines()]
        self.assertEqual((table[0], len(table)), (columns, n + 1))
        densities = [float(line[-1]) for line in table[1:]]
        self.assertEqual(densities, sorted(densities))
        data = base64.b64encode(content(folder, name + ".png")).decode()
        for again in (False, True):
            if again:
                os.remove(path(folder, "report.html"))
                must("report", folder)
            page = content(folder, "report.html").decode()
            self.assertIn(f'src="data:image/png;base64,{data}"', page)
            self.assertIn(f"<h3>{title}</h3><p>{row['caption']}</p>", page)
            self.assertIn('<th scope="col">log_density</th>', page)
        self.assertIn("lowest log-density at the top left", row["caption"])


class Ebm(Case):
    def check(self, folder, s, dim, noise, model):
        self.assertEqual((s["command"], s["seed"], s["dim"], s["noise"], s["model"], s["units"]),
                         ("ebm", 1, dim, noise, model, "nats"))
        self.assertGreaterEqual(s["seconds"], 0)
        self.estimate(s, "noise_loglik", dim, False)
        self.estimate(s, "direct", dim, False)
        self.assertEqual([b["k"] for b in s["bridges"]], [0, 1, 2])
        for a, b in zip(s["bridges"], s["bridges"][1:]):
            self.assertEqual(set(a), {"k", "alpha_from", "alpha_to", "loss", "accuracy",
                                      "mean_log_ratio"})
            self.assertEqual(a["alpha_to"], b["alpha_from"])
            self.assertLess(a["alpha_from"], a["alpha_to"])
        self.assertEqual([t["stage"] for t in s["stages"]], ["noise", "heads", "bridges"])
        self.check_rows(s)
        self.assertEqual(summary(folder), s)
        for name in ("config.json", "model.safetensors", "state.safetensors", "report.html"):
            self.assertGreater(len(content(folder, name)), 50, name)
        lines = [json.loads(line) for line in content(folder, "metrics.jsonl").splitlines()]
        for stage in ("heads", "bridges"):
            steps = [line["step"] for line in lines if line["stage"] == stage]
            self.assertEqual(steps, sorted(set(steps)))
            self.assertEqual(steps[-1], 30)

    def test_a_table(self):
        done = must("ebm", "plane.csv", *TABLE, "-o", "plane2", "--json")
        s = json.loads(done.stdout)
        self.check("plane2", s, 2, "gaussian", "quadratic+additive+mlp")
        self.assertEqual((s["n_train"], s["n_test"]), (360, 40))
        self.assertEqual([c["name"] for c in s["checks"]], ["chasm", "finished", "normaliser"])
        self.assertTrue(math.isfinite(s["log_z"]) and s["log_z_se"] > 0 and s["log_z_ess"] > 1)
        self.assertEqual(content("plane2", "model.safetensors"), content("plane", "model.safetensors"))
        self.assertIn("density.csv", os.listdir(path("plane2", "figures")))
        again = must("ebm", "--config", "plane2/config.json", "-o", "plane3")
        self.assertIn("3 bridges, quadratic+additive+mlp", again.stdout)
        self.assertEqual(content("plane3", "model.safetensors"), content("plane", "model.safetensors"))

    def test_numbers_are_those_of_the_saved_model(self):
        """The best step is kept, not the last; a finished run that is resumed says and saves the same."""
        words = ["ebm", "plane.csv", "--valid", "valid.csv", *TABLE, "--iterations", 200, "--lr", 0.05,
                 "--average", 0, "-o", "saved", "--json"]
        with open(path("valid.csv"), "w") as f:
            f.writelines(content("plane.csv").decode().splitlines(True)[:121])
        first = json.loads(must(*words).stdout)
        model = content("saved", "model.safetensors")
        again = json.loads(must(*words, "--resume").stdout)
        self.assertEqual(content("saved", "model.safetensors"), model)
        rows = json.loads(must("loglik", "saved", "valid.csv", "--method", "direct", "--json").stdout)
        for key in ("noise_loglik", "direct"):
            self.assertEqual(first[key], again[key])
            self.assertAlmostEqual(first[key], rows[key], places=12)

    def test_a_list_says_the_number_of_bridges(self):
        done = must("ebm", "plane.csv", *TABLE[2:], "--spacing", "list:0,0.3,1", "--json")
        self.assertEqual([b["alpha_to"] for b in json.loads(done.stdout)["bridges"]], [0.3, 1])

    def test_a_slower_start_is_another_fit(self):
        must("ebm", "plane.csv", *TABLE, "--warmup", 0.5, "-o", "slow", "-q")
        self.assertNotEqual(content("slow", "model.safetensors"), content("plane", "model.safetensors"))

    def test_bits(self):
        nats = summary("plane")
        done = must("ebm", "plane.csv", *TABLE, "--bits", "-o", "bits", "--json")
        bits = json.loads(done.stdout)
        self.assertEqual(bits["units"], "bits")
        for key in ("noise_loglik", "direct", "log_z", "log_z_se"):
            self.assertAlmostEqual(bits[key] * math.log(2), nats[key], places=9)
        for key in ("noise_loglik_bpd", "direct_bpd", "log_z_ess"):
            self.assertEqual(bits[key], nats[key])
        for a, b in zip(bits["bridges"], nats["bridges"]):
            self.assertAlmostEqual(a["mean_log_ratio"] * math.log(2), b["mean_log_ratio"], places=9)
            self.assertEqual(a["loss"], b["loss"])
        self.assertEqual(content("bits", "model.safetensors"), content("plane", "model.safetensors"))
        words = ["loglik", "plane", "plane.csv", *CHAINS]
        nats, bits = (json.loads(must(*words, *more, "--json").stdout) for more in ([], ["--bits"]))
        for key in ("direct", "direct_se", "ais", "ais_se", "raise", "raise_se", "log_z", "gap"):
            self.assertAlmostEqual(bits[key] * math.log(2), nats[key], places=9)
        self.assertEqual((bits["gap_bpd"], bits["units"]), (nats["gap_bpd"], "bits"))
        said = must(*words, "--bits", "-q").stdout
        self.assertRegex(said, r"method +bits +bits/dim")
        self.assertIn(f"{bits['direct']:.3f}", said)

    def test_images(self):
        """The shape of the array is that of the images, and --image says the same of flat rows."""
        done = must("ebm", "images.npy", *IMAGES, "-o", "pictures2", "--json")
        self.assertIn("images of 8 x 8, from the shape of the array", done.stderr)
        s = json.loads(done.stdout)
        self.check("pictures2", s, 64, "gaussian", "additive+resnet")
        self.assertEqual(s["bridges"][0]["alpha_from"], 0.01)
        self.assertNotIn("log_z", s)
        done = must("ebm", "flat.npy", "--image", "8x8", *IMAGES, "-o", "pictures3")
        self.assertNotIn("from the shape", done.stderr)
        for folder in ("pictures2", "pictures3"):
            self.assertEqual(content(folder, "model.safetensors"),
                             content("pictures", "model.safetensors"))
        done = must("ebm", "images.npy", "--image", "no", "--dequantize", LEVELS, *TABLE)
        self.assertIn("quadratic+additive+mlp", done.stdout)

    def test_images_without_a_network_given(self):
        """An mlp, over Gaussian noise with trajectories of each bridge's own; --spread says it either way."""
        words = ["ebm", "images.npy", *TINY, "--width", 8, "--dequantize", LEVELS, "--logit", 1e-3]
        copula = ["--noise", "copula", "--noise-bins", 4, "--noise-iterations", 5, "--noise-batch", 20]
        for noise, same, other in ([], "yes", "no"), (copula, "no", "yes"):
            name = noise[1] if noise else "gaussian"
            self.assertIn("3 bridges, additive+mlp", must(*words, *noise, "-o", "auto-" + name).stdout)
            model = content("auto-" + name, "model.safetensors")
            for when, check in (same, self.assertEqual), (other, self.assertNotEqual):
                folder = f"{when}-{name}"
                must(*words, *noise, "--spread", when, "-o", folder)
                check(content(folder, "model.safetensors"), model)

    def test_every_noise_of_images(self):
        for noise in ("copula", "flow"):
            done = must("ebm", "images.npy", *IMAGES, "--noise", noise, "--noise-bins", 4,
                        "--noise-hidden", 4, "--noise-levels", 1, "--noise-steps", 2,
                        "--noise-iterations", 10, "--noise-batch", 20, "-o", noise, "--json")
            self.check(noise, json.loads(done.stdout), 64, noise, "additive+resnet")

    def test_one_ratio(self):
        s = json.loads(must("ebm", "plane.csv", *TABLE, "--bridges", 1, "--json").stdout)
        self.assertEqual(len(s["bridges"]), 1)

    def test_refusals(self):
        self.refused(1, "images of 7 x 8 x 1 have 56 values, the rows 64", "ebm", "images.npy",
                     *IMAGES, "--image", "7x8", "-o", "bad", folder="bad")
        self.refused(1, "row 1, column", "ebm", "images.npy", *IMAGES, "--dequantize", 3, "-o", "bad",
                     folder="bad")  # the folder of a run that did nothing is free
        self.refused(1, "no whole number from 0 to 3\nSee --dequantize", "ebm", "plane.csv",
                     "--dequantize", LEVELS, "-o", "bad", folder="bad")
        self.refused(1, "outside of [0, 1]", "ebm", "plane.csv", "--logit", 0.01)
        self.refused(1, "another model\nSee --image", "ebm", "flat.npy", "--model", "resnet")
        self.refused(1, "missing.npy", "ebm", "missing.npy", "-o", "bad", folder="bad")
        self.refused(1, "is not understood", "ebm", "images.npy", *IMAGES, "--network", "stem 3")
        with open(path("constant.csv"), "w") as f:
            f.write("1,2\n" * 50)
        self.refused(1, "constant", "ebm", "constant.csv", *TABLE)
        for words, says in ((["--image", "8by8"], "--image '8by8'"), (["--image", "8x8x"], "--image"),
                            (["--noise", "laplace"], "copula"), (["--model", "cubic"], "cubic"),
                            (["--iterations", 0], "--iterations 0: must be an integer other than 0, from -1 to"),
                            (["--average", 1], "--average 1"),
                            (["--bridges", 0], "--bridges"), (["--dequantize", 1], "--dequantize"),
                            (["--spacing", "square"], "--spacing"), (["--iteration", 5], "iterations"),
                            (["--spacing", "list:0,0.5,0.2,1"], "--spacing: spacing: alphas must increase"),
                            (["--spacing", "list:0,0.5,1", "--bridges", 3], "3 bridges, but the spacing list makes 2"),
                            (["--warmup", 2], "--warmup 2")):
            self.refused(2, says, "ebm", "images.npy", *words, "-o", "bad", folder="bad")
        self.refused(2, "--network is for a resnet", "ebm", "plane.csv", "--network", "laptop")
        self.refused(2, "takes DATA", "ebm")
        self.refused(1, "holds a run of 'ebm'", "ebm", "plane.csv", *TABLE, "-o", "plane")

    def test_a_full_disk_leaves_no_model(self):
        def small():
            import resource
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        done = waymark("ebm", "plane.csv", *TABLE, "-o", "full", preexec_fn=small)
        self.assertEqual(done.returncode, 1)
        self.assertIn("File too large", done.stderr)
        for name in os.listdir(path("full")):  # small states may be whole, the model cannot be
            self.assertNotRegex(name, "model|summary|tmp")

    def test_a_full_disk_leaves_no_half_of_a_picture(self):
        """Room for the states of the chains, which come first, not for the picture; then not for the page."""
        def small(limit):
            import resource
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        words = ["sample", "pictures", "-n", 64, "--chains", 8, "--steps", 4, "--warmup", 0, "--thin", 1,
                 "--draw-depth", 1, "--png", "--scale", 64]
        must(*words, "-o", "fits", "-q")
        sizes = {name: len(content("fits", name)) for name in os.listdir(path("fits"))
                 if os.path.isfile(path("fits", name))}
        before = max(size for name, size in sizes.items() if name.endswith((".safetensors", ".npy")))
        for victim in ("draws.png", "report.html"):
            self.assertGreater(sizes[victim], before)
        self.assertGreater(sizes["report.html"], sizes["draws.png"])
        for victim, limit in (("draws.png", before), ("report.html", sizes["draws.png"])):
            done = waymark(*words, "-o", "full-" + victim, preexec_fn=lambda: small(limit))
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, f"full-{victim}/{victim}.*File too large")
            names = os.listdir(path("full-" + victim))
            self.assertFalse([n for n in names if "tmp" in n or n == victim], names)

    def test_time_that_runs_out_is_a_failed_check(self):
        done = must("ebm", "plane.csv", *TABLE, "--iterations", 10**8, "--time-limit", "0.2s", "--json")
        s = json.loads(done.stdout)
        self.assertFalse([c for c in s["checks"] if c["name"] == "finished"][0]["ok"])
        self.assertEqual(s["verdict"], "doubt")
        self.assertIn("--resume", s["reason"])


    def test_missing_values(self):
        """The way out that the message names is there."""
        with open(path("plane.csv")) as f, open(path("holes.csv"), "w") as g:
            g.write(f.read() + "NA,1\n")
        advice = "line 402, column 1 ('a'): the value is missing (NaN): such rows can be dropped"
        self.refused(1, advice, "ebm", "holes.csv", *TABLE)
        done = must("ebm", "holes.csv", *TABLE, "--missing", "drop", "-o", "holes")
        self.assertIn("1 of 401 rows", done.stderr)
        self.assertEqual(content("holes", "model.safetensors"), content("plane", "model.safetensors"))
        self.refused(1, advice, "loglik", "plane", "holes.csv", "--method", "direct")
        s = json.loads(must("loglik", "plane", "holes.csv", "--method", "direct", "--missing", "drop",
                            "--json").stdout)
        self.assertEqual(s["n_test"], 400)


class Mixed(Case):
    """A table as people have them: yes/no, words, few and many whole numbers, a constant, gaps."""

    @classmethod
    def setUpClass(cls):
        draw = random.Random(3)
        rows = []
        for _ in range(500):
            member = draw.random() < 0.3
            rows.append([str(member), draw.choice(["red, dark", "blue", "green"]),
                         str(draw.randrange(3) + 2 * member), str(draw.randrange(100000)), "7.5",
                         "%.4f" % draw.gauss(2 * member, 1)])
        cls.names = ["member", "colour", "grade", "spent", "unit", "score"]
        cls.write("mixed.csv", cls.names, rows)
        cls.write("gaps.csv", cls.names, rows[:200] + [["True", "", "1", "5", "7.5", "0.5"]])
        order = [5, 0, 3, 1, 2, 4]
        cls.write("turned.csv", [cls.names[j] for j in order], [[row[j] for j in order] for row in rows])
        cls.write("new.csv", cls.names, [["True", "violet", "1", "5", "7.5", "0.5"]])
        cls.write("grade.csv", cls.names, [["True", "blue", "9", "5", "7.5", "0.5"]])
        cls.rows = rows
        cls.done = must("ebm", "mixed.csv", *TABLE, "-o", "mixed")

    @staticmethod
    def write(name, names, rows):
        with open(path(name), "w", newline="") as f:
            csv.writer(f).writerows([names] + rows)

    def test_columns_are_named(self):
        s = summary("mixed")
        self.assertEqual((s["dim"], s["discrete_columns"], s["whole_columns"], s["constant_columns"]),
                         (5, 3, 1, 1))
        self.estimate(s, "direct", 5, False)
        said = " ".join(self.done.stderr.split())
        self.assertIn("column 5 ('unit'): constant, left out", said)
        self.assertIn("column 4 ('spent'): whole numbers", said)
        for name in ("member", "colour", "grade"):
            self.assertRegex(said, f"'{name}'.*: values with shares")
        self.assertIn("lower bounds", self.done.stdout)

    def test_log_likelihoods_do_not_depend_on_the_order_of_columns(self):
        both = [json.loads(must("loglik", "mixed", name, *CHAINS, "--json").stdout)
                for name in ("mixed.csv", "turned.csv")]
        for key in ("noise_loglik", "direct", "ais", "raise"):
            self.estimate(both[0], key, 5, True)
            self.assertEqual(both[0][key], both[1][key])

    def test_draws_are_rows_of_such_a_table(self):
        must("sample", "mixed", "-n", 60, "--steps", 24, "--warmup", 20, "-o", "m1", "-q")
        with open(path("m1", "draws.csv"), newline="") as f:
            names, *rows = csv.reader(f)
        self.assertEqual((names, len(rows)), (self.names, 60))
        for j in (0, 1, 2, 4):
            self.assertLessEqual({row[j] for row in rows}, {row[j] for row in self.rows}, names[j])
        self.assertEqual({row[0] for row in rows}, {"True", "False"})
        self.assertTrue(all(float(row[3]) == int(float(row[3])) for row in rows))
        shape, x = read_npy("m1/draws.npy")
        self.assertEqual(shape, (4, 15, 6))
        self.assertEqual(set(x[4::6]), {7.5})
        must("loglik", "mixed", "m1/draws.csv", "--method", "direct")

    def test_numbers_alone(self):
        s = json.loads(must("ebm", "mixed.csv", *TABLE, "--drop", "colour,unit", "--discrete", "no", "-o",
                            "numbers", "--json").stdout)
        self.assertEqual((s["dim"], s["discrete_columns"], s["whole_columns"]), (4, 0, 0))

    def test_gaps(self):
        self.refused(1, "missing", "ebm", "gaps.csv", *TABLE, "-o", "bad", folder="bad")
        s = json.loads(must("ebm", "gaps.csv", *TABLE, "--missing", "drop", "--json").stdout)
        self.assertEqual(s["n_train"] + s["n_test"], 200)

    def test_values_that_the_model_has_not_met(self):
        self.refused(1, "violet", "loglik", "mixed", "new.csv", "--method", "direct")
        self.refused(1, "row 1, column 3 is 9, a value that the model has not met", "loglik", "mixed",
                     "grade.csv", "--method", "direct")


class Loglik(Case):
    def test_direct_alone(self):
        s = json.loads(must("loglik", "plane", "plane.csv", "--method", "direct", "-o", "l1",
                            "--json").stdout)
        self.assertEqual((s["command"], s["n_test"], s["dim"], s["units"]), ("loglik", 400, 2, "nats"))
        self.estimate(s, "noise_loglik", 2, True)
        self.estimate(s, "direct", 2, True)
        for key in ("ais", "raise", "log_z", "gap", "checks", "verdict"):
            self.assertNotIn(key, s)
        self.assertEqual(summary("l1"), s)
        shape, rows = read_npy("l1/log_q_and_phi.npy")
        self.assertEqual(shape, (400, 2))
        self.assertAlmostEqual(sum(rows[0::2]) / 400, s["noise_loglik"], places=9)
        self.assertAlmostEqual(sum(rows[1::2]) / 400, s["direct"], places=9)

    def test_all_three(self):
        for run, data, dim in (("plane", "plane.csv", 2), ("pictures", "images.npy", 64),
                               ("pictures/model.safetensors", "flat.npy", 64)):
            folder = "l2-" + data
            done = must("loglik", run, data, *CHAINS, "-o", folder, "--json")
            s = json.loads(done.stdout)
            for name in ("noise_loglik", "direct", "ais", "raise"):
                self.estimate(s, name, dim, True)
            self.assertAlmostEqual(s["ais"], s["direct"] - s["log_z"], places=9)
            self.assertAlmostEqual(s["gap"], s["ais"] - s["raise"], places=9)
            self.assertAlmostEqual(s["gap_bpd"], s["gap"] / (dim * math.log(2)), places=9)
            self.assertEqual((s["ais_failed"], s["raise_failed"]), (0, 0))
            self.assertTrue(1 <= s["log_z_ess"] <= 8 and s["log_z_spread"] >= 0)
            self.assertTrue(s["raise_spread"] >= 0 and s["raise_controlled"] in (True, False))
            self.assertEqual([c["name"] for c in s["checks"]], ["bracket"])
            self.check_rows(s)
            self.assertIn(b"RAISE", content(folder, "report.html"))
            self.assertEqual(b"The density that was found" in content(folder, "report.html"), dim == 2)
        table = must("loglik", "plane", "plane.csv", *CHAINS).stdout
        for word in ("noise", "direct", "raise", "ais", "bracket: AIS minus RAISE is"):
            self.assertIn(word, table)

    def test_one_bound(self):
        s = json.loads(must("loglik", "plane", "plane.csv", *CHAINS, "--method", "raise",
                            "--json").stdout)
        self.assertIn("raise", s)
        for key in ("direct", "ais", "log_z", "gap", "verdict"):
            self.assertNotIn(key, s)

    def test_an_open_bracket_is_a_failed_check(self):
        """A model that has learned something, and walks of two steps: RAISE falls nats below AIS."""
        must("ebm", "images.npy", *IMAGES, "--bridges", 2, "--batch", 200, "--heads-iterations", 200,
             "--heads-lr", 0.05, "--iterations", 100, "--lr", 0.01, "-o", "strong", "-q")
        words = ["loglik", "strong", "images.npy", "--chains", 100, "--steps", 2, "--depth", 1,
                 "--tolerance", 0]
        done = waymark(*words, "--strict", "--json")
        s = json.loads(done.stdout)
        self.check_rows(s)
        self.assertEqual((s["verdict"], done.returncode), ("doubt", 3))
        self.assertGreater(s["gap"], s["checks"][0]["limit"])
        self.assertIn("raise --steps", s["reason"])
        self.assertIn("open, raise --steps", must(*words).stdout)

    def test_refusals(self):
        whole = content("plane", "model.safetensors")
        self.assertEqual(sealed(whole), whole)
        bad = {"cut": (whole[:len(whole) // 2], "cut"), "short": (whole[:5], "short"),
               "huge": (b"\xff" * 8 + whole[8:], "huge"), "text": (b"a,b\n1,2\n", "text"),
               "newer": (sealed(whole.replace(b"waymark ebm 1", b"waymark ebm 9", 1)), "waymark ebm 9"),
               "noise": (sealed(whole.replace(b'"gaussian"', b'"laplace "', 1)), "'noise' is 'laplace '"),
               "bridges": (sealed(whole.replace(b'"bridges":"3"', b'"bridges":"4"', 1)), "bridges"),
               "dim": (sealed(whole.replace(b'"dim":"2"', b'"dim":"9"', 1)), "dim"),
               "bit": (whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], "bit: damaged: tensor")}
        for name, (data, says) in bad.items():
            self.assertNotEqual(data, whole, name)
            with open(path(name), "wb") as f:
                f.write(data)
            self.refused(1, says, "loglik", name, "plane.csv", "-o", "bad", folder="bad")
            self.refused(1, says, "sample", name, "-n", 4, "-o", "bad", folder="bad")
        must("ratio", "plane.csv", "plane.csv", "--model", "linear", "--folds", 2, "--bridges", 1, "-o",
             "ratio", "-q")
        self.refused(1, "this is no model of `waymark ebm`", "loglik", "ratio", "plane.csv")
        self.refused(1, "no model of `waymark ratio`", "apply", "plane", "plane.csv")
        os.makedirs(path("empty"), exist_ok=True)
        self.refused(1, "holds no model.safetensors; `waymark ebm DATA -o DIR` makes one", "loglik",
                     "empty", "plane.csv")
        self.refused(1, "plane.csv has 2 columns, the model of pictures has 64", "loglik", "pictures",
                     "plane.csv", "-o", "bad", folder="bad")
        write_npy("dark.npy", (2, 64), [0] * 127 + [LEVELS])
        self.refused(1, "row 2, column 64 is 4, no whole number from 0 to 3", "loglik", "pictures",
                     "dark.npy", "-o", "bad", folder="bad")
        self.refused(2, "--method 'exact'", "loglik", "plane", "plane.csv", "--method", "exact")
        self.refused(2, "takes RUN DATA", "loglik", "plane")


class Sample(Case):
    def test_draws_and_their_statistics(self):
        s = json.loads(must("sample", "plane", "-n", 45, *CHAINS, "--warmup", 5, "--thin", 1, "-o", "s1",
                            "--json").stdout)
        self.assertEqual((s["command"], s["chains"], s["draws"], s["dim"]), ("sample", 8, 6, 2))
        for key in ("acceptance_rate", "n_steps", "worst_rhat", "least_ess_bulk", "least_ess_tail",
                    "least_e_bfmi"):
            self.assertGreater(s[key], 0, key)
        self.assertIsInstance(s["diverging"], int)
        self.assertIsInstance(s["warnings"], list)
        self.assertEqual(s["verdict"], "doubt" if s["warnings"] else "trust")
        shape, x = read_npy("s1/draws.npy")
        self.assertEqual(shape, (8, 6, 2))
        self.assertGreater(len(set(x)), 8 * 3 * 2)  # a move that is refused repeats its draw
        self.assertTrue(all(abs(v) < 10 for v in x))
        for name in STATISTICS:
            shape, values = npy_files.read(path("s1", name + ".npy"),
                                           "|b1" if name == "diverging" else "<f8")
            self.assertEqual(shape, (8, 6), name)
            self.assertTrue(all(map(math.isfinite, values)), name)
            if name in ("tree_depth", "n_steps", "diverging"):
                self.assertTrue(all(v == int(v) >= 0 for v in values), name)
        self.assertAlmostEqual(sum(read_npy("s1/acceptance_rate.npy")[1]) / 48, s["acceptance_rate"],
                               places=9)
        self.density("s1", 48)
        s = json.loads(must("sample", "plane", "-n", 40, "--steps", 24, "--warmup", 5, "-o", "s7",
                            "--json").stdout)
        self.assertEqual((s["chains"], s["draws"]), (4, 10))
        self.assertNotIn("raw more", " ".join(w["text"] for w in s["warnings"]))
        s = json.loads(must("sample", "plane", "-n", 3, *CHAINS, "-o", "s2", "--json").stdout)
        self.assertEqual((s["chains"], s["draws"]), (3, 1))
        self.assertNotIn("worst_rhat", s)  # one draw of a chain has no diagnosis

    def density(self, folder, points, cells=96 * 96):
        """The map of a model of two columns, with all draws on it, is on the page."""
        rows = list(csv.reader(content(folder, "figures", "density.csv").decode().splitlines()))
        series = [row[rows[0].index("series")] for row in rows[1:] if row]
        self.assertEqual((series.count("log density"), series.count("draws")), (cells, points))
        page = content(folder, "report.html").decode()
        self.assertIn("<h3>The density that was found, and draws</h3>", page)
        self.assertIn("log density", page)

    def test_whole_numbers_have_a_cell_each(self):
        draw = random.Random(2)
        with open(path("whole.csv"), "w") as f:
            f.write("a,b\n")
            for _ in range(200):
                f.write("%d,%d\n" % (draw.randrange(4), 2 + draw.randrange(2)))
        must("ebm", "whole.csv", "--dequantize", 4, *TABLE, "-o", "whole", "-q")
        for folder, name in (("whole", "rows of the data"), ("s5", "draws")):
            if name == "draws":
                must("sample", "whole", "-n", 1, *CHAINS, "-o", "s5", "-q")
            lines = content(folder, "figures", "density.csv").decode().splitlines()
            cells = [line for line in lines if "log density" in line]
            self.assertEqual(len(cells), 8 if folder == "whole" else 1)
            self.assertTrue(any(name in line for line in lines))
        must("sample", "plane", "-n", 1, *CHAINS, "-o", "s6", "-q")
        self.density("s6", 1)

    def grid(self, name):
        """Width, height and grey values of our own PNG, by a decoder that is not ours."""
        data, at, idat = content(name), 8, b""
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        while at < len(data):
            n, kind = struct.unpack(">I4s", data[at:at + 8])
            body = data[at + 8:at + 8 + n]
            self.assertEqual(zlib.crc32(kind + body), struct.unpack(">I", data[at + 8 + n:at + 12 + n])[0])
            if kind == b"IHDR":
                width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            idat += body if kind == b"IDAT" else b""
            at += 12 + n
        self.assertEqual((depth, kind), (8, b"IEND"))
        return width, height, len(zlib.decompress(idat)), {0: 1, 2: 3}[colour]

    def test_images(self):
        more = ["-n", 10, *CHAINS, "--warmup", 3, "--thin", 1, "--draw-depth", 3]
        must("sample", "pictures", *more, "--png", "--scale", 2, "-o", "s3", "-q")
        width, height, size, channels = self.grid("s3/draws.png")
        self.assertEqual(size, height * (1 + width * channels))
        self.assertGreaterEqual(width * height, 16 * (2 * SIDE) ** 2)
        shape, x = read_npy("s3/draws.npy")
        self.assertEqual(shape, (8, 2, 64))
        self.picture("s3", "draws", "Draws of the model",
                     ["row", "column", "chain", "draw", "log_density"], 16)
        self.assertIn("16 draws of 8 chains", summary("s3")["pictures"][0]["caption"])
        self.assertTrue(all(0 <= v < LEVELS for v in x))
        must("sample", "pictures", *more, "--round", "-o", "s4", "-q")
        self.assertFalse(os.path.exists(path("s4", "draws.png")))
        self.assertNotIn(b"<img", content("s4", "report.html"))
        self.assertNotIn("pictures", summary("s4"))
        self.assertEqual(list(read_npy("s4/draws.npy")[1]), [math.floor(v) for v in x])

    def test_refusals(self):
        self.refused(2, "-o DIR", "sample", "plane", "-n", 4)
        self.refused(2, "--png: the model is not one of images", "sample", "plane", "--png", "-o", "bad",
                     folder="bad")
        self.refused(2, "--kernel", "sample", "plane", "--kernel", "gibbs", "-o", "bad")
        self.refused(2, "--number", "sample", "plane", "-n", 0, "-o", "bad")
        self.refused(1, "nothing", "sample", "nothing", "-o", "bad", folder="bad")


class Stopped(Case):
    """Runs that a signal ends, and that go on."""

    def interrupt(self, words, sign, ready):
        """Sends a signal once ready() says that the run has something to lose."""
        p = subprocess.Popen([WAYMARK, *map(str, words), "--checkpoint", "0.02s"], cwd=TOP,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until = time.time() + 120
        while p.poll() is None and not ready() and time.time() < until:
            time.sleep(0.005)
        p.send_signal(sign)
        said = p.communicate(timeout=120)[1]
        self.assertNotEqual(p.returncode, 0, "the run ended before it could be stopped")
        if sign == signal.SIGKILL:
            self.assertEqual(p.returncode, -9)
        else:
            self.assertEqual(p.returncode, 1, said)
            self.assertIn("stopped", said)
        self.assertFalse(os.path.exists(path(words[words.index("-o") + 1], "summary.json")))

    def same(self, words, first, then, files):
        """The run is interrupted at `first`, killed at `then`, and ends as one that was not."""
        folder, whole = words[words.index("-o") + 1], [*words]
        whole[words.index("-o") + 1] = folder + "-whole"
        must(*whole, "-q")
        self.interrupt(words, signal.SIGINT, first)
        self.interrupt([*words, "--resume"], signal.SIGKILL, then)
        must(*words, "--resume", "-q")
        for name in files:
            self.assertEqual(content(folder, name), content(folder + "-whole", name), name)
        a, b = summary(folder), summary(folder + "-whole")
        for s in (a, b):
            del s["seconds"]
            for stage in s.get("stages", []):
                del stage["seconds"]
        self.assertEqual(a, b)
        self.assertEqual([n for n in os.listdir(path(folder)) if "tmp" in n], [])

    def has_line(self, folder, stage, step):
        def ready():
            try:
                lines = content(folder, "metrics.jsonl").splitlines()
                last = json.loads(lines[-1])
            except (OSError, ValueError, IndexError):
                return False
            order = ["noise", "heads", "bridges"]
            return (order.index(last["stage"]), last["step"]) >= (order.index(stage), step)
        return ready

    def grown(self, folder, name, least):
        """The file has been written `least` times since this was made."""
        seen = set()

        def ready():
            try:
                seen.add(os.stat(path(folder, name)).st_mtime_ns)
            except OSError:
                pass
            return len(seen) > least
        return ready

    def test_ebm(self):
        words = ["ebm", "plane.csv", *TABLE, "--noise", "copula", "--noise-bins", 8, "--noise-batch",
                 50, "--noise-iterations", 300, "--heads-iterations", 250, "--iterations", 1200, "-o",
                 "fit"]
        self.same(words, self.has_line("fit", "heads", 100), self.has_line("fit", "bridges", 500),
                  ["model.safetensors"])
        lines = [[{k: v for k, v in json.loads(line).items() if k != "seconds"}
                  for line in content(folder, "metrics.jsonl").splitlines()]
                 for folder in ("fit", "fit-whole")]
        self.assertEqual(lines[0], lines[1])

    def test_ebm_of_images(self):
        """No AIS follows here: the end of training must say that it was stopped all the same."""
        words = ["ebm", "images.npy", *IMAGES, "--iterations", 250, "-o", "fit2"]
        self.same(words, self.has_line("fit2", "bridges", 50), self.has_line("fit2", "bridges", 120),
                  ["model.safetensors"])

    def test_loglik(self):
        words = ["loglik", "plane", "plane.csv", "--chains", 16, "--steps", 2500, "-o", "walk"]
        self.same(words, self.grown("walk", "ais.safetensors", 3),
                  self.grown("walk", "raise.safetensors", 3), ["log_q_and_phi.npy"])

    def test_sample(self):
        words = ["sample", "plane", "-n", 4000, "--chains", 8, "--steps", 3000, "--thin", 2, "-o", "draw"]
        self.same(words, self.grown("draw", "chains.safetensors", 3),
                  self.grown("draw", "chains.draws.safetensors", 3),
                  ["draws.npy"] + [name + ".npy" for name in STATISTICS])

    def test_mnist(self):
        """A row that was stopped while it was fitted is no model of the row."""
        words = ["reproduce", "mnist", "--preset", "smoke", "--only", "gaussian-nce", "--checkpoint", "0.01s", "-o"]
        must(*words, "digits-whole", "-q")
        self.interrupt([*words, "digits"], signal.SIGINT, self.grown("digits", "gaussian-nce-state.heads.safetensors", 2))
        self.assertFalse(os.path.exists(path("digits", "gaussian-nce.safetensors")))
        must(*words, "digits", "--resume", "-q")
        self.assertEqual(content("digits", "gaussian-nce.safetensors"), content("digits-whole", "gaussian-nce.safetensors"))
        self.assertGreater(summary("digits")["rows"][0]["seconds"], 0)
        must(*words, "digits", "--resume", "-q")  # the model is there: how long it took is not known
        self.assertIsNone(summary("digits")["rows"][0]["seconds"])

    def test_time_that_runs_out_stops_chains(self):
        words = ["loglik", "plane", "plane.csv", "--method", "ais", "--chains", 16, "--steps", 2000]
        done = waymark(*words, "-o", "timed", "--time-limit", "0.1s", "--checkpoint", "0.02s")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("waymark loglik: stopped", done.stderr)
        s = json.loads(must("loglik", "-o", "timed", "--resume", "--json").stdout)
        whole = json.loads(must(*words, "--json").stdout)
        self.assertEqual((s["ais"], s["log_z"]), (whole["ais"], whole["log_z"]))

    def test_chains_of_another_model_are_not_taken(self):
        words = ["--chains", 8, "--steps", 3000, "-o", "other"]
        self.interrupt(["sample", "plane", *words], signal.SIGKILL,
                       self.grown("other", "chains.safetensors", 1))
        must("ebm", "plane.csv", *TABLE, "--seed", 2, "-o", "plane-2", "-q")
        done = waymark("sample", "plane-2", *words, "--resume")
        self.assertEqual(done.returncode, 1)
        self.assertIn("chains of another model", done.stderr)


class Reproduce(Case):
    def test_mnist_without_data(self):
        done = must("reproduce", "mnist", "--preset", "smoke", "--only", "gaussian", "-o", "mnist",
                    "--json")
        s = json.loads(done.stdout)
        self.assertEqual((s["command"], s["preset"], s["data"]),
                         ("reproduce mnist", "smoke", "characters drawn by waymark"))
        self.assertEqual([(r["noise"], r["method"]) for r in s["rows"]],
                         [("gaussian", "noise"), ("gaussian", "nce"), ("gaussian", "tre")])
        for row in s["rows"]:
            self.assertLessEqual({"noise", "method", "direct", "raise", "ais", "paper_direct",
                                  "paper_raise", "paper_ais", "seconds"}, set(row))
            self.assertTrue(1 < row["direct"] < 8)
            for key in ("raise", "ais"):
                self.assertEqual(row[key] is None, row["method"] == "noise")
        self.assertEqual(s["rows"][2]["paper_ais"], 1.35)
        self.assertEqual([c["name"] for c in s["checks"]], ["bracket_gaussian_4"])
        self.check_rows(s)
        for name in ("gaussian-noise.safetensors", "gaussian-tre.safetensors", "gaussian-tre.png"):
            self.assertGreater(len(content("mnist", name)), 100)
        self.assertEqual(len(s["pictures"]), 2)  # the noise alone has no chains
        self.picture("mnist", "gaussian-nce", "Gaussian noise, one ratio (NCE), 1 bridge",
                     ["row", "column", "chain", "log_density"], 4)
        self.picture("mnist", "gaussian-tre", "Gaussian noise, telescope (TRE), 4 bridges",
                     ["row", "column", "chain", "log_density"], 4, at=1)
        must("loglik", "mnist/gaussian-tre.safetensors", self.blank(), "--method", "direct", "-q")

    def blank(self):
        write_npy("blank.npy", (3, 28, 28), [0] * (3 * 784))
        return "blank.npy"

    def test_refusals(self):
        self.refused(2, "--data DIR", "reproduce", "mnist", "--preset", "laptop")
        self.refused(2, "--data DIR", "reproduce", "mnist", "--preset", "night")
        self.refused(2, "smoke, laptop or paper", "reproduce", "peaked", "--preset", "night")
        self.refused(2, "--only 'digits'", "reproduce", "mnist", "--preset", "smoke", "--only", "digits")
        self.refused(2, "--preset", "reproduce", "mnist", "--preset", "huge")
        self.refused(1, "nowhere", "reproduce", "mnist", "--preset", "smoke", "--data", "nowhere")


if __name__ == "__main__":
    del sys.argv[1]
    unittest.main()
