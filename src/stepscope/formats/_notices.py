"""Lines that mean the same in every trainer's log: a traceback, out of memory, an interrupt, a scheduler's last words.

Only the forms in which these things *happen* are here. A config constant or an environment
line that merely names them must not match.
"""

from __future__ import annotations

import re
from typing import Literal

NoticeKind = Literal["traceback", "oom", "interrupted", "exception", "killed"]

TRACEBACK = re.compile(r"Traceback \(most recent call last\):")
EXCEPTION = re.compile(
    r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|Failure|Abort))(?::|$)"
)
_OOM = re.compile(
    r"(?:\w+\.)*OutOfMemoryError\b|RuntimeError: (?:CUDA|HIP|XPU|MPS)[^\n]{0,40}out of memory|CUDA error: out of memory"
    r"|MPS backend out of memory|^\s*oom-kill:|Out of memory: Killed process|Detected \d+ oom[-_]kill event"
)
_INTERRUPTED = re.compile(
    r"KeyboardInterrupt\b|^\^C|Signal \d+ \(SIG(?:TERM|INT|HUP)\) received|got signal: (?:15|2|1)\b|SignalException\b"
    r"|Received (?:SIGTERM|SIGINT|signal (?:15|2))\b|CANCELLED AT .{0,40}|DUE TO TIME LIMIT|DUE TO PREEMPTION"
)
_KILLED = re.compile(
    r"^(?:\S+: line \d+:\s+\d+ )?(?:Killed|Segmentation fault|Aborted|Bus error)\b(?! by)(?:.*core dumped.*)?"
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
