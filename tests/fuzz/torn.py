"""What happens to sound files on real machines: pages lost in the middle, encodings mixed, numbers and nesting beyond
all bounds.

`inputs.py` bends single bytes and values; here whole stretches are gone, doubled, swapped or written by somebody else.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_CODECS = (
    *("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"),
    *("gb18030", "shift_jis", "cp437"),
)
_WORDS = ("損失", "迭代", "época", "Schritt", "потеря", "خسارة", "ステップ", "𝟙𝟚𝟛", "e\u0301" * 30)
# Digits that are none, numbers that are too many, signs where none belong.
_NUMBERS = (
    *("1e400", "-1e400", "9" * 320, "0." + "0" * 320 + "1", "1" * 5000, "0x1F", "1_000_000", "1,234,567.89", "-0"),
    *("１２３", "٣٤٥", "۱۲۳", "१२३", "²³", "½", "Ⅻ", "1e", "1.2.3", "--5", "+-5", "1e-400", "inf", "-nan", "∞"),
    *("18446744073709551616", "9223372036854775807", "-9223372036854775808", "2147483648", "4294967295", "0.1e-5e3"),
)
_PIECES = (
    *" 0a.,-:[=_━|/%(\t",
    *("0 ", "a ", "a=", "0, ", "a: 0 ", "- ", " |", "1/2 ", "0:0", "1.", "{'", '":', "it/s "),
)
_PAGE = 512


def damage(dice: random.Random, data: bytes) -> bytes:
    """A file after a crash, a full disk or two writers: stretches of its middle are not what they were."""
    for _ in range(dice.choice((1, 1, 2, 4))):
        if not data:
            break
        size = dice.choice((1, 7, 64, _PAGE, max(1, len(data) // 3)))
        at = dice.randrange(len(data))
        at -= at % _PAGE if dice.random() < 0.3 else 0
        piece, other = data[at : at + size], dice.randrange(len(data))
        match dice.randrange(7):
            case 0:  # blocks that were never written
                data = data[:at] + bytes(len(piece)) + data[at + size :]
            case 1:  # lost
                data = data[:at] + data[at + size :]
            case 2:  # written twice
                data = data[: at + size] + data[at:]
            case 3:  # begun once more in the middle
                data = data[:at] + data
            case 4:  # of another place
                data = data[:at] + data[other : other + size] + data[at + size :]
            case 5:  # cut
                data = data[:at]
            case _:  # random bytes
                data = data[:at] + dice.randbytes(min(size, 4096)) + data[at + size :]
    return data


def encoded(dice: random.Random, text: str) -> bytes:
    """A text whose lines, or halves, are in encodings of their own."""
    lines = text.split("\n")
    for _ in range(dice.randint(0, 6)):
        at = dice.randrange(len(lines))
        lines[at] = dice.choice((f"{lines[at]} {dice.choice(_WORDS)}", f"{dice.choice(_WORDS)} {lines[at]}"))
    if dice.random() < 0.4:
        return "\n".join(lines).encode(dice.choice(_CODECS), "replace")
    codecs = dice.sample(_CODECS, 2)
    if dice.random() < 0.5:
        middle = dice.randint(0, len(lines))
        parts = ("\n".join(lines[:middle]), "\n".join(lines[middle:]))
        return b"\n".join(part.encode(codec, "replace") for part, codec in zip(parts, codecs, strict=True))
    return b"\n".join(line.encode(codecs[dice.random() < 0.2], "replace") for line in lines)


def numbered(dice: random.Random, text: str) -> str:
    """A text in which some numbers are beyond what anything holds, or are written as nobody expects."""
    share, chosen = dice.choice((0.02, 0.1, 0.5)), dice.sample(_NUMBERS, 4)
    return _NUMBER.sub(lambda found: dice.choice(chosen) if dice.random() < share else found[0], text)


def pumped(dice: random.Random, text: str) -> str:
    """A text in which a line has a piece again and again, or a run of one character that a pattern repeats."""
    lines = text.split("\n")
    for _ in range(dice.choice((1, 1, 3))):
        at = dice.randrange(len(lines))
        cut = dice.randint(0, len(lines[at]))
        piece = dice.choice(_PIECES)
        run = piece * (dice.choice((50, 1000, 8000)) // len(piece))
        lines[at] = lines[at][:cut] + run + dice.choice(("", "!", lines[at][cut:]))
    return "\n".join(lines)


def deep(dice: random.Random) -> bytes:
    """JSON whose branches go on and on: rows of a table, a trainer's state, a trace, a settings file."""
    rows = [{"step": at, "loss": 2.5, "time": at * 0.5, "name": "x", "ts": at * 1e6, "dur": 5e5} for at in range(9)]
    for _ in range(dice.randint(1, 3)):
        dice.choice(rows)[dice.choice(("loss", "time", "step", "args", "x"))] = _nest(dice)
    match dice.randrange(4):
        case 0:
            text = "\n".join(_write(row) for row in rows)
        case 1:
            text = _write({"global_step": 9, "max_steps": 100, "log_history": rows})
        case 2:
            text = _write({"traceEvents": [{"ph": "X", "pid": 1, "tid": 1} | row for row in rows]})
        case _:
            text = _write(rows)
    return text.encode()


class _Raw(str):
    """JSON that is written already: too deep for the encoder."""


def _nest(dice: random.Random) -> _Raw:
    depth = dice.choice((3, 30, 90, 300, 900, 5000, 60_000))
    match dice.randrange(4):
        case 0:
            return _Raw("[" * depth + "]" * depth)
        case 1:
            return _Raw('{"a":' * depth + "1" + "}" * depth)
        case 2:
            return _Raw("[" * depth + "1")  # never closed
        case _:
            return _Raw("[" + ",".join("1" * dice.choice((1, 400)) for _ in range(min(depth, 3000))) + "]")


def _write(value: Any) -> str:
    """JSON with the raw parts as they are."""
    raw: list[str] = []

    def mark(inner: Any) -> Any:
        if isinstance(inner, _Raw):
            raw.append(inner)
            return f"\0{len(raw) - 1}\0"
        if isinstance(inner, dict):
            return {key: mark(own) for key, own in inner.items()}
        return [mark(own) for own in inner] if isinstance(inner, list) else inner

    text = json.dumps(mark(value))
    return re.sub(r'"\\u0000(\d+)\\u0000"', lambda found: raw[int(found[1])], text)
