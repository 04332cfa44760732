"""What a command prints, to its last byte: from the log, and from the recorder itself once the disk takes no more."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections import deque
from pathlib import Path
from typing import NamedTuple

from stepscope.live.shared_state import SharedState
from stepscope.live.streams import ERROR, NOBODY, OUTPUT, STREAMS, parse_switch
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
        """Bytes that are added as they come; their reader takes them out."""
        self._readers.append(bytearray())
        return self._readers[-1]

    def look(self) -> None:
        """Take what has come."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._number, _CHUNK_BYTES):
                for reader in self._readers:
                    reader.extend(data)


class Printed(NamedTuple):
    """Bytes that the command printed, and on which of its streams (see `streams.py`)."""

    data: bytes
    source: int


class PrintedOutput:
    """The output as it was printed; `error_spilled` is where the rest of a standard error of its own comes from."""

    def __init__(
        self,
        folder: Path,
        state: SharedState,
        spilled: Spilled,
        error_spilled: Spilled | None = None,
        *,
        main: int = OUTPUT,
    ) -> None:
        self._file, self._state = (folder / LOG).open("rb"), state
        self._offset, self._main = 0, main
        self._switches = Switches(folder / STREAMS)
        self._rests = [(spilled, spilled.reader(), main)]
        if error_spilled is not None:
            self._rests.append((error_spilled, error_spilled.reader(), ERROR))

    def read(self) -> Printed | None:
        """What came next on one of the streams; None when nothing did."""
        while True:
            piece = self._read_log()
            if piece is None or piece.source != NOBODY:
                return piece

    def _read_log(self) -> Printed | None:
        self._file.seek(self._offset)
        data = self._file.read(_CHUNK_BYTES)
        # Asked after reading: what the log holds beyond this place comes the other way, too.
        end = self._state.spilled_at
        if end is not None:
            data = data[: max(0, end - self._offset)]
        if data:
            # A switch is written down before the first byte of its stream.
            source, upto = self._switches.at(self._offset)
            if upto is not None:
                data = data[: upto - self._offset]
            self._offset += len(data)
            return Printed(data, self._main if source is None else source)
        if end is None:
            return None
        for spilled, rest, source in self._rests:
            spilled.look()
            if rest:
                data = bytes(rest)
                rest.clear()
                return Printed(data, source)
        return None

    def close(self) -> None:
        """Close the log."""
        self._file.close()
        self._switches.close()


class Switches:
    """Which stream each byte of a log is from, by `streams.tsv`; where there is no such file, there is one stream."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb") if path.exists() else None
        self._half = b""
        self._known: deque[tuple[int, int]] = deque()
        self._source: int | None = None

    def at(self, offset: int) -> tuple[int | None, int | None]:
        """The stream of the byte at `offset`, and the first byte after it that is another's; ask in their order."""
        if self._file is not None:
            records = (self._half + self._file.read()).split(b"\n")
            self._half = records.pop()
            # A recorder that was killed may have written the same records again.
            self._known.extend(found for record in records if (found := parse_switch(record)) is not None)
        while self._known and self._known[0][0] <= offset:
            self._source = self._known.popleft()[1]
        later = next((start for start, _ in self._known if start > offset), None)
        return self._source, later

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


class OutputTail:
    """The output as a recording is read: each line after its arrival time."""

    has_arrivals = True

    def __init__(self, folder: Path, state: SharedState, *spilled: Spilled) -> None:
        self._tail = RecordingTail(folder, end=lambda: state.spilled_at)
        self._state = state
        self._rests = [(each, each.reader()) for each in spilled]
        self._last = time.time()
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
        self._rests[0][1][:0] = self._tail.unstamped(end)
        self._has_switched = True
        lines: list[bytes] = []
        for spilled, rest in self._rests:
            spilled.look()
            found = _LINE.findall(rest)
            del rest[: sum(map(len, found))]
            lines += found
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
