"""Calls from Python: no copies, threads side by side, Ctrl-C, forks, progress, import."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import waymark
from waymark import datasets
from waymark._core import core
from waymark._frames import take_known, take_tables

LONG = """
import sys, waymark
p, q, _ = waymark.datasets.load("mixture", n=2000, dim=5)

def tell(e):
    if e["event"] == "progress" and e["total"] > 10**6:
        print("training", flush=True)

try:
    waymark.DensityRatio("mlp", iterations=10**7, n_jobs=1, verbose=tell, checkpoint=sys.argv[1]).fit(p, q)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""

FORK = """
import os, sys, numpy as np, waymark
p, q, _ = waymark.datasets.load("normals", n=400, kl=1)
ratio = waymark.DensityRatio("quadratic", folds=2, n_jobs=2).fit(p, q)
before = ratio.log_ratio(q)
child = os.fork()
if child == 0:
    same = np.array_equal(ratio.log_ratio(q), before)
    again = waymark.DensityRatio("quadratic", folds=2, n_jobs=2).fit(p, q)
    os._exit(0 if same and np.array_equal(again.log_ratio(q), before) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


class Copies(unittest.TestCase):
    def test_float64_in_c_order_is_not_copied(self):
        p, q, _ = datasets.load("normals", n=100, kl=1)
        (a, b), schema = take_tables((p, q), ("p", "q"))
        self.assertTrue(a is p and b is q)
        self.assertIs(take_known(q, schema), q)
        view = p[10:50]
        self.assertIs(take_known(view, schema), view)

    def test_the_core_takes_nothing_else(self):
        p, q, _ = datasets.load("normals", n=100, kl=1)
        model = waymark.DensityRatio("quadratic", folds=2, n_jobs=1).fit(p, q)._model
        for wrong, error in ((q.astype(np.float32), TypeError), (q[:, ::-1], (ValueError, BufferError)),
                             (q[:, :2].copy(), ValueError), ([1, 2], TypeError)):
            with self.assertRaises(error):
                core.log_ratio(model, wrong, np.empty(100), 1)
        locked = np.empty(100)
        locked.flags.writeable = False
        with self.assertRaises((ValueError, BufferError)):
            core.log_ratio(model, q, locked, 1)
        with self.assertRaises(ValueError):
            core.log_ratio(model, q, np.empty(99), 1)
        with self.assertRaises(ValueError):
            core.study_info("no capsule")


class Threads(unittest.TestCase):
    def test_two_fits_side_by_side(self):
        tables = [datasets.load("normals", n=600, kl=2, random_state=s)[:2] for s in (1, 2, 3, 4)]
        quick = dict(model=["quadratic", "quadratic+mlp"], folds=2, iterations=50, on_doubt="ignore",
                     on_reject="ignore")
        alone = [waymark.DensityRatio(**quick, n_jobs=1).fit(*t).log_ratio(t[1]) for t in tables]
        found = [None] * len(tables)

        def work(i):
            found[i] = waymark.DensityRatio(**quick, n_jobs=2).fit(*tables[i]).log_ratio(tables[i][1])

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(tables))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for a, b in zip(alone, found):
            np.testing.assert_array_equal(a, b)

    def test_other_threads_run_meanwhile(self):
        p, q, _ = datasets.load("mixture", n=3000, dim=5)
        ticks, done = [0], threading.Event()

        def tick():
            while not done.wait(0.001):
                ticks[0] += 1

        thread = threading.Thread(target=tick)
        thread.start()
        waymark.DensityRatio("quadratic+mlp", iterations=300, folds=2, n_jobs=1, on_doubt="ignore",
                             on_reject="ignore").fit(p, q)
        done.set()
        thread.join()
        self.assertGreater(ticks[0], 10)


class Signals(unittest.TestCase):
    def test_ctrl_c_stops_and_leaves_a_checkpoint(self):
        with tempfile.TemporaryDirectory() as folder:
            with subprocess.Popen([sys.executable, "-c", LONG, os.path.join(folder, "state")],
                                  stdout=subprocess.PIPE, text=True) as work:
                self.assertEqual(work.stdout.readline().strip(), "training")
                work.send_signal(signal.SIGINT)
                self.assertEqual(work.stdout.read().split()[-1], "stopped")
                self.assertEqual(work.wait(60), 0)
            self.assertTrue(os.listdir(folder))

    def test_fork_after_a_fit(self):
        subprocess.run([sys.executable, "-c", FORK], check=True, timeout=120)


class Progress(unittest.TestCase):
    def fit(self, verbose):
        p, q, _ = datasets.load("mixture", n=1000, dim=3)
        return waymark.DensityRatio("quadratic+mlp", iterations=200, folds=2, n_jobs=1, on_doubt="ignore",
                                    on_reject="ignore", verbose=verbose).fit(p, q)

    def test_a_callback_hears_evaluations(self):
        said = []
        self.fit(said.append)
        kinds = {e["event"] for e in said}
        self.assertIn("eval", kinds)
        losses = [e["valid_loss"] for e in said if e["event"] == "eval"]
        self.assertTrue(np.isfinite(losses).all())
        self.assertTrue(all(threading.current_thread() is threading.main_thread() for _ in said))

    def test_a_callback_that_raises_ends_the_fit(self):
        def refuse(event):
            if event["event"] == "eval":
                raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            self.fit(refuse)

    def test_a_density_that_raises_ends_the_chains(self):
        with self.assertRaises(ZeroDivisionError):
            waymark.sample(lambda x: 1 / 0, np.zeros((2, 2)), draws=10, warmup=10)


class Import(unittest.TestCase):
    def test_importing_loads_neither_numpy_nor_the_library(self):
        words = "import sys, waymark; print([m in sys.modules for m in ('numpy', 'waymark._waymark', 'typing')])"
        done = subprocess.run([sys.executable, "-S", "-c", words], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.strip(), "[False, False, False]")

    def test_the_stub_names_what_the_module_has(self):
        with open(os.path.join(os.path.dirname(waymark.__file__), "_waymark.pyi"), encoding="utf-8") as f:
            said = set(re.findall(r"^def (\w+)", f.read(), re.M))
        self.assertEqual(said, {n for n in dir(core) if not n.startswith("_")})

    def test_every_name_is_there(self):
        for name in waymark.__all__:
            self.assertTrue(getattr(waymark, name).__doc__, name)
        self.assertEqual(core.version(), waymark.__version__)
        with self.assertRaises(AttributeError):
            waymark.nonsense


if __name__ == "__main__":
    unittest.main()
