"""What an epoch's last, unprinted steps took, where a line at its end states the time of the whole epoch."""

from __future__ import annotations

from stepscope.core.units import NS
from stepscope.lines.figures import step_number
from stepscope.lines.format import Format
from stepscope.reading.rows import MAX_FIGURE_S, RowStore
from stepscope.reading.step_line import NOT_A_TIME, Groups, number
from stepscope.reading.totals import Totals

EPOCH_TIME = "epoch_s"


class RestOfEpoch:
    """Adds up the rows of an epoch, and says what its total leaves of them."""

    def __init__(self, fmt: Format, totals: Totals, rows: RowStore) -> None:
        self._is_used = any(f"(?P<{EPOCH_TIME}>" in line.pattern for line in fmt.lines)
        self._first_epoch = fmt.layout.first_epoch
        self._totals, self._rows = totals, rows
        self._epoch: str | None = None
        self._sum_ns = 0

    def is_known(self, groups: Groups) -> bool:
        """Whether an epoch's last row is that of its last step, as far as anybody knows: its total says nothing new."""
        if not groups.get(EPOCH_TIME):
            return False
        last, length = self._rows.last_step, self._totals.batches
        end = step_number(groups, first_epoch=self._first_epoch, batches=length)
        return end is None or last is None or not 0 < end - last <= self._rows.spacing(0)

    def note(self, epoch: str | None, step: int, figure: int | None) -> None:
        """A row is about to be added."""
        if not self._is_used:
            return
        length, last = self._totals.batches, self._rows.last_step
        if epoch != self._epoch:
            self._epoch, self._sum_ns = epoch, 0
            last = step - (step - 1) % length - 1 if length else 0
        self._sum_ns += max(0, figure or 0) * max(0, step - (last or 0))

    def figure(self, groups: Groups, step: int | None, own: int | None) -> int | None:
        """The mean time of the steps after the last row; that of all steps where the rows take more than the total.

        Of a line that states no epoch's total, its own figure.
        """
        total, last = number(groups.get(EPOCH_TIME)), self._rows.last_step or 0
        if total is None or step is None:
            return own
        if not 0 < total < MAX_FIGURE_S or groups.get("epoch") != self._epoch:
            return NOT_A_TIME
        rest = round(total * NS) - self._sum_ns
        return rest // (step - last) if rest > 0 else round(total * NS / max(1, self._totals.batches or 1))
