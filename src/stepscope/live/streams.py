"""The streams of a command: which of them a terminal carries, which have a pipe of their own, and where each goes.

Standard output and standard error are what they would be without us: a terminal where ours is one, else a pipe. Where
they are apart, the log has both, and `streams.tsv` has the byte at which each stretch of one of them begins.
"""

from __future__ import annotations

import os
from typing import NamedTuple

STREAMS = "streams.tsv"
# A line end that is in the log only, what the terminal shows, standard output, standard error.
NOBODY, TERMINAL, OUTPUT, ERROR = 0, 1, 2, 3
_MOST_DIGITS = 18


class Ways(NamedTuple):
    """How the command is connected.

    terminals
        Which of standard input, output and error are terminals for the command.
    is_joined
        Whether output and error go to one file or pipe, so that one pipe of ours carries both in their order.
    has_input
        Whether there is a standard input at all.
    """

    terminals: tuple[bool, bool, bool]
    is_joined: bool
    has_input: bool = True

    @property
    def has_terminal(self) -> bool:
        """Whether the command gets a pseudo-terminal."""
        return any(self.terminals)

    @property
    def has_output_pipe(self) -> bool:
        """Whether standard output is a pipe of its own."""
        return not self.terminals[1]

    @property
    def has_error_pipe(self) -> bool:
        """Whether standard error is a pipe of its own."""
        return not self.terminals[2] and not self.is_joined

    @property
    def num_sources(self) -> int:
        """From how many places the recorder reads."""
        return self.has_terminal + self.has_output_pipe + self.has_error_pipe

    def shown_on(self, source: int) -> int:
        """The number of our own open file on which the bytes of a stream are shown."""
        if source == TERMINAL:
            return next((number for number in (1, 2, 0) if self.terminals[number]), 1)
        return 2 if source == ERROR else 1


def find_ways(*, wants_terminal: bool | None = None) -> Ways:
    """How a command is to be connected, by what our own streams are.

    `wants_terminal` gives it a terminal for its output in any case, or in none. A stream of ours that is closed leads
    nowhere from now on, so that no file of ours gets its number.
    """
    has_input = _identity(0) is not None
    for number in range(3):
        if _identity(number) is None:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    is_offered = wants_terminal is not False
    terminals = [
        is_offered and (_is_terminal(number) or (wants_terminal is True and number > 0)) for number in range(3)
    ]
    is_joined = not terminals[1] and not terminals[2] and _identity(1) == _identity(2)
    return Ways((terminals[0], terminals[1], terminals[2]), is_joined, has_input)


def _is_terminal(number: int) -> bool:
    try:
        return os.isatty(number)
    except OSError:
        return False


def _identity(number: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def switch_record(start: int, source: int) -> bytes:
    """The record of `streams.tsv` that says: from this byte of the log on, it is this stream's."""
    return b"%d\t%d\n" % (start, source)


def parse_switch(record: bytes) -> tuple[int, int] | None:
    """The first byte and the stream of a record; None where it is torn."""
    fields = record.split(b"\t")
    if len(fields) != 2 or not all(field.isdigit() and len(field) <= _MOST_DIGITS for field in fields):
        return None
    return int(fields[0]), int(fields[1])
