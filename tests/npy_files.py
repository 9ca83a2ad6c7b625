"""npy files for the tests in Python: made and read by hand, because NumPy need not be there."""

import math
import struct

CODES = {"|u1": "B", "|b1": "?", "<f8": "d"}  # of struct


def file(header, data=b"", version=1, length=None):
    """The bytes of a file with this header text; length overrides what it says of its header."""
    text = header.encode("latin1") + b"\n"
    size = len(text) if length is None else length
    return (b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", size)
            + text + data)


def header(descr, shape, order=False):
    return f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"


def head(descr, shape):
    """What stands before the numbers, padded as NumPy does it."""
    text = header(descr, shape)
    return file(text + " " * (-(len(text) + 11) % 64))


def write(path, shape, values, descr="<f8"):
    with open(path, "wb") as f:
        f.write(head(descr, shape))
        f.write(struct.pack(f"<{len(values)}{CODES[descr]}", *values))


def read(path, descr="<f8"):
    """Shape and values, in the order of the file."""
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    start = 10 + struct.unpack("<H", data[8:10])[0]
    got = eval(data[10:start])  # a literal of our own making
    assert got["descr"] == descr and not got["fortran_order"] and start % 64 == 0, got
    return got["shape"], struct.unpack(f"<{math.prod(got['shape'])}{CODES[descr]}", data[start:])
