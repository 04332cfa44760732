"""How sure a reading is, from its checks: a logistic model with few weights, none of which rewards a doubt.

The weights are set by hand with the fit of `tools/calibrate_reading.py` at hand, and lean towards doubt: few logs whose
truth is known are read wrongly, and a fit on so few would be too sure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from stepscope.audit._base import AuditEvidence, Check

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
UNCONFIRMED_UNIT = 1.2  # timestamps alone, a bar's clock, a printed unit: only what they are the time of is unsure
# The time left is the same program's figure, but worked out from count and clock together.
_OF_ITS_MAKER = {"infer-because-left", "infer-because-meter"}
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
    keys = {assumption.message.key for assumption in inferred.assumptions}
    # Of a clock that runs on, the unit is the least: what it counts from, and how often, is not printed.
    has_unit = "infer-because-unit" in reasons and "infer-time-clock" not in keys
    is_known = evidence.run.clock.is_wall or has_unit or "infer-time-bar" in keys or reasons & _OF_ITS_MAKER
    return UNCONFIRMED_UNIT if is_known else UNCONFIRMED_GUESSED


def confidence_of(checks: Sequence[Check], evidence: AuditEvidence) -> float:
    """How likely the reading is right: 0 to 1."""
    odds = BASE - unconfirmed(checks, evidence)
    odds -= sum(WEIGHTS.get(check.code, 1.0) * check.doubt for check in checks)
    return round(1 / (1 + math.exp(-odds)), 3)
