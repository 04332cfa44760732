"""A fleet's report as the JSON document `stepscope.fleet/1`: English keys, plain seconds, null for unknown."""

from __future__ import annotations

import datetime as dt
from typing import Any

from stepscope import __version__
from stepscope.core.unseen import to_json
from stepscope.fleet.answer import (
    Amount,
    Cause,
    Costly,
    Estimate,
    Fix,
    FleetReport,
    Group,
    Host,
    Regression,
    Running,
    RunShare,
)

SCHEMA = "stepscope.fleet/1"
# Hosts and groups beyond these are in the store.
_MOST_ROWS = 1000


def render(report: FleetReport) -> str:
    """The JSON text."""
    return to_json(document(report), indent=2) + "\n"


def document(report: FleetReport) -> dict[str, Any]:
    """The document as plain data."""
    counts, good, training = report.counts, report.goodput, report.training
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        "store": report.store,
        "weighted_by": "device" if report.has_devices else "run",
        "runs": counts._asdict(),
        "first_at": _moment(report.first_at),
        "last_at": _moment(report.last_at),
        "price": None if report.price is None else report.price.value,
        "currency": (report.price.currency or None) if report.price is not None else None,
        "total": _amount(report.total),
        "lost": _amount(report.lost),
        "paused": {"runs": report.num_paused, **_amount(report.paused)},
        "first": None if report.first is None else _fix(report.first),
        "fixes": [_fix(one) for one in report.fixes],
        "goodput": None
        if good is None
        else {**_estimate(good.by_time), "by_runs": good.by_runs, "unexplained": good.unexplained},
        "effective_training": None
        if training is None
        else {"runs": training.num_runs, "ratio": training.ratio, "lost": _amount(training.lost)},
        "causes": [_cause(one) for one in report.causes],
        "regressions": [_regression(one) for one in report.regressions],
        "hosts": [_host(one) for one in report.hosts[:_MOST_ROWS]],
        "running": [_running(one) for one in report.running[:_MOST_ROWS]],
        "by": report.by,
        "groups": [_group(one) for one in report.groups[:_MOST_ROWS]],
        "costliest": [_costly(one) for one in report.runs],
        "unread": [
            {"error": one.error, "count": one.num, "message": one.text, "example": one.example} for one in report.unread
        ],
    }


def _amount(one: Amount) -> dict[str, Any]:
    return {"run_s": one.run_s, "device_s": one.device_s, "cost": one.money}


def _estimate(one: Estimate) -> dict[str, float]:
    return {"value": one.value, "low": one.low, "high": one.high}


def _runs(runs: tuple[RunShare, ...]) -> list[dict[str, Any]]:
    return [{"uri": one.uri, "read_id": one.read_id, **_amount(one.amount)} for one in runs]


def _fix(one: Fix) -> dict[str, Any]:
    return {"kind": one.kind, "name": one.name, "saves": _amount(one.saves)}


def _cause(one: Cause) -> dict[str, Any]:
    return {
        "code": one.code,
        **_amount(one.amount),
        "low_s": one.low_s,
        "high_s": one.high_s,
        "share": one.share,
        "share_by_runs": one.share_by_runs,
        "runs": one.num_runs,
        "beyond": None if one.beyond is None else _amount(one.beyond),
        "saves": None if one.saves is None else _amount(one.saves),
        "advice": [
            {"code": own.code, "setting": own.setting, "runs": own.num_runs, **_amount(own.saves)}
            for own in one.remedies
        ],
        "costliest": _runs(one.runs),
    }


def _regression(one: Regression) -> dict[str, Any]:
    return {
        "config": one.config,
        "by": "commit" if one.is_by_commit else "day",
        "since": one.since,
        "since_low": one.since_low,
        "since_high": one.since_high,
        "since_at": _moment(one.since_at),
        "ratio": _estimate(one.ratio),
        "per_step_before_s": one.per_step_s[0],
        "per_step_after_s": one.per_step_s[1],
        "phase": one.phase,
        "phase_share": one.phase_share,
        "runs_before": one.num_before,
        "runs_after": one.num_after,
        "extra": _amount(one.extra),
        "costliest": _runs(one.runs),
    }


def _host(one: Host) -> dict[str, Any]:
    return {
        "host": one.name,
        "runs": one.num_runs,
        "ratio": one.ratio,
        "slow": one.num_slow,
        "crashed": one.num_crashed,
        "is_slow_lemon": one.is_slow_lemon,
        "is_crashing_lemon": one.is_crashing_lemon,
        "extra": _amount(one.extra),
    }


def _running(one: Running) -> dict[str, Any]:
    return {
        "uri": one.uri,
        "read_id": one.read_id,
        "read_at": _moment(one.read_at),
        "remaining_s": one.remaining_s,
        "low_s": one.low_s,
        "high_s": one.high_s,
        "wall_limit_at": _moment(one.wall_limit_at),
        "chance": one.chance,
        "alarms": list(one.alarms),
    }


def _group(one: Group) -> dict[str, Any]:
    return {
        "name": one.name,
        "runs": one.num_runs,
        **_spent(one),
    }


def _costly(one: Costly) -> dict[str, Any]:
    return {
        "uri": one.uri,
        "read_id": one.read_id,
        **_spent(one),
        "state": one.state,
        "user": one.user,
        "project": one.project,
        "hosts": list(one.hosts),
        "started_at": _moment(one.started_at),
    }


def _spent(one: Group | Costly) -> dict[str, Any]:
    """What some runs took, and what of it was lost."""
    return {
        "total": _amount(one.amount),
        "lost": _amount(one.lost),
        "goodput": one.goodput,
        "worst": one.worst,
    }


def _moment(one: dt.datetime | None) -> str | None:
    return None if one is None else one.isoformat(timespec="seconds")
