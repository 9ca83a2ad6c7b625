#!/usr/bin/python3
"""Reference values for tests/embed/test_linear_probe.c: multinomial logistic regression with a ridge, minimised
by Newton's method on PyTorch's second derivatives in double precision.

    /usr/bin/python3 make_probe_values.py > probe_values.h      (Debian's python3-torch)

The penalty is on the weights of standardised features; the weights are given for the features as they are. A
common shift of all classes' biases changes nothing: they are made to sum to 0."""
import numpy as np
import torch

N, DIM, CLASSES, RIDGE = 30, 3, 4, 0.05
torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(6)
# Features of unequal location and scale, as float; labels that depend on them, with noise.
x = (rng.normal(size=(N, DIM)) * [1, 20, 0.1] + [0, 5, -3]).astype(np.float32)
z = (x.astype(float) - x.astype(float).mean(0)) / x.astype(float).std(0)
y = np.argmax(z @ rng.normal(size=(DIM, CLASSES)) + rng.gumbel(size=(N, CLASSES)), 1)

zt, yt = torch.tensor(z), torch.tensor(y)


def loss(theta):
    w, b = theta[:DIM * CLASSES].reshape(DIM, CLASSES), theta[DIM * CLASSES:]
    return torch.nn.functional.cross_entropy(zt @ w + b, yt) + RIDGE / 2 * (w * w).sum()


theta = torch.zeros((DIM + 1) * CLASSES)
for _ in range(50):
    g = torch.autograd.functional.jacobian(loss, theta)
    h = torch.autograd.functional.hessian(loss, theta)
    theta = theta - torch.linalg.pinv(h) @ g
assert g.abs().max() < 1e-13
w = theta[:DIM * CLASSES].reshape(DIM, CLASSES).numpy() / x.astype(float).std(0)[:, None]
b = theta[DIM * CLASSES:].numpy() - x.astype(float).mean(0) @ w
b -= b.mean()


def array(kind, name, values, digits):
    text = ", ".join(digits % v for v in values)
    print(f"static const {kind} {name}[] = {{{text}}};")


print("/* probe_values.h - made by make_probe_values.py. */")
print("/* clang-format off */")
print(f"enum {{ REF_N = {N}, REF_DIM = {DIM}, REF_CLASSES = {CLASSES} }};")
print(f"static const double REF_RIDGE = {RIDGE}, REF_LOSS = {loss(theta).item():.17g};")
array("double", "ref_x", x.reshape(-1), "%.9g")  # nine digits give the float back
array("int32_t", "ref_y", y, "%d")
array("double", "ref_w", w.reshape(-1), "%.15g")
array("double", "ref_b", b, "%.15g")
print("/* clang-format on */")
