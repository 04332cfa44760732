"""A comparison for the summary of a CI job: the verdict as a heading, the phases, and the settings folded away."""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.analysis.compare import Compared, Comparison
from stepscope.analysis.gate import Verdict
from stepscope.i18n import Language
from stepscope.report import comparison as in_words
from stepscope.report.markdown import escape

_MARK = {"passed": "✅", "slower": "❌", "cannot judge": "⚠️"}


def render(comparison: Comparison, verdicts: Sequence[Verdict], language: Language) -> str:
    """Markdown as GitHub and others show it."""
    blocks = []
    for index, other in enumerate(comparison.others):
        verdict = verdicts[index] if verdicts else None
        blocks += _run(comparison, other, verdict, language)
    return "\n\n".join(blocks) + "\n"


def _run(comparison: Comparison, other: Compared, verdict: Verdict | None, language: Language) -> list[str]:
    said = in_words.verdict(comparison, other, language)
    title = said.pop(0) if verdict is None else f"{_MARK[verdict.verdict]} {in_words.gate_text(verdict, language)}"
    head, *rows = in_words.rows(comparison, other, language)
    table = ["| " + " | ".join(map(escape, head)) + " |", "|---|" + "---:|" * (len(head) - 1)]
    table += ["| " + " | ".join(map(escape, row)) + " |" for row in rows]
    blocks = [f"### {escape(title)}", escape(in_words.title(comparison, other))]
    blocks += [escape(" ".join(said)), "\n".join(table)]
    if other.settings:
        blocks.append(_settings(other, language))
    return [block for block in blocks if block]


def _settings(other: Compared, language: Language) -> str:
    name = escape(language.text("compare-section-settings"))
    rows = [f"- {escape(in_words.setting_text(key, *values))}" for key, values in list(other.settings.items())[:60]]
    return "\n".join([f"<details><summary>{name}</summary>", "", *rows, "", "</details>"])
