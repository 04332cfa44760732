"""Processes next to this one that sort the lines of a long log while this one hands over those sorted before.

Not threads: each of some hundred short calls to NumPy for a batch would wait for the interpreter's lock. A helper is a
fork of the reader, so it knows what the reader knew then; it reads its own stretches of the file, and what it finds
passes through memory that both see. Where processes cannot be forked (Windows, macOS, a program with threads of its
own), the reader goes on alone.
"""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import struct
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import numpy as np

from stepscope.core.boundary import open_file
from stepscope.reading.bulk.handover import Chunk
from stepscope.reading.bulk.sorter import PADDING, Bytes

_BATCH_BYTES = 1 << 21
_MORE_BYTES = 1 << 16  # read beyond a batch, for the rest of its last line
_COLUMN_BYTES = 32 << 20  # for what is found out about a batch; memory that is never written to costs nothing
_ALIGN = 64
_MAX_HELPERS = 3
_DESKS_EACH = 2  # so that the next batch waits for the helper, not the helper for the batch
_ORDER = struct.Struct("<qq")  # which desk, and where in the file

Sort = Callable[[Bytes, int, int], Chunk]


class SortedStretch(NamedTuple):
    """The lines that begin in one stretch of the file. Good until the one after it is taken."""

    start: int  # where the first of them begins
    end: int  # where the line behind the last begins
    chunk: Chunk


class _Desk:
    """Memory that this process and a helper share: the bytes of a batch, and columns that describe them."""

    def __init__(self) -> None:
        self._num_bytes = 1 + _BATCH_BYTES + _MORE_BYTES  # one before: is what comes next the beginning of a line?
        memory = mmap.mmap(-1, self._num_bytes + PADDING + _COLUMN_BYTES)
        self._buffer = np.frombuffer(memory, dtype=np.uint8)[: self._num_bytes + PADDING]
        self._columns = memoryview(memory)[self._num_bytes + PADDING :]

    def sort(self, sort: Sort, file: BinaryIO, start: int) -> bytes:
        """Read the lines that begin in a stretch of a file and sort them; what `unpack` needs, nothing if it failed."""
        file.seek(start - 1)
        num = file.readinto(self._buffer[: self._num_bytes].data)  # type: ignore[attr-defined]
        data = self._buffer[:num]
        first, last = _first_line(data, 1), _first_line(data, 1 + _BATCH_BYTES)
        if first is None or last is None or first == last:
            return b""
        chunk = sort(self._buffer, first, last)
        # Zero bytes were taken out. They may stand between the two bytes that end a line, and then a stretch may end
        # there, too: better one after the other.
        if chunk.places[-1] != last:
            return b""
        return self._pack(SortedStretch(start - 1 + first, start - 1 + last, chunk))

    def _pack(self, batch: SortedStretch) -> bytes:
        """Put the columns of a batch into the shared memory; what is left of it, nothing where they are too large."""
        buffers: list[pickle.PickleBuffer] = []
        rest = pickle.dumps(batch, protocol=5, buffer_callback=buffers.append)
        at, spans = 0, []
        for buffer in buffers:
            raw = buffer.raw()
            if at + raw.nbytes > len(self._columns):
                return b""
            self._columns[at : at + raw.nbytes] = raw
            spans.append((at, at + raw.nbytes))
            at = -(-(at + raw.nbytes) // _ALIGN) * _ALIGN
        return pickle.dumps((spans, rest))

    def unpack(self, packed: bytes) -> SortedStretch:
        """The batch that was packed here, its columns still in the shared memory."""
        spans, rest = pickle.loads(packed)
        batch: SortedStretch = pickle.loads(rest, buffers=[self._columns[start:end] for start, end in spans])
        batch.chunk.buffer = self._buffer
        return batch


class _Helper(NamedTuple):
    pid: int
    line: Connection
    desks: tuple[_Desk, ...]


class Helpers:
    """Some helpers that read one file; its stretches go around among them."""

    def __init__(self, helpers: Sequence[_Helper]) -> None:
        self._helpers = helpers

    @classmethod
    def begin(cls, sort: Sort, path: Path) -> Helpers | None:
        """As many as there are cores; None where there can be none."""
        num = min(_num_cores(), _MAX_HELPERS)
        if num < 2 or not hasattr(os, "fork") or sys.platform == "darwin" or threading.active_count() > 1:
            return None
        helpers: list[_Helper] = []
        with suppress(OSError):  # no more processes or no more memory: fewer helpers
            for _ in range(num):
                helpers.append(_start(sort, path, [helper.line for helper in helpers]))
        return cls(helpers) if helpers else None

    def batches(self, start: int, end: int) -> Iterator[SortedStretch]:
        """The lines from `start`, where one begins, up to about `end`; it stops at a stretch that nobody could sort."""
        starts = deque(range(start, end - _BATCH_BYTES - _MORE_BYTES, _BATCH_BYTES))
        free = deque((helper, desk) for desk in range(_DESKS_EACH) for helper in self._helpers)
        waiting: deque[tuple[_Helper, int]] = deque()
        try:
            while starts or waiting:
                while starts and free:
                    helper, desk = free.popleft()
                    helper.line.send_bytes(_ORDER.pack(desk, starts.popleft()))
                    waiting.append((helper, desk))
                helper, desk = waiting.popleft()
                packed = helper.line.recv_bytes()
                if not packed:
                    return
                yield helper.desks[desk].unpack(packed)
                free.append((helper, desk))
        except (EOFError, OSError):
            return  # a helper has died: the reader goes on alone

    def dismiss(self) -> None:
        """Stop them all."""
        for helper in self._helpers:
            helper.line.close()
        for helper in self._helpers:
            with suppress(OSError):
                os.kill(helper.pid, signal.SIGKILL)
                os.waitpid(helper.pid, 0)


def _first_line(data: Bytes, start: int) -> int | None:
    """Where the first line begins at `start` or behind it; None where that is not among these bytes.

    A line begins behind every end of a line; the two bytes of "\\r\\n" are one.
    """
    near = data[start - 1 : start - 1 + _MORE_BYTES]
    ends = np.flatnonzero((near == 10) | (near == 13))[:2] + (start - 1)
    for end in ends.tolist():
        if end + 1 < len(data) and not (data[end] == 13 and data[end + 1] == 10):
            return int(end) + 1
    return None


def _start(sort: Sort, path: Path, others: Sequence[Connection]) -> _Helper:
    desks = tuple(_Desk() for _ in range(_DESKS_EACH))
    here, there = Pipe()
    with warnings.catch_warnings():
        # Python warns of forking next to any thread; those of NumPy's linear algebra are asleep, and never used here.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        there.close()
        return _Helper(pid, here, desks)
    try:
        # A helper sees that the reader ended when the line to it ends: no other helper may hold it open.
        for line in (here, *others):
            line.close()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with suppress(EOFError, OSError), open_file(path) as file:
            while True:
                which, start = _ORDER.unpack(there.recv_bytes())
                there.send_bytes(desks[which].sort(sort, cast(BinaryIO, file.raw), start))
    finally:
        os._exit(0)


def _num_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
