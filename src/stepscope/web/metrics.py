"""The runs as Prometheus reads them: text, a bounded number of labels."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from stepscope.analysis.report import Report
from stepscope.core.unseen import visible
from stepscope.forecast.finish import Forecast
from stepscope.web.run_folder import ListedRun


def render(entries: list[ListedRun]) -> str:
    """The metrics of all runs."""
    return render_reports([(entry.name, entry.report) for entry in entries if entry.report is not None])


def render_reports(reports: list[tuple[str, Report]], *others: Collector) -> str:
    """The metrics of runs by their names, and other metrics."""
    registry = CollectorRegistry()
    for collector in (_Runs(reports), *others):
        registry.register(collector)
    return generate_latest(registry).decode()


class _Runs(Collector):
    """All runs as they are at this moment.

    Gauges only: seconds move between phases as a log grows, and a counter may never go down.
    """

    def __init__(self, reports: list[tuple[str, Report]]) -> None:
        self._reports = reports

    def collect(self) -> Iterator[GaugeMetricFamily]:
        step = GaugeMetricFamily("stepscope_step_seconds", "typical seconds of a step", labels=["run"])
        steps = GaugeMetricFamily("stepscope_steps", "number of the last step", labels=["run"])
        phases = GaugeMetricFamily("stepscope_phase_seconds", "seconds spent in a phase", labels=["run", "phase"])
        eta = GaugeMetricFamily("stepscope_eta_seconds", "seconds left", labels=["run", "quantile"])
        alarms = GaugeMetricFamily("stepscope_alarms", "alarms of a kind", labels=["run", "kind"])
        for name, report in self._reports:
            run = visible(name)
            if report.ledger.step is not None:
                step.add_metric([run], report.ledger.step.typical_s)
            if len(report.run):
                steps.add_metric([run], int(report.run.steps.step[-1]))
            for total in report.ledger.phases:
                phases.add_metric([run, total.phase], total.seconds)
            end = report.forecast
            if isinstance(end, Forecast) and not end.is_finished:
                tail = (1 - end.confidence) / 2
                for quantile, value in ((tail, end.low_s), (0.5, end.remaining_s), (1 - tail, end.high_s)):
                    eta.add_metric([run, f"{quantile:g}"], value)
            codes = [alarm.code for alarm in report.alarms]
            for code in sorted(set(codes)):
                alarms.add_metric([run, code], codes.count(code))
        yield from (step, steps, phases, eta, alarms)
