"""skipped_steps: the optimizer skips its steps, and nothing is learned.

What it looks at
    The number of skipped steps that DeepSpeed and Megatron print, and lines that say that a step was skipped because
    its gradients overflowed. A few at the start are normal: the loss scale of float16 is looked for that way.

Why it matters
    A skipped step costs as much as any other and changes no weight.

Example
    `step=2000, skipped=2000`

What to change
    Train in bfloat16, or look for the first NaN: data, learning rate, a loss scale that only ever falls.
"""

from __future__ import annotations

from typing import NamedTuple

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import Share, say
from stepscope.lines.skipped import is_overflow, parse_skipped
from stepscope.run.model import Run

CODE = "skipped_steps"
# Fewer are what a loss scale needs to settle.
_LEAST = 20
_MOST_SHARE = 0.5
# A stretch up to the last line is an alarm when it is this share of the run.
_STRETCH_SHARE = 0.1


class _Count(NamedTuple):
    num: int
    out_of: int
    step: int | None
    line: int


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm, when most steps are skipped, or all of the last ones."""
    run = evidence.run
    counts = [count for count in (_printed(run), *_unread(run)) if count is not None]
    bad = [count for count in counts if count.num >= _LEAST and count.num >= _MOST_SHARE * count.out_of]
    if bad:
        worst = max(bad, key=lambda count: count.num)
        share = Share(min(1.0, worst.num / max(1, worst.out_of)))
        message = say("alarm-skipped-steps", count=worst.num, total=worst.out_of, share=share)
        return [Alarm(code=CODE, severity="error", step=worst.step, line=worst.line, message=message)]
    return _lasting(run)


def _steps_done(run: Run) -> int:
    """How many steps the log shows."""
    steps = run.steps.step
    if not len(steps):
        return 0
    first, last = int(steps.min()), int(steps.max())
    spacing = run.settings.count("log_interval") or 1
    return last if first <= spacing else last - first + 1


def _printed(run: Run) -> _Count | None:
    if run.skips is None:
        return None
    return _Count(run.skips.num, _steps_done(run), run.skips.step, run.skips.line)


def _unread(run: Run) -> list[_Count]:
    """What lines say that the format does not read: an engine's own counter, or one line per skipped step."""
    found = []
    for family in run.unread:
        counter = parse_skipped(family.last)
        if counter is not None and counter.step is not None:
            found.append(_Count(counter.num, counter.step, None, family.first_line))
        elif is_overflow(family.last) and len(run):
            found.append(_Count(family.num, _steps_done(run), None, family.first_line))
    return found


def _lasting(run: Run) -> list[Alarm]:
    skips = run.skips
    if skips is None or skips.since is None or not len(run):
        return []
    last = int(run.steps.step[-1])
    if last - skips.since < max(_LEAST, _STRETCH_SHARE * _steps_done(run)):
        return []
    message = say("alarm-skipped-since", step=skips.since, last=last)
    return [Alarm(code=CODE, severity="error", step=skips.since, line=skips.line, message=message)]
