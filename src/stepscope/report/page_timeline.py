"""The lanes of the timeline: which there are, and what their legends say. The script draws them."""

from __future__ import annotations

from typing import Any

from stepscope.analysis.report import Report
from stepscope.i18n import Language
from stepscope.ledger.accounts import ORDER
from stepscope.report import templating
from stepscope.report.page_data import printed_every
from stepscope.report.wording.sentence import capital

_MOVES = (("in", "+"), ("out", "−"), ("left", "←"), ("right", "→"), ("all", "↔"))


def timeline(report: Report, language: Language, drawn: dict[str, Any]) -> str:
    """The section, its charts still empty."""
    lanes = [_level_lane(report, language), _stop_lane(language, drawn), *_curves(report, language, drawn)]
    return templating.render(
        "run_timeline.html",
        language,
        moves=[(move, sign, language.text(f"page-zoom-{move}")) for move, sign in _MOVES],
        lanes=[lane for lane in lanes if lane is not None],
    )


def _lane(name: str, text: str, *marks: tuple[str, str]) -> dict[str, Any]:
    return {"id": name, "name": capital(text), "marks": marks}


def _line(color: str) -> str:
    return f'<path class="line-{color}" d="M0 5H10"/>'


def _square(phase: str) -> str:
    return f'<rect class="{phase}" width="10" height="10" rx="2"/>'


def _level_lane(report: Report, language: Language) -> dict[str, Any]:
    every = printed_every(report)
    marks = [('<circle class="step" cx="5" cy="5" r="3"/>', language.text("page-normal"))]
    if bool((report.run.steps.span > 1).any()):
        marks.append((_line("step"), language.text("page-window-mark")))
    if every > 1:
        marks.append(('<path class="silent" d="M0 5H10"/>', language.text("page-unprinted", count=every)))
    if report.ledger.step is not None and len(report.ledger.step.regimes) > 1:
        marks.append(('<path class="level" d="M0 5H10"/>', language.text("page-level")))
    return _lane("level", language.text("page-lane-level"), *marks)


def _stop_lane(language: Language, drawn: dict[str, Any]) -> dict[str, Any] | None:
    if not drawn["stops"]:
        return None
    shown = {phase for stop in drawn["stops"] for phase, _ in stop[3]}
    marks = [(_square(phase), language.text(f"phase-{phase}")) for phase in ORDER if phase in shown]
    return _lane("stops", language.text("page-lane-stops"), *marks)


def _curves(report: Report, language: Language, drawn: dict[str, Any]) -> list[dict[str, Any]]:
    """Loss, throughput and GPU, as far as the log and the samples have them."""
    found = []
    if drawn["loss"]:
        marks = [(_line("accent"), language.text("page-training-loss"))]
        if any(value is not None for value in drawn["loss"]["validation"]):
            marks.append((_line("warmup"), language.text("page-validation")))
        found.append(_lane("loss", language.text("live-loss"), *marks))
    if drawn["throughput"]:
        key = "page-tokens-rate" if report.tokens_per_s else "page-steps-rate"
        found.append(_lane("throughput", language.text(key)))
    samples = drawn["cards"]
    for name, lines in (("card-load", ("load", "memory")), ("card-power", ("power", "temperature"))):
        known = [one for one in lines if samples and any(value is not None for value in samples[one])]
        colors = dict(zip(lines, ("step", "evaluation") if name == "card-load" else ("warmup", "stall"), strict=True))
        if known:
            marks = [(_line(colors[one]), language.text(f"page-gpu-{one}")) for one in known]
            found.append(_lane(name, language.text("page-gpu"), *marks))
    return found
