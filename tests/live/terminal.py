"""A person at a terminal: a shell with job control on a pseudo-terminal, keys, and what is to be seen."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path

_CODES = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[=>]")
SHELL = ["bash", "--norc", "--noprofile", "-i"]


class Terminal:
    """A program on a terminal of its own; what it showed so far is in `shown`."""

    def __init__(self, command: list[str], folder: Path, *, columns: int = 100, rows: int = 30) -> None:
        source = str(Path(__file__).parents[2] / "src")
        self.pid, self.number = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            environment = os.environ | {"PS1": "$ ", "TERM": "xterm", "PYTHONPATH": source, "HISTFILE": ""}
            os.execvpe(command[0], command, environment)
        self.shown = b""
        self.size(columns, rows)

    def size(self, columns: int, rows: int = 30) -> None:
        """Give the window a size."""
        fcntl.ioctl(self.number, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self.number, keys.encode())

    def see(self, words: str, seconds: float = 30.0) -> str:
        """Wait until these words are shown after what was seen last; what was shown up to them."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = _CODES.sub(b"", self.shown).decode(errors="replace")
            place = text.find(words)
            if place >= 0:
                self.shown = text[place + len(words) :].encode()
                return text[: place + len(words)]
            if select.select([self.number], [], [], 0.2)[0]:
                try:
                    self.shown += os.read(self.number, 65536)
                except OSError:
                    break
        raise AssertionError(f"never shown: {words!r}; shown instead: {self.shown[-1500:].decode(errors='replace')!r}")

    def mode(self) -> list[object]:
        """How the terminal is set."""
        return termios.tcgetattr(self.number)

    def close(self) -> None:
        """End whatever runs on it."""
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        os.close(self.number)
        os.waitpid(self.pid, 0)


def stepscope_run(*command: str, flags: tuple[str, ...] = ()) -> str:
    """The line to type that records a command; its words are quoted."""
    import shlex

    return shlex.join([sys.executable, "-m", "stepscope", "run", *flags, "--name", "r", "--", *command])
