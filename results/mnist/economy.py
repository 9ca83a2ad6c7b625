#!/usr/bin/env python3
"""economy.py --data DIR [--only NAME;...] [--out DIR]: what lowers the bits per dimension of a telescope on MNIST for the same time.

Every variant fits 14 bridges over Gaussian noise with one thread. Additive terms come first, 1500 steps: they are fitted once, and each variant goes on from them
with all terms, for as many steps as fit into its seconds of the processor without the evaluations between them (a short run measures how many: every rate has
fallen to 0 when the time is over). Variants with other waymarks, or without additive terms, start from nothing; the latter get the time of the former in addition.
Then, on held-out images: the mean loss of the bridges, by which variants with the same waymarks compare; the direct likelihood; and RAISE of a few chains, which is
the measure. Writes economy.jsonl and economy.txt into the folder --out; variants that are there are kept."""

import argparse
import json
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BITS = 784 * math.log(2)
HEADS = 1500         # steps of the additive terms alone,
HEADS_SECONDS = 100  # and the time they take
SHORT, LONG = 60, 180

ADDITIVE = {"--model": "additive", "--batch": "600", "--lr": "4e-3", "--average": "0.99"}
MLP = {"--model": "additive+mlp", "--width": "512", "--blocks": "1", "--batch": "750", "--lr": "1e-3", "--average": "0.99"}
RESNET = {"--model": "additive+resnet", "--batch": "450", "--lr": "1e-3", "--average": "0.99"}
STRIDED = "stem 5/2 32, 32, 64 down, 64, 128 down"

# name, seconds, options that differ from the usual
VARIANTS = [
    ("mlp of width 512", SHORT, MLP),
    ("additive terms alone", SHORT + HEADS_SECONDS, ADDITIVE),
    ("all terms at once", SHORT + HEADS_SECONDS, MLP | {"--heads-iterations": "-1"}),
    ("no additive terms", SHORT + HEADS_SECONDS, MLP | {"--model": "mlp"}),
    ("every bridge its own trajectories (--spread yes)", SHORT, MLP | {"--spread": "yes"}),
    ("batch 250", SHORT, MLP | {"--batch": "250"}),
    ("batch 2000", SHORT, MLP | {"--batch": "2000"}),
    ("rate 3e-4", SHORT, MLP | {"--lr": "3e-4"}),
    ("rate 3e-3", SHORT, MLP | {"--lr": "3e-3"}),
    ("no warm-up", SHORT, MLP | {"--warmup": "0"}),
    ("average of 10 steps", SHORT, MLP | {"--average": "0.9"}),
    ("long: mlp of width 512", LONG, MLP),
    ("long: stem of stride 4", LONG, RESNET | {"--network": "stem 7/4 64, 64, 64, dense 128"}),
    ("long: stem of stride 2", LONG, RESNET | {"--network": STRIDED + ", dense 128"}),
    ("long: stem of stride 2, scales and shifts per channel", LONG, RESNET | {"--network": STRIDED + ", per-channel, dense 128"}),
    ("long: stem of stride 2, 64 channels throughout", LONG, RESNET | {"--network": "stem 5/2 64, 64 down, 64, 64 down, dense 128"}),
    ("long: full resolution in the stem", LONG, RESNET | {"--network": "stem 3/1 32, 32 down, 64 down, 64, 128 down, dense 128"}),
    ("long: mlp and stem of stride 4", LONG, RESNET | MLP | {"--model": "additive+mlp+resnet", "--network": "stem 7/4 64, 64, 64, dense 128", "--batch": "450"}),
]
USUAL = {"--noise": "gaussian", "--image": "28x28", "--dequantize": "256", "--logit": "1e-6", "--standardize": "yes", "--bridges": "14",
         "--spacing": "power:1.6", "--heads-iterations": str(HEADS), "--heads-lr": "4e-3", "--heads-batch": "600", "--spread": "no", "--threads": "1"}
CHAINS = ["--method", "direct,raise", "--chains", "8", "--steps", "140", "--threads", "1"]


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def call(program, *words):
    """What the command prints, what it says on the way, and its seconds of the processor and of the clock."""
    before, start = processor_seconds(), time.time()
    done = subprocess.run([program, *words, "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout), done.stderr, processor_seconds() - before, time.time() - start


def fit(args, options, folder):
    words = [w for pair in (USUAL | options).items() for w in pair if w is not None]
    return call(args.waymark, "ebm", args.data + "/train.npy", "--valid", args.data + "/valid.npy", *words, "-o", folder)


def start_from_heads(args, options, folder):
    """Puts the state of the additive terms, which many variants share, into the folder; what the fit there needs to take it."""
    own = ("--bridges", "--spacing", "--heads-iterations", "--warmup", "--spread")  # what the additive terms are fitted with, too
    if not options["--model"].startswith("additive+") or any(o in options for o in own):
        return {}
    state = os.path.join(args.out, "heads.safetensors")
    if not os.path.exists(state):
        with tempfile.TemporaryDirectory() as once:
            fit(args, MLP | {"--iterations": "1"}, once + "/run")
            shutil.copy(once + "/run/state.heads.safetensors", state)
    os.mkdir(folder)
    shutil.copy(state, folder + "/state.heads.safetensors")
    open(folder + "/metrics.jsonl", "w").close()
    return {"--resume": None}


def steps_per_second(args, options, folder):
    """Of the processor: a fit so long that no evaluation comes before the time is over."""
    _, said, used, took = fit(args, options | {"--heads-iterations": "-1", "--iterations": "1000000", "--time-limit": "40s"}, folder)
    rates = re.findall(r"([0-9.]+)/s  to go", said)
    if not rates:
        sys.exit("no step in 40 seconds: is the machine busy?")
    return float(rates[-1]) * max(took / used, 1)


def one(args, name, seconds, options):
    with tempfile.TemporaryDirectory() as folder:
        rate = steps_per_second(args, options, folder + "/speed")
        steps = max(round(seconds * rate), 1)
        options = options | start_from_heads(args, options, folder + "/run")
        fit(args, options | {"--iterations": str(steps)}, folder + "/run")
        with open(folder + "/run/metrics.jsonl") as f:
            end = json.loads(f.readlines()[-1])
        chains = CHAINS if args.chains else ["--method", "direct", "--threads", "1"]
        walked, _, used, _ = call(args.waymark, "loglik", folder + "/run", args.data + "/test.npy", *chains)
    row = {"variant": name, "seconds": seconds, "steps": steps, "train_loss": end["train_loss"], "valid_loss": end["valid_loss"], "direct": -walked["direct"] / BITS}
    if args.chains:
        row |= {"raise": -walked["raise"] / BITS, "raise_se": walked["raise_se"] / BITS, "seconds_chains": round(used)}
    return row


def table(rows):
    lines = ["variant                                               seconds   steps  loss: train  held out  direct  RAISE   +-"]
    for r in rows:
        chains = f"{r['raise']:>7.3f}{r['raise_se']:>7.3f}" if "raise" in r else ""
        lines.append(f"{r['variant']:<54}{r['seconds']:>7}{r['steps']:>8}{r['train_loss']:>13.4f}{r['valid_loss']:>10.4f}{r['direct']:>8.3f}{chains}")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--waymark", default=os.path.join(HERE, "../../build/release/waymark"))
    parser.add_argument("--data", required=True, help="the folder that `make data` fills")
    parser.add_argument("--only", default="", help="variants whose names begin so, between semicolons")
    parser.add_argument("--no-chains", dest="chains", action="store_false", help="leave out RAISE, which takes longer than the fit of a convolution")
    parser.add_argument("--out", default="economy", help="a folder, also of what variants share")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    path = os.path.join(args.out, "economy.jsonl")
    wanted = tuple(w for w in args.only.split(";") if w)
    rows = []
    for name, seconds, options in VARIANTS:
        if wanted and not name.startswith(wanted):
            continue
        if os.path.exists(path):
            with open(path) as f:
                rows = [json.loads(line) for line in f]
        if any(r["variant"] == name for r in rows):
            continue
        row = one(args, name, seconds, options)
        rows.append(row)
        with open(path, "a") as f:
            f.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)
    order = [name for name, _, _ in VARIANTS]
    rows.sort(key=lambda r: order.index(r["variant"]))
    with open(os.path.join(args.out, "economy.txt"), "w") as f:
        f.write(table(rows))
    print(table(rows))


if __name__ == "__main__":
    main()
