"""The examples in docstrings and in docs/python.md, and the notebooks, run."""

import doctest
import glob
import importlib
import json
import os
import re
import sys
import unittest
import warnings

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "python.md")

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


class Page(unittest.TestCase):
    def test_blocks_run_one_after_the_other(self):
        with open(PAGE, encoding="utf-8") as f:
            blocks = re.findall(r"^```python\n(.*?)^```", f.read(), re.M | re.S)
        self.assertGreaterEqual(len(blocks), 5)
        names = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for block in blocks:
                exec(compile(block, PAGE, "exec"), names)


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
