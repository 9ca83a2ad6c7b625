#!/usr/bin/env python3
"""run.py [--waymark PROGRAM] [--only NAME,...] [--seeds N] [--out DIR]: the command on files whose answer is known, with its defaults.

Draws every problem with `waymark data`, runs `waymark ratio` or `waymark mi` on the files (no options but the seed, unless the
row says otherwise) and compares with the truth that `waymark data` wrote. Writes rows.jsonl and table.md into DIR."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

# name, command, seeds, problem and its parameters, options of the command
PROBLEMS = [
    ("shift 50", "ratio", range(1, 6), ["shift"], []),
    ("shift 200", "ratio", range(1, 6), ["shift", "--mean-p", "-1", "--sd-p", ".08", "--mean-q", "2", "--sd-q", ".15"], []),
    ("shift 356", "ratio", range(1, 6), ["shift", "--mean-p", "-2", "--sd-p", ".08", "--mean-q", "2", "--sd-q", ".15"], []),
    *[(f"normals {kl}", "ratio", range(1, 11), ["normals", "--kl", str(kl), "-n", "8192"], []) for kl in (9, 18, 36, 54)],
    ("same", "ratio", range(1, 21), ["same", "-n", "5000"], []),
    ("chasm", "ratio", [1], ["shift", "--mean-p", "-1", "--sd-p", ".08", "--mean-q", "2", "--sd-q", ".15"], ["--bridges", "1"]),
    *[(f"cube {mi}", "mi", [1, 2], ["cube", "--mi", str(mi)], []) for mi in (1, 3, 5)],
    *[(f"asinh {mi}", "mi", [1, 2], ["asinh", "--mi", str(mi)], []) for mi in (1, 3, 5)],
    ("student", "mi", [1, 2, 3], ["student"], []),
    ("gaussian 5x5", "mi", [1], ["gaussian"], []),
    ("gaussian 80, mlp", "mi", [1], ["gaussian", "--dx", "40", "--dy", "40", "--mi", "20", "-n", "100000"],
     ["--model", "mlp", "--no-shuffled"]),
]


def run(program, *words):
    done = subprocess.run([program, *words, "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def one(program, name, command, seed, problem, options):
    with tempfile.TemporaryDirectory() as folder:
        run(program, "data", *problem, "--seed", str(seed), "-o", folder + "/d")
        truth = json.load(open(folder + "/d/truth.json"))
        a, b = ("p", "q") if command == "ratio" else ("u", "v")
        got = run(program, command, f"{folder}/d/{a}.npy", f"{folder}/d/{b}.npy", "--seed", str(seed), *options)
    key = "kl_pq" if command == "ratio" else "mi"
    return {"problem": name, "seed": seed, "truth": truth[key], "estimate": got[key], "se": got[key + "_se"], "ci95": got[key + "_ci95"],
            "model": got["model"], "bridges": len(got["bridges"]), "verdict": got["verdict"], "reason": got["reason"], "seconds": round(got["seconds"], 2)}


def table(rows):
    lines = ["| problem | seeds | truth | mean estimate | mean error | largest | within 2 se | in the interval | model | bridges | verdict | seconds |",
             "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for name in dict.fromkeys(r["problem"] for r in rows):
        some = [r for r in rows if r["problem"] == name]
        n = len(some)
        errors = [abs(r["estimate"] - r["truth"]) for r in some]
        unit = some[0]["truth"] or None

        def share(e):
            return f"{100 * e / unit:.1f} %" if unit else f"{e:.4f}"
        inside = sum(r["ci95"][0] <= r["truth"] <= r["ci95"][1] for r in some)
        near = sum(e <= 2 * r["se"] for e, r in zip(errors, some))
        lines.append(f"| {name} | {n} | {some[0]['truth']:.3f} | {sum(r['estimate'] for r in some) / n:.4f} | {sum(errors) / n:.3f} ({share(sum(errors) / n)}) | {share(max(errors))} | "
                     f"{near} of {n} | {inside} of {n} | {'; '.join(dict.fromkeys(r['model'] for r in some))} | {min(r['bridges'] for r in some)}-{max(r['bridges'] for r in some)} | "
                     f"{'; '.join(dict.fromkeys(r['verdict'] for r in some))} | {sum(r['seconds'] for r in some) / n:.1f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--waymark", default=os.path.join(HERE, "../../build/release/waymark"))
    parser.add_argument("--only", default="", help="problems that begin so; the others keep their rows")
    parser.add_argument("--seeds", type=int, default=100, help="at most so many of each")
    parser.add_argument("--out", default=HERE)
    args = parser.parse_args()
    wanted = [w for w in args.only.split(",") if w]
    path = os.path.join(args.out, "rows.jsonl")
    rows = []
    if wanted and os.path.exists(path):  # the others keep their rows
        rows = [r for r in map(json.loads, open(path)) if not any(r["problem"].startswith(w) for w in wanted)]
    for name, command, seeds, problem, options in PROBLEMS:
        if wanted and not any(name.startswith(w) for w in wanted):
            continue
        for seed in list(seeds)[:args.seeds]:
            row = one(args.waymark, name, command, seed, problem, options)
            rows.append(row)
            save(rows, args.out)
            print(f"{name}, seed {seed}: {row['estimate']:.4f} +- {row['se']:.4f} of {row['truth']:.4f}, {row['model']}, "
                  f"{row['bridges']} bridges, {row['verdict']}, {row['seconds']} s", flush=True)
    print(table(rows))


def save(rows, folder):
    order = {p[0]: i for i, p in enumerate(PROBLEMS)}
    rows.sort(key=lambda r: (order[r["problem"]], r["seed"]))
    with open(os.path.join(folder, "rows.jsonl"), "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in rows)
    with open(os.path.join(folder, "table.md"), "w") as f:
        f.write(table(rows))


if __name__ == "__main__":
    main()
