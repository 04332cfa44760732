"""What a run does as OpenTelemetry spans and gauges: into a file of OTLP's JSON lines, or to a collector.

A span is written once, when the row that it belongs to is not the last one any more: what later lines say about it is
not written again. The gauges are those of the last view.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from stepscope.core.units import NS
from stepscope.forecast.finish import Forecast
from stepscope.ledger.timeline import Slice, row_ends, timeline
from stepscope.live.otlp_target import open_target
from stepscope.run.model import NO_TIME

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricsData
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan

    from stepscope.analysis.report import Report
    from stepscope.live.watch import View

EVERY_S = 5.0
_SCOPE = "stepscope"


class OtlpWriter:
    """Writes the views of one run; None as its target makes it do nothing."""

    def __init__(self, target: str | None, say: Callable[[str], None]) -> None:
        self._target = None if target is None else open_target(target)
        self._say, self._has_failed = say, False
        self._next: float | None = None
        self._run: _RunSpans | None = None

    @property
    def is_on(self) -> bool:
        """Whether anything is written."""
        return self._target is not None

    def passed(self, view: View) -> View:
        """The view, once what is new in it is written: every few seconds and at the end."""
        self._write(view)
        return view

    def _write(self, view: View) -> None:
        if self._target is None or view.report is None or not len(view.report.run):
            return
        now, is_over = view.now.timestamp(), view.pulse.doing in {"finished", "ended"}
        if self._next is not None and now < self._next and not is_over:
            return
        self._next = now + EVERY_S
        if self._run is None:
            self._run = _RunSpans(view.report, now - view.quiet_s)
        spans = list(self._run.fresh(view.report, is_over=is_over))
        problem = self._target.put(spans, _gauges(view.report, self._run.resource, round(now * NS)))
        if problem is not None and not self._has_failed:
            self._say(f"--otlp: {problem}")
        self._has_failed = problem is not None


class _RunSpans:
    """The slices of a run as spans of one trace, each once."""

    def __init__(self, report: Report, last_line_s: float) -> None:
        from opentelemetry.sdk.resources import Resource

        run = report.run
        self._zero_ns = _zero_ns(report, last_line_s)
        self._until_s, self._num = 0.0, 0
        path = run.paths[0] if run.paths else "-"
        seed = hashlib.blake2b(f"{path}\0{self._zero_ns}".encode(), digest_size=16).digest()
        self._trace_id = int.from_bytes(seed, "big") or 1
        self.resource = Resource(
            {"service.name": _SCOPE, "stepscope.log": path, "stepscope.format": run.format.name or run.format.title}
        )

    def fresh(self, report: Report, *, is_over: bool) -> Iterator[ReadableSpan]:
        """The slices that were not there before; those of the last row wait for the next one."""
        ends = row_ends(report.run, report.ledger)
        until_s = float(ends[-1]) if is_over else float(ends[-2]) if len(ends) > 1 else 0.0
        for piece in timeline(report.run, report.ledger):
            end_s = min(piece.start_s + piece.seconds, until_s)
            begin_s = max(piece.start_s, self._until_s)
            if end_s > begin_s:
                yield self._span(piece, begin_s, end_s)
        self._until_s = max(self._until_s, until_s)

    def _span(self, piece: Slice, begin_s: float, end_s: float) -> ReadableSpan:
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        from opentelemetry.trace import SpanContext, TraceFlags

        self._num += 1
        span_id = (self._trace_id ^ self._num * 0x9E3779B97F4A7C15) & (1 << 64) - 1 or 1
        return ReadableSpan(
            name=f"stepscope.{piece.phase}",
            context=SpanContext(self._trace_id, span_id, is_remote=False, trace_flags=TraceFlags(1)),
            resource=self.resource,
            attributes={
                "step": piece.last_step,
                "stepscope.first_step": piece.first_step,
                "stepscope.phase": piece.phase,
            },
            start_time=self._zero_ns + round(begin_s * NS),
            end_time=self._zero_ns + round(end_s * NS),
            instrumentation_scope=InstrumentationScope(_SCOPE),
        )


def _zero_ns(report: Report, last_line_s: float) -> int:
    """When the run's first second began: by its timestamps, else counted back from its last line."""
    steps, ends = report.run.steps, row_ends(report.run, report.ledger)
    if len(steps.t_ns) and steps.t_ns[-1] != NO_TIME:
        return int(steps.t_ns[-1]) - round(float(ends[-1]) * NS)
    return round((last_line_s - float(ends[-1])) * NS)


class _Gauge(NamedTuple):
    name: str
    unit: str
    value: float
    labels: dict[str, str]


def _figures(report: Report) -> Iterator[_Gauge]:
    """The figures of a report: seconds by phase, the usual step, how far it is and how long it will take."""
    for total in report.ledger.phases:
        yield _Gauge("stepscope.phase.seconds", "s", total.seconds, {"phase": total.phase, "basis": total.basis})
    yield _Gauge("stepscope.step.last", "1", float(report.run.steps.step[-1]), {})
    if report.ledger.step is not None:
        yield _Gauge("stepscope.step.seconds", "s", report.ledger.step.typical_s, {})
    if isinstance(report.forecast, Forecast) and not report.forecast.is_finished:
        yield _Gauge("stepscope.eta.seconds", "s", report.forecast.remaining_s, {})


def _gauges(report: Report, resource: Resource, now_ns: int) -> MetricsData:
    from opentelemetry.sdk.metrics import export
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    points: dict[tuple[str, str], list[export.NumberDataPoint]] = {}
    for gauge in _figures(report):
        point = export.NumberDataPoint(gauge.labels, now_ns, now_ns, gauge.value)
        points.setdefault((gauge.name, gauge.unit), []).append(point)
    metrics = [export.Metric(name, "", unit, export.Gauge(found)) for (name, unit), found in points.items()]
    scope = export.ScopeMetrics(InstrumentationScope(_SCOPE), metrics, "")
    return export.MetricsData([export.ResourceMetrics(resource, [scope], "")])
