"""Bars of an epoch that count the batches of its evaluations, too, as Lightning's did before version 2.

While such an evaluation draws a bar of its own, the bar of the epoch moves on with it. That gives it away, and tells
its batches from those of the training.
"""

from __future__ import annotations

from stepscope.lines.figures import whole
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

    def is_of_evaluation(self, groups: Groups) -> bool:
        """Whether it is an evaluation that has moved the epoch's bar."""
        epoch, batch = whole(groups.get("epoch")), whole(groups.get("batch"))
        if not self._is_used or batch is None:
            return False
        if epoch != self._epoch:
            self._epoch, self._last, self._num, self._is_open = epoch, 0, 0, False
        last, self._last = self._last, batch
        is_moved = self._is_open and batch > last > 0
        self._holds = self._holds or is_moved
        return is_moved

    def take(self, groups: Groups) -> Groups:
        """The line of the epoch's bar with the training's batches only."""
        batch, batches = whole(groups.get("batch")), whole(groups.get("batches"))
        if not self._holds or batch is None or batches is None:
            return groups
        own, size = batch - self._num * self._size, batches - self._most * self._size
        return groups | {"batch": str(own), "batches": str(size)} if 0 < own <= size else groups
