"""What a log amounts to when one format reads it: rows, seconds, what is left over, which laws are broken.

Formats compete by these accounts. Their values are in bits: one more is worth twice as many rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from stepscope.columns.statistics import median
from stepscope.lines.format import Format
from stepscope.reading.assembler import RunAssembler
from stepscope.run.model import Candidate, Run

# What a format is worth before it has read a line: the catalogue knows what its figures mean, the user knows better.
_TAUGHT, _CATALOGUED, _ENGINE = 8.0, 2.0, 0.5
_DOUBT = 2.0  # bits that an inferred format is worth less when it is half as sure
_UNTIMED_ROW = 0.25  # rows without a time count this much
_HAS_LOSS, _HAS_TOTAL, _EXTENT = 3.0, 0.5, 2.0
_OWN_BAR = 4.0
_IMPOSSIBLE = -6.0
_NOT_ITS_BAR = -12.0
_BARE = -3.0  # something counts, and nothing shows that it is a training
_STEP_S = (1e-6, 1e6)  # nobody trains in shorter or longer steps
_MIXED = 0.2  # this share of rows that start again is no training but several counters
_MOST_CANDIDATES = 6
_FEW_LINES = 100  # are read one by one before the other way is even loaded
_SAME = 0.03  # accounts that differ by less come to the same


class Account(NamedTuple):
    """One format's account of the lines it was tried on. `assembler` has read them all."""

    format: Format
    assembler: RunAssembler
    value: float
    num_rows: int
    seconds: float
    num_unread: int


def assemble(
    fmt: Format,
    lines: Sequence[str],
    *,
    prefix: re.Pattern[str] | None = None,
    rank: int | None = None,
    assembler: RunAssembler | None = None,
) -> RunAssembler:
    """Read the lines with a format. `prefix` is what they begin with, if it is of an unknown kind.

    `assembler` has read the lines before them.
    """
    if assembler is None:
        assembler = RunAssembler(fmt)
        assembler.begin_file(rank)
    assembler.expect_prefix(prefix)
    if len(lines) < _FEW_LINES:
        for line in lines:
            assembler.add(line)
    else:
        from stepscope.reading.bulk.feed_lines import assemble_lines

        assemble_lines(assembler, lines)
    return assembler


def give_account(assembler: RunAssembler, *, is_taught: bool = False) -> Account:
    """What the lines amount to that a format's assembler has read."""
    run = assembler.run(paths=(), encoding="utf-8", mtime=None)
    return Account(
        format=assembler.format,
        assembler=assembler,
        value=_prior(assembler.format, is_taught=is_taught) + _value(run) + _laws(run) + _own_bar(assembler, run),
        num_rows=len(run),
        seconds=float(run.steps.seconds.sum()) if len(run) else 0.0,
        num_unread=run.num_unread,
    )


def _prior(fmt: Format, *, is_taught: bool) -> float:
    if is_taught:
        return _TAUGHT
    if fmt.inferred is not None:
        return _DOUBT * math.log2(max(0.01, fmt.inferred.confidence))
    return _ENGINE if fmt.is_engine else _CATALOGUED


def _value(run: Run) -> float:
    """What the rows say: how many they are, how much of the log they span, what they know."""
    if not len(run):
        return 0.0
    num_timed = int((run.steps.span > 0).sum())
    rows = num_timed + _UNTIMED_ROW * (len(run) - num_timed)
    extent = (int(run.steps.line[-1]) - int(run.steps.line[0]) + 1) / max(1, run.num_lines)
    has_loss = bool((run.steps.loss == run.steps.loss).any())
    total = run.settings.get("max_steps")
    has_total = total is not None and total.origin in {"log", "detected"}
    return (
        math.log2(1 + rows)
        + _EXTENT * extent
        + _HAS_LOSS * has_loss
        + _HAS_TOTAL * has_total
        + 0.25 * math.log2(1 + len(run.events))
    )


def _own_bar(assembler: RunAssembler, run: Run) -> float:
    """What it is worth that the bars count to the total that the log states: then they are the training's."""
    is_own = assembler.format.layout.bars_nest and assembler.bars.is_stated and bool((run.steps.span > 0).any())
    return _OWN_BAR if is_own else 0.0


def _laws(run: Run) -> float:
    """What breaking a law costs: a step too short or too long, no loss, a count that starts again and again."""
    timed = run.steps.dur_ns[run.steps.span > 0]
    cost = 0.0
    if len(timed) and not _STEP_S[0] < float(median(timed)) / 1e9 < _STEP_S[1]:
        cost += _IMPOSSIBLE
    if run.format.inferred is not None and not (run.steps.loss == run.steps.loss).any() and not len(run.events):
        cost += _BARE
    if len(run) and len(run.segments) - 1 > _MIXED * len(run) + 1:
        cost += _IMPOSSIBLE
    # A bar that should go through the whole training, but starts again and shows no loss, is that of an epoch.
    has_loss = bool((run.steps.loss == run.steps.loss).any())
    if run.format.layout.bars_nest and len(run.segments) > 1 and not has_loss and not run.runtimes:
        cost += _NOT_ITS_BAR
    return cost


def best_of(accounts: Sequence[Account]) -> Account:
    """The account worth most; of one that was inferred and a known trainer's that comes to the same, the latter."""
    best = max(accounts, key=lambda account: account.value)
    if best.format.inferred is None:
        return best
    known = [own for own in accounts if own.format.inferred is None and own.num_rows and _is_same(own, best)]
    return max(known, key=lambda account: account.value, default=best)


def shares(accounts: Iterable[Account]) -> tuple[Candidate, ...]:
    """The accounts as candidates, best first, with their shares of the evidence.

    An account that comes to the same as a better one speaks for it, not against it.
    """
    distinct: list[tuple[Account, float]] = []
    found = list(accounts)
    best = best_of(found)
    ordered = sorted(found, key=lambda account: (account is not best, -account.value))
    for account in ordered:
        weight = 2.0 ** (account.value - ordered[0].value)
        same = next((at for at, (better, _) in enumerate(distinct) if _is_same(better, account)), None)
        if same is None:
            distinct.append((account, weight))
        else:
            distinct[same] = distinct[same][0], distinct[same][1] + weight
    total = math.fsum(weight for _, weight in distinct)
    return tuple(
        Candidate(account.format.name, weight / total, account.num_rows, account.seconds, account.num_unread)
        for account, weight in distinct[:_MOST_CANDIDATES]
    )


def _is_same(one: Account, other: Account) -> bool:
    return one.num_rows == other.num_rows and math.isclose(one.seconds, other.seconds, rel_tol=_SAME)
