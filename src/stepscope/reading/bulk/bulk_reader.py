"""Chunks of bytes → batches of whole lines, sorted here or by helpers, and handed over in the order of the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from stepscope.lines.format import Format
from stepscope.reading.assembler import RunAssembler
from stepscope.reading.bulk.handover import Chunk, HandOver
from stepscope.reading.bulk.sorter import PADDING, Sorter
from stepscope.reading.bulk.target import BulkTarget

_MAX_PASSES = 8
_LEAST_PIECE = 1 << 8  # bytes
_FIRST_PIECE, _MOST_PIECE = 1 << 14, 1 << 22
BYTES_FOR_HELP = 1 << 25  # a shorter log is read before others have begun to help
_SLOW_BYTES_FOR_HELP = 1 << 22  # where most lines are of no format, which takes several times as long to find out


class BulkReader:
    """Feeds an assembler with lines of UTF-8, of which `rest` is the beginning of the first."""

    def __init__(self, fmt: Format, assembler: RunAssembler, rest: bytes) -> None:
        self._target = target = BulkTarget(assembler)
        self._sorter = Sorter(fmt, target)
        self._hand_over = HandOver(fmt, target)
        self._rest = rest
        self._buffer = np.zeros(PADDING, dtype=np.uint8)
        self._piece = _FIRST_PIECE
        self._num_calm = 0  # bytes since what lines are seen against has changed

    @property
    def num_rest(self) -> int:
        """How many bytes of an unfinished line are waiting."""
        return len(self._rest)

    @property
    def wants_help(self) -> bool:
        """Whether what lines are seen against has not changed for so long that others may sort those to come."""
        return self._num_calm >= (_SLOW_BYTES_FOR_HELP if self._sorter.is_mostly_nobodys else BYTES_FOR_HELP)

    def take_rest(self) -> bytes:
        """Hand the unfinished line over to another reader; the last thing to do."""
        rest, self._rest = self._rest.replace(b"\0", b""), b""
        return rest

    def feed(self, data: bytes) -> None:
        """Take the next bytes: few at first, because what their lines say makes those that follow quick to read."""
        at = 0
        while at < len(data):
            end = len(data) if len(data) - at < 2 * self._piece else at + self._piece
            self._take(data[at:end])
            at, self._piece = end, min(2 * self._piece, _MOST_PIECE)

    def _take(self, data: bytes) -> None:
        # A carriage return at the very end may be the first half of an end of line; zero bytes count for nothing.
        last = data.rfind(b"\n")
        last = max(last, data.rfind(b"\r", last + 1, len(data.rstrip(b"\0")) - 1))
        rest = self._rest
        if last < 0 and not (data.strip(b"\0") and rest.rstrip(b"\0").endswith(b"\r")):
            self._rest = rest + data
            return
        self._rest = data[last + 1 :]
        self._num_calm += len(data)
        size = len(rest) + last + 1
        if size + PADDING > len(self._buffer):
            self._buffer = np.zeros(size + size // 4 + PADDING, dtype=np.uint8)
        self._buffer[: len(rest)] = np.frombuffer(rest, dtype=np.uint8)
        self._buffer[len(rest) : size] = np.frombuffer(data, dtype=np.uint8)[: last + 1]
        self._give(self._sorter.sort(self._buffer, 0, size))

    def read_on(self, path: Path, start: int, end: int, progress: Callable[[int], None]) -> int:
        """Go on in the file itself, with helpers, from where the last bytes ended; where they did not get further.

        They sort what comes next while this process hands over what came before. What they find out is only used as
        long as nothing is read that could change it, so the result does not depend on who was quicker.
        """
        from stepscope.reading.bulk.helpers import Helpers

        outlook, self._num_calm = self._target.outlook, 0
        helpers = Helpers.begin(self._sorter.sort, path)
        if helpers is None:
            return start
        at = start - len(self._rest)
        try:
            for batch in helpers.batches(at, end):
                if batch.start != at:
                    break  # somebody writes into the file
                self._rest = b""
                self._give(batch.chunk)
                at = batch.end
                progress(at)
                if self._target.outlook != outlook:
                    break
        finally:
            helpers.dismiss()
        return at + len(self._rest)

    def _give(self, chunk: Chunk) -> None:
        """Hand over the lines of a chunk; what one of them says may change what those behind it are."""
        outlook, places = self._target.outlook, chunk.places
        begin, upto, end = int(places[0]), int(places[-1]), int(places[-1])
        num_passes = 1
        while (start := int(chunk.places[self._hand_over.give(chunk)])) < end:
            # Only as much again as was of use: where everything that is left is sorted after each line that changes
            # something, a log in which many do is sorted as many times.
            size = 2 * max(start - begin, _LEAST_PIECE)
            num_passes += start < upto
            by_line = num_passes > _MAX_PASSES  # a log that contradicts itself all the time
            begin, upto = start, int(places[min(int(np.searchsorted(places, start + size)), len(places) - 1)])
            chunk = self._sorter.sort(chunk.buffer, start, upto, by_line=by_line)
        if self._target.outlook != outlook:
            self._num_calm = 0
