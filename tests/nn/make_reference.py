#!/usr/bin/python3
"""Reference values for tests/nn/test_networks.c, made by PyTorch in double precision.

    /usr/bin/python3 make_reference.py        writes reference/<case>.txt   (Debian's python3-torch)

The networks are written here a second time, from the paper and the authors' code, in PyTorch's own terms:
NCHW, explicit TensorFlow padding, pooling of each path before the sum, autograd. Nothing is taken from the C
code but the names of parameters and their axes. Parameters and inputs are not stored: both sides draw them
from one hash of (name, index), see draw(). A line of a file is

    name count stored sum norm value...

for the scores, the gradient of every parameter and of every input (of the loss sum_kj t_kj s_kj): the number of
entries, how many of them follow (all, or a sample whose places are drawn by the same hash), sum and norm of all.

LeakyReLU and the maximum have kinks, where the gradient jumps. Among millions of hidden units some lie so near to
one that single precision falls on the other side, and every gradient before them moves by 1e-3. So units within
MARGIN of a kink are pushed away by the shift of their ScaleShift; the pushes stand first in the file:

    + name count index amount index amount...
"""
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from named_numbers import hash32, uniform

torch.set_default_dtype(torch.float64)
torch.set_num_threads(2)

SLOPE = 0.3
MARGIN = 1e-4  # a single-precision forward pass is off by some 1e-5 at most


# ---- numbers that both sides can make ----

def draw(name, shape):
    """A parameter by its last name; magnitudes that keep activations near 1 and every term alive."""
    v = uniform(name, int(np.prod(shape))).reshape(shape)
    last = name.split("/")[-1]
    if last == "w" and len(shape) == 2:
        return v * np.sqrt(6 / (shape[0] + shape[1]))
    if last == "w" and len(shape) == 4:
        return v * np.sqrt(6 / (shape[0] * shape[1] * (shape[2] + shape[3])))
    if last == "w":
        return v / np.sqrt(shape[1])
    if last == "a":
        return v * 0.3 / np.sqrt(shape[1]) + 4 * np.eye(shape[1])
    if last in ("scale", "gamma"):
        return 1 + 0.2 * v
    if last in ("shift", "b"):
        return 0.2 * v
    if last in ("coef", "c"):
        return v
    raise ValueError(name)


def make_knots(columns, bases):
    """Increasing; the domain [knot 3, knot bases] is about [-1.5, 1.5]."""
    step = 3 / (bases - 3)
    v = uniform("knots", columns * (bases + 4)).reshape(columns, bases + 4)
    return -1.5 + step * (np.arange(bases + 4) - 3 + 0.3 * v)


class Table:
    """The parameters that a network asks for, and the kinks that it passed."""

    def __init__(self, pushes):
        self.entry, self.pushes, self.kinks = {}, pushes, []

    def __call__(self, name, *shape):
        assert name not in self.entry
        value = draw(name, shape)
        for index, amount in self.pushes.get(name, {}).items():
            value.ravel()[index] += amount
        self.entry[name] = torch.tensor(value, requires_grad=True)
        return self.entry[name]


# ---- layers: x is (m * n, c, h, w) or (m * n, c). x.owner is the shift that can move a unit of x; a unit is
# fed by x.cells x x.cells units of the owner. ----

def own(x, like, cells=None):
    x.owner, x.cells = like.owner, cells or like.cells
    return x


def act(p, x):
    p.kinks.append((x, x.detach(), x.cells))
    return torch.where(x > 0, x, SLOPE * x)


def scale_shift(p, name, x, m, per_channel=False):
    c, hw = x.shape[1], x.shape[2:]
    shape = (m, c) if per_channel or not hw else (m, *hw, c)
    s, b = p(name + "/scale", *shape), p(name + "/shift", *shape)
    if hw:
        if per_channel:
            s, b = s[:, None, None, :], b[:, None, None, :]
        s, b = s.permute(0, 3, 1, 2), b.permute(0, 3, 1, 2)
    y = x.reshape(m, -1, *x.shape[1:]) * s[:, None] + b[:, None]
    y = y.reshape(x.shape)
    y.owner, y.cells = name + "/shift", 1
    return y


def conv(p, name, x, window, width, stride=1):
    """SAME as in TensorFlow: the surplus of an odd total goes to bottom and right."""
    w = p(name + "/w", window, window, x.shape[1], width)
    pad = []
    for size in (x.shape[3], x.shape[2]):
        total = max((-(-size // stride) - 1) * stride + window - size, 0)
        pad += [total // 2, total - total // 2]
    return F.conv2d(F.pad(x, pad), w.permute(3, 2, 0, 1), stride=stride)


def pool(p, x, maximum):
    """2x2, odd sizes round up; the average is over cells of the image only."""
    n, c, h, w = x.shape
    pad = (0, w % 2, 0, h % 2)
    shape = (n, c, (h + 1) // 2, 2, (w + 1) // 2, 2)
    cells = F.pad(x, pad, value=-np.inf if maximum else 0.0).reshape(shape)
    if maximum:
        best = cells.amax((3, 5), keepdim=True)
        # The distance of a cell from the best of the others is a kink; the winner is the one to push.
        second = cells.masked_fill(cells == best, -np.inf).amax((3, 5), keepdim=True)
        lead = torch.where(cells == best, best - second, torch.inf).detach()
        lead = lead.reshape(n, c, shape[2] * 2, shape[4] * 2)[:, :, :h, :w]
        p.kinks.append((x, lead, x.cells))
        return own(best.squeeze(5).squeeze(3), x, 2 * x.cells)
    valid = F.pad(torch.ones(1, 1, h, w), pad).reshape(1, 1, *shape[2:])
    return own(cells.sum((3, 5)) / valid.sum((3, 5)), x, 2 * x.cells)


def dense(p, name, x, width):
    return x @ p(name + "/w", x.shape[1], width) + p(name + "/b", width)


def attention(p, x):
    n, c, h, w = x.shape
    cells = x.permute(0, 2, 3, 1).reshape(n * h * w, c)
    e = max(1, c // 8)
    f = dense(p, p.at + "attention/f", cells, e).reshape(n, h * w, e)
    g = dense(p, p.at + "attention/g", cells, e).reshape(n, h * w, e)
    v = dense(p, p.at + "attention/h", cells, c).reshape(n, h * w, c)
    o = torch.softmax(g @ f.transpose(1, 2), dim=2) @ v
    o = dense(p, p.at + "attention/out", o.reshape(n * h * w, c), c)
    o = p(p.at + "attention/gamma", 1) * o
    return own(x + o.reshape(n, h, w, c).permute(0, 3, 1, 2), x)


# ---- bodies ----

def cond_resnet(p, at, x, m, image, stem, blocks, width, attend=0, maximum=False,
                per_channel=False):
    """blocks: (channels, down, project)"""
    p.at = at
    h, w, c = image
    x = x.reshape(-1, h, w, c).permute(0, 3, 1, 2)
    x = scale_shift(p, at + "stem", conv(p, at + "stem", x, stem[0], stem[2], stem[1]), m,
                    per_channel)
    for i, (channels, down, project) in enumerate(blocks, 1):
        b = f"{at}block{i}/"
        y = scale_shift(p, b + "conv1", conv(p, b + "conv1", act(p, x), 3, channels), m, per_channel)
        y = scale_shift(p, b + "conv2", conv(p, b + "conv2", act(p, y), 3, channels), m, per_channel)
        if project or channels != x.shape[1]:
            x = scale_shift(p, b + "shortcut", conv(p, b + "shortcut", x, 1, channels), m,
                            per_channel)
        if down:
            x, y = pool(p, x, maximum), pool(p, y, maximum)
        x = own(y + x, y)
        if attend == i:
            x = attention(p, x)
    h = dense(p, at + "dense", act(p, x).sum((2, 3)), width)
    return act(p, scale_shift(p, at + "dense", h, m))


def cond_mlp(p, at, x, m, width, out, blocks, residual):
    def cond(name, h, size):
        return scale_shift(p, at + name, dense(p, at + name, h, size), m)

    if residual:
        h = cond("first", x, width)
        for i in range(1, blocks + 1):
            r = cond(f"block{i}/dense1", act(p, h), width)
            r = cond(f"block{i}/dense2", act(p, r), width)
            h = own(h + r, r)
        return cond("last", act(p, h), out)
    h = x
    for i in range(1, blocks + 1):
        h = act(p, cond(f"block{i}/dense", h, width))
    return cond("last", h, out)


# ---- energies: h (m, n, d) -> (m, n) ----

def quadratic(p, at, h, kind, linear):
    m, _, d = h.shape
    a = p(at + "a", m, d, d)
    lower = torch.tril(a, -1)
    diag = torch.diagonal(a, dim1=1, dim2=2)
    if kind == "psd":
        low = lower + torch.diag_embed(torch.exp(diag - 5))
        q = low @ low.transpose(1, 2)
    else:
        q = lower + lower.transpose(1, 2)
        q = q + torch.diag_embed(torch.exp(diag - 5) if kind == "symmetric" else diag)
    e = torch.einsum("mni,mij,mnj->mn", h, q, h)
    return e + linear_head(p, at, h) if linear else e


def linear_head(p, at, h):
    return (h @ p(at + "w", h.shape[0], h.shape[2], 1))[..., 0]


def additive(p, at, x, bases):
    """Cox and de Boor's recursion, columns held at the ends of the domain."""
    m, n, d = x.shape
    coef = p(at + "coef", m, d, bases)
    knots = torch.tensor(make_knots(d, bases))
    assert min((x - knots[:, i]).abs().min() for i in (3, bases)) > MARGIN
    x = torch.minimum(torch.maximum(x, knots[:, 3]), knots[:, bases])
    cell = (x.detach()[..., None] >= knots[:, 3:bases]).sum(3) + 2  # in 3 .. bases - 1
    b = [(cell == i).to(x.dtype) for i in range(bases + 3)]
    for k in range(1, 4):
        b = [(x - knots[:, i]) / (knots[:, i + k] - knots[:, i]) * b[i]
             + (knots[:, i + k + 1] - x) / (knots[:, i + k + 1] - knots[:, i + 1]) * b[i + 1]
             for i in range(bases + 3 - k)]
    return (torch.stack(b, 3) * coef[:, None]).sum((2, 3))


def by_bridge(h, m):
    return h.reshape(m, -1, h.shape[1])


# ---- cases: the models of test_networks.c; x is (m * n, dim), u (n_u, dim_u); -> energy (m, n) ----

def mnist(p, x, m, stem, blocks, width):
    h = cond_resnet(p, "resnet/", x, m, (28, 28, 1), (3, 1, stem), blocks, width, attend=1)
    return quadratic(p, "resnet/head/", by_bridge(h, m), "psd", True)


def mnist_blocks(a, b):
    return [(a, True, False), (a, False, False), (a, True, False), (a, False, False),
            (b, True, False), (b, False, False), (b, True, False), (b, False, False)]


def case_mnist_small(p, x, u, m):
    return mnist(p, x, m, 8, mnist_blocks(8, 16), 16)


def case_mnist_paper(p, x, u, m):
    return mnist(p, x, m, 64, mnist_blocks(64, 128), 128)


def case_channels(p, x, u, m):
    blocks = [(6, False, False), (6, True, False), (10, False, False), (10, True, True),
              (10, False, False)]
    h = cond_resnet(p, "resnet/", x, m, (15, 13, 2), (5, 2, 6), blocks, 8, per_channel=True)
    return quadratic(p, "resnet/head/", by_bridge(h, m), "free", False)


def case_omniglot(p, x, u, m):
    blocks = [(4, True, False), (4, False, False), (8, True, False), (8, False, False),
              (8, True, False), (8, False, False)]
    g = cond_resnet(p, "separable/g/", u, 1, (28, 28, 1), (5, 3, 4), blocks, 12, maximum=True)
    f = cond_resnet(p, "separable/f/", x, m, (28, 28, 1), (5, 3, 4), blocks, 12, maximum=True)
    f = by_bridge(f, m)
    g = g.repeat(f.shape[1] // g.shape[0], 1)
    return torch.einsum("ne,mef,mnf->mn", g, p("separable/head/w", m, 12, 12), f)


def case_mlp_residual(p, x, u, m):
    h = cond_mlp(p, "mlp/", x, m, 10, 6, 2, True)
    return quadratic(p, "mlp/head/", by_bridge(h, m), "psd", True)


def case_mlp_plain(p, x, u, m):
    return linear_head(p, "mlp/head/", by_bridge(cond_mlp(p, "mlp/", x, m, 10, 6, 2, False), m))


def case_sum(p, x, u, m):
    """Every term on vectors; independent bodies."""
    v = by_bridge(x, m)
    n = v.shape[1]
    uu = u.repeat(n // u.shape[0], 1)
    ux = torch.cat([uu.expand(m, n, uu.shape[1]), v], 2)
    e = linear_head(p, "linear/", ux)
    e = e + quadratic(p, "quadratic/", ux, "symmetric", True)
    e = e + additive(p, "additive/", ux, 7)
    h = torch.stack([cond_mlp(p, f"mlp/bridge{k}/", ux[k], 1, 5, 4, 1, True) for k in range(m)])
    e = e + quadratic(p, "mlp/head/", h, "psd", True)
    g = cond_mlp(p, "separable/g/", u, 1, 4, 3, 1, True).repeat(n // u.shape[0], 1)
    f = torch.stack([cond_mlp(p, f"separable/f/bridge{k}/", v[k], 1, 6, 5, 1, False)
                     for k in range(m)])
    return e + torch.einsum("ne,mef,mnf->mn", g, p("separable/head/w", m, 3, 5), f)


CASES = [  # name, bridges, rows for each, columns of x, rows and columns of u
    ("mnist_small", 3, 2, 784, 0, 0),
    ("mnist_paper", 10, 2, 784, 0, 0),
    ("channels", 2, 3, 390, 0, 0),
    ("omniglot", 2, 6, 784, 3, 784),
    ("mlp_residual", 3, 5, 7, 0, 0),
    ("mlp_plain", 3, 5, 7, 0, 0),
    ("sum", 7, 4, 3, 2, 2),
]


def record(out, name, value, most):
    v = value.detach().numpy().ravel()
    some = v if len(v) <= most else v[hash32(name + "?", most) % np.uint32(len(v))]
    numbers = " ".join(f"{t:.17g}" for t in (v.sum(), np.linalg.norm(v), *some))
    out.write(f"{name} {len(v)} {len(some)} {numbers}\n")


def push_from_kinks(p, pushes, step):
    """Adds to pushes for every unit that is too near to a kink; returns how many there were."""
    found, now = 0, {}
    for x, distance, cells in p.kinks:
        shift = p.entry[x.owner]
        m, n = shift.shape[0], x.shape[0] // shift.shape[0]
        for at in torch.nonzero(distance.abs() < MARGIN).tolist():
            amount = step if distance[tuple(at)] > 0 else -step
            k, c, place = at[0] // n, at[1], at[2:]
            if shift.dim() == 2:
                index = [k * shift.shape[1] + c]
            else:
                (height, width, channels) = shift.shape[1:]
                index = [((k * height + y) * width + z) * channels + c
                         for y in range(cells * place[0], min(cells * (place[0] + 1), height))
                         for z in range(cells * place[1], min(cells * (place[1] + 1), width))]
            for i in index:
                now.setdefault((x.owner, i), amount)  # once, where rows would push both ways
            found += 1
    for (name, i), amount in now.items():
        pushes.setdefault(name, {})[i] = pushes.get(name, {}).get(i, 0) + amount
    return found


def leaf(name, *shape):
    return torch.tensor(1.8 * uniform(name, int(np.prod(shape))).reshape(shape), requires_grad=True)


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference")
    for name, m, n, dim, rows_u, dim_u in CASES:
        pushes, found, step = {}, 1, 0
        while found:
            p = Table(pushes)
            x = leaf("x", m * n, dim)
            u = leaf("u", rows_u, dim_u) if dim_u else None
            scores = -(globals()["case_" + name](p, x, u, m) + p("c", m)[:, None])
            step += 2 * MARGIN
            found = push_from_kinks(p, pushes, step)
            print(name, found, "units near a kink")
        t = torch.tensor(uniform("t", m * n).reshape(m, n))
        (scores * t).sum().backward()
        with open(os.path.join(folder, name + ".txt"), "w") as out:
            for key, places in pushes.items():
                pairs = " ".join(f"{i} {amount:.9g}" for i, amount in sorted(places.items()))
                out.write(f"+ {key} {len(places)} {pairs}\n")
            record(out, "scores", scores, 64)
            record(out, "x", x.grad, 64)
            if dim_u:
                record(out, "u", u.grad, 64)
            for key, value in p.entry.items():
                record(out, key, value.grad, 16)


if __name__ == "__main__":
    main()
