"""Run, Ledger, Forecast, Advice, Alarms → Report: plain data, everything a renderer may say."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from stepscope.core.redact import redact
from stepscope.core.settings import Value
from stepscope.forecast.finish import Forecast, NoForecast, forecast
from stepscope.ledger.attribute import attribute
from stepscope.ledger.phases import Ledger, SlowStep
from stepscope.run.intervals import with_settings
from stepscope.run.model import Run, Stamps
from stepscope.run.stops import find_stops
from stepscope.source.gpu_series import GpuSeries, read_gpu_series
from stepscope.source.nvidia_smi import Hardware
from stepscope.source.trace_file import Spans, Trace, TracedKind, read_suspends, read_trace

if TYPE_CHECKING:
    from stepscope.advice._base import Advice, Situation
    from stepscope.alarms._base import Alarm
    from stepscope.forecast.backtest import Backtest

# What a stamp without a year counts as: see `lines/prefix.py`.
_NO_YEAR = 2000
# Samples of the card count from this long before the first line to this long after the last.
_BESIDE_S = 60.0
NowFrom = Literal["flag", "stamp", "nvidia-smi", "mtime", "clock"]


class Report:
    """The whole answer. `moment` is when the last line was written, by the best evidence there is.

    Advice, alarms and backtests are worked out when first asked for: a question about the time left needs none.
    """

    def __init__(
        self,
        *,
        run: Run,
        ledger: Ledger,
        forecast: Forecast | NoForecast,
        hardware: Hardware | None,
        moment: dt.datetime | None,
        moment_from: NowFrom | None,
        confidence: float,
        previous: Sequence[Run] = (),
        trace: Trace | None = None,
    ) -> None:
        self.run = run
        self.ledger = ledger
        self.forecast = forecast
        self.hardware = hardware
        self.moment = moment
        self.moment_from = moment_from
        self.confidence = confidence
        self.trace = trace  # what was seen from inside the process
        self.previous = tuple(previous)  # complete runs of the same program
        self.deadline: dt.datetime | None = None  # the moment asked about, if any
        self.may_lose_s: float | None = None  # work that the user accepts to lose in a crash, if stated

    @property
    def inside(self) -> tuple[TracedKind, ...] | None:
        """What was seen from inside the process, where the run was recorded with a trace."""
        return self.trace.totals if self.trace is not None else None

    @cached_property
    def cards(self) -> GpuSeries | None:
        """What the card did on the way, where somebody kept samples beside the log."""
        paths = [Path(path) for path in self.run.paths if path != "-"]
        found = next((found for found in map(read_gpu_series, paths) if found is not None), None)
        if found is None or self.moment is None or self.moment_from != "stamp":
            return found
        # The file may hold the samples of other runs too.
        end = self.moment.timestamp()
        return found.between(end - self.ledger.wall_s - _BESIDE_S, end + _BESIDE_S)

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """What to change, most seconds first."""
        from stepscope.advice import advise

        return tuple(advise(self.run, self.ledger, self.forecast, self.hardware, self.may_lose_s))

    @cached_property
    def situation(self) -> Situation:
        """What the rules of advice look at."""
        from stepscope.advice._base import look

        return look(self.run, self.ledger, self.forecast, self.hardware, self.may_lose_s)

    @cached_property
    def alarms(self) -> tuple[Alarm, ...]:
        """What went wrong, gravest first."""
        from stepscope.alarms import find_alarms

        return tuple(find_alarms(self.run, self.ledger, self.forecast, self.hardware))

    @cached_property
    def backtests(self) -> tuple[Backtest, ...]:
        """What would have been said earlier in the last training, and what happened. Costs as much as `explain`."""
        from stepscope.forecast.backtest import backtest

        own = self.run.training(-1)
        ledger = self.ledger if own is self.run else attribute(own, confidence=self.confidence)
        return backtest(own, ledger, confidence=self.confidence, previous=self.previous)

    @property
    def has_steps(self) -> bool:
        """Whether any step time was read."""
        return bool((self.run.steps.span > 0).any())

    @property
    def has_times(self) -> bool:
        """Whether anything tells where time went: the steps, or the log's word for the whole."""
        return bool(self.ledger.phases)

    @property
    def has_ended(self) -> bool:
        """Whether the log ends in the words of an end: a traceback, a signal, a kill."""
        return bool(self.run.last_words)

    def finish(self, seconds: float) -> dt.datetime | None:
        """The clock time `seconds` after the last line; None where that is unknown or beyond any calendar."""
        if self.moment is None:
            return None
        try:
            return (self.moment + dt.timedelta(seconds=seconds)).astimezone()
        except (OverflowError, OSError, ValueError):
            return None

    @property
    def deadline_probability(self) -> float | None:
        """How likely the run is done by the deadline; None without one, or where that cannot be said."""
        if self.deadline is None or self.moment is None or not isinstance(self.forecast, Forecast):
            return None
        if self.has_ended and not self.forecast.is_finished:
            return None
        return self.forecast.probability((self.deadline - self.moment).total_seconds())

    def excerpts(self, slow: SlowStep) -> list[str]:
        """The log lines that are the evidence for a slow step."""
        return [redact(self.run.excerpts[line]) for line in slow.evidence_lines if line in self.run.excerpts]

    @property
    def tokens_per_s(self) -> float | None:
        """Training throughput at the typical step."""
        settings = self.run.settings
        tokens = settings.number("tokens_per_step")
        if tokens is None:
            sizes = [settings.number(name) for name in ("batch_size", "block_size", "gradient_accumulation_steps")]
            stated = all(
                name in settings and settings[name].origin != "default" for name in ("batch_size", "block_size")
            )
            if stated and all(size is not None for size in sizes):
                tokens = float(sizes[0] or 0) * float(sizes[1] or 0) * float(sizes[2] or 0)
        if tokens is None or self.ledger.step is None or not self.ledger.step.typical_s:
            return None
        return tokens / self.ledger.step.typical_s

    @property
    def mfu(self) -> float | None:
        """The last model-FLOPs utilisation the log printed, as a share."""
        known = self.run.steps.mfu[self.run.steps.mfu == self.run.steps.mfu]
        return float(known[-1]) if len(known) else None

    @property
    def num_evaluations(self) -> int:
        """Evaluations that the log shows or implies."""
        return sum(stop.evaluated for stop in find_stops(self.run))


def explain(
    run: Run,
    *,
    config: Mapping[str, Value] | None = None,
    flags: Mapping[str, Value] | None = None,
    hardware: Hardware | None = None,
    gpu: str | None = None,
    now: dt.datetime | None = None,
    fallback_now: dt.datetime | None = None,
    confidence: float = 0.9,
    previous: Callable[[Run], Sequence[Run]] | None = None,
) -> Report:
    """Everything Stepscope has to say about `run`.

    `now` is the moment of the last line when the user states it; `fallback_now` is taken when nothing else tells.
    `previous` gives complete runs of the same program, to be followed where the cost of a step changes on the way.
    """
    run = with_settings(run, config=config, flags=flags)
    trace = _trace_of(run)
    spans = {**(trace.spans if trace is not None else {}), **_suspends_of(run)}
    ledger = attribute(run, confidence=confidence, hardware=hardware, spans=spans)
    found = tuple(previous(run)) if previous else ()
    end = forecast(run, ledger, confidence=confidence, previous=found)
    moment, moment_from = _moment(run, hardware, now, fallback_now)
    if gpu is not None:
        hardware = (hardware or Hardware())._replace(gpu=gpu)
    return Report(
        run=run,
        ledger=ledger,
        forecast=end,
        hardware=hardware,
        moment=moment,
        moment_from=moment_from,
        confidence=confidence,
        previous=found,
        trace=trace,
    )


def _trace_of(run: Run) -> Trace | None:
    """What a recording's trace says; None of a log that has none beside it."""
    paths = [Path(path) for path in run.paths if path != "-"]
    return next((found for found in map(read_trace, paths) if found is not None), None)


def _suspends_of(run: Run) -> Spans:
    """When the machine slept, where the run was recorded."""
    paths = [Path(path) for path in run.paths if path != "-"]
    return next((found for found in map(read_suspends, paths) if found), {})


def _latest_before(stamps: Stamps, limit: dt.datetime) -> dt.datetime | None:
    """The last moment up to `limit` that a stamp without a year, or without a date, can mean."""
    stated = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=(stamps.last_ns - stamps.shift_ns) / 1000)
    limit = limit.astimezone() + dt.timedelta(minutes=1)
    if stamps.daily:
        moment = dt.datetime.combine(limit.date(), stated.time()).astimezone()
        return moment if moment <= limit else moment - dt.timedelta(days=1)
    if stated.year != _NO_YEAR:
        return None  # seconds since some start
    for year in (limit.year, limit.year - 1):
        try:
            moment = stated.replace(year=year).astimezone()
        except ValueError:
            continue  # 29 February
        if moment <= limit:
            return moment
    return None


def _moment(
    run: Run, hardware: Hardware | None, now: dt.datetime | None, fallback: dt.datetime | None
) -> tuple[dt.datetime | None, NowFrom | None]:
    if now is not None:
        return now, "flag"
    if run.stamps is not None and run.stamps.dated:
        printed_ns = run.stamps.last_ns - run.stamps.shift_ns
        utc = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=printed_ns / 1000)
        # A stamp without an offset is the writer's local time: taken to be ours.
        return (utc if run.stamps.zoned else utc.replace(tzinfo=None)).astimezone(), "stamp"
    if run.stamps is not None:
        written = dt.datetime.fromtimestamp(run.mtime).astimezone() if run.mtime is not None else fallback
        moment = _latest_before(run.stamps, written) if written is not None else None
        if moment is not None:
            return moment, "stamp"
    if hardware is not None and hardware.time is not None:
        return hardware.time, "nvidia-smi"
    if run.mtime is not None:
        return dt.datetime.fromtimestamp(run.mtime).astimezone(), "mtime"
    return fallback, "clock" if fallback is not None else None
