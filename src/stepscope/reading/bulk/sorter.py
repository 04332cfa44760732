"""A batch of bytes → lines, each sorted by what it is, the numbers of step lines computed shape by shape."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stepscope.lines.format import Format
from stepscope.reading.bulk.handover import OTHER_BAR, Chunk
from stepscope.reading.bulk.line_shape import DIGITS_TO_ZERO, compare, free_digits, make_shape
from stepscope.reading.bulk.nobody import Nobody
from stepscope.reading.bulk.numbers import Ints, Scratch, Words, floats, whole_numbers
from stepscope.reading.bulk.recipe import LOSS, NOTHING, PASSED, SLOW, STEP, UNREAD, Plan, make_plan
from stepscope.reading.bulk.row_blocks import RowBlock
from stepscope.reading.bulk.row_recipe import RowRecipe
from stepscope.reading.bulk.target import BulkTarget

PADDING = 1024  # a line may be looked at beyond its end
_LEAST_LINES = 6  # fewer lines of one shape are quicker read one by one
_LINE_BYTES = (8, 1000)
_MAX_NEW_SHAPES = 8  # tried per chunk and length: lines of prose all have different ones
_MAX_PLANS = 4096

Bytes = npt.NDArray[np.uint8]
Marks = npt.NDArray[np.bool_]


class Sorter:
    """Sorts lines as the target would see them now."""

    def __init__(self, fmt: Format, target: BulkTarget) -> None:
        self._format = fmt
        self._target = target
        self._plans: dict[bytes, list[Plan]] = {}
        self._scratch = Scratch()
        self._nobody = Nobody(fmt)
        self.is_mostly_nobodys = False  # the last lines: then their shapes need not be tried

    def sort(self, buffer: Bytes, start: int, end: int, *, by_line: bool = False) -> Chunk:
        """The lines between `start` and `end` of a buffer that is `PADDING` longer; zero bytes are taken out of it.

        `by_line` leaves them all to the ordinary reader.
        """
        body = buffer[start:end]
        if not body.min():
            kept = body[body != 0]
            end = start + len(kept)
            buffer[start:end] = kept
            body = buffer[start:end]
        chunk = Chunk(buffer, *_split(buffer, start, end, has_returns=bool((body == 13).any())))
        if not by_line:
            chunk.kinds[chunk.lengths == 0] = NOTHING
            is_left = np.ones(len(chunk.lengths), dtype=bool)
            if self.is_mostly_nobodys and self._target.kept_names is not None:
                self._find_nobodys(chunk, is_left)
            block = RowBlock(len(chunk.lengths), self._scratch)
            self._read_shapes(chunk, block, is_left)
            chunk.rows = block.rows(chunk.kinds == STEP)
            if not len(chunk.nobodys):
                for _, _, lines in chunk.foreign:
                    is_left[lines] = False
                self._find_nobodys(chunk, is_left)
            self.is_mostly_nobodys = 2 * len(chunk.nobodys) > len(chunk.lengths)
        return chunk

    def _find_nobodys(self, chunk: Chunk, is_left: Marks) -> None:
        """Of the lines that are left, those that belong to no format."""
        if not self._target.has_own_prefix:
            lines = np.flatnonzero(is_left & (chunk.kinds == SLOW))
            chunk.nobodys = self._nobody.find(chunk.buffer, chunk.places, chunk.lengths, lines)
            is_left[chunk.nobodys] = False

    def _read_shapes(self, chunk: Chunk, block: RowBlock, is_left: Marks) -> None:
        lengths = np.where(is_left, np.minimum(chunk.lengths, _LINE_BYTES[1]), 0)
        sizes = np.bincount(lengths, minlength=1)
        for length in np.flatnonzero(sizes >= _LEAST_LINES).tolist():
            if _LINE_BYTES[0] <= length < _LINE_BYTES[1]:
                self._read_length(chunk, block, np.flatnonzero(lengths == length), length)

    def _read_length(self, chunk: Chunk, block: RowBlock, lines: Ints, length: int) -> None:
        """Lines of one length: find their shapes, do with each what its plan says."""
        width = (length + 7) // 8 * 8
        # Copying records of bytes is by far the quickest way to bring scattered lines together.
        records = np.ndarray((len(chunk.buffer) - width,), dtype=f"V{width}", buffer=chunk.buffer, strides=(1,))
        matrix: Words = records[chunk.places[lines]].view(np.uint64).reshape(len(lines), width // 8)
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
                plan = make_plan(self._format, self._target, line)
                if len(self._plans) >= _MAX_PLANS:
                    self._plans.clear()
                self._plans.setdefault(line.translate(DIGITS_TO_ZERO), []).append(plan)
            words, fits = compare(plan.shape, matrix, self._scratch)
            if fits is None:
                self._follow(plan, chunk, block, lines, words)
                return
            self._follow(plan, chunk, block, lines[fits], np.ascontiguousarray(words[:, fits]))
            lines, matrix = lines[~fits], matrix[~fits]

    def _known_plan(self, line: bytes) -> Plan | None:
        for plan in self._plans.get(line.translate(DIGITS_TO_ZERO), ()):
            if all(line[place] == digit for place, digit in plan.shape.fixed):
                return plan
        return None

    def _follow(self, plan: Plan, chunk: Chunk, block: RowBlock, lines: Ints, words: Words) -> None:
        """Do with lines of one shape what its plan says."""
        row = plan.row
        if row is None:
            if plan.kind in (UNREAD, PASSED):
                chunk.foreign.append((plan.kind, plan.text, lines))
            else:
                chunk.kinds[lines] = plan.kind
            return
        if plan.kind == LOSS:
            self._add_losses(chunk, row, lines, words)
            return
        what = self._target.judge(total=row.total, epochs=row.epochs, batches=row.batches, prefix=row.tag)
        if what == "news":
            chunk.stop_after(int(lines[0]))
        elif what == "bar":
            chunk.kinds[lines] = OTHER_BAR
            chunk.bars.update(dict.fromkeys(lines.tolist(), row.total))
        elif what == "row" and block.accepts(row):
            good = block.add(row, lines, words)
            chunk.kinds[lines if good is None else lines[good]] = STEP

    def _add_losses(self, chunk: Chunk, row: RowRecipe, lines: Ints, words: Words) -> None:
        """Lines that hold the loss of the row before them."""
        assert row.loss is not None
        number, scratch = row.numbers[row.loss.number], self._scratch
        whole = whole_numbers(number, words, scratch, scratch.words("loss", len(lines)).view(np.int64))
        values = floats(number, whole, words, scratch)
        known = np.isfinite(values)
        chunk.kinds[lines[known]] = LOSS
        chunk.losses.append((lines[known], values[known]))


def _split(buffer: Bytes, start: int, end: int, *, has_returns: bool) -> tuple[Ints, Ints]:
    """Where each line begins and one would behind the last, and how long each is.

    A carriage return ends a line too, and "\\r\\n" only once.
    """
    body = buffer[start:end]
    if not has_returns:
        ends = np.flatnonzero(body == 10)
        places = np.empty(len(ends) + 1, dtype=ends.dtype)
        places[0] = start
        np.add(ends, start + 1, out=places[1:])
        ends += start
        return places, ends - places[:-1]
    ends = np.flatnonzero((body == 10) | (body == 13)) + start
    is_feed = buffer[ends] == 10
    is_second = is_feed & (buffer[ends - 1] == 13)
    is_second[0] &= bool(ends[0] > start)
    firsts = ends[~is_second]
    # The byte behind the chunk is not looked at: a return at its end was not followed by anything yet.
    is_pair = (buffer[firsts] == 13) & (buffer[firsts + 1] == 10) & (firsts + 1 < end)
    places = np.concatenate([[start], firsts + 1 + is_pair])
    return places, firsts - places[:-1]
