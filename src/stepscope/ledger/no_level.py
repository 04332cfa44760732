"""Logs that print no normal step: where its level comes from then, and what is left to say without one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.ledger import priors
from stepscope.ledger.accounts import Books
from stepscope.ledger.outside import begin_ns
from stepscope.ledger.phases import Ledger, NormalStep, Phase, PhaseTotal, Regime
from stepscope.ledger.timestamps import has_stamped_rows
from stepscope.run.ending import find_ending
from stepscope.run.model import NO_TIME, Run
from stepscope.run.stops import Stop


def level_between(run: Run, stops: Sequence[Stop]) -> tuple[float, float] | None:
    """The level where every printed step also evaluates, and how far off it may be, as a share.

    From the timestamps of the silent steps between, else from what an evaluation should cost in steps.
    """
    steps = run.steps
    if len(steps.t_ns) and len(steps) > 1:
        silent = np.diff(steps.step) - steps.span[1:]
        known = (
            (np.diff(steps.segment) == 0) & (silent > 0) & (steps.t_ns[1:] != NO_TIME) & (steps.t_ns[:-1] != NO_TIME)
        )
        levels = (np.diff(steps.t_ns) / NS - steps.seconds[1:])[known] / silent[known]
        if len(levels[levels > 0]):
            return float(median(levels[levels > 0])), 0.03
    prior = priors.evaluation_steps(run.settings, run.format)
    rows = [stop for stop in stops if stop.row is not None and stop.evaluated]
    if prior is None or not rows:
        return None
    later = [stop for stop in rows if stop.step > run.format.layout.first_step] or rows
    save_s = priors.checkpoint_seconds(run.settings, run.format).median
    row_s = steps.seconds
    left = [float(row_s[s.row]) - (save_s if s.saved else 0.0) for s in later if s.row is not None]
    middle = float(median(left))
    # A guess at a sum whose parts are all guesses: good to a factor of two or so.
    return (middle / (1 + prior.median), 0.6) if middle > 0 else None


def without_level(run: Run, stops: Sequence[Stop]) -> Ledger:
    """No normal step was printed: what lines say of their own time, and the rest of the printed seconds as a whole."""
    steps = run.steps
    printed_s = float(steps.seconds.sum()) if len(run) else 0.0
    whole_s = max((runtime.seconds for runtime in run.runtimes if runtime.row == len(run)), default=0.0)
    if len(run) and not printed_s and whole_s:
        return _by_runtime(run, stops, whole_s)
    timed = [stop for stop in stops if stop.row is not None and stop.is_inside]
    books = Books(z=0.0)
    num_printed = _add_printed_evaluations(books, timed, printed_s)
    rest_s = printed_s - books.seconds
    # A trainer that prints single steps evaluates for most of such a row; a row that covers many is mostly steps.
    phase: Phase = "warmup"
    if timed:
        phase = "evaluation" if run.clock.is_per_step else "step"
    if rest_s > 0:
        books[phase].add(rest_s, "assumed", num=int(steps.span.sum()) if phase == "step" else steps.num_printed)
        if not num_printed:
            books[phase].doubt("unknown", rest_s, 0.0)
    unlogged_s = _unlogged_s(run, books.seconds)
    if unlogged_s > 0:
        books["unlogged"].add(unlogged_s, "measured")
    totals, wall_ns = books.close()
    is_complete = unlogged_s > 0 or not _has_unprinted_steps(run)
    return _plain(totals, wall_ns, wall_ns / NS if is_complete else math.inf)


def _unlogged_s(run: Run, booked_s: float) -> float:
    """Seconds between the first and the last timestamp beyond those booked; 0 where too few steps have one."""
    if run.stamps is None or not len(run) or not has_stamped_rows(run):
        return 0.0
    return (run.stamps.last_ns - begin_ns(run)) / NS - booked_s


def _has_unprinted_steps(run: Run) -> bool:
    steps = run.steps
    return len(run) > 1 and bool((np.diff(steps.step) > steps.span[1:])[np.diff(steps.segment) == 0].any())


def _by_runtime(run: Run, stops: Sequence[Stop], whole_s: float) -> Ledger:
    """No step has a time, but the log says at its end how long the whole took."""
    books = Books(z=0.0)
    _add_printed_evaluations(books, stops, whole_s)
    rest_s = whole_s - books.seconds
    last, ending = int(run.steps.step[-1]), find_ending(run)
    if ending is not None and ending.value == "finished" and ending.step is not None:
        last = max(last, ending.step)  # those after the last line were done, too
    num = last - run.format.layout.first_step + 1
    if rest_s > 0:
        # Saving, loading and starting are part of the rest; the log does not say how much of it.
        books["step"].add(rest_s, "inferred", num=num)
        books["step"].doubt("unknown", rest_s, 0.0)
    totals, wall_ns = books.close()
    return _plain(totals, wall_ns, wall_ns / NS)._replace(step=_mean_step(run, rest_s, num))


def _mean_step(run: Run, seconds: float, num: int) -> NormalStep | None:
    """The mean of all steps, where the whole is one process's that began with the first of them."""
    if seconds <= 0 or num <= 0 or len(run.segments) != 1 or not _begins_at_first(run):
        return None
    steps, mean = run.steps, seconds / num
    whole = Regime(int(steps.step[0]), int(steps.step[-1]), first_row=0, last_row=len(run) - 1, typical_s=mean)
    return NormalStep(mean, mean, mean, num_rows=0, rows=np.zeros(0, dtype=np.int64), regimes=(whole,))


def _begins_at_first(run: Run) -> bool:
    """Whether the first printed step is the first, or as far from it as the second is from the first printed one."""
    steps, before = run.steps.step, run.format.layout.first_step - 1
    return run.segments[0].fresh or (len(steps) > 1 and int(steps[0]) - before <= int(steps[1] - steps[0]))


def _add_printed_evaluations(books: Books, stops: Sequence[Stop], most_s: float) -> int:
    """Book what evaluations say that they took, `most_s` in all; how many said so."""
    printed = [stop.evaluation_took_s for stop in stops if stop.evaluation_took_s is not None]
    if printed:
        books["evaluation"].add(min(math.fsum(printed), most_s), "measured", num=len(printed))
    return len(printed)


def _plain(totals: tuple[PhaseTotal, ...], wall_ns: int, high_s: float) -> Ledger:
    """A ledger of phases alone."""
    return Ledger(
        wall_ns=wall_ns,
        wall_low_s=wall_ns / NS,
        wall_high_s=high_s,
        phases=totals if wall_ns else (),
        slow=(),
        step=None,
        evaluation_price=None,
        checkpoint_price=None,
        split="none",
        stamps_unusable=False,
    )
