"""What a training says it is doing right now: the span that is open in the files of spans of its recording.

The files are those that docs/integrations.md describes, one per process, written at the begin and at the end of each
span. Only what is open is kept here; the seconds of all of them are read elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from stepscope.core.boundary import open_file

SPANS = "spans"
# What the live view has a word for; a step, and what is between spans, is training.
_SHOWN = {"evaluation": "evaluation", "validation": "evaluation", "test": "evaluation", "checkpoint": "checkpoint"}
_CHUNK_BYTES = 1 << 20
_MOST_FILES = 64
_MOST_OPEN = 64
_MAIN_THREAD = b"0"


class OpenSpan(NamedTuple):
    """A span that has begun: what the view calls it, its own kind, and for how many seconds it has been going on."""

    doing: str
    kind: str
    since_s: float


class _Process:
    """The file of one process, read on from where it was read last; the kinds and beginnings of what is open."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.open: list[tuple[str, int]] = []
        self.num_records = 0
        self.saved_ns: int | None = None  # the end of a save, while nothing has come after it
        self._half = b""

    def look(self) -> None:
        """Take the records that were added."""
        while data := self.file.read(_CHUNK_BYTES):
            records = (self._half + data).split(b"\n")
            self._half = records.pop()
            for record in records:
                self._take(record.split(b"\t"))

    def _take(self, fields: list[bytes]) -> None:
        if len(fields) != 6 or fields[3] != _MAIN_THREAD or not fields[1].isdigit() or len(fields[1]) > 19:
            return
        self.num_records += 1
        if fields[0] not in {b"B", b"E"}:
            return
        kind = fields[2].decode("ascii", errors="replace")
        self.saved_ns = int(fields[1]) if fields[0] == b"E" and kind == "checkpoint" else None
        if fields[0] == b"B" and len(self.open) < _MOST_OPEN:
            self.open.append((kind, int(fields[1])))
        else:
            # A kill or a torn line may have lost the end of an inner span: it ended with the outer one.
            for place in range(len(self.open) - 1, -1, -1):
                if self.open[place][0] == kind:
                    del self.open[place:]
                    break


class OpenSpans:
    """The open spans of a recording that is being written on this machine."""

    def __init__(self, folder: Path, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._folder, self._clock = folder / SPANS, clock
        self._processes: dict[str, _Process] = {}

    @property
    def has_any(self) -> bool:
        """Whether a process writes spans at all."""
        return any(process.num_records for process in self._processes.values())

    def now(self) -> OpenSpan | None:
        """The innermost open span of the first rank that the view has a word for; None while it trains."""
        self._find()
        for _, process in sorted(self._processes.items()):
            process.look()
            for kind, begun_ns in reversed(process.open):
                if kind in _SHOWN:
                    return OpenSpan(_SHOWN[kind], kind, max(0.0, (self._clock() - begun_ns) / 1e9))
        return None

    def since_save(self) -> float | None:
        """Seconds since the first rank's last save, while nothing has happened after it; call it after `now`.

        The save may go on where no hook sees it: an upload, a copy, a slow disk.
        """
        for _, process in sorted(self._processes.items()):
            if process.num_records:
                return None if process.saved_ns is None else max(0.0, (self._clock() - process.saved_ns) / 1e9)
        return None

    def close(self) -> None:
        """Close the files."""
        for process in self._processes.values():
            process.file.close()

    def _find(self) -> None:
        try:
            names = sorted(path.name for path in self._folder.iterdir() if path.name.endswith(".tsv"))
        except OSError:
            return
        for name in names[:_MOST_FILES]:
            if name not in self._processes:
                try:
                    self._processes[name] = _Process(open_file(self._folder / name))
                except OSError:
                    continue
