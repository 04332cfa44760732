"""The exact records of `stepscope train`: `steps.jsonl` in the folder of a run, which says what every second went into.

A record is a line of JSON. Those of the kinds `ready` (before the first step of a process), `step` and `end` have
`phases`, seconds by name, which add up to all the time of the process.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.core.boundary import is_readable, open_file

STEPS = "steps.jsonl"
# Other files of the folder that stand for the same run: its log has what was printed, the ledger the sums.
_SAME_RUN = frozenset({"train.log", "ledger.json"})
_HEAD = b'{"kind": "start", "schema": "stepscope.steps/1"'
# What a report calls the phases of the trainer, in the order of the columns of `Records.seconds`.
PHASES = ("step", "evaluation", "checkpoint", "warmup", "data", "gc", "logging", "unlogged")
_COLUMN = {
    **dict.fromkeys(("forward", "backward", "optimizer", "device"), 0),
    **dict.fromkeys(("evaluation_train", "evaluation_val"), 1),
    **dict.fromkeys(("checkpoint_staging", "checkpoint_waiting"), 2),
    **dict.fromkeys(("startup", "compile"), 3),
    "data": 4,
    "gc": 5,
    "logging": 6,
}
_OTHER = 7
# As many records as a run of ten million steps has.
_MOST_BYTES = 1 << 32

Floats = npt.NDArray[np.float64]


class Records(NamedTuple):
    """What the records say up to some line.

    seconds
        One row per step record, one column per phase of `PHASES`
    lines
        The line of each of these
    outside
        Seconds by phase before the first step and after the last, of all processes together
    gaps
        Seconds from the last record of a process to the start of the next
    took
        Seconds of each evaluation, checkpoint and collection, by kind
    num_processes
        Processes that wrote the file, one after the other
    """

    seconds: Floats
    lines: npt.NDArray[np.int64]
    outside: Floats
    gaps: tuple[float, ...]
    took: dict[str, list[float]]
    num_processes: int


def trainer_records(path: Path) -> Path | None:
    """The records of the run that a folder, or a file in it, belongs to; None where there are none."""
    folder = path if path.is_dir() else path.parent
    records = folder / STEPS
    if path not in {folder, records} and path.name not in _SAME_RUN:
        return None
    try:
        if not records.is_file() or not is_readable(records):
            return None
        with open_file(records) as file:
            return records if file.read(len(_HEAD)) == _HEAD else None
    except OSError:
        return None


def read_records(path: Path, upto_line: int) -> Records | None:
    """The records of a run up to a line of the file; None where the file is not of `stepscope train`."""
    if path.name != STEPS or trainer_records(path) is None:
        return None
    rows: list[list[float]] = []
    lines: list[int] = []
    gaps: list[float] = []
    took: dict[str, list[float]] = {"evaluation": [], "checkpoint": [], "gc": []}
    outside, last_moment, num_processes = np.zeros(len(PHASES)), 0.0, 0
    with open_file(path) as file:
        for number, line in enumerate(file.read(_MOST_BYTES).split(b"\n")[:upto_line], 1):
            try:
                record = json.loads(line)
                kind, moment = record["kind"], float(record.get("time") or record.get("wall_clock") or 0.0)
                if kind == "start":
                    if num_processes:
                        gaps.append(max(0.0, moment - last_moment))
                    num_processes += 1
                if "phases" in record:
                    row = _columns(record["phases"])
                    if kind == "step":
                        rows.append(row)
                        lines.append(number)
                    else:
                        outside += row
                elif kind in took:
                    took[kind].append(float(record["took_s"]))
                last_moment = moment or last_moment
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # torn by a kill
    seconds = np.array(rows, dtype=np.float64).reshape(-1, len(PHASES))
    return Records(seconds, np.array(lines, dtype=np.int64), outside, tuple(gaps), took, num_processes)


def _columns(phases: dict[str, float]) -> list[float]:
    row = [0.0] * len(PHASES)
    for name, seconds in phases.items():
        row[_COLUMN.get(name, _OTHER)] += max(0.0, float(seconds))
    return row
