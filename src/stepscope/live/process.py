"""A process that Stepscope did not start: where its output goes, whether it lives, what its Python is doing.

Linux's /proc shows where the output goes; py-spy, where permitted, shows what runs. Unknowns are stated, not guessed.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from stepscope.core.errors import InputError

# Functions that show what a trainer is doing, by the beginning of their names; the innermost known one counts.
_KNOWN = {
    "torch.save": ("save", "torch/serialization"),
    "safetensors": ("save_file", "safetensors"),
    "evaluation": ("estimate_loss|evaluate|validate|validation|eval_", ""),
    "compile": ("compile_fx|_compile|call_user_compiler|codegen", "torch/_"),
    "data": ("get_batch|_next_data|_try_get_data|__next__", ""),
    "backward": ("backward", ""),
    "optimizer": ("step", "torch/optim"),
}
_SAMPLE_S = 5.0


class Frame(NamedTuple):
    """A line of Python that a process is in."""

    name: str
    file: str
    line: int


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


def place_of(frames: list[Frame]) -> str | None:
    """Where a process is, in a word or two: a known activity, else the innermost function of the user's own code."""
    import re

    for activity, (names, where) in _KNOWN.items():
        for frame in frames:
            if re.match(names, frame.name) and where in frame.file:
                return f"{activity} ({frame.name}, {Path(frame.file).name}:{frame.line})"
    own = next(
        (frame for frame in frames if "site-packages" not in frame.file and "/lib/python" not in frame.file), None
    )
    return f"{own.name}, {Path(own.file).name}:{own.line}" if own else None
