#!/usr/bin/env python3
"""test_data_command.py WAYMARK: `waymark data` from outside: the list, the truth, the files."""

import gzip
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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import npy_files

WAYMARK = sys.argv[1]


def run(*words):
    return subprocess.run([WAYMARK, "data", *map(str, words)], capture_output=True, text=True,
                          timeout=60)


def problems():
    return json.loads(run("--list", "--json").stdout)["problems"]


def read_npy(path):
    """Rows of a (n, d) array of doubles."""
    (n, d), flat = npy_files.read(path)
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


def read_bytes(path):
    """Shape and values of an array of uint8."""
    shape, values = npy_files.read(path, "|u1")
    return shape, bytes(values)


class Images(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def fails(self, words, says, code=1):
        done = run(*words)
        self.assertEqual((done.returncode, done.stdout), (code, ""), words)
        self.assertIn(says, done.stderr)

    def make_idx(self, folder, gzipped=False):
        os.makedirs(folder)
        for name, n in (("train", 50), ("t10k", 8)):
            images = bytes(i * 5 % 256 for i in range(n * 784))
            for kind, head, data in (("images-idx3", struct.pack(">4I", 0x803, n, 28, 28), images),
                                     ("labels-idx1", struct.pack(">2I", 0x801, n), bytes(i % 10 for i in range(n)))):
                with (gzip.open if gzipped else open)(
                        os.path.join(folder, f"{name}-{kind}-ubyte" + ".gz" * gzipped), "wb") as f:
                    f.write(head + data)

    def test_mnist(self):
        for gzipped in (False, True):
            source, out = self.path(f"in{gzipped}"), self.path(f"out{gzipped}")
            self.make_idx(os.path.join(source, "package", "data"), gzipped)
            done = run("mnist", "--from", source, "--valid", 20, "-o", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"valid +20 ")
            self.assertEqual(read_bytes(os.path.join(out, "valid.npy")),
                             ((20, 28, 28), bytes(i * 5 % 256 for i in range(30 * 784, 50 * 784))))
            self.assertEqual(read_bytes(os.path.join(out, "valid_labels.npy")),
                             ((20,), bytes(i % 10 for i in range(30, 50))))
            self.assertEqual(read_bytes(os.path.join(out, "train.npy"))[0], (30, 28, 28))
            self.assertEqual(read_bytes(os.path.join(out, "test.npy"))[0], (8, 28, 28))
            with open(os.path.join(out, "images.json")) as f:
                facts = json.load(f)
            self.assertEqual((facts["height"], facts["width"], facts["channels"], facts["images"]),
                             (28, 28, 1, {"train": 30, "valid": 20, "test": 8}))
            self.fails(("mnist", "--from", source, "--valid", 20, "-o", out), "train.npy: is there already")
            self.assertEqual(run("mnist", "--from", out, "--json").returncode, 0)  # what it wrote, it reads
        self.fails(("mnist", "--from", source), "10000 images of 50 for validation")
        self.fails(("mnist",), "--from DIR", 2)
        self.fails(("mnist", "--from", self.path("none")), "none: No such file")

    def test_glyphs(self):
        for grid, shape, mi in ((1, (28, 28), 4.007), (4, (56, 56), 15.680), (9, (84, 84), 34.435), ("1x2", (28, 56), 7.959)):
            done = run("glyphs", "--grid", grid, "--json")
            facts = json.loads(done.stdout)
            self.assertAlmostEqual(facts["mi"], mi, places=3)
            self.assertEqual((facts["height"], facts["width"]), shape)
        self.assertRegex(run("glyphs", "--bits").stdout, r"MI\(u, v\) +5\.781360")
        out, png = self.path("g"), self.path("look.png")
        words = ("glyphs", "--grid", 4, "--train", 6, "--valid", 5, "--test", 4, "--unseen", 3, "--held-out", 4)
        done = run(*words, "-o", out, "--png", png)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("test (4), unseen (3) to", done.stderr)
        self.assertEqual(sorted(os.listdir(out)), ["test", "train", "truth.json", "unseen", "valid"])
        for split, n in (("train", 6), ("valid", 5), ("test", 4), ("unseen", 3)):
            for name, shape in (("u", (n, 56, 56)), ("v", (n, 56, 56)), ("labels", (n, 4))):
                got, values = read_bytes(os.path.join(out, split, name + ".npy"))
                self.assertEqual(got, shape)
                self.assertGreater(max(values), 0)
        with open(os.path.join(out, "truth.json")) as f:
            truth = json.load(f)
        self.assertEqual((truth["cells"], truth["seed"], truth["held_out"], truth["pairs"]["unseen"]), (4, 1, 4, 3))
        with open(png, "rb") as f:
            self.assertEqual(f.read(24), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 8 * 114 + 2, 6 * 114 + 2))
        self.fails((*words, "-o", out), "truth.json: is there already; --overwrite replaces it")
        self.assertEqual(run(*words, "-o", out, "--overwrite", "--seed", 2).returncode, 0)
        self.fails(("glyphs", "--grid", 16), "a grid of 4 x 4 cells needs an alphabet for each; there are 9")
        self.fails(("glyphs", "--grid", 3), "3x3 has 9", 2)
        self.fails(("glyphs", "--grid", "two"), "--grid two: must be 1, 4, 9", 2)
        self.fails(("glyphs", "--grid", "2x"), "--grid 2x: must be 1, 4, 9", 2)
        self.fails(("glyphs", "--held-out", 20), "20 of 20 drawings held out")

    def test_held_out_drawings_are_in_unseen_alone(self):
        out, drawn = self.path("h"), {}
        done = run("glyphs", "--held-out", 4, "--train", 3000, "--valid", 800, "--test", 800, "--unseen", 800, "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        for split in ("train", "valid", "test", "unseen"):
            drawn[split] = set()
            for name in ("u", "v"):
                pixels = read_bytes(os.path.join(out, split, name + ".npy"))[1]
                drawn[split] |= {pixels[i:i + 784] for i in range(0, len(pixels), 784)}
        # 55 characters of 20 drawings: 880 may be trained on, 220 are held out; so many draws meet nearly all
        self.assertTrue(850 < len(drawn["train"]) <= 880 and 200 < len(drawn["unseen"]) <= 220)
        self.assertFalse(drawn["unseen"] & (drawn["train"] | drawn["valid"] | drawn["test"]))
        self.assertEqual(run("glyphs", "--train", 5, "--valid", 5, "--test", 5, "-o", self.path("all")).returncode, 0)
        self.assertFalse(os.path.exists(self.path("all", "unseen")))

    def test_omniglot(self):
        maker = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "images", "omniglot_files.py")
        subprocess.run([sys.executable, "-B", maker, self.folder.name], check=True)
        for name in ("tree", "tree.zip"):
            facts = json.loads(run("omniglot", "--from", self.path(name), "--grid", "1x2", "--json").stdout)
            self.assertEqual([a["name"] for a in facts["alphabets"]], ["Pi", "Tau"])
            self.assertAlmostEqual(facts["mi"], math.log(6))
        facts = json.loads(run("omniglot", "--from", self.path("tree"), "--part", "evaluation", "--json").stdout)
        self.assertEqual(facts["alphabets"], [{"name": "Mu", "characters": 2}])
        out = self.path("pairs")
        self.assertEqual(run("omniglot", "--from", self.path("tree"), "--grid", "1x2", "--train", 400, "-o", out,
                             "--part", "all").returncode, 0)
        shape, labels = read_bytes(os.path.join(out, "train", "labels.npy"))
        u, v = (read_bytes(os.path.join(out, "train", name + ".npy"))[1] for name in "uv")
        codes = {}  # the images of the script are flat: a pixel says alphabet, character and drawing
        for a, size in enumerate((2, 3, 2)):
            for c in range(size):
                for d in range(2):
                    codes[60 * a + 12 * c + 3 * d + 1] = (a, c, size)
        self.assertEqual(shape, (400, 2))
        for i in range(400):
            for cell, alphabet in enumerate((1, 2)):  # Pi has most characters, then Mu, Tau by name
                a, c, size = codes[u[i * 28 * 56 + cell * 28]]
                self.assertEqual((a, c), (alphabet, labels[2 * i + cell]))
                self.assertEqual(codes[v[i * 28 * 56 + cell * 28]][:2], (alphabet, (c + 1) % size))
        self.fails(("omniglot", "--from", self.path("cut")), "0101_02.png: cut short")
        self.fails(("omniglot", "--from", self.path("tree"), "--grid", 4), "needs an alphabet for each; there are 2")
        self.fails(("omniglot", "--from", self.path("empty")), "Rho: no PNG images in this folder")
        self.fails(("omniglot",), "--from PATH", 2)


unittest.main(argv=sys.argv[:1])
