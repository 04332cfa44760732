"""Spans that were seen by looking now and then, added to those that hooks have timed.

A look knows the function that a program is in, a hook the call that it makes there: what the two say of one evaluation
is one evaluation. Where both know an edge, the hook's is exact; the look's counts where it is farther out than looks
are apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
# Of the waits that were seen, those that hooks have timed at least in this share are these already.
_MOSTLY = 0.5


class Sampled(NamedTuple):
    """A stretch of looks that showed the same, and how well its edges are known."""

    begin_ns: int
    end_ns: int
    slack_ns: int


def cut_short(span: tuple[int, int], sampled: Mapping[str, list[Sampled]]) -> tuple[int, int]:
    """An evaluation that had ended at the latest when something else began: with the last look at one, if there was
    any, else when a checkpoint was seen in it."""
    begin, end = span
    last = max((own.end_ns for own in sampled.get("evaluation", ()) if begin <= own.end_ns <= end), default=0)
    if last:
        return begin, last
    saves = (own.begin_ns for own in sampled.get("checkpoint", ()))
    return begin, min((at_ns for at_ns in saves if begin < at_ns < end), default=end)


def outermost(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans that are not inside another."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not found or end > found[-1][1]:
            found.append((begin, end))
    return found


def with_sampled(timed: Ints, sampled: list[Sampled]) -> Ints:
    """The spans of one kind, those timed and those seen, in order; what overlaps is one span."""
    spans = [(int(begin), int(end)) for begin, end in timed.tolist()]
    for begin, end, slack in sorted(sampled):
        touched = [own for own in spans if own[0] <= end and own[1] >= begin]
        if not touched:  # the nearest of those that may be the same, if looks were far apart
            near = [(max(own[0] - end, begin - own[1]), own) for own in spans]
            touched = [own for apart, own in sorted(near)[:1] if apart <= 2 * slack]
        first, last = min((own[0] for own in touched), default=begin), max((own[1] for own in touched), default=end)
        spans = [own for own in spans if own not in touched]
        is_earlier, is_later = begin < first - 2 * slack, end > last + 2 * slack
        spans.append((begin if is_earlier else first, end if is_later else last))
    return np.array(sorted(spans), dtype=np.int64).reshape(-1, 2)


def unseen(sampled: list[Sampled], timed: Ints) -> list[Sampled]:
    """Those of the stretches that no hook has timed."""
    found = []
    for own in sampled:
        overlap = np.minimum(timed[:, 1], own.end_ns) - np.maximum(timed[:, 0], own.begin_ns)
        if int(np.maximum(overlap, 0).sum()) < _MOSTLY * (own.end_ns - own.begin_ns):
            found.append(own)
    return found
