#!/usr/bin/env python3
"""test_cli.py WAYMARK PROBE: the command from outside: streams, exit codes, run folders, signals.
WAYMARK is the product; PROBE (probe.c) has the same frame and commands that do as they are told."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest

WAYMARK, PROBE = sys.argv[1], sys.argv[2]


def run(program, *words, **more):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=60, **more)


class Program(unittest.TestCase):
    def test_help_goes_to_stdout(self):
        for words in (["--help"], ["-h"], ["help"]):
            done = run(WAYMARK, *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("Usage: waymark COMMAND", done.stdout)
            self.assertIn("version", done.stdout)

    def test_no_words_is_wrong_usage(self):
        done = run(WAYMARK)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("Usage: waymark COMMAND", done.stderr)

    def test_version(self):
        done = run(WAYMARK, "--version")
        self.assertRegex(done.stdout, r"^waymark \d+\.\d+\.\d+\n$")
        version = done.stdout.split()[1]
        self.assertIn(version, run(WAYMARK, "version").stdout)
        one = json.loads(run(WAYMARK, "version", "--json", "--threads", "2").stdout)
        self.assertEqual((one["command"], one["version"], one["threads"]), ("version", version, 2))

    def test_every_command_explains_itself(self):
        listed = run(WAYMARK, "--help").stdout.split("Commands\n")[1].split("\n\n")[0]
        names = [line.strip().split("  ")[0] for line in listed.splitlines()]
        self.assertIn("version", names)
        for name in names:
            done = run(WAYMARK, "help", *name.split())
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
            self.assertIn(f"Usage: waymark {name}", done.stdout)
            self.assertEqual(run(WAYMARK, *name.split(), "--help").stdout, done.stdout)
            self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100, name)

    def test_a_rejected_ratio_is_no_answer(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("p.csv", "q.csv")]
            for path, start in zip(paths, (0, 1000)):  # 60 rows each, nothing between them
                with open(path, "w") as f:
                    f.writelines(["x,y\n"] + [f"{start + i * 0.37:.2f},{i * i % 101 + 0.5 * i}\n" for i in range(60)])
            done = run(WAYMARK, "ratio", *paths, "--threads", "1", "-q", "-o", os.path.join(folder, "run"))
            self.assertIn("Verdict: reject.", done.stdout)
            self.assertRegex(done.stdout, r"(?m)^KL\(p, q\): no answer, rejected for the reason below \(the fit says [0-9.e+]+ nats\)$")
            self.assertNotIn("95 % interval", done.stdout)
            page = open(os.path.join(folder, "run", "report.html"), encoding="utf-8").read()
            self.assertIn('<p class="value">no answer</p>', page)
            strict = run(WAYMARK, "ratio", *paths, "--threads", "1", "--json", "--strict")
            self.assertEqual(strict.returncode, 3)
            self.assertEqual(json.loads(strict.stdout)["verdict"], "reject")

    def test_a_level_that_one_table_lacks_has_the_answer_for_the_rest(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("p.csv", "q.csv")]
            for path, levels in zip(paths, (("red", "green", "teal"), ("red", "green"))):
                with open(path, "w") as f:
                    f.writelines(["colour,size\n"] + [f"{levels[i % len(levels)]},{i * i % 101 + 0.5}\n" for i in range(600)])
            done = run(WAYMARK, "ratio", *paths, "--threads", "1", "-q", "-o", os.path.join(folder, "run"))
            self.assertRegex(done.stdout, r"(?m)^KL\(p, q\): infinite or cannot be told, for the reason below$")
            self.assertIn("without the 33 % of the rows of p that make it so: KL(p, q) = ", done.stdout)
            self.assertRegex(done.stdout, r"(?m)^KL\(q, p\) = 0\.[0-9]+ nats")
            self.assertIn("200 rows of p have colour = teal, none of q", done.stdout)
            strict = run(WAYMARK, "ratio", *paths[::-1], "--threads", "1", "--json", "--strict")
            found = json.loads(strict.stdout)
            self.assertEqual((strict.returncode, found["verdict"], found["kl_qp_verdict"], found["kl_qp"]), (3, "reject", "reject", None))
            self.assertIsNotNone(found["kl_pq"])
            self.assertLess(abs(found["kl_qp_rest"]), 0.05)  # nothing else differs

    def test_tables_without_a_level_in_common_are_told_so(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("p.csv", "q.csv", "one.csv")]
            for path, levels in zip(paths, ("ab", "cd", "aa")):
                with open(path, "w") as f:
                    f.writelines(["x\n"] + [levels[i * i % 7 % 2] + "\n" for i in range(200)])
            done = run(WAYMARK, "ratio", *paths[:2])
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("no level of a column that tells rows apart is in both p and q", done.stderr)
            self.assertIn("all columns are constant", run(WAYMARK, "ratio", paths[2], paths[2]).stderr)

    def test_what_files_hold_does_not_move_a_terminal(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("p.csv", "q.csv")]
            for path, name in zip(paths, ("a\x1b[2Jb", "a\u009b2Jc")):
                with open(path, "w", encoding="utf-8") as f:
                    f.writelines([f"{name},\x1b]0;x\x07,k\n"] + [f"{i % 7}.5,{i * i % 101}.25,\x1b[3{i % 3}m\n" for i in range(150)])
            for words in ([], ["--columns", "zz"], ["--categorical", "3"]):
                done = run(WAYMARK, "ratio", *paths, "--folds", "2", *words)
                self.assertIsNone(re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", done.stdout + done.stderr), done)

    def test_unknown_words_get_the_nearest(self):
        done = run(WAYMARK, "versoin")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no command 'versoin'; did you mean 'version'?", done.stderr)
        done = run(WAYMARK, "help", "xyzzy")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no command 'xyzzy'\n", done.stderr)
        done = run(WAYMARK, "version", "--jsno")
        self.assertEqual(done.returncode, 2)
        self.assertIn("waymark version: no option --jsno; did you mean --json?", done.stderr)

    def test_examples_name_one_data_set(self):
        """`make data` leaves two of the same form in ../data: a folder above both is refused."""
        readme = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "README.md")
        with open(readme) as f:
            texts = [f.read()] + [run(WAYMARK, *words, "--help").stdout for words in
                                  (["data", "mnist"], ["reproduce", "mnist"])]
        for text in texts:
            self.assertIn("../data/mnist ", text)
            self.assertNotIn("../data ", text)

    def test_values_that_mean_nothing_are_wrong_usage(self):
        done = run(WAYMARK, "mi", "pairs.csv", "2", "x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("waymark mi: DY 'x': must be a number of columns, from 1\n", done.stderr)
        for words, says in ((["--lr", "0"], "--lr 0: must be a number above 0"),
                            (["--iterations", "0"], "--iterations 0: must be an integer from 1"),
                            (["--batch", "0"], "--batch 0: must be an integer from 1"),
                            (["--format", "xls"], "--format xls: must be auto, npy, npz, csv"),
                            (["--config", "none.json"], "ratio: unable to open none.json: No such file")):
            done = run(WAYMARK, "ratio", "p.npy", "q.npy", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(says, done.stderr)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_a_result_that_cannot_be_written_is_a_failure(self):
        for words in (["--help"], ["version"], ["version", "--json"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([WAYMARK, *words], stdout=full, stderr=subprocess.PIPE,
                                      text=True)
            self.assertEqual(done.returncode, 1, words)
            self.assertNotEqual(done.stderr, "")


class Frame(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def read(self, *names):
        with open(self.path(*names)) as f:
            return f.read()

    def test_help_has_all_parts(self):
        text = run(PROBE, "help", "probe").stdout
        for part in ("Usage: waymark probe P [Q] [options]\n\ndo as told\n",
                     "A paragraph.", "\nOptions\n", "\nCommon options\n", "a number (default: 3)",
                     "--time-limit TIME", "(default: all cores)", "\nExamples\n  waymark probe x\n"):
            self.assertIn(part, text)
        self.assertIn("(default: large)", run(PROBE, "probe", "--size", "large", "--help").stdout)
        self.assertNotIn("--seed", run(PROBE, "help", "pair", "one").stdout)

    def test_two_words_make_a_command(self):
        self.assertEqual(run(PROBE, "pair", "two", "x").stdout, "1\n")
        done = run(PROBE, "pair")
        self.assertEqual(done.returncode, 2)
        self.assertIn("  pair two  the second", done.stderr)
        done = run(PROBE, "pair", "seven")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no 'seven'; one of these is needed", done.stderr)
        self.assertIn("no 'twoo', did you mean 'two'?", run(PROBE, "pair", "twoo").stderr)
        for words in (["help", "pair"], ["pair", "--help"], ["pair", "-h"], ["pair", "help"]):
            done = run(PROBE, *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
            self.assertIn("Usage: waymark pair COMMAND", done.stdout)
            self.assertIn("  pair one  the first", done.stdout)

    def test_a_command_knows_those_that_go_on_from_it(self):
        text = run(WAYMARK, "data", "--help").stdout
        for name in ("data mnist", "data omniglot", "data glyphs"):
            self.assertIn(f"\n  {name} ", text)
        self.assertIn("\n  embed fit ", run(WAYMARK, "help", "embed").stdout)
        for words, meant in ((["data", "mnits"], "data mnist"), (["embed", "fitt", "u", "v"], "embed fit"),
                             (["data", "omniglto", "--from", "x"], "data omniglot")):
            done = run(WAYMARK, *words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"Did you mean `waymark {meant}`?\n", done.stderr)

    def test_options_come_after_the_command(self):
        done = run(WAYMARK, "--seed", "3", "version")
        self.assertEqual(done.returncode, 2)
        self.assertIn("waymark: --seed: the command comes first", done.stderr)

    def test_arguments_are_counted(self):
        done = run(PROBE, "probe")
        self.assertEqual(done.returncode, 2)
        self.assertIn("waymark probe: takes P [Q], got 0 arguments", done.stderr)
        self.assertEqual(run(PROBE, "probe", "a", "b", "c").returncode, 2)
        self.assertIn("takes no arguments, got 'x'", run(PROBE, "pair", "one", "x").stderr)

    def test_streams(self):
        done = run(PROBE, "probe", "x")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "n 3\n", "at work\n"))
        done = run(PROBE, "probe", "x", "--quiet")
        self.assertEqual((done.stdout, done.stderr), ("n 3\n", ""))
        done = run(PROBE, "probe", "x", "--json", "-q", "--seed", "9")
        summary = json.loads(done.stdout)
        self.assertEqual(list(summary)[:4], ["command", "seconds", "seed", "threads"])
        self.assertEqual((summary["command"], summary["seed"], summary["n"]), ("probe", 9, 3))
        self.assertGreater(summary["seconds"], 0)
        self.assertEqual(done.stderr, "")

    def test_exit_codes(self):
        done = run(PROBE, "probe", "x", "--fail", "-q")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "waymark probe: train.csv:17: no\n")
        done = run(PROBE, "probe", "x", "--wrong", "-q")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'x' and 3 do not go together\n`waymark help probe`", done.stderr)
        self.assertEqual(run(PROBE, "probe", "x", "--doubt").returncode, 0)
        self.assertEqual(run(PROBE, "probe", "x", "--doubt", "--strict").returncode, 3)
        self.assertEqual(run(PROBE, "probe", "x", "--strict").returncode, 0)

    def test_run_folder(self):
        out = self.path("run")
        self.assertEqual(run(PROBE, "probe", "x", "-o", out, "--size", "large", "--n", "7",
                             "--seed", "5").returncode, 0)
        config = json.loads(self.read("run", "config.json"))
        self.assertEqual((config["command"], config["arguments"], config["size"], config["n"],
                          config["seed"], config["threads"]),
                         ("probe", ["x"], "large", 7, 5, None))
        for transient in ("out", "resume", "overwrite", "json", "quiet", "config", "time-limit"):
            self.assertNotIn(transient, config)
        self.assertEqual(json.loads(self.read("run", "summary.json"))["n"], 7)
        self.assertEqual(self.read("run", "metrics.jsonl"), '{"step": 7}\n')

        done = run(PROBE, "probe", "x", "-o", out)
        self.assertEqual(done.returncode, 1)
        self.assertIn("holds a run of 'probe'", done.stderr)
        # A resume takes the settings and arguments of the run; the command line still wins.
        done = run(PROBE, "probe", "-o", out, "--resume", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads(done.stdout)
        self.assertEqual((summary["n"], summary["seed"], summary["resumed"]), (7, 5, True))
        done = run(PROBE, "probe", "-o", out, "--resume", "--json", "--n", "8")
        self.assertEqual(json.loads(done.stdout)["n"], 8)
        self.assertEqual(run(PROBE, "probe", "x", "-o", out, "--overwrite").returncode, 0)
        self.assertEqual(self.read("run", "metrics.jsonl"), '{"step": 3}\n')
        # The written config repeats the run elsewhere.
        done = run(PROBE, "probe", "--config", self.path("run", "config.json"), "--json")
        self.assertEqual(json.loads(done.stdout)["n"], 3)

    def test_options_of_the_folder_need_one(self):
        for words, says in ((["--resume"], "--resume needs the run folder"),
                            (["--overwrite"], "--overwrite needs the run folder"),
                            (["-o", "x", "--resume", "--overwrite"], "exclude each other")):
            done = run(PROBE, "probe", "x", *words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(says, done.stderr)

    def test_every_run_has_its_page(self):
        self.assertEqual(run(PROBE, "probe", "x", "-o", self.path("run")).returncode, 0)
        self.assertIn("<h1>waymark probe</h1>", self.read("run", "report.html"))

    def test_a_run_that_fails_at_its_start_leaves_nothing(self):
        self.assertEqual(run(PROBE, "probe", "x", "--fail", "-o", self.path("deep", "run")).returncode, 1)
        self.assertEqual(os.listdir(self.path("deep")), [])
        os.mkdir(self.path("own"))
        with open(self.path("own", "notes.txt"), "w") as f:
            f.write("mine")
        self.assertEqual(run(PROBE, "probe", "x", "--fail", "-o", self.path("own")).returncode, 1)
        self.assertIn("notes.txt", os.listdir(self.path("own")))
        out = self.path("run")
        self.assertEqual(run(PROBE, "probe", "x", "-o", out).returncode, 0)
        before = sorted(os.listdir(out))
        self.assertEqual(run(PROBE, "probe", "-o", out, "--resume", "--fail").returncode, 1)
        self.assertEqual(sorted(os.listdir(out)), before)
        for name in ("stopped", "it's stopped"):  # what is stopped can go on, by what is printed
            child = self.wait_for("-o", self.path(name))
            child.send_signal(signal.SIGINT)
            _, said = child.communicate(timeout=60)
            self.assertIn("config.json", os.listdir(self.path(name)))
            words = shlex.split(said.split("Go on with: ")[1])
            self.assertEqual(words, ["waymark", "probe", "-o", self.path(name), "--resume"])

    def test_what_was_published_stays(self):
        out = self.path("run")
        done = run(PROBE, "probe", "x", "--early", "--json", "-o", out)
        self.assertEqual(done.returncode, 1)
        self.assertIn("gnuplot failed", done.stderr)
        self.assertEqual(json.loads(done.stdout)["n"], 3)
        self.assertEqual(json.loads(self.read("run", "summary.json"))["n"], 3)

    def wait_for(self, *words):
        child = subprocess.Popen([PROBE, "probe", "x", "--wait", *words], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "waiting\n")
        return child

    def test_a_signal_asks(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            child = self.wait_for()
            child.send_signal(number)
            _, said = child.communicate(timeout=60)
            self.assertEqual(child.returncode, 1)
            self.assertIn("stopping at the next step", said)
            self.assertIn("waymark probe: stopped: --resume goes on\n", said)
        child = self.wait_for("-q")
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.communicate(timeout=60)[1], "")

    def test_a_second_signal_kills(self):
        # The flag is read every millisecond; a stopped child gets both signals before it can.
        child = self.wait_for()
        child.send_signal(signal.SIGSTOP)
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGTERM)
        child.send_signal(signal.SIGCONT)
        child.communicate(timeout=60)
        self.assertIn(child.returncode, (-signal.SIGINT, -signal.SIGTERM))


unittest.main(argv=sys.argv[:1])
