"""When a scheduler will end a job, by what it puts into the job's environment.

Some schedulers state the moment (Slurm, Cobalt), some only how long the job may run (PBS and Torque, OAR): then it is
counted from the start of the job's first process that we can see. LSF, Grid Engine and Kubernetes state neither.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from stepscope.core.boundary import open_file
from stepscope.source.recording import META, recorded_log

# Seconds since the epoch.
_ENDS = ("SLURM_JOB_END_TIME", "COBALT_ENDTIME")
# Seconds from the start of the job.
_LENGTHS = ("PBS_WALLTIME", "OAR_JOB_WALLTIME_SECONDS")
_EARLIEST_S, _LATEST_S = 1e9, 9.2e9
_MOST_ENVIRONMENT = 1 << 22
_MOST_META = 1 << 20
_MOST_ANCESTORS = 256


def job_end_s(environment: Mapping[str, str], pid: int | None = None) -> float | None:
    """When the job of a process ends, in seconds since the epoch; None where its environment does not say."""
    for name in _ENDS:
        moment = _number(environment.get(name))
        if moment is not None and _EARLIEST_S < moment < _LATEST_S:
            return moment
    for name in _LENGTHS:
        length = _number(environment.get(name))
        began = _job_start_s(pid or os.getpid()) if length else None
        if length is not None and length > 0 and began is not None:
            return began + length
    return None


def job_end_of(pid: int) -> float | None:
    """The same of another process; None also where we may not look into it."""
    try:
        with open_file(Path("/proc") / str(pid) / "environ") as file:
            entries = file.read(_MOST_ENVIRONMENT).split(b"\0")
    except OSError:
        return None
    pairs = (entry.decode(errors="replace").partition("=") for entry in entries)
    return job_end_s({name: value for name, _, value in pairs}, pid)


def recorded_job_end(path: Path) -> float | None:
    """The same of a recording; None where it was not made in a job."""
    log = recorded_log(path)
    if log is None:
        return None
    try:
        with open_file(log.parent / META) as file:
            moment = json.loads(file.read(_MOST_META)).get("job_end")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    is_number = isinstance(moment, (int, float)) and not isinstance(moment, bool)
    return float(moment) if is_number and _EARLIEST_S < moment < _LATEST_S else None


def _number(text: str | None) -> float | None:
    """Seconds, also as hours, minutes and seconds."""
    try:
        parts = [float(part) for part in (text or "").split(":")]
    except ValueError:
        return None
    seconds = sum(part * 60**place for place, part in enumerate(reversed(parts)))
    return seconds if len(parts) <= 3 and seconds >= 0 else None


def _job_start_s(pid: int) -> float | None:
    """When the first of a process's ancestors with its own user began: the shell that runs the job's script."""
    began = None
    try:
        user = Path(f"/proc/{pid}").stat().st_uid
        booted = next(
            float(line.split()[1]) for line in _text(Path("/proc/stat")).splitlines() if line.startswith("btime")
        )
        ticks = os.sysconf("SC_CLK_TCK")
        for _ in range(_MOST_ANCESTORS):
            folder = Path(f"/proc/{pid}")
            if pid <= 1 or folder.stat().st_uid != user:
                break
            fields = _text(folder / "stat").rpartition(")")[2].split()
            began, pid = booted + int(fields[19]) / ticks, int(fields[1])
    except (OSError, ValueError, IndexError, StopIteration):
        return began
    return began


def _text(path: Path) -> str:
    with open_file(path) as file:
        return file.read().decode(errors="replace")
