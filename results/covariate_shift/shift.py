#!/usr/bin/env python3
"""shift.py [DESIGN [ROWS]]: regression under a planted covariate shift, with weights from Waymark, from a boosted classifier, with
the true ones and without.

beta: labels come with x uniform on [0, 1]^10; the error counts where three columns are Beta-distributed instead. normal: x is
standard normal, and three columns move and narrow. The regression is Friedman's first. Weights are made from x alone:
ROWS (2000) of each side. Learners that cannot be right everywhere (a straight line, a tree of 16 leaves) are those that weights
matter to. Needs scikit-learn and SciPy beside waymark. Writes DESIGN-ROWS.csv.
"""

import csv
import os
import sys
import time
import warnings

import numpy as np
from scipy.stats import beta, norm, uniform
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeRegressor

import waymark

UNIFORM, NORMAL = uniform(), norm()
MOVED = {"beta": {0: beta(2, 5), 2: beta(5, 2), 3: beta(1, 3)},  # columns whose distribution moves
         "normal": {0: norm(0.5, 0.8), 2: norm(-0.5, 0.8), 3: norm(0.5, 0.8)}}
BASE = {"beta": UNIFORM, "normal": NORMAL}
LEARNERS = {"line": lambda: LinearRegression(), "tree": lambda: DecisionTreeRegressor(max_leaf_nodes=16, random_state=0)}


def friedman(x, design, rng):
    u = BASE[design].cdf(x)
    return (10 * np.sin(np.pi * u[:, 0] * u[:, 1]) + 20 * (u[:, 2] - 0.5) ** 2 + 10 * u[:, 3] + 5 * u[:, 4]
            + rng.normal(size=len(x)))


def source_rows(n, design, rng):
    return BASE[design].rvs((n, 10), random_state=rng)


def target_rows(n, design, rng):
    x = source_rows(n, design, rng)
    for j, own in MOVED[design].items():
        x[:, j] = own.rvs(n, random_state=rng)
    return x


def boosted_weights(source, target):
    """Odds of a boosted classifier, each row by a fold that has not seen it."""
    x, y = np.vstack([source, target]), np.r_[np.zeros(len(source)), np.ones(len(target))]
    p = cross_val_predict(HistGradientBoostingClassifier(random_state=0), x, y, cv=5, method="predict_proba")[:, 1]
    odds = (p / (1 - p))[: len(source)]
    return odds / odds.mean()


def main():
    design = sys.argv[1] if len(sys.argv) > 1 else "beta"
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    rows = []
    for seed in range(1, 6):
        rng = np.random.default_rng(seed)
        source, target = source_rows(n, design, rng), target_rows(n, design, rng)
        y = friedman(source, design, rng)
        test = target_rows(20000, design, rng)
        y_test = friedman(test, design, rng)
        true = np.prod([own.pdf(source[:, j]) / BASE[design].pdf(source[:, j]) for j, own in MOVED[design].items()], axis=0)
        weights = {"none": (None, 0.0, ""), "true": (true / true.mean(), 0.0, "")}
        start = time.perf_counter()
        boosted = boosted_weights(source, target)
        weights["boosted"] = (boosted, time.perf_counter() - start, "")
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours, ratio = waymark.estimate_weights(source, target, on_reject="warn", verbose=False, return_ratio=True)
        weights["waymark"] = (ours, time.perf_counter() - start, ratio.result_.verdict)
        for name, (w, seconds, verdict) in weights.items():
            for learner, make in LEARNERS.items():
                error = np.mean((make().fit(source, y, sample_weight=w).predict(test) - y_test) ** 2)
                rows.append({"seed": seed, "weights": name, "learner": learner, "error": round(error, 4),
                             "correlation": "" if w is None else round(np.corrcoef(w, true)[0, 1], 4),
                             "verdict": verdict, "seconds": round(seconds, 2)})
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{design}-{n}.csv"), "w", newline="") as f:
        out = csv.DictWriter(f, rows[0])
        out.writeheader()
        out.writerows(rows)
    for learner in LEARNERS:
        for name in ("none", "boosted", "waymark", "true"):
            own = [r for r in rows if (r["learner"], r["weights"]) == (learner, name)]
            errors = [r["error"] for r in own]
            close = "" if name == "none" else f"  correlation with the true weights {np.mean([r['correlation'] for r in own]):.3f}"
            print(f"{learner}  {name:<8} test error {np.mean(errors):.3f} +- {np.std(errors, ddof=1) / 5**0.5:.3f}{close}  "
                  f"{np.mean([r['seconds'] for r in own]):.1f} s  {' '.join(r['verdict'] for r in own)}".rstrip())


if __name__ == "__main__":
    main()
