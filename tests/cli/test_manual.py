"""Man pages and completions say what --help says. Arguments: the command, the folder of the manual."""

import os
import re
import shutil
import subprocess
import sys
import unittest

WAYMARK, MANUAL = sys.argv[1:3]


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def commands():
    text = run(WAYMARK, "help").partition("Commands\n")[2].partition("\n\n")[0]
    return [re.match(r"  (\S+(?: \S+)?)  ", line).group(1) for line in text.split("\n")]


def options(command):
    return re.findall(r"^ {2}(?:-\w, |    )(--[\w-]+)", run(WAYMARK, "help", *command.split()), re.M)


def complete(*words):
    """What bash offers for the last of the words."""
    script = (f'. "{MANUAL}/waymark.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _waymark; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    return run("bash", "-c", script, "bash", *words).split()


class Pages(unittest.TestCase):
    def test_every_command_has_a_page_with_its_options(self):
        self.assertGreater(len(commands()), 15)
        for command in commands():
            with open(os.path.join(MANUAL, "man1", f"waymark-{command.replace(' ', '-')}.1"), encoding="utf-8") as f:
                page = f.read().replace("\\-", "-")
            for option in options(command):
                if option != "--help":
                    self.assertIn(f"\\fB{option}\\fR", page, command)
            self.assertIn(".SH SYNOPSIS", page)

    def test_front_page_lists_all(self):
        with open(os.path.join(MANUAL, "man1", "waymark.1"), encoding="utf-8") as f:
            page = f.read().replace("\\-", "-")
        for command in commands():
            self.assertIn(f".BR waymark-{command.replace(' ', '-')} (1)", page)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_groff_has_nothing_to_say(self):
        for name in sorted(os.listdir(os.path.join(MANUAL, "man1"))):
            done = subprocess.run(["groff", "-man", "-ww", "-z", os.path.join(MANUAL, "man1", name)],
                                  capture_output=True, text=True)
            self.assertEqual(done.stderr, "", name)


@unittest.skipUnless(shutil.which("bash"), "bash is not installed")
class Bash(unittest.TestCase):
    def test_commands(self):
        self.assertEqual(complete("waymark", "ra"), ["ratio"])
        self.assertIn("embed", complete("waymark", "e"))

    def test_options(self):
        for command in commands():
            offered = complete("waymark", *command.split(), "--")
            self.assertEqual(sorted(offered), sorted(options(command)), command)

    def test_choices(self):
        self.assertEqual(complete("waymark", "ratio", "--objective", "n"), ["nwj"])
        self.assertEqual(complete("waymark", "reproduce", "pe"), ["peaked"])


class Zsh(unittest.TestCase):
    def test_every_option_is_in_it(self):
        with open(os.path.join(MANUAL, "_waymark"), encoding="utf-8") as f:
            text = f.read()
        for command in commands():
            part = text.partition(f"    '{command}')\n        _arguments")[2].partition(";;")[0]
            for option in options(command):
                if option != "--help":
                    self.assertIn(f"'{option}[", part, command)
        if shutil.which("zsh"):
            run("zsh", "-n", os.path.join(MANUAL, "_waymark"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
