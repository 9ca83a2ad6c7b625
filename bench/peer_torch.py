#!/usr/bin/python3
"""The peer: the same networks and steps in PyTorch, written as well as its user can.

A server for bench/run, like bench/ours.c: one command a line on stdin, one JSON object a line on stdout.

    setup NAME [VARIANT]   build the step; without VARIANT try all of them and keep the fastest
    step K                 run K steps: {"seconds": ...}
    score                  the loss or summed log-ratio after the last step: {"value": ...}
    load FILE              start from the parameters and rows that our side has saved (the separable networks)
    peak                   memory of this process: {"peak_kb": ..., "base_kb": ...}
    quit

VARIANT is LAYOUT/ADAM for the networks (nchw or nhwc, +trace through torch.jit, +compile through torch.compile; foreach, loop or, from 2.4 on, fused),
FORM/ADAM for the quadratic bridges, and FORM/ADAM/THREADS for the MLP (shared or folded, +trace or +compile).
Run with --threads N. The choices made here, and why, are in bench/README.md.
"""
import argparse
import gc
import json
import math
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

SLOPE = 0.3  # LeakyReLU of the paper's code
THREADS, CLOCK = 2, time.perf_counter  # --threads, --processor
LEARNING_RATE = 1e-7  # one fixed batch: a real rate would learn it by heart, and time denormal numbers


def memory_kb():
    """(peak, now) resident memory of this process in kB."""
    with open("/proc/self/status") as f:
        fields = dict(line.split(":", 1) for line in f)
    return int(fields["VmHWM"].split()[0]), int(fields["VmRSS"].split()[0])


class ScaleShift(nn.Module):
    """One scale and one shift for every bridge and hidden unit; rows are grouped by bridge."""

    def __init__(self, m, c, h, nhwc):
        super().__init__()
        unit = (m, 1, h, h, c) if nhwc else (m, 1, c, h, h)
        self.nhwc, self.m = nhwc, m
        self.scale = nn.Parameter(1 + 0.02 * torch.randn(unit))
        self.shift = nn.Parameter(torch.zeros(unit))

    def forward(self, x):  # (m * n, c, h, w), in either memory format
        n, c, h, w = x.shape
        if self.nhwc:
            rows = x.permute(0, 2, 3, 1).view(self.m, n // self.m, h, w, c)
            return torch.addcmul(self.shift, rows, self.scale).view(n, h, w, c).permute(0, 3, 1, 2)
        rows = x.view(self.m, n // self.m, c, h, w)
        return torch.addcmul(self.shift, rows, self.scale).view(n, c, h, w)


class Block(nn.Module):
    """act, 3x3, scale-shift, act, 3x3, scale-shift; plus shortcut; average 2x2 if down."""

    def __init__(self, m, ci, co, h, down, nhwc):
        super().__init__()
        self.conv1 = nn.Conv2d(ci, co, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(co, co, 3, padding=1, bias=False)
        self.ss1, self.ss2 = ScaleShift(m, co, h, nhwc), ScaleShift(m, co, h, nhwc)
        self.down = down
        self.shortcut = None
        if ci != co:
            self.shortcut = nn.Conv2d(ci, co, 1, bias=False)
            self.ss3 = ScaleShift(m, co, h, nhwc)

    def forward(self, x):
        h = self.ss1(self.conv1(F.leaky_relu(x, SLOPE)))
        # In place where autograd allows it: addcmul does not keep its result.
        h = self.ss2(self.conv2(F.leaky_relu_(h, SLOPE)))
        h += x if self.shortcut is None else self.ss3(self.shortcut(x))
        return F.avg_pool2d(h, 2, ceil_mode=True) if self.down else h


class CondResNet(nn.Module):
    """Stem, blocks, LeakyReLU, global sum, dense, scale-shift, LeakyReLU, quadratic head."""

    def __init__(self, m, window, stride, stem, blocks, dense, nhwc):
        super().__init__()
        self.m, self.nhwc = m, nhwc
        h = -(-28 // stride)
        # padding on both sides: for an even image the mirror image of TensorFlow's SAME, same work
        self.stem = nn.Conv2d(1, stem, window, stride=stride, padding=window // 2, bias=False)
        self.ss = ScaleShift(m, stem, h, nhwc)
        body, ci = [], stem
        for co, down in blocks:
            body.append(Block(m, ci, co, h, down, nhwc))
            ci, h = co, (h + 1) // 2 if down else h
        self.body = nn.Sequential(*body)
        self.dense = nn.Linear(ci, dense)
        self.scale = nn.Parameter(torch.ones(m, 1, dense))
        self.shift = nn.Parameter(torch.zeros(m, 1, dense))
        self.a = nn.Parameter(torch.zeros(m, dense, dense))
        self.w = nn.Parameter(torch.zeros(m, dense, 1))
        self.c = nn.Parameter(torch.zeros(m, 1))
        if nhwc:
            for conv in (c for c in self.modules() if isinstance(c, nn.Conv2d)):
                conv.to(memory_format=torch.channels_last)

    def forward(self, x):  # -> (m, rows): log-ratios
        h = self.body(self.ss(self.stem(x)))
        h = self.dense(F.leaky_relu(h, SLOPE).sum((2, 3)))
        h = torch.addcmul(self.shift, h.view(self.m, -1, h.shape[1]), self.scale)
        h = F.leaky_relu_(h, SLOPE)
        factor = torch.tril(self.a, -1) + torch.diag_embed(torch.exp(torch.diagonal(self.a, dim1=1, dim2=2) - 5))
        q = torch.bmm(h, factor)
        return -(q * q).sum(2) - torch.bmm(h, self.w).squeeze(2) - self.c


class MaxBlock(Block):
    """The same with the maximum of 2x2, of both paths, where it goes down."""

    def forward(self, x):
        h = self.ss1(self.conv1(F.leaky_relu(x, SLOPE)))
        h = self.ss2(self.conv2(F.leaky_relu_(h, SLOPE)))
        x = x if self.shortcut is None else self.ss3(self.shortcut(x))
        if not self.down:
            h += x
            return h
        h = F.max_pool2d(h, 2, ceil_mode=True)
        h += F.max_pool2d(x, 2, ceil_mode=True)
        return h


class OmniglotNet(nn.Module):
    """5x5 stride-3 stem, blocks, LeakyReLU, global sum, dense, scale-shift, LeakyReLU, for m bridges."""

    def __init__(self, m, n, width, nhwc):
        super().__init__()
        side = 28 * n
        h = -(-side // 3)
        before = ((h - 1) * 3 + 5 - side) // 2  # as TensorFlow's SAME: the odd cell stands after the image
        after = (h - 1) * 3 + 5 - side - before
        self.pad = None if before == after else (before, after, before, after)
        self.m = m
        self.stem = nn.Conv2d(1, width, 5, stride=3, padding=0 if self.pad else before, bias=False)
        self.ss = ScaleShift(m, width, h, nhwc)
        body, ci = [], width
        for co, down in omniglot_blocks(width):
            body.append(MaxBlock(m, ci, co, h, down, nhwc))
            ci, h = co, (h + 1) // 2 if down else h
        self.body = nn.Sequential(*body)
        self.dense = nn.Linear(ci, 300 * n)
        self.scale = nn.Parameter(torch.ones(m, 1, 300 * n))
        self.shift = nn.Parameter(torch.zeros(m, 1, 300 * n))

    def forward(self, x):  # (m * rows, 1, side, side) -> (m, rows, features)
        if self.pad:
            x = F.pad(x, self.pad)
        h = self.body(self.ss(self.stem(x)))
        h = self.dense(F.leaky_relu_(h, SLOPE).sum((2, 3)))
        h = torch.addcmul(self.shift, h.view(self.m, -1, h.shape[1]), self.scale)
        return F.leaky_relu_(h, SLOPE)


class Separable(nn.Module):
    """log r_k(u, v) = -(g(u)' W_k f_k(v) + c_k). A row of u serves numerator and denominator of every bridge."""

    def __init__(self, n, width, nhwc):
        super().__init__()
        m, e = n * n, 300 * n
        self.m, self.nhwc = m, nhwc
        self.g, self.f = OmniglotNet(1, n, width, nhwc), OmniglotNet(m, n, width, nhwc)
        self.w = nn.Parameter(0.005 * torch.randn(m, e, e))
        self.c = nn.Parameter(torch.zeros(m, 1))
        if nhwc:
            for conv in (c for c in self.modules() if isinstance(c, nn.Conv2d)):
                conv.to(memory_format=torch.channels_last)

    def forward(self, v, u):  # (m * 2 rows, ...), (rows, ...) -> (m, 2 rows)
        left = torch.matmul(self.g(u)[0], self.w)  # (m, rows, e): once for both halves
        f = self.f(v)
        f = f.view(self.m, 2, -1, f.shape[2])
        return -(f * left.unsqueeze(1)).sum(3).flatten(1) - self.c


def omniglot_blocks(width):
    return [(width, True), (width, False), (2 * width, True), (2 * width, False), (2 * width, True), (2 * width, False)]


def read_safetensors(path):
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        header, data = json.loads(f.read(size)), f.read()
    out = {}
    for name, t in header.items():
        if name != "__metadata__":
            lo, hi = t["data_offsets"]
            out[name] = torch.frombuffer(bytearray(data[lo:hi]), dtype=torch.float32).view(t["shape"])
    return out


def start_from(net, path):
    """The parameters of our side into a Separable network; its rows as (v, u). Every number must find its place."""
    t = read_safetensors(path)
    v, u = t.pop("x"), t.pop("u")

    def take(to, name, order=None):
        value = t.pop(name)
        value = value.permute(order) if order else value
        with torch.no_grad():
            to.copy_(value.reshape(to.shape))

    def take_ss(ss, name):
        for to, what in ((ss.scale, "/scale"), (ss.shift, "/shift")):
            take(to, name + what, None if ss.nhwc else (0, 3, 1, 2))

    for part, prefix in ((net.g, "separable/g/"), (net.f, "separable/f/")):
        take(part.stem.weight, prefix + "stem/w", (3, 2, 0, 1))
        take_ss(part.ss, prefix + "stem")
        for i, block in enumerate(part.body):
            at = "%sblock%d/" % (prefix, i + 1)
            layers = [("conv1", block.conv1, block.ss1), ("conv2", block.conv2, block.ss2)]
            layers += [] if block.shortcut is None else [("shortcut", block.shortcut, block.ss3)]
            for name, conv, ss in layers:
                take(conv.weight, at + name + "/w", (3, 2, 0, 1))
                take_ss(ss, at + name)
        take(part.dense.weight, prefix + "dense/w", (1, 0))
        take(part.dense.bias, prefix + "dense/b")
        take(part.scale, prefix + "dense/scale")
        take(part.shift, prefix + "dense/shift")
    take(net.w, "separable/head/w")
    take(net.c, "c")
    if t:
        raise ValueError("no place for " + ", ".join(t))
    side = math.isqrt(u.shape[1])
    return v.view(-1, 1, side, side), u.view(-1, 1, side, side)


class Quadratic(nn.Module):
    """log r_k(x) = -(x' Q_k x + c_k), Q_k symmetric with diagonal exp(a_ii - 5)."""

    def __init__(self, m, d, form):
        super().__init__()
        self.form = form
        self.a = nn.Parameter(torch.zeros(m, d, d))
        self.c = nn.Parameter(torch.zeros(m, 1))

    def forward(self, x):  # (m, rows, d)
        diagonal = torch.exp(torch.diagonal(self.a, dim1=1, dim2=2) - 5)
        lower = torch.tril(self.a, -1)
        if self.form == "full":  # Q as the paper's code builds it
            q = lower + lower.transpose(1, 2) + torch.diag_embed(diagonal)
            return -(torch.bmm(x, q) * x).sum(2) - self.c
        if self.form == "half":  # x'Qx = 2 x'Lx + x'Dx: Q is never built
            return -2 * (torch.bmm(x, lower) * x).sum(2) - torch.bmm(x * x, diagonal.unsqueeze(2)).squeeze(2) - self.c
        # "dot": the same, the diagonal inside the one product
        return -(torch.bmm(x, 2 * lower + torch.diag_embed(diagonal)) * x).sum(2) - self.c


class Conditional(nn.Module):
    """scale_k (x W + b) + shift_k on rows grouped by bridge, (m, rows, in) -> (m, rows, out)."""

    def __init__(self, m, ci, co, form):
        super().__init__()
        self.folded = form == "folded"
        self.linear = nn.Linear(ci, co)
        self.scale = nn.Parameter(torch.ones(m, 1, co))
        self.shift = nn.Parameter(torch.zeros(m, 1, co))

    def forward(self, x):
        if self.folded:  # a matrix for each bridge: all of the layer is one batched product
            w = self.linear.weight.t() * self.scale
            return torch.baddbmm(torch.addcmul(self.shift, self.scale, self.linear.bias), x, w)
        return torch.addcmul(self.shift, self.linear(x), self.scale)


class ConditionalMLP(nn.Module):
    """Dense, residual blocks of two layers, dense, quadratic head."""

    def __init__(self, m, d, width, blocks, form):
        super().__init__()
        self.first = Conditional(m, d, width, form)
        self.one = nn.ModuleList(Conditional(m, width, width, form) for _ in range(blocks))
        self.two = nn.ModuleList(Conditional(m, width, width, form) for _ in range(blocks))
        self.last = Conditional(m, width, width, form)
        self.a = nn.Parameter(torch.zeros(m, width, width))
        self.w = nn.Parameter(torch.zeros(m, width, 1))
        self.c = nn.Parameter(torch.zeros(m, 1))

    def forward(self, x):  # (m, rows, d) -> (m, rows)
        h = self.first(x)
        for one, two in zip(self.one, self.two):
            # In place where autograd allows it: addcmul does not keep its result.
            h = h + two(F.leaky_relu_(one(F.leaky_relu(h, SLOPE)), SLOPE))
        h = self.last(F.leaky_relu_(h, SLOPE))
        factor = torch.tril(self.a, -1) + torch.diag_embed(torch.exp(torch.diagonal(self.a, dim1=1, dim2=2) - 5))
        q = torch.bmm(h, factor)
        return -(q * q).sum(2) - torch.bmm(h, self.w).squeeze(2) - self.c


def actnorm(c):
    """(x + b) exp(s) of c channels: b and s."""
    return torch.nn.Parameter(torch.zeros(c)), torch.nn.Parameter(torch.zeros(c))


class EdgeConv(torch.nn.Module):
    """3x3 convolution that sees where the image ends. What does not depend on the rows, the channel that is 1 on the
    padding, the bias and the scale of each output channel, is worked into the weights and into a map added once."""

    def __init__(self, ci, co, h, deviation):
        super().__init__()
        self.w = torch.nn.Parameter(deviation * torch.randn(co, ci, 3, 3))
        self.pad = torch.nn.Parameter(deviation * torch.randn(co, 1, 3, 3))
        self.b, self.s = actnorm(co)
        self.register_buffer("edge", F.pad(torch.zeros(1, 1, h, h), (1, 1, 1, 1), value=1.0))

    def forward(self, x):
        scale = torch.exp(self.s).view(-1, 1, 1, 1)
        shift = (F.conv2d(self.edge, self.pad) + self.b.view(1, -1, 1, 1)) * torch.exp(self.s).view(1, -1, 1, 1)
        return F.conv2d(x, self.w * scale, padding=1).add_(shift)


class Coupling(torch.nn.Module):
    """Actnorm and a matrix as one 1x1 convolution, then splines of half the channels by a network of the others."""

    def __init__(self, c, h, hidden, bins, bound, dropout):
        super().__init__()
        self.bins, self.bound, self.dropout = bins, bound, dropout
        self.b, self.s = actnorm(c)
        q = torch.linalg.qr(torch.rand(c, c))[0]
        p, lower, upper = torch.linalg.lu(q)
        self.register_buffer("p", p)
        self.register_buffer("sign", torch.sign(torch.diagonal(upper)))
        self.lower, self.upper = torch.nn.Parameter(lower), torch.nn.Parameter(upper)
        self.log_diag = torch.nn.Parameter(torch.log(torch.abs(torch.diagonal(upper))))
        self.register_buffer("eye", torch.eye(c))
        self.first, self.last = EdgeConv(c // 2, hidden, h, 0.05), EdgeConv(hidden, c // 2 * (3 * bins - 1), h, 0.0)
        self.middle = torch.nn.Parameter(0.05 * torch.randn(hidden, hidden, 1, 1))
        self.b2, self.s2 = actnorm(hidden)

    def spline(self, x, raw):  # (n, c, h, w), (n, c * values, h, w)
        n, c, h, w = x.shape
        bins, bound = self.bins, self.bound
        raw = raw.view(n, c, 3 * bins - 1, h, w).permute(0, 1, 3, 4, 2)
        sizes = torch.softmax(torch.stack((raw[..., :bins], raw[..., bins:2 * bins])), -1)
        sizes = sizes * (2 * bound - bins * 1e-3) + 1e-3
        knots = F.pad(torch.cumsum(sizes, -1), (1, 0)) - bound
        slopes = F.pad(F.softplus(raw[..., 2 * bins:] + 0.5397424172369522) + 1e-3, (1, 1), value=1.0)
        held = x.clamp(-bound, bound)
        k = (held[..., None] >= knots[0, ..., 1:-1]).sum(-1, keepdim=True)
        width, height = sizes[0].gather(-1, k)[..., 0], sizes[1].gather(-1, k)[..., 0]
        left, low = knots[0].gather(-1, k)[..., 0], knots[1].gather(-1, k)[..., 0]
        d0, d1 = slopes.gather(-1, k)[..., 0], slopes.gather(-1, k + 1)[..., 0]
        s, xi = height / width, (held - left) / width
        t = xi * (1 - xi)
        below = s + (d0 + d1 - 2 * s) * t
        y = low + height * (s * xi * xi + d0 * t) / below
        log = torch.log(s * s * (d1 * xi * xi + 2 * s * t + d0 * (1 - xi) ** 2) / (below * below))
        inside = (x > -bound) & (x < bound)
        return torch.where(inside, y, x), torch.where(inside, log, torch.zeros_like(log)).flatten(1).sum(1)

    def forward(self, x):
        c, pixels = x.shape[1], x.shape[2] * x.shape[3]
        matrix = self.p @ (torch.tril(self.lower, -1) + self.eye) @ (
            torch.triu(self.upper, 1) + torch.diag(self.sign * torch.exp(self.log_diag)))
        matrix = torch.exp(self.s).view(-1, 1) * matrix
        x = F.conv2d(x, matrix.t().reshape(c, c, 1, 1), self.b @ matrix)
        a, b = x.chunk(2, 1)
        hidden = F.dropout(F.relu_(self.first(a)), self.dropout)
        scale = torch.exp(self.s2)
        hidden = F.conv2d(hidden, self.middle * scale.view(-1, 1, 1, 1), self.b2 * scale)
        hidden = F.dropout(F.relu_(hidden), self.dropout)
        b, log_det = self.spline(b, self.last(hidden))
        return torch.cat((a, b), 1), log_det + pixels * (self.s.sum() + self.log_diag.sum())


class ImageFlow(torch.nn.Module):
    """The paper's RQ-NSF on 28 x 28: levels of squeeze and couplings. Mean negative log-likelihood of the rows, but
    for a constant; the one matrix more at the end of a level, a part in a thousand of the time, is left out."""

    def __init__(self, levels, steps, hidden, bins, dropout):
        super().__init__()
        self.levels = torch.nn.ModuleList(
            torch.nn.ModuleList(Coupling(4 ** (i + 1), 28 >> (i + 1), hidden, bins, 3.0, dropout) for _ in range(steps))
            for i in range(levels))

    def forward(self, x):
        total = torch.zeros(x.shape[0])
        for level in self.levels:
            x = F.pixel_unshuffle(x, 2)
            for step in level:
                x, log_det = step(x)
                total = total + log_det
        return (0.5 * (x * x).flatten(1).sum(1) - total).mean()


def logistic_loss(s, n_num):
    """Mean over bridges of E_num softplus(-s) + E_den softplus(s)."""
    return F.softplus(-s[:, :n_num]).mean() + F.softplus(s[:, n_num:]).mean()


PAPER_BLOCKS = [(64, True), (64, False), (64, True), (64, False), (128, True), (128, False), (128, True), (128, False)]
LAPTOP_BLOCKS = [(32, False), (32, True), (64, False), (64, True), (64, False)]
NETWORKS = {  # m, rows a bridge, window, stride, stem, blocks, dense
    "train_mnist_paper": (10, 10, 3, 1, 64, PAPER_BLOCKS, 128),
    "inputgrad_mnist_paper": (10, 10, 3, 1, 64, PAPER_BLOCKS, 128),
    "train_laptop": (10, 32, 5, 2, 32, LAPTOP_BLOCKS, 128),
}
QUADRATIC = {"train_quadratic_320": (8, 226, 320)}  # m, rows a bridge, d
MLP = {"train_mlp_table": (4, 408, 10, 128, 2)}  # m, rows a bridge, d, width, blocks
OMNIGLOT = {"train_omniglot_1": (1, 64, 32), "train_omniglot_4": (2, 16, 32)}  # characters a side, pairs, width
FLOW = {"train_flow": (256, 2, 8, 64, 8, 0.1)}  # rows, levels, steps, hidden, bins, dropout


def release():
    """(2, 15) of 2.15.0"""
    return tuple(int(n) for n in torch.__version__.split(".")[:2])


# What a release has: torch.compile from 2.0 on, an Adam of one kernel for processors from 2.4 on.
COMPILES = release() >= (2, 0)
ADAMS = ["foreach", "fused"] if release() >= (2, 4) else ["foreach"]


def called(net, x, form):
    """net as the form says: as written, traced on the inputs x, or compiled."""
    if form.endswith("+trace"):
        return torch.jit.trace(net, x, check_trace=False)  # dropout differs from call to call
    if form.endswith("+compile"):
        torch._dynamo.reset()  # or it takes this network for a new shape of the one before, and gives up after eight
        return torch.compile(net)
    return net


def adam(net, how):
    """Adam with the constants c_k at ten times the rate."""
    body = [p for name, p in net.named_parameters() if name != "c"]
    groups = [{"params": body}, {"params": [net.c], "lr": 10 * LEARNING_RATE}]
    return torch.optim.Adam(groups, lr=LEARNING_RATE, **kernel(how))


def kernel(how):
    return {"fused": True} if how == "fused" else {"foreach": how == "foreach"}


def training(net, x, n_num, how, form=""):
    """x: what the network is called with, a tensor or several."""
    x = x if isinstance(x, tuple) else (x,)
    opt = adam(net, how)
    scores = called(net, x, form)

    def step():
        opt.zero_grad(set_to_none=True)
        loss = logistic_loss(scores(*x), n_num)
        loss.backward()
        opt.step()
        return loss

    return step


def flow_training(net, x, how, form):
    opt = torch.optim.Adam(net.parameters(), lr=LEARNING_RATE, **kernel(how))
    loss_of = called(net, x, form)

    def step():
        opt.zero_grad(set_to_none=True)
        loss = loss_of(x)
        loss.backward()
        opt.step()
        return loss

    return step


def input_gradient(net, x, form):
    net.requires_grad_(False)
    x.requires_grad_(True)
    scores = called(net, x, form)

    def step():
        total = scores(x).sum()
        torch.autograd.grad(total, x)
        return total

    return step


def variants(name):
    if name in QUADRATIC:
        return ["%s/%s" % (f, a) for f in ("full", "half", "dot") for a in ADAMS + ["loop"]]
    if name in MLP:  # small products: a second thread may cost more than it brings
        threads = sorted({1, THREADS})
        return ["%s/%s/%d" % (f, ADAMS[-1], t) for f in ("shared", "folded", "shared+trace", "folded+trace") for t in threads]
    layouts = ["nchw", "nhwc", "nchw+trace", "nhwc+trace"]
    if name.startswith("inputgrad"):
        return layouts
    return ["%s/%s" % (f, ADAMS[-1]) for f in layouts] + ["nchw/loop", "nhwc/loop"]


def compiled(eager):
    """The forms worth compiling, which takes a minute each: the fastest that was not, by the seconds of each, in every layout or way
    to write it that stands beside it."""
    best = min(eager, key=eager.get)
    form, slash, rest = best.partition("/")
    others = {v.partition("/")[0].partition("+")[0] for v in eager}
    return [f + "+compile" + slash + rest for f in sorted(others)] if COMPILES else []


def build_separable(name, form, how, start):
    side, pairs, width = OMNIGLOT[name]
    nhwc = form.startswith("nhwc")
    net = Separable(side, width, nhwc)
    shape = (1, 28 * side, 28 * side)
    v, u = torch.randn(2 * side * side * pairs, *shape), torch.randn(pairs, *shape)
    if start:
        v, u = start_from(net, start)
    if nhwc:
        v, u = (x.contiguous(memory_format=torch.channels_last) for x in (v, u))
    return training(net, (v, u), pairs, how, form)


def build(name, variant, start=None):
    """A function that takes one step and returns its scalar. start: a file of parameters and rows, or None."""
    torch.manual_seed(1)
    form, how, threads = (variant.split("/") + ["", ""])[:3]
    torch.set_num_threads(int(threads or THREADS))
    if name in MLP:
        m, rows, d, width, blocks = MLP[name]
        net = ConditionalMLP(m, d, width, blocks, form.partition("+")[0])
        return training(net, torch.randn(m, rows, d), rows // 2, how, form)
    if name in QUADRATIC:
        m, rows, d = QUADRATIC[name]
        return training(Quadratic(m, d, form.partition("+")[0]), torch.randn(m, rows, d), rows // 2, how, form)
    if name in OMNIGLOT:
        return build_separable(name, form, how, start)
    if name in FLOW:
        rows, levels, steps, hidden, bins, dropout = FLOW[name]
        x = torch.randn(rows, 1, 28, 28)
        if form.startswith("nhwc"):
            x = x.contiguous(memory_format=torch.channels_last)
        return flow_training(ImageFlow(levels, steps, hidden, bins, dropout), x, how, form)
    m, rows, window, stride, stem, blocks, dense = NETWORKS[name]
    nhwc = form.startswith("nhwc")
    net = CondResNet(m, window, stride, stem, blocks, dense, nhwc)
    x = torch.randn(m * rows, 1, 28, 28)
    if nhwc:
        x = x.contiguous(memory_format=torch.channels_last)
    if name.startswith("inputgrad"):
        return input_gradient(net, x, form)
    return training(net, x, rows // 2, how, form)


def timed(step, k):
    t = CLOCK()
    for _ in range(k):
        value = step()
    return CLOCK() - t, float(value)


def fastest(name):
    """Every variant a few times; (name of the best, its step, seconds a step of each)."""
    seconds = {}

    def measure(variant):
        step = build(name, variant)
        timed(step, 3)  # the second and third calls of a traced network still compile
        k = max(1, math.ceil(0.2 / timed(step, 1)[0]))
        seconds[variant] = min(timed(step, k)[0] / k for _ in range(4))
        del step
        gc.collect()

    for variant in variants(name):
        measure(variant)
    for variant in compiled(seconds):
        measure(variant)
    best = min(seconds, key=seconds.get)
    return best, build(name, best), seconds


def main():
    global THREADS
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--threads", type=int, default=THREADS)
    ap.add_argument("--processor", action="store_true", help="count processor seconds")
    args = ap.parse_args()
    THREADS, CLOCK = args.threads, time.process_time if args.processor else time.perf_counter
    torch.set_num_threads(THREADS)
    base_kb = memory_kb()[1]
    step, row, best, value = None, None, None, math.nan
    for line in sys.stdin:
        words = line.split()
        if not words:
            continue
        if words[0] == "quit":
            break
        if words[0] == "setup":
            step = None
            gc.collect()
            row = words[1]
            if len(words) > 2:
                best, pilot = words[2], {}
                step = build(row, best)
            else:
                best, step, pilot = fastest(row)
            out = {"variant": best, "pilot": pilot, "version": torch.__version__}
        elif words[0] == "variants":
            out = {"variants": variants(words[1]), "version": torch.__version__}
        elif words[0] == "load":
            step = None
            gc.collect()
            step = build(row, best, words[1])
            out = {}
        elif words[0] == "step":
            seconds, value = timed(step, int(words[1]))
            out = {"seconds": seconds}
        elif words[0] == "score":
            out = {"value": value}
        elif words[0] == "peak":
            out = {"peak_kb": memory_kb()[0], "base_kb": base_kb}
        else:
            out = {"error": "unknown command " + words[0]}
        print(json.dumps(out), flush=True)


if __name__ == "__main__":
    main()
