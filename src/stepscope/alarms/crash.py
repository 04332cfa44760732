"""crash: the log holds a traceback or a fatal signal.

What it looks at
    Python tracebacks, an exception's line that ends the log without one, and a shell's, launcher's or scheduler's word
    that the process was killed. An interrupt, out of memory and a collective that timed out are alarms of their own;
    an exception that Python says it ignored is none.

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
from stepscope.run.model import Notice, Run

CODE = "crash"
_INTERRUPTS = {"KeyboardInterrupt", "SignalException", "ChildFailedError"}
_OTHER_ALARMS = {"interrupted", "oom", "hang"}


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm for the first crash that no other alarm explains."""
    crash = _first_crash(evidence.run)
    if crash is None:
        return []
    return [
        Alarm(
            code=CODE,
            severity="warning" if _is_after_last_step(evidence.run, crash) else "error",
            step=evidence.step_before(crash.row),
            line=crash.line,
            message=say("alarm-crash", text=crash.text),
        )
    ]


def _first_crash(run: Run) -> Notice | None:
    """The notice that says best what went wrong: an exception or a kill, else an error, else a bare traceback."""
    causes = [
        notice
        for notice in run.notices
        if notice.kind in {"exception", "killed"} and notice.type_name not in _INTERRUPTS
    ]
    if causes:
        return causes[0]
    if any(notice.kind in _OTHER_ALARMS for notice in run.notices):
        return None
    last_errors = [notice for notice in run.last_words if notice.kind == "error"]
    if last_errors:
        return last_errors[0]
    traceback = next((notice for notice in run.notices if notice.kind == "traceback"), None)
    if traceback is None:
        return None
    # Some loggers print values inside a traceback; its exception is then far from its first line.
    later_errors = (notice for notice in run.notices if notice.kind == "error" and notice.line > traceback.line)
    return next(later_errors, traceback)


def _is_after_last_step(run: Run, crash: Notice) -> bool:
    """Whether the run had done all its steps: then nothing is lost."""
    total = run.settings.count("max_steps")
    return crash.row == len(run) > 0 and total is not None and int(run.steps.step[-1]) >= total
