"""Start a command under a supervisor and connect the user to it: window size, signals, exit code."""

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
from stepscope.live.supervisor import arguments_of
from stepscope.source.recording import LOG, META, STAMPS
from stepscope.source.trace_file import TRACE

_ERRORS = "recorder.log"
# How often a supervisor that was killed before it could start the command is replaced.
_MOST_STARTS = 5
_REST_S = 1.0
_PR_SET_CHILD_SUBREAPER = 36


class Runner:
    """A command that runs under a recorder. `folder` is new and empty; a failure to start removes it."""

    def __init__(self, folder: Path, command: list[str], *, traces: bool = False) -> None:
        self.folder = folder
        self._early: list[int] = []  # signals that came before the command was there
        self.state = SharedState.new()
        self._pass_signals_on()
        self._environment = _traced(folder) if traces else None
        master, slave = pty.openpty()
        self._master = master
        self.send_size()
        self.spill, spill_end = os.pipe()
        for number in (self.spill, spill_end):
            os.set_blocking(number, False)
        try:
            meta = {"command": command, "started": time.time(), "folder": str(Path.cwd())}
            (folder / META).write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")
            reserve_exit(folder)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            log, stamps = (os.open(folder / name, flags, 0o666) for name in (LOG, STAMPS))
            self._errors = os.open(folder / _ERRORS, flags, 0o666)
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._handles = Handles(master=master, state=self.state.number, log=log, stamps=stamps, spill=spill_end)
        _adopt_orphans()
        self._start_command(slave, command)

    def _start_command(self, slave: int, command: list[str]) -> None:
        for _ in range(_MOST_STARTS):
            self._supervisor = self._new_supervisor(slave, command)
            while not self.state.command and self._supervisor.poll() is None:
                time.sleep(0.005)
            if self._supervisor.poll() is not None:
                time.sleep(0.1)  # the command may have been forked a moment before the supervisor was killed
            if self.state.command:
                break
        os.close(slave)
        if not self.state.command:
            raise InputError("run-not-started", place=str(self.folder / _ERRORS))
        for number in self._early:
            self.send_signal(number)

    def _new_supervisor(self, slave: int, command: list[str]) -> subprocess.Popen[bytes]:
        self._next_start = time.monotonic() + _REST_S
        return subprocess.Popen(
            arguments_of(self.folder, slave, self._handles, command),
            stdin=subprocess.DEVNULL,
            stdout=self._errors,
            stderr=self._errors,
            start_new_session=True,
            pass_fds=[*self._handles, *([slave] if command else [])],
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
            group = os.tcgetpgrp(self._master)
            if group > 0:
                os.killpg(group, number)
            else:
                os.kill(self.state.command, number)

    def send_size(self) -> None:
        """Give the command's terminal the size of the user's."""
        try:
            columns, rows = os.get_terminal_size(sys.stdout.fileno())
        except (OSError, ValueError):
            columns, rows = 80, 24
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def is_alive(self) -> bool:
        """Whether the command is still running or something it printed is not recorded yet."""
        if self.state.is_over:
            return False
        with contextlib.suppress(ChildProcessError):  # it is the supervisor's, unless that was killed
            pid, status = os.waitpid(self.state.command, os.WNOHANG)
            if pid:
                self.state.note_status(status)
        is_alone = self._supervisor.poll() is not None and not self.state.is_over
        if is_alone and time.monotonic() >= self._next_start:
            self._supervisor = self._new_supervisor(-1, [])
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
        """Whether the folder of the recording was removed."""
        return os.fstat(self._handles.log).st_nlink == 0

    def _pass_signals_on(self) -> None:
        """Pass Ctrl-C, SIGTERM, SIGQUIT and a new window size on to the command from now on."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
            signal.signal(number, lambda received, _: self.send_signal(received))
        signal.signal(signal.SIGWINCH, lambda *_: self.send_size())


def _adopt_orphans() -> None:
    """Become the parent of the command if its supervisor is killed: only a parent learns how a process ended."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _traced(folder: Path) -> dict[str, str]:
    """The environment of a command whose Python process is traced."""
    inject = str(Path(__file__).parent / "inject")
    paths = [inject, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "STEPSCOPE_TRACE": str((folder / TRACE).resolve())}


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
