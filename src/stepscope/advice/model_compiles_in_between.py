"""A120: the model is compiled again in the middle of the run.

What it looks at
    Slow steps whose pattern is that of a recompilation: the partial batch at an epoch's end, or many that die out.

Why it costs time
    A tensor of a new shape does not fit the compiled kernels: the compiler starts again while the GPU waits.

Example
    The last batch of each epoch is smaller: 14 s at every 390th step.

What to change
    Drop the partial batch (`drop_last=True`), pad sequences to a few lengths, or `torch.compile(..., dynamic=True)`.
    `TORCH_LOGS=recompiles` names the guard that failed.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation, share_of
from stepscope.core.message import Seconds, Share, say

CODE = "A120"
_WORTH_IT = 0.005
# Share of the time saved: the first compilation of each shape stays.
_SAVED = (0.3, 0.8, 1.0)


def advise(situation: Situation) -> Advice | None:
    """Shapes that stay; None where no recompilation was seen or it cost little."""
    ledger = situation.ledger
    slow = [step for step in ledger.slow if step.cause == "recompile" and step.code == "C06"]
    lost = sum(part.seconds for step in slow for part in step.parts if part.phase == "warmup")
    if situation.is_future and ledger.seconds("step"):
        lost *= situation.steps_left_s / ledger.seconds("step")
    if not situation.horizon_s or lost / situation.horizon_s < _WORTH_IT:
        return None
    return Advice(
        code=CODE,
        setting="shapes",
        now="changing",
        proposed="fixed",
        saves=share_of(lost, _SAVED),
        costs=say("advice-a120-costs"),
        evidence=say(
            "advice-a120-evidence",
            count=len(slow),
            duration=Seconds(sum(step.seconds for step in slow)),
            share=Share(lost / situation.horizon_s),
        ),
        phases=("warmup",),
        effect="learning",
        paste="DataLoader(..., drop_last=True)",
        change=say("advice-a120-change"),
    )
