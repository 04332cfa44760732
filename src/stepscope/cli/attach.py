"""Live view of a process that is already running: finds its log, looks inside it while it is slow

    stepscope attach 12345
    stepscope attach 12345 --log train.log        if its output is not a file, or you may not see which

While an iteration takes longer than it should, its Python stack is sampled (py-spy), so that the view says where it is:
in `torch.save`, in `estimate_loss`. That needs the right to look into the process (the same user, or ptrace allowed);
without it the view goes on with less and says so. Exit codes as `watch`; the process's end counts. Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.cli import _answer, _live
from stepscope.core.clock import SystemClock
from stepscope.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from stepscope.i18n import Language
    from stepscope.live.watch import View


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
    from stepscope.live.watch import Watch
    from stepscope.source.tail import FileTail

    language = _answer.chosen_languages(args)[0]
    _live.warn_of_ignored(args, language)
    found = process.output_of(args.pid) if args.log is None else Path(args.log)
    if found is None:
        raise InputError("process-without-log", place=str(args.pid), pid=str(args.pid))
    print(language.text("attach-log", path=str(found)), file=sys.stderr)
    clock = SystemClock()
    with contextlib.closing(FileTail(found)) as tail:
        watch = Watch(
            tail,
            name=str(found),
            facts=_live.facts_of(args),
            clock=clock,
            hardware=Sampler(clock, pid=args.pid),
            interval_s=_live.interval_of(args, _live.has_screen(args)),
            is_alive=lambda: process.is_alive(args.pid),
        )
        with _live.make_show(args, language) as show:
            end = watch.run_to_end(_looking_inside(args.pid, show, language))
    return _live.exit_code(end)


def _looking_inside(pid: int, show: Callable[[View], None], language: Language) -> Callable[[View], None]:
    """Show views with the place in the process's code, while it does something slow."""
    from stepscope.live import process

    has_explained = False

    def look(view: View) -> None:
        nonlocal has_explained
        if view.pulse.doing in {"evaluation", "checkpoint", "stalled", "warmup"}:
            frames, refusal = process.sample(pid)
            place = process.place_of(frames)
            if place is not None:
                view = view._replace(place=place)
            elif refusal is not None and not has_explained:
                has_explained = True
                print(language.text("attach-no-stack", reason=refusal), file=sys.stderr)
        show(view)

    return look
