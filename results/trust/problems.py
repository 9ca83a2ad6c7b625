"""Two samples with a known KL(p, q), and pairs with a label of known mutual information.

PROBLEMS[name](rng, n) gives p, q and KL(p, q) in nats; inf where p has rows that q cannot have.
LABELS[name] has the means (k, d), standard deviations (k) and shares (k) of k classes of normal rows."""
from math import inf, log, pi, sqrt

import numpy as np
from scipy.special import betaln
from scipy.stats import t as student_t


def gaussians(d, kl):
    """Turned, with standard deviations of p that vary by a third, and means as far apart as kl wants."""
    def draw(rng, n):
        s = np.exp(.3 * rng.normal(size=d))
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        e = rng.normal(size=d)
        scales = .5 * np.sum(s ** 2 - 1 - 2 * np.log(s))
        shift = sqrt(max(2 * (kl - scales), 0)) * e / np.linalg.norm(e)
        p, q = rng.normal(size=(n, d)) * s + shift, rng.normal(size=(n, d))
        return p @ turn.T, q @ turn.T, scales + .5 * shift @ shift
    return draw


def near_gaussians(rng, n):
    """20 columns, 0.91 nats: all are shifted and wider."""
    m, s = np.full(20, .2), np.full(20, 1.1646)
    return (rng.normal(size=(n, 20)) * s + m, rng.normal(size=(n, 20)),
            .5 * np.sum(s ** 2 - 1 - 2 * np.log(s)) + .5 * m @ m)


def stretched(rng, n):
    """Standard deviations from 1 to 1000."""
    s = np.logspace(0, 3, 6)
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    m = np.array([1., 0, 0, 0, 0, 1])
    return (rng.normal(size=(n, 6)) + m) * s @ turn.T, rng.normal(size=(n, 6)) * s @ turn.T, 1.


def mixtures(rng, n):
    """Two clusters each, in the plane."""
    of = np.array([[[0, 0], [3., 1]], [[7., 0], [5, 6]]])

    def draw(k, n, g):
        return of[k][g.integers(0, 2, n)] + .8 * g.normal(size=(n, 2))

    def log_density(x, k):
        each = -((x[:, None] - of[k]) ** 2).sum(2) / 2 / .64
        return np.logaddexp(each[:, 0], each[:, 1])
    many = draw(0, 1000000, np.random.default_rng(0))
    return draw(0, n, rng), draw(1, n, rng), float((log_density(many, 0) - log_density(many, 1)).mean())


def banana(rng, n):
    z = rng.normal(size=(n, 2))
    return np.c_[z[:, 0], z[:, 1] + 2 * z[:, 0] ** 2], rng.normal(size=(n, 2)), 6.  # E[(2 z^2)^2] / 2


def students(shift):
    def draw(rng, n):
        many = np.random.default_rng(0).standard_t(3, 1000000)
        kl = 5 * float((student_t.logpdf(many, 3) - student_t.logpdf(many - shift, 3)).mean())
        return rng.standard_t(3, (n, 5)), rng.standard_t(3, (n, 5)) + shift, kl
    return draw


def uniform_beta(rng, n):
    return rng.random((n, 1)), rng.beta(2, 5, (n, 1)), float(betaln(2, 5)) + 5


def uniforms(rng, n):
    return 1.1 * rng.random((n, 1)), rng.random((n, 1)), inf


def squares(rng, n):
    return rng.random((n, 2)), rng.random((n, 2)) + 1.2, inf


def disc_and_ring(rng, n):
    a, b = 2 * pi * rng.random(n), 2 * pi * rng.random(n)
    r, s = np.sqrt(rng.random(n)), np.sqrt(1.5 + 2.5 * rng.random(n))
    return np.c_[r * np.cos(a), r * np.sin(a)], np.c_[s * np.cos(b), s * np.sin(b)], inf


def exponentials(d, rate):
    """Waiting times, of q with a higher rate."""
    def draw(rng, n):
        return rng.exponential(1, (n, d)), rng.exponential(1 / rate, (n, d)), d * (rate - 1 - log(rate))
    return draw


def lognormals(rng, n):
    return np.exp(rng.normal(size=(n, 3))), np.exp(.5 + 1.2 * rng.normal(size=(n, 3))), 3 * (log(1.2) + 1.25 / 2.88 - .5)


def cauchys(rng, n):
    return rng.standard_cauchy((n, 1)), rng.standard_cauchy((n, 1)) + 2, log(2)


def student_normal(rng, n):
    """Most of the divergence comes from where q has no rows."""
    x = np.linspace(-3000, 3000, 6000001)
    log_p, log_q = student_t.logpdf(x, 3), -x * x / 4.5 - log(1.5 * sqrt(2 * pi))
    return rng.standard_t(3, (n, 1)), 1.5 * rng.normal(size=(n, 1)), float(np.trapezoid(np.exp(log_p) * (log_p - log_q), x))


def three_signs(rng, n):
    """Any two columns are those of q: the product of the three is positive in nine rows of ten."""
    x = rng.normal(size=(n, 3))
    x[(x.prod(1) < 0) & (rng.random(n) < .8), 0] *= -1
    return x, rng.normal(size=(n, 3)), .9 * log(1.8) + .1 * log(.2)


PROBLEMS = {"gaussians 20 nats": gaussians(5, 20), "near gaussians": near_gaussians, "60 columns": gaussians(60, 5),
            "stretched": stretched, "mixtures": mixtures, "banana": banana, "student far": students(4),
            "student near": students(1), "uniform/beta": uniform_beta, "uniform/uniform": uniforms,
            "squares": squares, "disc/ring": disc_and_ring,
            "exponentials": exponentials(1, 2), "exponentials, 5 columns": exponentials(5, 1.5), "lognormals": lognormals,
            "cauchy": cauchys, "student/normal": student_normal, "three signs": three_signs}

LABELS = {"3 classes, 1 column": (np.array([[-1.], [0], [1.5]]), np.ones(3), np.ones(3) / 3),
          "2 classes, 2 columns": (np.array([[0, 0], [1., 1]]), np.ones(2), np.array([.7, .3])),
          "2 scales, 3 columns": (np.zeros((2, 3)), np.array([1, 2.]), np.ones(2) / 2),
          "4 classes, 5 columns": (2 * np.eye(5)[:4], np.ones(4), np.ones(4) / 4),
          "nothing": (np.zeros((3, 2)), np.ones(3), np.ones(3) / 3)}


def draw_label(name, rng, n):
    means, sd, share = LABELS[name]
    c = rng.choice(len(share), n, p=share)
    return means[c] + sd[c][:, None] * rng.normal(size=(n, means.shape[1])), c


def label_truth(name, n=400000):
    means, sd, share = LABELS[name]
    x, c = draw_label(name, np.random.default_rng(0), n)
    each = np.stack([-.5 * ((x - m) ** 2).sum(1) / s / s - len(m) * log(s) for m, s in zip(means, sd)], 1)
    return float((each[np.arange(n), c] - np.log((np.exp(each) * share).sum(1))).mean())
