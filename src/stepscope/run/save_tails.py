"""Seconds right after a save that belong to it: they follow every save and nothing else.

A hook sees the call that writes. What a program does around it (waiting for a disk, an upload, a copy) has no hook; but
where every save is followed by a pause that no other step has, that is what the save costs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stepscope.columns.statistics import median
from stepscope.run.span_rows import OUTSIDE, WAITS, Ints, joined, overlaps

_LEAST_SAVES = 2
_MOSTLY = 0.8
# A pause is one from this length on, and from this many times what usually passes there.
_LEAST_NS, _TIMES = 50_000_000, 3.0
# Of this many pauses, one of this many times the usual length is not a save's alone.
_LEAST_TO_COMPARE, _OUTLIER = 3, 1.5


def save_tails(starts: Ints, ends: Ints, spans: Mapping[str, Ints], until: int) -> Ints:
    """The pauses after the saves, as spans of their own; none where they are not the saves'.

    starts, ends
        Where the rows of the steps begin, and where the steps end
    until
        The end of the run: what follows the last step may be the last save's
    """
    nothing = np.zeros((0, 2), dtype=np.int64)
    saves = spans.get("checkpoint")
    if saves is None or len(saves) < _LEAST_SAVES or len(starts) < _LEAST_SAVES + 1:
        return nothing
    follows = np.append(starts[1:], max(until, int(ends[-1])))
    stops = joined(spans, (*OUTSIDE, *WAITS, "gc"))
    has_none = overlaps(saves, starts, follows) == 0
    has_none[-1] = False
    are_lines = bool((ends[:-1] == follows[:-1]).all())  # steps go on after a save, up to the next one's line
    after = _free(stops, ends, np.maximum(follows, ends))
    whole = _free(stops, starts, ends)
    usual_after, usual_whole = (int(median(own[has_none])) if has_none.any() else 0 for own in (after, whole))
    found, at_end, tried = list[tuple[int, int]](), list[tuple[int, int]](), 0
    for begin, end in saves.tolist():
        row = int(np.searchsorted(starts, end, side="right")) - 1
        if row < 0 or end >= follows[row]:
            continue
        # Before its step's end, the whole step is still to come; after it, what usually follows one.
        origin, last, usual = (
            (int(ends[row]), int(follows[row]), usual_after)
            if end >= ends[row]
            else (int(starts[row]), int(ends[row]), usual_whole)
        )
        spent = int(_free(stops, np.array([min(origin, begin)]), np.array([begin]))[0])
        later = stops[(stops[:, 0] >= end) & (stops[:, 0] < last)]
        if len(later):
            last, usual = int(later[0, 0]), usual if are_lines else 0
        pause = last - end - max(0, usual - spent)
        is_pause = pause > max(_LEAST_NS, _TIMES * usual_after)
        if row == len(starts) - 1:
            at_end += [(end, pause)] if is_pause else []
            continue
        tried += 1
        found += [(end, end + pause)] if is_pause else []
    pauses = [end - begin for begin, end in found] + [pause for _, pause in at_end]
    # Where the last save of all is followed by the same, two are enough.
    is_enough = tried >= _LEAST_SAVES or (bool(found) and _are_alike(pauses))
    if not is_enough or len(found) < _MOSTLY * tried:
        return nothing
    usual = int(median(np.array([end - begin for begin, end in found])))
    if int((after[has_none] > usual / 2).sum()) > len(found):
        return nothing  # other steps have it, too
    if len(found) >= _LEAST_TO_COMPARE:  # what one pause has beyond the others is not its save's
        found = [(begin, end if end - begin <= _OUTLIER * usual else begin + usual) for begin, end in found]
    most = max(end - begin for begin, end in found)  # what comes after the run is not the last save's
    found += [(end, end + min(pause, most)) for end, pause in at_end]
    return np.array(found, dtype=np.int64)


def _are_alike(pauses: list[int]) -> bool:
    return len(pauses) >= _LEAST_SAVES and max(pauses) <= _OUTLIER * min(pauses)


def _free(stops: Ints, starts: Ints, ends: Ints) -> Ints:
    """Nanoseconds of each stretch that nothing covers."""
    return np.asarray(ends - starts - overlaps(stops, starts, ends), dtype=np.int64)
