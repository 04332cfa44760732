"""slowdown: steps have become slower and stayed so.

What it looks at
    The levels of the run: stretches of steps whose time differs by more than 3 %. Where the GPU is seen too (live, or
    with --nvidia-smi), what holds it back now: heat, its power limit, another process, memory that is full.

Why it matters
    Every step left costs the difference.

Example
    170 ms up to step 4,000, 230 ms since.

What to change
    The log alone cannot distinguish a hot GPU from a neighbour or a slow loader. `nvidia-smi -q -d PERFORMANCE,CLOCK`
    while it lasts shows the first; `nvidia-smi` and `top` the second.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import Seconds, Share, say
from stepscope.source.hardware import Hardware

CODE = "slowdown"
_WORTH_A_WORD = 0.25
_LEAST_ROWS = 15

# Full enough that a driver which can move memory to the host (Windows, WSL) does so.
_FULL = 0.97
_PINNED = 0.97


def _key(gpu: Hardware | None) -> str:
    """The sentence with the reason that the GPU's figures show, else without one."""
    if gpu is None:
        return "alarm-slowdown"
    throttle = gpu.throttle or ()
    if "thermal" in throttle or "hw_slowdown" in throttle:
        return "alarm-slowdown-thermal"
    if gpu.others:
        return "alarm-slowdown-neighbour"
    if gpu.memory_used and gpu.memory_total and gpu.memory_used >= _FULL * gpu.memory_total:
        return "alarm-slowdown-memory"
    is_pinned = gpu.power is not None and gpu.power_limit and gpu.power >= _PINNED * gpu.power_limit
    if is_pinned or "power_cap" in throttle or "power_brake" in throttle:
        return "alarm-slowdown-power"
    return "alarm-slowdown"


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm, when the last level is a quarter above the fastest one before it."""
    step = evidence.ledger.step
    if step is None or len(step.regimes) < 2:
        return []
    last = step.regimes[-1]
    long_enough = [
        regime
        for regime in step.regimes
        if ((step.rows >= regime.first_row) & (step.rows <= regime.last_row)).sum() >= _LEAST_ROWS
    ]
    if last not in long_enough or len(long_enough) < 2:
        return []
    fastest = min(long_enough[:-1], key=lambda regime: regime.typical_s)
    ratio = last.typical_s / fastest.typical_s - 1
    if ratio < _WORTH_A_WORD:
        return []
    message = say(
        _key(evidence.hardware),
        step=last.first_step,
        before=Seconds(fastest.typical_s),
        after=Seconds(last.typical_s),
        share=Share(ratio),
    )
    line = int(evidence.run.steps.line[last.first_row])
    return [Alarm(code=CODE, severity="warning", step=last.first_step, line=line, message=message)]
