"""A116: attention runs as separate matrix products.

What it looks at
    The trainer's own words at its start: nanoGPT prints "WARNING: using slow attention" where torch has no fused one.

Why it costs time
    The matrix of all pairs of tokens is written to memory and read back several times in each layer.

Example
    nanoGPT's character model on an A100: 250 to 350 ms per step without fused attention and compile, 36 ms with both.

What to change
    PyTorch 2.0 or newer, whose `scaled_dot_product_attention` nanoGPT uses by itself.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation, paste, share_of
from stepscope.core.message import say

CODE = "A116"
# Share of the steps' time: less for short contexts and wide models, more for long ones. GPT-2 on an A100 went from 130
# to 96 ms per step, a quarter.
_GAIN = (0.1, 0.25, 0.6)


def advise(situation: Situation) -> Advice | None:
    """Fused attention; None where nothing says that it is missing."""
    run = situation.run
    if run.settings.truth("slow_attention") is not True and run.settings.text("attn_implementation") != "eager":
        return None
    return Advice(
        code=CODE,
        setting="attention",
        now="separate",
        proposed="fused",
        saves=share_of(situation.steps_left_s, _GAIN),
        costs=say("advice-a116-costs"),
        evidence=say("advice-a116-evidence"),
        phases=("step",),
        effect="rounding",
        paste=paste(run, ("attention", "fused")) or "pip install 'torch>=2.0'",
        assumed=say("advice-a116-assumed"),
        change=say("advice-a116-change"),
    )
