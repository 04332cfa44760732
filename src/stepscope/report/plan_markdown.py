"""A plan as Markdown: for an issue, a wiki, a decision to be taken together."""

from __future__ import annotations

from stepscope.i18n import Language
from stepscope.report import plan_table
from stepscope.report.plan_table import PlanReport


def render(report: PlanReport, language: Language) -> str:
    """The plan as Markdown."""
    lines = [f"# {plan_table.headline(report, language)}", "", plan_table.training_line(report, language), ""]
    lines += [f"- {language.say(note)}" for note in report.notes]
    parts = " · ".join(f"{label} {size}" for label, size in plan_table.memory_rows(report, language))
    lines += ["", language.text("plan-memory", batch=report.training.batch_size, parts=parts), ""]
    names = [plan.gpu.name for plan in report.cards]
    lines += [f"## {language.text('plan-title-asked')}", "", *_table(names, plan_table.rows(report, language))]
    if any(plan.proposed is not None for plan in report.cards):
        lines += ["", f"## {language.text('plan-title-proposed')}", ""]
        lines += _table([language.text("plan-now"), *names], plan_table.proposal_rows(report, language))
    lines += ["", *plan_table.proposal_notes(report, language)]
    for plan in report.cards:
        settings = plan_table.settings_lines(plan, report.config)
        if settings:
            lines += ["", f"{plan.gpu.name}:", "", "```python", *settings, "```"]
    return "\n".join(lines) + "\n"


def _table(names: list[str], table: list[tuple[str, list[str]]]) -> list[str]:
    lines = ["| |" + "".join(f" {name} |" for name in names), "|---|" + "---|" * len(names)]
    return lines + [f"| {label} |" + "".join(f" {cell} |" for cell in cells) for label, cells in table]
