"""A chunk whose lines have been sorted by what they are, given to the target in the order of the file."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.columns.decimals import Printed, unpack
from stepscope.columns.statistics import distinct
from stepscope.lines.format import Format
from stepscope.reading.bulk.heads import is_like_any
from stepscope.reading.bulk.line_shape import DIGITS_TO_ZERO
from stepscope.reading.bulk.numbers import Floats, Ints
from stepscope.reading.bulk.recipe import NOTHING, PASSED, SLOW, UNREAD, Recipe, make_recipe
from stepscope.reading.bulk.target import BulkTarget
from stepscope.reading.rows import RowBatch
from stepscope.reading.unread import family_key
from stepscope.source.encodings import decode_line
from stepscope.source.lines import clean

OTHER_BAR = 6  # besides the kinds of a plan: a bar that is not the training's
_MAX_RECIPES = 4096
_MAX_COUNTED = 50_000
_FEW_ROWS = 2
_WITHOUT_TRACE = (NOTHING, UNREAD, PASSED)
# Lines that nobody understands or that are passed over: which of both, the text of one, and where they are.
Foreign = tuple[int, str, Ints]


class Chunk:
    """Some lines of the file, and what has been found out about each of them."""

    def __init__(self, buffer: npt.NDArray[np.uint8], places: Ints, lengths: Ints) -> None:
        """`places` are where each line begins, and where one would behind the last."""
        self.buffer = buffer
        self.places, self.lengths = places, lengths
        self.kinds = np.zeros(len(lengths), dtype=np.int8)
        self.rows: RowBatch | None = None  # with lines counted from 0
        self.bars: dict[int, int | None] = {}  # line of another bar → its total
        self.losses: list[tuple[Ints, Floats]] = []
        self.foreign: list[Foreign] = []
        self.nobodys: Ints = np.empty(0, dtype=np.int64)  # lines that belong to no format
        self.end = len(lengths)

    def __getstate__(self) -> dict[str, Any]:
        """All but the bytes: a process that gets a chunk from another has them. Small numbers take less copying."""
        kept = {name: value for name, value in self.__dict__.items() if name != "buffer"}
        return kept | {"places": self.places.astype(np.int32), "lengths": self.lengths.astype(np.int32)}

    def raw(self, line: int) -> bytes:
        """The bytes of a line."""
        start = int(self.places[line])
        return self.buffer[start : start + int(self.lengths[line])].tobytes()

    def raws(self, lines: Ints) -> list[bytes]:
        """The bytes of some lines."""
        starts, whole = self.places[lines], memoryview(self.buffer.data)
        return [
            whole[start:end].tobytes()
            for start, end in zip(starts.tolist(), (starts + self.lengths[lines]).tolist(), strict=True)
        ]

    def stop_after(self, line: int) -> None:
        """Give only the lines up to this one, then look again at the others."""
        self.end = min(self.end, line + 1)


class HandOver:
    """Gives chunks to a target."""

    def __init__(self, fmt: Format, target: BulkTarget) -> None:
        self._format = fmt
        self._target = target
        self._counted: dict[bytes, str] = {}  # lines that are only counted, with digits as 0, and their family
        self._recipes: dict[bytes, Recipe | bool] = {}  # False: seen once, True: to be searched every time

    def give(self, chunk: Chunk) -> int:
        """Give the lines of a chunk; how many, because what one of them says may change what the next ones mean."""
        target, kinds = self._target, chunk.kinds
        base, outlook, done = target.num_lines, target.outlook, chunk.end
        counted = [
            (kind, family_key(text), lines)
            for kind, text, lines in chunk.foreign
            if target.would_only_count(text, is_passed=kind == PASSED)
        ]
        counted += self._nobodys(chunk)
        for kind, _, lines in counted:
            kinds[lines] = kind
        if target.wants_unread:
            kinds[np.flatnonzero(kinds == UNREAD)[: target.wants_unread]] = SLOW
        if target.in_traceback and kinds[0] in _WITHOUT_TRACE:
            kinds[0] = SLOW
        feed = RowFeed(target, chunk, base, is_cumulative=self._format.clock.covers == "cumulative")
        feed.set_losses()
        single = np.flatnonzero((kinds == SLOW) | (kinds == OTHER_BAR))
        single = single[: np.searchsorted(single, done)]
        raws = chunk.raws(single)
        recipes = [self._recipe(raw) for raw in raws]
        feed.set_barriers(single[[recipe is None for recipe in recipes]] if recipes else single)
        stop: int | None
        for line, raw, recipe, row in zip(single.tolist(), raws, recipes, feed.rows_before(single), strict=True):
            stop = self._add_rows(feed, chunk, row, base, outlook)
            if stop is not None:
                pass
            elif recipe is not None and not target.in_traceback:
                self._add_event(recipe, raw, base + line + 1)
            elif kinds[line] == OTHER_BAR:
                target.pass_bar(chunk.bars[line], base + line + 1)
            else:
                feed.confirm_losses(line)
                after = self._add_lines(chunk, line, base)
                stop = after if target.outlook != outlook else None
            if stop is not None:
                break
        else:
            stop = self._add_rows(feed, chunk, feed.num_rows_before(done), base, outlook)
        done = done if stop is None else stop
        feed.confirm_losses(done)
        target.count_unread(int(np.count_nonzero(kinds[:done] == UNREAD)))
        self._count_families(chunk, counted, done, base)
        target.num_lines = base + done
        return done

    def _nobodys(self, chunk: Chunk) -> list[Foreign]:
        """Lines of no format that would only be counted: those like nothing that is kept, then by their text."""
        kept, lines = self._target.kept_names, chunk.nobodys
        if kept is None or not len(lines):
            return []
        families, remarks = kept
        if self._target.num_lines >= self._target.families(is_passed=False).last_line:
            families = ()
        if not families and not remarks:
            return [(UNREAD, "", lines)]
        is_like = is_like_any(chunk.buffer, chunk.places[lines], chunk.lengths[lines], families, remarks)
        found: list[Foreign] = [(UNREAD, "", lines[~is_like])]
        by_family: dict[str, list[int]] = {}
        alike = lines[is_like]
        for line, raw in zip(alike.tolist(), chunk.raws(alike), strict=True):
            key = raw.translate(DIGITS_TO_ZERO)
            family = self._counted.get(key)
            if family is None:
                text = raw.decode("ascii").strip()
                if not self._target.would_only_count(text, is_passed=False):
                    continue
                family = family_key(text)
                if len(self._counted) < _MAX_COUNTED:
                    self._counted[key] = family
            by_family.setdefault(family, []).append(line)
        return found + [(UNREAD, family, np.array(own, dtype=np.int64)) for family, own in by_family.items()]

    def _count_families(self, chunk: Chunk, counted: list[Foreign], done: int, base: int) -> None:
        """Count the lines up to `done` that nobody needs to see, by family."""
        for kind, key, lines in counted:
            families = self._target.families(is_passed=kind == PASSED)
            own = lines[: np.searchsorted(lines, min(done, families.last_line - base))]
            own = own[chunk.kinds[own] == kind]  # some were looked at after all
            if key and len(own) and families.knows(key):
                last = int(own[-1])
                shown = clean(decode_line(chunk.raw(last))).strip()
                families.count(key, len(own), base + last + 1, self._target.claim(shown).text)

    def _add_rows(self, feed: RowFeed, chunk: Chunk, row: int, base: int, outlook: tuple[object, ...]) -> int | None:
        """Give the rows before this one; the line to stop at, if one of them changes what the next ones mean."""
        target = self._target
        while (odd := feed.advance(row)) is not None:
            if not odd.is_added:
                self._add_lines(chunk, odd.line, base)
            if odd.loss is not None:
                target.set_loss(odd.loss)
            if target.outlook != outlook:
                return odd.line + 1
        return None

    def _add_lines(self, chunk: Chunk, line: int, base: int) -> int:
        """Give a line to the ordinary reader, and those after it that a traceback may claim; the line behind them."""
        target, kinds = self._target, chunk.kinds
        while True:
            target.num_lines = base + line
            target.add(clean(decode_line(chunk.raw(line))))
            line += 1
            if line == chunk.end or not target.in_traceback or kinds[line] not in _WITHOUT_TRACE:
                return line
            kinds[line] = NOTHING  # the target counts it itself

    def _recipe(self, raw: bytes) -> Recipe | None:
        key = raw.translate(DIGITS_TO_ZERO)
        known = self._recipes.get(key)
        if not known:
            if len(self._recipes) >= _MAX_RECIPES:
                self._recipes.clear()
            known = False if known is None else make_recipe(self._format, self._target, raw) or True
            self._recipes[key] = known
        return known if isinstance(known, Recipe) else None

    def _add_event(self, recipe: Recipe, raw: bytes, line: int) -> None:
        text = raw.decode("ascii")
        groups = {name: text[start:end] for name, start, end in recipe.groups} | recipe.missing
        self._target.add_event(recipe.which, groups, text[recipe.start : recipe.end], line)


class OddRow(NamedTuple):
    """A row that was not staged with others: its line, whether it was added without it, the loss on a line behind."""

    line: int
    is_added: bool
    loss: float | None


class RowFeed:
    """Lets the rows of a chunk appear in the target while the lines between them are read."""

    def __init__(self, target: BulkTarget, chunk: Chunk, base: int, *, is_cumulative: bool) -> None:
        self._target, self._chunk = target, chunk
        rows = chunk.rows
        self._rows = rows if rows is None else rows._replace(line=rows.line + (base + 1))
        self._lines: Ints = rows.line if rows is not None else np.empty(0, dtype=np.int64)
        self._odd = np.empty(0, dtype=np.int64)  # rows that do not simply go on from the one before
        if rows is not None:
            is_odd = rows.step[1:] <= rows.step[:-1]
            if is_cumulative and rows.figure is not None:
                clock = rows.figure.numbers if isinstance(rows.figure, Printed) else rows.figure
                is_odd |= clock[1:] < clock[:-1]
            if is_odd.any():
                self._odd = np.flatnonzero(is_odd) + 1
        self._barriers: list[int] = []
        self._stretches: list[list[int]] = []  # of rows that are staged together, where the rules allow it
        self._loss_lines: list[int] = []
        self._losses: dict[int, float] = {}  # by row, those printed on a line of their own
        self._row = 0
        self._part: RowBatch | None = None  # the staged rows, from `_first` up to `_last`
        self._first = self._last = 0

    def rows_before(self, lines: Ints) -> list[int]:
        """How many rows stand before each of these lines."""
        before: list[int] = np.searchsorted(self._lines, lines).tolist()
        return before

    def num_rows_before(self, line: int) -> int:
        """How many rows stand before a line."""
        return int(np.searchsorted(self._lines, line))

    def set_losses(self) -> None:
        """Give the rows the losses printed on lines of their own; where that is not certain, line by line."""
        chunk, rows = self._chunk, self._rows
        if not chunk.losses:
            return
        lines, values = (np.concatenate(columns) for columns in zip(*chunk.losses, strict=True))
        order = np.argsort(lines)
        lines, values = lines[order], values[order]
        target = np.searchsorted(self._lines, lines) - 1
        is_sure = target >= 0
        if rows is None or chunk.bars or len(self._odd) or not self._target.is_on_bar:
            is_sure[:] = False
        slow = np.concatenate([[-1], np.flatnonzero(chunk.kinds == SLOW)])
        # The row before the loss must be the last one: no line in between that may hold another.
        is_sure &= self._lines[target] > slow[np.searchsorted(slow, lines) - 1] if len(self._lines) else False
        chunk.kinds[lines[~is_sure]] = SLOW
        if rows is None or not is_sure.any():
            return
        loss = unpack(rows.loss) if rows.loss is not None else np.full(len(rows.step), np.nan)
        target, values = target[is_sure], values[is_sure]
        is_missing = np.isnan(loss[target])
        loss[target[is_missing][::-1]] = values[is_missing][::-1]  # of two, the first counts
        self._losses = dict(zip(target[is_missing][::-1].tolist(), values[is_missing][::-1].tolist(), strict=True))
        self._rows = rows._replace(loss=loss)
        self._loss_lines = lines[is_sure].tolist()

    def set_barriers(self, lines: Ints) -> None:
        """Lines that may add rows of their own, or change what a row means: no rows are staged across them."""
        num = len(self._lines)
        found = distinct(np.concatenate([[0, num], self._odd, np.searchsorted(self._lines, lines)]))
        is_odd = np.zeros(num, dtype=bool)
        is_odd[self._odd] = True
        # Of an odd row no rule would be quiet, and to ask them about two takes longer than to add these two.
        first, last = found[:-1] + is_odd[found[:-1]], found[1:] - _FEW_ROWS
        self._stretches = np.column_stack([first, last])[first < last][::-1].tolist()
        self._barriers = found[::-1].tolist()

    def confirm_losses(self, line: int) -> None:
        """Tell the target of losses that were printed before a line."""
        if self._loss_lines and self._loss_lines[0] < line:
            self._loss_lines = [own for own in self._loss_lines if own >= line]
            self._target.confirm_losses()

    def advance(self, row: int) -> OddRow | None:
        """Let all rows before this one count, up to one after which to look again, or that needs its line."""
        while self._row < row:
            if self._row >= self._last:
                odd = self._add_alone(row) or self._stage()
                if odd is not None:
                    return odd
            assert self._part is not None
            upto = min(row, self._last)
            self._target.show_rows(self._part, self._row - self._first, upto - self._first)
            self._row = upto
        return None

    def _add_alone(self, row: int) -> OddRow | None:
        """Add the rows up to the next that are staged together, but not beyond `row`; None if that is not possible."""
        assert self._rows is not None
        while self._stretches and self._stretches[-1][1] <= self._row:
            self._stretches.pop()
        last = min(row, self._stretches[-1][0]) if self._stretches else row
        if last <= self._row:
            return None
        if self._losses:
            last = self._row + 1
            self.confirm_losses(int(self._lines[self._row]))
        num = self._target.add_alone(self._rows, self._row, last)
        return self._pass(num, is_added=True) if num else None

    def _stage(self) -> OddRow | None:
        """Stage the rows up to the next barrier; where the rules object, the first of them is the next by itself."""
        assert self._rows is not None
        while self._barriers[-1] <= self._row:
            self._barriers.pop()
        part = self._rows.part(self._row, self._barriers[-1])
        if self._target.stage_rows(part):
            self._part, self._first, self._last = part, self._row, self._barriers[-1]
            return None
        self.confirm_losses(int(self._lines[self._row]))
        is_added = self._target.add_alone(self._rows, self._row, self._row + 1) > 0
        return self._pass(1, is_added=is_added)

    def _pass(self, num: int, *, is_added: bool) -> OddRow:
        """The next rows are not among the staged ones: the last of them."""
        self._row += num
        self._last = self._row
        return OddRow(int(self._lines[self._row - 1]), is_added, self._losses.get(self._row - 1))
