"""Live view of a run by its log: what it does now, when it finishes, alarms

    stepscope watch train.log
    tail -f train.log | stepscope watch -

Follows the file as it grows, through rotation and truncation. Exit code 0 when the run finished, 4 when it ended early
or crashed, 130 when interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from stepscope.cli import _answer, _live
from stepscope.core.clock import SystemClock


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The log, what is known about its run, and the view's flags."""
    parser.add_argument("log", metavar="LOG", help="Log file, folder, or - for standard input")
    parser.add_argument("others", nargs="*", default=[], help=argparse.SUPPRESS)  # for an error that says what to do
    _live.add_live_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Watch until the run ends."""
    from stepscope.core.errors import UsageError
    from stepscope.live.gpu_sampler import Sampler
    from stepscope.live.watch import Watch
    from stepscope.source.files import resolve
    from stepscope.source.tail import FileTail, PipeTail

    language = _answer.chosen_languages(args)[0]
    if args.others:
        raise UsageError("watch-one-log", place=" ".join([args.log, *args.others]))
    _live.warn_of_ignored(args, language)
    source = resolve(args.log)[0]
    clock = SystemClock()
    with contextlib.closing(PipeTail(source.pipe) if source.path is None else FileTail(Path(source.path))) as tail:
        watch = Watch(
            tail,
            name=source.name,
            facts=_live.facts_of(args),
            clock=clock,
            hardware=Sampler(clock),
            interval_s=_live.interval_of(args, _live.has_screen(args)),
        )
        with _live.make_show(args, language) as show:
            end = watch.run_to_end(show)
    sys.stdout.flush()
    return _live.exit_code(end)
