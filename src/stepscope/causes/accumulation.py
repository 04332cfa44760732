"""C25: gradient accumulation is set higher than the GPU needs.

What it looks at
    The accumulation and batch size of a small model on one GPU, and how much of the GPU's memory is used.

Why it costs time
    Every step runs `gradient_accumulation_steps` micro-steps one after the other. Copied from a recipe for eight GPUs,
    that makes each step many times longer while the GPU is half empty.

Example
    A 10-million-parameter model with 40 micro-steps of 12 sequences: 1.6 s per step instead of 40 ms.

What to change
    Raise `batch_size` and lower `gradient_accumulation_steps` by the same factor; the optimizer sees the same batch.
"""

from __future__ import annotations

from stepscope.causes._evidence import Evidence
from stepscope.core.message import Share, say
from stepscope.ledger.phases import Finding

CODE = "C25"
PLACE = 200
_LEAST_ACCUMULATION = 8
_SMALL_MODEL = 30_000_000
_HALF_EMPTY = 0.6


def explain_run(evidence: Evidence) -> Finding | None:
    """Many micro-steps although memory is free, or although the model is small."""
    settings = evidence.run.settings
    accumulation, batch = settings.count("gradient_accumulation_steps"), settings.count("batch_size")
    stated = settings.get("gradient_accumulation_steps")
    if accumulation is None or accumulation < _LEAST_ACCUMULATION or stated is None or stated.origin == "default":
        return None
    if (settings.count("world_size") or 1) > 1:
        return None
    hardware = evidence.hardware
    if hardware is not None and hardware.memory_used and hardware.memory_total:
        used = hardware.memory_used / hardware.memory_total
        if used > _HALF_EMPTY:
            return None
        message = say("cause-c25-memory", count=accumulation, batch=batch or 0, share=Share(used))
        return Finding(CODE, "accumulation", None, 0.6, 0.0, message)
    parameters = settings.number("parameters")
    if parameters is None or parameters > _SMALL_MODEL:
        return None
    message = say("cause-c25-small", count=accumulation, batch=batch or 0, parameters=int(parameters))
    return Finding(CODE, "accumulation", None, 0.5, 0.0, message)
