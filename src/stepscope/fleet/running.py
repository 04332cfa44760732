"""Runs that had not ended when they were read: when each will, and whether that is before its job does."""

from __future__ import annotations

import math

from stepscope.fleet.answer import Running
from stepscope.fleet.moments import moment
from stepscope.fleet.query import Fleet
from stepscope.fleet.tables import Row
from stepscope.forecast.intervals import Spread

_MOST = 10_000


def find_running(fleet: Fleet, confidence: float) -> tuple[Running, ...]:
    """The runs that go on, the likeliest to be cut off first."""
    rows = fleet.rows(
        f"""
        WITH seen AS (SELECT read_id, list_sort(list(DISTINCT code)) AS codes FROM alarm GROUP BY read_id)
        SELECT uri, read_id, epoch(ended_at) AS read_at, remaining_s, finish_quantiles AS quantiles,
               epoch(wall_limit_at) AS limit_at, coalesce(codes, []) AS codes
        FROM run LEFT JOIN seen USING (read_id) WHERE state = 'running' ORDER BY uri LIMIT {_MOST}
        """
    )
    found = [_running(row, confidence) for row in rows]
    return tuple(sorted(found, key=lambda one: (2.0 if one.chance is None else one.chance, one.uri)))


def _running(row: Row, confidence: float) -> Running:
    spread = Spread(tuple(row["quantiles"])) if row["quantiles"] else None
    left_s = row["remaining_s"]
    low_s = high_s = None
    if spread is not None and left_s is not None:
        tail = (1 - confidence) / 2
        low_s, high_s = (left_s * math.exp(spread.at(share)) for share in (tail, 1 - tail))
    return Running(
        uri=row["uri"],
        read_id=row["read_id"],
        read_at=moment(row["read_at"]),
        remaining_s=left_s,
        low_s=low_s,
        high_s=high_s,
        wall_limit_at=moment(row["limit_at"]),
        chance=_chance(row, spread),
        alarms=tuple(row["codes"]),
    )


def _chance(row: Row, spread: Spread | None) -> float | None:
    """The chance to end before the job does; None where either is not known."""
    limit_at, read_at, left_s = row["limit_at"], row["read_at"], row["remaining_s"]
    if spread is None or limit_at is None or read_at is None or left_s is None:
        return None
    if left_s <= 0:
        return 1.0
    return spread.below(math.log((limit_at - read_at) / left_s)) if limit_at > read_at else 0.0
