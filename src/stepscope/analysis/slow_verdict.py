"""Whether the slow steps are as they should be: what a reader who is worried about them asks first."""

from __future__ import annotations

from typing import Literal, NamedTuple

from stepscope.analysis.report import Report
from stepscope.ledger.phases import SlowStep

VerdictKind = Literal["none", "normal", "costly", "explained", "unexplained"]

_PLANNED = frozenset({"evaluation", "checkpoint", "warmup"})
# Evaluations and checkpoints above this share of the time are explained, but nobody should be told not to worry.
_MOST_NORMAL = 0.1
# Any other cost of this share of the time is a reason to worry.
_WORTH_A_WORRY = 0.03
_GOES_ON = frozenset({"running", "finished", "stopped", "unknown"})


class SlowVerdict(NamedTuple):
    """The kind of answer, the slow steps that nothing explains, and the share of time that stops take."""

    kind: VerdictKind
    unexplained: tuple[SlowStep, ...]
    share: float


def judge_slow(report: Report) -> SlowVerdict:
    """Planned stops that cost little are normal, in a run that has no other trouble."""
    slow, share = report.ledger.slow, stops_share(report)
    unexplained = tuple(one for one in slow if one.cause == "unexplained")
    if not slow:
        kind: VerdictKind = "none"
    elif unexplained:
        kind = "unexplained"
    elif not all(one.cause in _PLANNED for one in slow) or has_other_trouble(report):
        kind = "explained"
    else:
        kind = "costly" if share > _MOST_NORMAL else "normal"
    return SlowVerdict(kind, unexplained, share)


def stops_share(report: Report) -> float:
    """The share of the time that evaluations and checkpoints take: of what is left, else of what was logged."""
    situation = report.situation
    if situation.is_future and situation.horizon_s:
        return (situation.evaluations_s + situation.checkpoints_s) / situation.horizon_s
    ledger = report.ledger
    return (ledger.seconds("evaluation") + ledger.seconds("checkpoint")) / ledger.wall_s if ledger.wall_s else 0.0


def has_other_trouble(report: Report) -> bool:
    """A death, an alarm, a doubtful reading, or a cost that is neither planned nor small."""
    return (
        report.state.value not in _GOES_ON
        or any(alarm.severity == "error" for alarm in report.alarms)
        or report.reading.is_doubtful
        or any(one.share >= _WORTH_A_WORRY for one in report.findings if one.code not in _PLANNED)
    )
