"""A119: the model is not compiled.

What it looks at
    `compile` in the header or the config, on a CUDA device.

Why it costs time
    Without `torch.compile` each element-wise operation is a kernel of its own that reads and writes all activations.

Example
    GPT-2 on an A100: 250 ms per step, 135 compiled. A small model on an RTX 3080: 44 ms, and 48 compiled.

What to change
    `compile = True`. The first step then takes about a minute longer; try it for a hundred steps.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Saving, Situation, paste, share_of
from stepscope.core.message import Seconds, say

CODE = "A119"
# Share of the steps' time. A small model that waits for launches may even lose a little.
_GAIN = (0.0, 0.25, 0.46)
_COMPILING_S = 60.0


def advise(situation: Situation) -> Advice | None:
    """Compile the model; None where it is, where the log does not say, or off CUDA."""
    run = situation.run
    device = run.settings.text("device") or "cuda"
    if run.settings.truth("compile") is not False or not device.startswith("cuda"):
        return None
    gain = share_of(situation.steps_left_s, _GAIN)
    return Advice(
        code=CODE,
        setting="compile",
        now=False,
        proposed=True,
        saves=Saving(0.0, max(0.0, gain.middle_s - _COMPILING_S), max(0.0, gain.high_s - _COMPILING_S)),
        costs=say("advice-a119-costs", duration=Seconds(_COMPILING_S)),
        evidence=say("advice-a119-evidence"),
        phases=("step",),
        effect="rounding",
        paste=paste(run, ("compile", True)),
        assumed=say("advice-a119-assumed"),
    )
