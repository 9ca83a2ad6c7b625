#!/usr/bin/env python3
"""check_tree.py must fail on a planted breach and name its file, and pass on a small good tree."""

import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_tree.py")

GOOD = {
    "include/waymark/status.h": "#pragma once\ntypedef enum wm_status { WM_OK } wm_status;\n",
    "include/waymark/ratio.h": '#include "waymark/status.h"\n',
    "include/waymark/waymark.h": '#include "waymark/ratio.h"\n#include "waymark/status.h"\n',
    "src/base/fail.h": '#include "waymark/status.h"\n#include <stdio.h>\n',
    "src/base/rng.c": "#include <Random123/philox.h>\n",
    "src/engine/op.h": '#include "base/fail.h"\n',
    "src/engine/backend/blas.c": '#include "engine/op.h"\n#include <cblas.h>\n#include <lapacke.h>\n',
    "src/nn/mlp.c": '#include "engine/op.h"\n#include "base/fail.h"\n',
    "src/sample/nuts.h": '#include "base/fail.h"\n',
    "src/train/trainer.h": '#include "engine/op.h"\n',
    "src/ratio/ratio.c": '#include "train/trainer.h"\n#include "waymark/ratio.h"\n',
    "cli/opt.h": "#include <stdio.h>\n",
    "cli/main.c": '#include "opt.h"\n#include "waymark/waymark.h"\n',
    "CONTRIBUTING.md": "# C\n\n| no | room |\n\n## Rooms\n\n  |  ratio       |  fits\n  |  train  nn   |\n"
                       "  |  engine  sample  |\n  |  base        |\n\n    a way: base --> engine --> nn, train\n\n## Next\n",
    "README.md": "Run `make`, then build/release/waymark; /usr/share/doc is nobody's home.\n",
}


class CheckTree(unittest.TestCase):
    def run_check(self, check, planted):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**GOOD, **planted}.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as f:
                    f.write(text)
            done = subprocess.run([sys.executable, SCRIPT, check, root], capture_output=True,
                                  text=True)
            self.assertEqual(done.stderr, "")
            return done.returncode, done.stdout

    def passes(self, check, planted=None):
        code, out = self.run_check(check, planted or {})
        self.assertEqual((code, out), (0, ""))

    def fails(self, check, planted, *words):
        """One breach, and its line begins with the planted file."""
        code, out = self.run_check(check, planted)
        self.assertEqual(code, 1, out)
        path = list(planted)[-1]
        self.assertTrue(out.startswith(path), out)
        for word in words:
            self.assertIn(word, out)

    def test_good_tree_passes_every_check(self):
        for check in ("includes", "names", "paths", "headers", "idents", "words", "drawing"):
            with self.subTest(check):
                self.passes(check)

    def test_room_opens_a_room_above_it(self):
        self.fails("includes", {"src/base/sum.c": '\n#include "engine/op.h"\n'}, "sum.c:2", "engine")
        self.fails("includes", {"src/waymarks/linear.h": "",
                                "src/nn/nwj.c": '#include "waymarks/linear.h"\n'}, "not waymarks")

    def test_sampler_never_sees_a_model(self):
        self.fails("includes", {"src/sample/hmc.c": '#include "engine/op.h"\n'}, "not engine")
        self.fails("includes", {"src/train/batcher.c": '#include "sample/nuts.h"\n'}, "not sample")

    def test_relative_path_does_not_hide_a_room(self):
        self.fails("includes", {"src/base/sum.c": '#include "../engine/op.h"\n'}, "not engine")

    def test_client_opens_a_private_header(self):
        self.fails("includes", {"cli/cmd_mi.c": '#  include "base/fail.h"\n'}, "own files")
        self.fails("includes", {"examples/first.c": '#include "../src/engine/op.h"\n'}, "own files")

    def test_public_header_opens_a_private_one(self):
        self.fails("includes", {"include/waymark/mi.h": '#include "base/fail.h"\n'}, "public")

    def test_public_header_of_a_higher_room(self):
        self.fails("includes", {"src/engine/run.c": '#include "waymark/ratio.h"\n'}, "ratio")

    def test_library_outside_its_fence(self):
        for header in ("cblas.h", "lapacke.h", "lbfgs.h", "Random123/philox.h", "jansson.h"):
            with self.subTest(header):
                self.fails("includes", {"src/nn/heads.c": f"#include <{header}>\n"}, header)

    def test_missing_file_and_macro(self):
        self.fails("includes", {"src/base/sum.c": '#include "base/none.h"\n'}, "no such file")
        self.fails("includes", {"src/base/sum.c": "#include WHICH\n"}, "macro")

    def test_name_taken_twice(self):
        self.fails("names", {"src/nn/nuts.h": "", "tests/nn/README.md": "",
                             "src/sample/nuts.h": ""}, "taken")

    def test_path_of_a_machine(self):
        for top in ("home", "root", "Users", "work"):
            with self.subTest(top):
                self.fails("paths", {"docs/build.md": f"\nsee /{top}/someone/waymark\n"}, ":2:")
        self.passes("paths", {"docs/a.md": "src/work/x, ~/work/x, ${HOME}/work/x, https://a.b/home/x\n"})

    def test_header_that_needs_another(self):
        self.fails("headers", {"include/waymark/mi.h": "int64_t wm_mi;\n"}, "alone as c\n")

    def test_header_that_cxx_cannot_read(self):
        self.fails("headers", {"include/waymark/mi.h": "#ifndef A\n#define A\nint f(int new);\n#endif\n"},
                   "alone as c++")

    def test_header_that_waymark_h_lacks(self):
        self.fails("headers", {"include/waymark/mi.h": "#pragma once\n"}, "is not in include/waymark/waymark.h")

    def test_identifier_defined_twice(self):
        first = "src/base/a.h"
        for one, two in (("typedef struct wmi_a { int x; } wmi_a;", "typedef enum wmi_b { WMI_B } wmi_a;"),
                         ("struct wmi_a { struct { int y; } x; };", "union wmi_a { int x; };"),
                         ("enum { WMI_X, WMI_A = 3 };", "typedef enum wmi_e { WMI_A } wmi_e;"),
                         ("#define WMI_A 1", "#define WMI_A(x) \\\n    (x)"),
                         ("#define WMI_A 1", "enum { WMI_A };"),
                         ("typedef int wmi_a(void *ctx);", "typedef void (*wmi_a)(int);")):
            with self.subTest(two):
                self.fails("idents", {first: one + "\n", "src/nn/b.h": two + "\n"}, "is defined in src/base/a.h too")
        self.fails("idents", {"src/base/a.c": "int wmi_f(int x)\n{\n}\n",
                              "src/nn/b.c": "void wmi_f(const char *s,\n           int y)\n{\n}\n"}, "function wmi_f")

    def test_identifiers_that_may_stand_twice(self):
        self.passes("idents", {"include/waymark/a.h": "typedef struct wm_a wm_a;\nint wm_f(int x);\n",
                               "include/waymark/b.h": "typedef struct wm_a wm_a;\n",
                               "src/base/a.h": "struct wm_a { int x; };\n#ifdef B\n#define WMI_C 1\n#else\n#define WMI_C 2\n#endif\n",
                               "src/base/a.c": "#define AT 1\ntypedef struct row { int x; } row;\nstatic int f(int x)\n{\n}\n"
                                               "int wm_f(int x)\n{\n}\n",
                               "src/base/b.c": "/* struct wm_a { } */\n#define AT 2\ntypedef struct row { int y; } row;\n"
                                               'static int f(int x)\n{\n    g("struct wm_a {};");\n}\n'})

    def test_message_that_names_an_option(self):
        self.fails("words", {"src/nn/b.c": 'f("a",\n  "use --batch");\n'}, "b.c:2", "--batch")
        self.passes("words", {"src/nn/b.c": '/* "--batch" */ f("a -- b"); x--; f("c");\n', "cli/c.c": 'f("--batch");\n'})

    def test_drawing_that_is_not_the_tree(self):
        drawing = GOOD["CONTRIBUTING.md"]
        for was, now, says in (("nn   |", "|", "room 'nn' is not in the drawing"),
                               ("train  nn", "train  nn  moon", "no room 'moon'"),
                               ("|  base        |", "|", "room 'base'"),
                               ("engine  sample", "sample", "room 'engine'"),
                               ("|  ratio       |  fits\n  |  train  nn   |", "|  nn  |\n  |  train  ratio  |", "ratio includes train"),
                               ("--> nn, train", "--> nn, sample", "engine --> sample: sample includes nothing of engine")):
            with self.subTest(says):
                self.fails("drawing", {"CONTRIBUTING.md": drawing.replace(was, now)}, says)


if __name__ == "__main__":
    unittest.main()
