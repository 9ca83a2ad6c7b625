"""Tools of others on our estimators: scikit-learn, ArviZ, safetensors, pandas, TensorBoard, bmi. Each skips, with a word, where it is not
installed, or does not load beside the other packages that are there."""

import importlib
import json
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np

import waymark
from waymark import datasets

COMMAND = os.environ.get("WAYMARK_COMMAND")


def optional(name):
    """The module, or None. A package may be there and fail otherwise than by ImportError: ArviZ beside a newer matplotlib."""
    try:
        return importlib.import_module(name)
    except Exception:
        return None


sklearn, arviz, pandas = optional("sklearn"), optional("arviz"), optional("pandas")
safetensors_numpy = optional("safetensors.numpy")
events = optional("tensorboard.backend.event_processing.event_accumulator")

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
            check_estimator(waymark.EnergyModel(**QUICK))

    def test_pipeline_and_search(self):
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        x = np.random.default_rng(1).normal(size=(200, 2)) * [1, 100]
        line = make_pipeline(StandardScaler(), waymark.EnergyModel(**QUICK)).fit(x)
        self.assertTrue(np.isfinite(line.score(x)))
        search = GridSearchCV(waymark.EnergyModel(**QUICK), {"bridges": [1, 2]}, cv=2).fit(x)
        self.assertIn(search.best_params_["bridges"], (1, 2))

    def test_pairs_in_pipeline_and_search(self):
        from sklearn.model_selection import GridSearchCV, cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        u, v, truth = datasets.load("gaussian", n=1000)
        quiet = dict(n_jobs=1, on_doubt="ignore", on_reject="ignore")
        mi = waymark.MutualInformation(folds=2, **quiet)
        search = GridSearchCV(mi, {"model": ["linear", "quadratic"]}, cv=2).fit(u, v)
        self.assertEqual(search.best_params_, {"model": "quadratic"})  # a linear ratio of pairs is no ratio at all
        self.assertTrue((cross_val_score(search.best_estimator_, u, v, cv=2) > truth["mi"] / 2).all())
        line = make_pipeline(StandardScaler(), waymark.Embedding(features=4, iterations=50, **quiet)).fit(u, v)
        self.assertEqual(line.transform(u).shape, (1000, 4))

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


@unittest.skipUnless(arviz, "ArviZ is not installed, or does not load")
class ArviZ(unittest.TestCase):
    def test_draws(self):
        drawn = waymark.sample(lambda x: (-0.5 * (x**2).sum(axis=1), -x), np.zeros((4, 2)), draws=200, warmup=200)
        data = drawn.to_arviz()
        self.assertEqual(data.posterior["x0"].shape, (4, 200))
        self.assertEqual(data.sample_stats["diverging"].shape, (4, 200))

    @unittest.skipUnless(optional("matplotlib"), "matplotlib is not installed")
    def test_plots_with_divergences(self):
        """A wall that NUTS runs into: energies beyond it are not finite, so transitions diverge."""
        import matplotlib

        matplotlib.use("Agg")

        def cut(x):
            inside = np.abs(x).max(axis=1) < 1.5
            return np.where(inside, -0.5 * (x**2).sum(axis=1), -np.inf), -x

        drawn = waymark.sample(cut, np.zeros((2, 2)), draws=100, warmup=100)
        self.assertEqual(drawn.diverging.dtype, bool)
        self.assertGreater(drawn.diverging.sum(), 0)
        data = drawn.to_arviz()
        arviz.plot_trace(data)
        axes = np.ravel(arviz.plot_pair(data, divergences=True))
        shown = sum(len(line.get_xdata()) for ax in axes if ax for line in ax.lines)
        self.assertGreaterEqual(shown, drawn.diverging.sum())


TYPED = """
import numpy as np
import waymark
from waymark import DensityRatio, EnergyModel, Embedding, MutualInformation, datasets, estimate_weights, load, sample

p, q, truth = datasets.load("normals", n=500, kl=2)
r = DensityRatio("quadratic", bridges=2, random_state=np.random.default_rng(1)).fit(p, q)
kl: float = r.result_.kl_pq.value + truth["kl_pq"]
words: str = r.result_.verdict
w: np.ndarray = estimate_weights(p, q)
pair: tuple[np.ndarray, DensityRatio] = estimate_weights(p, q, return_ratio=True)
interval: waymark.Estimate = MutualInformation().fit(p, q).mi_
draws: waymark.Draws = EnergyModel("copula").fit(p).draw(chains=2)
g: np.ndarray = Embedding(features=4).fit(p, q).transform(p)
wrong: int = r.result_.verdict  # an error
DensityRatio(bridgez=3)  # an error
"""


@unittest.skipUnless(optional("mypy"), "mypy is not installed")
class Typed(unittest.TestCase):
    def test_a_client_under_strict_rules(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "client.py"), "w", encoding="utf-8") as f:
                f.write(TYPED)
            done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "client.py"],
                                  cwd=folder, capture_output=True, text=True,
                                  env={**os.environ, "MYPYPATH": os.path.dirname(os.path.dirname(waymark.__file__))})
        found = [line.split(": ", 2)[0] for line in done.stdout.splitlines() if ": error: " in line]
        last = len(TYPED.splitlines())
        self.assertEqual(found, [f"client.py:{last - 1}", f"client.py:{last}"], done.stdout)


@unittest.skipUnless(safetensors_numpy, "safetensors is not installed")
class Safetensors(unittest.TestCase):
    def test_models_open(self):
        p, q, _ = datasets.load("normals", n=200, kl=1)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.safetensors")
            waymark.DensityRatio("quadratic", folds=2, n_jobs=1).fit(p, q).save(path)
            self.assertIn("alphas", safetensors_numpy.load_file(path))


@unittest.skipUnless(COMMAND, "WAYMARK_COMMAND does not name the command")
class Runs(unittest.TestCase):
    """What a run of the command leaves."""

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        np.save(os.path.join(cls.place.name, "x.npy"), np.random.default_rng(1).normal(size=(200, 2)))
        cls.run_folder = os.path.join(cls.place.name, "run")
        subprocess.run([COMMAND, "ebm", "x.npy", "--bridges", "2", "--iterations", "80", "--heads-iterations", "40", "--check-steps", "8",
                        "--tensorboard", "-o", "run", "-q"], cwd=cls.place.name, check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(cls.run_folder, "metrics.jsonl"), encoding="utf-8") as f:
            cls.lines = [json.loads(line) for line in f if json.loads(line)["stage"] == "bridges"]

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    @unittest.skipUnless(pandas, "pandas is not installed")
    def test_pandas_reads_metrics(self):
        table = pandas.read_json(os.path.join(self.run_folder, "metrics.jsonl"), lines=True)
        self.assertEqual(list(table[table.stage == "bridges"].step), [line["step"] for line in self.lines])

    @unittest.skipUnless(events, "TensorBoard is not installed")
    def test_tensorboard_reads_events(self):
        found = events.EventAccumulator(self.run_folder)
        found.Reload()
        scalars = found.Scalars("bridges/valid_loss")
        self.assertGreater(len(scalars), 0)
        self.assertEqual([s.step for s in scalars], [line["step"] for line in self.lines])
        np.testing.assert_allclose([s.value for s in scalars], [line["valid_loss"] for line in self.lines], rtol=1e-6)  # floats

    def test_bmi_takes_the_command(self):
        external = optional("bmi.estimators.external.external_estimator")
        if not external:
            self.skipTest("benchmark-mi is not installed, or does not load")

        class Waymark(external.ExternalEstimator):
            def _build_command(self, path, dim_x, dim_y):
                return [COMMAND, "mi", "--plain", str(path), str(dim_x), str(dim_y), "--model", "quadratic"]

            def parameters(self):
                return None  # not asked for here

        u, v, truth = datasets.load("gaussian", n=500)
        self.assertLess(abs(Waymark().estimate(u, v) - truth["mi"]), 0.2 * truth["mi"])


if __name__ == "__main__":
    unittest.main()
