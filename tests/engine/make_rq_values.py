#!/usr/bin/python3
"""Reference values for tests/engine/test_rq_spline.c, made by PyTorch in double precision.

    /usr/bin/python3 make_rq_values.py > rq_values.h        (Debian's python3-torch)

The spline is written from Durkan et al. 2019, equations 4 and 5: quotients of slopes as they stand there, derivatives
by autograd, the inverse by bisection of the forward function. Nothing is taken from the C code but the order of
the free numbers and the floors, which are those of the paper's code.
"""
import math

import numpy as np
import torch

torch.set_default_dtype(torch.float64)
BINS, COLUMNS, ROWS, BOUND, FLOOR = 5, 4, 14, 3.0, 1e-3


def knots_of(raw):
    """(columns, 3K - 1) -> positions x and y, slopes, each (columns, K + 1)."""
    spread = 2 * BOUND - BINS * FLOOR
    out = []
    for part in (raw[:, :BINS], raw[:, BINS:2 * BINS]):
        sizes = torch.softmax(part, 1) * spread + FLOOR
        edge = torch.full((len(raw), 1), -BOUND)
        out.append(torch.cat([edge, -BOUND + torch.cumsum(sizes, 1)], 1))
    inner = torch.nn.functional.softplus(raw[:, 2 * BINS:] + math.log(math.exp(1 - FLOOR) - 1)) + FLOOR
    one = torch.ones(len(raw), 1)
    return out[0], out[1], torch.cat([one, inner, one], 1)


def spline(x, knots):
    """One column: x (n)."""
    xs, ys, slopes = knots
    k = torch.clamp(torch.searchsorted(xs, x.detach(), right=True) - 1, 0, BINS - 1)
    s = (ys[k + 1] - ys[k]) / (xs[k + 1] - xs[k])
    xi = (x - xs[k]) / (xs[k + 1] - xs[k])
    num = (ys[k + 1] - ys[k]) * (s * xi ** 2 + slopes[k] * xi * (1 - xi))
    den = s + (slopes[k + 1] + slopes[k] - 2 * s) * xi * (1 - xi)
    return torch.where((x < -BOUND) | (x > BOUND), x, ys[k] + num / den)


def inverse(y, knots):
    low, high = torch.full_like(y, -BOUND), torch.full_like(y, BOUND)
    for _ in range(80):
        mid = (low + high) / 2
        up = spline(mid, knots) < y
        low, high = torch.where(up, mid, low), torch.where(up, high, mid)
    return torch.where((y < -BOUND) | (y > BOUND), y, (low + high) / 2)


def show(name, array):
    a = np.asarray(array).ravel()
    lines = ["    " + ", ".join(f"{v:.17g}" for v in a[i:i + 4]) + "," for i in range(0, len(a), 4)]
    print(f"static const double {name}[{len(a)}] = {{\n" + "\n".join(lines) + "\n};")


rng = np.random.default_rng(5)
raw = torch.tensor(np.round(1.5 * rng.standard_normal((COLUMNS, 3 * BINS - 1)), 3))
raw[0] = 0
x = torch.tensor(np.round(2.2 * rng.standard_normal((ROWS, COLUMNS)), 3))
x[0], x[1], x[2], x[3] = -3.0, 3.0, -3.001, 250.0
xs, ys, ds = knots_of(raw)
y, l, yi, li = (torch.empty(ROWS, COLUMNS) for _ in range(4))
for c in range(COLUMNS):
    at = (xs[c], ys[c], ds[c])
    v = x[:, c].clone().requires_grad_()
    out = spline(v, at)
    y[:, c] = out.detach()
    l[:, c] = torch.log(torch.autograd.grad(out.sum(), v)[0])
    v = inverse(x[:, c], at).requires_grad_()
    yi[:, c] = v.detach()
    li[:, c] = -torch.log(torch.autograd.grad(spline(v, at).sum(), v)[0])
print("""/* clang-format off */
/* rq_values.h - made by make_rq_values.py, do not edit. */
#ifndef WM_TESTS_RQ_VALUES_H
#define WM_TESTS_RQ_VALUES_H
""")
print(f"enum {{ RQ_BINS = {BINS}, RQ_COLUMNS = {COLUMNS}, RQ_ROWS = {ROWS} }};")
show("rq_raw", raw)
show("rq_knots", torch.cat([xs, ys, ds], 1))
show("rq_x", x)
show("rq_y", y)
show("rq_log_slope", l)
show("rq_inverse", yi)
show("rq_inverse_log_slope", li)
print("\n#endif")
