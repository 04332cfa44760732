"""Chunks of bytes → lines → groups of one shape, each read at once."""

from __future__ import annotations

import numpy as np

from stepscope.builder import RunBuilder
from stepscope.bulk.handover import OTHER_BAR, Chunk, HandOver
from stepscope.bulk.numbers import Ints, Scratch, Words
from stepscope.bulk.plan import LOSS, NOTHING, STEP, UNREAD, Plan, make_plan
from stepscope.bulk.shape import DIGITS_TO_ZERO, compare, free_digits, make_shape
from stepscope.formats._base import Format

_LEAST_LINES = 6  # fewer lines of one shape are quicker read one by one
_LINE_BYTES = (8, 1000)
_PADDING = 1024  # a line may be looked at beyond its end
_MAX_NEW_SHAPES = 8  # tried per chunk and length: lines of prose all have different ones
_MAX_PLANS = 512
_MAX_PASSES = 8


class BulkReader:
    """Feeds a builder with lines of UTF-8, of which `rest` is the beginning of the first."""

    def __init__(self, fmt: Format, builder: RunBuilder, rest: bytes) -> None:
        self._format = fmt
        self._builder = builder
        self._scratch = Scratch()
        self._plans: dict[bytes, list[Plan]] = {}
        self._hand_over = HandOver(fmt, builder)
        self._buffer = np.zeros(_PADDING, dtype=np.uint8)
        self._num_rest = 0
        self._num_rest = self._append(rest)

    @property
    def num_rest(self) -> int:
        """How many bytes of an unfinished line are waiting."""
        return self._num_rest

    def take_rest(self) -> bytes:
        """Hand the unfinished line over to another reader."""
        rest = self._buffer[: self._num_rest].tobytes()
        self._num_rest = 0
        return rest

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        size = self._append(data)
        # A carriage return at the very end may be the first half of an end of line.
        last = max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1))
        ends_before = last < 0 and self._num_rest and data and self._buffer[self._num_rest - 1] == 13
        end = self._num_rest + last + 1 if last >= 0 or ends_before else 0
        has_returns = b"\r" in data or 13 in self._buffer[: self._num_rest]
        start = num_passes = 0
        while start < end:
            starts, lengths, after = _split(self._buffer, start, end, has_returns=has_returns)
            chunk = Chunk(self._buffer, starts, lengths, self._scratch)
            num_passes += 1
            if num_passes <= _MAX_PASSES:  # a log that contradicts itself on every other line is read line by line
                self._read_shapes(chunk)
            done = self._hand_over.give(chunk)
            start = end if done == len(starts) else int(after[done - 1])
        if end < size:
            self._buffer[: size - end] = self._buffer[end:size].copy()
        self._num_rest = size - end

    def _append(self, data: bytes) -> int:
        """Put bytes behind the unfinished line; where they end."""
        size = self._num_rest + len(data)
        if size + _PADDING > len(self._buffer):
            grown = np.zeros(size + size // 4 + _PADDING, dtype=np.uint8)
            grown[: self._num_rest] = self._buffer[: self._num_rest]
            self._buffer = grown
        self._buffer[self._num_rest : size] = np.frombuffer(data, dtype=np.uint8)
        return size

    def _read_shapes(self, chunk: Chunk) -> None:
        chunk.kinds[chunk.lengths == 0] = NOTHING
        sizes = np.bincount(np.minimum(chunk.lengths, _LINE_BYTES[1]), minlength=1)
        for length in np.flatnonzero(sizes >= _LEAST_LINES).tolist():
            if _LINE_BYTES[0] <= length < _LINE_BYTES[1]:
                self._read_length(chunk, length)

    def _read_length(self, chunk: Chunk, length: int) -> None:
        """Lines of one length: find their shapes, do with each what its plan says."""
        width = (length + 7) // 8 * 8
        lines = np.flatnonzero(chunk.lengths == length)
        # Copying records of bytes is by far the quickest way to bring scattered lines together.
        records = np.ndarray((len(self._buffer) - width,), dtype=f"V{width}", buffer=self._buffer, strides=(1,))
        matrix: Words = records[chunk.starts[lines]].view(np.uint64).reshape(len(lines), width // 8)
        num_new = 0
        while len(lines) >= _LEAST_LINES:
            line = matrix[0].tobytes()[:length]
            plan = self._known_plan(line)
            if plan is None:
                num_new += 1
                if num_new > _MAX_NEW_SHAPES:
                    return
                _, fits = compare(make_shape(line, free_digits(line)), matrix, self._scratch)
                if fits is not None and fits.sum() < _LEAST_LINES:
                    lines, matrix = lines[~fits], matrix[~fits]
                    continue
                plan = make_plan(self._format, self._builder, line)
                if len(self._plans) >= _MAX_PLANS:
                    self._plans.clear()
                self._plans.setdefault(line.translate(DIGITS_TO_ZERO), []).append(plan)
            words, fits = compare(plan.shape, matrix, self._scratch)
            if fits is None:
                self._follow(plan, chunk, lines, words)
                return
            self._follow(plan, chunk, lines[fits], np.ascontiguousarray(words[:, fits]))
            lines, matrix = lines[~fits], matrix[~fits]

    def _known_plan(self, line: bytes) -> Plan | None:
        for plan in self._plans.get(line.translate(DIGITS_TO_ZERO), ()):
            if all(line[place] == digit for place, digit in plan.shape.fixed):
                return plan
        return None

    def _follow(self, plan: Plan, chunk: Chunk, lines: Ints, words: Words) -> None:
        """Do with lines of one shape what its plan says."""
        row = plan.row
        if row is None:
            if plan.kind != UNREAD or self._builder.is_deaf_to(plan.text):
                chunk.kinds[lines] = plan.kind
            return
        if plan.kind == LOSS:
            chunk.add_losses(row, lines, words)
            return
        what = self._builder.judge(total=row.total, epochs=row.epochs, batches=row.batches, prefix=row.tag)
        if what == "news":
            chunk.stop_after(int(lines[0]))
        elif what == "bar":
            chunk.kinds[lines] = OTHER_BAR
            chunk.bars.update(dict.fromkeys(lines.tolist(), row.total))
        elif what == "row" and chunk.block.accepts(row):
            good = chunk.block.add(row, lines, words)
            chunk.kinds[lines if good is None else lines[good]] = STEP


def _split(buffer: np.ndarray, start: int, end: int, *, has_returns: bool) -> tuple[Ints, Ints, Ints]:
    """Where each line starts, how long it is, and where the next one starts.

    A carriage return ends a line too, and "\\r\\n" only once.
    """
    body = buffer[start:end]
    if not has_returns:
        ends = np.flatnonzero(body == 10)
        if start:
            ends += start
        after = ends + 1
        starts = np.empty_like(ends)
        starts[0], starts[1:] = start, after[:-1]
        return starts, ends - starts, after
    ends = np.flatnonzero((body == 10) | (body == 13)) + start
    is_feed = buffer[ends] == 10
    is_second = is_feed & (buffer[ends - 1] == 13)
    is_second[0] &= bool(ends[0] > start)
    firsts = ends[~is_second]
    # The byte behind the chunk is not looked at: a return at its end was not followed by anything yet.
    is_pair = (buffer[firsts] == 13) & (buffer[firsts + 1] == 10) & (firsts + 1 < end)
    after = firsts + 1 + is_pair
    starts = np.concatenate([[start], after[:-1]])
    return starts, firsts - starts, after
