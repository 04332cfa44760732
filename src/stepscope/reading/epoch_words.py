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
# `Beginning of Epoch 1/2, Total Micro Batches 460`, `900 iters/epoch`, `Steps per epoch: 1,250`
_COUNTED = r"(?:steps|iterations|iters|(?:micro[ -]?|mini[ -]?)?batches)"
_SAID = LazyPattern(
    rf"(?i)(?<![a-z])(?:{_COUNTED}[ _-]?(?:per|/|in an?)[ _-]?epoch\W{{1,4}}(?P<a>\d[\d,]{{0,11}})"
    rf"|total (?:micro |mini)?batches\W{{1,3}}(?P<b>\d[\d,]{{0,11}}))(?![\d.]*\d?[%a-z])"
    rf"|(?<![\d.,])(?P<c>\d[\d,]{{0,11}}) {_COUNTED}\s?(?:per|/|an|each)\s?epoch\b"
)
_CHARS = 160
_LEAST_EPOCHS = 3
_EVEN = 1  # rows by which the ends of epochs may be off: steps between two rows have none of their own


def said_per_epoch(run: Run, texts: list[str]) -> int | None:
    """By the words before the first row, where they agree and no row of the first epoch is beyond them."""
    found = {
        int((own["a"] or own["b"] or own["c"]).replace(",", ""))
        for text in texts
        if (own := _SAID.search(text[:_CHARS])) is not None
    }
    return found.pop() if len(found) == 1 and max(found) > 1 and int(run.steps.step[0]) <= max(found) else None


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
