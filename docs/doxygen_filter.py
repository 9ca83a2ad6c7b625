#!/usr/bin/env python3
"""A header as Doxygen is to read it: our comments speak for all that stands with them, Doxygen's for one thing only.

`double lo, hi; /**< 95 % interval */` is about both fields, and a comment above two functions without
a blank line between them about both. Here it is said again for each, on the same lines."""

import re
import sys

NAME = r"\**\w+(?:\[\w+\])?"
FIELDS = re.compile(rf"^( +(?:const |unsigned )?\w+ )({NAME}(?:, {NAME})+);( */\*\*<.*?\*/)", re.M | re.S)
DECLARED = re.compile(r"(/\*\*(?!<)(?:(?!\*/).)*\*/)?(\s*)(^WM_API\b[^;{]*;)( */\*\*<)?", re.M | re.S)


def each_field(m):
    kind, names, comment = m.group(1), m.group(2).split(", "), m.group(3)
    line = re.sub(r"\s+", " ", comment)
    return "".join(f"{kind}{name};{line}" for name in names[:-1]) + f"{kind}{names[-1]};{comment}"


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        text = FIELDS.sub(each_field, f.read())
    shared = ""

    def each_function(m):
        nonlocal shared
        comment, space, declaration, own = m.groups()
        if comment:
            shared = comment
        elif own or space.count("\n") > 1:
            shared = ""
        elif shared:
            return space + re.sub(r"\s*\n \* ?", " ", shared) + " " + declaration
        return m.group(0)

    sys.stdout.write(DECLARED.sub(each_function, text))


if __name__ == "__main__":
    main()
