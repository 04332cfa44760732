"""A114: bfloat16 on a card that has none.

What it looks at
    The card (`--gpu`, `--nvidia-smi`) and `dtype`.

Why it costs time
    Cards before Ampere (V100, T4, RTX 20) emulate bfloat16 at about a tenth of their float16 rate.

Example
    V100: 9.9 TFLOPS in bfloat16, 100 and more in float16 (public GEMM tables).

What to change
    `dtype = 'float16'` (nanoGPT then scales the loss by itself).
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation, paste
from stepscope.message import say
from stepscope.plan.cards import known_card

CODE = "A114"
# Share of the steps' time: matrix products are half to nearly all of it.
_GAIN = (0.3, 0.6, 0.85)


def advise(situation: Situation) -> Advice | None:
    """float16 where bfloat16 is emulated; None on other cards."""
    run = situation.run
    card = known_card(situation.hardware.gpu) if situation.hardware and situation.hardware.gpu else None
    if card is None or card.has_bf16 or run.settings.text("dtype") != "bfloat16":
        return None
    low, middle, high = (share * situation.steps_left_s for share in _GAIN)
    return Advice(
        code=CODE,
        setting="dtype",
        now="bfloat16",
        proposed="float16",
        saves_s=middle,
        saves_low_s=low,
        saves_high_s=high,
        costs=say("advice-a114-costs"),
        evidence=say("advice-a114-evidence", gpu=card.name),
        changes_result=True,
        paste=paste(run, "dtype", "float16"),
    )
