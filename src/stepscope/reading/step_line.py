"""The groups of a step line → its step and its time figure, with what the lines before it said."""

from __future__ import annotations

import math
import re

from stepscope.core.units import NS
from stepscope.lines.figures import (
    AHEAD,
    BAR_FIRST,
    BAR_MEAN,
    BAR_STEPS,
    CLOCK_LEFT,
    MAX_NS,
    MEAN_RATE,
    MINUTES_LEFT,
    SCALES,
    figure_ns,
    full_count,
    parse_clock,
    step_number,
    whole,
)
from stepscope.lines.format import Format
from stepscope.lines.moment_forms import moment_at
from stepscope.reading.header import HeaderSettings
from stepscope.reading.rated_clock import mean_rate, rate_tick
from stepscope.reading.rows import MAX_FIGURE_S, RowStore
from stepscope.reading.totals import Totals
from stepscope.run.model import NO_TIME

NAMES_STEP = frozenset({"step", "batch", "epoch", "samples_per_s", MEAN_RATE, *SCALES})
# Groups of a step line that show that the step was evaluated, too.
EVALUATED = frozenset({"val_loss", "evaluated", "took_s", "took_ms", "took_clock"})
NOT_A_TIME = -1
_MULTIPLES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_FINE_LEFT_S = 10.0  # fewer whole seconds say less than what is known by then
_FINE_MINUTES = 10  # fewer whole minutes say less than what is known by then
# Of fewer, only the line on which the figure falls: the whole minute is still left, or part of it where the minutes
# that have passed were cut off too.
_FEW_MINUTES, _JUST_FELL = 3, 0.75
_ROUND_BATCH = 5  # programs print every 5th, 10th, 20th, 50th or 100th batch
_DRIFTS_ON = 1.5  # times what a mean is beyond those before it: it goes on to the last step
_REDRAWN_LINES = 2  # a bar that is drawn again this soon is the same one
_PLACES = frozenset({"step", "epoch", "batch"})
_VALUES = re.compile(r"[-+.\d]+(?:e[-+]?\d+)?")
_SURE_BEYOND = 4  # times what a whole second and a whole millisecond of each step leave open
_SPACED = 2  # rows that show how far apart steps are

Groups = dict[str, str | None]


class StepLineReader:
    """Reads what a step line says, and remembers what the lines before it said in its place."""

    def __init__(self, fmt: Format, totals: Totals, header: HeaderSettings, rows: RowStore) -> None:
        self._format, self._totals, self._header, self._rows = fmt, totals, header, rows
        self._ahead: Groups = {}  # step, epoch, batch or time as the lines before a step line state them
        self._began_ns: int | None = None  # the moment at which something began that a line will say ended
        self._begun_at: int | None = None  # the timestamp of the line that says that an evaluation begins
        self._clock_epoch: int | None = None
        self._clock_base = self._clock_from = self._clock_end = self._clock_batch = 0
        self._mean_by_left: int | None = None
        self._minutes_left: float | None = None
        self._left_batch: float | None = None  # of the line that said so
        self._cuts_left: bool | None = None
        self._num_means = self._sum_of_means = 0
        self.figure_doubt = 0.0  # how far all figures may be off together, as a share
        self.rate_tick = 0.0  # in which a mean rate since the start is printed
        self._bar = 0, 0  # the epoch and the batch of the last bar, where bars are epochs
        self._bar_line = 0
        self._done: tuple[int, float] | None = None  # a step and the samples before it, as a line counts them
        self._samples_each: float | None = None
        self._counted: tuple[str | None, str | None, str] = None, None, ""  # the last line counted, and its words

    @property
    def is_expecting(self) -> bool:
        """Whether a line has stated something of the next step line."""
        return bool(self._ahead)

    def take_duration(self) -> float | None:
        """The seconds that the line before an event states, which are then the event's and not the next step's."""
        found = {name: value for name, value in self._ahead.items() if name.startswith("dur_")}
        nanos = figure_ns(found) if found else None
        if nanos is None or nanos < 0:
            return None
        self._ahead = {name: value for name, value in self._ahead.items() if name not in found}
        return nanos / NS

    @property
    def expects_epoch(self) -> bool:
        """Whether a line named an epoch that no row has been read of."""
        return "epoch" in self._ahead

    def take_since(self, moment: int) -> float | None:
        """The seconds from the line that said that an evaluation begins to the moment of the line with its result."""
        begun, self._begun_at = self._begun_at, None
        return None if begun is None or moment < begun else (moment - begun) / NS

    def expect(self, groups: Groups, moment: int = NO_TIME) -> None:
        """A line, printed at `moment`, states something of the next step line, which lacks it."""
        if self._format.layout.bars_are_epochs and groups.get("batch"):
            groups = self._with_epoch(groups, self._bar_line)
        self._ahead.update((name, value) for name, value in groups.items() if value and name in AHEAD)
        if groups.get("began"):
            self._began_ns = _moment_ns(groups["began"])
        elif groups.get("began") == "" and moment != NO_TIME:
            self._begun_at = moment
        if groups.get("ended"):
            self._expect_span(_moment_ns(groups["ended"]))

    def _expect_span(self, ended_ns: int | None) -> None:
        """Something that two lines said to begin and to end is over; a duration that was printed in between counts."""
        began_ns, self._began_ns = self._began_ns, None
        if began_ns is not None and ended_ns is not None and ended_ns >= began_ns:
            self._ahead.setdefault("dur_s", f"{(ended_ns - began_ns) / NS:.9f}")

    def complete(self, groups: Groups, line: int = 0) -> Groups:
        """The groups of a step line with what was stated before it."""
        if self._format.layout.bars_are_epochs and not self._ahead.get("epoch"):
            groups = self._with_epoch(groups, line)
        if not self._ahead:
            return groups
        groups = groups | {name: value for name, value in self._ahead.items() if not groups.get(name)}
        took_s = self._beyond_steps(groups) if groups.get(BAR_MEAN) and groups.get("val_loss") else None
        return groups if took_s is None else groups | {"took_s": f"{took_s:.3f}"}

    def _beyond_steps(self, groups: Groups) -> float | None:
        """What an epoch's evaluation took: the whole epoch without its steps, where rounding leaves enough of it."""
        steps, seconds, mean_ms = whole(groups.get("per_steps")), number(groups.get("dur_s")), number(groups[BAR_MEAN])
        first_s = parse_clock(groups.get(BAR_FIRST) or "")
        if not steps or seconds is None or mean_ms is None or first_s is None or whole(groups.get(BAR_STEPS)) != steps:
            return None
        beyond_s = seconds - first_s - (steps - 1) * mean_ms / 1e3
        rounded_s = 0.5 + (0.5 if first_s >= 1 else 0) + steps * 0.5 / 1e3
        return beyond_s if beyond_s > _SURE_BEYOND * rounded_s else None

    def _with_epoch(self, groups: Groups, line: int) -> Groups:
        """The groups of a bar with the epoch that it must be: one more than before where it starts again."""
        batch = whole(groups.get("batch"))
        if batch is None or groups.get("epoch"):
            return groups
        epoch, before = self._bar
        is_next = batch < before
        if self._format.layout.bars_show_ends and batch == before:
            is_next = line > self._bar_line + _REDRAWN_LINES
        self._bar, self._bar_line = (epoch + is_next, batch), line
        return groups | {"epoch": str(self._bar[0] + self._format.layout.first_epoch)}

    def is_echo(self, groups: Groups, text: str) -> bool:
        """Whether a line that is counted says again, in other words, what the one before said: a second logger's."""
        words = _VALUES.sub("", text)
        (epochs, loss, before), self._counted = self._counted, (groups.get("epochs_done"), groups.get("loss"), words)
        is_same = None not in self._counted and self._counted[:2] == (epochs, loss)
        return is_same and words != before

    def spend(self, groups: Groups) -> None:
        """A row was made: an epoch's number holds for all its batches, but only once for the epoch as a whole."""
        spent = AHEAD - ({"epoch"} if groups.get("batch") else {"batch"})
        self._ahead = {name: value for name, value in self._ahead.items() if name not in spent}

    def step(self, groups: Groups) -> int | None:
        """The number of the step; None where it cannot be worked out."""
        if self._format.layout.counts_lines:
            last = self._rows.last_step
            return self._format.layout.first_step if last is None else last + 1
        if self._format.layout.epochs_follow and self._totals.epochs is None and not groups.keys() & _PLACES:
            length = whole(groups.get("batches"))
            return None if length is None else (self._rows.last_step or self._format.layout.first_step - 1) + length
        before = self._totals.steps_before(groups)
        step = step_number(groups, first_epoch=self._format.layout.first_epoch, batches=self._totals.batches)
        if before is not None and step is not None and not groups.get("step"):
            batch = whole(groups.get("batch"))
            step = before + ((whole(groups.get("batches")) or 0) if batch is None else batch)
        return self._full_step(groups.get("step"), step)

    def figure(self, groups: Groups) -> int | None:
        """The time figure in nanoseconds; None without one, `NOT_A_TIME` where it cannot be one."""
        figure = self._stated(groups)
        return figure if figure is None or figure < MAX_NS else NOT_A_TIME

    def _stated(self, groups: Groups) -> int | None:
        """What a line says, alone or with those before it."""
        if groups.get(MINUTES_LEFT) or groups.get(CLOCK_LEFT):
            return self._left_figure(groups)
        figure = self._rate_figure(groups) if groups.get("samples_per_s") else figure_ns(groups)
        if figure is None and groups.get(MEAN_RATE):
            return self._mean_rate_figure(groups)
        if self._format.clock.restarts_with == "epoch" and figure is not None:
            return self._since_start(groups, figure)
        if self._format.clock.is_mean and figure is not None and figure > 0:
            return figure * max(1, (self.step(groups) or 0) - self._format.layout.first_step + 1)
        return figure

    def _left_figure(self, groups: Groups) -> int | None:
        """The mean step of an epoch by the time that its other batches will take; the best reading so far."""
        minutes, batches = number(groups.get(MINUTES_LEFT)), number(groups.get("batches") or groups.get("total"))
        batch, percent = number(groups.get("batch") or groups.get("step")), number(groups.get("percent"))
        if batches is None and batch and percent:
            batches = 100 * batch / percent
        if batch is None or batches is None or batch >= batches:
            return self._mean_by_left
        left_s = parse_clock(groups.get(CLOCK_LEFT) or "")
        if left_s is not None and (left_s >= _FINE_LEFT_S or self._mean_by_left is None):
            self._mean_by_left = round(left_s * NS / (batches - batch))
        if minutes is None:
            return self._mean_by_left
        # Cut off, not rounded: half a minute more on average, and more than that where the figure has just fallen.
        fell = self._minutes_left == minutes + 1
        is_new = self._left_batch is None or batch < self._left_batch
        since = batch - (0.0 if is_new or self._left_batch is None else self._left_batch)
        self._minutes_left, self._left_batch = minutes, batch
        if is_new:
            self._cuts_left = self._says_how_left_is_cut(batch)
        if fell and not is_new and self._cuts_left:
            self._note_left(minutes, 1.0, batches - batch + since / 2, doubt=since / 2 / (batches - batch))
        elif minutes >= _FINE_MINUTES or (minutes > 0 and self._mean_by_left is None):
            self._note_left(minutes, 0.5, batches - batch)
        elif fell and minutes >= _FEW_MINUTES and self._cuts_left is None:
            self._note_left(minutes, _JUST_FELL, batches - batch)
        elif fell and minutes >= _FEW_MINUTES:
            self._note_left(minutes, 0.5, batches - batch)
        return self._mean_by_left

    @staticmethod
    def _says_how_left_is_cut(batch: float) -> bool | None:
        """Whether the time left is cut as a whole; None where the first row of an epoch does not show which program.

        One counts from 0 and cuts the time of all and the time that has passed, each by itself; another counts from 1.
        """
        return None if batch % _ROUND_BATCH else batch > 0

    def _note_left(self, minutes: float, part: float, batches: float, *, doubt: float | None = None) -> None:
        """So many minutes are left, and this part of another one, give or take what completes it.

        Each is a mean since the epoch began: where they drift, the steps themselves do so by more.
        """
        found = (minutes + part) * 60 * NS / batches
        if not 0 <= found < MAX_NS:
            return
        mean = self._mean_by_left = round(found)
        self._num_means, self._sum_of_means = self._num_means + 1, self._sum_of_means + mean
        drift = _DRIFTS_ON * abs(mean * self._num_means / self._sum_of_means - 1) if self._sum_of_means else 0.0
        self.figure_doubt = drift + ((1 - part) / (minutes + part) if doubt is None else doubt)

    def _rate_figure(self, groups: Groups) -> int | None:
        """Samples or tokens a second make a time only where the log also says how many of them a step takes."""
        stated = self._header.values
        rate, samples = (
            _in_full(groups.get("samples_per_s")),
            stated.get("samples_per_step", stated.get("tokens_per_step")),
        )
        if groups.get("samples_done"):
            samples = self._samples_between(groups)
        if not rate or not isinstance(samples, (int, float)):
            return None
        seconds = samples / rate
        return round(seconds * NS) if 0 <= seconds < MAX_FIGURE_S else NOT_A_TIME

    def _samples_between(self, groups: Groups) -> float | None:
        """How many samples a step takes, where the lines count them: the difference of two lines."""
        step, done = self.step(groups), _in_full(groups.get("samples_done"))
        if step is None or done is None:
            return self._samples_each
        before, self._done = self._done, (step, done)
        if before is not None and step > before[0] and done > before[1]:
            self._samples_each = (done - before[1]) / (step - before[0])
        return self._samples_each

    def _mean_rate_figure(self, groups: Groups) -> int | None:
        """The running clock behind a rate that is the mean since the start."""
        text = groups.get(MEAN_RATE) or ""
        rate, step = mean_rate(text), self.step(groups)
        if not rate or rate < 0 or not math.isfinite(rate) or step is None:
            return None
        elapsed = step / rate
        if not 0 <= elapsed < MAX_FIGURE_S:
            return NOT_A_TIME
        self.rate_tick = max(self.rate_tick, rate_tick(text))
        return round(elapsed * NS)

    def _since_start(self, groups: Groups, figure: int) -> int:
        """A clock of the epoch as one of the process: what the epochs before it took is added."""
        if figure < 0:
            return figure
        epoch = whole(groups.get("epoch"))
        if epoch != self._clock_epoch:
            last = self._rows.last_figure if len(self._rows) else NO_TIME
            last = 0 if last == NO_TIME else last
            # A bar that is first drawn when it is full may just be that of a slow epoch.
            is_full = groups.get("batch") is not None and groups.get("batch") == groups.get("batches")
            if not is_full and self._ran_on(figure, whole(groups.get("batch"))):
                self._clock_from = self._clock_end - self._clock_base
            else:
                self._clock_base, self._clock_from = max(last, self._clock_end), 0
            self._clock_epoch = epoch
        # The last state of a full bar repeats its step, so it is no row, but it shows whether to round up.
        self._clock_end = self._clock_base + _rounded(groups, figure)
        self._clock_batch = whole(groups.get("batch")) or 0
        return self._clock_base + figure

    def _ran_on(self, figure: int, batch: int | None) -> bool:
        """Whether an epoch's clock goes on from the one before, as old Lightning's does: it is more like that one's."""
        if not self._format.layout.bars_hold_evaluation:
            return False  # it begins again, and an epoch may be far slower than the one before
        passed = self._clock_end - self._clock_base
        before = passed - self._clock_from  # of the last epoch
        if self._clock_epoch is None or not batch or not self._clock_batch or figure <= passed or before <= 0:
            return False
        pace = before / self._clock_batch
        own, on = abs(math.log(figure / batch / pace)), abs(math.log((figure - passed) / batch / pace))
        return on < own

    def _full_step(self, text: str | None, step: int | None) -> int | None:
        """Of a step printed as `14K`, the digits left out, where the rows before it are evenly spaced."""
        if step is None or not text or text[-1] not in "KkM" or len(self._rows) < _SPACED:
            return step
        expected = (self._rows.last_step or 0) + self._rows.spacing(0)
        return expected if full_count(text, expected) else step


def number(text: str | None) -> float | None:
    """A printed number, NaN and infinity included; None when there is none."""
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _in_full(text: str | None) -> float | None:
    """A printed number with a letter for thousands or more, or without."""
    scale = _MULTIPLES.get(text[-1], 1.0) if text else 1.0
    found = number(text if text is None or scale == 1.0 else text[:-1])
    return None if found is None else found * scale


def work_of(groups: Groups, figure: int | None) -> float:
    """How much a step had to do, in whatever the log counts: printed, or its rate times its time."""
    printed, rate = number(groups.get("tokens")), number(groups.get("tokens_per_s"))
    if printed is not None:
        return printed
    return rate * figure / NS if rate is not None and figure is not None and figure > 0 else math.nan


def _rounded(groups: Groups, figure: int) -> int:
    """The clock of a full bar to the nearest second: its rate is then the mean of the whole, and the clock is cut."""
    batch, rate = whole(groups.get("batch")), {name: groups.get(name) for name in ("it_per_s", "s_per_it")}
    each = figure_ns(rate) if batch and batch == whole(groups.get("batches")) else None
    if batch is None or each is None or each <= 0 or figure % NS or not -NS <= batch * each - figure <= 2 * NS:
        return figure
    return round(batch * each / NS) * NS


def _moment_ns(text: str | None) -> int | None:
    """A printed moment."""
    found = moment_at(text or "", 0)
    return None if found is None else found[0].t_ns
