"""A comparison as text, Markdown and JSON: the verdict first, then the phases, then the settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len

from stepscope import __version__
from stepscope.analysis.compare import Compared, Comparison
from stepscope.analysis.gate import Verdict
from stepscope.analysis.run_figures import RunFigures
from stepscope.core.message import Seconds, Share
from stepscope.core.redact import redact
from stepscope.core.unseen import to_json
from stepscope.i18n import Language
from stepscope.report.markdown import escape
from stepscope.report.wrapping import wrap

SCHEMA = "stepscope.compare/1"
_SHOWN_SETTINGS = 12
_SAME = 0.0005  # a share that is written as 0.0%


def render(comparison: Comparison, language: Language, *, width: int = 80, verdicts: Sequence[Verdict] = ()) -> str:
    """The comparison for a terminal; `verdicts` are those of `--fail-on`, one for each run."""
    lines: list[str] = []
    for index, other in enumerate(comparison.others):
        lines += wrap(title(comparison, other), width)
        judged = [gate_text(one, language) for one in verdicts[index : index + 1]]
        for text in (*judged, *verdict(comparison, other, language)):
            lines += wrap(text, width, first="  ", rest="  ")
        table = rows(comparison, other, language)
        widths = [max(cell_len(row[column]) for row in table) for column in range(5)]
        for row in table:
            cells = [row[0] + " " * (widths[0] - cell_len(row[0]))]
            cells += [" " * (size - cell_len(cell)) + cell for cell, size in zip(row[1:], widths[1:], strict=True)]
            lines.append("  " + "  ".join(cells))
        settings = _settings(other, language)
        lines += wrap(settings, width, first="  ", rest="  ")
        lines.append("")
    return "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"


def render_markdown(comparison: Comparison, language: Language, verdicts: Sequence[Verdict] = ()) -> str:
    """The comparison as Markdown."""
    lines: list[str] = []
    for index, other in enumerate(comparison.others):
        judged = [gate_text(one, language) for one in verdicts[index : index + 1]]
        said = [escape(line) for line in (*judged, *verdict(comparison, other, language))]
        lines += [f"## {escape(title(comparison, other))}", "", *said, ""]
        head, *body = rows(comparison, other, language)
        lines += ["| " + " | ".join(head) + " |", "|---|" + "---:|" * 4]
        lines += ["| " + " | ".join(row) + " |" for row in body]
        lines += ["", escape(_settings(other, language)), ""]
    return "\n".join(lines)


def render_json(comparison: Comparison, verdicts: Sequence[Verdict] = ()) -> str:
    """The comparison as the JSON document `stepscope.compare/1`."""
    found = document(comparison)
    for other, one in zip(found["others"], verdicts, strict=False):
        other["gate"] = _gate_data(one)
    return to_json(found, indent=2) + "\n"


def _gate_data(verdict: Verdict) -> dict[str, Any]:
    return {
        "limit": verdict.limit,
        "verdict": verdict.verdict,
        "change": verdict.change,
        "change_low": verdict.low,
        "change_high": verdict.high,
        "reason": None if verdict.reason is None else str(verdict.reason),
    }


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
                **run_data(other.run),
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


def run_data(run: RunFigures) -> dict[str, Any]:
    """A run's own figures: seconds of one evaluation and one checkpoint, total warm-up and unexplained seconds."""
    return {
        "paths": list(run.paths),
        "format": run.format,
        "steps": run.steps,
        "wall_s": run.wall_s,
        "typical_s": run.typical_s,
        "evaluation_each_s": run.evaluation_each_s,
        "checkpoint_each_s": run.checkpoint_each_s,
        "warmup_s": run.phases.get("warmup", 0.0),
        "stall_s": run.phases.get("stall", 0.0),
    }


def name_of(run: RunFigures) -> str:
    """The name of a run: its files."""
    return redact(", ".join(run.paths), 200)


def title(comparison: Comparison, other: Compared) -> str:
    """Which two runs they are."""
    return f"{name_of(comparison.first)} → {name_of(other.run)}"


def verdict(comparison: Comparison, other: Compared, language: Language) -> list[str]:
    """What differs, which phase most of it is, and whether a normal step differs by more than noise."""
    before, after = other.unit_s
    thousand = 1000.0
    change = after / before - 1 if before else 0.0
    key = "compare-slower" if change > 0 else "compare-faster"
    lines = [
        language.text(
            key if abs(change) >= _SAME else "compare-same",
            share=Share(abs(change)),
            before=Seconds(before * thousand),
            after=Seconds(after * thousand),
            unit=unit_text(comparison, language),
        )
    ]
    largest = other.phases[0] if other.phases else None
    if largest is not None and largest.share is not None and abs(change) >= 0.005:
        phase = language.text(f"phase-{largest.phase}")
        if largest.share > 1 + _SAME:
            lines.append(language.text("compare-most-offset", phase=phase))
        else:
            lines.append(language.text("compare-most", phase=phase, share=Share(largest.share)))
    if other.is_noise is None:
        lines.append(language.text("compare-too-few"))
    elif other.step_ratio is not None and other.ratio_low is not None and other.ratio_high is not None:
        kind = "noise" if other.is_noise else "real"
        low, high = (_signed_share(ratio - 1, language) for ratio in (other.ratio_low, other.ratio_high))
        if low == high:
            lines.append(language.text(f"compare-even-{kind}", change=low))
        else:
            lines.append(language.text(f"compare-{kind}", low=low, high=high, confidence=Share(comparison.confidence)))
    return lines


def gate_text(verdict: Verdict, language: Language) -> str:
    """What `--fail-on` decided, as a sentence."""
    limit = Share(verdict.limit)
    if verdict.verdict == "cannot judge" and verdict.reason is not None:
        return language.text("gate-cannot-judge", reason=verdict.reason)
    change = Share(verdict.change or 0.0)
    if verdict.verdict == "slower":
        span = _share_span(verdict.low or 0.0, verdict.high or 0.0, language)
        is_range = span != _signed_share(verdict.high or 0.0, language)
        return language.text("gate-slower", change=change, span=f" ({span})" if is_range else "", limit=limit)
    if abs(change.value) < _SAME:
        return language.text("gate-passed-same")
    key = "gate-passed-slower" if change.value > 0 else "gate-passed-faster"
    return language.text(key, change=Share(abs(change.value)), limit=limit)


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
                "" if one.share is None else _share(one.share, language),
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


def _share(share: float, language: Language) -> str:
    return ("" if share >= 0 else "−") + language.percent(abs(share))


def _share_span(low: float, high: float, language: Language) -> str:
    """What a change lies between; one figure where both ends are written alike."""
    ends = [_signed_share(share, language) for share in (low, high)]
    return ends[0] if ends[0] == ends[1] else language.text("compare-span", low=ends[0], high=ends[1])


def _signed_share(share: float, language: Language) -> str:
    return ("+" if share >= 0 else "−") + language.percent(abs(share))


def _settings(other: Compared, language: Language) -> str:
    if not other.settings:
        return language.text("compare-settings-same")
    shown = list(other.settings.items())[:_SHOWN_SETTINGS]
    listed = ", ".join(setting_text(name, *values) for name, values in shown)
    more = " …" if len(other.settings) > len(shown) else ""
    return language.text("compare-settings", settings=redact(listed, 600) + more)


def setting_text(name: str, first: object, this: object) -> str:
    """A setting with its value in either run."""
    return f"{name} {value_text(first)} → {value_text(this)}"


def value_text(value: object) -> str:
    """A setting's value; a question mark where a log does not state it."""
    return "?" if value is None else str(value)
