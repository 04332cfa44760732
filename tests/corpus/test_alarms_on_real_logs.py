"""Every real log replayed at speed through the watcher: no stall, slowdown or crash alarm that the log does not bear
out, and those that it does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stepscope.alarms._base import Alarm
from stepscope.analysis.report import Report
from stepscope.core.errors import InputError
from stepscope.run.model import Run
from tests.corpus.conftest import SHARED
from tests.corpus.reports import report_of
from tests.live.replayed import Seen, replay

LOGS = SHARED / "logs"
TRUTH = sorted((SHARED / "truth").glob("*.log")) if SHARED.is_dir() else []
FILES = sorted(path for path in LOGS.glob("*/*") if path.parent.name != "nvidia-smi") if LOGS.is_dir() else []
DEATHS = {"crash", "interrupted", "oom", "hang", "killed"}
ENDINGS = {"ended_early", *DEATHS}
# Told while the log goes on, beside the endings that each log's own report names.
MUST_BE_TOLD = {
    "frcnn-lr0.04-30k.txt": "stall",
    "slowdown.log": "slowdown",
    "zerodiv.log": "crash",
    "nanogpt-cuda-oom.log": "oom",
    "accelerate-crash-at-start.log": "crash",
    "torchtitan-orchestrator-oom.log": "oom",
}


def stall_is_borne_out(report: Report, row: int) -> bool:
    """In hindsight: the next step began another launch, or nothing in the whole log explains most of its time."""
    if row in report.run.steps.first_rows:
        return True
    for slow in report.ledger.slow:
        if slow.row == row:
            lost = sum(part.seconds for part in slow.parts if part.phase in {"stall", "gap"})
            return 2 * lost > sum(part.seconds for part in slow.parts)
    return False


def slowdown_is_borne_out(run: Run, alarm: Alarm, row: int) -> bool:
    """The steps since then, up to the moment of the alarm, really are slower than as many before them or any others."""
    seconds = run.steps.dur_ns[:row]
    since = int(np.flatnonzero(run.steps.line[:row] >= alarm.line)[0])
    fastest = min(np.median(part) for part in np.array_split(seconds[:since], max(1, since // 15)))
    return bool(np.median(seconds[since:]) > 1.2 * fastest)


def falsely_told(seen: list[Seen], report: Report) -> list[tuple[int, str]]:
    final = {alarm.code for alarm in report.alarms}
    found = []
    for at in seen:
        for alarm in at.view.fresh:
            if alarm.code == "stall" and alarm.line is None:
                is_right = stall_is_borne_out(report, at.row)
            elif alarm.code == "stall":
                is_right = alarm.code in final
            elif alarm.code == "slowdown":
                is_right = slowdown_is_borne_out(report.run, alarm, at.row)
            elif alarm.code in ENDINGS:
                is_right = alarm.code in final or at.row in report.run.steps.first_rows
            else:
                continue
            if not is_right:
                found.append((at.row, alarm.code))
    return found


@pytest.mark.parametrize("path", [*FILES, *TRUTH], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_alarm_is_told_when_it_is_true_and_never_else(path: Path) -> None:
    try:
        report = report_of(path)
    except InputError:
        return  # no training log: nothing to watch
    run = report.run
    seen = replay(path.read_bytes(), run, longest=4, evenly=3)
    assert falsely_told(seen, report) == []
    told = {alarm.code for at in seen for alarm in at.view.fresh}
    endings = {alarm.code for alarm in report.alarms} & ENDINGS
    assert (endings & DEATHS or endings) <= told  # one death is one alarm
    assert path.name not in MUST_BE_TOLD or MUST_BE_TOLD[path.name] in told
    # Nothing leaves the watch while its last launch is still printing steps.
    last = int(report.run.steps.first_rows[-1]) if len(run) else 0
    assert not any(at.end for at in seen if last < at.row < len(run))
