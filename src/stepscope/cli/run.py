"""Run a command, timestamp every line on arrival, show the live view, keep the log and the timestamps

    stepscope run -- python train.py config/train_gpt2.py
    stepscope runs/20261116-031742-train          afterwards: the whole report, with measured evaluations

The command runs on a pseudo-terminal, so it neither buffers its lines nor loses its bars. Ctrl-C reaches it; closing
the terminal, killing any one process of stepscope or a full disk does not end it. Returns the command's exit code.
POSIX only.
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

from stepscope.alarms._base import Alarm
from stepscope.cli import _answer, _live
from stepscope.core.clock import SystemClock
from stepscope.core.errors import InputError, UsageError
from stepscope.core.message import say

if TYPE_CHECKING:
    from stepscope.i18n import Language
    from stepscope.live.output import PrintedOutput
    from stepscope.live.runner import Runner
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
    from stepscope.live.output import OutputTail, PrintedOutput, Spilled
    from stepscope.live.runner import Runner, make_folder
    from stepscope.live.watch import Watch

    if not args.command:
        raise UsageError("run-what", place="stepscope run")
    language = _answer.chosen_languages(args)[0]
    _live.warn_of_ignored(args, language)
    facts = _live.facts_of(args)
    shows_screen = _live.has_screen(args)
    interval_s = _live.interval_of(args, shows_screen)
    try:
        folder = make_folder(Path(args.dir), args.command, args.name, time.localtime())
        runner = Runner(folder, args.command, traces=args.trace)
    except OSError as problem:
        raise InputError("cannot-write", place=args.dir, reason=problem.strerror or str(problem)) from None
    clock = SystemClock()
    sampler = Keeper(Sampler(clock, pid=runner.command_pid), folder, clock)
    trouble = _Trouble(runner)
    spilled = Spilled(runner.spill)
    with (
        contextlib.closing(OutputTail(folder, runner.state, spilled)) as tail,
        contextlib.closing(PrintedOutput(folder, runner.state, spilled)) as printed,
    ):
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
                _follow(watch, lambda view: show(trouble.added_to(view)))
        else:
            # The output is the command's own; alarms go to stderr and to where they were asked for.
            with _live.AlarmShow(language, _live.AlarmSender(args, language)) as alarms:
                watches = bool(args.exec or args.notify)

                def meanwhile() -> None:
                    alarms.tell(trouble.fresh())
                    if watches:
                        _show_next(watch, alarms)
                    else:
                        sampler()

                _pass_through(runner.is_alive, printed, meanwhile)
                if watches:
                    _follow(watch, alarms)
    code = runner.exit_code()
    print(trouble.farewell(language), file=sys.stderr)
    if code is None:
        raise InputError("run-no-code", place=str(folder))
    return code


class _Trouble:
    """What went wrong with the recording, said once: a disk that takes no more, a folder that was removed."""

    def __init__(self, runner: Runner) -> None:
        self._runner, self._said = runner, set[str]()

    def alarms(self) -> tuple[Alarm, ...]:
        """What is wrong now."""
        folder, state = str(self._runner.folder), self._runner.state
        found = []
        if state.spilled_at is not None:
            found.append(("disk", say("alarm-disk", folder=folder, reason=os.strerror(state.errno))))
        if self._runner.is_gone:
            found.append(("recording_gone", say("alarm-recording-gone", folder=folder)))
        return tuple(Alarm(code, "error", None, None, message) for code, message in found)

    def fresh(self) -> tuple[Alarm, ...]:
        """What has not been said yet."""
        fresh = tuple(alarm for alarm in self.alarms() if alarm.code not in self._said)
        self._said |= {alarm.code for alarm in fresh}
        return fresh

    def added_to(self, view: View) -> View:
        """A view with these alarms in front of its own."""
        return view._replace(alarms=(*self.alarms(), *view.alarms), fresh=(*self.fresh(), *view.fresh))

    def farewell(self, language: Language) -> str:
        """Where the recording is, and what is missing from it."""
        folder, lost = str(self._runner.folder), self._runner.state.lost_bytes
        if self._runner.is_gone:
            return language.text("alarm-recording-gone", folder=folder)
        if lost:
            return language.text("run-kept-partly", folder=folder, count=lost)
        return language.text("run-kept", folder=folder)


def _follow(watch: Watch, show: Callable[[View], None]) -> None:
    while not watch.is_over:
        _show_next(watch, show)
        time.sleep(0.05)


def _show_next(watch: Watch, show: Callable[[View], None]) -> None:
    view = watch.step()
    if view is not None:
        show(view)


def _pass_through(is_alive: Callable[[], bool], printed: PrintedOutput, meanwhile: Callable[[], object]) -> None:
    """Everything the command prints, as it comes, to our own output."""
    out = sys.stdout.buffer
    while True:
        going = is_alive()
        while data := printed.read():
            out.write(data)
            out.flush()
        meanwhile()
        if not going:
            return
        time.sleep(0.03)
