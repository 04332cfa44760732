"""The Report: everything a renderer may say about a run. It is frozen, and reads nothing."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from stepscope.analysis.moment import LastMoment, MomentFrom, find_moment
from stepscope.analysis.side_files import SideFiles
from stepscope.analysis.state import Silence, State, find_state, silence_of
from stepscope.causes._diagnose import attribute_with_causes
from stepscope.core.outlets import outlet
from stepscope.core.price import StatedPrice
from stepscope.core.redact import redact
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.ledger.phases import Ledger, SlowStep
from stepscope.run.ending import Ending, find_ending
from stepscope.run.model import Run
from stepscope.source.hardware import Hardware
from stepscope.source.trace_file import Trace, TracedKind

if TYPE_CHECKING:
    from stepscope.advice._base import Advice, Situation
    from stepscope.alarms._base import Alarm
    from stepscope.analysis.clocks import ClockReading
    from stepscope.analysis.findings import CostFinding
    from stepscope.analysis.gpu_verdict import GpuVerdict
    from stepscope.analysis.run_trend import RunTrend
    from stepscope.audit._base import Reading
    from stepscope.forecast.backtest import Backtest
    from stepscope.ledger.best import Best
    from stepscope.plan.derive import Derived
    from stepscope.source.gpu_series import GpuSeries

# Samples of the GPU count from this long before the first line to this long after the last.
_MARGIN_S = 60.0


class Ask(NamedTuple):
    """What the user asks and states about a run.

    now
        The moment of the last line.
    fallback_now
        The moment of the last line where nothing else says.
    gpu
        The name of the GPU.
    confidence
        How likely the truth is inside each interval.
    deadline
        The moment that the run should be done by.
    may_lose_s
        The work that may be lost in a crash.
    price
        What an hour of a GPU or a kilowatt-hour costs.
    """

    now: dt.datetime | None = None
    fallback_now: dt.datetime | None = None
    gpu: str | None = None
    confidence: float = 0.9
    deadline: dt.datetime | None = None
    may_lose_s: float | None = None
    price: StatedPrice | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """The whole answer.

    Advice, alarms, backtests and the like follow from these fields alone. They are worked out once, when first asked
    for: a question about the time left needs none, and would pay for importing three catalogues.
    """

    run: Run
    ledger: Ledger
    forecast: Forecast | NoForecast
    side_files: SideFiles
    ask: Ask
    # Lines of steps, of a short log all lines, by number; secrets not masked. None where it was not looked into.
    quoted: Mapping[int, str]

    def __str__(self) -> str:
        """The English terminal text, 80 columns wide."""
        text: str = outlet("terminal")(self)
        return text

    def __repr__(self) -> str:
        """One line: the run, and the time left."""
        end = self.forecast
        left = f"{end.remaining_s:.0f} s left" if isinstance(end, Forecast) else f"no forecast: {end.reason}"
        return f"<Report of {self.run!r}: {self.ledger.wall_s:.0f} s logged, {left}>"

    def to_dict(self) -> dict[str, Any]:
        """The JSON document `stepscope.report/1`."""
        document: dict[str, Any] = outlet("document")(self)
        return document

    def _repr_html_(self) -> str:
        """The page, for notebooks."""
        page: str = outlet("notebook")(self)
        return page

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The report as text, for IPython in a terminal."""
        printer.text(repr(self) if cycle else str(self).rstrip())

    def asked(self, **changes: Any) -> Report:
        """The same report for another question: fields of `Ask`."""
        return dataclasses.replace(self, ask=self.ask._replace(**changes))

    @cached_property
    def hardware(self) -> Hardware | None:
        """What is known of the GPU; its name as the user states it, where stated."""
        if self.ask.gpu is None:
            return self.side_files.hardware
        return (self.side_files.hardware or Hardware())._replace(gpu=self.ask.gpu)

    @cached_property
    def last_moment(self) -> LastMoment:
        """When the last line was written, and by what evidence."""
        return find_moment(self.run, self.ledger, self.side_files.hardware, self.ask.now, self.ask.fallback_now)

    @property
    def moment(self) -> dt.datetime | None:
        """When the last line was written, by the best evidence there is."""
        return self.last_moment.time

    @property
    def moment_from(self) -> MomentFrom | None:
        """What says so."""
        return self.last_moment.source

    @property
    def trace(self) -> Trace | None:
        """What was seen from inside the process."""
        return self.side_files.trace

    @property
    def traced(self) -> tuple[TracedKind, ...] | None:
        """What was seen from inside the process, by kind; None where the run was not recorded with a trace."""
        return self.trace.totals if self.trace is not None else None

    @cached_property
    def gpu_series(self) -> GpuSeries | None:
        """What the GPU did during the run, where somebody kept samples."""
        from stepscope.source.gpu_series import busiest_gpu

        samples = self.side_files.gpu_log
        found = busiest_gpu(samples) if samples is not None else None
        if found is None or self.moment is None or self.moment_from != "stamp":
            return found
        # The file may hold the samples of other runs too.
        end = self.moment.timestamp()
        return found.between(end - self.ledger.wall_s - _MARGIN_S, end + _MARGIN_S)

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """What to change, most seconds first."""
        from stepscope.advice import advise

        return tuple(advise(self.run, self.ledger, self.forecast, self.hardware, self.ask.may_lose_s))

    @cached_property
    def situation(self) -> Situation:
        """What the rules of advice look at."""
        from stepscope.advice._base import situation_of

        return situation_of(self.run, self.ledger, self.forecast, self.hardware, self.ask.may_lose_s)

    @cached_property
    def alarms(self) -> tuple[Alarm, ...]:
        """What went wrong, gravest first."""
        from stepscope.alarms import find_alarms

        return tuple(find_alarms(self.run, self.ledger, self.forecast, self.hardware))

    @cached_property
    def best(self) -> Best | None:
        """Where the validation loss was lowest; None without one."""
        from stepscope.ledger.best import find_best

        return find_best(self.run, self.ledger)

    @cached_property
    def findings(self) -> tuple[CostFinding, ...]:
        """What cost most time, most first, each second once."""
        from stepscope.analysis.findings import find_costs

        return find_costs(self.run, self.ledger, self.best)

    @cached_property
    def reading(self) -> Reading:
        """How sure it is that the log was understood, and what was held against it."""
        from stepscope.audit import audit

        return audit(self.run, self.ledger, self.forecast)

    @cached_property
    def backtests(self) -> tuple[Backtest, ...]:
        """The forecasts of earlier moments of the last training, and what happened. Costs as much as `explain`."""
        from stepscope.forecast.backtest import backtest

        own, confidence = self.run.training(-1), self.ask.confidence
        ledger = self.ledger if own is self.run else attribute_with_causes(own, confidence=confidence)
        return backtest(own, ledger, confidence=confidence, previous=self.side_files.previous)

    @cached_property
    def trend(self) -> RunTrend | None:
        """Whether the run gets slower; None where no line tells any speed."""
        from stepscope.analysis.run_trend import trend_of

        return trend_of(self.run, self.ledger)

    @cached_property
    def clocks(self) -> tuple[ClockReading, ...]:
        """Every clock of the log, the one that is used first."""
        from stepscope.analysis.clocks import read_clocks

        return read_clocks(self.run, self.ledger)

    @cached_property
    def gpu_verdict(self) -> GpuVerdict | None:
        """Whether the speed is normal for the GPU; None where that cannot be said."""
        from stepscope.analysis.gpu_verdict import judge

        return judge(self)

    @cached_property
    def fitting_sizes(self) -> Derived | None:
        """For a model whose size nobody stated: the sizes at which this step time is usual on the GPU."""
        from stepscope.analysis.gpu_verdict import fitting_sizes

        return fitting_sizes(self)

    @property
    def has_steps(self) -> bool:
        """Whether any step time was read."""
        return bool((self.run.steps.span > 0).any())

    @property
    def has_times(self) -> bool:
        """Whether anything says where time went: the steps, or the log's own total."""
        return bool(self.ledger.phases)

    @cached_property
    def ending(self) -> Ending | None:
        """How the run ended, by its log; None where that does not say that it has."""
        return find_ending(self.run)

    @property
    def has_ended(self) -> bool:
        """Whether the log says that the run is over: finished, or by a traceback, a signal, a kill."""
        return self.ending is not None

    @property
    def is_finished(self) -> bool:
        """Whether the run has done all that it was to do."""
        return self.ending is not None and self.ending.value == "finished"

    @cached_property
    def state(self) -> State:
        """How the run is: as its log says or, where that just stops, by how long ago it was written."""
        if self.moment_from in {"flag", "nvidia-smi"}:
            # Asked as of that moment: the last line is of now.
            written = present = self.moment
        else:
            written, present = self.written, self.ask.fallback_now
        return find_state(
            self.run,
            self.ending,
            written=None if written is None else written.astimezone(),
            present=present,
            level_s=self.ledger.step.typical_s if self.ledger.step is not None else None,
        )

    @property
    def silence(self) -> Silence | None:
        """What the log's silence will mean as time goes by; None where its end is known."""
        if self.has_ended:
            return None
        return silence_of(self.run, self.ledger.step.typical_s if self.ledger.step is not None else None)

    @property
    def written(self) -> dt.datetime | None:
        """When the log was written to last."""
        is_dated = self.moment_from == "stamp" and len(self.run.steps.t_ns) > 0
        if is_dated:
            return self.moment
        return None if self.run.mtime is None else dt.datetime.fromtimestamp(self.run.mtime)

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
        if self.ask.deadline is None or self.moment is None or not isinstance(self.forecast, Forecast):
            return None
        if self.has_ended and not self.is_finished:
            return None
        return self.forecast.probability((self.ask.deadline - self.moment).total_seconds())

    def excerpts(self, slow: SlowStep) -> list[str]:
        """The log lines that are the evidence for a slow step, secrets masked."""
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
        return sum(stop.evaluated for stop in self.run.stops)
