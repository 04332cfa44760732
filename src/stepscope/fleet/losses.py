"""Where a run's seconds were lost, for a fleet: each second in one cause at most.

What a single report leaves out counts here as well, because small shares of many runs are large: everything below a
hundredth of the time, the work after the last checkpoint of a run that died, and what one slow rank cost the others.
A long pause between two starts does not count: nobody knows who had the GPUs in the meantime.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from stepscope.advice._base import Advice
from stepscope.analysis.findings import find_costs
from stepscope.analysis.report import Report
from stepscope.core.units import NS
from stepscope.ledger.phases import Basis
from stepscope.ledger.timeline import row_ends, timeline
from stepscope.run.model import NO_TIME
from stepscope.run.ranks import find_slowest

DIED = frozenset({"crashed", "out_of_memory", "killed", "interrupted"})
# A job that is started again within this time has most likely kept its GPUs, and otherwise not.
LONGEST_GAP_S = 3600.0


class Loss(NamedTuple):
    """Seconds that one cause took, the interval they lie in, what that rests on, and the setting that governs them."""

    code: str
    seconds: float
    low_s: float
    high_s: float
    basis: Basis
    setting: str | None = None


class Account(NamedTuple):
    """What a run's time went into: productive seconds with their interval, and what the log does not explain.

    paused_s
        Between two starts that are more than an hour apart: no time of the run, and in none of the others.
    """

    losses: tuple[Loss, ...]
    paused_s: float
    productive_s: float
    low_s: float
    high_s: float
    unexplained_s: float


def account(report: Report, num_steps: float) -> Account:
    """The account of one run."""
    ledger = report.ledger
    paused_s = _paused_s(report)
    wall_s, unexplained_s = ledger.wall_s - paused_s, ledger.seconds("unlogged")
    costs = find_costs(report.run, ledger, report.best, least_share=0.0)
    losses = [Loss(one.code, one.seconds, one.low_s, one.high_s, one.basis, one.setting) for one in costs]
    losses = _without(losses, paused_s)
    room_s = max(0.0, wall_s - unexplained_s - sum(loss.seconds for loss in losses))
    waits = _waits_for_straggler(report, num_steps)
    if waits is not None and waits.seconds > 0:
        # The rank whose log is read printed its own compute; that it waited shows in the moments of its lines only.
        seconds = min(waits.seconds, unexplained_s)
        unexplained_s -= seconds
        losses.append(
            waits._replace(seconds=seconds, low_s=min(waits.low_s, seconds), high_s=max(seconds, waits.high_s))
        )
    for extra in (_after_last_checkpoint(report), _is_straggler(report, num_steps)):
        if extra is None:
            continue
        seconds = min(extra.seconds, room_s)
        room_s -= seconds
        if seconds > 0:
            high_s = min(extra.high_s, seconds + room_s)
            losses.append(extra._replace(seconds=seconds, low_s=min(extra.low_s, seconds), high_s=max(seconds, high_s)))
    low_s = max(0.0, wall_s - unexplained_s - sum(loss.high_s for loss in losses))
    high_s = min(wall_s, max(room_s, wall_s - sum(loss.low_s for loss in losses)))
    return Account(tuple(losses), paused_s, room_s, min(low_s, room_s), high_s, unexplained_s)


def shows_checkpoints(report: Report) -> bool:
    """Whether the log would show a checkpoint if one were written: many trainers say so only if they are asked to."""
    return num_checkpoints(report) > 0 or report.run.format.habits.prints_checkpoints is True


def num_checkpoints(report: Report) -> int:
    """Checkpoints that the log prints."""
    return sum(stop.saved and stop.printed for stop in report.run.stops)


def saves_logged_s(report: Report, advice: Advice) -> float | None:
    """Seconds that a change would have saved over the run as it was logged; None where the log cannot tell.

    What `Advice` says is about the rest of a run that goes on, and a fleet's runs are mostly over.
    """
    spent_s = sum(report.ledger.seconds(phase) for phase in advice.phases)
    ahead_s = sum(report.situation.phase_left_s(phase) for phase in advice.phases) if spent_s else 0.0
    if not ahead_s > 0 or advice.assumed is not None:
        return None
    return min(1.0, max(0.0, advice.saves_s) / ahead_s) * spent_s


def evaluation_excess_s(report: Report) -> float | None:
    """Seconds of the evaluations that bought no precision worth having; None where the log cannot tell."""
    if not report.situation.phase_left_s("evaluation") > 0:
        return None
    own = (saves_logged_s(report, advice) for advice in report.advice if advice.phases == ("evaluation",))
    return max((seconds for seconds in own if seconds is not None), default=0.0)


def _paused_s(report: Report) -> float:
    """Seconds between the end of a process and the next one's first iteration, where these are more than an hour."""
    steps, found = report.run.steps, 0.0
    if not len(steps.t_ns):
        return found
    for before, after in pairwise(report.run.segments):
        end_ns, row = int(steps.t_ns[before.first_row + before.num_rows - 1]), after.first_row
        if NO_TIME in (end_ns, int(steps.t_ns[row])):
            continue
        seconds = (int(steps.t_ns[row]) - int(steps.dur_ns[row] * steps.span[row]) - end_ns) / NS
        found += seconds if seconds > LONGEST_GAP_S else 0.0
    return min(found, report.ledger.seconds("gap"))


def _without(losses: list[Loss], paused_s: float) -> list[Loss]:
    """The losses without the pauses, which are gaps or, after the best validation loss, part of that."""
    found = []
    for loss in sorted(losses, key=lambda one: one.code != "gap"):
        own_s = min(paused_s, loss.seconds) if loss.code in {"gap", "after_best"} else 0.0
        paused_s -= own_s
        kept = loss._replace(
            seconds=loss.seconds - own_s, low_s=max(0.0, loss.low_s - own_s), high_s=loss.high_s - own_s
        )
        found.append(kept if own_s else loss)
    return sorted((loss for loss in found if loss.seconds > 0), key=lambda one: -one.seconds)


def _after_last_checkpoint(report: Report) -> Loss | None:
    """The training that a run's death threw away; None where it did not die or its checkpoints are not known."""
    state, run, ledger = report.state, report.run, report.ledger
    if state.value not in DIED or not len(run) or not shows_checkpoints(report):
        return None
    saved = [stop for stop in run.stops if stop.saved and stop.printed]
    at_s = 0.0
    if saved:
        last = saved[-1]
        ends, row = row_ends(run, ledger), min(last.next_row if last.row is None else last.row, len(run) - 1)
        at_s = float(ends[row - 1]) if row else 0.0
    seconds = sum(
        min(one.seconds, one.start_s + one.seconds - at_s)
        for one in timeline(run, ledger)
        if one.phase == "step" and one.start_s + one.seconds > at_s
    )
    step = ledger.step
    doubt = (step.high_s - step.low_s) / step.typical_s / 2 if step is not None and step.typical_s else 0.0
    # The mean of many steps is known better than one of them.
    doubt = min(0.5, doubt) / max(1.0, len(run)) ** 0.5
    code = "died_after_checkpoint" if saved else "died_before_checkpoint"
    return Loss(code, seconds, seconds * (1 - doubt), seconds * (1 + doubt), "inferred", "checkpoint_interval")


def _waits_for_straggler(report: Report, num_steps: float) -> Loss | None:
    """What another rank's slowness cost; None where there is none, or it is the rank whose log is read."""
    loss = _straggler(report, num_steps)
    return loss if loss is not None and not _is_own_rank(report) else None


def _is_straggler(report: Report, num_steps: float) -> Loss | None:
    """What the slowness of the rank whose log is read cost; its iterations contain it."""
    return _straggler(report, num_steps) if _is_own_rank(report) else None


def _is_own_rank(report: Report) -> bool:
    slowest = find_slowest(report.run)
    return slowest is not None and slowest.number == min(rank.number for rank in report.run.ranks)


def _straggler(report: Report, num_steps: float) -> Loss | None:
    slowest = find_slowest(report.run)
    if slowest is None:
        return None
    seconds = (slowest.typical_s - slowest.others_s) * num_steps
    return Loss("straggler", seconds, 0.9 * seconds, 1.1 * seconds, "inferred")
