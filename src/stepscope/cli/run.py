"""Run a command, timestamp every line on arrival, show the live view, keep the log and the timestamps

    stepscope run -- python train.py config/train_gpt2.py
    stepscope runs/20261116-031742-train          afterwards: the whole report, with measured evaluations

The command runs on a pseudo-terminal, so it neither buffers its lines nor loses its bars. Ctrl-C reaches it; closing
the terminal or killing stepscope does not end it. Returns the command's exit code. POSIX only.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.cli import _answer, _live
from stepscope.core.clock import SystemClock
from stepscope.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from stepscope.live.watch import View, Watch

RUNS_A_COMMAND = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to run, where to keep it, and what is known about the run."""
    parser.add_argument("command", nargs="*", metavar="-- CMD", help="Command to run and its arguments, after --")
    parser.add_argument(
        "--trace",
        action="store_true",
        help="Also record from inside, once it imports torch: evaluations, checkpoints, waits for data, compilation, "
        "garbage collection",
    )
    parser.add_argument("--name", help="Name of the recording (default: the time and the script's name)")
    parser.add_argument("--dir", default="runs", metavar="FOLDER", help="Folder for recordings (default: runs)")
    _live.add_live_arguments(parser, plain="Print the command's own output")


def run(args: argparse.Namespace) -> int:
    """Run it."""
    if os.name != "posix":
        raise UsageError("needs-posix", place="stepscope run")
    from stepscope.live.gpu_log import Keeper
    from stepscope.live.gpu_sampler import Sampler
    from stepscope.live.runner import Runner, folder_for
    from stepscope.live.watch import Watch
    from stepscope.source.recording import LOG, RecordingTail

    if not args.command:
        raise UsageError("run-what", place="stepscope run")
    language = _answer.chosen_languages(args)[0]
    _live.warn_of_ignored(args, language)
    facts = _live.facts_of(args)
    shows_screen = _live.has_screen(args)
    interval_s = _live.interval_of(args, shows_screen)
    folder = folder_for(Path(args.dir), args.command, args.name, time.localtime())
    try:
        runner = Runner(folder, args.command, traces=args.trace)
    except OSError as problem:
        raise InputError("cannot-write", place=str(folder), reason=problem.strerror or str(problem)) from None
    runner.pass_signals_on()
    runner.send_size()
    clock = SystemClock()
    sampler = Keeper(Sampler(clock, pid=runner.recorder_pid), folder, clock)
    with contextlib.closing(RecordingTail(folder)) as tail:
        watch = Watch(
            tail,
            name=str(folder),
            facts=facts,
            clock=clock,
            hardware=sampler,
            interval_s=interval_s,
            is_alive=runner.is_alive,
        )
        if shows_screen:
            with _live.make_show(args, language) as show:
                _follow(watch, show)
        elif args.exec or args.notify:
            # The output is the command's own; alarms go to stderr and to where they were asked for.
            with _live.AlarmShow(language, _live.AlarmSender(args, language)) as show:
                _pass_through(runner.is_alive, folder / LOG, lambda: _show_next(watch, show))
                _follow(watch, show)
        else:
            _pass_through(runner.is_alive, folder / LOG, sampler)
    code = runner.exit_code()
    print(language.text("run-kept", folder=str(folder)), file=sys.stderr)
    return code


def _follow(watch: Watch, show: Callable[[View], None]) -> None:
    while not watch.is_over:
        _show_next(watch, show)
        time.sleep(0.05)


def _show_next(watch: Watch, show: Callable[[View], None]) -> None:
    view = watch.step()
    if view is not None:
        show(view)


def _pass_through(is_alive: Callable[[], bool], log: Path, meanwhile: Callable[[], object]) -> None:
    """Everything the command prints, as it comes, to our own output."""
    out = sys.stdout.buffer
    with log.open("rb") as file:
        while True:
            going = is_alive()
            while data := file.read(1 << 16):
                out.write(data)
                out.flush()
            if not going:
                return
            meanwhile()
            time.sleep(0.03)
