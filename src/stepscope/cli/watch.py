"""live view of a run that somebody else started: what it does now, when it is done, alarms

    stepscope watch train.log
    tail -f train.log | stepscope watch -

Follows the file as it grows, through rotation and truncation. Exit code 0 when the run finished, 4 when it ended early
or crashed, 130 when interrupted.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from stepscope.cli import _answer, _flags, _live
from stepscope.core.clock import SystemClock


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The log's flags and the view's."""
    _flags.add_log_arguments(parser)
    _live.add_live_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Watch until the run ends."""
    from stepscope.core.errors import UsageError
    from stepscope.live.gpu_sampler import Sampler
    from stepscope.live.watch import Tail, Watch
    from stepscope.source.files import resolve
    from stepscope.source.tail import FileTail, PipeTail

    language = _answer.chosen_languages(args)[0]
    if len(args.log) > 1:
        raise UsageError("watch-one-log", place=" ".join(args.log))
    source = resolve(args.log[0])[0]
    tail: Tail = PipeTail() if source.path is None else FileTail(Path(source.path))
    clock = SystemClock()
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
