"""Many clean lines that are strings already → an assembler: in bulk where they are plain, else one by one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from stepscope.reading.assembler import RunAssembler
from stepscope.reading.bulk.bulk_reader import BulkReader
from stepscope.source.lines import MAX_LINE_CHARS

_LINES = 1 << 14  # joined to one text
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def feed_lines(bulk: BulkReader, lines: Sequence[str], one_by_one: Callable[[Sequence[str]], None]) -> None:
    """Give lines to the bulk reader of an assembler, or to `one_by_one` where one of them would be changed by it."""
    text = "\n".join(lines)
    is_plain = text.count("\n") == len(lines) - 1 and not _CONTROL.search(text)
    if is_plain and max(map(len, lines), default=0) < MAX_LINE_CHARS:
        bulk.feed(f"{text}\n".encode())
    else:
        one_by_one(lines)


def assemble_lines(assembler: RunAssembler, lines: Sequence[str]) -> None:
    """Let an assembler read many lines."""

    def one_by_one(lines: Sequence[str]) -> None:
        for line in lines:
            assembler.add(line)

    bulk = BulkReader(assembler.format, assembler, b"")
    for at in range(0, len(lines), _LINES):
        feed_lines(bulk, lines[at : at + _LINES], one_by_one)
