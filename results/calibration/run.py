#!/usr/bin/env python3
"""run.py [--waymark PROGRAM] [--build COMMIT] [--minutes M] [--runs N] [--out DIR]: how often intervals cover and verdicts are right.

Run i draws a family, its parameters, the number of rows (300 to 30,000) and the samples from seed FIRST + i: no problem comes twice, and none was looked at when limits
were chosen. The files go to `waymark ratio` or `waymark mi` with nothing but the seed. A line a run is added to rows.jsonl; runs that are there are not made again, so that
it can be stopped at any time and goes on where it was. table.md is written from all rows. Needs nothing but Python and the program."""

import argparse
import json
import math
import os
import random
import resource
import statistics
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FIRST = 200000  # seeds; other work here used seeds below 100,000
LIMIT = 3600  # seconds of wall time a run may take: then it counts as not answered


def logs(rng, low, high):
    """Even in the logarithm, with three digits."""
    return float("%.3g" % math.exp(rng.uniform(math.log(low), math.log(high))))


def evenly(rng, low, high):
    return float("%.3g" % rng.uniform(low, high))


def sides(rng, most):
    """Columns of u and v, few more often than many."""
    return int(logs(rng, 1, most + .99)), int(logs(rng, 1, most + .99))


def pairs(rng, name, most, mi):
    dx, dy = sides(rng, most)
    return [name, "--dx", dx, "--dy", dy, "--mi", evenly(rng, 0, min(mi, 1.2 * min(dx, dy)))]


RATIO = {
    "same": lambda r: ["same", "--dim", int(logs(r, 1, 61))],
    "shift": lambda r: (lambda d: ["shift", "--dim", d, "--mean-p", 0, "--mean-q", float("%.3g" % math.sqrt(2 * logs(r, .02, 60) / d))])(int(logs(r, 1, 61))),
    "scale": lambda r: ["scale", "--dim", int(logs(r, 1, 21)), "--sd-p", 1, "--sd-q", logs(r, .6, 4)],
    "peaked": lambda r: ["peaked", "--dim", int(logs(r, 1, 5)), "--sd-p", logs(r, 1e-4, .5)],
    "normals": lambda r: (lambda d: ["normals", "--dim", d, "--kl", logs(r, .05, 60), "--spread", evenly(r, 0, .3 / math.sqrt(d))])(int(logs(r, 1, 61))),
    "mixture": lambda r: ["mixture", "--dim", r.choice([1, 2, 2, 3]), "--modes", r.choice([2, 3]), "--gap", evenly(r, 1.5, 5)],
    "tails": lambda r: ["tails", "--dim", int(logs(r, 1, 6)), "--dof-p", evenly(r, 3, 12), "--dof-q", evenly(r, 3, 12), "--shift", evenly(r, 0, 2), "--sd-q", evenly(r, 1, 2)],
}
MI = {
    "gaussian": lambda r: pairs(r, "gaussian", 30, 6) + ["--dense", r.choice([0, 1])],
    "cube": lambda r: pairs(r, "cube", 5, 4) + ["--power", evenly(r, .2, 3)],
    "asinh": lambda r: pairs(r, "asinh", 5, 4) + ["--stretch", evenly(r, .3, 3)],
    "uniform": lambda r: pairs(r, "uniform", 10, 4),
    "student": lambda r: (lambda d: ["student", "--dx", d[0], "--dy", d[1], "--rho", evenly(r, 0, .8), "--dof", evenly(r, 2, 8)])(sides(r, 5)),
    "spiral": lambda r: ["spiral", "--dx", r.choice([2, 3, 4]), "--dy", r.choice([1, 2, 3]), "--mi", evenly(r, .1, 2), "--speed", evenly(r, .05, .5)],
    "swissroll": lambda r: ["swissroll", "--mi", evenly(r, .1, 2)],
    "discrete": lambda r: ["discrete", "--columns", r.choice([1, 1, 2, 3]), "--levels", r.randint(2, 8), "--agree", evenly(r, 0, .9), "--skew", evenly(r, 0, 1)],
    "mixed": lambda r: ["mixed", "--columns", r.choice([1, 1, 2]), "--levels", r.randint(2, 6), "--gap", evenly(r, .3, 3)],
    "additive": lambda r: ["additive", "--columns", r.choice([1, 2]), "--noise", logs(r, .1, 2)],
}
FAMILIES = [("ratio", name) for name in RATIO] + [("mi", name) for name in MI]


def problem(i):
    """Command, family, words for `waymark data`, rows."""
    rng = random.Random(FIRST + i)
    command, name = FAMILIES[i % len(FAMILIES)]
    words = [str(w) for w in (RATIO if command == "ratio" else MI)[name](rng)]
    return command, name, words, int(logs(rng, 300, 30000))


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def call(program, words):
    return subprocess.run([program, *words, "--json", "--quiet", "--threads", "1"], capture_output=True, text=True, timeout=LIMIT)


def one(program, i):
    command, family, words, n = problem(i)
    row = {"run": i, "command": command, "family": family, "problem": " ".join(words), "n": n}
    with tempfile.TemporaryDirectory() as folder:
        done = call(program, ["data", *words, "-n", str(n), "--seed", str(FIRST + i), "-o", folder + "/d"])
        if done.returncode:
            raise RuntimeError(f"run {i}, {row['problem']}: {done.stderr.strip()}")
        a, b, key = ("p", "q", "kl_pq") if command == "ratio" else ("u", "v", "mi")
        with open(folder + "/d/truth.json", encoding="utf-8") as f:
            row["truth"] = json.load(f)[key]
        start = processor_seconds()
        try:
            done = call(program, [command, f"{folder}/d/{a}.npy", f"{folder}/d/{b}.npy", "--seed", str(FIRST + i), *(["--no-shuffled"] if command == "mi" else [])])
        except subprocess.TimeoutExpired:
            return {**row, "error": f"no answer in {LIMIT} s"}
    row["cpu"] = round(processor_seconds() - start, 1)
    if done.returncode:
        return {**row, "error": done.stderr.strip()[-200:]}
    got = json.loads(done.stdout)
    return {**row, "estimate": got[key], "se": got[key + "_se"], "ci95": got[key + "_ci95"], "model": got["model"], "bridges": len(got["bridges"]), "verdict": got["verdict"],
            "not_ok": {c["name"]: c["outcome"] for c in got["checks"] if c["outcome"] != "ok"}, "seconds": round(got["seconds"], 1)}


def inside(row):
    return row["ci95"][0] <= row["truth"] <= row["ci95"][1]


def is_wrong(row):
    """Outside of the interval, and by more than a twentieth and 0.02 nats."""
    return not inside(row) and abs(row["estimate"] - row["truth"]) > max(.05 * row["truth"], .02)


HEAD = ["runs", "covered", "median half-width, nats", "median error, nats", "trusted", "trusted, outside of the interval", "of these wrong", "doubted", "rejected"]


def line(name, rows):
    done = [r for r in rows if "error" not in r]
    trusted = [r for r in done if r["verdict"] == "trust"]
    if not done:
        return f"| {name} | {len(rows)} |" + " |" * (len(HEAD) - 1)
    cells = [str(len(done)) + (f" of {len(rows)}" if len(rows) > len(done) else ""), f"{sum(map(inside, done))} ({100 * sum(map(inside, done)) / len(done):.0f} %)",
             "%.3g" % statistics.median((r["ci95"][1] - r["ci95"][0]) / 2 for r in done), "%.3g" % statistics.median(abs(r["estimate"] - r["truth"]) for r in done),
             f"{len(trusted)} ({100 * len(trusted) / len(done):.0f} %)", str(sum(not inside(r) for r in trusted)), str(sum(map(is_wrong, trusted))),
             str(sum(r["verdict"] == "doubt" for r in done)), str(sum(r["verdict"] == "reject" for r in done))]
    return f"| {name} | " + " | ".join(cells) + " |"


def block(what, groups):
    return [f"| {what} | " + " | ".join(HEAD) + " |", "|---" * (len(HEAD) + 1) + "|"] + [line(name, rows) for name, rows in groups if rows] + [""]


def table(rows):
    sizes = [(300, 1000), (1000, 3000), (3000, 10000), (10000, 30001)]
    models = sorted({r["model"] for r in rows if "model" in r})
    misses = [r for r in rows if "error" not in r and r["verdict"] == "trust" and not inside(r)]
    return "\n".join(
        block("", [("all", rows)] + [(c, [r for r in rows if r["command"] == c]) for c in ("ratio", "mi")]) + block("family", [(f"{c} {f}", [r for r in rows if (r["command"], r["family"]) == (c, f)]) for c, f in FAMILIES])
        + block("rows", [(f"{a} to {b - b % 1000}", [r for r in rows if a <= r["n"] < b]) for a, b in sizes]) + block("model", [(m, [r for r in rows if r.get("model") == m]) for m in models])
        + ["Trusted, and the truth outside of the interval:", ""]
        + [f"- {r['command']} {r['problem']}, n = {r['n']}: {r['estimate']:.4g} [{r['ci95'][0]:.4g}, {r['ci95'][1]:.4g}] of {r['truth']:.4g}, {r['model']}" for r in misses]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--waymark", default=os.path.join(HERE, "../../build/release/waymark"))
    parser.add_argument("--minutes", type=float, default=600, help="begin no run after that")
    parser.add_argument("--build", help="the commit that made the program, for the rows")
    parser.add_argument("--runs", type=int, default=425)
    parser.add_argument("--out", default=HERE)
    args = parser.parse_args()
    path = os.path.join(args.out, "rows.jsonl")
    rows = [json.loads(s) for s in open(path, encoding="utf-8")] if os.path.exists(path) else []
    have = {r["run"] for r in rows}
    end = time.time() + 60 * args.minutes
    for i in range(args.runs):
        if i in have:
            continue
        if time.time() > end:
            break
        rows.append({**one(args.waymark, i), **({"build": args.build} if args.build else {})})
        with open(path, "a", encoding="utf-8") as f:
            f.write(json.dumps(rows[-1]) + "\n")
    with open(os.path.join(args.out, "table.md"), "w", encoding="utf-8") as f:
        f.write(table(rows))


if __name__ == "__main__":
    main()
