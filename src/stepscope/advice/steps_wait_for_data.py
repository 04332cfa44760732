"""A112: steps wait for their data.

What it looks at
    The seconds of the log that its data times, or the pattern of its slow steps, put down to loading.

Why it costs time
    The GPU is idle until the next batch is there: too few workers, a slow disk, or workers that start again each epoch.

Example
    `data_time` 0.217 s of a 0.3 s step; with more workers it was 0.003 s.

What to change
    More loader workers and a deeper prefetch, `persistent_workers=True`, `pin_memory=True`, the data on a local disk;
    the next shard read ahead in a thread.
"""

from __future__ import annotations

import numpy as np

from stepscope.advice._base import Advice, Situation, paste, share_of
from stepscope.core.message import Share, say

CODE = "A112"
_WORTH_IT = 0.01
# Share of the wait saved: more workers do not help against a slow disk or network.
_SAVED = (0.0, 0.7, 1.0)
_WORKERS = 8


def advise(situation: Situation) -> Advice | None:
    """Feed the steps better; None where loading costs little or is not seen."""
    run = situation.run
    lost = (situation.worth("data", _WORTH_IT) or 0.0) * _coming(situation)
    if lost < _WORTH_IT * situation.horizon_s or lost <= 0:
        return None
    workers = run.settings.count("num_workers")
    proposed = 2 * workers if workers else _WORKERS
    # A trainer that prints its wait has workers to wait for.
    prints_waits = bool(np.isfinite(run.steps.data_s).any())
    has_workers = workers is not None or "num_workers" in run.format.controls.settable or prints_waits
    return Advice(
        code=CODE,
        setting="num_workers" if has_workers else "prefetch",
        now=workers if has_workers else False,
        proposed=proposed if has_workers else True,
        saves=share_of(lost, _SAVED),
        costs=say("advice-a112-costs" if has_workers else "advice-a112-costs-prefetch"),
        evidence=say("advice-a112-evidence", share=Share(lost / situation.horizon_s)),
        phases=("data",),
        paste=paste(run, ("num_workers", proposed)),
        assumed=say("advice-a112-assumed" if has_workers else "advice-a112-assumed-prefetch"),
        change=say("advice-a112-change", count=proposed) if has_workers else say("advice-a112-change-prefetch"),
    )


def _coming(situation: Situation) -> float:
    """The share of the wait that comes again: what a process waits at its first step does not."""
    total = situation.ledger.seconds("data")
    firsts = {segment.first_row for segment in situation.run.segments}
    once = sum(
        part.seconds
        for slow in situation.ledger.slow
        if slow.row in firsts
        for part in slow.parts
        if part.phase == "data"
    )
    return max(0.0, 1 - once / total) if total > 0 else 1.0
