#!/usr/bin/env python3
"""test_apply_command.py WAYMARK: `waymark apply` from outside: numbers, notes, refusals, memory."""

import csv
import gzip
import json
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import npy_files

from sealed import sealed

WAYMARK = sys.argv[1]
TOP = tempfile.mkdtemp()


def waymark(*words, **more):
    return subprocess.run([WAYMARK, *map(str, words)], capture_output=True, timeout=300,
                          **{"text": True, **more})


def write_npy(path, rows):
    npy_files.write(path, (len(rows), len(rows[0])), [v for row in rows for v in row])


def sparse_npy(path, n, dim):
    """Zeros that take no room on the disk."""
    head = npy_files.head("<f8", (n, dim))
    with open(path, "wb") as f:
        f.write(head)
        f.truncate(len(head) + 8 * n * dim)


def read_vector(path):
    (_,), values = npy_files.read(path)
    return list(values)


def logistic_noise(i):
    """Numbers without order, the same every time."""
    return ((i * 2654435761) % 4294967296) / 4294967296


def setUpModule():
    """A model of two columns, one of a number and a category, one of many columns."""
    done = waymark("data", "normals", "--dim", 2, "-n", 600, "-o", TOP + "/data", "-q")
    assert done.returncode == 0, done.stderr
    done = waymark("ratio", TOP + "/data/p.npy", TOP + "/data/q.npy", "--model", "quadratic",
                   "--folds", 2, "-o", TOP + "/run", "-q")
    assert done.returncode == 0, done.stderr
    for name, shift in (("a", 0), ("b", 1)):
        with open(f"{TOP}/{name}.csv", "w") as f:
            f.write("age,colour\n")
            for i in range(400):
                f.write("%.6f,%s\n" % (logistic_noise(2 * i + shift) + 0.2 * shift,
                                       ("red", "green", "blue")[i * (1 + shift) % 5 % 3]))
    done = waymark("ratio", TOP + "/a.csv", TOP + "/b.csv", "--model", "linear", "--folds", 2,
                   "--bridges", 1, "-o", TOP + "/mixed", "-q")
    assert done.returncode == 0, done.stderr


def tearDownModule():
    shutil.rmtree(TOP)


class Apply(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=TOP)
        self.run_folder = TOP + "/run"
        self.q = TOP + "/data/q.npy"

    def path(self, name):
        return os.path.join(self.folder, name)

    def apply(self, *words, run=None, **more):
        return waymark("apply", run or self.run_folder, *words, **more)

    def good(self, *words, **more):
        done = self.apply(*words, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def vector(self, *words, x=None, **more):
        self.good(x or self.q, "-o", self.path("y.npy"), "-q", *words, **more)
        return read_vector(self.path("y.npy"))

    def refused(self, code, words, *args, **more):
        """Fails with this code and these words, and leaves nothing in the folder."""
        before = sorted(os.listdir(self.folder))
        done = self.apply(*args, **more)
        self.assertEqual(done.returncode, code, (done.stdout, done.stderr))
        self.assertIn(words, done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.assertNotIn("Traceback", done.stderr)

    # --- numbers ---

    def rows(self, n=700):
        return [(3 * logistic_noise(3 * i) - 1.5, 4 * logistic_noise(7 * i + 1) - 2)
                for i in range(n)]

    def test_all_ways_give_the_same_numbers(self):
        rows = self.rows()
        write_npy(self.path("x.npy"), rows)
        text = "".join("%r,%r\n" % row for row in rows)
        with open(self.path("x.csv"), "w") as f:
            f.write(text)
        with gzip.open(self.path("x.csv.gz"), "wt") as f:
            f.write(text)
        want = self.vector(x=self.path("x.npy"))
        self.assertEqual(len(set(want)), len(rows))
        for threads in (1, 2, 7):
            for x in ("x.npy", "x.csv", "x.csv.gz"):
                self.assertEqual(self.vector("--threads", threads, x=self.path(x)), want)
        self.assertEqual(self.vector(x="-", input=text), want)
        with open(self.path("x.npy"), "rb") as f:
            self.assertEqual(self.vector(x="-", stdin=f), want)
        self.assertEqual(self.vector(x=self.path("x.npy"),
                                     run=self.run_folder + "/model.safetensors"), want)
        done = self.good(self.path("x.npy"), "-q")
        self.assertEqual([float(line) for line in done.stdout.split()], want)
        self.assertEqual(done.stderr, "")
        done = self.good("-", "-o", "-", input=text)  # the table goes where it does not disturb
        self.assertEqual([float(line) for line in done.stdout.split()], want)
        self.assertIn("effective sample size", done.stderr)
        self.good(self.path("x.csv"), "-o", self.path("y.csv"))
        with open(self.path("y.csv")) as f:
            lines = f.read().splitlines()
        self.assertEqual(lines[0], "row,log_ratio")
        self.assertEqual([tuple(map(float, line.split(","))) for line in lines[1:]],
                         [(i + 1, y) for i, y in enumerate(want)])

    def test_weights(self):
        log_r = self.vector()
        n = len(log_r)
        r = [math.exp(x) for x in log_r]
        cases = [
            (["--weights", "mean-one"], [x * n / sum(r) for x in r]),
            (["--weights", "sum-one"], [x / sum(r) for x in r]),
            (["--weights", "ratio"], r),
            (["--weights", "ratio", "--relative", 0.5], [x / (0.5 * x + 0.5) for x in r]),
            (["--weights", "ratio", "--clip-at", 2], [min(x, 2) for x in r]),
            (["--weights", "ratio", "--log"], log_r),
            (["--weights", "ratio", "--log", "--bits"], [x / math.log(2) for x in log_r]),
            (["--bits"], [x / math.log(2) for x in log_r]),
            (["--weights", "ratio", "--clip", 0.5], [min(x, sorted(r)[n - n // 2 - 1]) for x in r]),
        ]
        for words, want in cases:
            got = self.vector(*words)
            for a, b in zip(got, want):
                self.assertAlmostEqual(a, b, delta=1e-11 * (1 + abs(b)), msg=words)
        smooth = self.vector("--weights", "mean-one", "--pareto")
        self.assertAlmostEqual(sum(smooth) / n, 1, delta=1e-12)
        self.assertNotEqual(smooth, self.vector("--weights", "mean-one"))

    def test_dropped_rows_can_be_told(self):
        text = "1,1\n,1\n2,2\n3,nan\n4,4\nNA,0\n"
        whole = self.vector(x="-", input="1,1\n2,2\n4,4\n")
        done = self.good("-", "-o", self.path("y.csv"), "--missing", "drop", "--json", input=text)
        with open(self.path("y.csv")) as f:
            got = [line.split(",") for line in f.read().splitlines()[1:]]
        self.assertEqual([row for row, _ in got], ["1", "3", "5"])
        self.assertEqual([float(y) for _, y in got], whole)
        self.assertIn("3 of 6 rows", done.stderr)
        note = json.loads(done.stdout)
        self.assertEqual((note["n"], note["rows"]), (3, 6))
        self.refused(1, "line 2", "-", "-o", self.path("z.npy"), input=text)

    # --- the note ---

    def test_the_note_says_how_it_was_made(self):
        notes = []
        for threads in (1, 2):
            done = self.good(self.q, "-o", self.path("w.npy"), "--weights", "mean-one", "--clip",
                             0.75, "--json", "--threads", threads)
            with open(self.path("w.npy.json")) as f:
                notes.append(json.load(f))
            printed = json.loads(done.stdout)
            self.assertEqual(printed.pop("threads"), threads)
            self.assertGreaterEqual(printed.pop("seconds"), 0)
            self.assertEqual(printed, notes[-1])
        self.assertEqual(notes[0], notes[1])
        note = notes[0]
        self.assertEqual(note["command"], "apply")
        self.assertEqual(note["version"], waymark("--version").stdout.split()[1])
        self.assertEqual(note["model"], self.run_folder + "/model.safetensors")
        self.assertEqual((note["input"], note["output"]), (self.q, self.path("w.npy")))
        self.assertEqual((note["what"], note["units"]), ("weight", "nats"))
        self.assertEqual(note["options"], {
            "weights": "mean-one", "clip": 0.75, "clip_at": None, "pareto": False, "relative": 0,
            "log": False, "missing": "refuse"})
        self.assertEqual((note["n"], note["rows"], note["dim"]), (600, 600, 2))
        w = read_vector(self.path("w.npy"))
        self.assertAlmostEqual(note["ess"], sum(w) ** 2 / sum(x * x for x in w), delta=1e-6)
        self.assertEqual(note["changed"], 150)
        log_r = self.vector()
        with open(self.path("y.npy.json")) as f:
            plain = json.load(f)
        self.assertIsNone(plain["options"]["weights"])
        self.assertEqual((plain["min_log_ratio"], plain["max_log_ratio"]),
                         (min(log_r), max(log_r)))
        self.assertAlmostEqual(plain["log_mean"],
                               math.log(sum(map(math.exp, log_r)) / len(log_r)), delta=1e-9)
        self.vector("--bits")
        with open(self.path("y.npy.json")) as f:
            bits = json.load(f)
        self.assertEqual(bits["units"], "bits")
        self.assertAlmostEqual(bits["log_mean"], plain["log_mean"] / math.log(2), delta=1e-9)

    def test_the_table_is_short(self):
        done = self.good(self.q, "-o", self.path("y.npy"))
        self.assertIn("y.npy: 600 log-ratios", done.stdout)
        self.assertLess(len(done.stdout.splitlines()), 12)
        for line in waymark("help", "apply").stdout.splitlines():
            self.assertLessEqual(len(line), 100)

    def test_a_ratio_that_was_doubted_is_told_of(self):
        """400 rows are never trusted; the model's file knows it, wherever it goes."""
        words = ("apply", TOP + "/mixed", TOP + "/a.csv", "-o", self.path("y.npy"))
        done = waymark(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("mixed was doubted when it was fitted: ", done.stderr)
        self.assertEqual(waymark(*words, "--strict").returncode, 3)
        with open(self.path("y.npy.json")) as f, open(TOP + "/mixed/summary.json") as g:
            note, summary = json.load(f), json.load(g)
        self.assertEqual(note["verdict"], "doubt")
        self.assertTrue(summary["reason"].startswith(note["reason"]), note["reason"])
        shutil.copy(TOP + "/mixed/model.safetensors", self.path("m.safetensors"))
        done = waymark("apply", self.path("m.safetensors"), TOP + "/a.csv", "-q")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_quiet_is_quiet(self):
        done = waymark("apply", TOP + "/run", self.q, "-o", self.path("y.npy"), "-q")
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        done = waymark("ratio", TOP + "/a.csv", TOP + "/b.csv", "--model", "linear", "--folds", 2, "--bridges", 1, "-q")
        said = done.stdout.splitlines()
        self.assertEqual(len(said), 4, done.stdout)
        self.assertRegex(said[3], r"^Verdict: doubt\. \w+")

    # --- refusals ---

    def test_usage(self):
        y = ["-o", self.path("y.npy")]
        for words, says in (
                (["--clip", "0.9"], "--clip is for weights"),
                (["--log"], "--log is for weights"),
                (["--weights", "mean-one", "--clip", "0.9", "--pareto"], "exclude each other"),
                (["--weights", "mean-one", "--relative", "1"], "--relative"),
                (["--weights", "both"], "mean-one"),
                (["--clip", "1.5"], "--clip"),
                (["--missing", "mean"], "drop")):
            self.refused(2, says, self.q, *y, *words)
        self.refused(2, "--json needs -o FILE", self.q, "--json")
        self.refused(2, "takes RUN X", *y)
        self.refused(1, "must end in .npy", self.q, "-o", self.path("y.parquet"))
        self.refused(1, "no/y.npy", self.q, "-o", self.path("no/y.npy"))

    def test_what_is_read_is_not_replaced_by_chance(self):
        with open(self.q, "rb") as f:
            whole = f.read()
        mine = self.path("mine.npy")
        with open(mine, "wb") as f:
            f.write(whole)
        done = waymark("apply", self.run_folder, mine, "-o", mine)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--overwrite replaces it", done.stderr)
        with open(mine, "rb") as f:
            self.assertEqual(f.read(), whole)
        self.assertEqual(waymark("apply", self.run_folder, mine, "-o", mine, "--overwrite").returncode, 0)
        with open(mine, "rb") as f:
            self.assertNotEqual(f.read(), whole)

    def test_models_that_are_none(self):
        y = ["-o", self.path("y.npy")]
        model = self.run_folder + "/model.safetensors"
        with open(model, "rb") as f:
            whole = f.read()
        self.refused(1, "none", self.q, *y, run=self.path("none"))
        os.mkdir(self.path("empty"))
        self.refused(1, "holds no model.safetensors", self.q, *y, run=self.path("empty"))
        bad = {
            "cut": whole[:len(whole) // 2],
            "short": whole[:5],
            "huge": b"\xff" * 8 + whole[8:],
            "no_json": whole[:8] + b"x" + whole[9:],
            "other": sealed(whole.replace(b"waymark ratio ", b"waymark RATIO ", 1)),
            "newer": sealed(whole.replace(b"waymark ratio 2", b"waymark ratio 9", 1)),
            "bit": whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:],
        }
        for name, content in bad.items():
            self.assertNotEqual(content, whole)
            with open(self.path(name), "wb") as f:
                f.write(content)
            self.refused(1, name, self.q, *y, run=self.path(name))
        self.refused(1, "waymark ratio 9", self.q, *y, run=self.path("newer"))
        self.refused(1, "fit it again", self.q, *y, run=self.path("newer"))
        self.refused(1, "no model of `waymark ratio`", self.q, *y, run=self.path("other"))
        self.refused(1, "q.npy", self.q, *y, run=self.q)

    def test_tables_that_do_not_fit(self):
        y = ["-o", self.path("y.npy")]
        mixed = TOP + "/mixed"
        self.good("-", *y, run=mixed, input="age,colour\n0.5,red\n0.7,blue\n")
        os.unlink(self.path("y.npy"))
        os.unlink(self.path("y.npy.json"))
        done = self.good("-", *y, run=mixed, input="age,colour\n0.5,red\n0.7,pink\n")
        self.assertIn("1 values are categories that the model does not know", done.stderr)
        os.unlink(self.path("y.npy"))
        os.unlink(self.path("y.npy.json"))
        for text, says in (("age,hue\n0.5,red\n", "hue"),
                           ("age,size\n0.5,1\n", "has no column 'colour'"),
                           ("0.5,red,1\n0.7,blue,2\n", "3 columns"),
                           ("age,colour\n0.5,red\n?,red\n", "line 3"),
                           ("age,colour\n0.5,red\nold,red\n", "old"),
                           ("age,colour\n0.5,red\ninf,red\n", "inf")):
            self.refused(1, says, "-", *y, run=mixed, input=text)
        self.refused(1, "3 columns", "-", *y, input="1,2,3\n")
        self.refused(1, "missing.npy", self.path("missing.npy"), *y)

    def test_columns_are_taken_by_name_and_kept(self):
        mixed = TOP + "/mixed"
        out = self.path("y.csv")
        text = 'note;colour;id;age\n"a ""b"", c";red;7;0,5\n;blue;8;NA\nplain, text;red;9;0,7\n'
        plain = "age,colour\n0.5,red\n0.7,red\n"
        self.good("-", "-o", out, run=mixed, input=plain)
        with open(out) as f:
            want = [line.split(",")[1] for line in f.read().split()[1:]]
        for more in ([], ["--weights", "ratio", "--log"]):
            self.good("-", "-o", out, "--keep", "id,note", "--missing", "drop", "--decimal", "comma",
                      *more, run=mixed, input=text)
            with open(out, newline="") as f:
                rows = list(csv.reader(f))
            name = "log_weight" if more else "log_ratio"
            self.assertEqual(rows[0], ["row", "id", "note", name])
            self.assertEqual(rows[1], ["1", "7", 'a "b", c', want[0]])
            self.assertEqual(rows[2], ["3", "9", "plain, text", want[1]])
        os.unlink(out)
        os.unlink(out + ".json")
        self.refused(1, "kept in a .csv only", "-", "-o", self.path("y.npy"), "--keep", "id",
                     run=mixed, input=text)
        self.refused(1, "'ident' is no column", "-", "-o", out, "--keep", "ident", run=mixed,
                     input=text)
        self.refused(1, "only columns of a text table", self.q, "-o", out, "--keep", "1")

    def test_rows_far_away_are_a_failed_check(self):
        done = self.good("-", "-o", self.path("y.npy"), input="1e6,0\n0,0\n")
        self.assertIn("far outside of the samples", done.stderr)
        self.refused(3, "far outside", "-", "-o", self.path("y.npy"), "--strict",
                     input="1e6,0\n0,0\n")

    # --- ends that come early ---

    def test_an_interrupt_leaves_nothing(self):
        sparse_npy(self.path("big.npy"), 500_000_000, 2)
        for words in ([], ["--weights", "mean-one"]):
            p = subprocess.Popen([WAYMARK, "apply", self.run_folder, self.path("big.npy"), "-o",
                                  self.path("y.npy"), "-q", *words], stderr=subprocess.PIPE)
            time.sleep(0.7)
            p.send_signal(signal.SIGINT)
            self.assertEqual(p.wait(60), 1, p.stderr.read())
            p.stderr.close()
            self.assertEqual(os.listdir(self.folder), ["big.npy"])

    def test_waiting_for_input_leaves_nothing(self):
        """Nobody sends anything, or not all, or opens the other end: Ctrl-C ends it all the same."""
        os.mkfifo(self.path("fifo"))
        for name, begun in (("-", b""), ("-", b"1,2\n3,4\n"), (self.path("fifo"), b"")):
            p = subprocess.Popen([WAYMARK, "apply", self.run_folder, name, "-o", self.path("y.npy")],
                                 stdin=subprocess.PIPE, stderr=subprocess.PIPE)
            p.stdin.write(begun)
            p.stdin.flush()
            time.sleep(0.5)
            p.send_signal(signal.SIGINT)
            self.assertEqual(p.wait(60), 1)
            self.assertIn(b"was not read to its end", p.stderr.read())
            p.stdin.close()
            p.stderr.close()
            self.assertEqual(os.listdir(self.folder), ["fifo"])

    def test_a_fifo_is_read_to_its_end(self):
        """Opened before its writer, who comes twice and leaves in between: the first time is the file."""
        os.mkfifo(self.path("fifo"))
        p = subprocess.Popen([WAYMARK, "apply", self.run_folder, self.path("fifo")], stdout=subprocess.PIPE)
        with open(self.path("fifo"), "w", encoding="utf-8") as f:
            f.write("1,2\n")
            f.flush()
            f.write("3,4\n")
        self.assertEqual(len(p.communicate(timeout=60)[0].split()), 2)

    def test_a_full_disk(self):
        sparse_npy(self.path("x.npy"), 300_000, 2)

        def small():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        for words in ([], ["--weights", "sum-one"]):
            for name in ("y.npy", "y.csv"):
                self.refused(1, "cannot write: File too large", self.path("x.npy"), "-o",
                             self.path(name), *words, preexec_fn=small)
        with open("/dev/full", "w") as full:
            p = subprocess.run([WAYMARK, "apply", self.run_folder, self.path("x.npy"), "-q"],
                               stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(p.returncode, 1)
        self.assertIn("standard output: cannot write: No space left on device", p.stderr)
        self.refused(1, "/dev/full: cannot write: No space left", self.path("x.npy"), "-o",
                     "/dev/full", "-q")
        with open(self.path("z.npy"), "w") as f:  # the note cannot be put beside it
            f.write("old")
        os.mkdir(self.path("z.npy.json"))
        done = self.apply(self.q, "-o", self.path("z.npy"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("z.npy.json", done.stderr)
        self.assertFalse(os.path.exists(self.path("z.npy")))

    # --- memory ---

    def test_memory_does_not_grow_with_the_file(self):
        dim, n = 50, 800_000  # 320 MB
        done = waymark("data", "normals", "--dim", dim, "-n", 600, "-o", self.path("wide"), "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = waymark("ratio", self.path("wide/p.npy"), self.path("wide/q.npy"), "--model",
                       "linear", "--folds", 2, "--bridges", 2, "-o", self.path("run"), "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        peak = {}
        # A sanitizer keeps what was freed for a while, which is not what is measured here.
        asan = (os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1").lstrip(":")
        for rows in (1000, n):
            sparse_npy(self.path("x.npy"), rows, dim)
            p = subprocess.Popen([WAYMARK, "apply", self.path("run"), self.path("x.npy"), "-o",
                                  self.path("y.npy"), "-q", "--weights", "mean-one"],
                                 stdout=subprocess.DEVNULL,
                                 env={**os.environ, "ASAN_OPTIONS": asan})
            _, status, usage = os.wait4(p.pid, 0)
            p.returncode = status
            self.assertEqual(status, 0)
            peak[rows] = usage.ru_maxrss / 1024
        self.assertLess(peak[n] - peak[1000], 60, peak)


if __name__ == "__main__":
    del sys.argv[1]
    unittest.main()
