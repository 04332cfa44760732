"""How many steps a training has, as its lines state it: outright, as epochs of a number of batches, or as a setting.

What was stated before a training began does not hold for it, so every number remembers at which row it was stated.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Mapping
from typing import NamedTuple

from stepscope.lines.figures import whole
from stepscope.lines.format import Format
from stepscope.reading.shares import Shares

_NUMBER = re.compile(r"\d{1,12}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,2})?")

_NOTHING = None, None, None
_MAX_EPOCHS = 1_000_000
_FIRST_LINES = 3  # whose share of an epoch is kept


class StatedTotal(NamedTuple):
    """A number, the row before or at which it was stated, and whether the step lines themselves state it."""

    value: int
    row: int
    on_step: bool


class Totals:
    """The totals of the training at hand."""

    def __init__(self, fmt: Format) -> None:
        self._format = fmt
        self._stated: dict[str, StatedTotal] = {}
        self._place: tuple[int, int] | None = None  # epoch and batch of the last step
        self._batch_spacing = 0  # batches between the last two steps of an epoch
        self._offsets: dict[int, int] = {}  # steps before an epoch, where epochs differ in length
        self._uneven: list[int] = []  # these epochs, in order
        self._max_steps: StatedTotal | None = None
        self._earlier: StatedTotal | None = None  # stated before the row at which the present one was
        self.shares = Shares()
        self._samples: float | None = None  # of the whole training
        self._by_samples = (
            False  # the batches of an epoch are worked out, and no epoch has shown yet that they are right
        )
        self.epochs_done: list[float] = []  # by the lines of the first three steps and of the last

    @property
    def batches(self) -> int | None:
        """Batches of an epoch."""
        return self._value("batches")

    @property
    def epochs(self) -> int | None:
        """The number of the last epoch."""
        return self._value("epochs")

    @property
    def total(self) -> int | None:
        """The total as it was stated last."""
        return self._value("total")

    @property
    def max_steps(self) -> int | None:
        """The number of the last step; None where nothing says."""
        return self._max_steps.value if self._max_steps is not None else None

    @property
    def known(self) -> tuple[int | None, int | None, int | None]:
        """The total, the epochs and the batches in force."""
        return (self._value("total"), self._value("epochs"), self._value("batches")) if self._stated else _NOTHING

    @property
    def is_uneven(self) -> bool:
        """Whether epochs differ in length."""
        return bool(self._offsets)

    def _value(self, name: str) -> int | None:
        stated = self._stated.get(name)
        return stated.value if stated is not None else None

    def note(self, groups: Mapping[str, str | None], row: int, *, on_step: bool) -> None:
        """Take what a line before or at row `row` states."""
        if groups.get("samples_total"):
            self._samples = float(groups["samples_total"] or 0)
        found = {name: whole(groups.get(name)) for name in ("total", "batches", "epochs")}
        each = whole(groups.get("samples_per_step"))
        if each and not found["batches"] and groups.get("epoch_samples"):
            found["batches"] = -(-(whole(groups["epoch_samples"]) or 0) // each)
            self._by_samples = True
        if not any(found.values()):
            return
        epoch = whole(groups.get("epoch"))
        if epoch is not None and found["epochs"]:
            # `29/29` after `0/29`: what is behind the stroke is the number of the last epoch, not how many there are.
            found["epochs"] = max(found["epochs"], epoch - self._format.layout.first_epoch + 1)
        for name, value in found.items():
            if value:
                self._stated[name] = StatedTotal(value, row, on_step)
        self._work_out(found["total"], row, on_step=on_step)

    def _work_out(self, total: int | None, row: int, *, on_step: bool) -> None:
        batches, epochs = self.batches, self._value("epochs")
        if total is None and batches and epochs and not self._is_total_newer(row):
            total = self._steps_up_to(epochs) if self._offsets else batches * epochs
        if total is not None:
            self._set(StatedTotal(max(0, total - 1 + self._format.layout.first_step), row, on_step))

    def _is_total_newer(self, row: int) -> bool:
        """A total stated outright for this training beats the product of its epochs."""
        total = self._stated.get("total")
        return total is not None and total.row == row and not total.on_step

    def note_progress(self, step: int, groups: Mapping[str, str | None]) -> None:
        """Take what a step's line says of how much is done: in percent, in samples, or as a part of an epoch."""
        percent, epochs, samples = groups.get("percent"), groups.get("epochs_done"), groups.get("samples_done")
        if samples and self._samples:
            self.shares.note(step, min(100.0, 100.0 * float(samples) / self._samples))
        if percent:
            self.shares.note(step, float(percent))
        if epochs and _NUMBER.fullmatch(epochs):
            self.epochs_done[_FIRST_LINES:] = [float(epochs)]

    def state(self, max_steps: object, row: int) -> None:
        """A setting states the number of the last step."""
        if isinstance(max_steps, int) and not isinstance(max_steps, bool):
            self._set(StatedTotal(max_steps, row, on_step=False))

    def _set(self, stated: StatedTotal) -> None:
        if self._max_steps is not None and self._max_steps.row < stated.row:
            self._earlier = self._max_steps
        self._max_steps = stated

    def is_stated_since(self, row: int) -> bool:
        """Whether the number of the last step was stated after row `row` - 1."""
        return self._max_steps is not None and self._max_steps.row >= row

    def last_before(self, row: int) -> StatedTotal | None:
        """The number of the last step as it was stated before row `row` was near."""
        return self._earlier if self.is_stated_since(row) else self._max_steps

    def begin_training(self, row: int) -> None:
        """Another training begins at row `row`: only what was stated since the row before holds for it."""
        if self._stated:
            self._stated = {name: stated for name, stated in self._stated.items() if stated.row >= row}
        if self._offsets:
            self._offsets, self._uneven = {}, []
        self._earlier = None
        self.shares.forget()
        if not self.is_stated_since(row):
            self._max_steps = None

    def learn_epoch_length(self, groups: Mapping[str, str | None], row: int) -> bool:
        """Where no line says how many batches an epoch has, the last batch of the first whole epoch does.

        Lines that are evenly spaced over the end of an epoch say it exactly: 300, 400, then 31 are 469 batches. True
        when the steps read so far were counted without knowing it.
        """
        epoch, batch = whole(groups.get("epoch")), whole(groups.get("batch"))
        if epoch is None or batch is None or groups.get("batches"):
            return False
        place, self._place = self._place, (epoch, batch)
        spacing = batch - place[1] if place is not None and epoch == place[0] else self._batch_spacing
        before, self._batch_spacing = self._batch_spacing, spacing
        is_settled = self.batches is not None and not self._by_samples
        if place is None or is_settled or epoch != place[0] + 1:
            return False
        stated, self._by_samples = self.batches if self._by_samples else None, False
        if stated is not None and place[1] <= stated <= place[1] + before:
            return False
        if place[1]:
            length = place[1] + (before - batch if 0 < batch < before else 0)
            self._stated["batches"] = StatedTotal(length, row, on_step=False)
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
            self._set_offset(epoch, max(0, epoch - self._format.layout.first_epoch) * known)
        if not self._offsets:
            return None
        if epoch not in self._offsets:
            at = bisect_left(self._uneven, epoch)
            if not at:
                return None
            last = self._uneven[at - 1]
            self._set_offset(epoch, self._offsets[last] + (epoch - last) * (known or batches))
        return self._offsets[epoch]

    def _set_offset(self, epoch: int, num_steps: int) -> None:
        self._offsets[epoch] = num_steps
        insort(self._uneven, epoch)

    def _steps_up_to(self, epochs: int) -> int:
        """All steps, where epochs differ in length: those behind us as they were, those to come like the present."""
        last = self._uneven[-1]
        left = max(0, epochs - (last - self._format.layout.first_epoch))
        return self._offsets[last] + left * (self.batches or 0)
