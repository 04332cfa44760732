"""A comparison as text, Markdown and JSON: the verdict first, then the phases, then the settings."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from rich.cells import cell_len

from stepscope import __version__
from stepscope.compare import Compared, Comparison, num_steps
from stepscope.i18n import Language
from stepscope.message import Seconds, Share
from stepscope.quote import quote
from stepscope.report.build import Report

SCHEMA = "stepscope.compare/1"
_SHOWN_SETTINGS = 12


def render(comparison: Comparison, language: Language, *, width: int = 80) -> str:
    """The comparison for a terminal."""
    lines: list[str] = []
    for other in comparison.others:
        lines += textwrap.wrap(_title(comparison, other), width, break_on_hyphens=False)
        for text in _verdict(comparison, other, language):
            lines += textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
        table = _rows(comparison, other, language)
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
        lines += [f"## {_title(comparison, other)}", "", *_verdict(comparison, other, language), ""]
        head, *rows = _rows(comparison, other, language)
        lines += ["| " + " | ".join(head) + " |", "|---|" + "---:|" * 4]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
        lines += ["", _settings(other, language), ""]
    return "\n".join(lines)


def render_json(comparison: Comparison) -> str:
    """The comparison as the JSON document `stepscope.compare/1`."""
    document = {
        "schema": SCHEMA,
        "tool_version": __version__,
        "align": comparison.align,
        "confidence": comparison.confidence,
        "first": _run(comparison.first),
        "others": [
            {
                **_run(other.report),
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
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _run(report: Report) -> dict[str, Any]:
    step, evaluation, save = report.ledger.step, report.ledger.evaluation_price, report.ledger.checkpoint_price
    return {
        "paths": list(report.run.paths),
        "format": report.run.format.name,
        "steps": num_steps(report),
        "wall_s": report.ledger.wall_s,
        "typical_s": step.typical_s if step else None,
        "evaluation_each_s": evaluation.seconds if evaluation else None,
        "checkpoint_each_s": save.seconds if save else None,
    }


def _name(report: Report) -> str:
    return quote(", ".join(report.run.paths), 200)


def _title(comparison: Comparison, other: Compared) -> str:
    return f"{_name(comparison.first)} → {_name(other.report)}"


def _verdict(comparison: Comparison, other: Compared, language: Language) -> list[str]:
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


def _rows(comparison: Comparison, other: Compared, language: Language) -> list[tuple[str, str, str, str, str]]:
    unit = language.text("compare-unit-tokens" if comparison.align == "tokens" else "compare-unit-steps")
    head = (unit, "A", "B", "B − A", language.text("time-table-share"))
    rows = [head]
    for one in other.phases:
        rows.append(
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
    rows.append((language.text("time-total"), *total, ""))
    return rows


def _signed(seconds: float, language: Language) -> str:
    return ("+" if seconds >= 0 else "−") + language.duration(abs(seconds))


def _settings(other: Compared, language: Language) -> str:
    if not other.settings:
        return language.text("compare-settings-same")
    shown = list(other.settings.items())[:_SHOWN_SETTINGS]
    listed = ", ".join(f"{name} {_value(a)} → {_value(b)}" for name, (a, b) in shown)
    more = " …" if len(other.settings) > len(shown) else ""
    return language.text("compare-settings", settings=quote(listed, 600) + more)


def _value(value: object) -> str:
    return "?" if value is None else str(value)
