#!/usr/bin/env python3
"""read_safetensors.py FILE: read a safetensors file with the standard library (and our checksum in Python), as the format's
README describes it, and print what it holds: an independent reader for test_safetensors.c.

One line for each metadata pair ("key=value") in key order but for the checksums, which must hold, then one for each tensor in file order:
name, type, shape, the offset of its data in the file modulo 64, and its values."""

import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from sealed import checksum

CODES = {"F32": "f", "F64": "d", "I64": "q", "U64": "Q", "I32": "i", "U8": "B"}


def main():
    with open(sys.argv[1], "rb") as f:
        data = f.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length].decode("utf-8"))
    base = 8 + length
    meta = header.get("__metadata__", {})
    sums = json.loads(meta.get("checksums", "{}"))
    whole = meta.pop("checksum", None)
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if whole is not None and checksum(text.encode("utf-8")) != whole:
        sys.exit("the checksum of the header does not hold")
    meta.pop("checksums", None)
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
        if whole is not None and checksum(data[base + begin:base + end]) != sums[name]:
            sys.exit(f"{name}: its checksum does not hold")
        values = struct.unpack(f"<{count}{code}", data[base + begin:base + end])
        print(name, entry["dtype"], entry["shape"], (base + begin) % 64, list(values))
        at = end
    if base + at != len(data):
        sys.exit(f"{len(data) - base - at} bytes left over")


main()
