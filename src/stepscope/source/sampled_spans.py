"""Spans that were seen by looking now and then, added to those that hooks have timed.

A look knows the function that a program is in, a hook the call that it makes there: what the two say of one evaluation
is one evaluation. Where both know an edge, the hook's is exact; the look's counts where it is farther out than looks
are apart.
"""

from __future__ import annotations

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
