"""Start a command under a supervisor and connect it to what we are connected to: streams, window size, signals, exit.

For the command everything is as without us: its standard input, output and error are terminals where ours are, else it
gets our own standard input and pipes. What is typed is passed on by `keyboard.py`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from stepscope.core.errors import InputError
from stepscope.live.recorder import Handles, reserve_exit, shown_code
from stepscope.live.shared_state import SharedState
from stepscope.live.streams import OUTPUT, STREAMS, TERMINAL, Ways
from stepscope.live.supervisor import NO_ENDS, Ends, arguments_of
from stepscope.source.recording import LOG, META, RECORDING, STAMPS, TRACES
from stepscope.source.wall_time import job_end_s

_ERRORS = "recorder.log"
# How often a supervisor that was killed before it could start the command is replaced.
_MOST_STARTS = 5
_REST_S = 1.0
_PR_SET_CHILD_SUBREAPER = 36
_USUAL_SIZE = 80, 24  # without a size, bars are not drawn at all
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
# Schedulers send SIGUSR1 or SIGUSR2 before the wall time.
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


class Runner:
    """A command that runs under a recorder. `folder` is new and empty; a failure to start removes it."""

    def __init__(self, folder: Path, command: list[str], ways: Ways, *, traces: bool = False) -> None:
        self.folder = folder
        self.ways = ways
        self._early: list[int] = []  # signals that came before the command was there
        self.state = SharedState.new()
        self._pass_signals_on()
        self._environment = _environment(folder, ways, traces=traces)
        try:
            meta = {
                "command": command,
                "started": time.time(),
                "folder": str(Path.cwd()),
                "job_end": job_end_s(os.environ),
                "streams": {
                    name: "terminal" if is_terminal else "pipe"
                    for name, is_terminal in zip(("output", "error"), ways.terminals[1:], strict=True)
                },
            }
            (folder / META).write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")
            reserve_exit(folder)
            names = [LOG, STAMPS, *([STREAMS] if ways.num_sources > 1 else [])]
            log, stamps, *streams = (os.open(folder / name, _FLAGS, 0o666) for name in names)
            self._errors = os.open(folder / _ERRORS, _FLAGS, 0o666)
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self.master, ends, output, error = _connect(ways)
        self.send_size()
        self.spill, spill_end = _spill_pipe()
        self.error_spill, error_spill_end = _spill_pipe() if streams else (-1, -1)
        self._handles = Handles(
            master=self.master,
            state=self.state.number,
            log=log,
            stamps=stamps,
            spill=spill_end,
            output=output,
            error=error,
            streams=streams[0] if streams else -1,
            error_spill=error_spill_end,
        )
        _adopt_orphans()
        self._start_command(ends, command)
        with contextlib.suppress(OSError):  # a disk that is full by now
            (folder / META).write_text(json.dumps({**meta, "pid": self.state.command}, indent=2) + "\n")

    def _start_command(self, ends: Ends, command: list[str]) -> None:
        for _ in range(_MOST_STARTS):
            self._supervisor = self._new_supervisor(ends, command)
            while not self.state.command and self._supervisor.poll() is None:
                time.sleep(0.005)
            if self._supervisor.poll() is not None:
                time.sleep(0.1)  # the command may have been forked a moment before the supervisor was killed
            if self.state.command:
                break
        for end in {end for end in ends if end > 2}:
            os.close(end)
        if not self.state.command:
            raise InputError("run-not-started", place=str(self.folder / _ERRORS))
        for number in self._early:
            self.send_signal(number)

    def _new_supervisor(self, ends: Ends, command: list[str]) -> subprocess.Popen[bytes]:
        self._next_start = time.monotonic() + _REST_S
        return subprocess.Popen(
            arguments_of(self.folder, ends, self._handles, command),
            stdin=subprocess.DEVNULL,
            stdout=self._errors,
            stderr=self._errors,
            start_new_session=True,
            pass_fds=sorted({*self._handles.opened, *ends} - {-1}),
            env=self._environment,
        )

    @property
    def command_pid(self) -> int:
        """The command's process."""
        return self.state.command

    def send_signal(self, number: int) -> None:
        """Send a signal to the command, and to what else runs in the foreground of its terminal."""
        if not self.state.command:
            self._early.append(number)
            return
        with contextlib.suppress(OSError):  # it has ended
            os.killpg(self.foreground, number)

    @property
    def main_source(self) -> int:
        """The stream that standard output is, or the only one there is."""
        is_terminal = self.ways.terminals[1] or (self.ways.num_sources == 1 and self.ways.has_terminal)
        return TERMINAL if is_terminal else OUTPUT

    @property
    def foreground(self) -> int:
        """The group of processes that what is typed would reach: the command's own, unless it has others in front."""
        if self.master >= 0:
            with contextlib.suppress(OSError):
                group = os.tcgetpgrp(self.master)
                if group > 0:
                    return group
        return self.state.command

    def send_size(self) -> None:
        """Give the command's terminal the size of the user's."""
        if self.master < 0:
            return
        columns, rows = _USUAL_SIZE
        for number in (1, 2, 0):
            with contextlib.suppress(OSError):
                found = os.get_terminal_size(number)
                columns, rows = found if found.columns else _USUAL_SIZE
                break
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def is_alive(self) -> bool:
        """Whether the command is still running or something it printed is not recorded yet."""
        if self.state.is_over:
            return False
        with contextlib.suppress(ChildProcessError):  # it is the supervisor's, unless that was killed
            pid, status = os.waitpid(self.state.command, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            if pid and (os.WIFSTOPPED(status) or os.WIFCONTINUED(status)):
                self.state.is_stopped = int(os.WIFSTOPPED(status))
            elif pid:
                self.state.note_status(status)
        is_alone = self._supervisor.poll() is not None and not self.state.is_over
        if is_alone and time.monotonic() >= self._next_start:
            self._supervisor = self._new_supervisor(NO_ENDS, [])
        return True

    def exit_code(self) -> int | None:
        """The command's exit code, or 128 + the signal that ended it; None if nobody saw how it ended."""
        while self.is_alive():
            time.sleep(0.02)
        if not self.state.has_status:
            return None
        return shown_code(os.waitstatus_to_exitcode(self.state.status))

    @property
    def is_gone(self) -> bool:
        """Whether the folder of the recording was removed, or the disk with it; one that was moved is still there."""
        own = os.fstat(self._handles.log)
        if own.st_nlink == 0 or not sys.platform.startswith("linux"):
            return own.st_nlink == 0
        try:
            now = Path(f"/proc/self/fd/{self._handles.log}").readlink()
            return not any(_is_file(path, own) for path in (self.folder / LOG, now))
        except OSError:  # a network drive that does not answer may come back
            return False

    def _pass_signals_on(self) -> None:
        """Pass Ctrl-C, other signals that are meant for the command, and a new window size on to it from now on."""
        for number in _PASSED_ON:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda received, _: self.send_signal(received))
        signal.signal(signal.SIGWINCH, lambda *_: self.send_size())


def _is_file(path: Path, own: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), own)
    except FileNotFoundError:
        return False


def _adopt_orphans() -> None:
    """Become the parent of the command if its supervisor is killed: only a parent learns how a process ended."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _connect(ways: Ways) -> tuple[int, Ends, int, int]:
    """A terminal and pipes: our side of the terminal, the command's ends, and our sides of its output and error."""
    master = terminal = output = error = output_end = error_end = -1
    if ways.has_terminal:
        master, terminal = pty.openpty()
        with contextlib.suppress(OSError, termios.error):
            # The user's own habits: which key erases, which interrupts.
            number = ways.terminals.index(True)
            termios.tcsetattr(terminal, termios.TCSANOW, termios.tcgetattr(number))
    if ways.has_output_pipe:
        output, output_end = os.pipe()
    if ways.has_error_pipe:
        error, error_end = os.pipe()
    ends = Ends(
        terminal=terminal,
        input=terminal if ways.terminals[0] else _own_input() if ways.has_input else -1,
        output=output_end if ways.has_output_pipe else terminal,
        error=terminal if ways.terminals[2] else error_end if ways.has_error_pipe else output_end,
    )
    return master, ends, output, error


def _own_input() -> int:
    """Our standard input, for the command to have: we read nothing from it ourselves."""
    number = os.dup(0)
    # The other end of a pipe must see when the command reads no more.
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return number


def _spill_pipe() -> tuple[int, int]:
    """A pipe that neither side waits for."""
    ours, theirs = os.pipe()
    for number in (ours, theirs):
        os.set_blocking(number, False)
    return ours, theirs


def _environment(folder: Path, ways: Ways, *, traces: bool) -> dict[str, str]:
    """The environment of a command: ours, where it may record itself, and whether its Python does so by itself."""
    found = os.environ | {RECORDING: str(folder.resolve())}
    if ways.has_output_pipe and "PYTHONUNBUFFERED" not in os.environ:
        # Python holds back what it prints to a pipe by the block: lines would come late and all at once.
        found["PYTHONUNBUFFERED"] = "1"
    if traces:
        inject = str(Path(__file__).parent / "inject")
        found["PYTHONPATH"] = os.pathsep.join([inject, *filter(None, [os.environ.get("PYTHONPATH")])])
        found[TRACES] = "1"
    return found


def make_folder(base: Path, command: list[str], name: str | None, now: time.struct_time) -> Path:
    """Make a folder for the recording, which no other run has."""
    if name is None:
        script = next((word for word in command if word.endswith(".py")), command[0])
        stem = re.sub(r"[^\w.-]+", "-", Path(script).stem) or "run"
        name = time.strftime("%Y%m%d-%H%M%S-", now) + stem
    folder = base / name
    number = 2
    while True:
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            folder = base / f"{name}-{number}"
            number += 1
        else:
            return folder
