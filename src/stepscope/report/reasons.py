"""What the catalogue of causes found, in words and as JSON: candidates, rhythms, levels, findings."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.analysis.report import Report
from stepscope.causes import SURE
from stepscope.core.message import Decimal, Seconds, Share
from stepscope.core.redact import redact
from stepscope.i18n import Language
from stepscope.ledger.phases import ExplainedLevel, Finding, Rhythm

_SHOWN_LEVELS = 3
_SHOWN_RHYTHMS = 3
_WORTH_NAMING = 0.2


def as_data(finding: Finding, english: Language) -> dict[str, Any]:
    """A candidate for the JSON document."""
    return {
        "code": finding.code,
        "cause": finding.cause,
        "confidence": finding.confidence,
        "seconds": finding.seconds,
        "evidence": english.say(finding.evidence),
        "lines": list(finding.lines),
    }


def level_data(level: ExplainedLevel, english: Language) -> dict[str, Any]:
    """A level for the JSON document."""
    return {
        "first_step": level.regime.first_step,
        "last_step": level.regime.last_step,
        "typical_s": level.regime.typical_s,
        "change": level.change,
        "since_step": None if level.change is None else level.regime.first_step,
        "candidates": [as_data(finding, english) for finding in level.candidates],
    }


def rhythm_data(rhythm: Rhythm, english: Language) -> dict[str, Any]:
    """A periodic cost, for the JSON document."""
    period, guess = rhythm.period, rhythm.guess
    return {
        "every": int(period.every) if period.is_whole else period.every,
        "offset": int(period.offset) if period.is_whole else period.offset,
        "each_s": period.each_s,
        "guess": guess.cause if guess else None,
        "code": guess.code if guess else None,
        "confidence": guess.confidence if guess else None,
        "evidence": english.say(guess.evidence) if guess else None,
        "events": period.num_events,
    }


def short(finding: Finding, language: Language) -> str:
    """A candidate in a few words."""
    cause = language.text(f"cause-{finding.cause}")
    return language.text("candidate-short", cause=cause, code=finding.code, confidence=Share(finding.confidence))


def rhythm_lines(report: Report, language: Language) -> list[str]:
    """The periodic costs, most seconds first."""
    rhythms = sorted(report.ledger.rhythms, key=lambda own: -own.period.each_s * own.period.num_events)
    found = []
    for rhythm in rhythms[:_SHOWN_RHYTHMS]:
        period, guess = rhythm.period, rhythm.guess
        every = Decimal(period.every, 0 if period.is_whole else 2)
        if guess is None:
            key, named = "slow-rhythm-unknown", {}
        elif guess.confidence < SURE:
            key, named = "slow-rhythm-maybe", {"candidate": short(guess, language)}
        else:
            key, named = "slow-rhythm", {"cause": language.text(f"cause-{guess.cause}"), "code": guess.code}
        found.append(language.text(key, every=every, duration=Seconds(period.each_s), count=period.num_events, **named))
    return found


def level_lines(report: Report, language: Language) -> list[str]:
    """The changes of level with their best explanation, largest first."""
    changed = [level for level in report.ledger.levels if level.change is not None]
    largest = sorted(changed, key=lambda level: -abs(float(np.log1p(level.change or 0.0))))[:_SHOWN_LEVELS]
    found = []
    for level in sorted(largest, key=lambda level: level.regime.first_row):
        change = level.change or 0.0
        sentences = [
            language.text(
                "level-slower" if change > 0 else "level-faster",
                step=level.regime.first_step,
                share=Share(abs(change)),
                duration=Seconds(level.regime.typical_s),
            )
        ]
        if level.candidates:
            best, *others = level.candidates
            sentences.append(
                language.text(
                    "level-candidate",
                    cause=language.text(f"cause-{best.cause}"),
                    code=best.code,
                    confidence=Share(best.confidence),
                    evidence=language.say(best.evidence),
                )
            )
            named = [short(finding, language) for finding in others[:3] if finding.confidence >= _WORTH_NAMING]
            if named:
                sentences.append(language.text("level-others", others=", ".join(named)))
        else:
            sentences.append(language.text("level-none"))
        found.append(" ".join(sentences))
    return found


def finding_lines(report: Report, language: Language) -> list[str]:
    """Findings that hold for the whole run, from the log's header."""
    return [
        language.text("finding-line", evidence=language.say(finding.evidence), code=finding.code)
        for finding in report.ledger.findings
    ]


def quoted(report: Report, lines: tuple[int, ...]) -> list[tuple[int, str]]:
    """Kept lines of the log with their numbers, redacted."""
    return [(line, redact(report.run.excerpts[line])) for line in lines if line in report.run.excerpts]
