"""How many steps an epoch has, where only words end one among rows that count on: `11th epoch finished`."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from stepscope.core.lazy_pattern import LazyPattern
from stepscope.run.model import Run

_ENDED = LazyPattern(
    r"(?i)(?:(?<!\w)(?P<a>\d{1,5})\s?(?:st|nd|rd|th) epoch|(?<![a-z])epoch\W{0,3}(?P<b>\d{1,5})(?![\d.]))"
    r"[^\n]{0,40}?\b(?:finish(?:ed)?|done|completed?|ended|over)\b"
)
_CHARS = 200
_LEAST_EPOCHS = 3
_EVEN = 1  # rows by which the ends of epochs may be off: steps between two rows have none of their own


def steps_per_epoch(run: Run, texts: list[str]) -> int | None:
    """By the lines at the beginning of a log, its rows among them; None where they do not say."""
    lines, steps = run.steps.line, run.steps.step
    own = set(lines.tolist())
    ends: list[tuple[int, int]] = []
    for number, text in enumerate(texts, 1):
        found = None if number in own or "poch" not in text.lower() else _ENDED.search(text[:_CHARS])
        row = 0 if found is None else int(np.searchsorted(lines, number))
        if found is not None and row:
            ends.append((int(found["a"] or found["b"]), int(steps[row - 1])))
    if len(ends) < _LEAST_EPOCHS or any(after[0] != before[0] + 1 for before, after in pairwise(ends)):
        return None
    lengths = [after[1] - before[1] for before, after in pairwise(ends)]
    spacing = int(steps[1] - steps[0]) if len(steps) > 1 else 1
    if min(lengths) <= 0 or max(lengths) - min(lengths) > _EVEN * spacing:
        return None
    return round((ends[-1][1] - ends[0][1]) / (len(ends) - 1))
