"""Just enough of the protocol buffer wire format to read a message without its schema."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10


def read_fields(blob: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Each field's number, wire type and value; a broken message ends where it breaks.

    A varint comes as a whole number, everything else as its bytes.
    """
    position, end = 0, len(blob)
    while position < end:
        key, position = _varint(blob, position)
        number, wire = key >> 3, key & 7
        if position < 0 or number == 0:
            return
        if wire == VARINT:
            value, position = _varint(blob, position)
            if position < 0:
                return
            yield number, wire, value
            continue
        if wire == BYTES:
            length, position = _varint(blob, position)
            if position < 0:
                return
        elif wire in (FIXED64, FIXED32):
            length = 8 if wire == FIXED64 else 4
        else:
            return
        if length > end - position:
            return
        yield number, wire, blob[position : position + length]
        position += length


def _varint(blob: bytes, position: int) -> tuple[int, int]:
    """The number at `position` and where it ends; the end is -1 when there is none."""
    if position < len(blob) and blob[position] < 0x80:
        return blob[position], position + 1  # nearly all are this short
    value = 0
    for index, byte in enumerate(blob[position : position + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position + index + 1
    return 0, -1
