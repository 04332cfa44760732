"""Files on a disk that may be full for a while: one that grows by whole lines, and small ones that are replaced."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

# Kept in memory while the disk takes nothing: hours of a run that prints a lot.
_MOST_WAITING = 8 << 20
_BLOCK = 1 << 16


class Appender:
    """Appends to a file so that it holds whole lines at any moment; what does not fit waits and is tried again.

    Half a line that an earlier run left is cut off.
    """

    def __init__(self, path: Path) -> None:
        self._number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        self._waiting, self._num_dropped = b"", 0
        self.problem: str | None = None  # why the disk did not take something, if that ever happened
        size = os.fstat(self._number).st_size
        whole = self._whole_size(size)
        if whole < size:
            os.ftruncate(self._number, whole)

    def append(self, records: bytes) -> None:
        """Write whole lines, after those that are still waiting."""
        if len(self._waiting) + len(records) <= _MOST_WAITING:
            self._waiting += records
        else:
            self._num_dropped += len(records)
        start = os.fstat(self._number).st_size
        num_written = 0
        try:
            while num_written < len(self._waiting):
                num_written += os.write(self._number, self._waiting[num_written:])
        except OSError as problem:
            self.problem = problem.strerror or str(problem)
            num_written = self._waiting.rfind(b"\n", 0, num_written) + 1
            with contextlib.suppress(OSError):
                os.ftruncate(self._number, start + num_written)
        self._waiting = self._waiting[num_written:]

    @property
    def num_waiting(self) -> int:
        """Bytes that the disk has not taken."""
        return len(self._waiting) + self._num_dropped

    def close(self) -> None:
        """Try once more what is waiting, and close the file."""
        self.append(b"")
        with contextlib.suppress(OSError):
            os.close(self._number)

    def _whole_size(self, size: int) -> int:
        """The size up to the end of the last whole line in the file."""
        end = size
        while end > 0:
            start = max(0, end - _BLOCK)
            found = os.pread(self._number, end - start, start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0


def write_aside(path: Path, text: str) -> None:
    """Write a small file so that a reader sees the old one or the new one; a full disk is no reason to fail here."""
    aside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except OSError:
        aside.unlink(missing_ok=True)
