"""How many trainings of a log are still to come, where it says that it does several one after the other."""

from __future__ import annotations

from typing import NamedTuple


class Folds(NamedTuple):
    """What lines said of folds up to the last row. `number` is the place of the last row's, from 1; None if unsaid."""

    total: int
    number: int | None = None
    is_loop: bool = False  # whether its program does more than one of them

    def num_left(self, num_trainings: int) -> int:
        """How many trainings come after the one that the last row is of, where the log holds so many."""
        begun = num_trainings if self.number is None else self.number
        is_loop = self.is_loop or num_trainings > 1
        return self.total - begun if is_loop and 1 <= begun <= self.total else 0
