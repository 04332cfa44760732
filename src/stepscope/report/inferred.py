"""The assumptions about an unrecognised log, in words: each with its reason and how sure it is."""

from __future__ import annotations

from stepscope.analysis.report import Report
from stepscope.core.message import Share
from stepscope.core.redact import redact
from stepscope.i18n import Language
from stepscope.lines.format import Assumption, Format


def inferred_lines(report: Report, language: Language) -> list[str]:
    """What was assumed about an unrecognised log, how sure each assumption is, and how to correct it."""
    inferred = report.run.format.inferred
    if inferred is None:
        return []
    lines = assumption_lines(report.run.format, language)
    return [*lines, language.text("inferred-teach", path=_shown_path(report))]


def inferred_in_short(report: Report, language: Language) -> str | None:
    """That an unrecognised log was read by its structure, how sure that is, and the command that shows how."""
    inferred = report.run.format.inferred
    if inferred is None:
        return None
    return language.text("screen-inferred", confidence=Share(inferred.confidence), path=_shown_path(report))


def assumption_lines(fmt: Format, language: Language) -> list[str]:
    """How sure an inferred format is, and each of its assumptions; empty for any other format."""
    if fmt.inferred is None:
        return []
    lines = [language.text("inferred-intro", confidence=Share(fmt.inferred.confidence))]
    for assumption in fmt.inferred.assumptions:
        text = assumption_text(assumption, language)
        lines.append(language.text("inferred-item", text=text, confidence=Share(assumption.confidence)))
    return lines


def assumption_text(assumption: Assumption, language: Language) -> str:
    """An assumption and its reason."""
    text = language.say(assumption.message)
    return text if assumption.because is None else f"{text} {language.say(assumption.because)}"


def _shown_path(report: Report) -> str:
    return redact(report.run.paths[0] if report.run.paths else "-", 200)
