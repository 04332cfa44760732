"""The pauses after saves: theirs where every save has one, and no more of one than the others have."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.run.save_tails import save_tails

MS = 1_000_000


def rows(pauses: dict[int, int], num: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps of 20 ms; after some of them a save of 10 ms and a pause of so many milliseconds."""
    starts, ends, saves, at = [], [], [], 0
    for row in range(num):
        starts.append(at)
        at += 20
        ends.append(at)
        if row in pauses:
            saves.append((at, at + 10))
            at += 10 + pauses[row]
    return (np.array(column, dtype=np.int64) * MS for column in (starts, ends, saves))


@pytest.mark.parametrize(
    ("pauses", "tails"),
    [
        ({5: 300, 15: 320, 25: 310}, [300, 320, 310]),
        # One pause is longer for a reason of its own.
        ({5: 300, 15: 900, 25: 310}, [300, 310, 310]),
        # Of two, nobody knows which is the usual one.
        ({5: 300, 15: 900}, [300, 900]),
        ({5: 0, 15: 0, 25: 310}, []),
        ({5: 300}, []),
        # The last one is at the end of the run, and like the one before it.
        ({5: 300, 39: 310}, [300, 300]),
        ({5: 300, 39: 900}, []),
    ],
)
def test_what_follows_a_save_is_its_own(pauses, tails):
    starts, ends, saves = rows(pauses)
    until = int(ends[-1]) + (10 + pauses[39]) * MS if 39 in pauses else int(ends[-1])
    found = save_tails(starts, ends, {"checkpoint": saves}, until)
    assert ((found[:, 1] - found[:, 0]) // MS).tolist() == tails


def test_a_pause_that_steps_without_a_save_have_too_is_none_of_the_save():
    """Every fourth step is followed by a rollout, some of them after a save."""
    starts, ends, saves = rows({5: 300, 15: 320, 25: 310})
    shift = np.zeros(len(starts), dtype=np.int64)
    shift[[8, 10, 18, 20, 22]] = 310 * MS  # pauses before these
    moved = np.cumsum(shift)
    row = np.searchsorted(starts, saves[:, 0], side="right") - 1
    found = save_tails(
        starts + moved, ends + moved, {"checkpoint": saves + moved[row][:, None]}, int(ends[-1] + moved[-1])
    )
    assert not len(found)
