"""A followed fleet as Prometheus reads it; docs/grafana/fleet.json draws these metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from stepscope.fleet.follow import Round
from stepscope.live.pulse import Doing
from stepscope.web.metrics import render_reports


def render_round(at: Round) -> str:
    """The metrics of a fleet and of each of its runs."""
    return render_reports(at.reports, _Fleet(at))


class _Fleet(Collector):
    def __init__(self, at: Round) -> None:
        self._at = at

    def collect(self) -> Iterator[Metric]:
        runs = GaugeMetricFamily("stepscope_fleet_runs", "followed runs by what they do", labels=["doing"])
        for doing in get_args(Doing):
            runs.add_metric([doing], self._at.doing[doing])
        alarms = CounterMetricFamily("stepscope_fleet_alarms", "alarms sent since the start", labels=["kind"])
        for code in sorted(self._at.alarms):
            alarms.add_metric([code], self._at.alarms[code])
        ended = CounterMetricFamily("stepscope_fleet_ended", "runs that ended while they were followed")
        ended.add_metric([], self._at.num_ended)
        problems = GaugeMetricFamily("stepscope_fleet_problems", "files and places that cannot be followed")
        problems.add_metric([], len(self._at.problems))
        took = GaugeMetricFamily("stepscope_fleet_look_seconds", "seconds that a look at all runs took")
        took.add_metric([], self._at.seconds)
        yield from (runs, alarms, ended, problems, took)
