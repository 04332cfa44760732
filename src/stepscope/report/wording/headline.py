"""The run as a whole: how far it got, its normal step, its settings, and how much of the log was understood."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stepscope.analysis.report import Report
from stepscope.core.message import Decimal, Message, Seconds, Share, say
from stepscope.core.units import NS
from stepscope.forecast.finish import NoForecast
from stepscope.i18n import Language
from stepscope.ledger.baseline import is_coarse

# A step takes about what is typical if it is no further off.
_NEAR = 0.2
_NOT_YET_ALL = 0.99
# Two trainings are as fast as each other up to this factor; from the other one on, it is said as "times".
_ALIKE, _TIMES = 1.03, 2.0
_TWO_SPEEDS = 1.5  # times as slow
UNREAD = frozenset({"reason-no-steps-unread", "reason-no-times-unread"})
# Of a whole log, the trainings may be phases that have nothing to do with each other.
_PASTED_LINES = 200
_SHOWN_SETTINGS = (
    "max_steps",
    "eval_interval",
    "eval_iters",
    "log_interval",
    "batch_size",
    "gradient_accumulation_steps",
    "block_size",
)


def headline(report: Report, language: Language) -> str:
    """How far the run got, in a language."""
    return language.say(progress(report))


def progress(report: Report) -> Message:
    """How far the run got."""
    run = report.run
    if not len(run):
        return say("run-none" if unread_reason(report) is None else "run-unread")
    step, total = report.state.step, run.settings.count("max_steps")
    assert step is not None  # there is a row
    if total is None or run.settings["max_steps"].origin == "default":
        return say("run-progress-open", step=step)
    # All of it is done at the last step, not where rounding makes it so.
    share = 1.0 if step >= total else min(step / total, _NOT_YET_ALL)
    return say("run-progress", step=step, total=total, share=Share(share))


def unread_reason(report: Report) -> Message | None:
    """Why there is no forecast, where lines that were not understood may hold what is missing."""
    end = report.forecast
    return end.reason if isinstance(end, NoForecast) and end.reason.key in UNREAD else None


def has_two_speeds(report: Report) -> bool:
    """Whether iterations take either of two times: neither is the normal one."""
    found = report.trend
    if found is None or found.trend.kind != "two speeds":
        return False
    speeds = found.trend.first, found.trend.last
    return min(speeds) > 0 and max(speeds) / min(speeds) >= _TWO_SPEEDS


def shows_ticks(report: Report) -> bool:
    """Whether the range of single rows is that of a coarse clock's ticks, which no iteration really took."""
    step, own = report.ledger.step, np.zeros(len(report.run), dtype=bool)
    if step is not None:
        own[step.rows[step.rows < len(own)]] = True
    return is_coarse(report.run, own)


def normal_lines(report: Report, language: Language) -> list[str]:
    """What a normal step takes, and how its level changed."""
    step = report.ledger.step
    if step is None:
        return []
    if _never_happened(report):
        assert report.trend is not None
        is_jump = report.trend.trend.kind == "jump" and len(step.regimes) > 1
        present_s = step.regimes[-1].typical_s if is_jump else report.trend.trend.last
        lines = [language.text("run-present", duration=Seconds(present_s))]
    elif _has_other_norm(report, step.typical_s):
        lines = [language.text("run-median", duration=Seconds(step.typical_s))]
    elif not language.is_range(step.low_s, step.high_s, step.typical_s) or shows_ticks(report):
        lines = [language.text("run-normal-one", duration=Seconds(step.typical_s))]
    else:
        span = language.span(step.low_s, step.high_s, step.typical_s)
        lines = [language.text("run-normal", duration=Seconds(step.typical_s), span=span)]
    if report.tokens_per_s:
        lines[0] += " " + language.text("run-tokens", tokens=_rounded(report.tokens_per_s))
    if (before := training_before(report)) is not None:
        lines[0] += " " + language.say(before)
    if len(step.regimes) > 1:
        levels = [
            language.text("run-level", duration=Seconds(regime.typical_s), step=regime.first_step)
            for regime in step.regimes[:6]
        ]
        lines.append(language.text("run-regimes", levels=", ".join(levels)))
    if any(total.phase == "evaluation" and total.is_in_steps for total in report.ledger.phases):
        lines.append(language.text("run-evaluations-inside"))
    every = report.run.settings.count("log_interval")
    if every and every > 1 and report.run.clock.is_per_step:
        lines.append(language.text("run-sampled-by-total" if step.is_by_total else "run-sampled", count=every))
    return lines


def training_before(report: Report) -> Message | None:
    """How fast the training before the last one was, where the log holds several: which is faster is often asked."""
    step, before_s = report.ledger.step, report.ledger.before_s
    if step is None or not before_s or not step.typical_s or report.run.num_lines > _PASTED_LINES:
        return None
    ratio = step.typical_s / before_s
    factor, duration = max(ratio, 1 / ratio), Seconds(before_s)
    pace = "slower" if ratio > 1 else "faster"
    if factor < _ALIKE:
        return say("run-before-same", duration=duration)
    if factor >= _TIMES:
        return say("run-before-times", duration=duration, pace=pace, factor=Decimal(factor, 0 if factor >= 10 else 1))
    return say("run-before", duration=duration, pace=pace, share=Share(abs(ratio - 1)))


def _rounded(number: float) -> int:
    """`number` in three digits: a rate is not known to more."""
    return int(float(f"{number:.3g}"))


def _never_happened(report: Report) -> bool:
    """Whether the speed changed so much that no step takes what is typical of all: two speeds have no middle."""
    step, found = report.ledger.step, report.trend
    if step is None or found is None or found.unit != "s" or found.trend.kind not in {"jump", "two speeds"}:
        return False
    seconds = report.run.steps.dur_ns[step.rows[step.rows < len(report.run)]] / NS
    return not (abs(seconds / step.typical_s - 1) < _NEAR).any()


def _has_other_norm(report: Report, typical_s: float) -> bool:
    """Whether what half of the steps take is no normal level: of two speeds, or where a slower stretch has another."""
    if has_two_speeds(report):
        return True
    normal = [one.message.args["normal"] for one in report.findings if one.message.key == "finding-slower"]
    return any(isinstance(level, Seconds) and typical_s > _ALIKE * level.value for level in normal)


def settings_line(report: Report, language: Language, *, code: Callable[[str], str] = str) -> str | None:
    """The settings that matter here by the trainer's own names, with where they came from."""
    names = {canonical: own for own, canonical in report.run.format.controls.names.items()}
    by_origin: dict[str, list[str]] = {}
    for name in _SHOWN_SETTINGS:
        setting = report.run.settings.get(name)
        if setting is not None:
            by_origin.setdefault(setting.origin, []).append(code(f"{names.get(name, name)} {setting.value}"))
    shown = [
        language.text("setting-from", settings=", ".join(found), origin=language.text(f"origin-{origin}"))
        for origin, found in by_origin.items()
    ]
    return language.text("run-settings", settings=language.joined(shown)) if shown else None


def unread_text(report: Report, language: Language) -> str:
    """How much of the log was understood."""
    run = report.run
    if not run.num_unread:
        return language.text("read-all", lines=run.num_lines)
    line, text = run.first_unread[0]
    return language.text("read-unread", unread=run.num_unread, lines=run.num_lines, line=line, text=text)
