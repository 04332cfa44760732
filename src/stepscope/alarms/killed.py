"""killed: the process was ended by SIGKILL.

What it looks at
    The exit code of a recorded command: 128 + 9, from the command itself or from the shell around it.

Why it matters
    The process had no chance to save or to print anything. The steps after the last checkpoint have to be done again.

Example
    `stepscope run -- python train.py` returns 137: the kernel ended it because the machine was out of memory.

What to change
    `dmesg | grep -i oom` says whether the kernel did it; a scheduler does it at its memory and time limits.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import say
from stepscope.run.ending import find_ending, signal_name

CODE = "killed"


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm, when a kill ended the command and its log does not say so."""
    run, ending = evidence.run, find_ending(evidence.run)
    if ending is None or ending.value != "killed" or run.exit is None or run.exit.ended_by is None:
        return []
    if evidence.deaths("crash", "oom", "hang"):
        return []  # the log says it, and another alarm quotes it
    message = say("alarm-killed", name=signal_name(run.exit.ended_by), code=run.exit.code)
    return [Alarm(CODE, "error", ending.step, ending.line, message)]
