#!/usr/bin/python3
"""Reference values for tests/noise/test_flow_reference.c, made by PyTorch in double precision.

    /usr/bin/python3 make_flow_reference.py        writes reference/flow_*.txt   (Debian's python3-torch)

The flows are written here a second time, from the papers (Durkan et al. 2019, Kingma and Dhariwal 2018) and the
facts of the authors' code, in PyTorch's own terms: NCHW, the padding channel really appended, actnorm, matrix and
activation each a layer, the spline by searchsorted and gather, gradients by autograd. Nothing is taken from the C
code but the names of parameters and their axes. Parameters and inputs are not stored: both sides draw them from one
hash of (name, index), see draw(). A line of a file is

    name count sum norm value value ...

for z, log_det and the gradients of the loss sum t z + sum log_det, of x and of every trained parameter: the number of
entries, sum and norm of all, and the first KEPT of them.
"""
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from named_numbers import uniform

torch.set_default_dtype(torch.float64)
KEPT = 12


# ---- numbers that both sides can make ----

def draw(name, shape):
    """A parameter by its last name; magnitudes that keep activations near 1 and every term alive."""
    v = uniform(name, int(np.prod(shape))).reshape(shape)
    last = name.split("/")[-1]
    if last == "order":
        return (3.0 * np.arange(shape[0]) + 1) % shape[0]
    if last == "sign":
        return np.where(v < 0, -1.0, 1.0)
    if last == "lu":
        return v * np.sqrt(0.5 / shape[0])
    if last == "w":
        return v * np.sqrt(3 / np.prod(shape[:-1]))
    return 0.3 * v


class Parameters:
    def __init__(self):
        self.made = {}

    def __call__(self, name, *shape):
        if name not in self.made:
            trained = name.split("/")[-1] not in ("order", "sign")
            self.made[name] = torch.tensor(draw(name, shape), requires_grad=trained)
        return self.made[name]


# ---- the flow ----

def spline(x, raw, bins, bound):
    """x (...), raw (..., 3 bins - 1): y and log dy/dx."""
    def sizes(r):
        return torch.softmax(r, -1) * (2 * bound - bins * 1e-3) + 1e-3

    width, height = sizes(raw[..., :bins]), sizes(raw[..., bins:2 * bins])
    left = torch.cat([torch.zeros_like(width[..., :1]), torch.cumsum(width, -1)], -1) - bound
    low = torch.cat([torch.zeros_like(height[..., :1]), torch.cumsum(height, -1)], -1) - bound
    slope = F.softplus(raw[..., 2 * bins:] + np.log(np.exp(0.999) - 1)) + 1e-3
    one = torch.ones_like(slope[..., :1])
    slope = torch.cat([one, slope, one], -1)
    inside = (x > -bound) & (x < bound)
    held = torch.where(inside, x, torch.zeros_like(x))
    k = (torch.searchsorted(left.detach(), held.detach()[..., None].contiguous(), right=True) - 1).clamp(0, bins - 1)

    def at(v, i):
        return torch.gather(v, -1, i)[..., 0]

    w, h, d0, d1 = at(width, k), at(height, k), at(slope, k), at(slope, k + 1)
    s, xi = h / w, (held - at(left, k)) / w
    t = xi * (1 - xi)
    below = s + (d1 + d0 - 2 * s) * t
    y = at(low, k) + h * (s * xi**2 + d0 * t) / below
    log = torch.log(s**2 * (d1 * xi**2 + 2 * s * t + d0 * (1 - xi)**2) / below**2)
    return torch.where(inside, y, x), torch.where(inside, log, torch.zeros_like(x))


def matrix(p, name, c):
    lu, order = p(name + "/lu", c, c), p(name + "/order", c).long()
    lower = torch.tril(lu, -1) + torch.eye(c)
    upper = torch.triu(lu, 1) + torch.diag(p(name + "/sign", c) * torch.exp(p(name + "/log_diag", c)))
    return (lower @ upper)[order]


def actnorm(p, name, x):
    """Over axis 1."""
    shape = (1, -1) + (1,) * (x.dim() - 2)
    c = x.shape[1]
    return (x + p(name + "/b", c).reshape(shape)) * torch.exp(p(name + "/s", c)).reshape(shape)


def edge_conv(p, name, x, width):
    n, c, h, w = x.shape
    edge = F.pad(torch.zeros(n, 1, h, w), (1, 1, 1, 1), value=1.0)
    kernel = torch.cat([p(name + "/w", 3, 3, c, width), p(name + "/pad", 3, 3, width)[:, :, None]], 2)
    return F.conv2d(torch.cat([F.pad(x, (1, 1, 1, 1)), edge], 1), kernel.permute(3, 2, 0, 1))


def image_network(p, at, x, out, hidden):
    x = F.relu(actnorm(p, at + "/norm1", edge_conv(p, at + "/conv1", x, hidden)))
    x = torch.einsum("nchw,cd->ndhw", x, p(at + "/conv2/w", hidden, hidden))
    x = F.relu(actnorm(p, at + "/norm2", x))
    x = edge_conv(p, at + "/conv3", x, out) + p(at + "/bias", out).reshape(1, -1, 1, 1)
    return x * torch.exp(p(at + "/logs", out)).reshape(1, -1, 1, 1)


def squeeze(x):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).permute(0, 1, 3, 5, 2, 4).reshape(n, 4 * c, h // 2, w // 2)


def unsqueeze(x):
    n, c, h, w = x.shape
    return x.reshape(n, c // 4, 2, 2, h, w).permute(0, 1, 4, 2, 5, 3).reshape(n, c // 4, 2 * h, 2 * w)


def image_flow(p, x, levels, steps, hidden, bins, bound):
    """x (n, h, w, c), as the rows of the C code lie."""
    n, shape = x.shape[0], x.shape
    x = x.permute(0, 3, 1, 2)
    total = torch.zeros(n)

    def mix(name, x):
        c, pixels = x.shape[1], x.shape[2] * x.shape[3]
        return torch.einsum("nchw,cd->ndhw", x, matrix(p, name, c)), pixels * p(name + "/log_diag", c).sum()

    for level in range(levels):
        x = squeeze(x)
        for step in range(steps):
            at = f"q/level{level + 1}/step{step + 1}"
            c, pixels = x.shape[1], x.shape[2] * x.shape[3]
            x = actnorm(p, at + "/mix/norm", x)
            total = total + pixels * p(at + "/mix/norm/s", c).sum()
            x, log_det = mix(at + "/mix", x)
            total = total + log_det
            a, b = x[:, :c // 2], x[:, c // 2:]
            raw = image_network(p, at, a, c // 2 * (3 * bins - 1), hidden)
            raw = raw.reshape(n, c // 2, 3 * bins - 1, *raw.shape[2:]).permute(0, 1, 3, 4, 2)
            b, log_slope = spline(b, raw, bins, bound)
            total = total + log_slope.sum((1, 2, 3))
            x = torch.cat([a, b], 1)
        x, log_det = mix(f"q/level{level + 1}/step{steps}/last", x)
        total = total + log_det
    for _ in range(levels):
        x = unsqueeze(x)
    return x.permute(0, 2, 3, 1).reshape(n, int(np.prod(shape[1:]))), total


def table_network(p, at, x, out, hidden):
    def dense(name, x, width):
        return x @ p(f"{at}/{name}/w", x.shape[1], width) + p(f"{at}/{name}/b", width)

    x = dense("first", x, hidden)
    for block in (1, 2):
        h = dense(f"block{block}/dense1", F.relu(x), hidden)
        x = x + dense(f"block{block}/dense2", F.relu(h), hidden)
    return dense("last", F.relu(x), out)


def table_flow(p, x, steps, hidden, bins, bound):
    n, d = x.shape
    half, values, total = d // 2, 3 * bins - 1, torch.zeros(n)
    for step in range(steps):
        at = f"q/step{step + 1}"
        x = actnorm(p, at + "/mix/norm", x) @ matrix(p, at + "/mix", d)
        total = total + p(at + "/mix/norm/s", d).sum() + p(at + "/mix/log_diag", d).sum()
        a, b = x[:, :half], x[:, half:]
        if step % 2:
            a, b = b, a
        raw = table_network(p, at, a, b.shape[1] * values, hidden)
        b, log_slope = spline(b, raw.reshape(n, b.shape[1], values), bins, bound)
        total = total + log_slope.sum(1)
        x = torch.cat([b, a] if step % 2 else [a, b], 1)
    return x, total


# ---- files ----

def write(name, rows, dim, run):
    p = Parameters()
    x = torch.tensor(3 * uniform("x", rows * dim).reshape(rows, dim), requires_grad=True)
    t = torch.tensor(uniform("t", rows * dim).reshape(rows, dim))
    z, log_det = run(p, x)
    ((t * z).sum() + log_det.sum()).backward()
    found = {"z": z, "log_det": log_det, "x": x.grad}
    found.update((k, v.grad) for k, v in p.made.items() if v.requires_grad)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference", name + ".txt")
    with open(path, "w") as out:
        for key, value in found.items():
            v = value.detach().numpy().ravel()
            numbers = [v.sum(), np.sqrt((v**2).sum()), *v[:KEPT]]
            out.write(f"{key} {v.size} " + " ".join(f"{a:.17g}" for a in numbers) + "\n")


if __name__ == "__main__":
    write("flow_image", 3, 32, lambda p, x: image_flow(p, x.reshape(3, 8, 4, 1), 2, 2, 5, 4, 3.0))
    write("flow_table", 5, 5, lambda p, x: table_flow(p, x, 3, 8, 5, 3.0))
