"""Watch a process that is already running.

    stepscope attach 12345
    stepscope attach 12345 --log train.log        if its output is not a file, or you may not see which

Its Python stack is sampled about once a second (py-spy), so that the view says where it is: in `torch.save`, in
`estimate_loss`. That needs the right to look into the process (the same user, or ptrace allowed);
without it the view goes on with less and says so. Exit codes as `watch`; the process's end counts. Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path

from stepscope.cli import _answer, _live
from stepscope.cli._keys import KeyClock
from stepscope.core.errors import InputError, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The process, its log where that must be said, and the view's flags."""
    parser.add_argument("pid", metavar="PID", type=int, help="Number of the process")
    parser.add_argument("--log", metavar="LOG", help="File it prints to (default: found through /proc)")
    _live.add_live_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Watch the process until it ends."""
    if os.name != "posix" or not Path("/proc").is_dir():
        raise UsageError("needs-posix", place="stepscope attach")
    from stepscope.live import process
    from stepscope.live.gpu_sampler import Sampler
    from stepscope.live.inside import Inside
    from stepscope.live.watch import Watch
    from stepscope.source.recording import RecordingTail
    from stepscope.source.tail import FileTail
    from stepscope.source.wall_time import job_end_of

    language = _answer.chosen_languages(args)[0]
    _live.warn_of_ignored(args, language)
    otlp = _live.make_otlp(args)
    folder = process.recording_of(args.pid) if args.log is None else None
    found = folder if folder is not None else process.output_of(args.pid) if args.log is None else Path(args.log)
    if found is None:
        raise InputError("process-without-log", place=str(args.pid), pid=str(args.pid))
    print(language.text("attach-log", path=str(found)), file=sys.stderr)
    clock = KeyClock()
    inside = Inside(
        clock,
        pid=lambda: args.pid,
        folder=folder,
        on_refusal=lambda reason: print(language.text("attach-no-stack", reason=reason), file=sys.stderr),
    )
    with contextlib.closing(RecordingTail(folder) if folder is not None else FileTail(found)) as tail:
        watch = Watch(
            tail,
            name=str(found),
            facts=_live.facts_of(args, job_end_of(args.pid)),
            clock=clock,
            hardware=Sampler(clock, pid=args.pid),
            interval_s=_live.interval_of(args),
            is_alive=lambda: process.is_alive(args.pid),
        )
        with contextlib.closing(inside), _live.make_show(args, language) as show, clock.reading(show):
            end = watch.run_to_end(lambda view: show(otlp.passed(inside.look(view))))
    return _live.exit_code(end)
