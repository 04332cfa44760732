"""The user's terminal while a command runs on one of ours: what is typed reaches the command as it is typed.

Our terminal passes every key on unread, and the command's terminal makes of it what the command wants: echo, lines,
Ctrl-C. Job control alone takes a hand: nobody of the command's session could start it again, so the system would not
stop it at Ctrl-Z. We stop it, then ourselves, and the shell sees a stopped job.

A thread reads the keys, so that none waits while a long log is explained.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stepscope.live.runner import Runner

_INPUT = 0
_LOOK_S = 0.2
_CHUNK_BYTES = 4096
# A command that catches SIGTSTP gets this long to put its things in order.
_STOP_S = 1.0
_FLAGS, _CODES = 3, 6  # of what `tcgetattr` gives: local flags, control characters


class Keyboard:
    """Passes keys and stops on; a context: the terminal is put back when it ends.

    reads
        Whether there are keys to pass on: our standard input is a terminal, and so is the command's.
    last_key
        When the last one came, by the monotonic clock.

    on_stop, on_return
        Called in the main thread before we stop with the command, and after we went on.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.reads = runner.ways.terminals[_INPUT]
        self._before: list[Any] | None = None  # how the terminal was; None while it is as it was
        self._is_closed = self._has_returned = False
        self.last_key = 0.0
        self.on_stop: Callable[[], None] = lambda: None
        self.on_return: Callable[[], None] = lambda: None

    def __enter__(self) -> Keyboard:
        signal.signal(signal.SIGTSTP, lambda *_: self._stop())
        signal.signal(signal.SIGCONT, lambda *_: self._note_return())
        # A job in the background that reads or sets the terminal would be stopped; we are told instead.
        for number in (signal.SIGTTIN, signal.SIGTTOU):
            signal.signal(number, signal.SIG_IGN)
        if self.reads:
            self._take_terminal()
            threading.Thread(target=self._pass_keys, name="stepscope-keys", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_closed = True
        self._give_terminal_back()

    def look(self) -> None:
        """Call now and then: a command that was stopped by somebody else stops us, too, where a shell is looking."""
        if self._runner.state.is_stopped and self._runner.ways.has_terminal and _is_in_front():
            self._stop()

    # -- keys ---------------------------------------------------------------------------------------------------

    def _pass_keys(self) -> None:
        while not self._is_closed:
            if not _is_in_front():
                time.sleep(_LOOK_S)
                continue
            self._take_terminal()
            ready, _, _ = select.select([_INPUT], [], [], _LOOK_S)
            if not ready or not _is_in_front():
                continue
            try:
                keys = os.read(_INPUT, _CHUNK_BYTES)
            except OSError:
                continue  # we are in the background now
            if not keys:
                return  # the terminal is gone
            self.last_key = time.monotonic()
            self._pass_on(keys)

    def _pass_on(self, keys: bytes) -> None:
        stop = self._stop_key()
        while keys:
            typed, pressed, keys = keys.partition(stop) if stop else (keys, b"", b"")
            with contextlib.suppress(OSError):  # the command has ended
                _write_all(self._runner.master, typed)
            if pressed and not _ignores(self._runner.state.command, signal.SIGTSTP):
                # Everything in our own job stops, as it would with the command itself in it.
                os.killpg(os.getpgrp(), signal.SIGTSTP)

    def _stop_key(self) -> bytes:
        """The key that stops the command; none where it reads keys itself, or stops others itself as a shell does."""
        try:
            mode = termios.tcgetattr(self._runner.master)
        except (OSError, termios.error):
            return b""
        is_own = self._runner.foreground == self._runner.state.command
        key = mode[_CODES][termios.VSUSP]
        return key if is_own and mode[_FLAGS] & termios.ISIG and key != b"\0" else b""

    # -- our terminal -------------------------------------------------------------------------------------------

    def _take_terminal(self) -> None:
        """Let every key through; the output stays as it is, so that a log's line ends are shown as such."""
        if self._before is not None or self._is_closed or not _is_in_front():
            return
        with contextlib.suppress(OSError, termios.error):
            before = termios.tcgetattr(_INPUT)
            mode = [*before[:_CODES], list(before[_CODES])]
            mode[0] &= ~(termios.BRKINT | termios.ICRNL | termios.INLCR | termios.IGNCR | termios.ISTRIP | termios.IXON)
            mode[_FLAGS] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
            mode[_CODES][termios.VMIN], mode[_CODES][termios.VTIME] = 1, 0
            termios.tcsetattr(_INPUT, termios.TCSADRAIN, mode)
            self._before = before

    def _give_terminal_back(self) -> None:
        before, self._before = self._before, None
        if before is not None:
            with contextlib.suppress(OSError, termios.error):
                termios.tcsetattr(_INPUT, termios.TCSADRAIN, before)

    # -- stopping -----------------------------------------------------------------------------------------------

    def _stop(self) -> None:
        """Stop the command, then ourselves; go on together."""
        runner = self._runner
        if not runner.state.is_stopped:
            stop_group(runner.foreground)
        self.on_stop()
        self._give_terminal_back()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        self._has_returned = False
        os.kill(os.getpid(), signal.SIGTSTP)  # returns when somebody lets us go on
        signal.signal(signal.SIGTSTP, lambda *_: self._stop())
        if not self._has_returned:
            self._note_return()  # nobody could let us go on, so the system did not stop us
        if self.reads:
            self._take_terminal()
        runner.send_size()
        self.on_return()

    def _note_return(self) -> None:
        """The shell lets the job go on, and the command is part of it."""
        self._has_returned = True
        self._runner.state.is_stopped = 0
        self._runner.send_signal(signal.SIGCONT)


def stop_group(group: int) -> None:
    """Stop a group of processes as Ctrl-Z would, had its terminal somebody to start it again."""
    catches = _catches(group, signal.SIGTSTP)
    with contextlib.suppress(OSError):
        if catches:
            os.killpg(group, signal.SIGTSTP)
            deadline = time.monotonic() + _STOP_S
            while time.monotonic() < deadline and not _is_stopped(group):
                time.sleep(0.01)
        else:
            os.killpg(group, signal.SIGSTOP)


def _is_in_front() -> bool:
    """Whether we are what the user's terminal talks to."""
    try:
        return os.tcgetpgrp(_INPUT) == os.getpgrp()
    except OSError:
        return False


def _write_all(number: int, data: bytes) -> None:
    while data:
        data = data[os.write(number, data) :]


def _status(pid: int, field: str) -> str:
    try:
        lines = (Path("/proc") / str(pid) / "status").read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(f"{field}:")), "")


def _has_signal(pid: int, field: str, number: signal.Signals) -> bool:
    try:
        return bool(int(_status(pid, field) or "0", 16) >> (number - 1) & 1)
    except ValueError:
        return False


def _ignores(pid: int, number: signal.Signals) -> bool:
    return _has_signal(pid, "SigIgn", number)


def _catches(pid: int, number: signal.Signals) -> bool:
    return _has_signal(pid, "SigCgt", number)


def _is_stopped(pid: int) -> bool:
    return _status(pid, "State").startswith("T")
