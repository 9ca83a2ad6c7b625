"""sealed.py: safetensors files that were changed on purpose, with checksums that hold again."""
import json


def checksum(data):
    """As src/base/checksum.h has it, in hexadecimal."""
    def mix(h, word):
        h = ((h ^ word) * 0x9e3779b97f4a7c15) % 2 ** 64
        return h ^ (h >> 29)

    h = mix(0x5761796d61726b31, len(data))
    for i in range(0, len(data), 8):
        h = mix(h, int.from_bytes(data[i:i + 8], "little"))
    return f"{mix(h, 0):016x}"


def sealed(data):
    """The file with the checksum of the header that it now has."""
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    old = header["__metadata__"].pop("checksum")
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return data.replace(old.encode(), checksum(text.encode()).encode(), 1)
