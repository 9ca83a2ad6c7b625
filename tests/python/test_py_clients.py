"""Tools of others on our estimators: scikit-learn, ArviZ, safetensors. Each skips, with a word, where it is not installed."""

import os
import tempfile
import unittest
import warnings

import numpy as np

import waymark
from waymark import datasets

try:
    import sklearn
except ImportError:
    sklearn = None
try:
    import arviz
except ImportError:
    arviz = None
try:
    import safetensors.numpy
except ImportError:
    safetensors = None

QUICK = dict(bridges=2, iterations=20, head_iterations=20, n_jobs=1, on_reject="ignore")


@unittest.skipUnless(sklearn, "scikit-learn is not installed")
class ScikitLearn(unittest.TestCase):
    def test_clone(self):
        from sklearn.base import clone

        for e in (waymark.DensityRatio(bridges=3), waymark.MutualInformation(compare=True),
                  waymark.EnergyModel("copula"), waymark.Embedding(16)):
            self.assertEqual(clone(e).get_params(), e.get_params())

    def test_check_estimator(self):
        from sklearn.utils.estimator_checks import check_estimator

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = check_estimator(waymark.EnergyModel(**QUICK), on_fail=None)
        bad = [f"{r['check_name']}: {r['exception']!r}" for r in found if r["status"] == "failed"]
        self.assertEqual(bad, [])

    def test_pipeline_and_search(self):
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        x = np.random.default_rng(1).normal(size=(200, 2)) * [1, 100]
        line = make_pipeline(StandardScaler(), waymark.EnergyModel(**QUICK)).fit(x)
        self.assertTrue(np.isfinite(line.score(x)))
        search = GridSearchCV(waymark.EnergyModel(**QUICK), {"bridges": [1, 2]}, cv=2).fit(x)
        self.assertIn(search.best_params_["bridges"], (1, 2))

    def test_not_fitted_is_theirs(self):
        from sklearn.exceptions import NotFittedError

        with self.assertRaises(NotFittedError):
            waymark.DensityRatio().log_ratio(np.zeros((2, 2)))

    def test_sample_weight(self):
        from sklearn.linear_model import LinearRegression

        rng = np.random.default_rng(1)
        source, target = rng.normal(0, 1, (2000, 1)), rng.normal(1, 0.7, (2000, 1))
        y = np.exp(source[:, 0])
        w = waymark.estimate_weights(source, target, model="quadratic", n_jobs=1)
        error = [np.mean((LinearRegression().fit(source, y, sample_weight=s).predict(target)
                          - np.exp(target[:, 0])) ** 2) for s in (None, w)]
        self.assertLess(error[1], error[0])


@unittest.skipUnless(arviz, "ArviZ is not installed")
class ArviZ(unittest.TestCase):
    def test_draws(self):
        drawn = waymark.sample(lambda x: (-0.5 * (x**2).sum(axis=1), -x), np.zeros((4, 2)), draws=200, warmup=200)
        data = drawn.to_arviz()
        self.assertEqual(data.posterior["x0"].shape, (4, 200))
        self.assertEqual(data.sample_stats["diverging"].shape, (4, 200))


@unittest.skipUnless(safetensors, "safetensors is not installed")
class Safetensors(unittest.TestCase):
    def test_models_open(self):
        p, q, _ = datasets.load("normals", n=200, kl=1)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.safetensors")
            waymark.DensityRatio("quadratic", folds=2, n_jobs=1).fit(p, q).save(path)
            self.assertIn("alphas", safetensors.numpy.load_file(path))


if __name__ == "__main__":
    unittest.main()
