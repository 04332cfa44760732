"""The step lines of an unknown log as columns: what its figures and timestamps are held against."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.infer.time_figures import (
    Floats,
)

Bools = npt.NDArray[np.bool_]


class StepLines(NamedTuple):
    """The step lines: their numbers, timestamps (NaN where none), steps left by their total, where counts restart."""

    steps: Floats
    t_ns: Floats
    left: Floats
    resets: Bools  # between a line and the next: another process or epoch begins
    resolution_ns: int
    counts_epochs: bool
    is_abbreviated: bool
    num_updates: float = 0.0  # by how much the fastest count of updates in the lines went up from the first to the last
    interrupted: Bools | None = None  # which lines do not follow right after another of them
    run_s: float = 0.0  # what a line after them says that the whole run took; 0 where none does

    @property
    def since(self) -> Floats:
        """Steps since the line before."""
        return np.diff(self.steps)
