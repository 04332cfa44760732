"""The step rows of a log while it is read: columns that grow row by row, or many rows at a time."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter
from typing import TypeVar

import numpy as np

from stepscope.columns.column import Column
from stepscope.columns.decimals import DecimalColumn, Decimals, Nanos, Printed, take, unpack
from stepscope.columns.run_length import RunLengthColumn
from stepscope.lines.format import Covers, Format
from stepscope.reading.clock_steps import SteadyClock, TimedRows, steady_clock
from stepscope.reading.counted_lines import CountedLines
from stepscope.reading.rated_clock import even_clock
from stepscope.reading.row_batch import Row, RowBatch
from stepscope.reading.row_times import is_coarse, is_interval, is_interval_work, row_times, tick_ns
from stepscope.reading.timestamps import Setback
from stepscope.run.model import NO_TIME, EventTable, Ints, Stamps, StepTable, steps_since

MAX_FIGURE_S = 1e9
_MOST_PER = (1 << 31) - 1
_ENOUGH_ROWS = 5_000  # to see what a figure covers
_ROOM = 1.1  # rows of a log may get shorter on the way
_FEW_ROWS = 16  # taken one by one they are cheaper than as columns
_MOST_IN_TAIL = 4_096
_MOST_SHORT = 1 << 18  # rows of a log that is looked at as a whole

_Any = TypeVar("_Any", DecimalColumn, Column)


_step_of = attrgetter("step")


__all__ = ["MAX_FIGURE_S", "Row", "RowBatch", "RowStore"]


class RowStore:
    """The columns of the rows so far.

    Rows read ahead become visible a few at a time, between one event and the next. Who reads an event asks for the
    steps, so the other columns follow when somebody looks at them. Rows that come one by one wait in `_tail` until
    somebody looks at a column: to add a row to each column by itself takes ten times as long.
    """

    def __init__(self) -> None:
        self._step = RunLengthColumn()
        self._line = RunLengthColumn()
        self._lines_rise = True  # rows that were held back are printed before rows that are here already
        self._figure = DecimalColumn(Nanos())
        self._loss = DecimalColumn(Decimals())
        self._num_behind = 0  # rows that only the steps show yet
        self._mfu = DecimalColumn(Decimals())  # in percent
        # What few logs have is empty until a row has it: how many steps its figure was printed for, its stamp, the
        # seconds it waited for its batch, how much work it did.
        self._per = Column(np.int32, missing=0)
        self._t = Column(np.int64, missing=NO_TIME)
        self._is_stamp_lent = False  # of the last row
        self._data = Column(np.float64, missing=math.nan)
        self._work = Column(np.float64, missing=math.nan)
        self._tail: list[Row] = []  # rows after those in the columns
        self._is_tail_stamped = False  # whether one of them has a stamp
        self._few: list[Row] | None = None  # staged rows, where they are few
        self._num_kept = 0  # rows that the columns show
        self.last_step: int | None = None  # of the last row: asked for several times with every row

    def __len__(self) -> int:
        return self._num_kept + len(self._tail)

    @property
    def step(self) -> RunLengthColumn:
        """The step of each row."""
        if self._tail:
            self._catch_up()
        return self._step

    @property
    def figure(self) -> DecimalColumn:
        """The time figure of each row, in nanoseconds."""
        self._catch_up()
        return self._figure

    @property
    def loss(self) -> DecimalColumn:
        """The loss of each row; NaN where none is printed."""
        self._catch_up()
        return self._loss

    @property
    def t(self) -> Column:
        """The stamp of each row; empty where none has one."""
        self._catch_up()
        return self._t

    def rows_before(self, lines: Ints) -> Ints:
        """How many rows were printed up to each of these lines."""
        self._catch_up()
        if self._lines_rise:
            return self._line.rows_upto(lines)
        return np.searchsorted(np.sort(unpack(self._line.share())), lines, side="right").astype(np.int64)

    @property
    def last_figure(self) -> int:
        """The time figure of the last row, which must be there."""
        return self._tail[-1].figure if self._tail else self.figure[-1]

    @property
    def last_loss(self) -> float:
        """The loss of the last row, which must be there."""
        if not self._tail:
            return float(self.loss[-1])
        loss = self._tail[-1].loss
        return math.nan if loss is None else loss

    @last_loss.setter
    def last_loss(self, loss: float) -> None:
        if self._tail:
            self._tail[-1] = self._tail[-1]._replace(loss=loss)
        else:
            self.loss[-1] = loss

    @property
    def is_stamped(self) -> bool:
        """Whether a row has a stamp."""
        return self._is_tail_stamped or len(self._t) > 0

    def step_of(self, row: int) -> int:
        """The step of a row."""
        at = row - self._num_kept
        return int(self._tail[at].step if at >= 0 else self._step[row])

    def figure_of(self, row: int) -> int:
        """The time figure of a row."""
        at = row - self._num_kept
        return int(self._tail[at].figure if at >= 0 else self._shown(self._figure)[row])

    def loss_of(self, row: int) -> float:
        """The loss of a row; NaN where none is printed."""
        at = row - self._num_kept
        if at < 0:
            return float(self._shown(self._loss)[row])
        loss = self._tail[at].loss
        return math.nan if loss is None else loss

    def stamp_of(self, row: int) -> int:
        """The stamp of a row, where one row at least has one."""
        at = row - self._num_kept
        if at >= 0:
            return self._tail[at].stamp
        return int(self._shown(self._t)[row]) if len(self._t) else NO_TIME

    def first_from(self, first: int, step: int) -> int:
        """The first row from `first` on, where steps only go up from there, that is not before a step."""
        num = self._num_kept
        found = bisect_left(self._step, step, first, num) if first < num else num
        return found if found < num else num + bisect_left(self._tail, step, max(0, first - num), key=_step_of)

    def spacing(self, first: int) -> int:
        """Steps between the last two rows from `first` on; 1 where there are no two."""
        tail, num = self._tail, self._num_kept + len(self._tail)
        if num - first < 2:
            return 1
        return tail[-1].step - tail[-2].step if len(tail) > 1 else self.step_of(num - 1) - self.step_of(num - 2)

    def append(self, new: Row) -> None:
        """One more row."""
        if self._num_behind:
            self._catch_up()
        self._few = None
        self._is_stamp_lent = new.is_stamp_lent
        if new.stamp != NO_TIME:
            self._is_tail_stamped = True
        self._tail.append(new)
        self.last_step = new.step
        if len(self._tail) >= _MOST_IN_TAIL:
            self._catch_up()

    def complete_stamp(self, again: Row) -> None:
        """The last row's step is printed once more, perhaps by a line with a stamp where the row's had none."""
        if again.stamp == NO_TIME or again.is_stamp_lent:
            return
        self._catch_up()
        if not self._t:
            self._t.append_at(len(self._step) - 1, again.stamp)
        elif self._t[-1] == NO_TIME or self._is_stamp_lent:
            self._t[-1] = again.stamp
        self._is_stamp_lent = False

    def stage(self, rows: RowBatch) -> None:
        """Put rows behind the end, not yet visible."""
        if len(rows) <= _FEW_ROWS:
            if self._num_behind:
                self._catch_up()
            self._few = rows.rows()
            return
        self._catch_up()
        self._few = None
        first, num = self._num_kept, len(rows)
        self._step.stage(rows.step)
        self._line.stage(rows.line)
        for own, printed in ((self._figure, rows.figure), (self._loss, rows.loss), (self._mfu, rows.mfu)):
            if printed is None:
                own.stage_missing(num)
            else:
                own.stage(printed)
        data = rows.data
        if data is not None:
            data = np.where((data >= 0) & (data < MAX_FIGURE_S), data, math.nan)
        for column, values in ((self._per, None), (self._t, rows.placed), (self._data, data), (self._work, rows.work)):
            column.stage_at(first, num, values)

    def show(self, num: int) -> None:
        """Make the next `num` staged rows visible."""
        if self._few is not None:
            shown, left = self._few[:num], self._few[num:]
            for row in shown:
                self.append(row)
            self._few = left
            return
        self._is_stamp_lent = False
        self._step.show(num)
        self.last_step = self._step.last
        self._num_kept += num
        self._num_behind += num

    def _shown(self, column: _Any) -> _Any:
        """A column with all rows but those of the tail."""
        if self._num_behind:
            self._catch_up()
        return column

    def _catch_up(self) -> None:
        num, self._num_behind = self._num_behind, 0
        if num:
            self._line.show(num)
            for printed in (self._figure, self._loss, self._mfu):
                printed.show(num)
            for column in (self._per, self._t, self._data, self._work):
                if column:
                    column.show(num)
        if self._tail:
            tail, self._tail, self._is_tail_stamped = self._tail, [], False
            self._extend(tail)

    def _extend(self, rows: list[Row]) -> None:
        """Move rows to the end of the columns."""
        first = self._num_kept
        self._num_kept += len(rows)
        step, figure, loss, mfu, per, line, stamp, data, work, _ = zip(*rows, strict=True)
        lines = np.array(line, dtype=np.int64)
        self._lines_rise = (
            self._lines_rise and int(lines[0]) >= (self._line.last or 0) and not (np.diff(lines) < 0).any()
        )
        self._step.extend(np.array(step, dtype=np.int64))
        self._line.extend(lines)
        self._figure.extend(np.array(figure, dtype=np.int64))
        for column, values in ((self._loss, loss), (self._mfu, mfu)):
            column.extend(np.array([math.nan if value is None else value for value in values], dtype=np.float64))
        self._per.extend_at(first, np.minimum(np.array(per, dtype=np.int64), _MOST_PER))
        waits = [value if value is not None and 0 <= value < MAX_FIGURE_S else math.nan for value in data]
        self._data.extend_at(first, np.array(waits, dtype=np.float64))
        self._work.extend_at(first, np.array(work, dtype=np.float64))
        self._t.extend_at(first, np.array(stamp, dtype=np.int64))

    def cut(self, num: int) -> None:
        """Keep only the first `num` rows."""
        self._few = None
        if num >= self._num_kept and not self._num_behind:
            del self._tail[num - self._num_kept :]
            self.last_step = self._tail[-1].step if self._tail else self._step.last
            return
        self._catch_up()
        self._num_kept = min(num, self._num_kept)
        self._step.cut(num)
        self.last_step = self._step.last
        self._line.cut(num)
        for printed in (self._figure, self._loss, self._mfu):
            printed.cut(num)
        for column in (self._per, self._t, self._data, self._work):
            column.cut(num)

    def expect(self, share_read: float) -> None:
        """Make room for the rows to come, when this share of the log has been read."""
        num = int(len(self) / share_read * _ROOM)
        self._catch_up()
        self._step.expect(num)
        self._line.expect(num)
        for printed in (self._figure, self._loss, self._mfu):
            printed.expect(num)
        for column in (self._t, self._data, self._work):
            if column:
                column.expect(num)

    def rises_to(self, figure: Printed | Ints | None) -> bool:
        """Whether a running clock goes on with these figures."""
        return figure is not None and bool(self.last_figure <= unpack(take(figure, slice(1)))[0])

    def tick_ns(self, fmt: Format, stamps: Stamps | None, *, by_figures: bool = False) -> int:
        """The step in which the clock behind the rows counts."""
        per = self._per[:] if self.times_rows else None
        return tick_ns(
            "window" if by_figures else fmt.clock.covers,
            self.figure,
            stamps.resolution_ns if stamps is not None else None,
            per,
        )

    @property
    def times_rows(self) -> bool:
        """Whether every figure is the time of as many steps as its line says."""
        return bool(self._per) and len(self._per) == len(self) and bool((self._per[:] > 0).all())

    def times_itself(self, fmt: Format, first_rows: Ints, t_ns: Ints) -> bool:
        """Whether what the lines print times them better than their timestamps do, which are this format's clock."""
        if fmt.clock.covers != "stamp" or not len(t_ns) or len(self) > _MOST_SHORT:
            return False
        step, is_first = self.step[:], np.zeros(len(self), dtype=bool)
        is_first[first_rows] = True
        return is_coarse(self.figure[:], steps_since(step, first_rows), t_ns, is_first)

    def prints_intervals(
        self, fmt: Format, first_rows: Ints, events: EventTable, stamps: Stamps | None, tokens: float | str | None
    ) -> bool:
        """Whether the figure that should be one step's turns out to be the interval's; the first rows show it.

        `tokens` is how many a step takes, as far as the log says.
        """
        if fmt.clock.covers != "step":
            return False
        num = min(len(self.step), _ENOUGH_ROWS)
        step, figure, t_ns = self.step[:num], self.figure[:num], self.t[:num]
        begins = np.zeros(num, dtype=bool)
        begins[first_rows[first_rows < num]] = True
        per_step = float(tokens) if isinstance(tokens, int) and self._work else 0.0
        if per_step > 0 and is_interval_work(step, self._work[:num], begins, per_step):
            return True
        is_event = begins.copy()
        is_event[events.row[events.row < num]] = True
        return is_interval(step, figure, t_ns, is_event, tick_ns=stamps.resolution_ns if stamps is not None else 0)

    def steady_clock(self, first_rows: Ints, stamps: Stamps | None, setbacks: Sequence[Setback]) -> SteadyClock:
        """The rows' timestamps as they run on; segments begin at `first_rows`."""
        self._catch_up()
        t_ns = self._t.share()
        return steady_clock(TimedRows(t_ns, self.step.share(), self._line.share(), first_rows), stamps, setbacks)

    def table(
        self,
        fmt: Format,
        first_rows: Ints,
        t_ns: Ints,
        *,
        per_interval: bool,
        counted: CountedLines,
        by_arrival: bool = False,
        times_itself: bool = False,
        batches: int | None = None,
        rate_tick: float = 0.0,
    ) -> StepTable:
        """A frozen copy of what has grown so far; segments begin at `first_rows`, and `t_ns` are the timestamps.

        `batches` is how many steps an epoch has; `rate_tick` the last digit of the rate that a running clock was worked
        out from.
        """
        self._catch_up()
        num = len(self.step)
        covers: Covers = "stamp" if by_arrival else "window" if per_interval or times_itself else fmt.clock.covers
        step, figure = self.step.share(), self._figure.share()
        if counted.interval > 1:
            step = counted.steps(unpack(step).astype(np.int64))
        if rate_tick and covers == "cumulative":
            figure = even_clock(unpack(step).astype(np.int64), unpack(figure).astype(np.int64), first_rows, rate_tick)
        dur: Printed | Ints = figure
        spans: Ints | None = np.broadcast_to(np.int64(1), num)
        if covers != "step" or self.figure.has_missing():
            dur, spans = row_times(
                covers,
                step=unpack(step),
                figure=figure,
                per=self._per.share(),
                t_ns=t_ns,
                first_rows=first_rows,
                first_step=fmt.layout.first_step,
                is_total=per_interval or fmt.clock.is_sum,
                epoch_steps=batches if fmt.clock.restarts_with == "epoch" else None,
            )
        nothing = np.broadcast_to(np.float64(math.nan), num)
        return StepTable(
            kept_step=step,
            kept_dur=dur,
            spans=spans,
            kept_loss=self._loss.share(),
            kept_mfu_pct=self._mfu.share(),
            data_s=self._data.share() if self._data else nothing,
            work=self._work.share() if self._work else nothing,
            kept_line=self._line.share(),
            t_ns=t_ns,
            first_rows=first_rows,
        )
