"""A process that Stepscope did not start: where its output goes, whether it lives, what its Python is doing.

Linux's /proc shows where the output goes; py-spy, where permitted, shows what runs. Unknowns are stated, not guessed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from stepscope.core.errors import InputError
from stepscope.integrations import Frame
from stepscope.source.recording import META

_SAMPLE_S = 5.0
_MOST_PROCESSES = 256


def output_of(pid: int) -> Path | None:
    """The file that a process prints to; None when that is a terminal, a pipe or nothing."""
    folder = Path("/proc") / str(pid)
    if not folder.is_dir():
        raise InputError("no-such-process", place=str(pid))
    for number in (1, 2):
        try:
            target = (folder / "fd" / str(number)).readlink()
            if stat.S_ISREG(target.stat().st_mode):
                return target
        except PermissionError:
            raise InputError("process-not-ours", place=str(pid)) from None
        except OSError:
            continue
    return None


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that ended and waits to be reaped does not."""
    try:
        status = (Path("/proc") / str(pid) / "stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in {"Z", "X"}


def training_process(pid: int) -> int:
    """Of a process and what it started, the one that has worked longest: a shell or a launcher only waits."""
    found: list[int] = []
    waiting = [pid]
    while waiting and len(found) < _MOST_PROCESSES:
        one = waiting.pop()
        found.append(one)
        waiting += _children(one)
    return _leader(max(found, key=_worked), set(found))


def _leader(pid: int, known: set[int]) -> int:
    """The process that forked or spawned this one as its helper: a loader's worker has its parent's command line."""
    while (parent := _parent(pid)) in known and parent is not None:
        own = _command(pid)
        if not own or (own != _command(parent) and b"multiprocessing" not in own):
            break
        pid = parent
    return pid


def _parent(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (OSError, ValueError):
        return []


def _worked(pid: int) -> int:
    """Ticks of processor time that a process has used."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    except (OSError, ValueError, IndexError):
        return -1


def has_writer(path: Path) -> bool | None:
    """Whether a process of ours has a file open for writing; None where that cannot be seen."""
    try:
        wanted = path.stat()
        pids = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    except OSError:
        return None
    for folder in pids:
        with contextlib.suppress(OSError):  # somebody else's, or gone meanwhile
            for number in (folder / "fd").iterdir():
                with contextlib.suppress(OSError):
                    own = number.stat()
                    if (own.st_dev, own.st_ino) == (wanted.st_dev, wanted.st_ino) and _is_for_writing(number):
                        return True
    return False


def _is_for_writing(number: Path) -> bool:
    lines = (number.parent.parent / "fdinfo" / number.name).read_text().splitlines()
    flags = next((int(line.split()[1], 8) for line in lines if line.startswith("flags:")), 0)
    return bool(flags & (os.O_WRONLY | os.O_RDWR))


def recorded_pid(folder: Path) -> int | None:
    """The process of a recorded command, while it runs; None where it has ended or is another machine's."""
    try:
        pid = int(json.loads((folder / META).read_bytes())["pid"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    own = recording_of(pid)
    return pid if own is not None and own.resolve() == folder.resolve() else None


def recording_of(pid: int) -> Path | None:
    """The folder of the recording that a process, or what started it, runs under."""
    for _ in range(_MOST_PROCESSES):
        folder = Path("/proc") / str(pid)
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"stepscope.live.supervisor" in words:
                place = os.fsdecode(words[words.index(b"stepscope.live.supervisor") + 1])
                return (folder / "cwd").readlink() / place
        except OSError:
            return None
        parent = _parent(pid)
        if parent is None or parent <= 1:
            return None
        pid = parent
    return None


def sample(pid: int) -> tuple[list[Frame], str | None]:
    """The main thread's stack, innermost first, or the reason it cannot be read."""
    command = shutil.which("py-spy", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if command is None:
        return [], "py-spy"
    try:
        answer = subprocess.run(
            [command, "dump", "--json", "--nonblocking", "--pid", str(pid)],
            capture_output=True,
            text=True,
            timeout=_SAMPLE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as problem:
        return [], str(problem)
    if answer.returncode:
        last = answer.stderr.strip().splitlines()[-1:]
        return [], last[0] if last else "py-spy"
    try:
        threads = json.loads(answer.stdout)
        main = next((thread for thread in threads if thread.get("thread_name") == "MainThread"), threads[0])
        frames = [Frame(str(f["name"]), str(f["filename"]), int(f["line"])) for f in main["frames"]]
    except (ValueError, LookupError, TypeError):
        return [], "py-spy"
    return frames, None
