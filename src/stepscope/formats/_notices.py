"""Lines that mean the same in every trainer's log: a traceback, out of memory, an interrupt, a scheduler's last words.

Only the forms in which these things *happen* are here. A config constant or an environment
line that merely names them must not match.
"""

from __future__ import annotations

import re
from typing import Literal

NoticeKind = Literal["traceback", "oom", "interrupted", "exception", "killed"]

TRACEBACK = re.compile(r"Traceback \(most recent call last\):")
# The line that ends a traceback: a class name, perhaps with its module and a message.
EXCEPTION = re.compile(r"(?P<type>(?:[a-z_]\w*\.)*[A-Z]\w*)(?::\s|:?$)")
_OOM = re.compile(
    r"^(?:[\w.]+\.)?OutOfMemoryError\b|^RuntimeError: (?:CUDA|HIP|XPU|MPS)[^\n]{0,40}out of memory"
    r"|^(?:RuntimeError: )?CUDA error: out of memory|^(?:RuntimeError: )?MPS backend out of memory"
    r"|^oom-kill:|^(?:\[[^\]]*\] )?Out of memory: Killed process|^(?:slurmstepd|srun): .*(?:oom[-_]kill|Out Of Memory)"
)
_INTERRUPTED = re.compile(
    r"^KeyboardInterrupt\b|^\^C|^(?:traceback\s*:\s*)?Signal \d+ \(SIG(?:TERM|INT|HUP)\) received"
    r"|^(?:[\w.]+\.)?SignalException\b|^Received (?:SIGTERM|SIGINT|signal (?:15|2))\b|^Terminated\s*$"
    r"|^(?:slurmstepd|srun): .*(?:CANCELLED|TIME LIMIT|PREEMPTION|Terminated)"
    # The scheduler's last words stand wherever the trainer's line broke off.
    r"|slurmstepd: error: \*\*\* (?:JOB|STEP) "
)
_KILLED = re.compile(
    r"^(?:\S+: line \d+:\s+\d+ )?(?:Killed|Segmentation fault|Aborted|Bus error)\s*(?:\(core dumped\)|\S*)?$"
    r"|^Fatal Python error:|^terminate called after throwing|^(?:slurmstepd|srun): .*(?:Killed|Segmentation)"
)


def classify(text: str) -> NoticeKind | None:
    """What a line that belongs to no format says of the run's fate; None for nothing."""
    if TRACEBACK.search(text):
        return "traceback"
    if _OOM.search(text):
        return "oom"
    if _INTERRUPTED.search(text):
        return "interrupted"
    if _KILLED.match(text):
        return "killed"
    return None
