"""A report → the rows that a store keeps of it. English, unrounded, secrets masked; None is unknown."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from collections.abc import Sequence

import numpy as np

from stepscope import __version__
from stepscope.analysis.explain import explain
from stepscope.analysis.report import Report
from stepscope.analysis.run_figures import num_steps
from stepscope.columns.statistics import median
from stepscope.core.redact import redact
from stepscope.fleet.losses import (
    DIED,
    account,
    evaluation_excess_s,
    num_checkpoints,
    saves_logged_s,
    shows_checkpoints,
)
from stepscope.fleet.tables import Row, Rows
from stepscope.forecast.finish import Forecast
from stepscope.run.model import Run
from stepscope.run.ranks import typical_s
from stepscope.source.listing import Listed

_MOST_SLOW = 50
_MOST_TEXT = 400
# Two runs do not agree by chance in so many iterations with so many different times.
_LEAST_ROWS, _LEAST_FIGURES = 20, 8
# What makes two runs the same job as far as the time of a step goes. Lengths and intervals do not.
_CONFIG = (
    *("batch_size", "gradient_accumulation_steps", "block_size", "parameters", "tokens_per_step", "world_size"),
    *("compile", "device", "dtype"),
)
_STATED = frozenset({"log", "config", "flag"})


def about_files(files: Sequence[Listed]) -> Row:
    """What is known of a run before it is read."""
    return {
        "uri": files[0].uri,
        "paths": [file.uri for file in files],
        "tool_version": __version__,
        "size": sum(file.size for file in files),
        "written_at": dt.datetime.fromtimestamp(max(file.mtime for file in files), dt.UTC),
        "version": files[0].version,
    }


def of_run(run: Run, files: Sequence[Listed], now: dt.datetime) -> tuple[Row, Rows]:
    """The row of a run, and its rows in the other tables."""
    report = explain(run, fallback_now=now)
    steps = num_steps(report)
    spent = account(report, steps)
    others: Rows = {
        "phases": _phases(report),
        "slow": _slow(report),
        "alarms": _alarms(report),
        "findings": [loss._asdict() for loss in spent.losses],
        "advice": _advice(report),
        "ranks": _ranks(report),
    }
    ledger = report.ledger
    timed = {
        "wall_s": ledger.wall_s,
        "wall_low_s": ledger.wall_low_s,
        "wall_high_s": ledger.wall_high_s if math.isfinite(ledger.wall_high_s) else None,
        "productive_s": spent.productive_s,
        "productive_low_s": spent.low_s,
        "productive_high_s": spent.high_s,
        "unexplained_s": spent.unexplained_s,
        "paused_s": spent.paused_s,
        "evaluation_excess_s": evaluation_excess_s(report),
    }
    row = about_files(files) | {"status": "read"} | (timed if report.has_times else {})
    return row | _about_run(report, steps) | _about_steps(report) | _about_end(report) | _about_reading(report), others


def _about_run(report: Report, steps: float) -> Row:
    run, moment = report.run, report.moment
    started = moment - dt.timedelta(seconds=report.ledger.wall_s) if moment is not None else None
    config = _config(run)
    return {
        "format": run.format.name,
        "started_at": started,
        "ended_at": moment,
        "time_from": report.moment_from,
        "state": report.state.value,
        "ended_early": report.state.value in DIED,
        "first_step": int(run.steps.step[0]) if len(run) else None,
        "last_step": report.state.step,
        "max_steps": run.settings.count("max_steps"),
        "num_steps": steps if len(run) else None,
        "fingerprint": _fingerprint(run),
        # A restart in place, not another training in the same file.
        "num_restarts": sum(one.training == two.training for one, two in zip(run.segments, run.segments[1:])),  # noqa: B905
        "num_checkpoints": num_checkpoints(report),
        "shows_checkpoints": shows_checkpoints(report),
        "config": config,
        "config_hash": hashlib.blake2b(config.encode(), digest_size=8).hexdigest() if config else None,
        "gpu": report.hardware.gpu if report.hardware is not None else None,
        "devices": _stated(run, "world_size"),
        "hosts": sorted({rank.host for rank in run.ranks if rank.host}) or None,
    }


def _about_steps(report: Report) -> Row:
    step, best = report.ledger.step, report.best
    return {
        "typical_s": step.typical_s if step else None,
        "step_low_s": step.low_s if step else None,
        "step_high_s": step.high_s if step else None,
        "tokens_per_s": report.tokens_per_s,
        "mfu": report.mfu,
        "best_step": best.step if best else None,
        "best_val_loss": best.val_loss if best else None,
    }


def _about_end(report: Report) -> Row:
    end = report.forecast
    if not isinstance(end, Forecast) or report.has_ended:
        return {}
    return {
        "remaining_s": end.remaining_s,
        "remaining_low_s": end.low_s,
        "remaining_high_s": end.high_s,
        "finish_quantiles": [float(one) for one in end.spread.quantiles],
    }


def _about_reading(report: Report) -> Row:
    run = report.run
    return {"lines": run.num_lines, "unread_lines": run.num_unread, "reading_confidence": report.reading.confidence}


def _fingerprint(run: Run) -> str | None:
    """The iterations and their printed times as one text: equal in copies of a log. None where chance may do it."""
    steps = run.steps
    if len(run) < _LEAST_ROWS or len(np.unique(steps.dur_ns)) < _LEAST_FIGURES:
        return None
    content = b"".join(column.tobytes() for column in (steps.step, steps.dur_ns, steps.span))
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _config(run: Run) -> str | None:
    """The settings that the log itself states, as one text; None where it states none."""
    found = [(name, run.settings[name]) for name in _CONFIG if name in run.settings]
    stated = [f"{name}={setting.value}" for name, setting in found if setting.origin in _STATED]
    return redact("; ".join([run.format.name, *stated]), _MOST_TEXT) if stated else None


def _phases(report: Report) -> list[Row]:
    return [
        {
            "phase": total.phase,
            "seconds": total.seconds,
            "low_s": total.low_s,
            "high_s": total.high_s if math.isfinite(total.high_s) else None,
            "count": total.num,
            "basis": total.basis,
        }
        for total in report.ledger.timed_phases
    ]


def _slow(report: Report) -> list[Row]:
    costliest = sorted(report.ledger.slow, key=lambda slow: -slow.seconds)[:_MOST_SLOW]
    return [
        {
            "step": slow.step,
            "line": slow.line,
            "seconds": slow.seconds,
            "cause": slow.cause,
            "code": slow.code,
            "confidence": slow.confidence,
        }
        for slow in costliest
    ]


def _alarms(report: Report) -> list[Row]:
    return [
        {
            "code": alarm.code,
            "severity": alarm.severity,
            "step": alarm.step,
            "line": alarm.line,
            "message": redact(str(alarm.message), _MOST_TEXT),
        }
        for alarm in report.alarms
    ]


def _advice(report: Report) -> list[Row]:
    return [
        {
            "code": advice.code,
            "setting": advice.setting,
            "now": None if advice.now is None else redact(str(advice.now)),
            "proposed": redact(str(advice.proposed)),
            "saves_s": advice.saves_s,
            "saves_low_s": advice.saves_low_s,
            "saves_high_s": advice.saves_high_s,
            "saves_logged_s": saves_logged_s(report, advice),
            "phases": list(advice.phases),
            "evidence": redact(str(advice.evidence), _MOST_TEXT),
        }
        for advice in report.advice
    ]


def _ranks(report: Report) -> list[Row]:
    times = [(rank, typical_s(rank)) for rank in report.run.ranks]
    known = [seconds for _, seconds in times if seconds]
    usual = float(median(known)) if known else None
    return [
        {
            "rank": rank.number,
            "host": rank.host or None,
            "typical_s": seconds,
            "num_steps": rank.num_steps,
            "ratio": seconds / usual if seconds and usual else None,
        }
        for rank, seconds in times
    ]


def _stated(run: Run, name: str) -> float | None:
    """A number that the log states; what a trainer has by default says nothing of a fleet."""
    setting, value = run.settings.get(name), run.settings.number(name)
    if setting is None or setting.origin not in _STATED or value is None:
        return None
    return value if math.isfinite(value) and value > 0 else None
