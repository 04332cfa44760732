"""A106: evaluation runs in batches as small as training's.

What it looks at
    The memory in use and in all (`--nvidia-smi`), `batch_size`, `eval_iters`, and what evaluations cost.

Why it costs time
    Without gradients a batch needs a fraction of the memory, so two to four times the sequences fit at once; fewer,
    larger batches keep the card busier for the same number of sequences.

Example
    200 batches of 16 are 50 batches of 64: the same sequences, the same precision.

What to change
    In the evaluation, draw batches four times as large and a quarter as many. How much that saves depends on how busy
    the card is with the small ones: nothing where it is busy already, up to a third where it waits between kernels.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation
from stepscope.message import say

CODE = "A106"
_WORTH_IT = 0.02
_LARGER = 4
_GAIN = (0.0, 0.1, 0.3)
_FREE = 0.7


def advise(situation: Situation) -> Advice | None:
    """Larger evaluation batches; None where the card is full, unknown, or evaluations cost little."""
    run, hardware = situation.run, situation.hardware
    batches, size = run.settings.count("eval_iters"), run.settings.count("batch_size")
    if hardware is None or not hardware.memory_used or not hardware.memory_total or not batches or not size:
        return None
    total = situation.num_evaluations * situation.evaluation_s
    if hardware.memory_used / hardware.memory_total > _FREE or batches < _LARGER or not situation.horizon_s:
        return None
    if total / situation.horizon_s < _WORTH_IT:
        return None
    low, middle, high = (share * total for share in _GAIN)
    return Advice(
        code=CODE,
        setting="evaluation batch size",
        now=size,
        proposed=size * _LARGER,
        saves_s=middle,
        saves_low_s=low,
        saves_high_s=high,
        costs=say("advice-a106-costs", batches=batches // _LARGER, size=size * _LARGER),
        evidence=say("advice-a106-evidence", batches=batches, size=size),
    )
