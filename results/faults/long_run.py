#!/usr/bin/env python3
"""long_run.py WAYMARK [--minutes M] [--every SECONDS] [--dir DIR]: `ebm` and `sample` side by side, one thread each, with a
checkpoint every few seconds, for M minutes (120).

A line of CSV for each command every SECONDS (60): resident memory, open file handles, and what stands in its folder
(bytes, files, files of states). At the end the first and the last quarter of the lines are compared: memory may not have
grown by more than 2 MB, handles not at all, and the folder by no more than its metrics and one more state. Exit 1 if not."""

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "tests"))
import npy_files

MODEL = ["--bridges", "3", "--width", "16", "--blocks", "1", "--bases", "8", "--batch", "128"]
ENDLESS = {
    "ebm": ["ebm", "p.npy", *MODEL, "--iterations", "500000000", "--checkpoint", "2s"],
    "sample": ["sample", "model", "-n", "40000", "--thin", "4000", "--chains", "4", "--checkpoint", "2s"],
}


def folder_now(folder):
    size = files = states = metrics = 0
    for at, _, names in os.walk(folder):
        for name in names:
            try:
                n = os.path.getsize(os.path.join(at, name))
            except OSError:  # renamed since
                continue
            size, files = size + n, files + 1
            states += "state" in name or "chains" in name
            metrics += n if name.startswith("metrics") else 0
    return size, files, states, metrics


def of_process(pid):
    with open(f"/proc/{pid}/status") as f:
        resident = next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
    return resident, len(os.listdir(f"/proc/{pid}/fd"))


def verdict(name, lines):
    quarter = max(1, len(lines) // 4)
    first, last = lines[1:1 + quarter], lines[-quarter:]

    def most(part, key):
        return max(line[key] for line in part)

    grown = {key: most(last, key) - most(first, key) for key in ("resident_kb", "handles", "bytes", "states")}
    spare = most(last, "metrics_bytes") - most(first, "metrics_bytes")
    steady = grown["resident_kb"] <= 2048 and grown["handles"] <= 0 and grown["states"] <= 1
    print(f"{name}: {len(lines)} lines, grown from the first quarter to the last: {grown}, of which metrics {spare} bytes:",
          "steady" if steady else "NOT STEADY")
    return steady


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("waymark")
    parse.add_argument("--minutes", type=float, default=120)
    parse.add_argument("--every", type=float, default=60)
    parse.add_argument("--dir")
    args = parse.parse_args()
    top = args.dir or tempfile.mkdtemp()
    waymark = os.path.abspath(args.waymark)
    rng = random.Random(1)
    rows = 4000
    npy_files.write(os.path.join(top, "p.npy"), (rows, 3), [rng.gauss(0, 1) ** (1 + i % 2) for i in range(3 * rows)])
    one = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([waymark, "ebm", "p.npy", *MODEL, "--iterations", "300", "-o", "model", "-q", "--threads", "1"], cwd=top,
                   check=True, env=one, stdout=subprocess.DEVNULL)
    limit = ["--time-limit", f"{args.minutes * 60:.0f}s", "--threads", "1", "-q"]
    running = {}
    for name, words in ENDLESS.items():
        with open(os.path.join(top, f"{name}.log"), "w") as log:
            running[name] = subprocess.Popen([waymark, *words, "-o", f"{name}-run", *limit], cwd=top, stdout=log, stderr=log,
                                             env=one)
    seen = {name: [] for name in ENDLESS}
    begin = time.time()
    with open(os.path.join(top, "long_run.csv"), "w", newline="") as f:
        out = csv.writer(f)
        keys = ["minute", "command", "resident_kb", "handles", "bytes", "files", "states", "metrics_bytes"]
        out.writerow(keys)
        while any(p.poll() is None for p in running.values()):
            time.sleep(args.every)
            for name, p in running.items():
                if p.poll() is not None:
                    continue
                try:
                    row = [round((time.time() - begin) / 60, 2), name, *of_process(p.pid), *folder_now(os.path.join(top, f"{name}-run"))]
                except (OSError, StopIteration):  # ended meanwhile
                    continue
                out.writerow(row)
                f.flush()
                seen[name].append(dict(zip(keys, row)))
    codes = {name: p.returncode for name, p in running.items()}
    steady = all([verdict(name, lines) for name, lines in seen.items()])
    print(f"{(time.time() - begin) / 60:.1f} minutes, exit codes {codes}, in {top}")
    sys.exit(not steady)


main()
