"""A116: attention runs as separate matrix products.

What it looks at
    The trainer's own words at its start: nanoGPT prints "WARNING: using slow attention" where torch has no fused one.

Why it costs time
    The matrix of all pairs of tokens is written to memory and read back several times in each layer.

Example
    nanoGPT's character model on an A100: 250 to 350 ms a step without fused attention and compile, 36 ms with both.

What to change
    PyTorch 2.0 or newer, whose `scaled_dot_product_attention` nanoGPT uses by itself.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation
from stepscope.message import say

CODE = "A116"
# Share of the steps' time: less for short contexts and wide models, more for long ones.
_GAIN = (0.1, 0.25, 0.6)


def advise(situation: Situation) -> Advice | None:
    """Fused attention; None where nothing says that it is missing."""
    if situation.run.settings.truth("slow_attention") is not True:
        return None
    low, middle, high = (share * situation.steps_left_s for share in _GAIN)
    return Advice(
        code=CODE,
        setting="attention",
        now="separate",
        proposed="fused",
        saves_s=middle,
        saves_low_s=low,
        saves_high_s=high,
        costs=say("advice-a116-costs"),
        evidence=say("advice-a116-evidence"),
        paste="pip install 'torch>=2.0'",
    )
