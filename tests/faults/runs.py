"""Recorded commands to be hurt: what they print is known to the byte, and so are their processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

# Bursts of lines, a bar that is drawn again and again, and a pause: a kill may come anywhere in it. It goes on until it
# is allowed to end, and then says how many bursts there were, past everything of ours.
COMMAND = """
import pathlib, sys, time
stop, count = map(pathlib.Path, sys.argv[1:])
bursts, last = 0, None
while bursts != last and bursts < 5000:
    for step in range(bursts * 20, bursts * 20 + 20):
        print(f"iter {step}: loss 3.0000, time 10.00ms, mfu 30.00%", flush=True)
    print("".join(f"bar {part}\\r" for part in range(5)), end="", flush=True)
    time.sleep(0.02)
    bursts += 1
    if last is None and stop.exists():
        last = bursts + 5
count.write_text(str(bursts))
sys.exit(3)
"""
CODE = 3


def printed(bursts: int) -> bytes:
    """What the command prints in so many bursts."""
    line = "iter {}: loss 3.0000, time 10.00ms, mfu 30.00%\n"
    bar = "".join(f"bar {part}\r" for part in range(5))
    return "".join(
        "".join(line.format(step) for step in range(burst * 20, burst * 20 + 20)) + bar for burst in range(bursts)
    ).encode()


def wait_for(condition: Callable[[], object], what: str, *, seconds: float = 120.0, pause: float = 0.01) -> object:
    """The first true value of `condition`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(pause)
    raise AssertionError(f"it never came: {what}")


def children(pid: int) -> list[int]:
    """The processes that a process started, by Linux's /proc."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def words_of(pid: int) -> list[str]:
    """The command line of a process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


class Recorded:
    """`stepscope run` with the command above or another one; its output goes to a file elsewhere."""

    def __init__(self, base: Path, name: str, *, runs: Path | None = None, command: str = COMMAND) -> None:
        self.folder = (runs or base) / name
        script, self.out, self.err = base / f"{name}.py", base / f"{name}.out", base / f"{name}.err"
        self._stop, self._count = base / f"{name}.stop", base / f"{name}.count"
        script.write_text(command)
        words = [sys.executable, str(script), str(self._stop), str(self._count)]
        run = [sys.executable, "-m", "stepscope", "run", "--dir", str(runs or base), "--name", name, "--", *words]
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(run, stdout=out, stderr=err)

    def finish(self) -> None:
        """Let the command end."""
        self._stop.touch()

    @property
    def wanted(self) -> bytes:
        """Everything that the command printed, by its own account; it must have ended."""
        count = wait_for(lambda: self._count.exists() and self._count.read_text(), "the end of the command")
        return printed(int(str(count)))

    @property
    def log(self) -> bytes:
        """The log so far."""
        path = self.folder / "log.txt"
        return path.read_bytes() if path.exists() else b""

    def wait_until_started(self) -> None:
        """Wait until the command has printed something."""
        wait_for(lambda: self.log.count(b"\n") >= 3, "the first lines")

    def pid(self, role: str) -> int:
        """The process of the `view`, the `supervisor`, the `recorder` or the `command`."""
        if role == "view":
            return self.process.pid
        return int(str(wait_for(lambda: self._find(role), role)))

    def _find(self, role: str) -> int | None:
        for pid in children(self.process.pid):
            if "stepscope.live.supervisor" in words_of(pid):
                if role == "supervisor":
                    return pid
                for child in children(pid):
                    # A recorder is forked from its supervisor.
                    if ("stepscope.live.supervisor" in words_of(child)) == (role == "recorder"):
                        return child
        return None

    def ending(self) -> dict[str, object]:
        """How the command ended, once that is recorded."""
        path = self.folder / "exit.json"
        wait_for(path.exists, f"{path}: {self.err.read_text()}")
        return dict(json.loads(path.read_text()))

    def code(self) -> int:
        """What `stepscope run` returned."""
        return self.process.wait(timeout=60)

    def check_whole(self) -> None:
        """Everything the command printed is in the log, once, and the recording can be read."""
        wanted = self.wanted
        assert self.log == wanted, (len(self.log), len(wanted))
        stamps = (self.folder / "stamps.tsv").read_bytes()
        ends = {index + 1 for index, byte in enumerate(wanted) if byte in b"\r\n"}
        assert {int(record.split(b"\t")[0]) for record in stamps.splitlines() if record} == ends
        assert not list(self.folder.glob("*.tmp"))
        assert not list(self.folder.glob(".*"))


def kill(pid: int) -> None:
    """As the system does it when memory runs out."""
    os.kill(pid, 9)
