"""What ledger, forecast, advice and cadence must agree on, for any report: each breach as a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from stepscope.analysis.report import Report
from stepscope.core.message import Seconds
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.ledger.phases import PhaseTotal, Price
from stepscope.report.wording.summary import DEAD, leading_alarm, summary

# A typical price may be this many times the mean of what was booked, which one odd stop can raise further.
_FACTOR = 2.5
# Nobody plans a training of more than thirty years.
_LONGEST_S = 31 * 366 * 86_400.0
# Figures that are differences: an advice may cost seconds, and a drift may be either way.
_SIGNED = frozenset({"saves_s", "saves_low_s", "saves_high_s", "costs_s"})
# What an interval is of, by the key next to `low_s` and `high_s`.
_MIDDLES = ("seconds", "typical_s", "remaining_s", "each_s")
_LEAST_SHARE = 0.01
_MOST_ALARMS = 10
UNCOUNTED = "the forecast assumes no evaluation where the ledger has some"


def breaches(report: Report) -> list[str]:
    """The laws that a report breaks."""
    return [
        *_ledger(report),
        *_prices(report),
        *_forecast(report),
        *_advice(report),
        *_findings(report),
        *_lost_work(report),
        *_speed(report),
        *_answer(report),
    ]


def _answer(report: Report) -> Iterator[str]:
    """The third of the three lines names the largest cost, and calls nothing fine that nothing timed."""
    if report.state.value in DEAD or leading_alarm(report) is not None:
        return
    key = summary(report)[-1].key
    untimed = [total.phase for total in report.ledger.phases if total.is_unpriced and total.num]
    if key == "summary-healthy" and {"evaluation", "checkpoint"} & set(untimed):
        yield f"nothing to fix, though nothing times {untimed}"
    outside = report.ledger.seconds("unlogged")
    largest = max((one.seconds for one in report.findings), default=0.0)
    if key.startswith("cost-") and outside > largest and outside > _LEAST_SHARE * report.ledger.wall_s:
        yield f"the largest cost is said to be {largest} s, and {outside} s are in no line"


def _ledger(report: Report) -> Iterator[str]:
    ledger = report.ledger
    if ledger.step is not None and not 0 <= ledger.step.low_s <= ledger.step.typical_s <= ledger.step.high_s:
        yield f"a step takes {ledger.step.typical_s} s, outside {ledger.step.low_s} to {ledger.step.high_s} s"
    if ledger.wall_low_s < 0:
        yield f"the wall time may be {ledger.wall_low_s} s"
    for total in ledger.phases:
        if total.seconds < 0:
            yield f"{total.phase} is {total.seconds} s"
        if not total.low_s <= total.seconds <= total.high_s:
            yield f"{total.phase} {total.seconds} s is outside {total.low_s} to {total.high_s} s"
    if sum(total.ns for total in ledger.phases) != ledger.wall_ns:
        yield "the phases do not add up to the wall time"
    if not ledger.wall_low_s <= ledger.wall_s <= ledger.wall_high_s:
        yield "the wall time is outside its interval"


def _of(report: Report, phase: str) -> tuple[PhaseTotal | None, Price | None]:
    ledger = report.ledger
    total = next((own for own in ledger.phases if own.phase == phase), None)
    return total, ledger.evaluation_price if phase == "evaluation" else ledger.checkpoint_price


def _timed_often(report: Report, phase: str, total: PhaseTotal) -> bool:
    """Whether the ledger's seconds are those of most stops, and not only of one after the last step."""
    run = report.run
    own = [stop for stop in run.stops if (stop.evaluated if phase == "evaluation" else stop.saved)]
    return 2 * total.num >= len(own) and (not own or any(stop.next_row < len(run) for stop in own))


def _prices(report: Report) -> Iterator[str]:
    if report.run.num_trainings > 1:
        return  # the seconds are of all trainings, the prices the last one's
    for phase in ("evaluation", "checkpoint"):
        total, price = _of(report, phase)
        if total is None or not total.seconds or not total.num:
            continue
        if price is None:
            if _timed_often(report, phase, total):
                yield f"{total.num} x {phase} took {total.seconds:.3g} s, and one has no price"
        elif price.seconds * total.num > _FACTOR * total.high_s:
            yield f"{phase}: {total.num} x {price.seconds:.3g} s is not {total.seconds:.3g} s"


def _forecast(report: Report) -> Iterator[str]:
    end = report.forecast
    if isinstance(end, NoForecast):
        if end.level_s is not None and end.level_s < 0:
            yield f"a step takes {end.level_s} s"
        if end.ahead is not None and end.level_s is not None and end.ahead.seconds < 999 * end.level_s:
            yield "the next steps take less than they would without evaluations"
        return
    if not 0 <= end.remaining_s < _LONGEST_S:
        yield f"{end.remaining_s} s are left"
    if not 0 <= end.low_s <= end.remaining_s <= end.high_s:
        yield "the time left is outside its interval"
    parts = [left.seconds for left in end.left.values() if left.seconds is not None]
    if any(part < -1e-6 for part in parts):
        yield f"a part of what is left is negative: {parts}"
    if math.fsum(parts) > end.remaining_s * 1.001 + 1e-6:
        yield f"what is left, {math.fsum(parts)} s, is more than the {end.remaining_s} s in all"
    for phase in ("evaluation", "checkpoint"):
        yield from _left(report, end, phase)


def _left(report: Report, end: Forecast, phase: str) -> Iterator[str]:
    total, price = _of(report, phase)
    left = end.left[phase]
    if total is None or not total.seconds or not left.num:
        return
    if left.seconds is None and price is not None:
        yield f"{left.num} x {phase} to come cost nothing known, {total.num} so far {total.seconds:.3g} s"


def _advice(report: Report) -> Iterator[str]:
    situation = report.situation
    if not situation.is_future:
        total, _ = _of(report, "evaluation")
        booked = total.seconds if total else 0.0
        if situation.evaluations_s > booked * (1 + 1e-6):
            yield f"the advice counts {situation.evaluations_s} s of evaluations, the ledger {booked} s"
    elif isinstance(report.forecast, Forecast):
        left = report.forecast.left["evaluation"].seconds
        if left is not None and not math.isclose(situation.evaluations_s, left, rel_tol=1e-6, abs_tol=1e-6):
            yield f"the advice counts {situation.evaluations_s} s of evaluations to come, the forecast {left} s"
    evaluated = any(stop.evaluated for stop in report.run.stops)
    if evaluated and not isinstance(report.forecast, NoForecast):
        said = {message.key for message in report.forecast.assumptions}
        if "assume-no-evaluations" in said and report.ledger.seconds("evaluation") > 0:
            yield UNCOUNTED


def _findings(report: Report) -> Iterator[str]:
    wall_s, found = report.ledger.wall_s, report.findings
    for one in found:
        if not 0 <= one.low_s <= one.seconds <= one.high_s:
            yield f"finding {one.code}: {one.seconds} s is outside {one.low_s} to {one.high_s} s"
        if not math.isclose(one.share * wall_s, one.seconds, rel_tol=1e-6, abs_tol=1e-6):
            yield f"finding {one.code}: {one.seconds} s is not {one.share} of {wall_s} s"
    if math.fsum(one.seconds for one in found) > wall_s * 1.001:
        yield "the findings have more seconds than the run"
    if [one.seconds for one in found] != sorted((one.seconds for one in found), reverse=True):
        yield "the costliest finding is not the first"
    for one in found:
        if one.share < _LEAST_SHARE:
            yield f"finding {one.code} costs {one.share:.2%} of the time: not worth a word"
    best = report.best
    if best is not None and not 0 <= best.share_after <= 1:
        yield f"{best.share_after} of the run came after its best evaluation"


def _lost_work(report: Report) -> Iterator[str]:
    """What the alarms of restarts call lost is what the finding does, where none is left out for another finding.

    Within its interval: what of those iterations was a wait for data is another finding's.
    """
    alarms = [alarm.message.args["lost"] for alarm in report.alarms if alarm.code == "restarted"]
    finding = next((one for one in report.findings if one.code == "lost_work"), None)
    is_past = any(one.code == "after_best" for one in report.findings)
    if finding is None or is_past or len(alarms) >= _MOST_ALARMS:
        return
    lost_s = math.fsum(one.value for one in alarms if isinstance(one, Seconds))
    if not 0.98 * finding.low_s <= lost_s <= 1.02 * finding.high_s:
        yield f"{lost_s:.4g} s were lost by the alarms and {finding.seconds:.4g} s by the finding"


def _speed(report: Report) -> Iterator[str]:
    """Trend, alarm and findings: one slowdown begins and ends at one place, and has one level."""
    trend = report.trend
    alarm = next((one.message.args for one in report.alarms if one.code == "slowdown"), None)
    slower = [one.message.args for one in report.findings if one.code == "slower"]
    key, said = (trend.message.key, trend.message.args) if trend is not None else ("", {})
    if slower and key == "trend-steady":
        yield "a stretch was slower, and the trend says that there is no slowdown"
    if alarm is None:
        return
    if said.get("pace") == "faster" and key.startswith(("trend-since", "trend-along")):
        yield "an alarm says that the run got slower, the trend that it got faster"
    for one in slower:
        is_same = one["first"] == alarm["step"] or one["normal"] != alarm["before"]
        if report.best is None and one is slower[0] and not is_same and one["level"] == alarm["after"]:
            yield f"slower since {alarm['step']} by the alarm, since {one['first']} by the finding"
    if key.startswith("trend-since") and said["before"] == alarm["before"] and said["step"] != alarm["step"]:
        yield f"slower since {alarm['step']} by the alarm, since {said['step']} by the trend"


def document_breaches(document: Any, place: str = "") -> Iterator[str]:
    """What is wrong with the figures of a JSON document: seconds below zero, figures outside their own interval."""
    if isinstance(document, list):
        for number, inner in enumerate(document):
            yield from document_breaches(inner, f"{place}[{number}]")
    if not isinstance(document, dict):
        return
    for name, value in document.items():
        is_seconds = name == "seconds" or name.endswith("_s")
        if is_seconds and isinstance(value, (int, float)) and value < 0 and name not in _SIGNED:
            yield f"{place}.{name} is {value}"
        yield from document_breaches(value, f"{place}.{name}")
    yield from _interval_breaches(document, place)


def _interval_breaches(document: Mapping[str, Any], place: str) -> Iterator[str]:
    for low, middles, high in (("low_s", _MIDDLES, "high_s"), ("wall_low_s", ("wall_s",), "wall_high_s"),
                               ("saves_low_s", ("saves_s",), "saves_high_s"),
                               ("finish_low_at", ("finish_at",), "finish_high_at")):  # fmt: skip
        found = [document.get(name) for name in (low, *middles, high)]
        known = [value for value in found if value is not None]
        if known != sorted(known):
            yield f"{place}: {low} to {high} is {known}"
