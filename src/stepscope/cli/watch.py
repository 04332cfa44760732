"""Watch a running log: what it does now, when it ends, alarms.

    stepscope watch train.log
    tail -f train.log | stepscope watch -

Follows the file as it grows, through rotation and truncation. Exit code 0 when the run finished, 4 when it ended early
or crashed, 130 when interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

from stepscope.cli import _answer, _live
from stepscope.cli._keys import KeyClock
from stepscope.cli._metrics_file import MetricsFile
from stepscope.core.errors import UsageError
from stepscope.live.process import has_writer, recorded_pid
from stepscope.source.files import Source
from stepscope.source.recording import RecordingTail
from stepscope.source.tail import FileTail, PipeTail


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The log, what is known about its run, and the view's flags."""
    parser.add_argument("log", metavar="LOG", help="Log file, folder, or - for standard input")
    parser.add_argument("others", nargs="*", default=[], help=argparse.SUPPRESS)  # for an error that says what to do
    _live.add_live_arguments(parser)
    parser.add_argument(
        "--metrics-file",
        metavar="FILE",
        help="Keep the run's figures in this file for Prometheus' textfile collector (needs the extra `web`)",
    )


def run(args: argparse.Namespace) -> int:
    """Watch until the run ends."""
    from stepscope.live.gpu_sampler import Sampler
    from stepscope.live.inside import Inside
    from stepscope.live.watch import View, Watch
    from stepscope.source.files import resolve
    from stepscope.source.wall_time import recorded_job_end

    language = _answer.chosen_languages(args)[0]
    if args.others:
        raise UsageError("watch-one-log", place=" ".join([args.log, *args.others]))
    _live.warn_of_ignored(args, language)
    metrics, otlp = MetricsFile(args.metrics_file), _live.make_otlp(args)
    source = resolve(args.log)[0]
    clock = KeyClock()
    folder = source.path.parent if source.is_recorded and source.path is not None else None
    with contextlib.closing(_tail(source)) as tail:
        watch = Watch(
            tail,
            name=source.name,
            facts=_live.facts_of(args, None if folder is None else recorded_job_end(folder)),
            clock=clock,
            hardware=Sampler(clock),
            interval_s=_live.interval_of(args),
            is_alive=_aliveness(source),
            ends_with_process=False,
        )
        inside = Inside(clock, pid=lambda: None if folder is None else recorded_pid(folder), folder=folder)
        with contextlib.closing(inside), _live.make_show(args, language) as show, clock.reading(show):

            def show_view(view: View) -> None:
                view = otlp.passed(inside.look(view))
                show(view)
                metrics.write(view)

            end = watch.run_to_end(show_view)
    sys.stdout.flush()
    return _live.exit_code(end)


def _tail(source: Source) -> PipeTail | FileTail | RecordingTail:
    if source.path is None:
        return PipeTail(source.pipe)
    return RecordingTail(source.path.parent) if source.is_recorded else FileTail(Path(source.path))


def _aliveness(source: Source) -> Callable[[], bool] | None:
    """Whether somebody still writes the log: only asked where it seems to be finished."""
    path = source.path
    if path is None or not Path("/proc").is_dir():
        return None
    return lambda: bool(has_writer(path))
