#!/usr/bin/env python3
"""make_corpus.py FOLDER: write the seeds of the fuzzers: FOLDER/<target>/* of small good files, the malformed
ones of tests/data/bad beside them, and FOLDER/<target>.dict of words that matter to the format.
Standard library only."""

import gzip
import io
import json
import os
import shutil
import struct
import sys
import zipfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import npy_files

BAD = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "data", "bad")


def npy(descr, shape, data, order=False, version=1):
    return npy_files.file(npy_files.header(descr, shape, order), data, version)


def npy_seeds():
    numbers = {"f2": "e", "f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H",
               "u4": "I", "u8": "Q"}
    for descr, code in numbers.items():
        for end in "<>":
            yield f"{descr}{'le' if end == '<' else 'be'}", npy(
                end + descr, "(3, 2)", struct.pack(f"{end}6{code}", 1, 2, 3, 2, 5, 0), version=1 + ord(code) % 3)
    yield "bool", npy("|b1", "(4,)", b"\0\1\1\0")
    yield "fortran", npy("<f4", "(2, 2, 2)", struct.pack("<8f", *range(8)), True)
    yield "holes", npy("<f8", "(3, 1)", struct.pack("<3d", 1.5, float("nan"), 4))
    yield "scalar", npy("<f8", "()", bytes(8))
    yield "none", npy("<f8", "(0, 3)", b"")


def npz(members, method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in members:
            with z.open(zipfile.ZipInfo(name), "w", force_zip64=True) as f:
                f.write(data)
    return out.getvalue()


def npz_seeds():
    x = npy("<f4", "(2, 2)", struct.pack("<4f", 1, 2, 3, 4))
    f = npy("<f4", "(2, 2)", struct.pack("<4f", 1, 2, 3, 4), True)
    for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
        yield name, npz([("x.npy", x)], method)
        yield name + "_fortran", npz([("x.npy", f)], method)
    yield "two", npz([("x.npy", x), ("y.npy", f)], zipfile.ZIP_STORED)


def idx_seeds():
    for code, letter in ((8, "B"), (9, "b"), (11, "h"), (12, "i"), (13, "f"), (14, "d")):
        yield f"type{code}", bytes([0, 0, code, 2]) + struct.pack(f">2I4{letter}", 2, 2, 1, 2, 3, 2)
    yield "rank4", bytes([0, 0, 8, 4]) + struct.pack(">4I", 2, 1, 2, 1) + b"abcd"


def safetensors_seeds():
    for dtype, code in (("F32", "f"), ("F64", "d"), ("F16", "e"), ("I8", "b"), ("U8", "B"), ("I64", "q"), ("BOOL", "?")):
        data = struct.pack(f"<4{code}", 1, 0, 1, 1)
        text = json.dumps({"x": {"dtype": dtype, "shape": [2, 2], "data_offsets": [0, len(data)]}}).encode()
        yield dtype, struct.pack("<Q", len(text)) + text + data
    text = json.dumps({"__metadata__": {"a": "b"}, "x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]},
                       "y": {"dtype": "F32", "shape": [0, 2], "data_offsets": [4, 4]}}).encode()
    yield "two", struct.pack("<Q", len(text)) + text + b"\x80\x3f\0\0"


def csv_seeds():
    yield "plain", b"1,2\n3,4.5\n-1e3,0\n"
    yield "header", b"a,b,c\n1,x,0.5\n2,y,1.5\n2,x,?\n"
    yield "quoted", b'"a ""b""","c\nd"\n"1","x,y"\n2,"z"\n'
    yield "tabs", b"x\ty\n1\t2\n3\t4\n"
    yield "spaces", b"1 2 3\n4 5 6\n"
    yield "semicolons", b"x;y\r\n1,5;2\r\n3;4\r\n"
    yield "bom", b"\xef\xbb\xbfx,y\n1,2\n"
    yield "missing", b"x,y\n1,\n,2\nNA,null\n3,NaN\n4,5\n"
    yield "comment", b"# note\n1,2\n\n3,4\n"
    yield "words", "name,größe\nä,1\nb,2\n".encode()
    yield "windows", "name,größe\nä,1 €\nb,2\n".encode("cp1252")
    accents = b"\xf9" * 3
    yield "windows_longer", (  # as UTF-8 it does not fit where its bytes did
        b"x\xbf\n" + accents + b"\xff" * 5 + b"\a\xf9" + accents + b"2,5\n" + accents + b"\xff" * 7 + b"\a\xf9" + accents + b"2,5")
    yield "utf16le", b"\xff\xfe" + "name,größe\nä,1\nb,2\n".encode("utf-16-le")
    yield "utf16be", b"\xfe\xff" + "name,größe\nä,1\nb,2\n".encode("utf-16-be")
    yield "big", b"123456789012345678901234567890,1e400,-inf,0x10,1_000\n"
    yield "column", b"1\n2\n\n3\n"


def schema_seeds():
    yield "one", b'{"columns":[{"kind":"continuous"}]}'
    yield "three", ('{"columns":[{"name":"a","kind":"continuous"},{"name":"b","kind":"integer"},'
                    '{"name":"größe","kind":"categorical","levels":["x","y","1"]}]}').encode()
    yield "escaped", b'{"columns": [{"name": "\\u00e4\\n", "kind": "categorical", "levels": []}]}'


def any_seeds():
    for kind in (npy_seeds, npz_seeds, idx_seeds, safetensors_seeds, csv_seeds):
        for name, data in list(kind())[:4]:
            yield f"{kind.__name__}_{name}", data
            yield f"{kind.__name__}_{name}_gz", gzip.compress(data, mtime=0)
    x = gzip.compress(b"1,2\n", mtime=0)
    yield "members_gz", x + gzip.compress(b"", mtime=0) + x + bytes(16)


def png_seeds():
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    for colour, name, depth, line in ((0, "grey", 8, bytes(4)), (0, "bit", 1, b"\xa0"), (2, "rgb", 8, bytes(12)),
                                      (3, "palette", 8, b"\0\1\0\1"), (6, "rgba", 8, bytes(16)),
                                      (0, "deep", 16, bytes(8))):
        palette = chunk(b"PLTE", bytes(6)) if colour == 3 else b""
        yield name, (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 2, depth, colour, 0, 0, 0)) + palette
                     + chunk(b"IDAT", zlib.compress((b"\0" + line) * 2)) + chunk(b"IEND", b""))


def run_seeds():
    config = b'{"command": "ratio", "version": "0.1.0", "seed": 1, "model": "quadratic"}'
    summary = (b'{"command": "ratio", "seconds": 1.5, "kl_pq": 0.5, "kl_pq_se": 0.01, "kl_pq_ci95": [0.4, 0.6], "units": '
               b'"nats", "verdict": "doubt", "reason": "x", "checks": [{"name": "chasm", "value": 1, "limit": null, "ok": '
               b'false, "outcome": "doubt", "meaning": "m", "advice": "a"}], "bridges": [{"k": 0, "alpha_from": 0, '
               b'"alpha_to": 1, "loss": 0.5, "accuracy": 0.7, "mean_log_ratio": 1}], "columns": [{"name": "a", "share": 0.5, '
               b'"kl": 0.1, "p": [0.5, 0.5], "q": [1, 0], "edges": [0, 1, 2]}], "rows": [{"a": 1, "b": "x"}], "pictures": '
               b'[{"file": "draws.png", "title": "t", "caption": "c"}]}')
    lines = (b'{"model": "mlp, round 1", "step": 5, "valid_loss": 0.5, "kl_pq": 1}\n{"stage": "bridges", "step": 20, '
             b'"train_loss": null}\n{"step": 30, "lo')
    manifest = b'{"waymark": "0.1.0", "files": ["metrics.jsonl", "config.json", "figures/bridges", "state-"]}'
    yield "whole", b"\x1e".join([config, summary, lines, manifest])
    yield "begun", b"\x1e".join([config, b"", b"", manifest])
    yield "foreign", b"\x1e".join([b'{"architectures": ["x"]}', b"{}", b"", b""])


def patch_seeds():
    """Which file (a byte), and patches of it: place, what is done, with what (patches.h)."""
    for kind in range(11):
        yield f"whole{kind}", bytes([kind])
        for i, place in enumerate((9, 60, 200, 700, 1500)):
            yield f"{kind}_{place}", bytes([kind]) + struct.pack("<HBB", place, i % 5 + 1, 0x39)


def config_seeds():
    whole = {"command": "ratio", "version": "0.1.0", "seed": 1, "model": "quadratic", "bridges": "auto", "spacing": "power:2",
             "lr": 0.01, "folds": 5, "arguments": ["p.csv", "q.csv"], "columns": "1-3", "batch": 10}
    for kind in range(7):
        yield f"ratio{kind}", bytes([kind]) + json.dumps(whole).encode()
        yield f"ebm{kind}", bytes([kind]) + (b'{"command": "ebm", "noise": "flow", "bridges": 3, "x-space": true, "checkpoint": '
                                             b'"1m30s", "iterations": -1, "check-steps": 1e3, "clip": 0.9, "keep": "a*"}')
    yield "not", b"\0[1, 2]"


JSON_WORDS = ['"', "{", "}", "[", "]", ":", ",", "null", "true", "\\\\u0000", "1e9", "-1"]
NPY_WORDS = ["'descr': ", "'fortran_order': ", "'shape': ", "True", "False", "(", ")", ",)", "<f8", ">i8", "|b1", "<c16",
             "[('a', '<f8')]", "9223372036854775807", "-1", "\\x93NUMPY", "\\x02\\x00", "\\x03\\x00"]
TARGETS = {  # seeds, bad folders, words
    "npy": (npy_seeds, ["npy"], NPY_WORDS),
    "npz": (npz_seeds, ["npz"], ["PK\\x01\\x02", "PK\\x03\\x04", "PK\\x05\\x06", "PK\\x06\\x06", "PK\\x06\\x07", ".npy",
                                 "\\xff\\xff\\xff\\xff", "\\x01\\x00\\x10\\x00", *NPY_WORDS]),
    "idx": (idx_seeds, ["idx"], ["\\x00\\x00\\x08\\x01", "\\x00\\x00\\x0d\\x02", "\\xff\\xff\\xff\\xff"]),
    "safetensors": (safetensors_seeds, ["safetensors"], [
        *JSON_WORDS, '"dtype"', '"shape"', '"data_offsets"', "__metadata__", "F32", "F64", "F16", "BF16", "I8", "U64",
        "BOOL"]),
    "csv": (csv_seeds, ["csv"], ['"', '""', ",", ";", "\\x09", "\\x0a", "\\x0d\\x0a", "NA", "nan", "inf", "null", "?",
                                 "1e308", "-0", ".5", "#", "\\xef\\xbb\\xbf", "9007199254740993"]),
    "tsv": (csv_seeds, ["csv"], ['"', "\\x09", "\\x0a", "NA", "1e308"]),
    "any": (any_seeds, ["gzip", "foreign"], ["\\x1f\\x8b\\x08", *NPY_WORDS]),
    "schema": (schema_seeds, [], [*JSON_WORDS, '"columns"', '"name"', '"kind"', '"levels"', '"continuous"', '"integer"',
                                  '"categorical"']),
    "run": (run_seeds, [], [*JSON_WORDS, "\\x1e", '"command"', '"version"', '"step"', '"checks"', '"columns"', '"files"',
                            '"rows"', '"edges"', '"levels"', '"pictures"', '"bridges"']),
    "model": (patch_seeds, [], ["\\x00\\x01", "\\x03\\x02", "\\x01\\x39"]),
    "state": (patch_seeds, [], ["\\x00\\x01", "\\x03\\x02"]),
    "config": (config_seeds, [], [*JSON_WORDS, '"command"', '"arguments"', '"model"', '"bridges"', '"auto"', '"spacing"', "list:0,1",
                                  '"iterations"', '"checkpoint"', '"columns"', '"missing"', '"noise"', '"out"']),
    "png": (png_seeds, ["../../images/bad_png"], ["IHDR", "IDAT", "IEND", "PLTE", "tRNS", "gAMA", "sRGB", "iCCP", "bKGD"]),
}


def main():
    root = sys.argv[1]
    for target, (seeds, folders, words) in TARGETS.items():
        folder = os.path.join(root, target)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name, data in seeds():
            with open(os.path.join(folder, "good_" + name), "wb") as f:
                f.write(data)
        for bad in folders:
            path = os.path.join(BAD, bad)
            for name in sorted(os.listdir(path)) if os.path.isdir(path) else []:
                if name != "EXPECTED":
                    shutil.copyfile(os.path.join(path, name), os.path.join(folder, f"{os.path.basename(bad)}_{name}"))
        with open(os.path.join(root, target + ".dict"), "w", encoding="utf-8") as f:
            for word in words:
                f.write('"' + word.replace('"', '\\"') + '"\n')


main()
