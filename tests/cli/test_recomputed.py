"""test_recomputed.py WAYMARK: the numbers that a command prints or writes about a saved model, computed again from the saved
model by another command, and --resume on a run that is finished: the same bits. (Divergences of `ratio` and `mi`:
tests/study/test_recomputed.c; information of `embed fit`: tests/embed/test_embed.c.)"""
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import npy_files

WAYMARK = os.path.abspath(sys.argv[1])
SMALL = ["--bridges", 2, "--batch", 50, "--heads-iterations", 30, "--iterations", 90, "--bases", 6, "--width", 4, "--blocks", 1]
CHECK = ["--check-steps", 12, "--check-chains", 6]
WALK = ["--steps", 12, "--chains", 6]


def run(*words, code=0):
    done = subprocess.run([WAYMARK, *map(str, words)], cwd=FOLDER.name, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stdout


def summary(*words):
    return json.loads(run(*words, "--json", "-q"))


def path(name):
    return os.path.join(FOLDER.name, name)


def content(name):
    with open(path(name), "rb") as f:
        return f.read()


def without_seconds(node):
    if isinstance(node, dict):
        return {k: without_seconds(v) for k, v in node.items() if k not in ("seconds", "fit_seconds")}
    return [without_seconds(v) for v in node] if isinstance(node, list) else node


def mean(values):
    """As the library does it."""
    total = 0.0
    for x in values:
        total += x / len(values)
    return total


def column(values, j, width):
    return list(values)[j::width]


FOLDER = tempfile.TemporaryDirectory()


def make_files():
    rng = random.Random(3)

    def table(name, rows):
        npy_files.write(path(name), (len(rows), len(rows[0])), [float(x) for row in rows for x in row])

    for name, n in (("p", 240), ("new", 90)):
        table(f"{name}.npy", [[rng.gauss(0, 1) ** 2, rng.gauss(0, 1)] for _ in range(n)])
        table(f"bytes-{name}.npy", [[rng.randrange(8) for _ in range(4)] for _ in range(n)])
        with open(path(f"{name}.csv"), "w", encoding="utf-8") as f:
            f.write("size,colour,count,always\n")
            for _ in range(n):
                f.write(f"{rng.gauss(0, 1):.4f},{rng.choice('rgb')},{rng.randrange(40)},7\n")
    u = [[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in range(300)]
    table("u.npy", u)
    table("v.npy", [[x + rng.gauss(0, 1), y] for x, y in u])
    table("q.npy", [[rng.gauss(0.4, 1) ** 2, rng.gauss(0, 1)] for _ in range(240)])


class Ebm(unittest.TestCase):
    KINDS = {
        "gaussian": ["p.npy", "--valid", "new.npy"],
        "copula": ["p.npy", "--valid", "new.npy", "--noise", "copula", "--noise-iterations", 40, "--noise-bins", 8],
        "flow": ["p.npy", "--valid", "new.npy", "--noise", "flow", "--noise-iterations", 20, "--noise-hidden", 8, "--noise-steps",
                 2],
        "table": ["p.csv", "--valid", "new.csv"],
        "bytes": ["bytes-p.npy", "--valid", "bytes-new.npy", "--image", "2x2", "--dequantize", 8, "--logit", 0.01, "--model",
                  "additive+mlp"],
    }

    @classmethod
    def setUpClass(cls):
        cls.said = {kind: summary("ebm", *words, *SMALL, *CHECK, "-o", kind) for kind, words in cls.KINDS.items()}

    def test_what_ebm_says_is_what_loglik_says_of_its_model(self):
        for kind, words in self.KINDS.items():
            with self.subTest(kind):
                said = self.said[kind]
                again = summary("loglik", kind, words[2], "--method", "direct,ais", *WALK)
                for key in ("noise_loglik", "direct", "noise_loglik_bpd", "direct_bpd", "log_z", "log_z_se", "log_z_ess"):
                    self.assertEqual(said[key], again[key], key)
                best = self.best_line(kind)
                self.assertEqual([b["loss"] for b in best["bridges"]], [b["loss"] for b in said["bridges"]])
                self.assertEqual([b["mean_log_ratio"] for b in best["bridges"]], [b["mean_log_ratio"] for b in said["bridges"]])

    @staticmethod
    def best_line(folder):
        lines = [json.loads(line) for line in content(f"{folder}/metrics.jsonl").decode().splitlines()]
        return min((e for e in lines if e["stage"] == "bridges"), key=lambda e: e["valid_loss"])

    def test_bits_are_nats_by_log_2(self):
        nats = summary("loglik", "gaussian", "new.npy", "--method", "direct,ais", *WALK)
        bits = summary("loglik", "gaussian", "new.npy", "--method", "direct,ais", *WALK, "--bits")
        for key in ("noise_loglik", "direct", "log_z", "ais"):
            self.assertEqual(bits[key], nats[key] * (1 / math.log(2)), key)

    def test_a_run_that_was_stopped_says_what_its_model_is(self):
        words = ["ebm", *self.KINDS["gaussian"], *SMALL, *CHECK, "--iterations", 1000000, "-o", "stopped", "--time-limit", "0.5s"]
        said = summary(*words)
        again = summary("loglik", "stopped", "new.npy", "--method", "direct")
        self.assertEqual((said["noise_loglik"], said["direct"]), (again["noise_loglik"], again["direct"]))
        self.assertEqual(said["verdict"], "doubt")

    def test_loglik_is_the_mean_of_the_rows_that_it_writes(self):
        said = summary("loglik", "table", "new.csv", "--method", "direct,ais,raise", *WALK, "-o", "rows")
        _, values = npy_files.read(path("rows/log_q_and_phi.npy"))
        self.assertEqual(said["noise_loglik"], mean(column(values, 0, 2)))
        self.assertEqual(said["direct"], mean(column(values, 1, 2)))
        self.assertEqual(said["ais"], said["direct"] - said["log_z"])
        self.assertLess(abs(said["gap"] - (said["ais"] - said["raise"])), 1e-12)

    def test_draws_have_the_density_that_the_model_gives_them(self):
        """lp is of z, which a Gaussian noise maps linearly to x: the two differ by a constant, but for float's rounding."""
        run("sample", "gaussian", "-n", 12, "--chains", 4, *WALK[:2], "--warmup", 20, "-o", "draws", "-q")
        shape, x = npy_files.read(path("draws/draws.npy"))
        npy_files.write(path("drawn.npy"), (shape[0] * shape[1], shape[2]), x)
        run("loglik", "gaussian", "drawn.npy", "--method", "direct", "-o", "drawn", "-q")
        _, values = npy_files.read(path("drawn/log_q_and_phi.npy"))
        apart = [lp - phi for lp, phi in zip(npy_files.read(path("draws/lp.npy"))[1], column(values, 1, 2))]
        self.assertLess(max(apart) - min(apart), 1e-4)


class Ratio(unittest.TestCase):
    def test_apply_says_what_it_writes(self):
        for model in (["quadratic"], ["mlp", "--iterations", 40, "--folds", 2]):
            run("ratio", "p.npy", "q.npy", "--model", *model, "--bridges", 2, "-o", f"ratio-{model[0]}", "-q")
            said = summary("apply", f"ratio-{model[0]}", "q.npy", "-o", "y.npy")
            _, y = npy_files.read(path("y.npy"))
            self.assertEqual((said["min_log_ratio"], said["max_log_ratio"]), (min(y), max(y)))
            w = [math.exp(x) for x in y]
            near = {"mean_log_ratio": sum(y) / len(y), "log_mean": math.log(sum(w) / len(w)),
                    "ess": sum(w) ** 2 / sum(x * x for x in w), "max_share": max(w) / sum(w)}
            for key, want in near.items():
                self.assertLess(abs(said[key] - want), 1e-12 * (1 + abs(want)), key)
            text = run("apply", f"ratio-{model[0]}", "q.npy", "-q").split()
            self.assertEqual([float(x) for x in text], list(y))
            bits = summary("apply", f"ratio-{model[0]}", "q.npy", "-o", "y2.npy", "--bits")
            self.assertLess(abs(bits["mean_log_ratio"] - said["mean_log_ratio"] / math.log(2)), 1e-12)

    def test_plain_is_what_json_says(self):
        said = summary("mi", "u.npy", "v.npy", "--model", "quadratic", "--no-shuffled")
        rows = [npy_files.read(path(f"{side}.npy"))[1] for side in "uv"]
        npy_files.write(path("both.npy"), (300, 4), [x for i in range(300) for r in rows for x in r[2 * i:2 * i + 2]])
        self.assertEqual(run("mi", "--plain", "both.npy", 2, 2, "--model", "quadratic").strip(), f"{said['mi']:.6f}")


class Finished(unittest.TestCase):
    def test_resuming_what_is_finished_says_the_same(self):
        runs = {
            "f-ratio": ["ratio", "p.npy", "q.npy", "--model", "quadratic"],
            "f-network": ["ratio", "p.npy", "q.npy", "--model", "mlp", "--iterations", 40, "--folds", 2, "--bridges", 2],
            "f-mi": ["mi", "u.npy", "v.npy", "--model", "quadratic"],
            "f-ebm": ["ebm", "p.npy", *SMALL, *CHECK],
            "f-flow": ["ebm", *Ebm.KINDS["flow"], *SMALL, *CHECK],
            "f-loglik": ["loglik", "f-ebm", "new.npy", *WALK],
            "f-sample": ["sample", "f-ebm", "-n", 8, "--chains", 4, "--steps", 8],
            "f-embed": ["embed", "fit", "u.npy", "v.npy", "--iterations", 40, "--batch", 64, "--width", 4],
        }
        for folder, words in runs.items():
            with self.subTest(folder):
                said = summary(*words, "-o", folder)
                kept = {name: content(f"{folder}/{name}") for name in os.listdir(path(folder))
                        if name.endswith((".safetensors", ".npy", ".csv")) and not name.startswith(("state", "chains", "ais", "raise"))}
                lines = content(f"{folder}/metrics.jsonl").count(b"\n")
                again = summary(*words, "-o", folder, "--resume")
                self.assertEqual(without_seconds(again), without_seconds(said))
                self.assertEqual(without_seconds(json.loads(content(f"{folder}/summary.json"))), without_seconds(said))
                for name, bytes_ in kept.items():
                    self.assertEqual(content(f"{folder}/{name}"), bytes_, name)
                self.assertEqual(content(f"{folder}/metrics.jsonl").count(b"\n"), lines)

    def test_words_that_nobody_reads_lose_nothing(self):
        """Tables come before the model is saved, and standard output may be full, or a pipe that has closed."""
        for more in ([], ["--json"]):
            for sink in ("full", "pipe"):
                folder = f"w-{sink}{''.join(more)}"
                words = [WAYMARK, "ratio", "p.npy", "q.npy", "--model", "quadratic", "-o", folder, *more]
                if sink == "full":
                    with open("/dev/full", "w", encoding="utf-8") as out:
                        code = subprocess.run(words, cwd=FOLDER.name, stdout=out, stderr=subprocess.PIPE, timeout=300).returncode
                    self.assertEqual(code, 1)
                else:
                    reading, writing = os.pipe()
                    os.close(reading)
                    subprocess.run(words, cwd=FOLDER.name, stdout=writing, stderr=subprocess.PIPE, timeout=300)
                    os.close(writing)
                for name in ("model.safetensors", "summary.json", "report.html"):
                    self.assertTrue(os.path.exists(path(f"{folder}/{name}")), (folder, name))


if __name__ == "__main__":
    make_files()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
