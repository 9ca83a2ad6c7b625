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
    "src/estimators/ratio.c": '#include "sample/nuts.h"\n#include "waymark/ratio.h"\n',
    "cli/opt.h": "#include <stdio.h>\n",
    "cli/main.c": '#include "opt.h"\n#include "waymark/waymark.h"\n',
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
        for check in ("includes", "names", "paths", "headers"):
            with self.subTest(check):
                self.passes(check)

    def test_room_opens_a_room_above_it(self):
        self.fails("includes", {"src/base/sum.c": '\n#include "engine/op.h"\n'}, "sum.c:2", "engine")
        self.fails("includes", {"src/waymarks/linear.h": "",
                                "src/loss/nwj.c": '#include "waymarks/linear.h"\n'}, "not waymarks")

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
        self.fails("includes", {"src/engine/run.c": '#include "waymark/ratio.h"\n'}, "estimators")

    def test_library_outside_its_fence(self):
        for header in ("cblas.h", "lapacke.h", "oneapi/dnnl/dnnl.h", "dnnl.h", "mpi.h", "lbfgs.h",
                       "Random123/philox.h", "jansson.h"):
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


if __name__ == "__main__":
    unittest.main()
