"""A107: one rank evaluates while the others wait.

What it looks at
    The number of ranks, and whether this trainer evaluates on one of them only (nanoGPT does).

Why it costs time
    The other GPUs wait until rank 0 is done.

Example
    Four GPUs, an evaluating iteration of 20.5 s; with the evaluation shared out it took 8.7 s (nanoGPT's issue 673).

What to change
    Let each rank evaluate its share of the batches and average the losses (`all_reduce`).
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation, same_precision, share_of
from stepscope.core.message import say

CODE = "A107"
_WORTH_IT = 0.01
# Sharing out is not free: at four GPUs, 58 % of the time was saved instead of 75 (with the checkpoint inside, which
# stays).
_REACHED = (0.6, 0.8, 1.0)


def advise(situation: Situation) -> Advice | None:
    """Evaluate on all ranks; None with one rank, or where the trainer does so already."""
    ranks = situation.run.settings.count("world_size") or 1
    total = situation.worth("evaluation", _WORTH_IT)
    if ranks < 2 or not situation.run.format.habits.evaluation.is_on_one_rank or total is None:
        return None
    return Advice(
        code=CODE,
        setting="evaluation ranks",
        now=1,
        proposed=ranks,
        saves=share_of(total * (1 - 1 / ranks), _REACHED),
        costs=say("advice-a107-costs"),
        evidence=say("advice-a107-evidence", count=ranks),
        phases=("evaluation",),
        effect=situation.evaluation_effect,
        precision=same_precision(situation),
        assumed=say("advice-a107-assumed"),
        change=say("advice-a107-change", count=ranks),
    )
