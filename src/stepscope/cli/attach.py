"""live view of a process that is already running: finds its log, looks inside it while it is slow

    stepscope attach 12345
    stepscope attach 12345 --log train.log        where its output is not a file, or you may not see which

While an iteration takes longer than it should, its Python stack is sampled (py-spy), so that the view says where it is:
in `torch.save`, in `estimate_loss`. That needs the right to look into the process (the same user, or ptrace allowed);
without it the view goes on with less and says so. Exit codes as `watch`; the process's end counts. Linux only.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from stepscope.cli import _answer, _flags, _live
from stepscope.core.clock import SystemClock
from stepscope.core.errors import InputError, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The process, its log where that must be said, and the view's flags."""
    parser.add_argument("pid", metavar="PID", type=int, help="the process")
    parser.add_argument("--log", metavar="LOG", help="the file it prints to (default: found through /proc)")
    _flags.add_fact_arguments(parser)
    _live.add_live_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Watch the process until it ends."""
    if os.name != "posix" or not Path("/proc").is_dir():
        raise UsageError("needs-posix", place="stepscope attach")
    from stepscope.live import process
    from stepscope.live.gpu_sampler import Sampler
    from stepscope.live.watch import View, Watch
    from stepscope.source.tail import FileTail

    language = _answer.chosen_languages(args)[0]
    found = process.output_of(args.pid) if args.log is None else Path(args.log)
    if found is None:
        raise InputError("process-without-log", place=str(args.pid), pid=str(args.pid))
    print(language.text("attach-log", path=str(found)), file=sys.stderr)
    clock = SystemClock()
    watch = Watch(
        FileTail(found),
        name=str(found),
        facts=_live.facts_of(args),
        clock=clock,
        hardware=Sampler(clock, pid=args.pid),
        interval_s=_live.interval_of(args, _live.has_screen(args)),
        is_alive=lambda: process.is_alive(args.pid),
    )
    told = False
    with _live.make_show(args, language) as show:

        def look_inside(view: View) -> None:
            nonlocal told
            if view.pulse.doing in {"evaluation", "checkpoint", "stalled", "warmup"}:
                frames, refusal = process.sample(args.pid)
                place = process.place_of(frames)
                if place is not None:
                    view = view._replace(place=place)
                elif refusal is not None and not told:
                    told = True
                    print(language.text("attach-no-stack", reason=refusal), file=sys.stderr)
            show(view)

        end = watch.run_to_end(look_inside)
    return _live.exit_code(end)
