"""The examples in docstrings, every block of Python in docs/*.md and README.md, and the notebooks, run."""

import doctest
import glob
import importlib.util
import json
import os
import re
import sys
import tempfile
import unittest
import warnings

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGE = os.path.join(ROOT, "docs", "python.md")

MODULES = ("waymark", "waymark.datasets", "waymark._ratio", "waymark._mi", "waymark._ebm", "waymark._embed",
           "waymark._sampling", "waymark._results", "waymark._progress")


def load_tests(_loader, tests, _pattern):
    for name in MODULES:
        tests.addTests(doctest.DocTestSuite(importlib.import_module(name)))
    return tests


class Enough(unittest.TestCase):
    def test_examples_are_found(self):
        found = sum(bool(t.examples) for name in MODULES
                    for t in doctest.DocTestFinder().find(sys.modules[name]))
        self.assertGreaterEqual(found, 8)


def run_blocks(page, names):
    """How many blocks of the page ran, one after the other."""
    with open(page, encoding="utf-8") as f:
        blocks = re.findall(r"^```python\n(.*?)^```", f.read(), re.M | re.S)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in blocks:
            exec(compile(block, page, "exec"), names)
    return len(blocks)


class Page(unittest.TestCase):
    def test_blocks_run_one_after_the_other(self):
        ran = {}
        for page in sorted(glob.glob(os.path.join(ROOT, "docs", "*.md"))):
            with self.subTest(page):
                ran[os.path.basename(page)] = run_blocks(page, {})
        self.assertGreaterEqual(ran["python.md"], 5)
        self.assertGreaterEqual(sum(ran.values()), 10)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_the_front_page(self):
        """On tables of its names, small ones."""
        import numpy as np
        import pandas

        rng = np.random.default_rng(1)

        def people(n, shift):
            return pandas.DataFrame({"exper": rng.integers(1, 15, n), "wage": np.exp(rng.normal(shift, 0.5, n))})

        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            people(300, 0.3).to_csv(os.path.join(folder, "male.csv"), index=False)
            people(300, 0).to_csv(os.path.join(folder, "female.csv"), index=False)
            os.chdir(folder)
            try:
                self.assertEqual(run_blocks(os.path.join(ROOT, "README.md"),
                                            {"rows": people(5, 0), "source": people(300, 0), "target": people(300, 0.3)}), 1)
            finally:
                os.chdir(here)


class Notebooks(unittest.TestCase):
    def test_cells_run_one_after_the_other(self):
        found = glob.glob(os.path.join(os.path.dirname(PAGE), "notebooks", "*.ipynb"))
        self.assertGreaterEqual(len(found), 2)
        for path in found:
            with open(path, encoding="utf-8") as f:
                cells = [c for c in json.load(f)["cells"] if c["cell_type"] == "code"]
            names = {}
            with self.subTest(path), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for cell in cells:
                    self.assertEqual(cell["outputs"], [])  # results are for the reader to make
                    exec(compile("".join(cell["source"]), path, "exec"), names)


if __name__ == "__main__":
    unittest.main()
