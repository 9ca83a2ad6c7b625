#!/usr/bin/env python3
"""png_files.py good OUT: small PNG images of every kind into OUT, each with NAME.txt: height, width, channels, then the
pixels that a reader must give. png_files.py bad: rewrite bad_png/ beside this script, malformed ones, with EXPECTED.
Written by hand with zlib, so that libpng is not judged by itself. The bytes do not depend on the day."""

import os
import struct
import sys
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(kind, body, crc=None):
    return (struct.pack(">I", len(body)) + kind + body
            + struct.pack(">I", zlib.crc32(kind + body) if crc is None else crc))


def header(w, h, depth, colour, interlace=0):
    return chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, depth, colour, 0, 0, interlace))


def png(w, h, depth, colour, lines, extra=b"", interlace=0):
    """lines: bytes of each row, with its filter byte."""
    return (SIGNATURE + header(w, h, depth, colour, interlace) + extra + chunk(b"IDAT", zlib.compress(b"".join(lines)))
            + chunk(b"IEND", b""))


def good(out):
    files = {}

    def add(name, data, h, w, c, pixels):
        assert len(pixels) == h * w * c, name
        files[name] = (data, h, w, c, pixels)

    grey = [[(37 * r + 11 * c) % 256 for c in range(5)] for r in range(4)]
    flat = [x for row in grey for x in row]
    add("grey8", png(5, 4, 8, 0, [b"\0" + bytes(r) for r in grey]), 4, 5, 1, flat)
    sub = [b"\1" + bytes((r[c] - (r[c - 1] if c else 0)) % 256 for c in range(5)) for r in grey]
    add("filter1", png(5, 4, 8, 0, sub), 4, 5, 1, flat)
    add("bit1", png(11, 2, 1, 0, [b"\0\xa5\xe0", b"\0\x01\x20"]), 2, 11, 1,
        [255 * int(b) for b in "10100101111" + "00000001001"])
    add("bit2", png(4, 1, 2, 0, [b"\0\x1b"]), 1, 4, 1, [0, 85, 170, 255])
    add("bit4", png(3, 1, 4, 0, [b"\0\x0f\x70"]), 1, 3, 1, [0, 255, 119])
    rgb = [1, 2, 3, 250, 128, 0, 9, 8, 7, 255, 255, 255]
    add("rgb8", png(2, 2, 8, 2, [b"\0" + bytes(rgb[:6]), b"\0" + bytes(rgb[6:])]), 2, 2, 3, rgb)
    palette = chunk(b"PLTE", bytes([10, 20, 30, 200, 100, 50, 0, 0, 0]))
    add("palette", png(3, 1, 8, 3, [b"\0\1\0\2"], palette), 1, 3, 3, [200, 100, 50, 10, 20, 30, 0, 0, 0])
    add("palette1", png(3, 1, 1, 3, [b"\0\x40"], chunk(b"PLTE", bytes([0, 0, 0, 255, 255, 255]))), 1, 3, 3,
        [0] * 3 + [255] * 3 + [0] * 3)
    add("alpha", png(2, 1, 8, 4, [b"\0" + bytes([7, 0, 40, 255])]), 1, 2, 1, [255, 40])  # transparent: white
    # Interlaced, 2 x 2: pass 1 has the first pixel, pass 6 the one right of it, pass 7 the second row.
    add("interlaced", png(2, 2, 8, 0, [b"\0\x05", b"\0\x06", b"\0\x07\x08"], interlace=1), 2, 2, 1, [5, 6, 7, 8])
    for name, (data, h, w, c, pixels) in files.items():
        with open(os.path.join(out, name + ".png"), "wb") as f:
            f.write(data)
        with open(os.path.join(out, name + ".txt"), "w") as f:
            print(h, w, c, *pixels, file=f)


def bad(out):
    lines = [b"\0" + bytes(range(8))] * 8
    fine = png(8, 8, 8, 0, lines)
    idat = fine.index(b"IDAT")
    files = [
        ("empty.png", b"", "does not begin as a PNG image does"),
        ("text.png", b"hello, this is no image", "does not begin as a PNG image does"),
        ("newlines.png", fine.replace(b"\r\n", b"\n", 1), "does not begin as a PNG image does"),
        ("cut_header.png", fine[:30], "cut short: ends within its header"),
        ("cut_data.png", fine[:idat + 12], "cut short: ends after"),
        ("cut_end.png", fine[:-1], "cut short: ends after"),
        ("no_end.png", fine[:-12], "cut short: ends after"),
        ("long_chunk.png", fine[:idat - 4] + struct.pack(">I", 0x7fffffff) + fine[idat:], "cut short: ends after"),
        ("huge.png", SIGNATURE + header(2**31 - 1, 2**31 - 1, 8, 0) + fine[33:],
         "says it has 2147483647 x 2147483647 pixels, expected 1 to 4096 a side"),
        ("wide.png", png(4097, 1, 8, 0, [bytes(4098)]), "says it has 4097 x 1 pixels"),
        ("zero.png", png(0, 8, 8, 0, []), "says it has 0 x 8 pixels"),
        ("no_header.png", SIGNATURE + chunk(b"tEXt", bytes(30)) + fine[33:], "a PNG without a header"),
        ("sum.png", fine[:idat + 10] + bytes([fine[idat + 10] ^ 1]) + fine[idat + 11:], "damaged: "),
        ("few_lines.png", png(8, 8, 8, 0, lines[:5]), "damaged: "),
        ("filter.png", png(8, 8, 8, 0, [b"\x09" + bytes(8)] * 8), "damaged: "),
        ("depth.png", png(8, 8, 3, 0, lines), "damaged: "),
        ("colour.png", png(8, 8, 8, 1, lines), "damaged: "),
        ("no_palette.png", png(8, 8, 8, 3, lines), "damaged: "),
        ("no_data.png", SIGNATURE + header(8, 8, 8, 0) + chunk(b"IEND", b""), "damaged: "),
    ]
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "EXPECTED"), "w", newline="\n") as f:
        for name, data, words in files:
            f.write(f"{name}\t{words}\n")
            with open(os.path.join(out, name), "wb") as g:
                g.write(data)


if sys.argv[1] == "good":
    good(sys.argv[2])
else:
    bad(os.path.join(os.path.dirname(os.path.abspath(__file__)), "bad_png"))
