"""A113: the GPU's memory is half empty while it runs many small micro-batches.

What it looks at
    The memory in use and in all (`--nvidia-smi`), `batch_size` and `gradient_accumulation_steps`.

Why it costs time
    Each micro-batch launches the same kernels; larger ones fill the GPU better. The gain is a few per cent where the
    GPU is already busy, and large where it waits for launches.

Example
    6.5 of 12 GB at `batch_size = 16`, `gradient_accumulation_steps = 4`: 32 and 2 are the same tokens per step.

What to change
    Double `batch_size` and halve `gradient_accumulation_steps`: the gradient is the same sum, but for its rounding.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation, paste, share_of
from stepscope.core.message import Share, say

CODE = "A113"
# Activations and logits are most of the memory: twice the batch is less than twice of it, but not by much.
_FREE = 0.55
# Share of the steps' time that is saved: nothing on a busy GPU, a tenth on one that waits now and then. The middle is
# what the pauses between kernels come to in the formula of `stepscope plan`.
_GAIN = (0.0, 0.006, 0.10)


def advise(situation: Situation) -> Advice | None:
    """Larger micro-batches; None where memory, batch or accumulation is unknown or leaves no room."""
    run, hardware = situation.run, situation.hardware
    batch, accumulation = run.settings.count("batch_size"), run.settings.count("gradient_accumulation_steps")
    if hardware is None or not hardware.memory_used or not hardware.memory_total or not batch or not accumulation:
        return None
    used = hardware.memory_used / hardware.memory_total
    if used > _FREE or accumulation % 2 or run.settings["batch_size"].origin == "default":
        return None
    return Advice(
        code=CODE,
        setting="batch_size",
        now=batch,
        proposed=2 * batch,
        saves=share_of(situation.steps_left_s, _GAIN),
        costs=say("advice-a113-costs", batch=2 * batch, accumulation=accumulation // 2),
        evidence=say("advice-a113-evidence", share=Share(used)),
        phases=("step",),
        effect="rounding",
        paste=paste(run, ("batch_size", 2 * batch), ("gradient_accumulation_steps", accumulation // 2)),
        assumed=say("advice-a113-assumed"),
    )
