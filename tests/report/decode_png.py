#!/usr/bin/env python3
"""decode_png.py FILE OUT: the pixels of an 8-bit PNG, decoded by hand, as a text of sizes and then bytes.

OUT begins with a line "width height channels". Every checksum is looked at; anything odd raises. Standard
library only: an opinion of libpng that is not libpng's."""

import struct
import sys
import zlib


def chunks(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at = 8
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + n]
        assert struct.unpack(">I", data[at + 8 + n:at + 12 + n])[0] == zlib.crc32(kind + body)
        yield kind, body
        at += 12 + n
    assert kind == b"IEND" and at == len(data)


def paeth(a, b, c):
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]


def decode(data):
    parts = list(chunks(data))
    width, height, depth, colour, method, filters, interlace = struct.unpack(">IIBBBBB", parts[0][1])
    assert parts[0][0] == b"IHDR" and (depth, method, filters, interlace) == (8, 0, 0, 0)
    c = {0: 1, 2: 3}[colour]
    raw = zlib.decompress(b"".join(body for kind, body in parts if kind == b"IDAT"))
    stride = width * c
    assert len(raw) == height * (stride + 1)
    above, out = bytearray(stride), bytearray()
    for y in range(height):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            a, b, d = line[i - c] if i >= c else 0, above[i], above[i - c] if i >= c else 0
            line[i] = (line[i] + (0, a, b, (a + b) // 2, paeth(a, b, d))[kind]) & 255
        out += line
        above = line
    return width, height, c, bytes(out)


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as f:
        w, h, c, pixels = decode(f.read())
    with open(sys.argv[2], "wb") as f:
        f.write(b"%d %d %d\n" % (w, h, c) + pixels)
