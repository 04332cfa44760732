"""A second look into a log that was read: single lines by their numbers, for quoting.

The lines of steps are read in bulk and not kept. Only files that are as they were are looked into, and only where the
lines that were kept are found in their places.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from stepscope.core.errors import InputError
from stepscope.run.model import Run
from stepscope.source.files import Source
from stepscope.source.lines import clean

_MOST_BYTES = 16 << 20
_MOST_CHARS = 400
_COMPARED = 50
_LEAST_STEPS = 12


def lines_again(run: Run, numbers: Iterable[int]) -> dict[int, str]:
    """Lines of the log by their numbers; none where the log cannot be looked into."""
    wanted = sorted({number for number in numbers if number > 0})
    content = _bytes_of(run) if wanted else None
    if content is None:
        return {}
    kept = dict(list(run.excerpts.items())[:_COMPARED]) | dict(run.first_unread)
    steps = {} if kept else _some_steps(run)
    found = _lines_at(content, [*wanted, *kept, *steps])
    is_same = bool(kept or steps) and all(
        _begin(found.get(number, "")) == _begin(text) for number, text in kept.items()
    )
    is_same = is_same and all(re.search(rf"(?<!\d){step}(?!\d)", found.get(line, "")) for line, step in steps.items())
    return {number: found[number] for number in wanted if number in found} if is_same else {}


def _some_steps(run: Run) -> dict[int, int]:
    """Steps by their lines, evenly over the log: where nothing else is kept, the lines are to name them."""
    if len(run) < _LEAST_STEPS:
        return {}
    rows = np.linspace(0, len(run) - 1, _LEAST_STEPS).astype(np.int64)
    return dict(zip(run.steps.line[rows].tolist(), run.steps.step[rows].tolist(), strict=True))


def _begin(text: str) -> str:
    """As much of a line as is kept of every one."""
    return " ".join(text.split())[:40]


def _bytes_of(run: Run) -> bytes | None:
    """The bytes of all files of a run in their order, unpacked; None where one has changed, or they are too many."""
    if not run.paths or run.mtime is None or run.encoding not in {"utf-8", "utf-8-sig"} or run.is_recorded:
        return None
    parts: list[bytes] = []
    room, newest = _MOST_BYTES, 0.0
    try:
        for path in map(Path, run.paths):
            status = path.stat()
            if not path.is_file():
                return None
            newest = max(newest, status.st_mtime)
            for chunk in Source(str(path), path, status.st_mtime, size=status.st_size).chunks():
                parts.append(chunk)
                room -= len(chunk)
                if room < 0:
                    return None
            if parts and not parts[-1].endswith((b"\n", b"\r")):
                parts.append(b"\n")  # the next file's first line is one of its own
    except (OSError, ValueError, InputError):
        return None
    return b"".join(parts) if newest == run.mtime else None


def _lines_at(content: bytes, numbers: Iterable[int]) -> dict[int, str]:
    """Lines by number; a carriage return ends one too, and both together are one end."""
    signs = np.frombuffer(content, dtype=np.uint8)
    is_end = signs == ord("\n")
    is_return = signs == ord("\r")
    is_return[:-1] &= ~is_end[1:]
    ends = np.flatnonzero(is_end | is_return)
    found = {}
    for number in numbers:
        if number > len(ends) + 1:
            continue
        begin = int(ends[number - 2]) + 1 if number > 1 else 0
        end = int(ends[number - 1]) if number <= len(ends) else len(content)
        text = content[begin : min(end, begin + 4 * _MOST_CHARS)].decode("utf-8", errors="replace")
        found[number] = clean(text.rstrip("\r"))[:_MOST_CHARS]
    return found
