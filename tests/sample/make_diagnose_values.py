"""Makes diagnose_values.h: R-hat, effective sample sizes, errors of the mean and BFMI by ArviZ 0.23.4
(pip install arviz==0.23.4), of draws that the test makes by the same recursion.

  python3 make_diagnose_values.py > diagnose_values.h
"""
import warnings

import numpy as np

warnings.simplefilter("ignore")
import arviz as az  # noqa: E402


def noise(seed, n):
    """Irwin-Hall noise from a linear congruential generator: sums of four uniforms, exact in double."""
    s, out = seed, np.empty(n)
    for i in range(n):
        u = 0.0
        for _ in range(4):
            s = (s * 6364136223846793005 + 1442695040888963407) % 2**64
            u += (s >> 40) / 2.0**24
        out[i] = u - 2.0
    return out


def chains(phi, scale, shift, n_chains, n, seed):
    """x[t] = phi x[t-1] + scale noise, chain c moved by c shift."""
    x = np.empty((n_chains, n))
    for c in range(n_chains):
        e = noise(seed + 1000 * c, n)
        v = 0.0
        for t in range(n):
            v = phi * v + scale * e[t]
            x[c, t] = v + c * shift
    return x


CASES = [  # name, phi, scale, shift, chains, draws, seed
    ("white", 0.0, 1.0, 0.0, 4, 500, 1),
    ("slow", 0.95, 1.0, 0.0, 4, 501, 2),
    ("antithetic", -0.6, 1.0, 0.0, 4, 400, 3),
    ("apart", 0.3, 1.0, 0.5, 3, 301, 4),
    ("short", 0.5, 1.0, 0.0, 2, 7, 5),
    ("least", 0.2, 1.0, 0.0, 2, 4, 6),
    ("stuck", 0.999, 0.01, 0.2, 2, 250, 7),
]

print("/* clang-format off */\n/* Made by make_diagnose_values.py with ArviZ %s. Do not edit. */" % az.__version__)
print("static const struct {\n    const char *name;\n    double phi, scale, shift;\n    int64_t chains, draws;\n"
      "    uint64_t seed;\n    double mean, sd, rhat, ess_bulk, ess_tail, mcse_mean;\n    double bfmi[4];\n} stored[] = {")
for name, phi, scale, shift, m, n, seed in CASES:
    x = chains(phi, scale, shift, m, n, seed)
    bfmi = list(az.bfmi(x)) + [0.0] * (4 - m)
    print('    {"%s", %r, %r, %r, %d, %d, %d, %r, %r, %r, %r, %r, %r, {%s}},' % (
        name, phi, scale, shift, m, n, seed, float(x.mean()), float(x.std(ddof=1)), float(az.rhat(x)), float(az.ess(x, method="bulk")),
        float(az.ess(x, method="tail")), float(az.mcse(x, method="mean")), ", ".join(repr(float(b)) for b in bfmi)))
print("};")
