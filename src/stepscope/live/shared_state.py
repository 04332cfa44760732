"""What the processes around a command know of it, in memory that all of them see and that outlives each of them.

It has no name, so a kill leaves nothing behind. One number is stored at a time, so that a kill between two stores
leaves a state that the next recorder can go on from.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import overload

_WORDS_BYTES = 4096
# A pseudo-terminal gives 4 kB at a time.
BUFFER_BYTES = 1 << 16


class _Word:
    """One of the numbers."""

    def __init__(self, place: int) -> None:
        self._place = place

    @overload
    def __get__(self, state: None, _: object = None) -> _Word: ...
    @overload
    def __get__(self, state: SharedState, _: object = None) -> int: ...
    def __get__(self, state: SharedState | None, _: object = None) -> _Word | int:
        return self if state is None else state.words[self._place]

    def __set__(self, state: SharedState, value: int) -> None:
        state.words[self._place] = value


class SharedState:
    """Numbers, all zero at first, and the bytes that were read from the terminal and are not in the log yet."""

    command = _Word(0)  # the process of the command
    has_status = _Word(1)
    status = _Word(2)  # as `waitpid` gave it
    recorder = _Word(3)  # the process that records
    is_over = _Word(4)  # the command has ended and everything it printed is recorded
    # Where the recorder is with the buffer; see `recorder.py`.
    mark = _Word(5)
    log_start = _Word(6)
    spilled = _Word(7)  # 1 + the size of the log when the disk first took no more; 0: it takes everything
    errno = _Word(8)  # why
    lost_bytes = _Word(9)  # bytes of output that are not in the log
    # What the log lacks right before its next byte: nothing, whole lines, or also the beginning of a line.
    gap = _Word(10)
    # Where the bytes in the buffer came from, and those before them in the log; see `streams.py`.
    source = _Word(11)
    last_source = _Word(12)
    is_stopped = _Word(13)  # the command was stopped (Ctrl-Z) and has not gone on yet

    def __init__(self, number: int) -> None:
        self.number = number
        memory = memoryview(mmap.mmap(number, _WORDS_BYTES + BUFFER_BYTES))
        self.words = memory[:_WORDS_BYTES].cast("q")
        self.buffer = memory[_WORDS_BYTES:]

    @classmethod
    def new(cls) -> SharedState:
        """A state of its own; the file it lies in goes with the last process that has it open."""
        if hasattr(os, "memfd_create"):
            number = os.memfd_create("stepscope-run")
        else:
            with tempfile.TemporaryFile() as file:
                number = os.dup(file.fileno())
        os.ftruncate(number, _WORDS_BYTES + BUFFER_BYTES)
        return cls(number)

    @property
    def spilled_at(self) -> int | None:
        """The size of the log when the disk first took no more; None while it takes everything."""
        return self.spilled - 1 if self.spilled else None

    def note_status(self, status: int) -> None:
        """The command has ended; the process that reaped it says so here."""
        self.status = status
        self.has_status = 1
