#!/usr/bin/python3
"""Makes adam_values.h: parameters, m and v after steps of Adam in numpy, written from the formulas of
TensorFlow's documentation of tf.train.AdamOptimizer ("epsilon hat" form) in another arrangement than
src/optim/adam_tmpl.h: m = b1 m + (1 - b1) g, and the step from m and v as they stand.
The gradients are those of sum_i (i + 1) cos(x_i + 0.3 i) / 2 + 0.01 x_i: they change sign and scale.
Elements 4 and 5 are a group at 10 times the rate. Usage: make_adam_values.py > adam_values.h"""
import numpy as np

n, steps, lr, b1, b2, eps = 7, 25, 0.05, 0.9, 0.999, 1e-8
i = np.arange(n)
rate = np.where((i == 4) | (i == 5), 10.0, 1.0) * lr


def gradient(x):
    return -(i + 1) * np.sin(x + 0.3 * i) / 2 + 0.01


x, m, v = 0.1 * (i + 1), np.zeros(n), np.zeros(n)
rows = []
for t in range(1, steps + 1):
    g = gradient(x)
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g**2
    x = x - rate * np.sqrt(1 - b2**t) / (1 - b1**t) * m / (np.sqrt(v) + eps)
    if t in (1, 2, steps):
        rows.append((t, x, m, v))

print("/* clang-format off */")
print("/* Made by make_adam_values.py. Do not edit. */")
print(f"enum {{ STORED_N = {n}, STORED_STEPS = {steps} }};")
print("static const struct {\n    int t;\n    double x[STORED_N], m[STORED_N], v[STORED_N];\n} stored[] = {")
for t, *vectors in rows:
    body = ",\n     ".join("{" + ", ".join(repr(float(e)) for e in w) + "}" for w in vectors)
    print(f"    {{{t},\n     {body}}},")
print("};")
