"""The four estimators: right answers, scikit-learn's manners, pickles and files."""

import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np

import waymark
from waymark import datasets

QUICK = {"model": "quadratic", "folds": 2, "n_jobs": 1}


class Ratio(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.p, cls.q, cls.truth = datasets.load("normals", n=1500, kl=3)
        cls.ratio = waymark.DensityRatio(**QUICK).fit(cls.p, cls.q)

    def test_finds_what_is_known(self):
        kl = self.ratio.result_.kl_pq
        self.assertLess(abs(kl.value - self.truth["kl_pq"]), 6 * kl.se + 0.05)
        true = datasets.log_ratio("normals", self.p, kl=3)
        self.assertLess(np.abs(self.ratio.log_ratio(self.p) - true).mean(), 0.5)
        self.assertEqual(self.ratio.result_.verdict, "trust")

    def test_same_seed_same_bits_and_threads_do_not_matter(self):
        again = waymark.DensityRatio(**{**QUICK, "n_jobs": 2}).fit(self.p, self.q)
        np.testing.assert_array_equal(again.log_ratio(self.q), self.ratio.log_ratio(self.q))

    def test_rows_of_the_fit_are_judged_by_others(self):
        self.assertEqual(self.ratio.log_ratios_p_.shape, (1500,))
        self.assertGreater(np.abs(self.ratio.log_ratios_p_ - self.ratio.log_ratio(self.p)).max(), 1e-6)

    def test_weights(self):
        w = self.ratio.weights(self.q)
        self.assertAlmostEqual(w.mean(), 1)
        self.assertAlmostEqual(self.ratio.weights(self.q, scale="sum").sum(), 1)
        self.assertLess(self.ratio.weights(self.q, alpha=0.5, scale="ratio").max(), 2)
        log_r = self.ratio.log_ratio(self.q)
        np.testing.assert_allclose(w, np.exp(log_r) / np.exp(log_r).mean())

    def test_score_is_a_lower_bound_that_prefers_the_better(self):
        good = self.ratio.score(*datasets.load("normals", n=4000, kl=3, stream="test")[:2])
        poor = waymark.DensityRatio(**{**QUICK, "model": "linear"}, on_doubt="ignore", on_reject="ignore").fit(
            self.p, self.q).score(*datasets.load("normals", n=4000, kl=3, stream="test")[:2])
        self.assertLess(good, self.truth["kl_pq"] + 0.5)
        self.assertGreater(good, poor)

    def test_pickle_and_file(self):
        log_r = self.ratio.log_ratio(self.q)
        copy = pickle.loads(pickle.dumps(self.ratio))
        np.testing.assert_array_equal(copy.log_ratio(self.q), log_r)
        self.assertEqual(copy.result_.to_dict(), self.ratio.result_.to_dict())
        self.assertEqual(copy.get_params(), self.ratio.get_params())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.safetensors")
            self.ratio.save(path)
            for place in (path, folder):  # a file, or a run folder
                np.testing.assert_array_equal(waymark.load(place).log_ratio(self.q), log_r)

    def test_result(self):
        result = self.ratio.result_
        self.assertIn("KL(p, q) = ", repr(result))
        self.assertIn("Verdict: trust.", repr(result))
        page = result._repr_html_()
        self.assertIn("trust", page)
        self.assertEqual(page.count("<table>"), page.count("</table>"))
        d = result.to_dict()
        self.assertEqual(d["kl_pq_ci95"], [result.kl_pq.lo, result.kl_pq.hi])
        self.assertTrue(all(c["ok"] in (True, False, None) for c in d["checks"]))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.html")
            result.report(path)
            with open(path, encoding="utf-8") as f:
                page = f.read()
            self.assertIn(f"{result.kl_pq.value:.2f}", page)
            self.assertIn("Log-ratios at rows that no fit has seen", page)  # a figure, or its numbers
            pickle.loads(pickle.dumps(result)).report(path)  # has no model any more, so no figures
        with self.assertRaisesRegex(AttributeError, "no 'nonsense'"):
            result.nonsense

    def test_params(self):
        r = waymark.DensityRatio(bridges=4)
        self.assertEqual(repr(r), "DensityRatio(bridges=4)")
        self.assertIs(r.set_params(bridges=2), r)
        self.assertEqual(r.get_params()["bridges"], 2)
        with self.assertRaisesRegex(ValueError, "Invalid parameter 'wrong'"):
            r.set_params(wrong=1)

    def test_estimate_weights_speak_for_the_target(self):
        target, source, _ = datasets.load("shift", n=3000, mean_p=0.5, mean_q=0)
        w = waymark.estimate_weights(source, target, model="quadratic", n_jobs=1)
        self.assertEqual(w.shape, (3000,))
        self.assertAlmostEqual(np.average(source[:, 0], weights=w), 0.5, delta=0.1)
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, n) for n in ("s.npy", "t.npy")]
            for path, x in zip(paths, (source, target)):
                np.save(path, x)
            same = waymark.estimate_weights(*paths, model="quadratic", n_jobs=1)
        np.testing.assert_allclose(same, w)
        source[5] = np.nan
        with self.assertRaisesRegex(ValueError, "rows of source were left out"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            waymark.estimate_weights(source, target, model="quadratic", n_jobs=1, missing="drop")

    def test_row_weights_count(self):
        twice = np.ones(len(self.p))
        same = waymark.DensityRatio(**QUICK).fit(self.p, self.q, p_weight=twice)
        self.assertAlmostEqual(same.result_.kl_pq.value, self.ratio.result_.kl_pq.value, delta=0.01)
        half = np.where(self.p[:, 0] > np.median(self.p[:, 0]), 1.0, 0.0)
        other = waymark.DensityRatio(**QUICK, on_doubt="ignore", on_reject="ignore").fit(self.p, self.q, p_weight=half)
        self.assertGreater(abs(other.result_.kl_pq.value - same.result_.kl_pq.value), 0.1)


class Others(unittest.TestCase):
    def test_mutual_information(self):
        u, v, truth = datasets.load("gaussian", n=2000)
        mi = waymark.MutualInformation("quadratic", n_jobs=1).fit(u, v)
        self.assertLess(abs(mi.mi_.value - truth["mi"]), 6 * mi.mi_.se)
        self.assertEqual(mi.log_ratio(u, v).shape, (2000,))
        self.assertAlmostEqual(mi.score(u, v), truth["mi"], delta=0.5)
        copy = pickle.loads(pickle.dumps(mi))
        np.testing.assert_array_equal(copy.log_ratio(u, v), mi.log_ratio(u, v))

    def test_energy_model(self):
        x = np.random.default_rng(3).normal(size=(600, 2)) * [1, 3] + [0, 5]
        model = waymark.EnergyModel(model="quadratic", bridges=2, iterations=100, head_iterations=100, n_jobs=1).fit(x)
        true = (-0.5 * ((x - [0, 5]) / [1, 3]) ** 2).sum(axis=1) - np.log(2 * np.pi * 3)
        self.assertLess(abs(model.score(x) - true.mean()), 0.3)
        self.assertGreater(np.corrcoef(model.score_samples(x), true)[0, 1], 0.9)
        drawn = model.sample(100, random_state=2, steps=20)
        self.assertEqual(drawn.shape, (100, 2))
        self.assertLess(np.abs(drawn.mean(axis=0) - [0, 5]).max(), 1.5)  # five standard errors
        np.testing.assert_array_equal(drawn, model.sample(100, random_state=2, steps=20))
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.score_samples(x), model.score_samples(x))
        chains = model.draw(2, 10, steps=20, warmup=20)
        self.assertEqual(chains.x.shape, (2, 10, 2))
        self.assertEqual(chains.diverging.shape, (2, 10))
        z = model.log_normaliser(chains=20, steps=40)
        self.assertLess(abs(z.log_z), 1)
        self.assertRegex(repr(z).splitlines()[0], r"^log Z = -?\d\.\d{4} nats, standard error \d\.\d{4}$")
        self.assertNotIn("bridge", repr(z))

    def test_embedding(self):
        u, v, _ = datasets.load("gaussian", n=1200)
        quick = dict(features=8, iterations=150, n_jobs=1, on_doubt="ignore", on_reject="ignore")
        e = waymark.Embedding(**quick).fit(u, v)
        g = e.transform(u)
        self.assertEqual((g.shape, g.dtype), ((1200, 8), np.float32))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(e)).transform(u), g)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "e.safetensors")
            e.save(path)
            np.testing.assert_array_equal(waymark.load(path).transform(u), g)

    def test_a_density_of_python(self):
        sd = np.array([1.0, 4.0])

        def normal(x):
            return -0.5 * ((x / sd) ** 2).sum(axis=1), -x / sd**2

        drawn = waymark.sample(normal, np.zeros((4, 2)), draws=400, warmup=300)
        np.testing.assert_allclose(drawn.sd, sd, rtol=0.25)
        self.assertLess(drawn.rhat.max(), 1.1)
        self.assertIn("4 chains of 400 draws", repr(drawn))


class Command(unittest.TestCase):
    def test_module_is_the_command(self):
        p, q, _ = datasets.load("normals", n=300, kl=2)
        with tempfile.TemporaryDirectory() as folder:
            for name, x in (("a", p), ("b", q)):
                np.savetxt(os.path.join(folder, name + ".csv"), x, delimiter=",", header="x,y,z", comments="")
            done = subprocess.run([sys.executable, "-m", "waymark", "ratio", "a.csv", "b.csv", "--json", "-q"], cwd=folder,
                                  capture_output=True, text=True, check=True)
            paths = [os.path.join(folder, n + ".csv") for n in "ab"]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", waymark.DoubtWarning)
                ours = waymark.DensityRatio(on_reject="warn").fit(*paths).result_
            self.assertAlmostEqual(json.loads(done.stdout)["kl_pq"], ours.kl_pq.value, places=9)
            wrong = subprocess.run([sys.executable, "-m", "waymark", "nonsense"], capture_output=True, text=True)
            self.assertEqual(wrong.returncode, 2)


if __name__ == "__main__":
    unittest.main()
