"""What the columns of a table of metrics mean: its step, its clock, its losses. Names first, values where names differ.

A clock is a moment (`stamp`), seconds since the start (`elapsed`) or the time of one step (`duration`).
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from stepscope.formats._shared.metric_names import is_evaluation, is_evaluation_time, loss_rank
from stepscope.formats._shared.table_clocks import Reading, Timed, agreed, runs
from stepscope.lines.figures import parse_clock

Kind = Literal["stamp", "elapsed", "duration", "untimed"]
Row = Mapping[str, object]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What trainers call the step, the surest name first. An epoch counts as a step only where there is nothing else,
# and W&B's own counter only where the trainer logs none: it counts calls, not steps.
_STEPS = (
    *("global_step", "trainer/global_step", "train/global_step", "step", "steps", "train_step", "training_step"),
    *("iter", "iteration", "iterations", "iters", "it", "itr", "n_iter", "optimizer_step", "optimizer_steps"),
    *("training_iteration", "train/step", "train/iter", "train/iteration", "current_step", "current_steps"),
    *("num_updates", "update", "updates", "update_step"),
    *("time/total_timesteps", "total_timesteps", "timesteps", "timesteps_total", "num_timesteps", "env_steps"),
    *("total/steps", "total/timesteps", "misc/total_timesteps", "timesteps_so_far", "total_env_steps", "env_step"),
    *("num_env_steps", "num_steps", "frames", "tick", "progress/tick", "_step", "epoch"),
)
_LEFT = frozenset(
    ("eta", "eta_s", "eta_sec", "eta_seconds", "time_left", "time_remaining", "remaining_time", "remaining")
)
_SHARES = _words("done_frac frac_done done_fraction fraction_done")
_LEAST_SHARES, _SAME_TOTAL = 3, 0.005
_TOTALS = ("max_steps", "max_iters", "max_iterations", "total_steps", "total_iters", "total_iterations")
# The same among settings, and what is a count elsewhere.
_SET_TOTALS = frozenset(
    (*_TOTALS, "num_steps", "num_iters", "num_iterations", "train_steps", "num_train_steps", "steps")
)
_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millis", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nanoseconds"), 1e-9),
    **dict.fromkeys(("min", "mins", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hours"), 3600.0),
}


_STAMPS = _words("timestamp _timestamp ts datetime date_time unix_time unixtime time_unix logged_at created_at")
_ELAPSED = _words(
    "elapsed elapsed_time time_elapsed elapsed_wall_time total_time time_total runtime _runtime total_elapsed wall "
    "total_sec total_secs total_seconds total_s "
    "cumulative_time cum_time time_since_start since_start relative_time total_train_time time_so_far"
)
# Without a word for what is counted, only these are the time of one step; `_row_time` knows the others by their words.
_DURATIONS = _words("dt time_this_iter")
_RATES = _words(
    "it_per_s it_per_sec it_per_second its_per_sec iter_per_s iter_per_sec iters_per_sec iterations_per_second "
    "step_per_s step_per_sec steps_per_s steps_per_sec steps_per_second global_step_per_sec batches_per_second"
)
# Some write a running clock under these names, others the time of a step or a moment: the values decide.
_UNCLEAR = _words(
    "time t duration train_time training_time wall_time walltime wall_clock wallclock clock wall_clock_time date"
)
# The words of which the name of a row's time is made: `step_sec`, `iter_ms`, `time_per_batch`, `train_step_time_s`.
_COUNTED = _words("step iter iteration itr it batch tick")
_TIME_WORDS = _words("time duration dur dt took latency t")
_OPEN_WORDS = _words("elapsed wall walltime")  # of the row, or since the start: the values decide
_OTHER_WORDS = _words("train training full whole per")
_LIKE_OTHERS = _words("min h")  # `step_min`, the least
_RATE_LIKE = _words("it_s")
_PER = re.compile(r"(?:^|(?<=/))(ms|s|sec|it|iter|step|steps)/(it|iter|step|s|sec|second)$")
_TIMED_WHOLE = re.compile(r"(?:^|/)(?:time|timing|timings)/(?:total|step|iteration|iter|whole_step)$")
_ISO = re.compile(r"\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\s?(?:Z|UTC|[+-]\d\d:?\d\d)?$")
_UNIX = (1e9, 4.2e9)
_MIN_SOUND = 0.8
_START_SHARE = 0.03
_MAX_STEP = 1 << 53
_MAX_SECONDS = 1e9


class TimeColumn(NamedTuple):
    """One time column: `scale` turns its numbers into seconds, `is_rate` says that it counts steps per second."""

    name: str
    kind: Kind
    scale: float
    is_rate: bool = False
    is_sure: bool = True  # the name says the kind
    has_unit: bool = False  # and the unit


class Columns(NamedTuple):
    """The columns that Stepscope reads. `kind` is the clock of the steps; `stamp` may be there besides."""

    kind: Kind
    step: str
    clock: TimeColumn | None
    stamp: TimeColumn | None
    total: str | None
    # The names of what an evaluation measures, and of the losses, the best first.
    evaluations: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    val_losses: tuple[str, ...] = ()
    evaluation_times: tuple[str, ...] = ()
    num_steps: int | None = None  # by the share of the training that is done on each row

    def with_metrics(self, names: Iterable[str]) -> Columns:
        """The same columns, with the metrics among `names`."""
        names = tuple(names)
        evaluations = tuple(name for name in names if is_evaluation(name))
        ranked = sorted((rank, name) for name in names if (rank := loss_rank(name)) is not None)
        losses = [name for _, name in ranked]
        return self._replace(
            evaluations=evaluations,
            losses=tuple(name for name in losses if not is_evaluation(name)),
            val_losses=tuple(name for name in losses if is_evaluation(name)),
            evaluation_times=tuple(name for name in names if is_evaluation_time(name)),
        )


def find_columns(names: Sequence[str], rows: Sequence[Row]) -> Columns | None:
    """The meaning of the columns of a table that begins with `rows`; None when none of them counts steps."""
    plain = {_plain(name): name for name in reversed(names)}
    step = next((plain[name] for name in _STEPS if name in plain and _counts(plain[name], rows)), None)
    if step is None:
        return None
    counted = _COUNTED | {_plain(step).rpartition("/")[2].removesuffix("s")}  # `epoch_time`, where epochs are counted
    clocks = [clock for name in names if name != step and (clock := _clock(name, rows, counted)) is not None]
    left = next((plain[name] for name in plain if name.rpartition("/")[2] in _LEFT), None)
    clocks = [_settled(clock, clocks, left, step, rows) for clock in clocks]
    by_kind: dict[Kind, TimeColumn] = {}
    for clock in clocks:
        by_kind.setdefault(clock.kind, clock)
    stamp, duration = by_kind.get("stamp"), by_kind.get("duration")
    total = next((plain[name] for name in _TOTALS if name in plain and _bounds(plain[name], step, rows)), None)
    num_steps = None if total is not None else _by_share(plain, step, rows) or _by_settings(step, rows)
    # The time of each step next to moments says most; otherwise the clock that leaves nothing out comes first.
    best = duration if stamp and duration else stamp or by_kind.get("elapsed") or duration
    if stamp and duration and _began_earlier(by_kind.get("elapsed"), duration, rows):
        best = by_kind["elapsed"]
    return Columns(best.kind if best else "untimed", step, best, stamp, total, num_steps=num_steps)


def _by_share(plain: Mapping[str, str], step: str, rows: Sequence[Row]) -> int | None:
    """How many steps there will be, where each row says which share of them is done: the rows agree, or it is none."""
    name = next((plain[known] for known in plain if known.rpartition("/")[2] in _SHARES), None)
    known = [] if name is None else [(to_number(row.get(step)), to_number(row.get(name))) for row in rows]
    pairs = [(at, share) for at, share in known if at is not None and share is not None and 0 < share <= 1]
    if len(pairs) < _LEAST_SHARES or pairs[0][1] >= pairs[-1][1]:
        return None
    for first in (1, 0):  # steps that count from 0, or from 1
        totals = [(at + first) / share for at, share in pairs]
        if max(totals) - min(totals) <= _SAME_TOTAL * max(totals):
            return round(totals[-1])
    return None


def _by_settings(step: str, rows: Sequence[Row]) -> int | None:
    """How many steps there will be, where a row before the first step holds the settings."""
    found = []
    for row in rows:
        if row.get(step) not in (None, ""):
            break
        found += [to_number(row[name]) for name in row if _plain(name).rpartition("/")[2] in _SET_TOTALS]
    totals = {int(total) for total in found if total is not None and total > 0 and total.is_integer()}
    last = max((to_number(row.get(step)) or 0.0 for row in rows), default=0.0)
    return totals.pop() if len(totals) == 1 and max(totals) >= last else None


def _bounds(name: str, step: str, rows: Sequence[Row]) -> bool:
    """Whether a column is how many steps there will be: some count the steps so far under such a name."""
    known = [(to_number(row.get(step)), to_number(row.get(name))) for row in rows]
    pairs = [(at, total) for at, total in known if at is not None and total is not None]
    return name != step and any(at < total for at, total in pairs) and all(at <= total for at, total in pairs)


def _began_earlier(elapsed: TimeColumn | None, duration: TimeColumn, rows: Sequence[Row]) -> bool:
    """Whether a running clock has a start-up before the first row that no other column knows of."""
    if elapsed is None or not (elapsed.is_sure and elapsed.has_unit) or not rows:
        return False
    first, last = seconds_of(rows[0], elapsed), seconds_of(rows[-1], elapsed)
    own = seconds_of(rows[0], duration)
    return None not in {first, last, own} and (first or 0.0) - (own or 0.0) > _START_SHARE * (last or 0.0)


def _settled(
    clock: TimeColumn, clocks: Sequence[TimeColumn], left: str | None, step: str, rows: Sequence[Row]
) -> TimeColumn:
    """A clock as it agrees with the others of the table: its kind where the name leaves it open, and its unit."""
    if clock.kind == "stamp" or clock.is_rate or (clock.is_sure and clock.has_unit):
        return clock
    readings: tuple[Reading, ...] = ("elapsed", "duration", "per-row")
    if clock.is_sure:
        readings = ("elapsed",) if clock.kind == "elapsed" else ("duration", "per-row")
    for timed in _references(clock, clocks, left, step, rows):
        found = agreed(timed, readings, has_unit=clock.has_unit)
        if found is not None:
            reading, unit = found
            if reading == "per-row":
                gaps = sorted({after.step - before.step for before, after in pairwise(timed)})
                if len(gaps) > 1 or gaps[0] <= 0:
                    continue  # rows of different lengths have no factor in common
                unit /= gaps[0]
            kind: Kind = "elapsed" if reading == "elapsed" else "duration"
            return clock._replace(kind=kind, scale=clock.scale * unit)
    return clock


def _references(
    clock: TimeColumn, clocks: Sequence[TimeColumn], left: str | None, step: str, rows: Sequence[Row]
) -> Iterator[list[Timed]]:
    """The rows of a clock next to each column that says how much time passes: moments, a running clock, a time left."""
    surest = [
        other for other in clocks if other.name != clock.name and other.is_sure and other.kind in {"stamp", "elapsed"}
    ]
    surest.sort(key=lambda other: other.kind != "stamp")
    for name in [*(other.name for other in surest), *([left] if left is not None else [])]:
        by_name = next((other for other in surest if other.name == name), None)
        scale = by_name.scale if by_name is not None else -1.0  # what is left falls as time passes
        yield [
            Timed(at, figure * clock.scale, passed * scale)
            for row in rows
            if (at := to_number(row.get(step))) is not None
            and (figure := to_number(row.get(clock.name))) is not None
            and (passed := to_number(row.get(name))) is not None
        ]


def steps_of(rows: Sequence[Row], columns: Columns) -> list[int | None]:
    """The step of each row; None for one that has none."""
    return [
        int(number) if number is not None and 0 <= number < _MAX_STEP and number == int(number) else None
        for number in numbers_of([row.get(columns.step) for row in rows])
    ]


def times_of(rows: Sequence[Row], columns: Columns) -> list[float | None]:
    """The seconds of each row by its table's clock, 0 where that is a moment or there is none; None without a time."""
    clock = columns.clock
    if columns.kind == "untimed" or clock is None:
        return [0.0] * len(rows)
    if columns.kind == "stamp":
        return [None if moment_of(row, clock) is None else 0.0 for row in rows]
    if clock.is_rate or clock.kind == "stamp":
        return [seconds_of(row, clock) for row in rows]
    numbers = numbers_of([row.get(clock.name) for row in rows])
    return [
        seconds
        if number is not None and 0 <= (seconds := number * clock.scale) < _MAX_SECONDS
        else seconds_of(row, clock)
        for number, row in zip(numbers, rows, strict=True)
    ]


def seconds_of(row: Row, clock: TimeColumn | None) -> float | None:
    """The seconds in a row's time column; of a moment, since 1970. None when there are none."""
    if clock is None:
        return None
    value = row.get(clock.name)
    number = to_number(value)
    if number is None:
        if not isinstance(value, str) or len(value) > 40 or clock.kind == "stamp":
            return None
        return parse_clock(value)
    if clock.is_rate:
        return 1 / number if number > 1e-9 else None
    seconds = number * clock.scale
    if clock.kind == "stamp":
        return seconds if _UNIX[0] <= seconds < _UNIX[1] else None
    return seconds if 0 <= seconds < _MAX_SECONDS else None


def moment_of(row: Row, clock: TimeColumn | None) -> str | None:
    """A row's moment as a line's group: ` unix_s …` or ` stamp …`; None when it has none."""
    if clock is None:
        return None
    seconds = seconds_of(row, clock)
    if seconds is not None:
        return f" unix_s {seconds:.6f}"
    value = row.get(clock.name)
    if isinstance(value, str) and _ISO.match(value.strip()):
        return " stamp " + value.strip().replace(" ", "T", 1).replace(" ", "")
    return None


def first_numbers(rows: Sequence[Row], names: Sequence[str]) -> list[float | None]:
    """Of each row the first number, NaN and infinity included, that it has under one of `names`."""
    found: list[float | None] = [None] * len(rows)
    for name in names:
        values = [row.get(name) if known is None else None for row, known in zip(rows, found, strict=True)]
        numbers = numbers_of(values, finite=False)
        found = [number if known is None else known for number, known in zip(numbers, found, strict=True)]
    return found


def numbers_of(values: Sequence[object], *, finite: bool = True) -> list[float | None]:
    """Each cell as a number, or None; a column in which all are numbers at once."""
    if {*map(type, values)} <= {str, float, int}:
        with contextlib.suppress(ValueError, OverflowError):
            numbers: list[float | None] = list(map(float, values))  # type: ignore[arg-type]
            if not finite or all(map(math.isfinite, numbers)):  # type: ignore[arg-type]
                return numbers
    return [to_number(value, finite=finite) for value in values]


def to_number(value: object, *, finite: bool = True) -> float | None:
    """A cell as a number; None when it is empty or something else."""
    kind = type(value)
    if kind is str:
        if not value:
            return None
    elif kind is not float and kind is not int:
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) or not finite else None


def _plain(name: str) -> str:
    """`Wall time (s)` → `wall_time_s`."""
    return re.sub(r"[\s\-.()\[\]]+", "_", name.strip().lower()).rstrip("_")


def _counts(name: str, rows: Sequence[Row]) -> bool:
    """Whether a column holds whole numbers, but for a damaged row or two."""
    numbers = [to_number(row.get(name)) for row in rows if row.get(name) not in (None, "")]
    whole = sum(n is not None and 0 <= n < _MAX_STEP and n == int(n) for n in numbers)
    return whole > 0 and whole >= _MIN_SOUND * len(numbers)


class _ClockName(NamedTuple):
    """What the name of a column says about time; `kind` is None where only the values can show which kind it is."""

    kind: Kind | None
    scale: float
    is_rate: bool = False
    has_unit: bool = False


def _clock(name: str, rows: Sequence[Row], counted: frozenset[str]) -> TimeColumn | None:
    """What a column says about time; None when it says nothing, or nothing that is clear."""
    named = None if is_evaluation(name) else _clock_name(name, counted)
    if named is None:
        return None
    if named.is_rate:
        return TimeColumn(name, "duration", 1.0, is_rate=True)
    values = [value for row in rows if (value := row.get(name)) not in (None, "")]
    if values and all(isinstance(value, str) and _ISO.match(value.strip()) for value in values):
        return TimeColumn(name, "stamp", 1.0)
    trial = TimeColumn(name, "elapsed", named.scale)
    numbers = [n for row in rows if (n := _raw_seconds(row, trial)) is not None]
    unix = _unix_scale(numbers)
    if unix is not None:
        return TimeColumn(name, "stamp", named.scale * unix)
    if not numbers or named.kind == "stamp":
        return None
    kind = named.kind or ("elapsed" if runs(numbers) else "duration")
    if named.kind == "elapsed" and not _runs_on(numbers):
        kind = "duration"  # figures that go back and forth are not a running clock
    return TimeColumn(name, kind, named.scale, is_sure=named.kind is not None, has_unit=named.has_unit)


def _clock_name(name: str, counted: frozenset[str]) -> _ClockName | None:
    """What the name alone says; None when it is not a name for a time."""
    path = _PER.sub(r"\1_per_\2", _plain(name))
    plain = path.rpartition("/")[2]
    if _TIMED_WHOLE.search(path):
        return _ClockName(None, 1.0)  # `time/total`: of the step, or since the start
    base, _, unit = plain.rpartition("_")
    scale = _UNITS.get(unit) if base else None
    names = {plain} if scale is None else {plain, base}
    if names & _RATES:
        return _ClockName("duration", 1.0, is_rate=True)
    of_row = _row_time(plain, counted)
    if of_row is not None:
        return of_row
    has_unit, scale = scale is not None, scale or 1.0
    kinds: tuple[tuple[frozenset[str], Kind], ...] = (
        (_STAMPS, "stamp"),
        (_ELAPSED, "elapsed"),
        (_DURATIONS, "duration"),
    )
    kind = next((kind for known, kind in kinds if names & known), None)
    return _ClockName(kind, scale, has_unit=has_unit) if kind is not None or names & _UNCLEAR else None


def _row_time(plain: str, counted: frozenset[str]) -> _ClockName | None:
    """The time of what a row counts, by the words of its name; None where another word is among them."""
    words = plain.split("_")
    units = [word for word in words if word in _UNITS]
    is_timed = bool(set(words) & (_TIME_WORDS | _OPEN_WORDS)) or bool(set(units) - _LIKE_OTHERS)
    known = counted | _TIME_WORDS | _OPEN_WORDS | _OTHER_WORDS | _UNITS.keys()
    if not is_timed or len(units) > 1 or plain in _RATE_LIKE or not known.issuperset(words):
        return None
    if "per" in words and not counted.issuperset(words[words.index("per") + 1 :]):
        return None  # so many per second
    scale, has_unit = (_UNITS[units[0]], True) if units else (1.0, False)
    if plain in _UNITS and len(plain) > 1 and plain not in _LIKE_OTHERS:
        return _ClockName(None, scale, has_unit=True)
    if not set(words) & counted:
        return None
    return _ClockName(None if set(words) & _OPEN_WORDS else "duration", scale, has_unit=has_unit)


def _raw_seconds(row: Row, clock: TimeColumn) -> float | None:
    number = to_number(row.get(clock.name))
    return seconds_of(row, clock) if number is None else number * clock.scale


def _unix_scale(numbers: Sequence[float]) -> float | None:
    """The factor that turns all the numbers into Unix seconds; None when they are not moments."""
    for scale in (1.0, 1e-3, 1e-6, 1e-9):
        if numbers and all(_UNIX[0] <= number * scale < _UNIX[1] for number in numbers):
            return scale
    return None


def _runs_on(numbers: Sequence[float]) -> bool:
    """Whether the numbers keep growing, except for a few restarts."""
    falls = sum(a > b for a, b in pairwise(numbers))
    return falls <= max(1, len(numbers) // 4)
