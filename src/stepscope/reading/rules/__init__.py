"""What may happen to a row before it counts: one file per rule, asked in the order of `RULES`.

A rule has three parts:

judge(row, so_far)
    What becomes of a row: a verdict (see `_verdict.py`), a `Row` to take in its place, or None: the next rule is
    asked, and a row that no rule claims is kept. A rule may change its own memory in `so_far`, and nothing else.
is_quiet(batch, so_far)
    Whether the rule would keep every row of a batch in which the steps go up, and change nothing in its memory. Where
    all rules are quiet, the batch is taken at once: reading in bulk and line by line cannot drift apart.
SAMPLES
    Short logs with the steps that are left of them. `tests/test_row_rules.py` reads each line by line and in bulk, and
    checks that it comes out otherwise without the rule and that quiet rules have nothing to say.
"""

from __future__ import annotations

from typing import Protocol

from stepscope.lines.format import Clock
from stepscope.reading.rows import Row, RowBatch
from stepscope.reading.rules import (
    announced_start,
    clock_restarts,
    copied_lines,
    same_step_again,
    second_writer,
    slower_writer,
    step_goes_back,
    usual_pace,
)
from stepscope.reading.rules._verdict import Verdict
from stepscope.reading.so_far import SoFar


class Rule(Protocol):
    """A module of this folder."""

    def judge(self, row: Row, so_far: SoFar, /) -> Verdict | None:
        """What becomes of a row."""

    def is_quiet(self, batch: RowBatch, so_far: SoFar, /) -> bool:
        """Whether all these rows may simply be taken."""


RULES: tuple[Rule, ...] = (
    same_step_again,
    copied_lines,
    usual_pace,
    slower_writer,
    second_writer,
    announced_start,
    step_goes_back,
    clock_restarts,
)
# Those that have something to go by where no clock runs on from row to row.
WITHOUT_CLOCK: tuple[Rule, ...] = tuple(rule for rule in RULES if rule not in (slower_writer, clock_restarts))


# Of a row that simply goes on (a later step, nothing announced, nothing being repeated) all others have nothing to say.
FOR_ROWS_THAT_GO_ON: tuple[Rule, ...] = (second_writer, clock_restarts)
# Of one that goes back without a word of an end or a start, those that go by such a word have nothing to say.
FOR_ROWS_THAT_GO_BACK: tuple[Rule, ...] = tuple(rule for rule in RULES if rule not in (usual_pace, announced_start))


def rules_for(clock: Clock) -> tuple[Rule, ...]:
    """The rules that may have something to say about rows of this clock, in their order."""
    return RULES if clock.is_running else WITHOUT_CLOCK


def rules_for_row(row: Row, so_far: SoFar) -> tuple[Rule, ...]:
    """The rules that may have something to say about a row, in their order."""
    last, segments = so_far.rows.last_step, so_far.segments
    if last is None or so_far.copied_row is not None or not segments.starts or segments.is_announced:
        return rules_for(so_far.clock)
    if row.step <= last:
        return FOR_ROWS_THAT_GO_BACK
    return FOR_ROWS_THAT_GO_ON if so_far.doubtful or so_far.writers.other or so_far.clock.is_running else ()
