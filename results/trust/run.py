#!/usr/bin/env python3
"""run.py [--set NAME]: `waymark ratio` and `mi`, defaults and one thread, where the truth is known (problems.py, bmi's tasks).

Sets: far, support, normal, width, tails, label, bmi. Rows go to rows-SET.jsonl as they come, and those that are there are not run again;
table.md is written from all of them. Needs numpy, scipy, scikit-learn; bmi: the package benchmark-mi with jax before 0.4.34."""
import argparse
import json
import math
import os
import subprocess
import tempfile
import time

import numpy as np

import problems

HERE = os.path.dirname(os.path.abspath(__file__))
SETS = {  # problems, rows, seeds
    "far": (["mixtures", "banana", "student far", "student near"], 5000, 5),
    "support": (["uniform/beta", "uniform/uniform", "squares", "disc/ring"], 3000, 10),
    "normal": (["gaussians 20 nats", "60 columns", "stretched"], {"gaussians 20 nats": 1000, "60 columns": 3000, "stretched": 3000},
               {"gaussians 20 nats": 40, "60 columns": 10, "stretched": 10}),
    "tails": (["exponentials", "exponentials, 5 columns", "lognormals", "cauchy", "student/normal", "three signs"], 3000, 5),
    "width": (["near gaussians"], [10000, 100000, 1000000], {10000: 10, 100000: 5, 1000000: 2}),
}


def call(waymark, args):
    start = time.process_time(), time.time()
    done = subprocess.run([waymark, *args, "--json", "--quiet", "--threads", "1"], capture_output=True, text=True)
    if done.returncode:
        return {"error": done.stderr.strip()[-200:]}
    r = json.loads(done.stdout)
    key = "mi" if "mi" in r else "kl_pq"
    return {"value": r[key], "ci": r[key + "_ci95"], "verdict": r["verdict"], "model": r["model"], "bridges": len(r["bridges"]),
            "seconds": round(time.time() - start[1], 1), "not_ok": [c["name"] for c in r["checks"] if not c["ok"]]}


def cases(name):
    """(problem, rows, seed) of a set."""
    if name == "label":
        return [(p, 2000, s) for p in problems.LABELS for s in range(1, 6)]
    if name == "bmi":
        import bmi
        return [(t, 5000, s) for s in range(1, 8) for t in bmi.benchmark.BENCHMARK_TASKS if s <= BMI_SEEDS or t == DENSE]
    which, rows, seeds = SETS[name]
    sizes = rows if isinstance(rows, list) else None
    return [(p, n, s) for p in which for n in (sizes or [rows[p] if isinstance(rows, dict) else rows])
            for s in range(1, 1 + (seeds if isinstance(seeds, int) else seeds[n if sizes else p]))]


BMI_SEEDS = 1
DENSE = "multinormal-dense-25-25-0.5"


def run_case(waymark, name, problem, n, seed, folder):
    rng = np.random.default_rng([seed, n, sum(map(ord, problem))])
    if name == "bmi":
        import bmi
        task = bmi.benchmark.BENCHMARK_TASKS[problem]
        x, y = task.sample(n, seed=seed)
        np.save(folder + "/xy.npy", np.hstack([np.asarray(x, float), np.asarray(y, float)]))
        return float(task.mutual_information), call(waymark, ["mi", folder + "/xy.npy", "--dims", str(task.dim_x), str(task.dim_y)])
    if name == "label":
        from sklearn.feature_selection import mutual_info_classif
        x, c = problems.draw_label(problem, rng, n)
        np.save(folder + "/u.npy", x)
        with open(folder + "/v.csv", "w", encoding="utf-8") as f:
            f.write("class\n" + "".join("level%d\n" % k for k in c))
        row = call(waymark, ["mi", folder + "/u.npy", folder + "/v.csv"])
        if x.shape[1] == 1:
            row["sklearn"] = float(mutual_info_classif(x, c, random_state=0)[0])
        return problems.label_truth(problem), row
    p, q, truth = problems.PROBLEMS[problem](rng, n)
    np.save(folder + "/p.npy", p)
    np.save(folder + "/q.npy", q)
    return truth, call(waymark, ["ratio", folder + "/p.npy", folder + "/q.npy"])


def table(rows):
    lines = ["| set | problem | rows | runs | truth | mean | mean error | half-width | covered | trusted | trusted and outside | s |", "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    groups = {}
    for r in rows:
        key = (r["set"], r["problem"] if r["set"] != "bmi" or r["problem"] == DENSE else "40 tasks", r["n"])
        groups.setdefault(key, []).append(r)
        if r["set"] == "bmi" and r["problem"] == DENSE and r["seed"] <= BMI_SEEDS:
            groups.setdefault(("bmi", "40 tasks", r["n"]), []).append(r)
    for (name, problem, n), g in groups.items():
        done = [r for r in g if "error" not in r]
        truth = np.array([r["truth"] for r in done])
        value = np.array([r["value"] for r in done])
        inside = [r["ci"][0] <= r["truth"] <= r["ci"][1] for r in done]
        same = np.ptp(truth) < 1e-9 if np.isfinite(truth).all() else False
        lines.append("| %s | %s | %d | %d | %s | %s | %s | %.3g | %d | %d | %d | %.1f |" % (
            name, problem, n, len(done), "%.4g" % truth[0] if same else "inf" if not np.isfinite(truth).all() else "varies",
            "%.4g" % value.mean() if same else "", "%.3g" % np.abs(value - truth).mean() if np.isfinite(truth).all() else "",
            np.median([(r["ci"][1] - r["ci"][0]) / 2 for r in done]), sum(inside), sum(r["verdict"] == "trust" for r in done),
            sum(r["verdict"] == "trust" and not i for r, i in zip(done, inside)), np.median([r["seconds"] for r in done])))
    nets = [r for r in rows if r["set"] == "bmi" and "mlp" in r.get("model", "")]
    if nets:
        lines += ["", "Half-width of the network runs of bmi, share of the truth, median: %.3f." % np.median(
            [(r["ci"][1] - r["ci"][0]) / 2 / r["truth"] for r in nets])]
    return "\n".join(lines) + "\n"


def main():
    a = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    a.add_argument("--waymark", default=os.path.join(HERE, "..", "..", "build", "release", "waymark"))
    a.add_argument("--set", default="far,support,normal,width,tails,label")
    a.add_argument("--minutes", type=float, default=1e9, help="begin no case after that")
    o = a.parse_args()
    end = time.time() + 60 * o.minutes
    for name in o.set.split(","):
        path = os.path.join(HERE, "rows-%s.jsonl" % name)
        have = set()
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                have = {(r["problem"], r["n"], r["seed"]) for r in map(json.loads, f)}
        for problem, n, seed in cases(name):
            if (problem, n, seed) in have or time.time() > end:
                continue
            with tempfile.TemporaryDirectory() as folder:
                truth, row = run_case(o.waymark, name, problem, n, seed, folder)
            row = {"set": name, "problem": problem, "n": n, "seed": seed, "truth": truth if math.isfinite(truth) else None, **row}
            with open(path, "a", encoding="utf-8") as f:
                f.write(json.dumps(row) + "\n")
            print(row, flush=True)
    rows = []
    for file in sorted(os.listdir(HERE)):
        if file.startswith("rows-"):
            with open(os.path.join(HERE, file), encoding="utf-8") as f:
                rows += [json.loads(line) for line in f]
    for r in rows:
        r["truth"] = math.inf if r["truth"] is None else r["truth"]
    with open(os.path.join(HERE, "table.md"), "w", encoding="utf-8") as f:
        f.write(table(rows))


if __name__ == "__main__":
    main()
