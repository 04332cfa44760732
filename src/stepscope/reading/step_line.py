"""The groups of a step line → its step and its time figure, with what the lines before it said."""

from __future__ import annotations

import math

from stepscope.core.units import NS
from stepscope.lines.figures import AHEAD, SCALES, figure_ns, full_count, step_number, whole
from stepscope.lines.format import Format
from stepscope.reading.header import HeaderSettings
from stepscope.reading.rows import MAX_FIGURE_S, RowStore
from stepscope.reading.totals import Totals
from stepscope.run.model import NO_TIME

NAMES_STEP = frozenset({"step", "batch", "epoch", "samples_per_s", *SCALES})
NOT_A_TIME = -1
_SPACED = 2  # rows that show how far apart steps are

Groups = dict[str, str | None]


class StepLineReader:
    """Reads what a step line says, and remembers what the lines before it said in its place."""

    def __init__(self, fmt: Format, totals: Totals, header: HeaderSettings, rows: RowStore) -> None:
        self._format, self._totals, self._header, self._rows = fmt, totals, header, rows
        self._ahead: Groups = {}  # step, epoch, batch or time as the lines before a step line state them
        self._clock_epoch: int | None = None
        self._clock_base = 0

    @property
    def is_expecting(self) -> bool:
        """Whether a line has stated something of the next step line."""
        return bool(self._ahead)

    def expect(self, groups: Groups) -> None:
        """A line states something of the next step line, which lacks it."""
        self._ahead.update((name, value) for name, value in groups.items() if value and name in AHEAD)

    def complete(self, groups: Groups) -> Groups:
        """The groups of a step line with what was stated before it."""
        if not self._ahead:
            return groups
        return groups | {name: value for name, value in self._ahead.items() if not groups.get(name)}

    def spend(self, groups: Groups) -> None:
        """A row was made: an epoch's number holds for all its batches, but only once for the epoch as a whole."""
        spent = AHEAD - ({"epoch"} if groups.get("batch") else {"batch"})
        self._ahead = {name: value for name, value in self._ahead.items() if name not in spent}

    def step(self, groups: Groups) -> int | None:
        """The number of the step; None where it cannot be worked out."""
        before = self._totals.steps_before(groups)
        step = step_number(groups, first_epoch=self._format.layout.first_epoch, batches=self._totals.batches)
        if before is not None and step is not None and not groups.get("step"):
            batch = whole(groups.get("batch"))
            step = before + ((whole(groups.get("batches")) or 0) if batch is None else batch)
        return self._full_step(groups.get("step"), step)

    def figure(self, groups: Groups) -> int | None:
        """The time figure in nanoseconds; None without one, `NOT_A_TIME` where it cannot be one."""
        figure = self._rate_figure(groups) if groups.get("samples_per_s") else figure_ns(groups)
        if self._format.clock.restarts_with == "epoch" and figure is not None:
            return self._since_start(whole(groups.get("epoch")), figure)
        return figure

    def _rate_figure(self, groups: Groups) -> int | None:
        """Samples a second make a time only where the log also says how many samples a step takes."""
        rate, samples = number(groups.get("samples_per_s")), self._header.values.get("samples_per_step")
        if not rate or not isinstance(samples, int):
            return None
        seconds = samples / rate
        return round(seconds * NS) if 0 <= seconds < MAX_FIGURE_S else NOT_A_TIME

    def _since_start(self, epoch: int | None, figure: int) -> int:
        """A clock of the epoch as one of the process: what the epochs before it took is added."""
        if figure < 0:
            return figure
        if epoch != self._clock_epoch:
            figures = self._rows.figure
            self._clock_base = figures[-1] if figures and figures[-1] != NO_TIME else 0
            self._clock_epoch = epoch
        return self._clock_base + figure

    def _full_step(self, text: str | None, step: int | None) -> int | None:
        """Of a step printed as `14K`, the digits left out, where the rows before it are evenly spaced."""
        if step is None or not text or text[-1] not in "KkM" or len(self._rows) < _SPACED:
            return step
        expected = 2 * self._rows.step[-1] - self._rows.step[-2]
        return expected if full_count(text, expected) else step


def number(text: str | None) -> float | None:
    """A printed number, NaN and infinity included; None when there is none."""
    try:
        return float(text) if text else None
    except ValueError:
        return None


def work_of(groups: Groups, figure: int | None) -> float:
    """How much a step had to do, in whatever the log counts: printed, or its rate times its time."""
    printed, rate = number(groups.get("tokens")), number(groups.get("tokens_per_s"))
    if printed is not None:
        return printed
    return rate * figure / NS if rate is not None and figure is not None and figure > 0 else math.nan
