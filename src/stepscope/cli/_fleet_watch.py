"""`stepscope fleet watch`: one process for all running runs of a store's sources; their alarms, and metrics."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.cli import _flags, _live
from stepscope.cli._metrics_file import MetricsFile

if TYPE_CHECKING:
    from stepscope.alarms._base import Alarm
    from stepscope.fleet.follow import Round
    from stepscope.i18n import Language

_EVERY_S = 10.0
# How often the line is printed when nothing happens.
_LINE_EVERY_S = 300.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where alarms and metrics go, and how often to look."""
    _live.add_alarm_arguments(parser)
    parser.add_argument(
        "--metrics-file",
        metavar="FILE",
        help="For watch: keep figures of all runs in this file for Prometheus (needs the extra `web`)",
    )
    parser.add_argument(
        "--interval",
        metavar="S",
        type=_flags.number("--interval", "bad-interval", lambda seconds: 0.05 <= seconds <= 3600),
        default=_EVERY_S,
        help="For watch: seconds between two looks at the runs (default: 10)",
    )
    parser.add_argument("--once", action="store_true", help="For watch: look once and end, for a timer")


def watch(args: argparse.Namespace, language: Language) -> int:
    """Follow the runs until it is interrupted."""
    from stepscope.core.clock import SystemClock
    from stepscope.fleet.follow import Fleet
    from stepscope.fleet.store import Store

    _allow_many_files()
    metrics, clock = MetricsFile(args.metrics_file), SystemClock()
    sender = _live.AlarmSender(args, language)

    def hear(run: str, alarms: tuple[Alarm, ...]) -> None:
        from stepscope.core.unseen import visible
        from stepscope.report.live import alarm_text

        for alarm in alarms:
            print(f"{visible(run)} {alarm_text(alarm, language)}", flush=True)
        sender.send(alarms, run=run)

    shown = _Shown(language)
    with (
        contextlib.closing(sender),
        contextlib.closing(Fleet(Store(Path(args.store)), hear, clock, interval_s=args.interval)) as fleet,
    ):
        while True:
            at = fleet.look()
            shown.show(at, clock.monotonic())
            metrics.write_text(lambda: _metrics(at), clock.now().timestamp(), is_due=args.once)  # noqa: B023
            if args.once:
                return 0
            # At most half of one processor, however many runs there are.
            clock.sleep(max(args.interval, at.seconds))


class _Shown:
    """A line when something has changed, seldom else; what cannot be followed, once."""

    def __init__(self, language: Language) -> None:
        self._language, self._last, self._next = language, "", 0.0
        self._complained: set[str] = set()

    def show(self, at: Round, now: float) -> None:
        """Say how the fleet is."""
        from stepscope.core.unseen import visible
        from stepscope.i18n.plain import error_text

        for place, problem in at.problems.items():
            if place not in self._complained:
                reason = error_text(problem, self._language).sentence
                print(self._language.text("fleet-not-followed", path=visible(place), reason=reason), file=sys.stderr)
                self._complained.add(place)
        text = self._language.text(
            "fleet-watching",
            count=at.num_followed,
            stalled=at.doing["stalled"],
            ended=at.num_ended,
            alarms=at.alarms.total(),
        )
        if text != self._last or now >= self._next:
            print(text, flush=True)
            self._last, self._next = text, now + _LINE_EVERY_S


def _metrics(at: Round) -> str:
    from stepscope.web.fleet_metrics import render_round

    return render_round(at)


def _allow_many_files() -> None:
    """As many open files as the system lets this process have: each followed log is one."""
    try:
        import resource
    except ImportError:
        return  # Windows has no such limit
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
