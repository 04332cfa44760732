"""Bars of an epoch that count the batches of its evaluations, too, as Lightning's did before version 2.

While such an evaluation draws a bar of its own, or right behind it, the bar of the epoch moves on with it. That gives
it away, and tells its batches from those of the training.

A bar that goes on being used is drawn once more under the next epoch's name before it starts again.
"""

from __future__ import annotations

from stepscope.lines.figures import parse_clock, whole
from stepscope.reading.step_line import Groups


class EpochBars:
    """Takes the batches of evaluations out of the lines of an epoch's bar."""

    def __init__(self, *, is_used: bool) -> None:
        self._is_used = is_used
        self._holds = False  # whether the bar of an epoch counts evaluations
        self._size = 0  # batches of one evaluation
        self._is_open = False  # whether an evaluation is under way
        self._epoch: int | None = None
        self._last = 0  # the batch drawn last
        self._num = 0  # evaluations of the present epoch that are over
        self._most = 1  # the most that an epoch had
        self._behind = 0  # batches of an evaluation that is over, since the epoch's bar was drawn
        self._elapsed = 0.0  # as the bar showed it last
        self._is_drawn_often = False  # whether an epoch's bar was drawn before it was full

    def see_evaluation(self, groups: Groups) -> None:
        """A line that may be one of an evaluation's own bar."""
        if not self._is_used or not (groups.get("eval_done") or groups.get("eval_none")):
            return
        size = whole(groups.get("eval_iters"))
        self._size = size or self._size
        was_open, self._is_open = self._is_open, size is None or whole(groups.get("eval_done")) != size
        if was_open and not self._is_open:
            self._num += 1
            self._most = max(self._most, self._num)
            self._behind = size or 0

    def is_of_evaluation(self, groups: Groups) -> bool:
        """Whether it is an evaluation that has moved the epoch's bar."""
        epoch, batch = whole(groups.get("epoch")), whole(groups.get("batch"))
        if not self._is_used or batch is None:
            return False
        if epoch != self._epoch and self._is_left_over(groups, batch):
            return True
        if epoch != self._epoch:
            self._epoch, self._last, self._num, self._is_open, self._behind = epoch, 0, 0, False, 0
        last, self._last = self._last, batch
        behind, self._behind = self._behind, 0
        is_full = batch == whole(groups.get("batches"))
        self._is_drawn_often = self._is_drawn_often or not is_full
        is_moved = batch > last > 0 and (self._is_open or (is_full and batch - last == behind))
        self._holds = self._holds or is_moved
        self._elapsed = parse_clock(groups.get("elapsed_clock") or "") or 0.0
        return is_moved

    def _is_left_over(self, groups: Groups, batch: int) -> bool:
        """Whether it is the full bar of the epoch before under another name: no bar begins full, later than it."""
        elapsed = parse_clock(groups.get("elapsed_clock") or "")
        is_full = batch == self._last == whole(groups.get("batches"))
        return is_full and self._is_drawn_often and elapsed is not None and elapsed >= self._elapsed

    def take(self, groups: Groups) -> Groups:
        """The line of the epoch's bar with the training's batches only."""
        batch, batches = whole(groups.get("batch")), whole(groups.get("batches"))
        if not self._holds or batch is None or batches is None:
            return groups
        own, size = batch - self._num * self._size, batches - self._most * self._size
        return groups | {"batch": str(own), "batches": str(size)} if 0 < own <= size else groups
