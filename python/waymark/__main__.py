"""`python -m waymark ratio a.csv b.csv`: the command."""

from __future__ import annotations

import os
import shutil
import sys


def find_command() -> str:
    """The program that came with the package, or the one that is installed; never this script again."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_bin", "waymark")
    if os.access(own, os.X_OK):
        return own
    named = os.environ.get("WAYMARK_COMMAND") or shutil.which("waymark")
    if not named:
        sys.exit("waymark: the command is not installed: it comes with the wheel and with the package waymark; "
                 "WAYMARK_COMMAND may name it")
    with open(named, "rb") as f:
        if f.read(4) != b"\x7fELF":
            sys.exit(f"waymark: {named} is a script, not the command; WAYMARK_COMMAND may name it")
    return named


def main() -> None:
    command = find_command()
    os.execv(command, ["waymark", *sys.argv[1:]])


if __name__ == "__main__":
    main()
