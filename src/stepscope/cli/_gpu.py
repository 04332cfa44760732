"""The GPU of this machine, from NVML or else the `nvidia-smi` command; nothing where there is neither."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

from stepscope.i18n import Language
from stepscope.live.gpu import read_gpu
from stepscope.plan.gpus import close_names, known_gpu
from stepscope.source.hardware import Hardware, busiest
from stepscope.source.nvidia_smi import parse_nvidia_smi

# A log written to within this time belongs to what the GPU does now; within a day, most likely to this GPU.
_LIVE_S, _RECENT_S = 300.0, 86_400.0
_PATIENCE_S = 10.0


def installed_hardware() -> Hardware | None:
    """The busiest GPU of this machine as it is now; None where there is none."""
    return read_gpu() or _ask_nvidia_smi()


def hardware_for(paths: list[str]) -> Hardware | None:
    """This machine's GPU for a log that it may have written; None for an old log or one from a pipe.

    What the GPU does now is returned only for a log that is being written now.
    """
    files = [Path(path) for path in paths if path != "-"]
    try:
        age_s = time.time() - max(file.stat().st_mtime for file in files)
    except (OSError, ValueError):
        return None
    if age_s > _RECENT_S:
        return None
    found = installed_hardware()
    if found is None or age_s <= _LIVE_S:
        return found
    return Hardware(gpu=found.gpu)


def warn_of_unknown(name: str | None, language: Language) -> None:
    """Say on stderr that a GPU that was named is not in the table; the rest of the answer is still valid."""
    if name is not None and known_gpu(name) is None:
        known = ", ".join(close_names(name)[:4])
        print(language.text("warning-unknown-card", name=name[:60], known=known), file=sys.stderr)


def _ask_nvidia_smi() -> Hardware | None:
    command = shutil.which("nvidia-smi")
    if command is None:
        return None
    try:
        # Nothing of standard input: an MCP server's requests come from there.
        table = subprocess.run(
            [command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE_S, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    readings = parse_nvidia_smi(table)
    return busiest(readings[-1]) if readings else None
