#!/usr/bin/env python3
"""make_bad.py [FOLDER]: write the malformed files of npy, npz, IDX, safetensors, gzip and other tools into
FOLDER (default: bad/ beside this script), a folder a format, each with its EXPECTED list.

EXPECTED has a line for each file: its name (with :NAME where an array is asked for), a tab, and words of the
message that a reader must give. test_bad_files.c holds every folder of bad/ to its list, those not made here
too. Standard library only; the bytes do not depend on the day."""

import gzip
import io
import json
import os
import struct
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import npy_files
from npy_files import file as npy

FILES = {}


def bad(name, data, words):
    """name: folder/file[:array]; a file may be listed more than once."""
    folder, rest = name.split("/")
    FILES.setdefault(folder, []).append((rest, data, words))


# --- npy -----------------------------------------------------------------------------------------


def simple(descr="<f8", shape="(2, 2)", data=bytes(32), order="False"):
    return npy(npy_files.header(descr, shape, order), data)


def doubles(*values):
    return struct.pack(f"<{len(values)}d", *values)


def make_npy():
    good = simple()
    bad("npy/empty.npy", b"", "the file is empty")
    bad("npy/text.npy", b"a,b\n1,2\n", "does not begin as an npy file does")
    bad("npy/magic.npy", good[:6], "cut short: ends within its header")
    bad("npy/version.npy", npy("", version=9), "npy version 9.0, expected 1 to 3")
    bad("npy/cut_length.npy", good[:9], "cut short: ends within its header")
    bad("npy/cut_header.npy", good[:40], "cut short: ends within its header")
    bad("npy/huge_header.npy", npy("", version=2, length=0xffffffff), "says its header has 4294967295 bytes")
    bad("npy/no_dict.npy", npy("[1, 2]"), "header, byte 1: expected '{'")
    bad("npy/open_dict.npy", npy("{'descr': '<f8'"), "expected ',' or '}'")
    bad("npy/open_text.npy", npy("{'descr: '"), "expected descr, fortran_order and shape, once each")
    bad("npy/no_shape.npy", npy("{'descr': '<f8', 'fortran_order': False}"),
        "expected descr, fortran_order and shape")
    bad("npy/other_key.npy", npy("{'descr': '<f8', 'color': False}"),
        "expected descr, fortran_order and shape, once each")
    bad("npy/twice.npy", npy("{'descr': '<f8', 'descr': '<f8'}"),
        "expected descr, fortran_order and shape, once each")
    bad("npy/after.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} + {}"), "expected the end")
    bad("npy/order.npy", simple(order="0"), "expected True or False")
    bad("npy/shape_list.npy", simple(shape="[2, 2]"), "expected '(' of the shape")
    bad("npy/shape_number.npy", simple(shape="(4)"), "expected ',' after the only size")
    bad("npy/shape_float.npy", simple(shape="(2.0, 2)"), "expected ',' or ')' in the shape")
    bad("npy/shape_word.npy", simple(shape="(two, 2)"), "expected a size")
    bad("npy/shape_digits.npy", simple(shape="(99999999999999999999, 2)"),
        "expected a size that can be addressed")
    bad("npy/shape_axes.npy", simple(shape="(" + "1, " * 33 + ")", data=bytes(8)), "expected at most 32 axes")
    bad("npy/shape_negative.npy", simple(shape="(-2, 2)"), "shape (-2, 2): a size is negative")
    bad("npy/shape_overflow.npy", simple(shape="(4294967296, 4294967296)"), "rows of more than 16777216 columns")
    bad("npy/shape_product.npy", simple(shape="(9223372036854775807, 2)"), "is more than can be addressed")
    bad("npy/shape_width.npy", simple(shape="(2, 4294967296, 4294967296, 4)"), "is more than can be addressed")
    bad("npy/lies.npy", simple(shape="(1000000000, 10)"),
        "shape (1000000000, 10) of float64 needs 80000000000 bytes, 32 are there: it is cut short")
    bad("npy/cut_data.npy", good[:-1], "shape (2, 2) of float64 needs 32 bytes, 31 are there: it is cut short")
    bad("npy/more_data.npy", good + b"x", "shape (2, 2) of float64 needs 32 bytes, 33 are there: too many")
    bad("npy/rank0.npy", simple(shape="()", data=bytes(8)), "a single number; rows of samples are needed")
    bad("npy/no_rows.npy", simple(shape="(0, 2)", data=b""), "has no rows")
    bad("npy/no_rows1.npy", simple(shape="(0,)", data=b""), "has no rows")
    bad("npy/no_columns.npy", simple(shape="(2, 0)", data=b""), "shape (2, 0): its rows have no columns")
    bad("npy/complex.npy", simple("<c16", data=bytes(64)), "type '<c16' is complex numbers: save real and")
    bad("npy/object.npy", simple("|O", data=b"\x80\x04N."), "type '|O' is Python objects (a pickle)")
    bad("npy/bytes.npy", simple("|S4", data=bytes(16)), "type '|S4' is texts: save numbers, or a CSV")
    bad("npy/unicode.npy", simple("<U4", data=bytes(64)), "type '<U4' is texts: save numbers, or a CSV")
    bad("npy/date.npy", simple("<M8[ns]"), "type '<M8[ns]' is dates: save numbers")
    bad("npy/span.npy", simple("<m8[s]"), "type '<m8[s]' is spans of time: save numbers")
    bad("npy/long_double.npy", simple("<f16", data=bytes(64)), "type '<f16' is floats of another width")
    bad("npy/void.npy", simple("|V8"), "type '|V8' is raw records")
    bad("npy/odd.npy", simple("<i3", data=bytes(12)), "type '<i3' is not known")
    bad("npy/no_type.npy", simple(""), "type '' is not known")
    bad("npy/fields.npy", npy("{'descr': [('a', '<f8'), ('b', '<i4')], 'fortran_order': False, 'shape': (1,), }",
                              bytes(12)), "a structured array (named fields): save its fields as the columns")
    bad("npy/bool7.npy", simple("|b1", data=b"\0\1\7\0"), "row 2, column 1: 7 is no bool, which is 0 or 1")
    bad("npy/int64.npy", simple("<i8", data=struct.pack("<4q", 1, 2**53, -2**53 - 1, 3)),
        "row 2, column 1: -9007199254740993 cannot be held exactly (beyond 2^53)")
    bad("npy/uint64.npy", simple(">u8", data=struct.pack(">4Q", 1, 2**64 - 1, 2, 3)),
        "row 1, column 2: 18446744073709551615 cannot be held exactly (beyond 2^53)")
    bad("npy/nan.npy", simple(data=doubles(1, 2, 3, float("nan"))), "row 2, column 2: the value is missing (NaN)")
    bad("npy/inf.npy", simple(data=doubles(1, float("-inf"), 3, 4)), "row 1, column 2: -inf is not a value")
    bad("npy/inf_fortran.npy", simple(data=doubles(1, float("inf"), 3, 4), order="True"),
        "row 2, column 1: inf is not a value")
    bad("npy/half_nan.npy", simple("<f2", data=bytes(6) + b"\0\x7e"), "row 2, column 2: the value is missing")
    bad("npy/gzipped.npy", gzip.compress(good[:-8], mtime=0), "ends within row 2 of 2")
    bad("npy/gzipped_more.npy", gzip.compress(good + bytes(8), mtime=0), "bytes after the last row, 2")
    bad("npy/gzipped_lies.npy", gzip.compress(simple(shape="(1000000000, 1000)"), mtime=0),
        "ends within row 1 of 1000000000")
    bad("npy/gzipped_fortran.npy", gzip.compress(simple(shape="(1000000000, 1000)", order="True"), mtime=0),
        "ends after 32 of 8000000000000 bytes")
    bad("npy/named.npy:x", good, "npy files have no named arrays, so no 'x'")


# --- npz -----------------------------------------------------------------------------------------


def npz(members, method=zipfile.ZIP_STORED):
    """As numpy.savez does it: every member written with ZIP64 sizes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            with z.open(info, "w", force_zip64=True) as f:
                f.write(data)
    return out.getvalue()


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1:]


def make_npz():
    good = simple(data=doubles(1, 2, 3, 4))
    two = npz([("p.npy", good), ("q.npy", good)])
    one = npz([("x.npy", good)])
    deflated = npz([("x.npy", good)], zipfile.ZIP_DEFLATED)
    bad("npz/empty.npz", b"", "the file is empty")
    bad("npz/text.npz", b"not a zip", "not a zip file, or cut short")
    bad("npz/cut.npz", one[:-30], "not a zip file, or cut short")
    bad("npz/head.npz", one[:20], "not a zip file, or cut short")
    bad("npz/nothing.npz", npz([]), "a zip file without an .npy array in it")
    bad("npz/other.npz", npz([("a.txt", b"hello")]), "a zip file without an .npy array in it")
    bad("npz/two.npz", two, "has 2 arrays: say which, as in FILE:NAME; p, q")
    bad("npz/two.npz:r", two, "has no array 'r'; it has p, q")
    bad("npz/many.npz", npz([(f"an_array_of_a_long_name_{i}.npy", good) for i in range(9)]),
        "say which, as in FILE:NAME; an_array_of_a_long_name_0, an_array_of_a_long_name_1, ...")
    bad("npz/sum.npz", flip(one, one.index(doubles(3)) + 6), "damaged: CRC error")
    bad("npz/deflate.npz", flip(deflated, deflated.index(b"x.npy") + 40), "deflate.npz:x: damaged: ")
    bad("npz/cut_member.npz", npz([("x.npy", good[:-8])]), "needs 32 bytes, 24 are there: it is cut short")
    bad("npz/more_member.npz", npz([("x.npy", good + bytes(8))]), "needs 32 bytes, 40 are there: too many")
    bad("npz/no_npy.npz", npz([("x.npy", b"hello")]), "no_npy.npz:x: does not begin as an npy file does")
    bad("npz/object.npz", npz([("x.npy", simple("|O", data=b"N."))]), "Python objects (a pickle)")
    central = one.index(b"PK\1\2")
    bad("npz/method.npz", one[:8] + b"\x61\0" + one[10:central + 10] + b"\x61\0" + one[central + 12:],
        "method.npz:x: cannot be opened: Compression method not supported")
    bad("npz/nan.npz", npz([("x.npy", simple(data=doubles(1, float("nan"), 3, 4)))], zipfile.ZIP_DEFLATED),
        "row 1, column 2: the value is missing (NaN)")
    bad("npz/gzipped.npz", gzip.compress(one, mtime=0), "is read from a file, not from a pipe or through gzip")


# --- IDX -----------------------------------------------------------------------------------------


def idx(code, sizes, data):
    return bytes([0, 0, code, len(sizes)]) + struct.pack(f">{len(sizes)}I", *sizes) + data


def make_idx():
    good = idx(8, (2, 3), bytes(6))
    bad("idx/empty.idx", b"", "the file is empty")
    bad("idx/magic.idx", b"\1" + good[1:], "does not begin as an IDX file does")
    bad("idx/type.idx", idx(10, (2, 3), bytes(6)), "IDX type 0x0a is not one of 08, 09, 0b to 0e")
    bad("idx/rank0.idx", idx(8, (), b"\1"), "IDX of rank 0, expected 1 to 4")
    bad("idx/rank5.idx", idx(8, (1, 1, 1, 1, 1), b"\1"), "IDX of rank 5, expected 1 to 4")
    bad("idx/cut_header.idx", good[:9], "cut short: ends within its header")
    bad("idx/cut.idx", good[:-1], "shape (2, 3) of uint8 needs 6 bytes, 5 are there: it is cut short")
    bad("idx/more.idx", good + b"\0", "shape (2, 3) of uint8 needs 6 bytes, 7 are there: too many")
    bad("idx/lies.idx", idx(14, (4294967295, 2, 2, 2), b""), "needs 274877906880 bytes, 0 are there")
    bad("idx/overflow.idx", idx(14, (4294967295,) * 4, b""), "is more than can be addressed")
    bad("idx/wide.idx", idx(8, (1, 5000, 5000), b""), "rows of more than 16777216 columns")
    bad("idx/no_rows.idx", idx(8, (0, 3), b""), "has no rows")
    bad("idx/no_columns.idx", idx(8, (3, 0), b""), "shape (3, 0): its rows have no columns")
    bad("idx/nan.idx", idx(13, (2,), struct.pack(">2f", 1, float("nan"))), "row 2, column 1: the value is missing")
    bad("idx/cut.idx.gz", gzip.compress(good[:-1], mtime=0), "ends within row 2 of 2")
    bad("idx/more.idx.gz", gzip.compress(good + b"\0", mtime=0), "bytes after the last row, 2")
    bad("idx/lies.idx.gz", gzip.compress(idx(14, (4294967295, 9), b""), mtime=0), "ends within row 1 of 4294967295")


# --- safetensors ---------------------------------------------------------------------------------


def safetensors(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def make_safetensors():
    good = safetensors({"x": entry("F32", [2, 2], 0, 16)}, bytes(16))
    two = {"x": entry("F32", [2], 0, 8), "y": entry("F32", [2], 8, 16)}
    bad("safetensors/empty.safetensors", b"", "the file is empty")
    bad("safetensors/short.safetensors", b"\2\0\0", "3 bytes, too short for a safetensors file")
    bad("safetensors/lies.safetensors", safetensors(b"{}", length=2**63), "says its header has 9223372036854775808")
    bad("safetensors/cut_header.safetensors", good[:30], "cut short: a header of")
    bad("safetensors/array.safetensors", safetensors(b"[1]"), "header does not begin with '{'")
    bad("safetensors/json.safetensors", safetensors(b"{\"x\": }"), "header, byte 7:")
    bad("safetensors/cut.safetensors", good[:-1], "tensor 'x': ends at byte 16 of 15 data bytes: the file is cut")
    bad("safetensors/more.safetensors", good + b"\0", "1 bytes after the last tensor")
    bad("safetensors/overlap.safetensors",
        safetensors({"x": entry("F32", [2], 0, 8), "y": entry("F32", [2], 4, 12)}, bytes(12)),
        "tensor 'y': its bytes overlap those of another")
    bad("safetensors/gap.safetensors",
        safetensors({"x": entry("F32", [2], 0, 8), "y": entry("F32", [2], 12, 20)}, bytes(20)),
        "tensor 'y': bytes before it belong to no tensor")
    bad("safetensors/shape.safetensors", safetensors({"x": entry("F32", [-2, 2], 0, 16)}, bytes(16)),
        "its shape is not made of integers from 0 up")
    bad("safetensors/product.safetensors", safetensors({"x": entry("F32", [2**62, 8], 0, 16)}, bytes(16)),
        "its shape is too large")
    bad("safetensors/fits.safetensors", safetensors({"x": entry("F32", [3, 2], 0, 16)}, bytes(16)),
        "tensor 'x': 16 bytes for F32 [3, 2]")
    bad("safetensors/type.safetensors", safetensors({"x": entry("F8_E4M3", [2, 2], 0, 4)}, bytes(4)),
        "tensor 'x': type F8_E4M3 is not supported")
    bad("safetensors/none.safetensors", safetensors({"__metadata__": {"a": "b"}}), "without a tensor")
    bad("safetensors/two.safetensors", safetensors(two, bytes(16)), "has 2 tensors: say which, as in FILE:NAME; x, y")
    bad("safetensors/two.safetensors:z", safetensors(two, bytes(16)), "has no tensor 'z'; it has x, y")
    bad("safetensors/scalar.safetensors", safetensors({"x": entry("F32", [], 0, 4)}, bytes(4)),
        "scalar.safetensors:x: a single number; rows of samples are needed")
    bad("safetensors/no_rows.safetensors", safetensors({"x": entry("F32", [0, 2], 0, 0)}), "has no rows")
    bad("safetensors/no_columns.safetensors", safetensors({"x": entry("F32", [2, 0], 0, 0)}),
        "shape (2, 0): its rows have no columns")
    bad("safetensors/bool.safetensors", safetensors({"x": entry("BOOL", [2], 0, 2)}, b"\1\2"),
        "row 2, column 1: 2 is no bool")
    bad("safetensors/int.safetensors", safetensors({"x": entry("U64", [1], 0, 8)}, b"\xff" * 8),
        "row 1, column 1: 18446744073709551615 cannot be held exactly")
    bad("safetensors/bf16.safetensors", safetensors({"x": entry("BF16", [2], 0, 4)}, b"\0\0\x80\x7f"),
        "row 2, column 1: inf is not a value")
    bad("safetensors/gzipped.safetensors", gzip.compress(good, mtime=0), "not from a pipe or through gzip")


# --- gzip, and files of other tools --------------------------------------------------------------


def make_gzip():
    text = b"".join(b"%d,%d\n" % (i, i * i) for i in range(200))
    good = gzip.compress(text, mtime=0)
    bad("gzip/empty.csv.gz", gzip.compress(b"", mtime=0), "the file is empty")
    bad("gzip/cut.csv.gz", good[:-40], "the gzip data are cut short")
    bad("gzip/cut_sum.csv.gz", good[:-4], "the gzip data are cut short")
    bad("gzip/head.csv.gz", good[:6], "the gzip data are cut short")
    bad("gzip/sum.csv.gz", flip(good, len(good) - 8), "damaged gzip data: incorrect data check")
    bad("gzip/length.csv.gz", flip(good, len(good) - 4), "damaged gzip data: incorrect length check")
    bad("gzip/block.csv.gz", good[:10] + b"\xff" + good[11:], "damaged gzip data: invalid block type")
    bad("gzip/after.csv.gz", good + b"more", "bytes after the end of the gzip data")
    bad("gzip/second.csv.gz", good + good[:20], "the gzip data are cut short")


def make_foreign():
    bad("foreign/x.h5", b"\x89HDF\r\n\x1a\n" + bytes(64), "is an HDF5 file (or .mat 7.3): save the array as .npy")
    bad("foreign/records.json", b'[{"x": 1.5, "y": 2}, {"x": 2.5, "y": 3}]\n', "is JSON: pandas.read_json(FILE).to_csv(")
    bad("foreign/pretty.json", b'[\n  {"x": 1.5},\n  {"x": 2.5}\n]\n', "is JSON: pandas.read_json(FILE)")
    bad("foreign/lines.json", b'{"x": 1.5}\n{"x": 2.5}\n', "with lines=True where each line is a record")
    bad("foreign/page.csv", b"<!DOCTYPE html>\n<html>\n<p>Not found</p>\n", "is a web page, not a table")
    bad("foreign/x.parquet", b"PAR1\x15\x04\x15\x00" + bytes(64), "is a Parquet file: pandas.read_parquet(FILE).to_csv(")
    bad("foreign/x.arrow", b"ARROW1\0\0" + bytes(64), "is an Arrow file")
    bad("foreign/x.feather", b"FEA1" + bytes(64), "is a Feather file")
    bad("foreign/x.mat", b"MATLAB 5.0 MAT-file" + bytes(128), "is a MATLAB file")
    bad("foreign/x.pkl", b"\x80\x04\x95\x0b\0\0\0\0\0\0\0", "is a Python pickle, which is not read")
    bad("foreign/x.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(64), "is an Excel file: save it as CSV")
    bad("foreign/x.rda", gzip.compress(b"RDX3\nX\n" + bytes(20), mtime=0), "is an RData file")
    bad("foreign/x.csv.bz2", b"BZh91AY&SY\x12\x34", "is compressed with bzip2: unpack it")
    bad("foreign/x.csv.xz", b"\xfd7zXZ\0\0\4", "is compressed with xz: unpack it")
    bad("foreign/x.csv.zst", b"\x28\xb5\x2f\xfd\4\0", "is compressed with zstd: unpack it")
    bad("foreign/pointer.npy", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n",
        "is a pointer of Git LFS, not the data: run git lfs pull")
    bad("foreign/binary", bytes(range(256)), "neither npy, npz, IDX, safetensors nor text, so not CSV")
    bad("foreign/csv:a", b"1,2\n3,4\n", "csv files have no named arrays, so no 'a'")


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "bad")
    for make in (make_npy, make_npz, make_idx, make_safetensors, make_gzip, make_foreign):
        make()
    for folder, files in FILES.items():
        os.makedirs(os.path.join(root, folder), exist_ok=True)
        with open(os.path.join(root, folder, "EXPECTED"), "w", encoding="utf-8", newline="\n") as f:
            for name, data, words in files:
                f.write(f"{name}\t{words}\n")
                with open(os.path.join(root, folder, name.split(":")[0]), "wb") as g:
                    g.write(data)


main()
