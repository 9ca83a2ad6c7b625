#!/usr/bin/env python3
"""omniglot_files.py OUT: small sets in the form of Omniglot's image folders and zip files, good and bad, into OUT, and
OUT/ink.txt: what one 105 x 105 drawing becomes at 28 x 28, computed with exact fractions. Standard library only."""

import os
import random
import struct
import sys
import zipfile
import zlib
from fractions import Fraction


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(side, depth, lines):
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, depth, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + line for line in lines))) + chunk(b"IEND", b""))


def plain(ink):
    """28 x 28, all of this ink."""
    return png(28, 8, [bytes([255 - ink]) * 28] * 28)


def bits(rows):
    """One bit a pixel; 1 is white."""
    return png(len(rows), 1, [bytes(int("".join(str(1 - b) for b in row[i:i + 8]).ljust(8, "0"), 2)
                                    for i in range(0, len(row), 8)) for row in rows])


def average(rows, side=28):
    n, out = len(rows), []
    for r in range(side):
        for c in range(side):
            total = Fraction(0)
            for y in range(r * n // side, -(-(r + 1) * n // side)):
                high = min(Fraction(y + 1), Fraction((r + 1) * n, side)) - max(Fraction(y), Fraction(r * n, side))
                for x in range(c * n // side, -(-(c + 1) * n // side)):
                    wide = min(Fraction(x + 1), Fraction((c + 1) * n, side)) - max(Fraction(x), Fraction(c * n, side))
                    total += high * wide * rows[y][x]
            out.append(int(255 * total / Fraction(n, side) ** 2 + Fraction(1, 2)))
    return out


def code(a, c, v):
    return 60 * a + 12 * c + 3 * v + 1


def tree():
    """Two background alphabets and one evaluation alphabet, two drawings of each character."""
    files = {}
    for a, (part, name, size) in enumerate((("background", "Tau", 2), ("background", "Pi", 3), ("evaluation", "Mu", 2))):
        for c in range(size):
            for v in range(2):
                files[f"images_{part}/{name}/character{c + 1:02}/{a:02}{c:02}_{v + 1:02}.png"] = plain(code(a, c, v))
    return files


def write_folder(root, files):
    for name, data in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)


def write_zip(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in sorted(files.items(), reverse=True):
            z.writestr(name, data)


def main():
    out = sys.argv[1]
    good = tree()
    clutter = {"README.md": b"words", "preview.png": plain(9), "images_background/.hidden/x/y.png": b"",
               "strokes_background/Tau/character01/0000_01.txt": b"0,0"}
    write_folder(os.path.join(out, "tree"), {**good, **clutter})
    write_zip(os.path.join(out, "tree.zip"), {**good, "__MACOSX/images_background/Tau/character01/._x.png": b"?"})
    write_folder(os.path.join(out, "bare"), {n.split("/", 1)[1]: d for n, d in good.items() if "background" in n})

    rng = random.Random(5)
    rows = [[int(rng.random() < 0.3) for _ in range(105)] for _ in range(105)]
    write_folder(os.path.join(out, "real"), {"A/character01/x.png": bits(rows)})
    with open(os.path.join(out, "ink.txt"), "w") as f:
        print(*average(rows), file=f)

    pi = "images_background/Pi/character02/0101_02.png"
    write_folder(os.path.join(out, "cut"), {**good, pi: good[pi][:-20]})
    write_zip(os.path.join(out, "cut.zip"), {**good, pi: good[pi][:60]})
    write_folder(os.path.join(out, "fewer"), {n: d for n, d in good.items() if n != pi})
    write_folder(os.path.join(out, "empty"), good)
    os.makedirs(os.path.join(out, "empty", "images_background", "Rho"))
    write_folder(os.path.join(out, "flat"), {"a.png": plain(1), "b/c.png": plain(2)})
    write_folder(os.path.join(out, "words"), {"a.txt": b"1"})
    write_zip(os.path.join(out, "words.zip"), {"a.txt": b"1"})
    with open(os.path.join(out, "tree.zip"), "rb") as f:
        data = f.read()
    with open(os.path.join(out, "short.zip"), "wb") as f:
        f.write(data[:-40])
    with open(os.path.join(out, "sum.zip"), "wb") as f:
        at = data.index(b".png") + 30  # inside the first member's data
        f.write(data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1:])


main()
