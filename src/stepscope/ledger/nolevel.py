"""Logs that print no normal step: where its level comes from then, and what is left to say without one."""

from __future__ import annotations

import math

import numpy as np

from stepscope.ledger import priors
from stepscope.ledger.phases import Ledger, Phase, PhaseTotal
from stepscope.run import NO_TIME, Run
from stepscope.stops import Stop
from stepscope.units import NS


def level_between(run: Run, stops: list[Stop]) -> tuple[float, float] | None:
    """The level where every printed step also evaluates, and how far off it may be, as a share.

    From the stamps of the silent steps between, else from what an evaluation should cost in steps.
    """
    steps = run.steps
    if len(steps.t_ns) and len(steps) > 1:
        silent = np.diff(steps.step) - steps.span[1:]
        known = (
            (np.diff(steps.segment) == 0) & (silent > 0) & (steps.t_ns[1:] != NO_TIME) & (steps.t_ns[:-1] != NO_TIME)
        )
        levels = (np.diff(steps.t_ns) / NS - steps.seconds[1:])[known] / silent[known]
        if len(levels[levels > 0]):
            return float(np.median(levels[levels > 0])), 0.03
    prior = priors.evaluation_steps(run.settings, run.format)
    rows = [stop for stop in stops if stop.row is not None and stop.evaluated]
    if prior is None or not rows:
        return None
    later = [stop for stop in rows if stop.step > run.format.first_step] or rows
    save_s = priors.checkpoint_seconds(run.settings, run.format).median
    left = [float(steps.seconds[s.row]) - (save_s if s.saved else 0.0) for s in later if s.row is not None]
    middle = float(np.median(left))
    # A guess at a sum whose parts are all guesses: good to a factor of two or so.
    return (middle / (1 + prior.median), 0.6) if middle > 0 else None


def without_level(run: Run, phase: Phase) -> Ledger:
    """No normal step was printed: the printed seconds are all that can be said."""
    printed = int((run.steps.dur_ns * run.steps.span).sum()) if len(run) else 0
    seconds = printed / NS
    whole = PhaseTotal(
        phase=phase,
        seconds=seconds,
        low_s=0.0,
        high_s=seconds,
        basis="assumed",
        ns=printed,
        num=len(run),
        share=1.0,
    )
    steps = run.steps
    silent = len(run) > 1 and bool((np.diff(steps.step) > steps.span[1:])[np.diff(steps.segment) == 0].any())
    return Ledger(
        wall_ns=printed,
        wall_low_s=seconds,
        wall_high_s=math.inf if silent else seconds,
        phases=(whole,) if printed else (),
        slow=(),
        step=None,
        evaluation_price=None,
        checkpoint_price=None,
        split="none",
        stamps_unusable=False,
    )
