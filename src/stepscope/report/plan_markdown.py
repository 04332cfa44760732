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
    lines.append("| |" + "".join(f" {plan.card.name} |" for plan in report.cards))
    lines.append("|---|" + "---|" * len(report.cards))
    lines += [
        f"| {label} |" + "".join(f" {cell} |" for cell in cells) for label, cells in plan_table.rows(report, language)
    ]
    for plan in report.cards:
        lines += ["", plan_table.proposal(plan, language), ""]
        settings = plan_table.settings_lines(plan)
        if settings:
            lines += ["```python", *settings, "```"]
    return "\n".join(lines) + "\n"
