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
from stepscope.ledger.levels import Stretch, normal_level, slower_stretches
from stepscope.ledger.phases import NormalStep
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
    """One alarm, when the run ends on a stretch a quarter above the level before it."""
    run, ledger = evidence.run, evidence.ledger
    step = ledger.step
    if step is None or len(step.regimes) < 2:
        return []
    long_enough = [one for one in step.regimes[:-1] if _num_rows(step, one.first_row, one.last_row) >= _LEAST_ROWS]
    # Of a run that was fast for a short time only, that is no normal level; that it was faster is worth an alarm.
    fastest = min((one.typical_s for one in long_enough), default=None)
    for normal_s in (normal_level(ledger), fastest):
        if normal_s is None or not step.regimes[-1].typical_s > (1 + _WORTH_A_WORD) * normal_s > 0:
            continue
        for slow in slower_stretches(run, ledger, normal_s)[-1:]:
            is_lasting = slow.last_row == step.regimes[-1].last_row
            if is_lasting and _num_rows(step, slow.first_row, slow.last_row) >= _LEAST_ROWS:
                return [_alarm(evidence, slow)]
    return []


def _num_rows(step: NormalStep, first_row: int, last_row: int) -> int:
    return int(((step.rows >= first_row) & (step.rows <= last_row)).sum())


def _alarm(evidence: AlarmEvidence, slow: Stretch) -> Alarm:
    message = say(
        _key(evidence.hardware),
        step=slow.first_step,
        before=Seconds(slow.normal_s),
        after=Seconds(slow.level_s),
        share=Share(slow.level_s / slow.normal_s - 1),
    )
    line = int(evidence.run.steps.line[slow.first_row])
    return Alarm(code=CODE, severity="warning", step=slow.first_step, line=line, message=message)
