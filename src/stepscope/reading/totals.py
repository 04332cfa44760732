"""How many steps a training has, as its lines tell it: outright, as epochs of so many batches, or as a setting.

What was told before a training began does not hold for it, so every number remembers at which row it was told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stepscope.lines.figures import whole
from stepscope.lines.format import Format

_MAX_EPOCHS = 1_000_000


class KnownTotals(NamedTuple):
    """A number, the row before or at which it was told, and whether the step lines themselves tell it."""

    value: int
    row: int
    on_step: bool


class Totals:
    """The totals of the training at hand."""

    def __init__(self, fmt: Format) -> None:
        self._format = fmt
        self._told: dict[str, KnownTotals] = {}
        self._place: tuple[int, int] | None = None  # epoch and batch of the last step
        self._offsets: dict[int, int] = {}  # steps before an epoch, where epochs differ in length
        self._max_steps: KnownTotals | None = None
        self._earlier: KnownTotals | None = None  # told before the row at which the present one was

    @property
    def batches(self) -> int | None:
        """Batches of an epoch."""
        return self._value("batches")

    @property
    def total(self) -> int | None:
        """The total as it was told last."""
        return self._value("total")

    @property
    def max_steps(self) -> int | None:
        """The number of the last step; None where nothing tells."""
        return self._max_steps.value if self._max_steps is not None else None

    @property
    def known(self) -> tuple[int | None, int | None, int | None]:
        """The total, the epochs and the batches in force."""
        return self._value("total"), self._value("epochs"), self._value("batches")

    @property
    def is_uneven(self) -> bool:
        """Whether epochs differ in length."""
        return bool(self._offsets)

    def _value(self, name: str) -> int | None:
        told = self._told.get(name)
        return told.value if told is not None else None

    def note(self, groups: Mapping[str, str | None], row: int, *, on_step: bool) -> None:
        """Take what a line before or at row `row` tells."""
        found = {name: whole(groups.get(name)) for name in ("total", "batches", "epochs")}
        if not any(found.values()):
            return
        for name, value in found.items():
            if value:
                self._told[name] = KnownTotals(value, row, on_step)
        self._work_out(found["total"], row, on_step=on_step)

    def _work_out(self, total: int | None, row: int, *, on_step: bool) -> None:
        batches, epochs = self.batches, self._value("epochs")
        if total is None and batches and epochs and not self._is_total_newer(row):
            total = self._steps_up_to(epochs) if self._offsets else batches * epochs
        if total is not None:
            self._set(KnownTotals(max(0, total - 1 + self._format.layout.first_step), row, on_step))

    def _is_total_newer(self, row: int) -> bool:
        """A total told outright for this training beats the product of its epochs."""
        total = self._told.get("total")
        return total is not None and total.row == row and not total.on_step

    def state(self, max_steps: object, row: int) -> None:
        """A setting tells the number of the last step."""
        if isinstance(max_steps, int) and not isinstance(max_steps, bool):
            self._set(KnownTotals(max_steps, row, on_step=False))

    def _set(self, told: KnownTotals) -> None:
        if self._max_steps is not None and self._max_steps.row < told.row:
            self._earlier = self._max_steps
        self._max_steps = told

    def is_told_since(self, row: int) -> bool:
        """Whether the number of the last step was told after row `row` - 1."""
        return self._max_steps is not None and self._max_steps.row >= row

    def last_before(self, row: int) -> KnownTotals | None:
        """The number of the last step as it was told before row `row` was near."""
        return self._earlier if self.is_told_since(row) else self._max_steps

    def begin_training(self, row: int) -> None:
        """Another training begins at row `row`: only what was told since the row before holds for it."""
        self._told = {name: told for name, told in self._told.items() if told.row >= row}
        self._offsets = {}
        self._earlier = None
        if not self.is_told_since(row):
            self._max_steps = None

    def learn_epoch_length(self, groups: Mapping[str, str | None], row: int) -> bool:
        """Where no line tells how many batches an epoch has, the last batch of the first whole epoch does.

        True when the steps read so far were counted without knowing it.
        """
        epoch, batch = whole(groups.get("epoch")), whole(groups.get("batch"))
        if epoch is None or batch is None or groups.get("batches"):
            return False
        place, self._place = self._place, (epoch, batch)
        if place is None or self.batches is not None or epoch != place[0] + 1:
            return False
        if place[1]:
            self._told["batches"] = KnownTotals(place[1], row, on_step=False)
            self._work_out(None, row, on_step=False)
        return place[0] != self._format.layout.first_epoch

    def steps_before(self, groups: Mapping[str, str | None]) -> int | None:
        """How many steps lie before this line's epoch, where epochs differ in length; None where they do not."""
        epoch, batches = whole(groups.get("epoch")), whole(groups.get("batches"))
        if epoch is None or batches is None or not 0 <= epoch < _MAX_EPOCHS:
            return None
        known = self.batches
        if known is not None and batches != known and not self._offsets:
            # Up to here all epochs were alike, the present one included.
            self._offsets[epoch] = max(0, epoch - self._format.layout.first_epoch) * known
        if not self._offsets:
            return None
        if epoch not in self._offsets:
            last = max((other for other in self._offsets if other < epoch), default=None)
            if last is None:
                return None
            self._offsets[epoch] = self._offsets[last] + (epoch - last) * (known or batches)
        return self._offsets[epoch]

    def _steps_up_to(self, epochs: int) -> int:
        """All steps, where epochs differ in length: those behind us as they were, those to come like the present."""
        last = max(self._offsets)
        left = max(0, epochs - (last - self._format.layout.first_epoch))
        return self._offsets[last] + left * (self.batches or 0)
