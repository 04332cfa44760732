"""Open questions of a report, and the command, setting or printed figure that would settle each."""

from __future__ import annotations

import numpy as np

from stepscope.analysis.report import Report
from stepscope.core.message import Message, say
from stepscope.ledger.periods import ENOUGH_EVENTS
from stepscope.ledger.phases import PhaseTotal, SlowStep

TIMESTAMP_COMMAND = "python -u train.py … 2>&1 | ts '%.s' | tee train.log"
# With fewer unresolved events than this, more of them are not asked for.
_LEAST_EVENTS = 3
# A checkpoint whose seconds are not known to a fifth either way is not settled.
_UNSETTLED = 0.2
# On made-up logs a second cost of the same steps was found in 12 of 100 with 6 to 12 events, in 98 of 100 with more
# than 20.
_RESOLVABLE = 20


def what_would_settle(report: Report, slow: SlowStep | None = None) -> list[Message]:
    """What to look at or print so that the unexplained would have a cause; empty when nothing is unexplained.

    Without `slow` the question is about every slow step and every level that is slower than the one before.
    """
    ledger = report.ledger
    if slow is not None:
        slow_steps, has_slower_level = [slow], False
    else:
        slow_steps = list(ledger.slow)
        has_slower_level = any(level.change is not None and level.change > 0 for level in ledger.levels)
    unexplained = [one for one in slow_steps if one.cause == "unexplained"]
    found = _for_steps(report, unexplained) if unexplained else []
    if (unexplained or has_slower_level) and report.hardware is None and not _is_on_cpu(report):
        found.append(say("settle-gpu"))
    return found


def _for_steps(report: Report, unexplained: list[SlowStep]) -> list[Message]:
    """What the log would have to hold to explain these steps."""
    run, ledger = report.run, report.ledger
    found = []
    if not len(run.steps.t_ns):
        found.append(say("settle-stamps", command=TIMESTAMP_COMMAND))
    if not np.isfinite(run.steps.data_s).any() and "data" not in run.events.kind:
        found.append(say("settle-data"))
    if any(finding.code == "C08" for slow in unexplained for finding in slow.candidates):
        found.append(say("settle-gc"))
    # Only of steps that are listed: smaller bumps are in no list, so the reader could not know which are meant.
    if _LEAST_EVENTS <= ledger.periods.unresolved <= min(len(unexplained), ENOUGH_EVENTS - 1):
        found.append(say("settle-events", count=ledger.periods.unresolved, enough=ENOUGH_EVENTS))
    if (run.settings.count("world_size") or 1) > 1 and not run.ranks:
        found.append(say("settle-ranks"))
    return found


def _is_on_cpu(report: Report) -> bool:
    settings = report.run.settings
    return "device" in settings and str(settings["device"].value).startswith("cpu")


def about_split(report: Report) -> list[Message]:
    """How the seconds of evaluation and checkpoint were separated, and what would make that sure.

    Empty when the run has no checkpoint or when the log prints how long its checkpoints took.
    """
    ledger = report.ledger
    checkpoint = next((total for total in ledger.phases if total.phase == "checkpoint"), None)
    if ledger.split == "none" or checkpoint is None:
        return []
    if checkpoint.basis == "measured" and ledger.split in {"model", "guess"}:
        return []
    # The number of batches is known only of a trainer that evaluates the same number of each split.
    is_plain = ledger.split == "guess" and report.run.format.habits.evaluation.num_splits is None
    found = [say("split-guess-plain" if is_plain else f"split-{ledger.split}")]
    if _is_wide(checkpoint):
        if ledger.split == "contrast" and report.num_evaluations < _RESOLVABLE:
            found.append(say("split-not-yet", count=report.num_evaluations, needed=_RESOLVABLE))
        if report.run.stamps is None and ledger.split in {"first-step", "model", "guess"}:
            found.append(say("split-settle", command=TIMESTAMP_COMMAND))
    return found


def _is_wide(total: PhaseTotal) -> bool:
    return total.high_s - total.low_s > 2 * _UNSETTLED * total.seconds
