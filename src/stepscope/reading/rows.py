"""The step rows of a log while it is read: columns that grow row by row, or many rows at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.columns.column import Column
from stepscope.columns.decimals import DecimalColumn, Decimals, Nanos, Printed, take, unpack
from stepscope.columns.run_length import RunLengthColumn
from stepscope.lines.format import Covers, Format
from stepscope.lines.prefix import Prefix
from stepscope.reading.clock_steps import SteadyClock, TimedRows, steady_clock
from stepscope.reading.row_times import is_interval, is_interval_work, row_times, tick_ns
from stepscope.reading.timestamps import Setback
from stepscope.run.model import NO_TIME, EventTable, Floats, Ints, Stamps, StepTable

MAX_FIGURE_S = 1e9
_MOST_PER = (1 << 31) - 1
_ENOUGH_ROWS = 5_000  # to see what a figure covers
_ROOM = 1.1  # rows of a log may get shorter on the way


class Row(NamedTuple):
    """A row that is not in the columns yet."""

    step: int
    figure: int
    loss: float | None
    mfu: float | None
    per: int
    line: int
    stamp: int
    data: float | None = None
    work: float = math.nan
    is_stamp_lent: bool = False  # the stamp is that of an earlier line


class RowBatch(NamedTuple):
    """Step rows that were read together, in the order of the file; a column that none of them has is None."""

    step: Ints
    line: Ints
    figure: Printed | Ints | None  # nanoseconds
    loss: Printed | Floats | None
    is_bad: npt.NDArray[np.bool_] | None  # where a loss is printed and is no number
    mfu: Printed | Floats | None  # in percent
    data: Floats | None
    work: Floats | None
    t_ns: Ints | None
    prefix: Prefix | None  # that all stamps are like
    placed: Ints | None = None  # the stamps as they count: days, years and set clocks added

    def part(self, first: int, last: int) -> RowBatch:
        """The rows from `first` up to `last`."""
        if last - first == len(self.step):
            return self
        rows = slice(first, last)
        return RowBatch(
            step=self.step[rows],
            line=self.line[rows],
            figure=take(self.figure, rows),
            loss=take(self.loss, rows),
            is_bad=take(self.is_bad, rows),
            mfu=take(self.mfu, rows),
            data=take(self.data, rows),
            work=take(self.work, rows),
            t_ns=take(self.t_ns, rows),
            prefix=self.prefix,
        )


class RowStore:
    """The columns of the rows so far.

    Rows read ahead become visible a few at a time, between one event and the next. Who reads an event asks for the
    steps, so the other columns follow when somebody looks at them.
    """

    def __init__(self) -> None:
        self.step = RunLengthColumn()
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

    def __len__(self) -> int:
        return len(self.step)

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
    def last_step(self) -> int | None:
        """The step of the last row."""
        return self.step.last

    def spacing(self, first: int) -> int:
        """Steps between the last two rows from `first` on; 1 where there are no two."""
        return self.step[-1] - self.step[-2] if len(self.step) - first > 1 else 1

    def append(self, new: Row) -> None:
        """One more row."""
        self._catch_up()
        row = len(self.step)
        self._lines_rise = self._lines_rise and new.line >= (self._line.last or 0)
        self.step.append(new.step)
        self._figure.append(new.figure)
        self._per.append_at(row, min(new.per, _MOST_PER))
        self._loss.append(math.nan if new.loss is None else new.loss)
        self._mfu.append(math.nan if new.mfu is None else new.mfu)
        self._data.append_at(row, new.data if new.data is not None and 0 <= new.data < MAX_FIGURE_S else math.nan)
        self._work.append_at(row, new.work)
        self._line.append(new.line)
        self._t.append_at(row, new.stamp)
        self._is_stamp_lent = new.is_stamp_lent

    def complete_stamp(self, again: Row) -> None:
        """The last row's step is printed once more, perhaps by a line with a stamp where the row's had none."""
        if again.stamp == NO_TIME or again.is_stamp_lent:
            return
        self._catch_up()
        if not self._t:
            self._t.append_at(len(self.step) - 1, again.stamp)
        elif self._t[-1] == NO_TIME or self._is_stamp_lent:
            self._t[-1] = again.stamp
        self._is_stamp_lent = False

    def stage(self, rows: RowBatch) -> None:
        """Put rows behind the end, not yet visible."""
        self._catch_up()
        first, num = len(self.step), len(rows.step)
        self.step.stage(rows.step)
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
        self.step.show(num)
        self._num_behind += num
        self._is_stamp_lent = False

    def _catch_up(self) -> None:
        num, self._num_behind = self._num_behind, 0
        if not num:
            return
        self._line.show(num)
        for printed in (self._figure, self._loss, self._mfu):
            printed.show(num)
        for column in (self._per, self._t, self._data, self._work):
            if column:
                column.show(num)

    def cut(self, num: int) -> None:
        """Keep only the first `num` rows."""
        self._catch_up()
        self.step.cut(num)
        self._line.cut(num)
        for printed in (self._figure, self._loss, self._mfu):
            printed.cut(num)
        for column in (self._per, self._t, self._data, self._work):
            column.cut(num)

    def expect(self, share_read: float) -> None:
        """Make room for the rows to come, when this share of the log has been read."""
        num = int(len(self.step) / share_read * _ROOM)
        self._catch_up()
        self.step.expect(num)
        self._line.expect(num)
        for printed in (self._figure, self._loss, self._mfu):
            printed.expect(num)
        for column in (self._t, self._data, self._work):
            if column:
                column.expect(num)

    def rises_to(self, figure: Printed | Ints | None) -> bool:
        """Whether a running clock goes on with these figures."""
        return figure is not None and bool(self.figure[-1] <= unpack(take(figure, slice(1)))[0])

    def tick_ns(self, fmt: Format, stamps: Stamps | None) -> int:
        """The step in which the clock behind the rows counts."""
        return tick_ns(fmt.clock.covers, self.figure, stamps.resolution_ns if stamps is not None else None)

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
        step, line = (unpack(column.share()) if len(t_ns) else t_ns for column in (self.step, self._line))
        return steady_clock(TimedRows(t_ns, step, line, first_rows), stamps, setbacks)

    def table(
        self, fmt: Format, first_rows: Ints, t_ns: Ints, *, per_interval: bool, steps_per_row: int = 1
    ) -> StepTable:
        """A frozen copy of what has grown so far; segments begin at `first_rows`, and `t_ns` are the timestamps."""
        self._catch_up()
        num = len(self.step)
        covers: Covers = "window" if per_interval else fmt.clock.covers
        step, figure = self.step.share(), self._figure.share()
        if steps_per_row > 1:
            step = unpack(step) * steps_per_row
        dur: Printed | Ints = figure
        spans: Ints | None = np.broadcast_to(np.int64(1), num)
        if covers != "step" or self.figure.has_missing():
            step = unpack(step)
            dur, spans = row_times(
                covers,
                step=step,
                figure=unpack(figure),
                per=self._per.share(),
                t_ns=t_ns,
                first_rows=first_rows,
                first_step=fmt.layout.first_step,
                is_total=per_interval or fmt.clock.is_sum,
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
