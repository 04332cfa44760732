"""near_oom: the GPU's memory is nearly full.

What it looks at
    The memory that `nvidia-smi` or NVML says is used, against what the GPU has; lines that say that PyTorch's
    allocator had to give back its cache or to ask again; and warnings that say that memory ran out and that the
    program went on without.

Why it matters
    A longer sequence, an evaluation with larger batches or a fragmented allocator needs a little more, and the run ends
    in the middle. PyTorch keeps what it has freed, so nearly full is no proof; TensorFlow and JAX take most of the GPU
    at the start on purpose.

Example
    11.8 of 12.0 GiB used.

What to change
    A smaller `batch_size` with `gradient_accumulation_steps` raised by the same factor; for PyTorch
    `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` against fragments.
"""

from __future__ import annotations

import re

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import Decimal, say
from stepscope.core.redact import redact
from stepscope.run.model import Run

CODE = "near_oom"
# On a GPU with 12 GiB that leaves 370 MiB: less than one more attention matrix.
_NEARLY_FULL = 0.97
_GIB = 1 << 30


_PRESSURE = re.compile(r"allocator cache flushes|memory allocation retries")
_LEAST_LINES = 3
# A logger's warning that memory ran out, not that it may.
_CAUGHT = re.compile(
    r"\bWARN(?:ING)?\b.{0,80}(?:\bOutOfMemoryError\b|\b(?:ran|CUDA|HIP|GPU) out of memory\b|\brecover from OOM\b)"
)
_ADVICE = re.compile(r"(?i)\b(?:may|might|could|can|if|avoid|prevent|case)\b")


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm while the GPU's memory is nearly full, one where the log says that it was."""
    return [*_by_figures(evidence), *_by_words(evidence.run), *_by_warning(evidence)]


def _by_warning(evidence: AlarmEvidence) -> list[Alarm]:
    if evidence.deaths("oom"):
        return []
    for family in evidence.run.unread:
        if _CAUGHT.search(family.first) and not _ADVICE.search(family.first):
            message = say("alarm-memory-ran-out", text=redact(family.first))
            return [Alarm(code=CODE, severity="warning", step=None, line=family.first_line, message=message)]
    return []


def _by_words(run: Run) -> list[Alarm]:
    found = [family for family in run.unread if family.num >= _LEAST_LINES and _PRESSURE.search(family.last)]
    if not found:
        return []
    worst = max(found, key=lambda family: family.num)
    message = say("alarm-memory-pressure", count=worst.num, text=redact(worst.first))
    return [Alarm(code=CODE, severity="warning", step=None, line=worst.first_line, message=message)]


def _by_figures(evidence: AlarmEvidence) -> list[Alarm]:
    gpu = evidence.hardware
    if gpu is None or not gpu.memory_used or not gpu.memory_total:
        return []
    if gpu.memory_used < _NEARLY_FULL * gpu.memory_total or evidence.run.last_words:
        return []
    message = say(
        "alarm-near-oom",
        used=Decimal(gpu.memory_used / _GIB, 1),
        total=Decimal(gpu.memory_total / _GIB, 1),
    )
    return [Alarm(code=CODE, severity="warning", step=None, line=None, message=message)]
