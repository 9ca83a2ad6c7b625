#!/usr/bin/env python3
"""memory_limits.py WAYMARK: ratio, ebm and apply on 1,000 rows under limits on memory (ulimit -v) from 20 to 600 MB, one thread.
Each must end within 20 seconds, done or with an error. Prints what happened from which limit on; exits 1 where one did not."""

import os
import random
import resource
import subprocess
import sys
import tempfile
import time

WAYMARK = os.path.abspath(sys.argv[1])
COMMANDS = {
    "ratio": ["ratio", "p.csv", "q.csv", "--model", "quadratic+mlp", "--iterations", "200", "--folds", "2"],
    "ebm": ["ebm", "p.csv", "--iterations", "20", "--heads-iterations", "20", "--width", "8", "--bridges", "2", "--check-steps", "8",
            "--check-chains", "4"],
    "apply": ["apply", "run", "p.csv", "-o", "w.npy", "--overwrite"],
}


def run(words, folder, megabytes):
    """Exit code, or None after 20 seconds; seconds; what it said."""
    start = time.monotonic()
    try:
        done = subprocess.run([WAYMARK, *words, "--threads", "1", "-q"], cwd=folder, timeout=20, capture_output=True, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20)))
        return done.returncode, time.monotonic() - start, done.stderr
    except subprocess.TimeoutExpired:
        return None, 20, ""


def main():
    draw, bad = random.Random(1), 0
    with tempfile.TemporaryDirectory() as folder:
        for name, mean in ("p", 1), ("q", 0):
            with open(os.path.join(folder, name + ".csv"), "w", encoding="utf-8") as f:
                f.write("a,b\n")
                f.writelines(f"{draw.gauss(mean, 1):.5f},{draw.gauss(0, 1):.5f}\n" for _ in range(1000))
        subprocess.run([WAYMARK, "ratio", "p.csv", "q.csv", "-o", "run", "-q"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for name, words in COMMANDS.items():
            last, slowest = None, 0
            for megabytes in range(20, 601, 20):
                code, seconds, said = run(words, folder, megabytes)
                slowest = max(slowest, seconds)
                if code != last:
                    print(f"{name}, from {megabytes} MB: {'hangs' if code is None else f'exit {code}'} {said.strip()[-120:]}")
                last = code
                if code not in (0, 1, 127):  # 127: the loader has no room for the libraries
                    bad += 1
            print(f"{name}: the slowest took {slowest:.1f} s")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
