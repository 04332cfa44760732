"""Chunks of bytes → lines → groups of one shape, each read at once."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stepscope.builder import RunBuilder
from stepscope.bulk.handover import OTHER_BAR, Chunk, HandOver
from stepscope.bulk.numbers import Ints, Scratch, Words
from stepscope.bulk.plan import LOSS, NOTHING, STEP, UNREAD, Plan, make_plan
from stepscope.bulk.shape import DIGITS_TO_ZERO, compare, free_digits, make_shape
from stepscope.formats._base import Format

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_LEAST_LINES = 6  # fewer lines of one shape are quicker read one by one
_LINE_BYTES = (8, 1000)
_PADDING = 1024  # a line may be looked at beyond its end
_MAX_NEW_SHAPES = 8  # tried per chunk and length: lines of prose all have different ones
_MAX_PLANS = 512
_MAX_PASSES = 8
_BYTES_FOR_THREADS = 1 << 23  # a shorter log is read before a second thread has begun
_MAX_THREADS = 2  # beside the one that hands over, which is as busy as two of them


class _Desk:
    """The memory that one batch of bytes is worked on in."""

    def __init__(self) -> None:
        self.buffer = np.zeros(_PADDING, dtype=np.uint8)
        self.scratch = Scratch()

    def put(self, *pieces: bytes) -> int:
        """Put bytes at the beginning; how many."""
        size = sum(map(len, pieces))
        if size + _PADDING > len(self.buffer):
            self.buffer = np.zeros(size + size // 4 + _PADDING, dtype=np.uint8)
        at = 0
        for piece in pieces:
            self.buffer[at : at + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
            at += len(piece)
        return size


class _Batch(NamedTuple):
    """Whole lines that lie on a desk, sorted by what they are as far as that was known then."""

    desk: _Desk
    end: int
    has_returns: bool
    chunk: Chunk
    after: Ints  # where the line after each begins
    outlook: int


class BulkReader:
    """Feeds a builder with lines of UTF-8, of which `rest` is the beginning of the first.

    Of a long log, the next batches are sorted by other threads while the one before them is handed over: NumPy leaves
    the interpreter alone while it computes. What they find out is only used if nothing was read in the meantime that
    could change it, so the result does not depend on who was quicker.
    """

    def __init__(self, fmt: Format, builder: RunBuilder, rest: bytes) -> None:
        self._format = fmt
        self._builder = builder
        self._plans: dict[bytes, list[Plan]] = {}
        self._hand_over = HandOver(fmt, builder)
        self._rest = rest
        self._desks = [_Desk()]  # those that nobody works at
        self._num_fed = 0
        self._outlook = 0  # how often what lines are seen against has changed
        self._pool: ThreadPoolExecutor | None = None
        self._num_threads = 0
        self._jobs: deque[Future[_Batch]] = deque()

    @property
    def num_rest(self) -> int:
        """How many bytes of an unfinished line are waiting."""
        return len(self._rest)

    def take_rest(self) -> bytes:
        """Hand the unfinished line over to another reader; the last thing to do."""
        self.flush()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        rest, self._rest = self._rest, b""
        return rest

    def feed(self, data: bytes) -> None:
        """Take the next bytes. The builder may know of them only after `flush`."""
        self._num_fed += len(data)
        if data and not np.frombuffer(data, dtype=np.uint8).min():  # while NumPy looks, other threads go on
            data = data.replace(b"\0", b"")
        # A carriage return at the very end may be the first half of an end of line.
        last = data.rfind(b"\n")
        last = max(last, data.rfind(b"\r", last + 1, len(data) - 1))
        rest = self._rest
        if last < 0 and not (data and rest.endswith(b"\r")):
            self._rest = rest + data
            return
        self._rest = data[last + 1 :]
        end = len(rest) + last + 1
        if self._pool is None and self._num_fed >= _BYTES_FOR_THREADS and _num_cores() > 1:
            from concurrent.futures import ThreadPoolExecutor

            self._num_threads = min(_MAX_THREADS, _num_cores())
            self._pool = ThreadPoolExecutor(self._num_threads)
            self._desks += [_Desk() for _ in range(self._num_threads)]
        if self._pool is None:
            self._give(self._prepare(self._desks.pop(), rest, data, end))
            return
        self._jobs.append(self._pool.submit(self._prepare, self._desks.pop(), rest, data, end))
        if len(self._jobs) > self._num_threads:
            self._give(self._jobs.popleft().result())

    def flush(self) -> None:
        """Let the builder have everything up to the last whole line."""
        while self._jobs:
            self._give(self._jobs.popleft().result())

    def _prepare(self, desk: _Desk, rest: bytes, data: bytes, end: int) -> _Batch:
        """Sort the lines that these bytes begin with, up to `end`."""
        outlook = self._outlook
        desk.put(rest, data)
        has_returns = b"\r" in data or b"\r" in rest
        chunk, after = self._sorted(desk, 0, end, has_returns=has_returns)
        return _Batch(desk, end, has_returns, chunk, after, outlook)

    def _give(self, batch: _Batch) -> None:
        start = num_passes = 0
        chunk, after = batch.chunk, batch.after
        is_current = batch.outlook == self._outlook
        while start < batch.end:
            num_passes += 1
            if not is_current:
                by_line = num_passes > _MAX_PASSES  # a log that contradicts itself all the time
                chunk, after = self._sorted(
                    batch.desk, start, batch.end, has_returns=batch.has_returns, by_line=by_line
                )
            seen = self._builder.outlook
            done = self._hand_over.give(chunk)
            start = int(after[done - 1])
            is_current = False
            self._outlook += self._builder.outlook != seen
        self._desks.append(batch.desk)

    def _sorted(
        self, desk: _Desk, start: int, end: int, *, has_returns: bool, by_line: bool = False
    ) -> tuple[Chunk, Ints]:
        starts, lengths, after = _split(desk.buffer, start, end, has_returns=has_returns)
        chunk = Chunk(desk.buffer, starts, lengths, desk.scratch)
        if not by_line:
            self._read_shapes(chunk)
        return chunk, after

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
        records = np.ndarray((len(chunk.buffer) - width,), dtype=f"V{width}", buffer=chunk.buffer, strides=(1,))
        matrix: Words = records[chunk.starts[lines]].view(np.uint64).reshape(len(lines), width // 8)
        num_new = 0
        while len(lines) >= _LEAST_LINES:
            line = matrix[0].tobytes()[:length]
            plan = self._known_plan(line)
            if plan is None:
                num_new += 1
                if num_new > _MAX_NEW_SHAPES:
                    return
                _, fits = compare(make_shape(line, free_digits(line)), matrix, chunk.scratch)
                if fits is not None and fits.sum() < _LEAST_LINES:
                    lines, matrix = lines[~fits], matrix[~fits]
                    continue
                plan = make_plan(self._format, self._builder, line)
                if len(self._plans) >= _MAX_PLANS:
                    self._plans.clear()
                self._plans.setdefault(line.translate(DIGITS_TO_ZERO), []).append(plan)
            words, fits = compare(plan.shape, matrix, chunk.scratch)
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


def _num_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
