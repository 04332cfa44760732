"""A comparison as text, Markdown and JSON: the verdict first, then the phases, then the settings."""

from __future__ import annotations

import textwrap
from typing import Any

from rich.cells import cell_len

from stepscope import __version__
from stepscope.analysis.compare import Compared, Comparison, num_steps
from stepscope.analysis.report import Report
from stepscope.core.message import Seconds, Share
from stepscope.core.redact import redact
from stepscope.core.unseen import to_json
from stepscope.i18n import Language
from stepscope.report.markdown import escape

SCHEMA = "stepscope.compare/1"
_SHOWN_SETTINGS = 12


def render(comparison: Comparison, language: Language, *, width: int = 80) -> str:
    """The comparison for a terminal."""
    lines: list[str] = []
    for other in comparison.others:
        lines += textwrap.wrap(_title(comparison, other), width, break_on_hyphens=False)
        for text in verdict(comparison, other, language):
            lines += textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
        table = rows(comparison, other, language)
        widths = [max(cell_len(row[column]) for row in table) for column in range(5)]
        for row in table:
            cells = [row[0] + " " * (widths[0] - cell_len(row[0]))]
            cells += [" " * (size - cell_len(cell)) + cell for cell, size in zip(row[1:], widths[1:], strict=True)]
            lines.append("  " + "  ".join(cells))
        settings = _settings(other, language)
        lines += textwrap.wrap(settings, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
        lines.append("")
    return "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"


def render_markdown(comparison: Comparison, language: Language) -> str:
    """The comparison as Markdown."""
    lines: list[str] = []
    for other in comparison.others:
        said = [escape(line) for line in verdict(comparison, other, language)]
        lines += [f"## {escape(_title(comparison, other))}", "", *said, ""]
        head, *body = rows(comparison, other, language)
        lines += ["| " + " | ".join(head) + " |", "|---|" + "---:|" * 4]
        lines += ["| " + " | ".join(row) + " |" for row in body]
        lines += ["", escape(_settings(other, language)), ""]
    return "\n".join(lines)


def render_json(comparison: Comparison) -> str:
    """The comparison as the JSON document `stepscope.compare/1`."""
    return to_json(document(comparison), indent=2) + "\n"


def document(comparison: Comparison) -> dict[str, Any]:
    """The document as plain data."""
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        "align": comparison.align,
        "confidence": comparison.confidence,
        "first": run_data(comparison.first),
        "others": [
            {
                **run_data(other.report),
                "unit_before_s": other.unit_s[0],
                "unit_after_s": other.unit_s[1],
                "step_ratio": other.step_ratio,
                "step_ratio_low": other.ratio_low,
                "step_ratio_high": other.ratio_high,
                "is_noise": other.is_noise,
                "phases": [
                    {
                        "phase": one.phase,
                        "before_s": one.before_s,
                        "after_s": one.after_s,
                        "difference_s": one.difference_s,
                        "share": one.share,
                    }
                    for one in other.phases
                ],
                "settings": {name: {"first": a, "this": b} for name, (a, b) in other.settings.items()},
            }
            for other in comparison.others
        ],
    }


def run_data(report: Report) -> dict[str, Any]:
    """A run's own figures: seconds of one evaluation and one checkpoint, total warm-up and unexplained seconds."""
    step, evaluation, save = report.ledger.step, report.ledger.evaluation_price, report.ledger.checkpoint_price
    return {
        "paths": list(report.run.paths),
        "format": report.run.format.name,
        "steps": num_steps(report),
        "wall_s": report.ledger.wall_s,
        "typical_s": step.typical_s if step else None,
        "evaluation_each_s": evaluation.seconds if evaluation else None,
        "checkpoint_each_s": save.seconds if save else None,
        "warmup_s": report.ledger.seconds("warmup"),
        "stall_s": report.ledger.seconds("stall"),
    }


def name_of(report: Report) -> str:
    """The name of a run: its files."""
    return redact(", ".join(report.run.paths), 200)


def _title(comparison: Comparison, other: Compared) -> str:
    return f"{name_of(comparison.first)} → {name_of(other.report)}"


def verdict(comparison: Comparison, other: Compared, language: Language) -> list[str]:
    """What differs, which phase most of it is, and whether a normal step differs by more than noise."""
    before, after = other.unit_s
    thousand = 1000.0
    change = after / before - 1 if before else 0.0
    key = "compare-slower" if change > 0 else "compare-faster"
    lines = [
        language.text(
            key if abs(change) >= 0.0005 else "compare-same",
            share=Share(abs(change)),
            before=Seconds(before * thousand),
            after=Seconds(after * thousand),
        )
    ]
    largest = other.phases[0] if other.phases else None
    if largest is not None and largest.share is not None and abs(change) >= 0.005:
        lines.append(
            language.text(
                "compare-most", phase=language.text(f"phase-{largest.phase}"), share=Share(min(9.99, largest.share))
            )
        )
    if other.is_noise is None:
        lines.append(language.text("compare-too-few"))
    elif other.step_ratio is not None and other.ratio_low is not None and other.ratio_high is not None:
        lines.append(
            language.text(
                "compare-noise" if other.is_noise else "compare-real",
                low=Share(other.ratio_low - 1),
                high=Share(other.ratio_high - 1),
                confidence=Share(comparison.confidence),
            )
        )
    return lines


def rows(comparison: Comparison, other: Compared, language: Language) -> list[tuple[str, str, str, str, str]]:
    """The phases as a table, its head first and its total last."""
    head = (unit_text(comparison, language), "A", "B", "B − A", language.text("time-table-share"))
    found = [head]
    for one in other.phases:
        found.append(
            (
                language.text(f"phase-{one.phase}"),
                language.duration(one.before_s * 1000),
                language.duration(one.after_s * 1000),
                _signed(one.difference_s * 1000, language),
                "" if one.share is None else language.percent(one.share),
            )
        )
    before, after = other.unit_s
    total = (
        language.duration(before * 1000),
        language.duration(after * 1000),
        _signed((after - before) * 1000, language),
    )
    found.append((language.text("time-total"), *total, ""))
    return found


def unit_text(comparison: Comparison, language: Language) -> str:
    """The unit of work that the seconds are counted per."""
    return language.text("compare-unit-tokens" if comparison.align == "tokens" else "compare-unit-steps")


def _signed(seconds: float, language: Language) -> str:
    return ("+" if seconds >= 0 else "−") + language.duration(abs(seconds))


def _settings(other: Compared, language: Language) -> str:
    if not other.settings:
        return language.text("compare-settings-same")
    shown = list(other.settings.items())[:_SHOWN_SETTINGS]
    listed = ", ".join(f"{name} {value_text(a)} → {value_text(b)}" for name, (a, b) in shown)
    more = " …" if len(other.settings) > len(shown) else ""
    return language.text("compare-settings", settings=redact(listed, 600) + more)


def value_text(value: object) -> str:
    """A setting's value; a question mark where a log does not state it."""
    return "?" if value is None else str(value)
