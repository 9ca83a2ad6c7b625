#!/usr/bin/env python3
"""mutations.py WAYMARK [--number N] [--seed S] [--jobs J]: models and checkpoints that were damaged, N of them (60; 1000 is
the full sweep), and the commands that read them.

Damage is a bit flipped, a file cut short or with bytes appended, a block of zeros, tensors of the same size that have
changed places, metadata altered, checksums taken away or those of another file. All of it must be refused: exit 1, and a
message that names the file. A fifth is forged: altered with checksums that hold again. Some of that cannot be seen (another
seed is as good a seed), but no forgery may crash a command, be refused without the file's name, or make it print a number
that is none without a warning. Prints a table by file and kind of damage, and every breach; exits 1 on any."""

import argparse
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import npy_files
from sealed import checksum

EBM = ["--bridges", 2, "--batch", 50, "--heads-iterations", 10, "--iterations", 10, "--bases", 6, "--width", 4, "--blocks", 1,
       "--check-steps", 4, "--check-chains", 4, "--checkpoint", "0.001s"]
NETWORK = ["--model", "mlp", "--iterations", 40, "--bridges", 2, "--batch", 64, "--width", 4, "--folds", 2]
WALK = ["--chains", 4, "--steps", 6]
# A model: the run that makes it, and how it is used. A state: the run, killed at which call, and the state's name.
MODELS = {
    "ratio": (["ratio", "p.npy", "q.npy", "--model", "quadratic"], ["apply", "DIR", "p.npy"]),
    "network": (["ratio", "p.npy", "q.npy", *NETWORK], ["apply", "DIR", "p.npy"]),
    "table": (["ratio", "p.csv", "q.csv", "--model", "additive"], ["apply", "DIR", "p.csv"]),
    "mi": (["mi", "p.npy", "q.npy", "--model", "quadratic", "--no-shuffled"], ["apply", "DIR", "both.npy"]),
    "ebm": (["ebm", "p.npy", *EBM], ["loglik", "DIR", "p.npy", "--method", "direct,ais", *WALK]),
    "flow": (["ebm", "p.npy", *EBM, "--noise", "flow", "--noise-iterations", 5, "--noise-hidden", 4, "--noise-steps", 2],
             ["sample", "DIR", "-n", 4, *WALK, "-o", "DIR.draws"]),
    "columns": (["ebm", "p.csv", *EBM], ["loglik", "DIR", "p.csv", "--method", "direct"]),
    "embed": (["embed", "fit", "p.npy", "q.npy", "--iterations", 10, "--batch", 64, "--width", 4], ["embed", "DIR", "p.npy", "-o",
                                                                                                   "DIR.npy"]),
}
STATES = {
    "ebm": (MODELS["ebm"][0], r"state\.safetensors"),
    "heads": (MODELS["ebm"][0], r"state\.heads\.safetensors"),
    "network": (MODELS["network"][0], r"state-.*\.safetensors"),
    "embed": (MODELS["embed"][0] + ["--checkpoint", "0.001s"], r"state\.safetensors"),
    "ais": (["loglik", "ebm", "p.npy", *WALK, "--checkpoint", "0.001s"], r"ais\.safetensors"),
    "chains": (["sample", "ebm", "-n", 8, *WALK, "--checkpoint", "0.001s"], r"chains.*\.safetensors"),
}
NOT_A_NUMBER = re.compile(r"(?<![a-z_-])-?(nan|inf)(?![a-z])", re.I)


class File:
    """A safetensors file, taken apart."""

    def __init__(self, data):
        size = int.from_bytes(data[:8], "little")
        self.header = json.loads(data[8:8 + size])
        self.data = bytearray(data[8 + size:])
        self.meta = self.header["__metadata__"]

    @property
    def names(self):
        return [k for k in self.header if k != "__metadata__"]

    def place(self, name):
        return self.header[name]["data_offsets"]

    def bytes(self, mend):
        if mend:
            sums = {n: checksum(bytes(self.data[slice(*self.place(n))])) for n in self.names}
            self.meta["checksums"] = json.dumps(sums, separators=(",", ":"))
            self.meta.pop("checksum", None)
            text = json.dumps(self.header, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            self.meta["checksum"] = checksum(text.encode())
        text = json.dumps(self.header, separators=(",", ":"), ensure_ascii=False).encode()
        text += b" " * (-(8 + len(text)) % 64)
        return struct.pack("<Q", len(text)) + text + bytes(self.data)


def plain(kind, data, rng, others):
    """The file damaged, with the checksums that it had."""
    out = bytearray(data)
    header = 8 + int.from_bytes(data[:8], "little")
    if kind in ("bit", "bit of the header"):
        out[rng.randrange(header if kind != "bit" else len(out))] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        return bytes(out[:rng.choice([rng.randrange(len(out)), len(out) - 1, header, 8, 0])])
    elif kind == "longer":
        return bytes(out) + bytes(rng.randrange(1, 100))
    elif kind == "zeros":
        at = rng.randrange(len(out))
        n = min(rng.choice([1, 8, 64, 512]), len(out) - at)
        out[at:at + n] = bytes(n)
    elif kind == "another's data":
        f, g = File(data), File(rng.choice(others))
        f.data[:min(len(f.data), len(g.data))] = g.data[:min(len(f.data), len(g.data))]
        return f.bytes(False)
    else:
        f = File(data)
        alter(kind, f, rng)
        return f.bytes(False)
    return bytes(out)


def alter(kind, f, rng):
    if kind == "swapped":
        pairs = [(a, b) for a in f.names for b in f.names
                 if a < b and f.header[a]["shape"] == f.header[b]["shape"] and f.header[a]["dtype"] == f.header[b]["dtype"]]
        if not pairs or rng.random() < 0.3:
            a, b = rng.choice(f.names), rng.choice(f.names)
            f.header[a], f.header[b] = f.header[b], f.header[a]
        else:
            a, b = rng.choice(pairs)
            x, y = slice(*f.place(a)), slice(*f.place(b))
            f.data[x], f.data[y] = f.data[y], f.data[x]
    elif kind == "metadata":
        key = rng.choice([k for k in f.meta if k != "checksums"])
        digits = [m for m in re.finditer(r"\d+", f.meta[key])]
        if digits and rng.random() < 0.8:
            m = rng.choice(digits)
            other = rng.choice(["0", "1", "7", "1000000", "-1", "99999999999999999999", m.group() + "1"])
            f.meta[key] = f.meta[key][:m.start()] + other + f.meta[key][m.end():]
        else:
            f.meta[key] = rng.choice(["", "x", f.meta[key] + " ", f.meta[key][::-1]])
    elif kind == "no checksum":
        for key in rng.choice([["checksum"], ["checksums"], ["checksum", "checksums"]]):
            f.meta.pop(key)
    elif kind == "no tensor":
        f.header.pop(rng.choice(f.names))
    elif kind == "no key":
        f.meta.pop(rng.choice(list(f.meta)))
    elif kind == "number":
        name = rng.choice([n for n in f.names if f.place(n)[0] < f.place(n)[1]])
        lo, hi = f.place(name)
        size = {"F64": 8, "F32": 4, "I64": 8}.get(f.header[name]["dtype"], 1)
        at = lo + size * rng.randrange((hi - lo) // size)
        odd = {"F64": ("d", [float("nan"), float("inf"), 0.0, -1.0, 1e308]), "F32": ("f", [float("nan"), 0.0, -1.0, 3e38]),
               "I64": ("q", [-1, 0, 2 ** 62, 3])}.get(f.header[name]["dtype"], ("B", [0, 255]))
        f.data[at:at + size] = struct.pack("<" + odd[0], rng.choice(odd[1]))


PLAIN = ["bit", "bit", "bit of the header", "cut", "longer", "zeros", "swapped", "metadata", "no checksum", "no tensor", "no key",
         "number", "another's data"]
FORGED = ["swapped", "metadata", "metadata", "no tensor", "no key", "number", "number"]


class Sweep:
    def __init__(self, waymark, top):
        self.waymark, self.top, self.breaches, self.table = waymark, top, [], Counter()

    def run(self, words, fault=None):
        env = {**os.environ, "PATH": "/nowhere", "OMP_NUM_THREADS": "1"}
        if fault:
            env["WAYMARK_IO_FAULT"] = fault
        return subprocess.run([self.waymark, *map(str, words)], cwd=self.top, env=env, capture_output=True, timeout=300)

    def prepare(self):
        rng = random.Random(1)
        rows = {name: [[rng.gauss(0, 1), rng.gauss(0, 1) + k] for _ in range(150)] for k, name in enumerate("pq")}
        for name, table in rows.items():
            npy_files.write(os.path.join(self.top, f"{name}.npy"), (150, 2), [x for row in table for x in row])
            with open(os.path.join(self.top, f"{name}.csv"), "w", encoding="utf-8") as f:
                f.write("größe,colour\n" + "".join(f"{x:.4f},{rng.choice('rgb')}\n" for x, _ in table))
        npy_files.write(os.path.join(self.top, "both.npy"), (150, 4), [x for a, b in zip(*rows.values()) for x in a + b])
        self.good = {}
        for name, (words, use) in MODELS.items():
            done = self.run([*words, "-o", name, "-q"])
            if done.returncode:
                sys.exit(f"{words}: {done.stderr.decode()}")
            with open(os.path.join(self.top, name, "model.safetensors"), "rb") as f:
                self.good["model " + name] = (f.read(), use)
        for name, (words, pattern) in STATES.items():
            self.good["state " + name] = self.stopped(name, words, re.compile(pattern))

    def stopped(self, name, words, pattern):
        """A run that was killed where it has such a state, and does not ask for it in vain."""
        folder = os.path.join(self.top, f"{name}-stopped")
        for n in range(20, 2000, 6):
            shutil.rmtree(folder, ignore_errors=True)
            if self.run([*words, "-o", folder, "-q"], f"{n}:kill").returncode >= 0:
                break
            states = [f for f in os.listdir(folder) if pattern.fullmatch(f)] if os.path.isdir(folder) else []
            if states:
                with open(os.path.join(folder, states[0]), "rb") as f:
                    return f.read(), (words, folder, states[0])
        sys.exit(f"{name}: never a state like {pattern.pattern}")

    def breach(self, *words):
        self.breaches.append(words)
        print("BREACH", *words, flush=True)

    def one(self, number, seed):
        rng = random.Random(f"{seed} {number}")
        what = rng.choice(sorted(self.good))
        data, use = self.good[what]
        forged = number % 5 == 0
        kind = rng.choice(FORGED if forged else PLAIN)
        if forged:
            f = File(data)
            alter(kind, f, rng)
            changed = f.bytes(True)
        else:
            changed = plain(kind, data, rng, [d for k, (d, _) in self.good.items() if k != what])
        if self.same(data, changed):
            return
        folder = os.path.join(self.top, f"m{number}")
        if what.startswith("model"):
            os.mkdir(folder)
            name = "model.safetensors"
            words = [str(w).replace("DIR", folder) for w in use]
        else:
            words, stopped, name = use
            shutil.copytree(stopped, folder)
            words = [*words, "-o", folder, "--resume", "-q"]
        with open(os.path.join(folder, name), "wb") as f:
            f.write(changed)
        self.judge(f"{number}: {what}, {kind}{', forged' if forged else ''}:", self.run(words), name, forged)
        self.table[what, ("forged " if forged else "") + kind] += 1
        shutil.rmtree(folder)
        shutil.rmtree(folder + ".draws", ignore_errors=True)

    @staticmethod
    def same(data, changed):
        """Whether it is the same content: \\u00e4 may be written in two ways."""
        try:
            a, b = File(data), File(changed)
            return a.header == b.header and a.data == b.data
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            return False

    def judge(self, label, done, name, forged):
        said, out = done.stderr.decode("utf-8", "replace"), done.stdout.decode("utf-8", "replace")
        if done.returncode == 0:
            if not forged:
                self.breach(label, "used", said[-200:])
            elif NOT_A_NUMBER.search(out) and "warning: " not in said:
                self.breach(label, "prints what is no number", NOT_A_NUMBER.search(out).group())
        elif done.returncode != 1:
            self.breach(label, "exit code", done.returncode, said[-300:])
        elif name not in said and not (forged and ".safetensors" in said):  # of two files the other may be blamed
            self.breach(label, "does not name the file:", said[-300:])


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("waymark")
    parse.add_argument("--number", type=int, default=60)
    parse.add_argument("--seed", default="1")
    parse.add_argument("--jobs", type=int, default=2)
    args = parse.parse_args()
    with tempfile.TemporaryDirectory() as top:
        s = Sweep(os.path.abspath(args.waymark), top)
        s.prepare()
        with ThreadPoolExecutor(args.jobs) as pool:
            list(pool.map(lambda n: s.one(n, args.seed), range(args.number)))
    for (what, kind), n in sorted(s.table.items()) if args.number >= 500 else []:
        print(f"{what:16} {kind:24} {n}")
    forged = sum(n for (_, kind), n in s.table.items() if kind.startswith("forged"))
    print(f"{sum(s.table.values())} changed files ({forged} of them forged), {len(s.breaches)} breaches")
    sys.exit(bool(s.breaches))


main()
