"""What a rule may decide about a row, and how it is shown."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from stepscope.reading.rows import Row

DROP: Final = "drop"  # it is no row of the run
MERGE: Final = "merge"  # it says more of the last row
NEW_PROCESS: Final = "new process"  # it begins a segment: another process
NEW_CLOCK: Final = "new clock"  # it begins a segment: the clock began again, the steps go on

Verdict = Literal["drop", "merge", "new process", "new clock"] | Row


class RuleSample(NamedTuple):
    """A short log and what is left of it: the steps of the run, and in how many segments."""

    lines: tuple[str, ...]
    steps: tuple[int, ...]
    num_segments: int = 1
