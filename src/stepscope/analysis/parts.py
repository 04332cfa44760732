"""What most of an iteration is, where its lines time their own parts: `timing_s/gen:74.0`, `forward_time=0.16`."""

from __future__ import annotations

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.message import Message, Seconds, Share, say
from stepscope.core.units import NS
from stepscope.run.model import Run

# A part is worth a word from this share on; parts that add up to more than the whole are not parts of it.
_MOST, _ALL = 0.5, 1.1


def parts_message(run: Run) -> Message | None:
    """The longest part, with its share of the iterations whose lines print parts; None where they print none."""
    steps, parts = run.steps, run.asides.parts
    rows = [row for row in range(min(len(run), len(parts))) if parts[row] and steps.span[row] > 0]
    if not rows:
        return None
    whole = steps.dur_ns[rows] / NS
    if any(sum(parts[row].values()) > _ALL * own for row, own in zip(rows, whole.tolist(), strict=True)):
        return None
    sums = {name: sum(parts[row].get(name, 0.0) for row in rows) for row in rows for name in parts[row]}
    name = max(sums, key=lambda one: sums[one])
    share = sums[name] / float(whole.sum())
    if share < _MOST:
        return None
    usual = float(median(np.array([parts[row].get(name, 0.0) for row in rows])))
    return say(
        "part-of-step", name=name, duration=Seconds(usual), whole=Seconds(float(median(whole))), share=Share(share)
    )
