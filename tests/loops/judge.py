"""Whether an answer about a printed loop is right: last step, time of a step, total time, stops, end."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from tests.loops.printed_loops import EVALUATION, RUNNING, SUMS, TIMED_EVALUATIONS, Style, Truth

Verdict = Literal["right", "partly", "wrong", "refused"]
SURE = 0.5


class Judged(NamedTuple):
    """The verdict, what falls short, and the confidence of the answer."""

    verdict: Verdict
    faults: list[str]
    confidence: float

    @property
    def is_wrong_and_sure(self) -> bool:
        return self.verdict == "wrong" and self.confidence > SURE


def judge(document: dict[str, Any], style: Style, truth: Truth) -> Judged:
    """Hold a report's document against the truth."""
    confidence = document["reading"]["confidence"]
    typical = document["step"]["typical_s"]
    if typical is None:
        return Judged("refused", ["no time of a step"], confidence)
    wrong = [*_steps(document, style, truth), *_total(document, style, truth)]
    partly = [*_stops(document, style, truth), *_end(document, truth)]
    return Judged("wrong" if wrong else "partly" if partly else "right", wrong + partly, confidence)


def _steps(document: dict[str, Any], style: Style, truth: Truth) -> list[str]:
    last, typical, step_s = document["source"]["last_step"], document["step"]["typical_s"], truth.step_s
    accepted = {truth.last}
    if style.unit == "epoch":
        accepted = {truth.last // truth.batches}
        step_s *= truth.batches
    elif style.unit == "batch":
        accepted |= {truth.last - 1}
    if truth.state == "finished" or truth.last + truth.every > truth.total:
        accepted |= {truth.steps, truth.steps - 1}  # the last need not be printed
    # Of rows that are epochs and whose clock runs on, what stops took may be a part that nothing tells apart.
    each_stop_s = (truth.evaluation_s / max(1, truth.evaluations)) + (truth.save_s / max(1, truth.saves))
    is_told = style.is_stamped and style.evaluation != "none" and not style.save.startswith("Saving")
    inside_s = 0.0 if style.unit != "epoch" or is_told or (style.time in SUMS and style.restarts_timer) else each_stop_s
    faults = [] if last in accepted else [f"last step {last}, not {sorted(accepted)}"]
    if not 0.9 * step_s <= typical <= 1.1 * (step_s + inside_s):
        faults.append(f"a step takes {typical:.4g} s, not {step_s:.4g}")
    return faults


def _total(document: dict[str, Any], style: Style, truth: Truth) -> list[str]:
    if not (style.is_stamped or style.time in RUNNING):
        return []
    wall_s = document["wall_s"]
    is_near = 0.85 * truth.train_s - 3 <= wall_s <= 1.1 * truth.wall_s + 3
    return [] if is_near else [f"total {wall_s:.5g} s, not {truth.wall_s:.5g}"]


def _stops(document: dict[str, Any], style: Style, truth: Truth) -> list[str]:
    ledger = {entry["phase"]: entry for entry in document["ledger"]}
    found = ledger.get("evaluation", {})
    count, seconds = found.get("count") or 0, found.get("seconds") or 0.0
    if style.evaluation == "none":
        return [f"{count} evaluations that there were not"] if count else []
    faults = [] if abs(count - truth.evaluations) <= 1 else [f"{count} evaluations, not {truth.evaluations}"]
    tells = style.is_stamped and (style.unit == "epoch" or bool(EVALUATION[style.evaluation][0]))
    if (tells or style.evaluation in TIMED_EVALUATIONS) and truth.evaluation_s > 0.03 * truth.wall_s:
        slack = 2 * truth.evaluations + truth.save_s
        if not 0.75 * truth.evaluation_s - slack <= seconds <= 1.25 * truth.evaluation_s + slack:
            faults.append(f"evaluations took {seconds:.4g} s, not {truth.evaluation_s:.4g}")
    return faults


def _end(document: dict[str, Any], truth: Truth) -> list[str]:
    state = document["state"]["value"]
    if truth.state and state != truth.state:
        return [f"{state}, not {truth.state}"]
    died = {"crashed", "out_of_memory", "interrupted", "killed", "finished"}
    if not truth.state and state in died and truth.last + 2 * truth.every < truth.total:
        return [f"{state}, but it goes on"]
    total = document["settings"].get("max_steps") or {}
    return ["no total"] if truth.tells_total and not truth.state and total.get("value") is None else []
