#!/usr/bin/env python3
"""fault_sweep.py WAYMARK [--every K] [--only NAME,...] [--faults WHAT,...] [--jobs N] [--figures]: every call that changes files
made to fail, or to be the last of its process, in every command that writes.

A command runs once as it should; then again and again, the n-th such call (WAYMARK_IO_FAULT, src/base/io.h) failing,
for n = 1, 1 + K, ... until it has no n-th call. What must hold:
  interrupted and short calls change nothing;
  after a failure a message names a file of the command's, after a kill there is none to be had;
  --resume (or the same command, for files) then ends in the same bits and the same summary but for seconds, with
  the metrics neither lost nor doubled and no temporary left;
  --overwrite leaves the old run, whole, or the new one.
With --figures gnuplot draws, where it is installed; else only its scripts and numbers are written.
Prints a line for each command and fault, and every breach; exits 1 on any."""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import npy_files

FAULTS = {"kill": "kill", "EIO": "EIO", "full": "ENOSPC", "EINTR": "EINTR", "short": "short"}
ONWARD = {"full"}  # a disk that is full stays so
SURVIVED = {"EINTR", "short"}
SECONDS = re.compile(rb'"(fit_)?seconds": [^,}\n]*|"seconds": \[[^]]*\]')

STATES = re.compile(r"(\.next/)?(state|chains|ais|raise)")  # to go on from: they hold times

EBM = ["--bridges", 2, "--batch", 50, "--heads-iterations", 10, "--iterations", 10, "--bases", 6, "--width", 4,
       "--blocks", 1, "--check-steps", 4, "--check-chains", 4]
# A run (its folder is -o), or files that a command writes by itself.
RUNS = {
    "ratio": ["ratio", "p.npy", "q.npy", "--model", "quadratic"],
    "network": ["ratio", "p.npy", "q.npy", "--model", "mlp", "--iterations", 40, "--bridges", 2, "--batch", 64,
                "--width", 4, "--folds", 2],
    "mi": ["mi", "u.npy", "v.npy", "--model", "quadratic"],
    "ebm": ["ebm", "p.npy", *EBM, "--checkpoint", "0.001s"],
    "loglik": ["loglik", "model", "p.npy", "--chains", 4, "--steps", 4, "--checkpoint", "0.001s"],
    "sample": ["sample", "model", "-n", 8, "--chains", 4, "--steps", 4, "--checkpoint", "0.001s"],
    "embed": ["embed", "fit", "u.npy", "v.npy", "--iterations", 20, "--batch", 64, "--width", 4, "--checkpoint",
              "0.001s"],
    "probe": ["probe", "u.npy", "labels.npy"],
    "peaked": ["reproduce", "peaked", "--preset", "smoke"],
}
FILES = {
    "apply": ["apply", "ratio", "p.npy", "-o", "OUT/y.npy"],
    "represent": ["embed", "pairs", "u.npy", "-o", "OUT/g.npy"],
    "data": ["data", "shift", "-n", 50, "-o", "OUT/d"],
    "glyphs": ["data", "glyphs", "--train", 10, "--valid", 5, "--test", 5, "--unseen", 5, "-o", "OUT/d", "--png", "OUT/u.png"],
    "page": ["report", "ratio", "-o", "OUT/page.html"],
}


class Sweep:
    def __init__(self, waymark, top, every, figures):
        self.waymark, self.top, self.every, self.breaches = waymark, top, every, []
        self.env = {**os.environ, "OMP_NUM_THREADS": "1"}
        if not figures:
            self.env["PATH"] = "/nowhere"

    def run(self, words, fault=None):
        env = {**self.env, "WAYMARK_IO_FAULT": fault} if fault else self.env
        return subprocess.run([self.waymark, *map(str, words)], cwd=self.top, env=env, capture_output=True, text=True,
                              timeout=300)

    def must(self, words):
        done = self.run(words)
        if done.returncode:
            sys.exit(f"{words}: {done.stderr}")

    def files(self, folder):
        """What stands in a folder, but for times and what is ours alone."""
        found = {}
        for at, _, names in os.walk(os.path.join(self.top, folder)):
            for name in names:
                full = os.path.join(at, name)
                with open(full, "rb") as f:
                    content = f.read()
                if name.endswith((".json", ".jsonl")):
                    content = SECONDS.sub(b"", content)
                key = os.path.relpath(full, os.path.join(self.top, folder))
                if key not in (".manifest.json", "report.html") and not STATES.match(key):
                    found[key] = content
        return found

    def differ(self, folder, want):
        got = self.files(folder)
        return sorted(k for k in set(got) | set(want) if got.get(k) != want.get(k))

    def breach(self, *words):
        self.breaches.append(" ".join(map(str, words)))
        print("BREACH", *words, flush=True)

    def message(self, label, done, folder):
        """After a failure: one that names a file."""
        if done.returncode != 1 or not re.search(rf"^waymark [a-z ]+: .*{re.escape(folder)}", done.stderr, re.M):
            self.breach(label, "exit code", done.returncode, "and no message with a file:", repr(done.stderr[-300:]))

    def sweep_run(self, name, what, replace):
        words, label = RUNS[name], f"{name}{' --overwrite' if replace else ''} {what}"
        whole, folder, old = f"{name}-whole", f"{name}-{what}{'-o' if replace else ''}", f"{name}-old"
        want, before = self.files(whole), self.files(old)
        n, tried = 1 + random.Random(label).randrange(self.every), 0
        while True:
            full = os.path.join(self.top, folder)
            shutil.rmtree(full, ignore_errors=True)
            if replace:
                shutil.copytree(os.path.join(self.top, old), full)
            here = f"{label} {n}"
            done = self.run([*words, "-o", folder, *(["--overwrite"] if replace else [])],
                            f"{n}{'+' if what in ONWARD else ''}:{FAULTS[what]}")
            if what != "kill" and "io fault" not in done.stderr:
                break
            if what == "kill" and done.returncode == 0:
                break
            tried += 1
            if done.returncode and what in SURVIVED:
                self.breach(here, "failed:", done.stderr[-200:])
            elif done.returncode and what != "kill":
                self.message(here, done, folder)
            if replace and done.returncode:
                self.run(["report", folder])  # whoever opens the folder completes what was begun
                if self.differ_but_next(folder, before) and self.differ_but_next(folder, want):
                    self.breach(here, "left neither run:", done.stderr.split("\n")[0],
                                self.differ_but_next(folder, before), self.differ_but_next(folder, want))
            if done.returncode:
                again = self.run([*words, "-o", folder, "--resume"])
                if again.returncode:
                    self.breach(here, "cannot go on:", again.stderr[-200:])
                if replace and not self.differ(folder, before):  # the new run had not begun
                    again = self.run([*words, "-o", folder, "--overwrite"])
            wrong = self.differ(folder, want)
            if wrong:
                self.breach(here, "differs in", wrong, done.stderr.split("\n")[0])
            n += self.every
        shutil.rmtree(os.path.join(self.top, folder), ignore_errors=True)
        print(f"{label}: {tried} faults, up to call {n - 1}", flush=True)
        return tried

    def differ_but_next(self, folder, want):
        return [k for k in self.differ(folder, want) if not k.startswith(".next") and not k.endswith(".wmtmp")]

    def sweep_files(self, name, what):
        words = FILES[name]
        n, tried = 1 + random.Random(name + what).randrange(self.every), 0
        out = f"{name}-{what}"

        def words_for(folder):
            return [str(w).replace("OUT", folder) for w in words]

        def content(folder):
            return {k: SECONDS.sub(b"", v.replace(folder.encode(), b"")) for k, v in self.files(folder).items()}

        want = content(f"{name}-whole")
        while True:
            full = os.path.join(self.top, out)
            shutil.rmtree(full, ignore_errors=True)
            os.mkdir(full)
            done = self.run(words_for(out), f"{n}{'+' if what in ONWARD else ''}:{FAULTS[what]}")
            if ("io fault" not in done.stderr) if what != "kill" else done.returncode == 0:
                break
            tried += 1
            here = f"{name} {what} {n}"
            if done.returncode and what in SURVIVED:
                self.breach(here, "failed:", done.stderr[-200:])
            elif done.returncode and what != "kill":
                self.message(here, done, out)
                half = [k for k, v in content(out).items() if want.get(k) != v]
                if half and what not in ONWARD:
                    self.breach(here, "left", half)
            if done.returncode:
                again = self.run([*words_for(out), *(["--overwrite"] if words[0] == "data" else [])])
                if again.returncode:
                    self.breach(here, "cannot be done again:", again.stderr[-200:])
            if content(out) != want:
                self.breach(here, "differs:", sorted(content(out)), done.stderr.split("\n")[0])
            n += self.every
        shutil.rmtree(os.path.join(self.top, out), ignore_errors=True)
        print(f"{name} {what}: {tried} faults, up to call {n - 1}", flush=True)
        return tried

    def prepare(self, names):
        rng = random.Random(1)

        def table(name, rows):
            npy_files.write(os.path.join(self.top, name), (len(rows), len(rows[0])), [x for row in rows for x in row])

        table("p.npy", [[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in range(200)])
        table("q.npy", [[rng.gauss(0.5, 1), rng.gauss(0, 1)] for _ in range(200)])
        u = [[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in range(300)]
        table("u.npy", u)
        table("v.npy", [[x + rng.gauss(0, 1), y] for x, y in u])
        npy_files.write(os.path.join(self.top, "labels.npy"), (len(u), 1), [float(x > 0) for x, _ in u])
        if {"loglik", "sample"} & names:
            self.must([*RUNS["ebm"], "-o", "model", "-q"])
        if {"apply", "page"} & names:
            self.must([*RUNS["ratio"], "-o", "ratio", "-q"])
        if "represent" in names:
            self.must([*RUNS["embed"], "-o", "pairs", "-q"])
        for name in names & set(RUNS):
            self.must([*RUNS[name], "-o", f"{name}-whole", "-q"])
            self.must([*RUNS[name], "-o", f"{name}-old", "-q", "--seed", "2"])
        for name in names & set(FILES):
            os.mkdir(os.path.join(self.top, f"{name}-whole"))
            self.must([str(w).replace("OUT", f"{name}-whole") for w in FILES[name]])


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("waymark")
    parse.add_argument("--every", type=int, default=1)
    parse.add_argument("--only", default=",".join([*RUNS, *FILES]))
    parse.add_argument("--faults", default=",".join(FAULTS))
    parse.add_argument("--jobs", type=int, default=2)
    parse.add_argument("--figures", action="store_true")
    args = parse.parse_args()
    names, faults = set(args.only.split(",")), args.faults.split(",")
    with tempfile.TemporaryDirectory() as top:
        s = Sweep(os.path.abspath(args.waymark), top, args.every, args.figures)
        s.prepare(names)
        with ThreadPoolExecutor(args.jobs) as pool:
            work = [pool.submit(s.sweep_run, name, what, replace)
                    for what in faults for name in RUNS if name in names for replace in (False, True)]
            work += [pool.submit(s.sweep_files, name, what) for what in faults for name in FILES if name in names]
            tried = sum(w.result() for w in work)
        print(f"{tried} faults, {len(s.breaches)} breaches")
    sys.exit(bool(s.breaches))


main()
