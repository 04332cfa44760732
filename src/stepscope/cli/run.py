"""Run a training, watch it live, and keep its log with exact times.

    stepscope run -- python train.py config/train_gpt2.py
    stepscope runs/20261116-031742-train          afterwards: the whole report, with measured evaluations

For the command everything is as without stepscope: its standard input, output and error are terminals where yours are
and pipes where yours are not; keys, Ctrl-C, Ctrl-Z and the window's size reach it. Closing the terminal, killing any
one process of stepscope or a full disk does not end it. Returns the command's exit code. POSIX only.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.alarms._base import Alarm
from stepscope.cli import _answer, _live
from stepscope.cli._stage import PassThrough, follow, follow_on_screen, show_next
from stepscope.core.clock import SystemClock
from stepscope.core.errors import InputError, UsageError
from stepscope.core.message import say

if TYPE_CHECKING:
    from stepscope.i18n import Language
    from stepscope.live.otlp import OtlpWriter
    from stepscope.live.runner import Runner
    from stepscope.live.watch import Facts, View

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
    parser.add_argument(
        "--pty",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="Give the command a terminal for its output, or pipes (default: a terminal where yours is one)",
    )
    parser.add_argument("--name", help="Name of the recording (default: the time and the script's name)")
    parser.add_argument("--dir", default="runs", metavar="FOLDER", help="Folder for recordings (default: runs)")
    _live.add_live_arguments(parser, plain="Print the command's own output")


def run(args: argparse.Namespace) -> int:
    """Run it."""
    if os.name != "posix":
        raise UsageError("needs-posix", place="stepscope run")
    from stepscope.live.runner import Runner, make_folder
    from stepscope.live.streams import find_ways
    from stepscope.source.wall_time import job_end_s

    if not args.command:
        raise UsageError("run-what", place="stepscope run")
    language = _answer.chosen_languages(args)[0]
    _live.warn_of_ignored(args, language)
    facts, otlp = _live.facts_of(args, job_end_s(os.environ)), _live.make_otlp(args)
    try:
        folder = make_folder(Path(args.dir), args.command, args.name, time.localtime())
        runner = Runner(folder, args.command, find_ways(wants_terminal=args.pty), traces=args.trace)
    except OSError as problem:
        raise InputError("cannot-write", place=args.dir, reason=problem.strerror or str(problem)) from None
    trouble = _Trouble(runner)
    _accompany(runner, args, language, facts=facts, trouble=trouble, otlp=otlp)
    code = runner.exit_code()
    if code is not None and not (args.exec or args.notify or otlp.is_on):
        _say_signal(runner.folder, language)
    print(trouble.farewell(language), file=sys.stderr)
    if code is None:
        raise InputError("run-no-code", place=str(folder))
    return code


def _accompany(
    runner: Runner, args: argparse.Namespace, language: Language, *, facts: Facts, trouble: _Trouble, otlp: OtlpWriter
) -> None:
    """Show the run until it has ended: a screen, or the command's own output."""
    from stepscope.live.gpu_log import Keeper
    from stepscope.live.gpu_sampler import Sampler
    from stepscope.live.inside import Inside
    from stepscope.live.keyboard import Keyboard
    from stepscope.live.output import OutputTail, PrintedOutput, Spilled
    from stepscope.live.watch import Watch

    clock = SystemClock()
    sampler = Keeper(Sampler(clock, pid=runner.command_pid), runner.folder, clock)
    spilled = [Spilled(number) for number in (runner.spill, runner.error_spill) if number >= 0]
    # Without a terminal of its own the command talks to the user's, and both cannot draw on it.
    shows_screen = _live.has_screen(args) and args.pty is not False
    with (
        contextlib.closing(OutputTail(runner.folder, runner.state, *spilled)) as tail,
        contextlib.closing(PrintedOutput(runner.folder, runner.state, *spilled, main=runner.main_source)) as printed,
        contextlib.closing(Inside(clock, pid=lambda: runner.command_pid, folder=runner.folder)) as inside,
        Keyboard(runner) as keyboard,
    ):
        passing = PassThrough(printed, runner.ways)
        watch = Watch(
            tail,
            name=str(runner.folder),
            facts=facts,
            clock=clock,
            hardware=sampler,
            interval_s=_live.interval_of(args),
            is_alive=runner.is_alive,
        )
        if shows_screen:
            with _live.make_screen(args, language) as screen:
                follow_on_screen(
                    watch, screen, passing, keyboard, lambda view: trouble.added_to(otlp.passed(inside.look(view)))
                )
            return
        # The output is the command's own; alarms go to stderr and to where they were asked for.
        with _live.AlarmShow(language, _live.AlarmSender(args, language)) as alarms:
            watches = bool(args.exec or args.notify or otlp.is_on)

            def show(view: View) -> None:
                alarms(otlp.passed(view))

            def meanwhile() -> None:
                keyboard.look()
                alarms.tell(trouble.fresh())
                if watches:
                    show_next(watch, show)
                else:
                    sampler()

            passing.to_end(runner.is_alive, meanwhile)
            if watches:
                follow(watch, show)


def _say_signal(folder: Path, language: Language) -> None:
    """Say which signal ended the command: unlike an error of its own, it has printed nothing about it."""
    from stepscope.run.ending import signal_name
    from stepscope.source.recording import read_exit

    found = read_exit(folder)
    if found is not None and found.ended_by is not None:
        key = "alarm-killed" if found.ended_by == signal.SIGKILL else "alarm-signal"
        print("! " + language.text(key, name=signal_name(found.ended_by), code=found.code), file=sys.stderr)


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
