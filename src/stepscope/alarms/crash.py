"""crash: the log holds a traceback or a fatal signal.

What it looks at
    Python tracebacks, an exception's line that ends the log without one, a shell's, launcher's or scheduler's word that
    the process was killed, and the exit code of a recorded command, also before its first step. An interrupt, a kill,
    out of memory and a collective that timed out are alarms of their own; an exception that Python says it ignored is
    none.

Why it matters
    Steps after the last checkpoint have to be done again.

Example
    `ZeroDivisionError: division by zero`

What to change
    The exception says; `Traceback` and the line number lead to it.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import say
from stepscope.run.deaths import Death, final_death
from stepscope.run.ending import find_ending, signal_name

CODE = "crash"


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm for the first crash that no other alarm explains."""
    crashes, ended = evidence.deaths(CODE), evidence.run.exit
    if not crashes:
        return _by_exit(evidence)
    cause = crashes[0].cause
    message = say("alarm-crash", text=cause.text)
    if ended is not None and ended.code and crashes[0].row == len(evidence.run):
        message = say("alarm-crash-code", text=cause.text, code=ended.code)
    return [
        Alarm(
            code=CODE,
            severity="warning" if _is_after_last_step(evidence, crashes[0]) else "error",
            step=evidence.step_before(cause.row),
            line=cause.line,
            message=message,
        )
    ]


def _by_exit(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm for a recorded command that returned an error or died of a signal of its own, without a word."""
    run, ending = evidence.run, find_ending(evidence.run)
    if ending is None or ending.value != "crashed" or run.exit is None or final_death(run) is not None:
        return []
    number = run.exit.ended_by
    if number is not None:
        message = say("alarm-signal", name=signal_name(number), code=run.exit.code)
    else:
        message = say("alarm-exit-code", code=run.exit.code)
    return [Alarm(CODE, "error", ending.step, ending.line, message)]


def _is_after_last_step(evidence: AlarmEvidence, crash: Death) -> bool:
    """Whether the run had done all its steps: then nothing is lost."""
    ending = find_ending(evidence.run)
    return crash.row == len(evidence.run) > 0 and ending is not None and ending.value == "finished"
