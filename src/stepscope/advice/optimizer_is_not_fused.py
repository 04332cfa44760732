"""A117: the optimizer runs as many small kernels.

What it looks at
    What the trainer says at its start: nanoGPT prints "using fused AdamW: False" on anything but a CUDA GPU; Hugging
    Face's arguments show `optim=adamw_torch`.

Why it costs time
    A fused AdamW reads and writes each weight and its moments once; otherwise they pass through memory several times,
    and each tensor costs several launches.

Example
    GPT-2 on an A100: 93 ms per step, 90 with the fused optimizer. On a processor the optimizer itself took a third.

What to change
    `torch.optim.AdamW(..., fused=True)`: CUDA since PyTorch 2.0, processors since 2.4. Hugging Face:
    `optim="adamw_torch_fused"`.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation, paste, share_of
from stepscope.core.message import say

CODE = "A117"
# Share of the steps' time: measured 0 to 8 % on a processor, 3 % for GPT-2 on an A100; more where steps are short.
_GAIN = (0.0, 0.03, 0.08)


def advise(situation: Situation) -> Advice | None:
    """A fused optimizer; None where it is one, or the log does not say."""
    settings = situation.run.settings
    if settings.truth("fused_optimizer") is not False and settings.text("optim") != "adamw_torch":
        return None
    return Advice(
        code=CODE,
        setting="optimizer",
        now="AdamW",
        proposed="fused AdamW",
        saves=share_of(situation.steps_left_s, _GAIN),
        costs=say("advice-a117-costs"),
        evidence=say("advice-a117-evidence"),
        phases=("step",),
        effect="rounding",
        paste=paste(situation.run, ("optimizer", "fused")) or "torch.optim.AdamW(..., fused=True)",
        assumed=say("advice-a117-assumed"),
        change=say("advice-a117-change"),
    )
