"""The runs as Prometheus reads them: text, a bounded number of labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from stepscope.analysis.report import Report
from stepscope.core.unseen import visible
from stepscope.forecast.finish import Forecast
from stepscope.web.run_list import Changes


class _Figures(NamedTuple):
    run: str
    typical_s: float | None
    step: int | None
    phases: tuple[tuple[str, float], ...]
    eta: tuple[float, float, float, float] | None  # middle, low, high, confidence
    alarms: tuple[str, ...]


def render(found: Changes) -> str:
    """The metrics of all runs of a list, and how many of its files are still to be read."""
    figures = [
        _Figures(
            visible(run.name),
            one.typical_s,
            one.step,
            one.phases,
            (one.remaining_s, one.low_s, one.high_s, one.confidence)
            if one.remaining_s is not None and one.low_s is not None and one.high_s is not None
            else None,
            tuple(code for code, _, _ in one.alarms),
        )
        for run in found.runs
        if (one := run.summary) is not None
    ]
    return _render(_Runs(figures, found.progress.num_found - found.progress.num_read))


def render_reports(reports: list[tuple[str, Report]], *others: Collector) -> str:
    """The metrics of runs by their names, and other metrics."""
    return _render(_Runs([_figures(name, report) for name, report in reports]), *others)


def _figures(name: str, report: Report) -> _Figures:
    step, end = report.ledger.step, report.forecast
    has_end = isinstance(end, Forecast) and not end.is_finished
    return _Figures(
        visible(name),
        step.typical_s if step is not None else None,
        int(report.run.steps.step[-1]) if len(report.run) else None,
        tuple((total.phase, total.seconds) for total in report.ledger.phases),
        (end.remaining_s, end.low_s, end.high_s, end.confidence) if isinstance(end, Forecast) and has_end else None,
        tuple(alarm.code for alarm in report.alarms),
    )


def _render(*collectors: Collector) -> str:
    registry = CollectorRegistry()
    for collector in collectors:
        registry.register(collector)
    return generate_latest(registry).decode()


class _Runs(Collector):
    """All runs as they are at this moment.

    Gauges only: seconds move between phases as a log grows, and a counter may never go down.
    """

    def __init__(self, figures: Iterable[_Figures], num_unread: int | None = None) -> None:
        self._figures, self._num_unread = figures, num_unread

    def collect(self) -> Iterator[GaugeMetricFamily]:
        step = GaugeMetricFamily("stepscope_step_seconds", "typical seconds of a step", labels=["run"])
        steps = GaugeMetricFamily("stepscope_steps", "number of the last step", labels=["run"])
        phases = GaugeMetricFamily("stepscope_phase_seconds", "seconds spent in a phase", labels=["run", "phase"])
        eta = GaugeMetricFamily("stepscope_eta_seconds", "seconds left", labels=["run", "quantile"])
        alarms = GaugeMetricFamily("stepscope_alarms", "alarms of a kind", labels=["run", "kind"])
        for one in self._figures:
            if one.typical_s is not None:
                step.add_metric([one.run], one.typical_s)
            if one.step is not None:
                steps.add_metric([one.run], one.step)
            for phase, seconds in one.phases:
                phases.add_metric([one.run, phase], seconds)
            if one.eta is not None:
                middle, low, high, confidence = one.eta
                tail = (1 - confidence) / 2
                for quantile, value in ((tail, low), (0.5, middle), (1 - tail, high)):
                    eta.add_metric([one.run, f"{quantile:g}"], value)
            for code in sorted(set(one.alarms)):
                alarms.add_metric([one.run, code], one.alarms.count(code))
        yield from (step, steps, phases, eta, alarms)
        if self._num_unread is not None:
            unread = GaugeMetricFamily("stepscope_files_unread", "files found below the folder and not read yet")
            unread.add_metric([], self._num_unread)
            yield unread
