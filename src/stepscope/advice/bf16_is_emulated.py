"""A114: bfloat16 on a GPU that has none.

What it looks at
    The GPU (`--gpu`, `--nvidia-smi`) and `dtype`.

Why it costs time
    GPUs before Ampere (V100, T4, RTX 20) emulate bfloat16 at about a tenth of their float16 rate.

Example
    V100: 9.9 TFLOPS in bfloat16, 100 and more in float16 (public GEMM tables).

What to change
    `dtype = 'float16'` (nanoGPT then scales the loss by itself).
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation, paste, share_of
from stepscope.core.message import say

CODE = "A114"
# Share of the steps' time: matrix products are half to nearly all of it.
_GAIN = (0.3, 0.6, 0.85)


def advise(situation: Situation) -> Advice | None:
    """float16 where bfloat16 is emulated; None on other GPUs."""
    settings, gpu = situation.run.settings, situation.gpu
    is_bf16 = settings.text("dtype") in {"bfloat16", "bf16"} or settings.truth("bf16") is True
    if gpu is None or gpu.has_bf16 or not is_bf16:
        return None
    return Advice(
        code=CODE,
        setting="dtype",
        now="bfloat16",
        proposed="float16",
        saves=share_of(situation.steps_left_s, _GAIN),
        costs=say("advice-a114-costs"),
        evidence=say("advice-a114-evidence", gpu=gpu.name),
        phases=("step",),
        effect="learning",
        paste=paste(situation.run, ("dtype", "float16")),
        assumed=say("advice-a114-assumed"),
    )
