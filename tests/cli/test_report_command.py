#!/usr/bin/env python3
"""test_report_command.py WAYMARK: `waymark report` from outside: where the page goes, what is said, and
what is refused. What stands in the page is tested in tests/report."""

import base64
import json
import os
import subprocess
import sys
import tempfile
import unittest

WAYMARK = os.path.abspath(sys.argv[1])


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.mkdir(self.path("run"))
        self.put("config.json", '{"command": "mi", "version": "0.1.0"}')
        self.put("summary.json", '{"command": "mi", "mi": 1.5, "verdict": "trust"}')

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def put(self, name, text):
        os.makedirs(os.path.dirname(self.path("run", name)), exist_ok=True)
        with open(self.path("run", name), "w") as f:
            f.write(text)

    def run_it(self, *words):
        return subprocess.run([WAYMARK, "report", *words], capture_output=True, text=True, timeout=60,
                              cwd=self.folder)

    def test_the_page_goes_into_the_folder(self):
        for name in ("run", "run/", self.path("run")):
            done = self.run_it(name)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, r"^\S*run/report.html: \d+ kB, 0 figures\n$")
            self.assertTrue(os.path.getsize(self.path("run", "report.html")) > 3000)
            os.remove(self.path("run", "report.html"))

    def test_or_where_it_is_wanted(self):
        for words in (("run", "-o", "page.html"), ("--out", "page.html", "run")):
            self.assertEqual(self.run_it(*words).returncode, 0)
            os.remove(self.path("page.html"))
        self.assertFalse(os.path.exists(self.path("run", "report.html")))

    def test_json(self):
        done = self.run_it("run", "--json")
        got = json.loads(done.stdout)
        self.assertEqual((got["command"], got["page"], got["figures"], got["problems"]),
                         ("report", "run/report.html", 0, 0))
        self.assertEqual(got["bytes"], os.path.getsize(self.path("run", "report.html")))

    def test_figures_that_cannot_be_shown_are_said(self):
        self.put("figures/a.svg", "<svg")
        done = self.run_it("run")
        self.assertEqual(done.returncode, 0)
        self.assertIn("figures/a.svg:1: ends inside a tag", done.stderr)
        self.assertEqual(self.run_it("run", "--quiet").stderr, "")
        self.assertEqual(self.run_it("run", "--strict").returncode, 3)

    def test_pictures_are_shown_or_said(self):
        self.put("summary.json", '{"pictures": [{"file": "draws.png", "title": "Draws"}]}')
        done = self.run_it("run", "--strict")
        self.assertEqual(done.returncode, 3)
        self.assertIn("draws.png", done.stderr)
        pixel = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+k"
                                 "cQAAAABJRU5ErkJggg==")
        with open(self.path("run", "draws.png"), "wb") as f:
            f.write(pixel)
        self.put("draws.csv", "row,column,log_density\n1,1,-7.25\n")
        done = self.run_it("run", "--strict")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, "1 figure\n$")
        with open(self.path("run", "report.html")) as f:
            page = f.read()
        self.assertIn("data:image/png;base64," + base64.b64encode(pixel).decode(), page)
        self.assertIn("-7.250</td>", page)

    def refused(self, *words):
        done = self.run_it(*words)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        return done.stderr

    def test_what_is_no_run_is_refused(self):
        self.assertIn("waymark report: none: No such file or directory", self.refused("none"))
        os.mkdir(self.path("empty"))
        self.assertIn("empty: not a run folder: it has neither config.json nor summary.json",
                      self.refused("empty"))
        self.assertIn("config.json: not a folder", self.refused("run/config.json"))
        self.put("summary.json", '{"mi": 1.5, "verdict": ')
        self.assertIn("run/summary.json:1:", self.refused("run"))
        self.assertFalse(os.path.exists(self.path("run", "report.html")))
        with open(self.path("run", "summary.json"), "wb") as f:
            f.truncate(200 << 20)
        self.assertIn("209715200 bytes, at most", self.refused("run"))

    def test_another_programs_folder_is_left_alone(self):
        os.mkdir(self.path("bert"))
        with open(self.path("bert", "config.json"), "w", encoding="utf-8") as f:
            f.write('{"model_type": "bert"}')
        self.assertIn("bert: not a run folder: its config.json names no command", self.refused("bert"))
        self.assertEqual(os.listdir(self.path("bert")), ["config.json"])

    def test_only_a_page_is_replaced(self):
        for text in ("x,y\n1,2\n", "\n", "<!DOCTYPE htm"):
            with open(self.path("mine.csv"), "w", encoding="utf-8") as f:
                f.write(text)
            self.assertIn("mine.csv: is there already, and is no page", self.refused("run", "-o", "mine.csv"))
            with open(self.path("mine.csv"), encoding="utf-8") as f:
                self.assertEqual(f.read(), text)
        for _ in range(2):
            self.assertEqual(self.run_it("run", "-o", "page.html").returncode, 0)

    def test_a_page_that_cannot_be_written_is_a_failure(self):
        self.assertIn("none/page.html", self.refused("run", "-o", "none/page.html"))

    def test_usage(self):
        for words in ((), ("run", "more"), ("",)):
            done = self.run_it(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)


unittest.main(argv=sys.argv[:1])
