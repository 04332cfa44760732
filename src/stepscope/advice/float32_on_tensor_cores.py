"""A121: float32 on a GPU that is many times faster in bfloat16.

What it looks at
    The GPU (`--gpu`, `--nvidia-smi`, NVML) and `dtype`.

Why it costs time
    Tensor cores multiply 16-bit numbers at many times the rate of 32-bit ones, and half the bytes are moved.

Example
    GPT-2 on an A100: 1,000 ms per step in float32, 333 with TF32, 300 with bfloat16, before compiling.

What to change
    `dtype = 'bfloat16'` (mixed precision: the weights stay in float32); at the least
    `torch.set_float32_matmul_precision('high')`, which is TF32.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation, paste, share_of
from stepscope.core.message import say

CODE = "A121"
# Share of the steps' time: little where TF32 is on already, most of it where it is not.
_GAIN = (0.1, 0.4, 0.7)


def advise(situation: Situation) -> Advice | None:
    """bfloat16 where the GPU has it; None where another type is set or none is known."""
    run, gpu = situation.run, situation.gpu
    if gpu is None or not gpu.has_bf16 or run.settings.text("dtype") not in {"float32", "fp32"}:
        return None
    return Advice(
        code=CODE,
        setting="dtype",
        now="float32",
        proposed="bfloat16",
        saves=share_of(situation.steps_left_s, _GAIN),
        costs=say("advice-a121-costs"),
        evidence=say("advice-a121-evidence", gpu=gpu.name),
        phases=("step",),
        effect="learning",
        # The syntax that a trainer has for float16 is not the one for bfloat16.
        paste=paste(run, ("dtype", "bfloat16")) if run.format.controls.own_name("dtype") else None,
        assumed=say("advice-a121-assumed"),
    )
