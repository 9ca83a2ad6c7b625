#!/usr/bin/env python3
"""run.py [--waymark PROGRAM] [--minutes M] [--set tune|report] [--out DIR]: how often the verdict is right.

Draws problems of every generator of `waymark data`, at several numbers of rows and with many seeds, gives the files to `waymark ratio` or `waymark mi` with nothing but the
seed, and compares with the truth. The order is random, so that a run that is cut short by --minutes is still a fair sample; rows that are in rows-SET.jsonl already
are not drawn again. Seeds of `tune` and of `report` differ: limits are chosen on the first, and the table that counts is made of the second."""

import argparse
import json
import os
import random
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS = {"tune": range(1000, 5000), "report": range(5000, 9000)}
SIZES = [200, 1000, 4000]  # and 20,000 for problems that need no network
PROBLEMS = [
    ("ratio", ["same"]), ("ratio", ["same", "--dim", "2"]),
    ("ratio", ["shift", "--mean-p", "-0.5", "--mean-q", "0.5"]), ("ratio", ["shift", "--mean-p", "-1", "--mean-q", "1", "--dim", "3"]), ("ratio", ["shift"]),
    ("ratio", ["scale"]), ("ratio", ["scale", "--sd-q", "1.5"]), ("ratio", ["peaked", "--sd-p", "0.01"]),
    ("ratio", ["normals", "--kl", "1"]), ("ratio", ["normals", "--kl", "9"]), ("ratio", ["normals", "--kl", "4", "--dim", "8"]),
    ("ratio", ["mixture"]), ("ratio", ["tails"]), ("ratio", ["tails", "--shift", "1", "--dof-p", "5", "--dof-q", "5", "--sd-q", "1"]),
    ("mi", ["gaussian"]), ("mi", ["gaussian", "--mi", "0.2", "--dx", "2", "--dy", "2"]), ("mi", ["gaussian", "--mi", "5", "--dx", "3", "--dy", "3"]),
    ("mi", ["cube"]), ("mi", ["asinh"]), ("mi", ["uniform"]), ("mi", ["student"]), ("mi", ["student", "--dx", "2", "--dy", "2", "--rho", "0.5", "--dof", "3"]),
    ("mi", ["spiral", "--mi", "1"]), ("mi", ["swissroll", "--mi", "1"]), ("mi", ["discrete"]), ("mi", ["mixed"]), ("mi", ["additive"]),
]
LARGE = {"same", "shift", "scale", "normals", "gaussian", "cube", "asinh", "uniform", "discrete"}


def call(program, *words):
    done = subprocess.run([program, *words, "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def one(program, command, problem, n, seed):
    with tempfile.TemporaryDirectory() as folder:
        call(program, "data", *problem, "-n", str(n), "--seed", str(seed), "-o", folder + "/d")
        truth = json.load(open(folder + "/d/truth.json"))
        a, b = ("p", "q") if command == "ratio" else ("u", "v")
        extra = ["--no-shuffled"] if command == "mi" else []
        key = "kl_pq" if command == "ratio" else "mi"
        got = call(program, command, f"{folder}/d/{a}.npy", f"{folder}/d/{b}.npy", "--seed", str(seed), *extra)
    return {"problem": " ".join(problem), "command": command, "n": n, "seed": seed, "truth": truth[key], "estimate": got[key], "se": got[key + "_se"],
            "ci95": got[key + "_ci95"], "model": got["model"], "bridges": len(got["bridges"]), "verdict": got["verdict"],
            "checks": {c["name"]: c["value"] for c in got["checks"]}, "failed": [c["name"] for c in got["checks"] if c["outcome"] in ("doubt", "failed")], "seconds": round(got["seconds"], 1)}


def error(row):
    return abs(row["estimate"] - row["truth"])


def near(row):
    return error(row) <= max(2 * row["se"], 0.05 * abs(row["truth"]))


def inside(row):
    return row["ci95"][0] <= row["truth"] <= row["ci95"][1]


def line(name, rows):
    n = len(rows)
    if not n:
        return f"| {name} | 0 | | | | |"
    worst = max(rows, key=lambda r: error(r) / max(r["se"], 1e-9))
    return (f"| {name} | {n} | {sum(map(near, rows))} ({100 * sum(map(near, rows)) / n:.0f} %) | {sum(map(inside, rows))} ({100 * sum(map(inside, rows)) / n:.0f} %) | "
            f"{sum(error(r) <= max(3 * r['se'], 0.1 * abs(r['truth'])) for r in rows) / n * 100:.0f} % | "
            f"{worst['problem']}, n {worst['n']}: {worst['estimate']:.3f} +- {worst['se']:.3f} of {worst['truth']:.3f} |")


def table(rows):
    head = ["runs", "within max(2 se, 5 %)", "truth in the 95 % interval", "within max(3 se, 10 %)", "worst, in standard errors"]
    out = ["| verdict | " + " | ".join(head) + " |", "|---" * (len(head) + 1) + "|"]
    out += [line(v, [r for r in rows if r["verdict"] == v]) for v in ("trust", "doubt", "reject")]
    out += ["", "| problem | " + " | ".join(head) + " |", "|---" * (len(head) + 1) + "|"]
    for name in dict.fromkeys(" ".join([c] + p) for c, p in PROBLEMS):
        some = [r for r in rows if r["command"] + " " + r["problem"] == name]
        verdicts = ", ".join(f"{v} {sum(r['verdict'] == v for r in some)}" for v in ("trust", "doubt", "reject"))
        out.append(line(f"{name} ({verdicts})", some))
    out += ["", "| rows | " + " | ".join(head) + " |", "|---" * (len(head) + 1) + "|"]
    out += [line(f"trust, n = {n}", [r for r in rows if r["n"] == n and r["verdict"] == "trust"]) for n in SIZES + [20000]]
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--waymark", default=os.path.join(HERE, "../../build/release/waymark"))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--set", choices=SEEDS, default="report")
    parser.add_argument("--out", default=HERE)
    args = parser.parse_args()
    path = os.path.join(args.out, f"rows-{args.set}.jsonl")
    rows = [json.loads(s) for s in open(path)] if os.path.exists(path) else []
    have = {(r["command"], r["problem"], r["n"], r["seed"]) for r in rows}
    jobs = [(i, c, p, n, s) for i, s in enumerate(SEEDS[args.set]) for c, p in PROBLEMS for n in SIZES + ([20000] if p[0] in LARGE else [])]
    random.Random(1).shuffle(jobs)
    jobs.sort(key=lambda j: j[0])  # one seed of everything, then the next
    end = time.time() + 60 * args.minutes
    for _, command, problem, n, seed in jobs:
        if time.time() > end:
            break
        if (command, " ".join(problem), n, seed) in have:
            continue
        rows.append(one(args.waymark, command, problem, n, seed))
        with open(path, "a") as f:
            f.write(json.dumps(rows[-1]) + "\n")
    with open(os.path.join(args.out, f"table-{args.set}.md"), "w") as f:
        f.write(table(rows))
    print(table(rows))


if __name__ == "__main__":
    main()
