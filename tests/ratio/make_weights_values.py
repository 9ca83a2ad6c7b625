#!/usr/bin/python3
"""Makes weights_values.h: Pareto-smoothed weights in numpy, written from Zhang and Stephens (2009), and Vehtari
et al. (2024), section 2 and appendix, with weights as such where src/check/pareto.c has logarithms: theta
on its own scale, all likelihoods kept, no running sums. Usage: make_weights_values.py > weights_values.h"""
import numpy as np

n = 400
i = np.arange(1, n + 1)
even = np.modf(i * 0.6180339887498949)[0]  # evenly spread in (0, 1), in no order
other = np.modf(i * 0.4142135623730951)[0]
inputs = {
    "heavy": -0.8 * np.log1p(-even),                                # Pareto, k = 0.8
    "light": np.log(0.05 + even),                                   # bounded: k below 0
    "lognormal": 4 * (even + other + np.modf(i * 0.7320508)[0] - 1.5),
    "shifted": 300 - 2.5 * np.log1p(-even),                         # k = 2.5
}


def fit(x):
    """k and sigma of excesses x, ascending."""
    m = len(x)
    grid = 30 + int(np.sqrt(m))
    j = np.arange(1, grid + 1)
    quartile = x[int(m / 4 + 0.5) - 1]
    theta = 1 / x[-1] + (1 - np.sqrt(grid / (j - 0.5))) / (3 * quartile)
    k = np.array([np.mean(np.log(1 - t * x)) for t in theta])
    loglik = m * (np.log(-theta / k) - k - 1)
    weight = np.array([1 / np.sum(np.exp(loglik - one)) for one in loglik])
    t = np.sum(theta * weight) / np.sum(weight)
    k = np.mean(np.log(1 - t * x))
    return (m * k + 5) / (m + 10), -k / t


def smooth(l):
    top = l.max()
    w = np.exp(l - top)
    m = int(np.ceil(min(0.2 * n, 3 * np.sqrt(n))))
    order = np.argsort(w)
    tail, cutoff = order[-m:], w[order[-m - 1]]
    k, sigma = fit(w[tail] - cutoff)
    p = (np.arange(1, m + 1) - 0.5) / m
    w[tail] = np.minimum(cutoff + sigma / k * ((1 - p) ** -k - 1), 1)
    return w / w.mean(), k, np.log(sigma) + top


print("/* clang-format off */")
print("/* Made by make_weights_values.py. Do not edit. */")
print(f"enum {{ STORED_N = {n} }};")
print("static const struct {\n    const char *name;\n    double k, log_sigma, log_mean, ess_ratio, ess, max_share;")
print("    double weight[20]; /* of the first rows, mean one */\n} stored[] = {")
for name, l in inputs.items():
    w, k, log_sigma = smooth(l)
    r = np.exp(l - l.max())
    numbers = [k, log_sigma, np.log(r.mean()) + l.max(), r.sum() ** 2 / (r**2).sum(), w.sum() ** 2 / (w**2).sum(),
               w.max() / w.sum()]
    print(f'    {{"{name}", ' + ", ".join(repr(float(x)) for x in numbers) + ",")
    print("     {" + ", ".join(repr(float(x)) for x in w[:20]) + "}},")
print("};")
