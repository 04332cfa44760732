"""The panels about the future: the forecast with what would have been said earlier, and the what-if sliders."""

from __future__ import annotations

from typing import Any

from stepscope.analysis.report import Report
from stepscope.core.message import Share
from stepscope.forecast.finish import Forecast
from stepscope.i18n import Language
from stepscope.report import page_ahead, templating
from stepscope.report.log_lines import line_links
from stepscope.report.wording.finish import finish_lines
from stepscope.report.wording.sentence import capital
from stepscope.report.wording.summary import DEAD

# Stands for the value in a setting's syntax, until the script knows it.
_HOLE = "{value}"


def forecast(report: Report, language: Language, drawn: dict[str, Any] | None) -> str:
    """When it will be done, the fan, and the forecasts of earlier moments beside what happened."""
    if report.state.value in DEAD and not isinstance(report.forecast, Forecast) and not report.backtests:
        return ""
    first, *others = finish_lines(report, language)
    assumptions = [language.say(message) for message in getattr(report.forecast, "assumptions", ())]
    earlier = report.backtests
    rows = [
        (
            language.text("backtest-at", share=Share(one.share), step=one.step),
            language.duration(one.remaining_s),
            language.span(one.low_s, one.high_s),
            language.duration(one.actual_s) + (" ✓" if one.is_inside else " ✗"),
            ("+" if one.error >= 0 else "−") + language.percent(abs(one.error)),
        )
        for one in earlier
    ]
    summary = ""
    if earlier:
        held = sum(one.is_inside for one in earlier)
        summary = language.text("backtest-summary", count=len(earlier), held=held, step=earlier[0].target_step)
    return templating.render(
        "run_forecast.html",
        language,
        links=line_links(report, language),
        first=capital(first),
        lines=others,
        assumptions=[one for one in assumptions if one not in others],
        drawn=drawn,
        summary=summary,
        rows=rows,
        head=[language.text(f"backtest-column-{name}") for name in ("at", "said", "range", "took", "off")],
    )


def what_if(report: Report, language: Language) -> str:
    """A slider for each setting that changes the time left; empty where nothing is left or known."""
    base = page_ahead.what_if_base(report)
    if base is None:
        return ""
    controls = report.run.format.controls
    names = {canonical: own for own, canonical in controls.names.items()}
    rows = [
        {
            "name": name,
            "own": names.get(name, name),
            "typed": _typed(controls.typed(name, _HOLE)),
            "low": low,
            "high": high,
            "now": now,
        }
        for name, low, high, now in page_ahead.slider_ranges(base)
    ]
    return templating.render("run_whatif.html", language, rows=rows)


def _typed(text: str | None) -> str:
    """A setting with a hole for its value; empty where it cannot be typed."""
    return text if text is not None and _HOLE in text else ""
