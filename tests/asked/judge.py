"""Reads a pasted log and holds the answer against what a good one says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import stepscope
from stepscope.core.errors import StepscopeError
from stepscope.i18n import Language
from stepscope.report import terminal
from tests.asked.cases import Case

LOGS = Path(__file__).parent / "logs"
_WITHIN = 0.10


class Answer(NamedTuple):
    """What Stepscope says about a log: nothing in `document` where it refuses."""

    text: str
    document: dict[str, Any]


class Verdict(NamedTuple):
    """How good an answer is: "well", "partly", "wrong" or "none", and what falls short."""

    case: Case
    grade: str
    missing: tuple[str, ...]
    wrong: tuple[str, ...]


def ask(name: str) -> Answer:
    """The English answer to the log of the case `name`."""
    try:
        report = stepscope.explain(stepscope.read(str(LOGS / f"{name}.txt")), has_gpu_log=False)
    except StepscopeError as error:
        return Answer(str(error), {})
    return Answer(
        re.sub(r"[ \u00a0\u202f]*\n +", " ", terminal.render(report, Language.load("en"), full=True)), report.to_dict()
    )


def judge(case: Case) -> Verdict:
    """The grade of today's answer to `case`."""
    answer = ask(case.name)
    wrong = [f"says {pattern}" for pattern in case.never if _found(pattern, answer.text)]
    missing = [f"does not say {pattern}" for pattern in case.says if not _found(pattern, answer.text)]
    if not answer.document:
        grade = "wrong" if wrong else "none" if missing or case.typical_s or case.last_step else "well"
        return Verdict(case, grade, (answer.text, *missing), tuple(wrong))
    for shortfall, is_plain_wrong in _figures(case, answer.document):
        (wrong if is_plain_wrong else missing).append(shortfall)
    has_answer = (
        bool(answer.document["step"]["typical_s"] or answer.document["trend"]) if "trend" in answer.document else True
    )
    grade = "wrong" if wrong else "well" if not missing else "partly" if has_answer else "none"
    return Verdict(case, grade, tuple(missing), tuple(wrong))


def _found(pattern: str, text: str) -> bool:
    """Whether the report says so, line by line or across the ends of lines."""
    return any(re.search(pattern, form, re.MULTILINE) is not None for form in (text, " ".join(text.split())))


def _figures(case: Case, document: dict[str, Any]) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    typical = document["step"]["typical_s"] if document["step"] else None
    if case.typical_s is not None and (typical is None or abs(typical / case.typical_s - 1) > _WITHIN):
        found.append((f"a step takes {typical}, not {case.typical_s}", typical is not None))
    if case.last_step is not None and document["source"]["last_step"] != case.last_step:
        found.append((f"last step {document['source']['last_step']}, not {case.last_step}", True))
    forecast = document["forecast"] or {}
    total = (document["settings"].get("max_steps") or {}).get("value")
    if case.total is not None and (total is None or abs(total - case.total) > max(1, 0.01 * case.total)):
        found.append((f"total {total}, not {case.total}", total is not None))
    if case.left_s is not None:
        left = forecast.get("remaining_s")
        low, high = case.left_s
        if left is None or not low <= left <= high:
            found.append((f"{left} s left, not {low} to {high}", left is not None))
    named = {slow["step"] for slow in document["slow"]} | set((document.get("trend") or {}).get("other_steps") or ())
    found += [(f"step {step} is not named as slow", False) for step in case.slow if step not in named]
    return found
