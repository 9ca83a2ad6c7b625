#!/usr/bin/env python3
"""test_docs.py WAYMARK ROOT: every `waymark` command in README.md and docs/*.md, run on small tables of the names that the pages use.

A block (a fenced ```sh, or indented lines) has a folder of its own. Commands that need what is not there, such as MNIST, or an hour,
are only parsed (--help after all options), and named at the end. What other programs do there (make, pip, gcc) is not run here."""

import glob
import gzip
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile

WAYMARK, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import npy_files

# To be quick; what a page says itself comes first.
QUICK = {
    "ratio": ["--folds", "2"], "mi": ["--folds", "2", "--iterations", "20"],
    "ebm": ["--iterations", "20", "--heads-iterations", "20", "--noise-iterations", "20", "--bridges", "2", "--check-steps", "8"],
    "embed fit": ["--iterations", "20"], "loglik": ["--steps", "8", "--chains", "4"], "sample": ["--steps", "8", "--warmup", "8"],
}
ABSENT = re.compile(r"\bDIR\b|\bPATH\b|\bOUT\b|\.\./data|\bdigits\b|\bgrids\b|tre-9")


def blocks(page):
    """Groups of lines that belong together: fences, and runs of indented lines."""
    with open(page, encoding="utf-8") as f:
        text = f.read()
    found = re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return found + [re.sub(r"^    ", "", b, flags=re.M) for b in re.findall(r"(?:^    .*\n)(?:^    .*\n|^\n(?=    ))*", rest, re.M)]


def commands(block):
    """Those of a block that are ours, as words."""
    for line in block.replace("\\\n", " ").splitlines():
        for part in line.split(" && "):
            if part.startswith("waymark "):
                yield shlex.split(part, comments=True)


def fill(folder):
    """Small tables of all the names that pages use."""
    draw = random.Random(1)
    names = ["id", "date", "age", "sex"] + [f"price{i}" for i in range(8)]
    for name, shift in (("p", 0.5), ("q", 0), ("before", 0.5), ("after", 0), ("new", 0), ("march", 0), ("april", 0.5),
                        ("male", 0.5), ("female", 0), ("table", 0), ("test", 0)):
        with open(os.path.join(folder, name + ".csv"), "w", encoding="utf-8") as f:
            f.write(",".join(names) + "\n")
            for i in range(120):
                row = [i + 1, f"2024-01-{i % 28 + 1:02}", round(40 + 10 * (draw.gauss(0, 1) + shift), 2), draw.choice("mf")]
                f.write(",".join(map(str, row + [round(draw.gauss(shift, 1), 3) for _ in range(8)])) + "\n")
    u = [[draw.gauss(0, 1) for _ in range(2)] for _ in range(150)]
    v = [[a + 0.7 * draw.gauss(0, 1) for a in row] for row in u]
    for name, rows in (("p", u), ("q", v), ("points", v), ("u", u), ("v", v), ("pairs", [a + b for a, b in zip(u, v)])):
        npy_files.write(os.path.join(folder, name + ".npy"), (len(rows), len(rows[0])), [x for row in rows for x in row])
        if not os.path.exists(os.path.join(folder, name + ".csv")):
            with open(os.path.join(folder, name + ".csv"), "w", encoding="utf-8") as f:
                f.writelines(",".join(f"{x:.5f}" for x in row) + "\n" for row in rows)
    npy_files.write(os.path.join(folder, "p-1.npy"), (len(u), 2), [x for row in u for x in row])
    with gzip.open(os.path.join(folder, "q-1.csv.gz"), "wt", encoding="utf-8") as f:
        f.writelines(f"{a:.5f},{b:.5f}\n" for a, b in v)
    with open(os.path.join(folder, "labels.csv"), "w", encoding="utf-8") as f:
        f.writelines(f"{'high' if row[0] > 0 else 'low'}\n" for row in u)


def run(words, folder, env):
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0 or (done.returncode == 3 and "--strict" in words), f"{shlex.join(words)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


def command_of(words):
    return "embed fit" if words[1:3] == ["embed", "fit"] else words[1]


def main():
    ran, parsed, env = 0, [], dict(os.environ, OMP_NUM_THREADS="1")
    for page in [os.path.join(ROOT, "README.md"), *sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))]:
        if page.endswith("tutorial.md"):
            continue  # at its own size, by test_tutorial.py
        for block in blocks(page):
            if "#include <waymark/" in block:
                subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "-fsyntax-only", "-I", os.path.join(ROOT, "include"), "-x", "c", "-"],
                               input=block, text=True, check=True)
            with tempfile.TemporaryDirectory() as folder:
                fill(folder)
                for words in commands(block):
                    call = [WAYMARK, *words[1:]]
                    if ABSENT.search(" ".join(words)) or "reproduce" in words and "smoke" not in words:
                        run([*call, "--help"], folder, env)
                        parsed.append(" ".join(words))
                        continue
                    if words[1] == "apply" and not os.path.exists(os.path.join(folder, words[2])):
                        run([WAYMARK, "ratio", "p.csv", "q.csv", "--drop", "id,date", "--folds", "2", "-o", words[2], "-q"], folder, env)
                    run(call + [o for pair in zip(*[iter(QUICK.get(command_of(words), []))] * 2) if pair[0] not in words
                                for o in pair], folder, env)
                    ran += 1
    print(f"{ran} commands ran; only parsed, for want of data or time:", *parsed, sep="\n  ")
    assert ran >= 20 and len(parsed) <= 12, (ran, len(parsed))


main()
