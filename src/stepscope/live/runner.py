"""Start a command under a recorder and connect the user to it: window size, signals, exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from stepscope.live.recorder import SIGNAL, SIZE, pack
from stepscope.source.recording import EXIT, LOG, META, STAMPS
from stepscope.source.trace_file import TRACE


class Runner:
    """A command that runs under a recorder."""

    def __init__(self, folder: Path, command: list[str], *, traces: bool = False) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for name in (LOG, STAMPS):
            (folder / name).touch()
        meta = {"command": command, "started": time.time(), "folder": str(Path.cwd())}
        (folder / META).write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")
        ours, theirs = socket.socketpair()
        recorder = [sys.executable, "-m", "stepscope.live.recorder", str(folder), str(theirs.fileno()), "--", *command]
        with (folder / "recorder.log").open("ab") as errors:
            self._process = subprocess.Popen(
                recorder,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
                pass_fds=[theirs.fileno()],
                env=_traced(folder) if traces else None,
            )
        theirs.close()
        self._control: socket.socket | None = ours

    @property
    def recorder_pid(self) -> int:
        """The recorder's process; the command descends from it."""
        return self._process.pid

    def send_signal(self, number: int) -> None:
        """Send a signal to the command."""
        self._send(SIGNAL, bytes([number]))

    def send_size(self) -> None:
        """Send the size of the user's terminal."""
        try:
            columns, rows = os.get_terminal_size(sys.stdout.fileno())
        except (OSError, ValueError):
            columns, rows = 80, 24
        self._send(SIZE, struct.pack("HHHH", rows, columns, 0, 0))

    def _send(self, kind: bytes, data: bytes) -> None:
        if self._control is None:
            return
        try:
            self._control.sendall(pack(kind, data))
        except OSError:
            self._control = None

    def is_alive(self) -> bool:
        """Whether the command is still running."""
        return self._process.poll() is None and not (self.folder / EXIT).exists()

    def exit_code(self) -> int:
        """The command's exit code, or 128 + the signal that ended it; waits for the recorder."""
        self._process.wait()
        try:
            found = json.loads((self.folder / EXIT).read_text(encoding="utf-8"))
            return int(found["code"])
        except (OSError, ValueError, KeyError):
            return self._process.returncode if self._process.returncode >= 0 else 128 - self._process.returncode

    def pass_signals_on(self) -> None:
        """Pass Ctrl-C, SIGTERM, SIGQUIT and a new window size on to the command from now on."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
            signal.signal(number, lambda received, _: self.send_signal(received))
        signal.signal(signal.SIGWINCH, lambda *_: self.send_size())


def _traced(folder: Path) -> dict[str, str]:
    """The environment of a command whose Python process is traced."""
    inject = str(Path(__file__).parent / "inject")
    paths = [inject, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "STEPSCOPE_TRACE": str((folder / TRACE).resolve())}


def folder_for(base: Path, command: list[str], name: str | None, now: time.struct_time) -> Path:
    """A folder for the recording that does not exist yet."""
    if name is None:
        script = next((word for word in command if word.endswith(".py")), command[0])
        stem = re.sub(r"[^\w.-]+", "-", Path(script).stem) or "run"
        name = time.strftime("%Y%m%d-%H%M%S-", now) + stem
    folder = base / name
    number = 2
    while folder.exists():
        folder = base / f"{name}-{number}"
        number += 1
    return folder
