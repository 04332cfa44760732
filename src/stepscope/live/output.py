"""What a command prints, to its last byte: from the log, and from the recorder itself once the disk takes no more."""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

from stepscope.live.shared_state import SharedState
from stepscope.source.recording import LOG, RecordingTail
from stepscope.source.tail import News

_CHUNK_BYTES = 1 << 16
_LINE = re.compile(rb"[^\r\n]*[\r\n]")


class Spilled:
    """The output from the moment on at which the disk took no more. Each reader gets all of it."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._readers: list[bytearray] = []

    def reader(self) -> bytearray:
        """Bytes that are added as they come; whoever reads them takes them out."""
        self._readers.append(bytearray())
        return self._readers[-1]

    def look(self) -> None:
        """Take what has come."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._number, _CHUNK_BYTES):
                for reader in self._readers:
                    reader.extend(data)


class PrintedOutput:
    """The output as it was printed."""

    def __init__(self, folder: Path, state: SharedState, spilled: Spilled) -> None:
        self._file, self._state, self._spilled = (folder / LOG).open("rb"), state, spilled
        self._rest, self._offset = spilled.reader(), 0

    def read(self) -> bytes:
        """What came since the last time; empty when nothing did."""
        data = self._file.read(_CHUNK_BYTES)
        # Asked after reading: what the log holds beyond this place comes the other way, too.
        end = self._state.spilled_at
        if end is not None:
            data = data[: max(0, end - self._offset)]
        self._offset += len(data)
        if data or end is None:
            return data
        self._spilled.look()
        data = bytes(self._rest)
        self._rest.clear()
        return data

    def close(self) -> None:
        """Close the log."""
        self._file.close()


class OutputTail:
    """The output as a recording is read: each line after its arrival time."""

    def __init__(self, folder: Path, state: SharedState, spilled: Spilled) -> None:
        self._tail = RecordingTail(folder, end=lambda: state.spilled_at)
        self._state, self._spilled = state, spilled
        self._rest, self._last = spilled.reader(), time.time()
        self._has_switched = False

    @property
    def mtime(self) -> float:
        """When something last came."""
        return self._last if self._has_switched else self._tail.mtime

    def look(self) -> News:
        """The lines since the last look."""
        news = self._tail.look()
        end = self._state.spilled_at
        if news.data or end is None:
            return news
        self._rest[:0] = self._tail.unstamped(end)
        self._has_switched = True
        self._spilled.look()
        lines = _LINE.findall(self._rest)
        del self._rest[: sum(map(len, lines))]
        if not lines:
            return news
        self._last = time.time()
        moment = b"%.6f " % self._last
        return News(b"".join(moment + line for line in lines))

    def rewind(self) -> bool:
        """Not possible: a recording is only ever appended to."""
        return False

    def close(self) -> None:
        """Close the files."""
        self._tail.close()
