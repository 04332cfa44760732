"""The lines of a log that somebody else writes, as they arrive: for logs that print no time at all.

Lines that were there before we looked have no arrival. A writer that holds its lines back makes them come in bursts,
and a log that has times of its own is better read by those: so this is only used where there is nothing else.
"""

from __future__ import annotations

import re

_LINE = re.compile(rb"[^\r\n]*[\r\n]")
_MOST_BYTES = 8 << 20


class ArrivalCopy:
    """A bounded copy of a log in which each line that came while we watched is after its arrival time."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._half = b""
        self._num_bytes = 0
        self.num_arrived = 0

    @property
    def is_full(self) -> bool:
        """Whether the log is too long to be kept."""
        return self._num_bytes > _MOST_BYTES

    def add(self, data: bytes, moment_s: float | None) -> bytes:
        """Take what came at a moment (None: before we looked); the whole lines of it, after their arrival times."""
        data = self._half + data
        lines = _LINE.findall(data)
        self._half = data[sum(map(len, lines)) :]
        head = b"" if moment_s is None else b"%.6f " % moment_s
        text = b"".join(head + line if line.strip() else line for line in lines)
        self.num_arrived += len(lines) if moment_s is not None else 0
        self._num_bytes += len(text)
        if not self.is_full:
            self._pieces.append(text)
        return text

    def take(self) -> bytes:
        """Everything so far; it is not kept any longer."""
        text = b"".join(self._pieces)
        self._pieces.clear()
        return text
