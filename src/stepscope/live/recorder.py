"""The recorder: holds a command's pseudo-terminal, writes what it prints and when each line arrived.

It is a process of its own, so that a failure of the view never reaches the run: when the view goes away, the recorder
goes on. A full disk loses log lines, never the run. POSIX only.

Started as `python -m stepscope.live.recorder FOLDER CONTROL -- CMD…`, where CONTROL is the number of an inherited
socket: one-byte commands with a length come in on it (the size of the terminal, signals).
"""

from __future__ import annotations

import errno
import json
import os
import pty
import select
import signal
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

from stepscope.source.recording import EXIT, LOG, STAMPS, SUSPENDS

_READ_BYTES = 1 << 16
# A program that has ended may leave children that hold its terminal: they get this long to finish printing.
_GRACE_S = 2.0
SIZE, SIGNAL = b"W", b"S"
_HEADER = struct.Struct("<cI")


def pack(kind: bytes, data: bytes) -> bytes:
    """A command for the recorder."""
    return _HEADER.pack(kind, len(data)) + data


# A shorter difference is the jitter of the clocks.
_LEAST_SLEEP_S = 1.0


def asleep_s() -> float:
    """Seconds that the machine has been suspended since a fixed moment: the clock that counts them minus the one that
    does not. Where there is no such clock the wall clock is used, which may also be set."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
    return time.time() - time.monotonic()


class Sleeps:
    """Measures how long the machine was suspended between two calls."""

    def __init__(self, clock: Callable[[], float] = asleep_s) -> None:
        self._clock = clock
        self._before = clock()

    def last_s(self) -> float | None:
        """Seconds suspended since the last call; None when it was not."""
        now = self._clock()
        slept, self._before = now - self._before, now
        return slept if slept >= _LEAST_SLEEP_S else None


class _Writer:
    """Appends to a file and survives a full disk: bytes that do not fit are lost, later ones are kept."""

    def __init__(self, path: Path) -> None:
        self._number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self.size = os.fstat(self._number).st_size
        self.num_lost = 0

    def write(self, data: bytes) -> bool:
        """Append `data`; whether all of it was written."""
        view = memoryview(data)
        while view:
            try:
                done = os.write(self._number, view)
            except InterruptedError:
                continue
            except OSError:
                self.num_lost += len(view)
                return False
            self.size += done
            view = view[done:]
        return True


class _Recorder:
    def __init__(self, folder: Path, control: int, command: list[str]) -> None:
        self._folder = folder
        self._control: int | None = control
        self._log, self._stamps = _Writer(folder / LOG), _Writer(folder / STAMPS)
        self._suspends, self._sleeps = folder / SUSPENDS, Sleeps()
        self._pending = b""
        self._pid, self._master = pty.fork()
        if self._pid == 0:
            _become(command)

    def record(self) -> None:
        deadline = None
        status = None
        while True:
            sources = [self._master] + ([self._control] if self._control is not None else [])
            ready, _, _ = select.select(sources, [], [], 0.5)
            self._note_sleep()
            if self._control in ready:
                self._obey()
            if self._master in ready and not self._take():
                break
            if status is None:
                pid, found = os.waitpid(self._pid, os.WNOHANG)
                status = found if pid else None
                deadline = time.monotonic() + _GRACE_S if pid else None
            if deadline is not None and self._master not in ready and time.monotonic() > deadline:
                break
        if status is None:
            _, status = os.waitpid(self._pid, 0)
        self._finish(status)

    def _note_sleep(self) -> None:
        slept_s = self._sleeps.last_s()
        if slept_s is not None:
            _Writer(self._suspends).write(b"%.6f\t%.6f\n" % (time.time(), slept_s))

    def _take(self) -> bool:
        """Read once from the terminal; False when its other end is closed."""
        try:
            data = os.read(self._master, _READ_BYTES)
        except OSError as problem:
            if problem.errno == errno.EIO:  # Linux's answer when the other end is closed
                return False
            raise
        if not data:
            return False
        wall, monotonic = time.time(), time.monotonic()
        start = self._log.size
        # The terminal ends lines with "\r\n"; a log has "\n".
        data = self._pending + data
        self._pending = b""
        if data.endswith(b"\r"):
            data, self._pending = data[:-1], b"\r"
        data = data.replace(b"\r\n", b"\n")
        if not self._log.write(data):
            return True
        records = b"".join(
            b"%d\t%.6f\t%.6f\n" % (start + index + 1, wall, monotonic)
            for index, byte in enumerate(data)
            if byte in b"\n\r"
        )
        self._stamps.write(records)
        return True

    def _obey(self) -> None:
        assert self._control is not None
        header = _read_exactly(self._control, _HEADER.size)
        if header is None:
            os.close(self._control)
            self._control = None  # the view is gone: the run goes on
            return
        kind, length = _HEADER.unpack(header)
        data = _read_exactly(self._control, length) or b""
        if kind == SIZE and len(data) == 8:
            import fcntl
            import termios

            fcntl.ioctl(self._master, termios.TIOCSWINSZ, data)
        elif kind == SIGNAL and len(data) == 1:
            try:
                os.killpg(os.tcgetpgrp(self._master), data[0])
            except OSError:
                os.kill(self._pid, data[0])

    def _finish(self, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        if self._pending:
            self._log.write(self._pending)
        shown = code if code >= 0 else 128 - code
        exit_file = {
            "code": shown,
            "signal": -code if code < 0 else None,
            "wall": time.time(),
            "lost_bytes": self._log.num_lost,
        }
        target = self._folder / EXIT
        aside = target.with_suffix(".tmp")
        try:
            aside.write_text(json.dumps(exit_file) + "\n")
            aside.replace(target)
        except OSError:
            sys.exit(shown)


def _become(command: list[str]) -> None:
    """In the child process: run the command, or print why it cannot be run."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except FileNotFoundError:
        os.write(2, f"stepscope: command not found: {command[0]}\n".encode())
        os._exit(127)
    except OSError as problem:
        os.write(2, f"stepscope: {command[0]}: {problem.strerror}\n".encode())
        os._exit(126)


def _read_exactly(number: int, length: int) -> bytes | None:
    data = b""
    while len(data) < length:
        try:
            piece = os.read(number, length - len(data))
        except OSError:
            return None
        if not piece:
            return None
        data += piece
    return data


def main(arguments: list[str]) -> None:
    """Record a command until it ends."""
    # Signals meant for the run come through the control socket.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    folder, control, dashes, *command = arguments
    assert dashes == "--"
    _Recorder(Path(folder), int(control), command).record()


if __name__ == "__main__":
    main(sys.argv[1:])
