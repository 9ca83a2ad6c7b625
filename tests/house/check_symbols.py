#!/usr/bin/env python3
"""check_symbols.py LIST LIBRARY [--update]: what the shared library exports is what LIST says, no more and no less.

A symbol that is new, renamed or gone is a change of the interface that others link to: it belongs
into LIST and into CHANGELOG.md. --update rewrites LIST from the library."""

import subprocess
import sys


def exported(library):
    """Names of functions and data; those that a compiler adds begin with '.' or '_'."""
    out = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library], check=True,
                         capture_output=True, text=True).stdout
    return {line.split()[0].split("@")[0] for line in out.splitlines() if line[0] not in "._"}


def main():
    path, library = sys.argv[1:3]
    found = exported(library)
    if "--update" in sys.argv:
        with open(path, "w", encoding="ascii") as f:
            f.write("".join(name + "\n" for name in sorted(found)))
        return 0
    with open(path, encoding="ascii") as f:
        listed = set(f.read().split())
    for name in sorted(found - listed):
        print(f"{name}: exported, but not in {path}")
    for name in sorted(listed - found):
        print(f"{name}: in {path}, but not exported")
    if found != listed:
        print(f"If that is meant, say it in CHANGELOG.md and run\n  {' '.join(sys.argv)} --update")
    return int(found != listed)


if __name__ == "__main__":
    sys.exit(main())
