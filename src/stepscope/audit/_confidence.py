"""How sure a reading is, from its checks: a logistic model with few weights, none of which rewards a doubt.

The weights are set by hand with the fit of `tools/calibrate_reading.py` at hand, and lean towards doubt: few logs whose
truth is known are read wrongly, and a fit on so few would be too sure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from stepscope.audit._base import AuditEvidence, Check
from stepscope.run.model import Run

# How far each doubt of strength 1 lowers the odds, as a power of e.
WEIGHTS = {
    "R01": 3.5,
    "R02": 3.5,
    "R03": 1.5,
    "R04": 2.5,
    "R05": 4.0,
    "R06": 3.0,
    "R07": 3.5,
    "R08": 3.0,
    "R09": 1.0,
    "R10": 3.0,
    "R11": 2.0,
    "R12": 2.5,
    "R13": 1.0,
}
BASE = 2.5
# A time that no second clock confirms: little for a format that is known, most of the odds for one that is not.
UNCONFIRMED_KNOWN = 0.5
UNCONFIRMED_GUESSED = 2.3
UNCONFIRMED_STAMPS = 1.2  # timestamps alone: their unit is known, but not which lines are steps
UNCONFIRMED_EACH = 1.2  # a line for every step, with a time and its unit: there is no other interval it could be of
_NEARLY_ALL = 0.9  # of the lines; a training that begins again counts from 1
_CONFIRMED = {f"infer-because-{reason}" for reason in ("stamps", "clock", "rate", "total")}


def unconfirmed(checks: Sequence[Check], evidence: AuditEvidence) -> float:
    """The odds lost because no second clock confirms the first."""
    clocks = next((check for check in checks if check.code == "R01"), None)
    inferred = evidence.run.format.inferred
    if clocks is not None and clocks.verdict == "agrees":
        return 0.0
    if inferred is None:
        return UNCONFIRMED_KNOWN
    # Reading the log, another figure of it may have been found to say the same.
    reasons = {assumption.because.key for assumption in inferred.assumptions if assumption.because is not None}
    if reasons & _CONFIRMED:
        return UNCONFIRMED_KNOWN
    if "infer-because-left" in reasons:
        return UNCONFIRMED_STAMPS  # the same program's figure, but worked out from count and clock together
    if "infer-because-unit" in reasons and _times_each_step(evidence.run):
        return UNCONFIRMED_EACH
    return UNCONFIRMED_STAMPS if evidence.run.clock.is_wall else UNCONFIRMED_GUESSED


def _times_each_step(run: Run) -> bool:
    """Whether a line for every step says what that step took: no running clock, and no step left unprinted."""
    return run.clock.is_per_step and bool((np.diff(run.steps.step) == 1).mean() > _NEARLY_ALL)


def confidence_of(checks: Sequence[Check], evidence: AuditEvidence) -> float:
    """How likely the reading is right: 0 to 1."""
    odds = BASE - unconfirmed(checks, evidence)
    odds -= sum(WEIGHTS.get(check.code, 1.0) * check.doubt for check in checks)
    return round(1 / (1 + math.exp(-odds)), 3)
