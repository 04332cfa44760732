"""A comparison as a page of its own, and as the body of the app's: the same words and numbers as in the terminal."""

from __future__ import annotations

from html import escape

from stepscope.analysis.compare import Compared, Comparison
from stepscope.analysis.run_figures import RunFigures
from stepscope.core.redact import redact
from stepscope.i18n import Language
from stepscope.ledger.accounts import ORDER
from stepscope.report import comparison as in_words
from stepscope.report import html

_MOST_SETTINGS = 60


def render(comparison: Comparison, language: Language) -> str:
    """The page."""
    title = " · ".join(in_words.name_of(run) for run in _all(comparison))
    return html.page(title, body(comparison, language), language)


def body(comparison: Comparison, language: Language, *, after_head: str = "") -> str:
    """Everything inside the page's `main`; `after_head` is markup that follows the verdict."""
    language = language.unbroken()
    blocks = [_head(comparison, language), after_head, _each(comparison, language)]
    blocks += [_difference(comparison, other, index, language) for index, other in enumerate(comparison.others)]
    return "\n".join([*blocks, html.embedded("comparison", in_words.document(comparison))])


def _all(comparison: Comparison) -> list[RunFigures]:
    return [comparison.first, *(other.run for other in comparison.others)]


def _letter(index: int) -> str:
    """A for the first run, then B, C, …"""
    return chr(ord("A") + index) if index < 26 else str(index + 1)


def _head(comparison: Comparison, language: Language) -> str:
    """The verdict of the first comparison, and every run as a bar of the same scale."""
    lines = [f"<h1>{escape(language.text('compare-title'))}</h1>"]
    first, *_ = comparison.others
    verdict, *rest = in_words.verdict(comparison, first, language)
    lines.append(f'<p class="finish">{escape(verdict)}</p>')
    lines += [f"<p>{escape(text)}</p>" for text in rest]
    bars = _bars(comparison, language)
    return "<header>\n" + "\n".join(lines) + f'\n<div class="card">{bars}</div>\n</header>'


def _bars(comparison: Comparison, language: Language) -> str:
    """Seconds per unit of work, phase by phase: one bar for each run, the longest as wide as the page."""
    first = comparison.others[0]
    columns = [{one.phase: one.before_s for one in first.phases}]
    columns += [{one.phase: one.after_s for one in other.phases} for other in comparison.others]
    longest = max(sum(column.values()) for column in columns) or 1.0
    unit = in_words.unit_text(comparison, language)
    names = [in_words.name_of(run) for run in _all(comparison)]
    drawn, used = [], set()
    for index, column in enumerate(columns):
        left, pieces = 0.0, []
        for phase in ORDER:
            width = 100 * column.get(phase, 0.0) / longest
            if width <= 0:
                continue
            used.add(phase)
            text = f"{language.text(f'phase-{phase}')} {language.duration(column[phase] * 1000)}"
            pieces.append(
                f'<rect class="{phase}" x="{left:.3f}" y="0" width="{width:.3f}" height="10">'
                f"<title>{escape(text)}</title></rect>"
            )
            left += width
        total = language.duration(sum(column.values()) * 1000)
        label = escape(f"{_letter(index)}: {total} {unit}", quote=True)
        drawn.append(
            f'<div class="pair"><span class="of-run"><strong>{_letter(index)}</strong> {escape(names[index])}</span>'
            f'<svg class="bar" role="img" aria-label="{label}" viewBox="0 0 100 10" preserveAspectRatio="none">'
            f"{''.join(pieces)}</svg><span>{escape(total)}</span></div>"
        )
    marks = [
        html.legend(f'<rect class="{phase}" width="10" height="10"/>', language.text(f"phase-{phase}"))
        for phase in ORDER
        if phase in used
    ]
    return f'<p class="dim">{escape(unit)}</p>\n{"".join(drawn)}\n<ul class="legend">{"".join(marks)}</ul>'


def _each(comparison: Comparison, language: Language) -> str:
    """What one of each takes in every run."""
    runs = [in_words.run_data(run) for run in _all(comparison)]
    head = ["", *(_letter(index) for index in range(len(runs)))]
    rows = []
    for name in ("typical_s", "evaluation_each_s", "checkpoint_each_s", "warmup_s", "stall_s", "wall_s"):
        values = [run[name] for run in runs]
        if any(value is not None for value in values):
            shown = ["–" if value is None else language.duration(value) for value in values]
            rows.append((language.text(f"compare-row-{name.removesuffix('_s').replace('_', '-')}"), *shown))
    title = language.text("compare-section-each")
    return html.section(title, html.table(head, rows, numbers=set(range(1, len(head))), title=title))


def _difference(comparison: Comparison, other: Compared, index: int, language: Language) -> str:
    """Which phase explains how much, and which settings differ."""
    letter = _letter(index + 1)
    title = language.text("compare-section-why", first="A", other=letter)
    lines = []
    if len(comparison.others) > 1:
        lines += [f"<p>{escape(text)}</p>" for text in in_words.verdict(comparison, other, language)]
    head, *rows = in_words.rows(comparison, other, language)
    head = (head[0], "A", letter, f"{letter} − A", head[4])
    *phases, total = rows
    keys = [one.phase for one in other.phases]
    lines.append(html.table(head, phases, numbers={1, 2, 3, 4}, title=title, phases=keys, total=total))
    if not other.settings:
        lines.append(f"<p>{escape(language.text('compare-settings-same'))}</p>")
    else:
        name = language.text("compare-section-settings")
        settings = [
            tuple(redact(text, 120) for text in (key, in_words.value_text(a), in_words.value_text(b)))
            for key, (a, b) in list(other.settings.items())[:_MOST_SETTINGS]
        ]
        lines += [f"<h3>{escape(name)}</h3>", html.table(["", "A", letter], settings, numbers=set(), title=name)]
    return html.section(title, *lines)
