"""What is wrong with data or settings raises what a Python user expects, with our words."""

import unittest
import warnings

import numpy as np

import waymark
from waymark import datasets

QUICK = {"model": "quadratic", "folds": 2, "n_jobs": 1}


def fit(p, q, **settings):
    return waymark.DensityRatio(**{**QUICK, **settings}).fit(p, q)


class Data(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.p, cls.q, _ = datasets.load("normals", n=200, kl=1)
        cls.base = fit(cls.p, cls.q)

    def test_other_numbers_are_taken(self):
        for dtype in (np.float32, np.float16, ">f8"):
            r = fit(self.p.astype(dtype), self.q.astype(dtype))
            self.assertAlmostEqual(r.result_.kl_pq.value, self.base.result_.kl_pq.value, delta=0.02)

    def test_layout_does_not_matter(self):
        def wide(x):
            return np.repeat(x, 2, axis=1)[:, ::2]

        def locked(x):
            x = x.copy()
            x.flags.writeable = False
            return x

        expected = self.base.log_ratio(self.q)
        for how in (np.asfortranarray, wide, locked, lambda x: x[::-1][::-1], np.ndarray.tolist):
            r = fit(how(self.p), how(self.q))
            np.testing.assert_array_equal(r.log_ratio(how(self.q)), expected)

    def test_what_is_masked_is_missing(self):
        for dtype in (float, np.float32):
            masked = np.ma.array(self.p.astype(dtype), mask=np.zeros(self.p.shape, bool))
            waymark.DensityRatio(**QUICK).fit(masked, self.q)  # nothing is
            masked[7, 1] = np.ma.masked
            with self.assertRaisesRegex(ValueError, "NaN: row 7, column 1"):
                waymark.DensityRatio(**QUICK).fit(masked, self.q)

    def test_what_cannot_be(self):
        p, q = self.p, self.q
        hole, far = p.copy(), p.copy()
        hole[7, 1] = np.nan
        far[7, 1] = np.inf
        lists = np.empty((200, 3), dtype=object)
        lists[:] = [[1.0, 2.0, [3]]] * 200
        for wrong, error, words in (
                (hole, ValueError, "p: Input contains NaN: row 7, column 1"),
                (far, ValueError, "p: Input contains infinity: row 7, column 1"),
                (p[:0], ValueError, "0 sample"),
                (p[:, :0], ValueError, "0 feature"),
                (p[:, :2], ValueError, "p has 2 columns and q has 3"),
                (p.reshape(-1, 3, 1), ValueError, "Reshape your data"),
                (p + 1j, ValueError, "Complex data not supported"),
                (np.zeros(3, dtype=[("a", float)]).reshape(-1, 1), TypeError, "structured"),
                (lists, TypeError, "column 2: argument must be a string or a number, not 'list'"),
                ("no such file.csv", ValueError, "p is the name of a file and the other table is not"),
                (p[:2], ValueError, ""),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                fit(wrong, q)

    def test_files_that_are_not_there(self):
        with self.assertRaisesRegex(FileNotFoundError, "nowhere.csv"):
            fit("nowhere.csv", "nowhere.csv")
        with self.assertRaisesRegex(FileNotFoundError, "nowhere.csv"):
            self.base.log_ratio("nowhere.csv")
        with self.assertRaises(OSError):
            waymark.load("nowhere.safetensors")

    def test_points(self):
        with self.assertRaisesRegex(ValueError, "X has 2 features, but DensityRatio is expecting 3"):
            self.base.log_ratio(self.q[:, :2])
        with self.assertRaisesRegex(ValueError, "Input contains NaN"):
            self.base.log_ratio(self.q * np.nan)
        self.base.log_ratio(self.q * 1000)
        self.assertEqual(self.base.n_far_, 200)

    def test_missing_values(self):
        hole = self.p.copy()
        hole[7, 1] = np.nan
        with self.assertWarnsRegex(waymark.DataWarning, "p: 1 of 200 rows") as caught:
            r = fit(hole, self.q, missing="drop")
        self.assertEqual(caught.filename, __file__)
        with self.assertWarnsRegex(waymark.DataWarning, "target: 1 of 200 rows") as caught:
            waymark.estimate_weights(self.q, hole, missing="drop", **QUICK)
        self.assertEqual(caught.filename, __file__)  # of whoever called, however deep it was noticed
        with self.assertRaisesRegex(ValueError, "source: Input contains NaN: row 7"):
            waymark.estimate_weights(hole, self.q, **QUICK)
        self.assertEqual(r.result_.n_p, 199)
        log_r = r.log_ratio(hole)  # rows stay where they are
        self.assertTrue(np.isnan(log_r[7]) and np.isfinite(np.delete(log_r, 7)).all())
        w = r.weights(hole)
        self.assertTrue(np.isnan(w[7]))
        self.assertAlmostEqual(np.nanmean(w), 1)
        self.assertEqual(r.score(hole, self.q), r.score(np.delete(hole, 7, axis=0), self.q))
        self.assertEqual(fit(hole, self.q, missing="mean").result_.n_p, 200)
        with self.assertRaisesRegex(ValueError, "there are refuse, drop, mean"):
            fit(hole, self.q, missing="guess")

    def test_input_is_left_alone(self):
        p, q = self.p.copy(), self.q.copy()
        p[3, 0] = np.nan
        before = p.copy(), q.copy()
        fit(p, q, missing="mean").log_ratio(q)
        np.testing.assert_array_equal(p, before[0])
        np.testing.assert_array_equal(q, before[1])


class Settings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.p, cls.q, _ = datasets.load("normals", n=100, kl=1)

    def test_values(self):
        for settings, error, words in (
                ({"objective": "guess"}, ValueError, "objective='guess': there are logistic, nwj"),
                ({"model": "cubic"}, ValueError, "cubic"),
                ({"model": ["linear"] * 9}, ValueError, "at most 8"),
                ({"folds": 1}, ValueError, "folds"),
                ({"folds": "two"}, TypeError, "folds='two': a whole number is needed"),
                ({"bridges": 2.5}, TypeError, "bridges=2.5: a whole number is needed"),
                ({"iterations": -1}, ValueError, "iterations=-1: a number that is not negative"),
                ({"time_limit": float("nan")}, ValueError, "time_limit=nan: a number that is not negative"),
                ({"model": 3}, TypeError, "model=3"),
                ({"verbose": "loud"}, TypeError, "verbose='loud'"),
                ({"bridges": 0}, ValueError, "bridges"),
                ({"spacing": "log"}, ValueError, "log"),
                ({"random_state": -1}, ValueError, "not negative"),
                ({"random_state": 2**64}, ValueError, r"below 2\*\*64"),
                ({"random_state": "one"}, TypeError, "random_state='one': None, a whole number or a generator"),
                ({"n_jobs": 0}, ValueError, "n_jobs=0"),
                ({"on_doubt": "shrug"}, ValueError, "there are raise, warn, ignore"),
        ):
            with self.subTest(settings), self.assertRaisesRegex(error, words):
                fit(self.p, self.q, **settings)

    def test_not_fitted(self):
        for call in (lambda: waymark.DensityRatio().log_ratio(self.p), lambda: waymark.EnergyModel().score(self.p),
                     lambda: waymark.Embedding().transform(self.p), lambda: waymark.DensityRatio().save("x")):
            with self.assertRaisesRegex(ValueError, "not fitted yet"):
                call()

    def test_densities(self):
        start = np.zeros((3, 2))
        for answer, error, words in ((lambda x: -x.sum(axis=1), TypeError, "log-densities and gradients"),
                                     (lambda x: (0.0, -x), ValueError, r"log-densities have shape \(\)"),
                                     (lambda x: (np.zeros(len(x)), x[:, :1]), ValueError, r"need \(3, 2\)")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                waymark.sample(answer, start, draws=5, warmup=5)

    def test_datasets(self):
        with self.assertRaisesRegex(ValueError, "nothing"):
            datasets.load("nothing")
        with self.assertRaises(ValueError):
            datasets.load("shift", wrong=1)


class Verdicts(unittest.TestCase):
    """p at two places, q at one of them: the ratio is infinite where q has no rows."""

    @classmethod
    def setUpClass(cls):
        rng = np.random.default_rng(1)
        cls.p, cls.q = rng.normal(size=(100, 1)) + 60 * (np.arange(100) % 2)[:, None], rng.normal(size=(100, 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cls.verdict = fit(cls.p, cls.q, bridges=2, on_reject="ignore", on_doubt="ignore").result_.verdict

    def test_what_is_not_to_be_trusted_says_so(self):
        self.assertIn(self.verdict, ("doubt", "reject"))
        with self.assertRaises(waymark.RejectedError) as caught:
            fit(self.p, self.q, bridges=2, on_doubt="raise", on_reject="raise")
        self.assertEqual(caught.exception.result.verdict, self.verdict)
        self.assertTrue(caught.exception.result.reason)
        with self.assertWarnsRegex(waymark.DoubtWarning, f"the verdict is {self.verdict}"):
            fit(self.p, self.q, bridges=2, on_doubt="warn", on_reject="warn")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fit(self.p, self.q, bridges=2, on_doubt="ignore", on_reject="ignore")

    def test_a_level_that_one_table_lacks(self):
        """KL of the table that has it is no number. Weights p/q do not mind a level that p lacks."""
        more, less = np.arange(600.0)[:, None] % 3, np.arange(600.0)[:, None] % 2
        with self.assertRaisesRegex(waymark.RejectedError, r"KL\(p, q\) is infinite or cannot be told"):
            fit(more, less)
        with self.assertWarnsRegex(waymark.DoubtWarning, r"KL\(q, p\) is infinite or cannot be told"):
            ratio = fit(less, more)
        found = ratio.result_.to_dict()
        self.assertEqual((found["verdict"], found["kl_qp"], found["kl_qp_verdict"]), ("reject", None, "reject"))
        self.assertAlmostEqual(found["kl_qp_lone"], 1 / 3)
        self.assertIn("KL(q, p) = infinite or cannot be told", repr(ratio.result_))
        self.assertAlmostEqual(found["kl_pq"], np.log(1.5), delta=0.02)


if __name__ == "__main__":
    unittest.main()
