"""The report as the JSON document `stepscope.report/1`: English keys, plain seconds, null for unknown."""

from __future__ import annotations

import datetime as dt
import math
from itertools import groupby
from operator import attrgetter
from typing import Any

from stepscope import __version__
from stepscope.analysis.money import cost_of, num_devices
from stepscope.analysis.report import Report
from stepscope.analysis.settle import what_would_settle
from stepscope.analysis.slow_groups import extra_s, group_slow
from stepscope.core.redact import redact
from stepscope.core.settings import COUNTS, Setting
from stepscope.core.unseen import to_json
from stepscope.forecast.finish import Forecast
from stepscope.forecast.rough import Rough
from stepscope.i18n import Language
from stepscope.ledger.phases import Part, PhaseTotal, Price
from stepscope.report.gpu import samples_data
from stepscope.report.inferred import assumption_text
from stepscope.report.log_lines import log_lines
from stepscope.report.reasons import as_data, level_data, rhythm_data
from stepscope.report.wording.slow import evidence_text
from stepscope.report.wording.trend import trend_lines
from stepscope.run.model import Run
from stepscope.run.ranks import find_slowest, typical_s
from stepscope.run.stops import last_stops

SCHEMA = "stepscope.report/1"
MAX_SLOW = 200
_MOST_TRAININGS = 1000
_SETTINGS = (*COUNTS, "always_save_checkpoint", "compile", "device", "dtype")


def render(report: Report, language: Language) -> str:
    """The JSON text; `language` is not used, the document is never translated."""
    del language
    return to_json(document(report), indent=2) + "\n"


def document(report: Report) -> dict[str, Any]:
    """The document as plain data."""
    english = Language.load("en")
    run = report.run
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        "source": _source(report, english),
        "settings": {name: _setting(run.settings.get(name)) for name in _SETTINGS},
        "clock": {"covers": run.clock.covers, "includes": list(run.clock.includes), "note": run.clock.note},
        "step": _step(report),
        "trend": _trend(report, english),
        **_slow(report, english),
        **_causes(report, english),
        **_ledger(report),
        "findings": _findings(report, english),
        "price": _price(report),
        "best": _best(report),
        "cadence": _cadence(report, english),
        "forecast": _forecast(report, english),
        "backtests": _backtests(report),
        "advice": _advice(report, english),
        "state": _state(report, english),
        "reading": _reading(report, english),
        "alarms": _alarms(report, english),
        "hardware": _hardware(report),
        "clocks": [clock._asdict() for clock in report.clocks],
        "gpu_series": samples_data(report),
        **_inside(report),
        **_ranks(run),
    }


def _source(report: Report, english: Language) -> dict[str, Any]:
    """The log itself: its files, its format, its steps, and how much of it was understood."""
    run = report.run
    steps = run.steps
    has_rows = len(run) > 0
    return {
        "paths": list(run.paths),
        "format": run.format.name,
        "lines": run.num_lines,
        "lines_unread": run.num_unread,
        "first_step": int(steps.step[0]) if has_rows else None,
        "last_step": report.state.step,
        "rows": steps.num_printed,
        "rows_merged": steps.num_printed - len(steps),
        "segments": len(run.segments),
        "encoding": run.encoding,
        "trainings": _trainings(report),
        "order": run.order,
        "repeated_paths": list(run.repeated_paths),
        "other_writer_steps": run.num_other_rows,
        "inferred": _inferred(run, english),
        "first_unread": [{"line": line, "text": text} for line, text in run.first_unread],
        "kept_lines": log_lines(report),
    }


def _trainings(report: Report) -> list[dict[str, Any]]:
    """Each training in the log, of very many the last ones: where it begins, its steps, its segments."""
    run = report.run
    found = []
    shown = [segment for segment in run.segments if segment.training >= run.num_trainings - _MOST_TRAININGS]
    for _, group in groupby(shown, key=attrgetter("training")):
        own = list(group)
        first, end = own[0].first_row, own[-1].first_row + own[-1].num_rows
        found.append(
            {
                "line": int(run.steps.line[first]),
                "first_step": int(run.steps.step[first]),
                "last_step": int(run.steps.step[end - 1]),
                "segments": len(own),
            }
        )
    return found


def _inferred(run: Run, english: Language) -> dict[str, Any] | None:
    inferred = run.format.inferred
    if inferred is None:
        return None
    return {
        "confidence": inferred.confidence,
        "assumptions": [
            {"text": assumption_text(assumption, english), "confidence": assumption.confidence}
            for assumption in inferred.assumptions
        ],
    }


def _setting(setting: Setting | None) -> dict[str, Any]:
    if setting is None:
        return {"value": None, "from": None}
    value = redact(setting.value) if isinstance(setting.value, str) else setting.value
    return {"value": value, "from": setting.origin}


def _part(part: Part | PhaseTotal) -> dict[str, Any]:
    return {
        "phase": part.phase,
        "seconds": part.seconds,
        "low_s": part.low_s,
        "high_s": part.high_s,
        "basis": part.basis,
    }


def _step(report: Report) -> dict[str, Any]:
    step = report.ledger.step
    if step is None:
        return {"typical_s": None, "low_s": None, "high_s": None, "count": 0, "tokens_per_s": None, "regimes": []}
    return {
        "typical_s": step.typical_s,
        "low_s": step.low_s,
        "high_s": step.high_s,
        "count": step.num_rows,
        "tokens_per_s": report.tokens_per_s,
        "regimes": [
            {"first_step": regime.first_step, "last_step": regime.last_step, "typical_s": regime.typical_s}
            for regime in step.regimes
        ],
    }


def _trend(report: Report, english: Language) -> dict[str, Any] | None:
    """Whether the run gets slower; levels in seconds, or in units a second where only rates are printed."""
    found = report.trend
    if found is None:
        return None
    trend, is_time = found.trend, found.unit == "s"
    return {
        "kind": trend.kind,
        "change": trend.change,
        "from_s": trend.first if is_time else None,
        "to_s": trend.last if is_time else None,
        "from_rate": None if is_time else trend.first,
        "to_rate": None if is_time else trend.last,
        "rate_unit": None if is_time else found.unit,
        "since_step": trend.since,
        "steady_within": trend.within if trend.kind == "steady" else None,
        "other_steps": list(trend.other[:MAX_SLOW]),
        "other_every": found.every,
        "message": " ".join(trend_lines(report, english)),
    }


def _slow(report: Report, english: Language) -> dict[str, Any]:
    """The slow steps, the longest `MAX_SLOW` of them one by one."""
    slow_steps = report.ledger.slow
    return {
        "slow": [
            {
                "step": slow.step,
                "line": slow.line,
                "seconds": slow.seconds,
                "extra_s": extra_s(slow.parts),
                "cause": slow.cause,
                "confidence": slow.confidence,
                "parts": [_part(part) for part in slow.parts],
                "evidence": evidence_text(report, slow, english),
                "code": slow.code,
                "candidates": [as_data(finding, english) for finding in slow.candidates],
            }
            for slow in slow_steps[:MAX_SLOW]
        ],
        "slow_groups": [
            {
                "every": group.every,
                "count": len(group.steps),
                "each_s": group.each_s,
                "lost_s": group.lost_s,
                "cause": group.steps[0].cause,
                "parts": [_part(part) for part in group.parts],
            }
            for group in group_slow(report.run, slow_steps)[:MAX_SLOW]
        ],
        "slow_count": len(slow_steps),
        "slow_s": math.fsum(slow.seconds for slow in slow_steps),
    }


def _causes(report: Report, english: Language) -> dict[str, Any]:
    """What would explain more, the levels of the run, and what is true of all of it."""
    ledger = report.ledger
    return {
        "settle": [english.say(message) for message in what_would_settle(report)],
        "levels": [level_data(level, english) for level in ledger.levels],
        "header_causes": [as_data(finding, english) for finding in ledger.findings],
    }


def _ledger(report: Report) -> dict[str, Any]:
    """Where the time went; the wall time is null where the log has no times, or no upper bound for it."""
    ledger, has_times = report.ledger, report.has_times
    is_bounded = has_times and math.isfinite(ledger.wall_high_s)
    return {
        "ledger": [
            {**_part(total), "share": total.share, "count": total.num, "is_priced": not total.is_unpriced}
            for total in ledger.phases
        ],
        "wall_s": ledger.wall_s if is_bounded else None,
        "wall_low_s": ledger.wall_low_s if has_times else None,
        "wall_high_s": ledger.wall_high_s if is_bounded else None,
        "split": ledger.split,
    }


def _findings(report: Report, english: Language) -> list[dict[str, Any]]:
    """What cost most time, most first."""
    return [
        {**one._asdict(), "message": english.say(one.message), "money": cost_of(report, one.seconds)}
        for one in report.findings
    ]


def _price(report: Report) -> dict[str, Any] | None:
    """What the user says that time costs, and what the run has cost so far."""
    price = report.ask.price
    if price is None:
        return None
    spent = cost_of(report, report.ledger.wall_s) if report.has_times else None
    per = "kWh" if price.per_kwh else "h"
    return {
        "value": price.value,
        "per": per,
        "currency": price.currency or None,
        "devices": num_devices(report),
        "spent": spent,
    }


def _best(report: Report) -> dict[str, Any] | None:
    """Where the validation loss was lowest, and what was spent after it."""
    best = report.best
    if best is None:
        return None
    return {
        "step": best.step,
        "val_loss": best.val_loss,
        "seconds_after": best.seconds_after,
        "share_after": best.share_after,
    }


def _cadence(report: Report, english: Language) -> dict[str, Any]:
    run, ledger = report.run, report.ledger
    stops = last_stops(run)
    last = max((stop.step for stop in stops if stop.evaluated), default=None)
    last_save = max((stop.step for stop in stops if stop.saved), default=None)
    last_row = int(run.steps.step[-1]) if len(run) else None
    total = run.settings.count("max_steps")
    every = {name: run.settings.count(f"{name}_interval") for name in ("eval", "checkpoint", "log")}
    return {
        "evaluation": _beat(every["eval"], last, ledger.evaluation_price, last_row=last_row, total=total),
        "checkpoint": _beat(every["checkpoint"], last_save, ledger.checkpoint_price, last_row=last_row, total=total),
        "log": _beat(every["log"], last_row, None, last_row=last_row, total=total),
        "other": [rhythm_data(rhythm, english) for rhythm in ledger.rhythms],
    }


def _beat(
    every: int | None, last: int | None, price: Price | None, *, last_row: int | None, total: int | None
) -> dict[str, Any]:
    done = max((step for step in (last, last_row) if step is not None), default=None)
    upcoming = None if every is None or done is None else (done // every + 1) * every
    return {
        "every": every,
        "last": last,
        "next": upcoming if upcoming is not None and (total is None or upcoming <= total) else None,
        "each_s": price.seconds if price else None,
    }


def _forecast(report: Report, english: Language) -> dict[str, Any]:
    end = report.forecast
    if not isinstance(end, Forecast):
        ahead = None if end.ahead is None else end.ahead._asdict()
        return {
            "reason": english.say(end.reason),
            "ask_again_step": end.ask_step,
            "ask_again_s": end.ask_s,
            "ahead": ahead,
            **_rough(end.rough),
        }
    return {
        "last_step": end.schedule.last_step,
        "max_steps": end.schedule.max_steps,
        "steps_left": end.schedule.num_steps,
        "remaining_s": end.remaining_s,
        "low_s": end.low_s,
        "high_s": end.high_s,
        "confidence": end.confidence,
        "money": cost_of(report, end.remaining_s),
        "finish_at": None if report.has_ended else _iso(report.finish(end.remaining_s)),
        "finish_low_at": None if report.has_ended else _iso(report.finish(end.low_s)),
        "finish_high_at": None if report.has_ended else _iso(report.finish(end.high_s)),
        "now": _iso(report.moment),
        "now_from": report.moment_from,
        "now_plus_s": report.last_moment.plus_s,
        "now_assumed": report.last_moment.assumed,
        "deadline": None
        if report.ask.deadline is None
        else {"at": _iso(report.ask.deadline), "probability": report.deadline_probability},
        "like": list(end.like),
        "left": {name: {"count": left.num, "seconds": left.seconds} for name, left in end.left.items()},
        "assumptions": [english.say(message) for message in end.assumptions]
        + ([english.text("finish-ended")] if report.has_ended and not end.is_finished else []),
    }


def _rough(rough: Rough | None) -> dict[str, Any]:
    """What is left by figures that are no forecast: whose figure it is, and how far off it may be."""
    if rough is None:
        return {"remaining_s": None, "low_s": None, "high_s": None, "basis": None}
    return {"remaining_s": rough.seconds, "low_s": rough.low_s, "high_s": rough.high_s, "basis": rough.by}


def _state(report: Report, english: Language) -> dict[str, Any]:
    """Whether the run is over and how, with the evidence."""
    state = report.state
    return {
        "value": state.value,
        "step": state.step,
        "line": state.line,
        "evidence": redact(english.say(state.evidence)),
    }


def _backtests(report: Report) -> list[dict[str, Any]]:
    """Forecasts of earlier moments, each with the time that was actually left."""
    return [
        {
            "share": one.share,
            "step": one.step,
            "target_step": one.target_step,
            "elapsed_s": one.elapsed_s,
            "remaining_s": one.remaining_s,
            "low_s": one.low_s,
            "high_s": one.high_s,
            "actual_s": one.actual_s,
            "error": one.error,
            "inside": one.is_inside,
        }
        for one in report.backtests
    ]


def _advice(report: Report, english: Language) -> list[dict[str, Any]]:
    return [
        {
            "code": advice.code,
            "setting": advice.setting,
            "now": advice.now,
            "proposed": advice.proposed,
            "saves_s": advice.saves_s,
            "saves_low_s": advice.saves_low_s,
            "saves_high_s": advice.saves_high_s,
            "costs": english.say(advice.costs),
            "evidence": english.say(advice.evidence),
            "changes_result": advice.changes_result,
            "effect": advice.effect,
            "basis": "measured" if advice.assumed is None else "assumed",
            "precision": english.say(advice.precision) if advice.precision else None,
            "saves_bytes": advice.saves_bytes,
            "saves_money": cost_of(report, advice.saves_s),
            "paste": advice.paste,
        }
        for advice in report.advice
    ]


def _alarms(report: Report, english: Language) -> list[dict[str, Any]]:
    return [
        {
            "code": alarm.code,
            "severity": alarm.severity,
            "step": alarm.step,
            "line": alarm.line,
            "message": english.say(alarm.message),
        }
        for alarm in report.alarms
    ]


def _reading(report: Report, english: Language) -> dict[str, Any]:
    """How sure it is that the log was understood."""
    reading = report.reading
    return {
        "confidence": reading.confidence,
        "checks": [
            {
                "code": check.code,
                "verdict": check.verdict,
                "message": english.say(check.message),
                "seconds": check.seconds,
            }
            for check in reading.checks
        ],
        "candidates": [{"format": one.format, "share": one.share} for one in reading.candidates],
    }


def _iso(moment: dt.datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None


def _hardware(report: Report) -> dict[str, Any] | None:
    hardware, mfu = report.hardware, report.mfu
    if hardware is None and mfu is None:
        return None
    verdict = report.gpu_verdict
    return {
        "gpu": hardware.gpu if hardware else None,
        "mfu": verdict.utilisation if verdict else mfu,
        "mfu_printed": mfu,
        "peak_tflops": verdict.gpu.tflops if verdict else None,
        "expected_step_s": list(verdict.expected) if verdict and verdict.expected else None,
        "utilisation": hardware.utilisation if hardware else None,
        "memory_used": hardware.memory_used if hardware else None,
        "memory_total": hardware.memory_total if hardware else None,
        "power": hardware.power if hardware else None,
        "power_limit": hardware.power_limit if hardware else None,
        "temperature": hardware.temperature if hardware else None,
        "clock": hardware.clock if hardware else None,
        "throttle": list(hardware.throttle) if hardware and hardware.throttle is not None else None,
        "time": _iso(hardware.time) if hardware else None,
    }


def _inside(report: Report) -> dict[str, Any]:
    """What was seen from inside the process; null where it was not traced."""
    totals = None
    if report.traced is not None:
        totals = [
            {"kind": one.kind, "count": one.num, "seconds": one.seconds, "longest_s": one.longest_s}
            for one in report.traced
        ]
    return {"inside": totals, "inside_skipped": None if report.trace is None else list(report.trace.skipped)}


def _ranks(run: Run) -> dict[str, Any]:
    """Each rank that prints its own steps, and the one that the others wait for."""
    slowest = find_slowest(run)
    return {
        "ranks": [{"rank": rank.number, "steps": rank.num_steps, "typical_s": typical_s(rank)} for rank in run.ranks],
        "slowest_rank": slowest.number if slowest is not None else None,
    }
