#!/usr/bin/env python3
"""test_data_command.py WAYMARK: `waymark data` from outside: the list, the truth, the files."""

import json
import math
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

WAYMARK = sys.argv[1]


def run(*words):
    return subprocess.run([WAYMARK, "data", *map(str, words)], capture_output=True, text=True,
                          timeout=60)


def problems():
    return json.loads(run("--list", "--json").stdout)["problems"]


def read_npy(path):
    """Rows of a (n, d) array of little-endian doubles."""
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    start = 10 + struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:start])  # a literal of our own making
    n, d = header["shape"]
    assert header["descr"] == "<f8" and not header["fortran_order"] and start % 64 == 0
    flat = struct.unpack(f"<{n * d}d", data[start:])
    return [flat[i * d:(i + 1) * d] for i in range(n)]


class Data(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def truth(self, *names):
        with open(self.path(*names)) as f:
            return json.load(f)

    def test_the_list(self):
        for words in ([], ["--list"]):
            done = run(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for name in ("shift", "same", "normals", "student", "swissroll", "discrete"):
                self.assertIn(f"\n  {name} ", done.stdout)
            self.assertIn("--mean-p -5", done.stdout)
            self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)
        self.assertEqual({p["kind"] for p in problems()}, {"ratio", "mi"})

    def test_every_parameter_is_an_option_and_its_default_changes_nothing(self):
        for p in problems():
            plain = json.loads(run(p["name"], "--json").stdout)
            self.assertEqual(set(plain["parameters"]), {q["name"] for q in p["parameters"]})
            known = ["mi"] if p["kind"] == "mi" else ["kl_pq", "kl_qp"]
            for key in ("mi", "kl_pq", "kl_qp"):
                self.assertEqual(plain[key] is not None, key in known, (p["name"], key))
            for q in p["parameters"]:
                if q["default"] is None:
                    q["default"] = plain["parameters"][q["name"]]
                done = run(p["name"], f"--{q['name']}={q['default']!r}", "--json")
                self.assertEqual(done.returncode, 0, (p["name"], q["name"], done.stderr))
                again = json.loads(done.stdout)
                for key in known:
                    self.assertAlmostEqual(again[key] / (plain[key] or 1),
                                           1 if plain[key] else 0, places=9)

    def test_a_folder_of_samples(self):
        out = self.path("a", "b")  # made with the folders above it
        done = run("shift", "-n", 500, "--n-q", 200, "--dim", 2, "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"KL\(p, q\) +100\.000000")
        self.assertIn("wrote p (500 x 2) and q (200 x 2)", done.stderr)
        self.assertEqual(sorted(os.listdir(out)), ["p.npy", "q.npy", "truth.json"])
        p, q = read_npy(os.path.join(out, "p.npy")), read_npy(os.path.join(out, "q.npy"))
        self.assertEqual((len(p), len(p[0]), len(q), len(q[0])), (500, 2, 200, 2))
        mean = sum(map(sum, p)) / 1000
        self.assertLess(abs(mean + 5), 5 / math.sqrt(1000))
        truth = self.truth("a", "b", "truth.json")
        self.assertEqual((truth["problem"], truth["kl_pq"], truth["kl_qp"], truth["mi"],
                          truth["seed"], truth["n"], truth["n_q"]),
                         ("shift", 100, 100, None, 1, 500, 200))
        self.assertEqual(truth["parameters"]["mean-p"], -5)

        # Refused, and nothing touched; then replaced.
        done = run("scale", "-o", out)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("p.npy: is there already; --overwrite replaces it", done.stderr)
        self.assertEqual(self.truth("a", "b", "truth.json")["problem"], "shift")
        self.assertEqual(run("scale", "-o", out, "--overwrite", "-q").returncode, 0)
        self.assertEqual(self.truth("a", "b", "truth.json")["problem"], "scale")

    def test_samples_repeat_and_grow(self):
        def draw(name, *words):
            self.assertEqual(run("student", "-o", self.path(name), *words).returncode, 0)
            return read_npy(self.path(name, "u.npy")), read_npy(self.path(name, "v.npy"))

        short, longer = draw("s", "-n", 300), draw("l", "-n", 2500, "--threads", 1)
        self.assertEqual(short[0], longer[0][:300])
        self.assertEqual(short[1], longer[1][:300])
        self.assertNotEqual(short[0], draw("x", "-n", 300, "--seed", 2)[0])
        self.assertNotEqual(short[0], draw("y", "-n", 300, "--stream", "test")[0])
        self.assertEqual(self.truth("y", "truth.json")["mi"], self.truth("s", "truth.json")["mi"])

    def test_csv_for_other_programs(self):
        path = self.path("pairs.csv")
        done = run("gaussian", "--dx", 2, "--dy", 1, "-n", 50, "--csv", path, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["csv_files"], [path, path + ".truth.json"])
        with open(path) as f:
            lines = f.read().splitlines()
        self.assertEqual((lines[0], len(lines)), ("X0,X1,Y0", 51))
        self.assertEqual(run("gaussian", "--dx", 2, "--dy", 1, "-n", 50, "-o",
                             self.path("g")).returncode, 0)
        u, v = read_npy(self.path("g", "u.npy")), read_npy(self.path("g", "v.npy"))
        for line, a, b in zip(lines[1:], u, v):  # digits bring back the same doubles
            self.assertEqual(tuple(map(float, line.split(","))), a + b)
        self.assertEqual(self.truth("pairs.csv.truth.json")["mi"], 2)
        self.assertEqual(run("cube", "--csv", path).returncode, 1)
        self.assertEqual(run("cube", "--csv", path, "--overwrite").returncode, 0)
        self.assertEqual(self.truth("pairs.csv.truth.json")["problem"], "cube")
        self.assertEqual(run("shift", "-n", 3, "-o", self.path("c"), "--format", "csv").returncode, 0)
        self.assertEqual(sorted(os.listdir(self.path("c"))), ["p.csv", "q.csv", "truth.json"])

    def test_units(self):
        done = run("gaussian", "--mi", 2, "--bits")
        self.assertRegex(done.stdout, r"bits\n[^M]*MI\(u, v\) +2\.885390")
        self.assertEqual(json.loads(run("gaussian", "--bits", "--json").stdout)["mi"], 2)  # nats

    def test_wrong_words(self):
        for words, says in ((["shft"], "no problem 'shft', did you mean 'shift'?"),
                            (["shift", "--mi", 2], "shift has no parameter 'mi'; it has dim, mean"),
                            (["shift", "--sd-p", -1], "shift: sd-p is -1, must be a number from"),
                            (["gaussian", "--n-q", 4], "u and v have the same rows"),
                            (["shift", "--csv", "x.csv"], "--csv is for pairs"),
                            (["shift", "more"], "takes [NAME], got 2 arguments")):
            done = run(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(says, done.stderr)

    def test_nothing_is_left_of_a_failure(self):
        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))

        done = subprocess.run([WAYMARK, "data", "shift", "-n", "5", "--n-q", "5000", "-o",
                               self.path("f")], capture_output=True, text=True,
                              preexec_fn=small_files)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("q.npy: cannot write: File too large", done.stderr)
        self.assertEqual(os.listdir(self.path("f")), [])


unittest.main(argv=sys.argv[:1])
