#!/usr/bin/env python3
"""run.py [--waymark PROGRAM] [--out DIR]: `waymark ebm` with its defaults on two densities of the plane that are known.

Draws 20,000 rows of a ring of eight normals and of a spiral (a mixture of 200 normals along it), fits, and compares log phi less log Z
(AIS, and RAISE, by `waymark loglik`) with the truth on 10,000 fresh rows. Writes rows.jsonl and keeps the figures. Needs numpy."""

import argparse
import json
import os
import shutil
import subprocess
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def ring():
    angle = 2 * np.pi * np.arange(8) / 8
    return 2 * np.stack([np.cos(angle), np.sin(angle)], 1), 0.25


def spiral():
    t = np.sqrt(np.linspace(0.05, 1, 200)) * 3 * np.pi
    return np.stack([t * np.cos(t), t * np.sin(t)], 1) / 4, 0.12


def draw(rng, centres, sd, n):
    return centres[rng.integers(len(centres), size=n)] + sd * rng.standard_normal((n, 2))


def log_density(centres, sd, x):
    d = -((x[:, None] - centres[None]) ** 2).sum(2) / (2 * sd * sd)
    top = d.max(1)
    return top + np.log(np.exp(d - top[:, None]).mean(1)) - np.log(2 * np.pi * sd * sd)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--waymark", default=os.path.join(HERE, "../../build/release/waymark"))
    parser.add_argument("--out", default=HERE)
    args = parser.parse_args()
    rows = []
    for name, make in (("ring", ring), ("spiral", spiral)):
        rng = np.random.default_rng(1)
        centres, sd = make()
        with tempfile.TemporaryDirectory() as folder:
            train, test = draw(rng, centres, sd, 20000), draw(rng, centres, sd, 10000)
            np.save(folder + "/train.npy", train)
            np.save(folder + "/test.npy", test)

            def run(*words):
                done = subprocess.run([args.waymark, *words, "--json", "--quiet"], capture_output=True, text=True)
                if done.returncode:
                    raise SystemExit(done.stderr)
                return json.loads(done.stdout)
            fit = run("ebm", folder + "/train.npy", "-o", folder + "/run")
            like = run("loglik", folder + "/run", folder + "/test.npy", "--chains", "200", "--steps", "500")
            run("sample", folder + "/run", "-n", "2000", "--chains", "500", "--steps", "300", "-o", folder + "/draws")
            draws = np.load(folder + "/draws/draws.npy").reshape(-1, 2)
            for ending in ("svg", "csv"):
                path = f"{folder}/run/figures/density.{ending}"
                if os.path.exists(path) and ending == "svg":
                    shutil.copy(path, f"{args.out}/{name}.svg")
        truth = log_density(centres, sd, test).mean()
        kl = truth - like["ais"]
        back = log_density(centres, sd, draws)
        rows.append({"problem": name, "entropy_truth": truth, "noise": like["noise_loglik"], "direct": like["direct"], "raise": like["raise"],
                     "ais": like["ais"], "log_z": like["log_z"], "kl_ais": kl, "kl_direct": truth - like["direct"], "kl_raise": truth - like["raise"],
                     "draws_mean_log_p": back.mean(), "verdict": fit["verdict"], "seconds": round(fit["seconds"], 1)})
        print(json.dumps(rows[-1]))
    with open(os.path.join(args.out, "rows.jsonl"), "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in rows)


if __name__ == "__main__":
    main()
