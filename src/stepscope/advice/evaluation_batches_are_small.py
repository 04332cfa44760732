"""A106: evaluation runs in batches as small as training's.

What it looks at
    The memory in use and in all (`--nvidia-smi`), `batch_size`, `eval_iters`, and what evaluations cost.

Why it costs time
    Without gradients a batch needs a fraction of the memory, so two to four times the sequences fit at once; fewer,
    larger batches keep the GPU busier for the same number of sequences.

Example
    200 batches of 16 are 50 batches of 64: the same sequences, the same precision.

What to change
    In the evaluation, draw batches four times as large and a quarter as many. How much that saves depends on how busy
    the GPU is with the small ones: nothing where it is busy already, up to a third where it waits between kernels.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation, paste, same_precision, share_of
from stepscope.core.message import say

CODE = "A106"
_WORTH_IT = 0.02
_LARGER = 4
# Share of the evaluations' time. Measured on a processor, batches twice to ten times as large took 0.84 to 1.12 of the
# time: a busy device gains nothing, one that waits between kernels up to a third.
_GAIN = (0.0, 0.05, 0.3)
_FREE = 0.7


def advise(situation: Situation) -> Advice | None:
    """Larger evaluation batches; None where the GPU is full, unknown, or evaluations cost little."""
    run, hardware = situation.run, situation.hardware
    total = situation.worth("evaluation", _WORTH_IT)
    size = run.settings.count("evaluation_batch_size") or run.settings.count("batch_size")
    if total is None or not size or hardware is None or not hardware.memory_used or not hardware.memory_total:
        return None
    batches = run.settings.count("eval_iters")
    if hardware.memory_used / hardware.memory_total > _FREE or (batches is not None and batches < _LARGER):
        return None
    larger = size * _LARGER
    if batches is not None:
        costs = say("advice-a106-costs", batches=batches // _LARGER, size=larger)
        evidence = say("advice-a106-evidence", batches=batches, size=size)
    else:
        costs, evidence = say("advice-a106-costs-plain", size=larger), say("advice-a106-evidence-plain", size=size)
    return Advice(
        code=CODE,
        setting="evaluation_batch_size",
        now=size,
        proposed=larger,
        saves=share_of(total, _GAIN),
        costs=costs,
        evidence=evidence,
        phases=("evaluation",),
        effect=situation.evaluation_effect,
        paste=paste(run, ("evaluation_batch_size", larger)),
        precision=same_precision(situation),
        assumed=say("advice-a106-assumed"),
        change=say("advice-a106-change", now=size, proposed=larger),
    )
