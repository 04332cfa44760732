"""What a log that no format claims was taken for, in words: each assumption, why, and how sure it is."""

from __future__ import annotations

from stepscope.formats._base import Assumption
from stepscope.i18n import Language
from stepscope.message import Share
from stepscope.quote import quote
from stepscope.report.build import Report


def inferred_lines(report: Report, language: Language) -> list[str]:
    """What was assumed about a log that no format claims, how sure each of it is, and how to put it right."""
    inferred = report.run.format.inferred
    if inferred is None:
        return []
    path = report.run.paths[0] if report.run.paths else "-"
    lines = [language.text("inferred-intro", confidence=Share(inferred.confidence))]
    for assumption in inferred.assumptions:
        text = assumption_text(assumption, language)
        lines.append(language.text("inferred-item", text=text, confidence=Share(assumption.confidence)))
    return [*lines, language.text("inferred-teach", path=quote(path, 200))]


def assumption_text(assumption: Assumption, language: Language) -> str:
    """What is assumed, and why."""
    text = language.say(assumption.message)
    return text if assumption.because is None else f"{text} {language.say(assumption.because)}"
