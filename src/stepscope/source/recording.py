"""A run that `stepscope run` recorded: `log.txt` as it was printed, `stamps.tsv` with the time each line came.

Read back, every line has its arrival before it, as Unix seconds: the form in which any log with timestamps is read.
A record of `stamps.tsv` is: bytes up to the end of the line, wall clock, monotonic clock (seconds). Arrivals are by the
monotonic clock, which nobody sets, and end with the wall clock of the last line (see `arrival_clock.py`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from stepscope.core.boundary import is_readable, open_file
from stepscope.source.arrival_clock import ArrivalClock, parse_arrival
from stepscope.source.tail import News

LOG, STAMPS, EXIT, META = "log.txt", "stamps.tsv", "exit.json", "meta.json"
# Room for the exit file, taken at the start.
RESERVED = ".exit"
# When the machine slept: wall clock at its end, seconds.
SUSPENDS = "suspends.tsv"
# Variables of a recorded command: the folder of its recording, and whether it is to be traced from inside.
RECORDING, TRACES = "STEPSCOPE_RECORDING", "STEPSCOPE_TRACE"
_CHUNK_BYTES = 1 << 20
_MOST_EXIT_BYTES = 1 << 16
_CODES = 1 << 31
_SIGNALS = 128  # a shell says 128 + n of a command that signal n ended


class Exit(NamedTuple):
    """How a recorded command ended: its exit code as a shell shows it, and the signal that ended it, if one did."""

    code: int
    signal: int | None = None

    @property
    def ended_by(self) -> int | None:
        """The signal that ended the command or, if that was a shell, what it ran last."""
        is_passed_on = self.signal is None and _SIGNALS < self.code <= _SIGNALS + 64
        return self.code - _SIGNALS if is_passed_on else self.signal


def read_exit(path: Path) -> Exit | None:
    """How the command of a recording ended; None while it runs, where nobody knows, and where there is none."""
    log = recorded_log(path)
    if log is None:
        return None
    try:
        with open_file(log.parent / EXIT) as file:
            found = json.loads(file.read(_MOST_EXIT_BYTES))
        code, signal = found["code"], found["signal"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    is_sound = _is_code(code) and (signal is None or _is_code(signal))
    return Exit(code, signal) if is_sound else None


def _is_code(value: object) -> bool:
    return isinstance(value, int) and -_CODES <= value < _CODES


def recorded_log(path: Path) -> Path | None:
    """The log of the recording at a folder or a log file; None where there is none."""
    folder = path if path.is_dir() else path.parent
    log = folder / LOG
    has_stamps = all(file.is_file() and is_readable(file) for file in (folder / STAMPS, log))
    return log if has_stamps and path in {folder, log} else None


def stamped_chunks(log: Path) -> Iterator[bytes]:
    """The bytes of a recorded log with each line after its arrival time, a bounded chunk at a time."""
    tail = RecordingTail(log.parent)
    try:
        while data := tail.look(is_final=True).data:
            yield data
    finally:
        tail.close()


def _as_it_was_shown(line: bytes) -> bytes:
    """A line with what stood there until the program went back to its beginning, as some do to draw a bar again."""
    text = line.rstrip(b"\r\n")
    return text.rstrip(b"\b") + line[len(text) :] if text.endswith(b"\b") else line


class RecordingTail:
    """The end of a recording, finished or growing; `end` gives the byte of the log to stop at, if there is one."""

    has_arrivals = True

    def __init__(self, folder: Path, end: Callable[[], int | None] = lambda: None) -> None:
        self._folder, self._end = folder, end
        self._log = open_file(folder / LOG)
        self._stamps = open_file(folder / STAMPS)
        self._clock = ArrivalClock(folder / SUSPENDS)
        self._clock.end_with(self._stamps)
        self._half = b""  # the first part of a record that is still being written
        self._offset = 0

    @property
    def mtime(self) -> float:
        """When the log was last written."""
        return os.fstat(self._log.fileno()).st_mtime

    def look(self, *, is_final: bool = False) -> News:
        """The lines since the last look, each after its arrival time; `is_final` adds an unended last line."""
        pieces: list[bytes] = []
        size = os.fstat(self._log.fileno()).st_size
        end, most = 1, self._end()
        most = size if most is None else min(most, size)
        while end and not pieces:  # records that a crash has torn are passed over
            records = self._half + self._stamps.read(_CHUNK_BYTES // 16)
            end = records.rfind(b"\n") + 1
            self._half = records[end:]
            for record in records[:end].splitlines():
                arrival = parse_arrival(record)
                if arrival is not None and self._offset < arrival.upto <= most:
                    line = self._log.read(arrival.upto - self._offset)
                    self._offset += len(line)
                    pieces.append(b"%.6f %s" % (self._clock.moment(arrival), _as_it_was_shown(line)))
        if not pieces and is_final:
            rest = self._log.read(_CHUNK_BYTES)
            self._offset += len(rest)
            return News(rest)
        return News(b"".join(pieces), is_over=not pieces and (self._folder / EXIT).exists())

    def unstamped(self, upto: int) -> bytes:
        """The bytes of the log up to a place that came without an arrival time: the beginning of a line."""
        rest = self._log.read(max(0, upto - self._offset))
        self._offset += len(rest)
        return rest

    def rewind(self) -> bool:
        """Not possible: a recording is only ever appended to."""
        return False

    def close(self) -> None:
        """Close the files."""
        self._log.close()
        self._stamps.close()
