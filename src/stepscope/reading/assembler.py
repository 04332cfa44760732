"""Lines of one known format → the columns of a Run, growing line by line.

`reader.py` finds out which format it is and feeds the lines.
"""

from __future__ import annotations

import copy
import math
import re
from bisect import bisect_left
from typing import Literal

import numpy as np

from stepscope.core.redact import redact
from stepscope.core.units import NS
from stepscope.lines.figures import AHEAD, SCALES, figure_ns, full_count, step_number, whole
from stepscope.lines.format import Format
from stepscope.lines.match import Claim, claim, is_indented
from stepscope.lines.prefix import Prefix
from stepscope.lines.runtimes import parse_runtime
from stepscope.reading.bars import Bars
from stepscope.reading.events import KINDS as EVENTS
from stepscope.reading.events import EventStore
from stepscope.reading.header import HeaderSettings
from stepscope.reading.notices import NoticeTrack
from stepscope.reading.remarks import RemarkTrack
from stepscope.reading.rows import MAX_FIGURE_S, RowBatch, RowStore
from stepscope.reading.segments import SegmentStore
from stepscope.reading.timestamps import TimestampTrack
from stepscope.reading.totals import Totals
from stepscope.reading.writers import Row, Writers, looks_interleaved, rank_of
from stepscope.run.model import NO_TIME, Notice, Rank, Run, Runtime, Segment, StepTable

_MAX_UNREAD = 5
_MAX_RUNTIMES = 15
_SPACED = 2
NAMES_STEP = frozenset({"step", "batch", "epoch", "samples_per_s", *SCALES})


class RunAssembler:
    """Columns that grow line by line, for one known format."""

    def __init__(self, fmt: Format) -> None:
        self._format = fmt
        self._last_kind = 0
        self.num_lines = 0
        self._num_unread = 0
        self._first_unread: list[tuple[int, str]] = []
        self._rows = RowStore()
        self._ahead: dict[str, str | None] = {}  # step, epoch and batch as the lines before a step line tell them
        self._segments = SegmentStore()
        self._doubtful: tuple[int, int] | None = None  # last step and spacing before a segment nobody announced
        self._copied_row: int | None = None  # the row that comes next where lines are read a second time
        self._lanes = Writers()
        self._events = EventStore()
        self._fate = NoticeTrack()
        self._remarks = RemarkTrack()
        self._totals = Totals(fmt)
        self._num_nonfinite = 0
        self._first_nonfinite: tuple[int, int] | None = None
        self._told = HeaderSettings(fmt)
        self._bars = Bars()
        self._shape: re.Pattern[str] | None = None
        self._stamps = TimestampTrack()
        self._own = self._stamps, self._fate  # of the run's own files, while another rank's is read
        self._side: NoticeTrack | None = None
        self._runtimes: list[Runtime] = []
        self._last_notices: list[Notice] = []  # how other ranks ended, by their own files
        self._clock_epoch: int | None = None
        self._clock_base = 0

    def begin_file(self, rank: int | None) -> None:
        """The next lines come from another file of the run, perhaps one rank's own."""
        lanes, self._lanes.of_file = self._lanes, rank
        if rank is not None and lanes.own_rank is None:
            lanes.own_rank = rank
        is_side = rank is not None and rank != lanes.own_rank
        if self._side is None:
            self._own = self._stamps, self._fate
        elif self._side.notices:
            self._last_notices += self._side.notices
        # Another rank's file has its own stamps and its own end; neither is the run's.
        self._side = NoticeTrack() if is_side else None
        self._stamps, self._fate = (TimestampTrack(), self._side) if self._side is not None else self._own
        self._fate.in_traceback = False

    def expect_prefix(self, shape: re.Pattern[str] | None) -> None:
        """Take lines that begin like this for the trainer's own behind a prefix of a kind we do not know."""
        self._shape = shape

    def add(self, line: str) -> None:
        """Take one clean line."""
        self.num_lines += 1
        text = line.strip()
        if not text:
            return
        found = self.claim(text)
        if self._fate.in_traceback and is_indented(line, found.prefix):
            told = None if found.which is None else self._format.lines[found.which].kind
            if told not in {"step", "evaluation"}:
                return  # the traceback's own lines: code, not log
        if found.prefix is not None:
            self._stamps.note(found.prefix)
            if found.prefix.is_bare and found.prefix.rank is not None:
                self._lanes.see(found.prefix.rank)
        if found.which is None or found.match is None:
            if found.text:
                self._add_unclaimed(found.text)
            return
        if self._format.lines[found.which].kind == "step":
            self._last_kind = found.which  # what comes next is most likely another one
        self._apply(found.which, found.match.groupdict(), found.match.string, found.prefix)

    def claim(self, text: str) -> Claim:
        """Which line of the format a stripped line is."""
        found = claim(self._format, text, self._last_kind)
        if found.which is None and self._shape is not None:
            known = self._shape.match(found.text)
            if known is not None and known.end() < len(found.text):
                found = claim(self._format, found.text[known.end() :], self._last_kind)._replace(prefix=found.prefix)
        return found

    def _hear(self, text: str) -> None:
        """A line that carries no step: it may say how long the whole took."""
        found = parse_runtime(text)
        if found is not None and self._side is None:
            self._runtimes = [*self._runtimes[-_MAX_RUNTIMES:], Runtime(*found, self.num_lines, -1)]

    def _apply(self, index: int, groups: dict[str, str | None], text: str, prefix: Prefix | None) -> None:
        line = self._format.lines[index]
        if self._side is not None and line.kind != "step":
            return  # the run's own rank tells the rest
        if line.kind in {"chatter", "fact"}:
            self._hear(text)
        if line.kind == "chatter":
            self._fate.moment = self._stamps.moment
            self._fate.hear(text, line=self.num_lines)
            self._told.values.update(line.sets)
            return
        self._fate.in_traceback = False
        if line.kind == "step":
            self._add_step(groups, text, prefix)
        elif line.kind in EVENTS:
            self._add_event(line.kind, groups, text, prefix)
        elif line.kind == "setting":
            if self._rows.step and not self._segments.starting:
                self._unread(text)  # after the first step, `name = value` is nobody's config echo
            else:
                self._add_setting(groups["key"] or "", groups["value"] or "")
        elif line.kind == "remark":
            self._stamps.note_inside(groups)
            self._remarks.note(text, line=self.num_lines, t_ns=self._stamps.moment)
        else:
            self._add_fact(index, groups)
        self._told.values.update(line.sets)

    def _add_step(self, groups: dict[str, str | None], text: str, prefix: Prefix | None) -> None:
        own = groups.keys()
        if self._ahead:
            groups = groups | {name: told for name, told in self._ahead.items() if not groups.get(name)}
        if not own & NAMES_STEP:
            self._add_figures(groups)
            return
        if self._totals.learn_epoch_length(groups, len(self._rows)):
            self._segments.expect()
        before = self._totals.steps_before(groups)
        step = step_number(groups, first_epoch=self._format.layout.first_epoch, batches=self._totals.batches)
        if before is not None and step is not None and not groups.get("step"):
            batch = whole(groups.get("batch"))
            step = before + ((whole(groups.get("batches")) or 0) if batch is None else batch)
        step = self._full_step(groups.get("step"), step)
        figure = self._rate_figure(groups) if groups.get("samples_per_s") else figure_ns(groups)
        if self._format.clock.restarts_with == "epoch" and figure is not None:
            figure = self._run_on(whole(groups.get("epoch")), figure)
        self._stamps.note_inside(groups)
        if self._format.layout.bars_nest and self._bars.draw(whole(groups.get("total"))):
            return
        timeless = figure is None and self._stamps.last is None and self._format.clock.covers != "stamp"
        if timeless and not own & SCALES.keys():
            return  # its time is told by the line before it, and was not
        if step is None or figure == -1 or (timeless and not self._format.clock.is_sum):
            self._unread(text)
            return
        # An epoch's number holds for all its batches, but only once for the epoch as a whole.
        spent = AHEAD - ({"epoch"} if groups.get("batch") else {"batch"})
        self._ahead = {name: told for name, told in self._ahead.items() if name not in spent}
        row = Row(
            step,
            NO_TIME if figure is None else figure,
            _number(groups.get("loss")),
            _number(groups.get("mfu_pct")),
            per=whole(groups.get("per_steps")) or 0,
            line=self.num_lines,
            # A stamp that was there before the last row already says nothing about this one.
            stamp=self._stamps.take(),
            is_stamp_lent=prefix is None or prefix.t_ns is None,
            data=_number(groups.get("data_s")),
            work=_work(groups, figure),
        )
        if self._side is not None:
            self._side.notices.clear()  # whatever was told before, this rank went on
        if not self._is_other_rank(row, prefix):
            self._totals.note(groups, len(self._rows), on_step=True)
            self._append(row)

    def _is_other_rank(self, row: Row, prefix: Prefix | None) -> bool:
        """Whether a row is another rank's; then it is kept beside the run, or held until that is certain."""
        lanes = self._lanes
        is_bare = prefix is not None and prefix.is_bare
        rank = lanes.writer(prefix.rank if prefix is not None else None, is_bare=is_bare)
        if rank is None:
            return False
        if is_bare and lanes.are_line_numbers(row.step):
            for held in lanes.dismiss_ranks():
                self._append(held)
            return False
        if not lanes.takes_rank(rank, row.step, row.figure, row.stamp):
            return False
        if is_bare and not lanes.are_bare_ranks:
            lanes.held.append(row)
        return True

    def _append(self, new: Row) -> None:
        """One more row of the run's own."""
        row, step, figure = len(self._rows), new.step, new.figure
        starts = self._segments.starts
        same = bool(starts) and row > starts[-1].row
        covers = self._format.clock.covers
        if same and step == self._rows.step[-1] and (figure == self._rows.figure[-1] or covers != "step"):
            # The same step again: two writers of one process, or two states of one bar. One of them may have the stamp.
            self._set_loss(new.loss)
            if covers == "stamp":
                self._rows.complete_stamp(new)
            return
        last = self._rows.step[-1] if self._rows.step else -1
        restarts = bool(starts) and step <= last
        if self._is_copied(new):
            return
        if same and self._had_no_time_to_restart(new, last):
            self._segments.calm()
        announced = self._segments.starting or self._segments.has_ended
        if covers == "cumulative" and same and not announced and NO_TIME not in (figure, self._rows.figure[-1]):
            # A resumed process starts its clock anew; the slower of two writers does not.
            clock_restarts = figure < self._rows.figure[-1] // 2
            if restarts and not clock_restarts:
                return
            restarts = restarts or (clock_restarts and self._format.clock.restarts_with == "process")
        elif starts and not announced and self._is_others_row(new, last, restarts=restarts):
            return
        last = self._rows.step[-1] if self._rows.step else -1
        row = len(self._rows)
        if not starts or self._segments.starting or (restarts and step <= last):
            # A step number that goes back is a new process, with or without a header.
            self._doubtful = (last, self._spacing()) if starts and not announced else None
            self._lanes.other = None
            is_new = self._segments.begin(
                row,
                step,
                last if starts else None,
                spacing=self._spacing(),
                first=self._format.layout.first_step,
                totals=self._totals,
            )
            if is_new and len(starts) > 1:
                self._totals.begin_training(row)
            self._bars.has_loss = False
        elif restarts:
            self._segments.begin(
                row, step, last, spacing=0, first=self._format.layout.first_step, totals=self._totals
            )  # the clock starts anew, the step goes on
        elif (
            same
            and new.stamp != NO_TIME
            and len(self._rows.t) - starts[-1].row > 1
            and NO_TIME not in self._rows.t[-2:]
        ):
            stamp = self._stamps.settle(new.stamp, self._rows.t[-1], max(0, self._rows.t[-1] - self._rows.t[-2]))
            new = new._replace(stamp=stamp)
        self._segments.calm()
        self._rows.append(new)
        if new.loss is not None and not math.isfinite(new.loss):
            self._note_nonfinite(step)

    def _is_copied(self, new: Row) -> bool:
        """Whether a row is one that was read before: the same lines once more, in this file or in another."""
        row, starts = self._copied_row, self._segments.starts
        if row is None:
            if not starts or new.step > self._rows.step[-1]:
                return False
            # Only where the whole training is told again does it begin with the training's first row.
            first = next(start.row for start in starts if start.training == starts[-1].training)
            row = (
                first if self._rows.step[first] == new.step else bisect_left(self._rows.step, new.step, starts[-1].row)
            )
        if row < len(self._rows) and self._is_same(row, new):
            self._copied_row = row + 1
            return True
        self._copied_row = None
        return False

    def _is_same(self, row: int, new: Row) -> bool:
        if self._rows.step[row] != new.step or self._rows.figure[row] != new.figure:
            return False
        if self._rows.t and new.stamp != NO_TIME:
            return bool(self._rows.t[row] == new.stamp)
        # Without stamps, only times that are never quite the same show that these are the same lines.
        around = self._rows.figure[max(0, row - 1) : row + 2]
        return len(set(around)) == len(around) > 1 and new.loss is not None and self._rows.loss[row] == new.loss

    def _had_no_time_to_restart(self, new: Row, last: int) -> bool:
        """Whether a row goes on at its usual pace: then whatever was announced or ended between was another process."""
        if not self._segments.starting and not self._segments.has_ended:
            return False
        row = len(self._rows.t)
        if new.step != last + self._spacing() or row < 2 or NO_TIME in (new.stamp, self._rows.t[-1], self._rows.t[-2]):
            return False
        return row - self._segments.starts[-1].row > 1 and new.stamp - self._rows.t[-1] <= 2 * (
            self._rows.t[-1] - self._rows.t[-2]
        )

    def _spacing(self) -> int:
        """Steps between the last two rows of the present segment; 1 where there are no two."""
        return self._rows.spacing(self._segments.starts[-1].row if self._segments.starts else 0)

    def _is_others_row(self, new: Row, last: int, *, restarts: bool) -> bool:
        """Whether a row is that of a second process which writes into the same file without saying so."""
        lanes, spacing = self._lanes, self._spacing()
        if lanes.other is not None:
            if not lanes.is_others(new.step, last, spacing):
                return False
            lanes.add_other(new.step, new.figure, new.stamp)
            return True
        if new.step == last and self._format.clock.covers == "step":
            # The same step with another time, and nothing between that tells of an end.
            lanes.open_other([new.step], [new.figure], [new.stamp])
            return True
        if self._doubtful is not None and not restarts:
            before, their_spacing = self._doubtful
            first = self._segments.starts[-1].row
            if looks_interleaved(
                new.step,
                before=before,
                spacing=their_spacing,
                last=last,
                own_spacing=spacing,
                num_rows=len(self._rows) - first,
            ):
                stamps = self._rows.t[first:].tolist() or [NO_TIME] * (len(self._rows) - first)
                lanes.open_other(self._rows.step[first:].tolist(), self._rows.figure[first:].tolist(), stamps)
                self._drop_segment()
                self._doubtful = None
        return False

    def _rate_figure(self, groups: dict[str, str | None]) -> int | None:
        """Samples a second make a time only where the log also tells how many samples a step takes."""
        rate, samples = _number(groups.get("samples_per_s")), self._told.values.get("samples_per_step")
        if not rate or not isinstance(samples, int):
            return None
        seconds = samples / rate
        return round(seconds * NS) if 0 <= seconds < MAX_FIGURE_S else -1

    def _run_on(self, epoch: int | None, figure: int) -> int:
        """A clock of the epoch as one of the process: what the epochs before it took is added."""
        if figure < 0:
            return figure
        if epoch != self._clock_epoch:
            self._clock_base = self._rows.figure[-1] if self._rows.figure and self._rows.figure[-1] != NO_TIME else 0
            self._clock_epoch = epoch
        return self._clock_base + figure

    def _full_step(self, text: str | None, step: int | None) -> int | None:
        """Of a step printed as `14K`, the digits left out, where the rows before it are evenly spaced."""
        if step is None or not text or text[-1] not in "KkM" or len(self._rows) < _SPACED:
            return step
        expected = 2 * self._rows.step[-1] - self._rows.step[-2]
        return expected if full_count(text, expected) else step

    def _add_figures(self, groups: dict[str, str | None]) -> None:
        """What a line without a step says of the step printed last; with bars, it tells which of them is training."""
        bars = self._bars
        if self._format.layout.bars_nest and not bars.is_on_own:
            if bars.is_stated:
                return
            if not bars.has_loss and self._segments.starts:
                self._drop_segment()  # those were the bars of something else
            bars.take_last()
            self._segments.expect()
            return
        self._bars.has_loss = True
        self._set_loss(_number(groups.get("loss")))

    def _set_loss(self, loss: float | None) -> None:
        if loss is None or not self._rows.step or not math.isnan(self._rows.loss[-1]):
            return
        self._rows.loss[-1] = loss
        if not math.isfinite(loss):
            self._note_nonfinite(self._rows.step[-1])

    def _drop_segment(self) -> None:
        first = self._segments.drop_last()
        self._rows.cut(first)
        self._events.drop_rows(first, max(0, len(self._segments.starts) - 1))

    @property
    def outlook(self) -> tuple[object, ...]:
        """What the next line is seen against; while it stays the same, rows can be read ahead of their turn."""
        return (
            *(*self._totals.told, self._totals.is_uneven, self._bars.total),
            *(self._lanes.own_rank, self._lanes.are_bare_ranks, self._fate.is_ignored),
        )

    def judge(
        self, *, total: int | None, epochs: int | None, batches: int | None, prefix: Prefix | None
    ) -> Literal["row", "bar", "news", "line"]:
        """What lines that tell this are: rows of the run, another bar, news in the first of them, or neither."""
        if self._format.layout.bars_nest and total != self._bars.total:
            return "news" if self._bars.total is None else "bar"
        if self._totals.is_uneven or not self._lanes.is_own(prefix):
            return "line"
        told = zip((total, epochs, batches), self._totals.told, strict=True)
        return "row" if all(own in (None, known) for own, known in told) else "news"

    def pass_bar(self, total: int | None, line: int) -> None:
        """Another bar than the training's."""
        self.num_lines = line
        self._fate.in_traceback = False
        self._bars.last = total

    @property
    def is_on_bar(self) -> bool:
        """Whether a loss that comes next belongs to the row before it."""
        return not self._format.layout.bars_nest or self._bars.is_on_own

    def set_loss(self, loss: float) -> None:
        """The loss of the last row, where its own line has none."""
        self._set_loss(loss)

    def confirm_losses(self) -> None:
        """Lines with the losses of rows have been read."""
        self._bars.has_loss = True
        self._fate.in_traceback = False

    @property
    def in_traceback(self) -> bool:
        """Whether the next line may be part of a traceback."""
        return self._fate.in_traceback

    @property
    def wants_unread(self) -> int:
        """How many more lines that nobody understood must be seen."""
        return max(_MAX_UNREAD - len(self._first_unread), int(self._fate.is_ignored))

    def is_deaf_to(self, text: str) -> bool:
        """Whether a line that nobody understands would only be counted."""
        return self._remarks.is_full(text)

    def count_unread(self, num: int) -> None:
        """So many lines more that nobody understood."""
        self._num_unread += num

    def add_event(self, which: int, groups: dict[str, str | None], text: str, line: int) -> None:
        """An event whose line was taken apart already."""
        self.num_lines = line
        self._apply(which, groups, text, None)

    def stage_rows(self, rows: RowBatch) -> bool:
        """Put rows that follow each other behind the end; False when the first must be added by itself."""
        t_ns = self._stamps.place(rows.t_ns, rows.prefix)
        ordinary = (
            self._segments.starts
            and not self._segments.starting
            and not self._ahead
            and self._doubtful is None
            and self._copied_row is None
            and self._lanes.other is None
            and rows.step[0] > self._rows.step[-1]
            and (self._format.clock.covers != "cumulative" or self._rows.rises_to(rows.figure))
            and (t_ns is None) == (rows.t_ns is None)
            and not (t_ns is None and self._stamps.is_new)
        )
        if not ordinary:
            return False
        self._rows.stage(rows, t_ns)
        return True

    def show_rows(self, rows: RowBatch, first: int, last: int) -> None:
        """Let the staged rows from `first` up to `last` count."""
        num = last - first
        if not num:
            return
        self._fate.in_traceback = False
        self._bars.draw_own()
        self._segments.calm()
        self._rows.show(num)
        if rows.prefix is not None and rows.t_ns is not None:
            self._stamps.note_many(self._rows.t, num)
        if rows.is_bad is not None and rows.is_bad[first:last].any():
            bad = rows.is_bad[first:last]
            self._num_nonfinite += int(bad.sum())
            at = first + int(np.argmax(bad))
            self._first_nonfinite = self._first_nonfinite or (int(rows.step[at]), int(rows.line[at]))

    def expect_rows(self, share_read: float) -> None:
        """Make room for the rows to come, when this share of the log has been read."""
        self._rows.expect(share_read)

    def _add_event(self, kind: str, groups: dict[str, str | None], text: str, prefix: Prefix | None) -> None:
        self._stamps.note_inside(groups)
        if self._copied_row is not None:
            return  # told once already
        step = whole(groups.get("step"))
        last = self._rows.last_step
        if step is not None and self._format.clock.covers == "cumulative":
            figure = figure_ns(groups)
            before = self._format.layout.first_step - 1 if last is None else last
            if figure is not None and figure >= 0 and step > before:
                self._totals.note(groups, len(self._rows), on_step=True)
                self._append(Row(step, figure, None, None, per=0, line=self.num_lines, stamp=self._stamps.take()))
                last = self._rows.last_step
        row = len(self._rows)
        if self._format.layout.events_follow_step and row:
            row -= 1
            step = last if step is None else step
        rank = self._lanes.writer(
            prefix.rank if prefix is not None else None, is_bare=prefix is not None and prefix.is_bare
        )
        is_bar = bool(groups.get("took_clock"))
        if rank in self._lanes.ranks or self._events.is_repeated(kind, row, rank=rank, is_bar=is_bar):
            return
        starts = self._segments.starts
        segment = max(0, len(starts) - 1)
        # An event belongs to the step that follows it, and so to that step's segment.
        if starts and (self._segments.starting or (step is not None and last is not None and row and step < last)):
            segment += 1
        loss = _number(groups.get("val_loss"))
        self._events.add(
            kind,
            groups,
            step=step,
            row=row,
            line=self.num_lines,
            stamp=self._stamps.last,
            before=self._stamps.before,
            segment=segment,
            loss=loss,
            rank=rank,
            text=text,
        )
        losses = (loss, _number(groups.get("train_loss")))
        if step is not None and any(value is not None and not math.isfinite(value) for value in losses):
            self._note_nonfinite(step)

    def _note_nonfinite(self, step: int) -> None:
        self._num_nonfinite += 1
        self._first_nonfinite = self._first_nonfinite or (step, self.num_lines)

    def _add_setting(self, key: str, value: str) -> None:
        name, parsed = self._told.echo(key, value)
        if name == "max_steps":
            self._totals.state(parsed, len(self._rows))

    def _add_fact(self, index: int, groups: dict[str, str | None]) -> None:
        kind = self._format.lines[index].kind
        if kind in {"start", "resume"}:
            if not self._segments.starting:
                self._told.begin()
            self._segments.launch(index, resumed=kind == "resume")
            self._bars.begin()
        if groups.get("tokens_per_step") and kind == "start":
            self._told.count_start()
        self._ahead.update((name, told) for name, told in groups.items() if told and name in AHEAD)
        self._stamps.note_inside(groups)
        self._totals.note(groups, len(self._rows), on_step=False)
        if groups.get("total"):
            self._bars.state(self._totals.total)
        max_steps = self._told.note(groups)
        if max_steps is not None:
            self._totals.state(max_steps, len(self._rows))

    def _add_unclaimed(self, text: str) -> None:
        self._hear(text)
        self._fate.moment = self._stamps.moment
        if self._fate.take(text, line=self.num_lines):
            if self._fate.is_fatal:
                self._segments.note_end()
            return
        if self._side is None:
            self._remarks.note(text, line=self.num_lines, t_ns=self._stamps.moment)
        self._unread(text)

    def _unread(self, text: str) -> None:
        self._num_unread += 1
        if len(self._first_unread) < _MAX_UNREAD:
            self._first_unread.append((self.num_lines, redact(text)))

    def run(self, *, paths: tuple[str, ...], encoding: str, mtime: float | None) -> Run:
        """A frozen copy of what has grown so far."""
        if self._lanes.is_undecided:
            # Too little was read to tell ranks from line numbers: without a second look at one, they number lines.
            twin = copy.deepcopy(self)
            for held in twin._lanes.dismiss_ranks():
                twin._append(held)
            return twin.run(paths=paths, encoding=encoding, mtime=mtime)
        starts = self._segments.starts
        edges = [start.row for start in starts] + [len(self._rows)]
        segments = tuple(
            Segment(
                first_row=start.row,
                num_rows=edges[index + 1] - start.row,
                fresh=start.fresh,
                training=start.training,
            )
            for index, start in enumerate(starts)
        )
        first_rows = np.array([start.row for start in starts], dtype=np.int64)
        stamps = self._own[0].stamps() if self._side is not None else self._stamps.stamps()
        events = self._events.table(self._rows, follow_step=self._format.layout.events_follow_step)
        tokens = self._told.values.get("tokens_per_step")
        per_interval = self._rows.prints_intervals(self._format, first_rows, events, stamps, tokens)
        steps = self._rows.table(self._format, first_rows, per_interval=per_interval)
        return Run(
            paths=paths,
            format=self._format,
            encoding=encoding,
            num_lines=self.num_lines,
            num_unread=self._num_unread,
            first_unread=tuple(self._first_unread),
            steps=steps,
            events=events,
            segments=segments,
            settings=self._told.settings(self._totals),
            notices=self._notices(),
            excerpts={**self._remarks.texts, **self._events.excerpts},
            remarks=self._remarks.kinds(self._rows),
            num_nonfinite=self._num_nonfinite,
            first_nonfinite=self._first_nonfinite,
            stamps=stamps,
            mtime=mtime,
            tick_ns=self._rows.tick_ns(self._format, stamps),
            is_interval=per_interval,
            runtimes=self._placed_runtimes(),
            ranks=self._ranks(steps),
            num_other_rows=self._lanes.num_others,
        )

    def _notices(self) -> tuple[Notice, ...]:
        """What the run's own files tell of its fate, and how the files of other ranks end."""
        own = self._own[1] if self._side is not None else self._fate
        others = [*self._last_notices, *(self._side.notices if self._side is not None else [])]
        return (*own.placed(self._rows), *(notice._replace(row=len(self._rows)) for notice in others))

    def _placed_runtimes(self) -> tuple[Runtime, ...]:
        rows = self._rows.rows_before(np.array([runtime.line for runtime in self._runtimes], dtype=np.int64)).tolist()
        return tuple(runtime._replace(row=row) for runtime, row in zip(self._runtimes, rows, strict=True))

    def _ranks(self, steps: StepTable) -> tuple[Rank, ...]:
        """The ranks that print their own steps, the run's own among them, in their order."""
        lanes = self._lanes
        if not lanes.ranks or lanes.own_rank is None:
            return ()
        found = [lane.rank(number, self._format) for number, lane in lanes.ranks.items()]
        found.append(rank_of(lanes.own_rank, self._format, steps.step, self._rows.figure[:], steps.t_ns))
        return tuple(sorted(found))


def _number(text: str | None) -> float | None:
    """A printed number, NaN and infinity included; None when there is none."""
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _work(groups: dict[str, str | None], figure: int | None) -> float:
    """How much a step had to do, in whatever the log counts: printed, or its rate times its time."""
    printed, rate = _number(groups.get("tokens")), _number(groups.get("tokens_per_s"))
    if printed is not None:
        return printed
    return rate * figure / NS if rate is not None and figure is not None and figure > 0 else math.nan
