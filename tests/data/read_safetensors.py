#!/usr/bin/env python3
"""read_safetensors.py FILE: read a safetensors file with the standard library alone, as the format's
README describes it, and print what it holds: an independent reader for test_safetensors.c.

One line for each metadata pair ("key=value") in key order, then one for each tensor in file order:
name, type, shape, the offset of its data in the file modulo 64, and its values."""

import json
import struct
import sys

CODES = {"F32": "f", "F64": "d", "I64": "q", "U64": "Q", "I32": "i", "U8": "B"}


def main():
    with open(sys.argv[1], "rb") as f:
        data = f.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length].decode("utf-8"))
    base = 8 + length
    for key, value in sorted(header.pop("__metadata__", {}).items()):
        print(f"{key}={value}")
    at = 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        count = 1
        for size in entry["shape"]:
            count *= size
        code = CODES[entry["dtype"]]
        if begin != at or end - begin != count * struct.calcsize("<" + code):
            sys.exit(f"{name}: bytes {begin} to {end}, expected from {at}")
        if (base + begin) % struct.calcsize("<" + code):
            sys.exit(f"{name}: not aligned")
        values = struct.unpack(f"<{count}{code}", data[base + begin:base + end])
        print(name, entry["dtype"], entry["shape"], (base + begin) % 64, list(values))
        at = end
    if base + at != len(data):
        sys.exit(f"{len(data) - base - at} bytes left over")


main()
