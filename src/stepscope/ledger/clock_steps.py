"""Clocks that were set while the log was written: by how much the total may be off for that."""

from __future__ import annotations

from stepscope.core.units import NS
from stepscope.ledger.phases import Ledger
from stepscope.ledger.timestamps import has_stamped_rows
from stepscope.run.model import Run


def with_clock_steps(ledger: Ledger, run: Run) -> Ledger:
    """The ledger with its ranges opened by what nobody knows about the places where the clock was set.

    Where training went on, what usually passes there may have passed twice or not at all. Where another process
    began, up to as much may have passed as the clock was set back by, as far as that is not absurd.
    """
    steps = [step for step in run.clock_steps if not step.is_hour]
    if not steps or ledger.stamps_unusable or not has_stamped_rows(run):
        return ledger
    less_s = sum(step.assumed_ns for step in steps) / NS
    more_s = sum(step.assumed_ns if step.goes_on else step.added_ns for step in steps) / NS
    less_s, more_s = min(less_s, ledger.wall_s), min(more_s, ledger.wall_s)
    # Most of what passes between two rows is training.
    phases = tuple(
        total._replace(low_s=max(0.0, total.low_s - less_s), high_s=total.high_s + more_s)
        if total.phase == "step"
        else total
        for total in ledger.phases
    )
    return ledger._replace(
        wall_low_s=max(0.0, ledger.wall_low_s - less_s), wall_high_s=ledger.wall_high_s + more_s, phases=phases
    )
