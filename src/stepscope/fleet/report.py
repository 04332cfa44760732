"""A store → the answer: goodput, what was lost to which cause, and what the questions in its neighbours add."""

from __future__ import annotations

from typing import NamedTuple

from stepscope.core.price import StatedPrice
from stepscope.fleet.answer import (
    Amount,
    Cause,
    Costly,
    Counts,
    Estimate,
    Fix,
    FleetReport,
    Goodput,
    Group,
    Host,
    Regression,
    Remedy,
    RunShare,
    Training,
    Unread,
    added,
)
from stepscope.fleet.hosts import INTERRUPTIONS, find_hosts
from stepscope.fleet.moments import moment
from stepscope.fleet.query import Fleet
from stepscope.fleet.regressions import find_regressions
from stepscope.fleet.running import find_running
from stepscope.fleet.tables import Row

_MOST_RUNS = 10
_MOST_GROUPS = 1000
_MOST_COSTLY = 200
# The phase of the ledger that a cause of the same name is; a change that saves seconds of it is its remedy.
_WITH_REMEDIES = ("evaluation", "checkpoint", "data", "warmup", "gc", "logging", "communication")
# What may be asked by, and what it is in the table `run`; hosts are several a run.
DIMENSIONS = {"user": "user", "project": "project", "trainer": "format", "gpu": "gpu", "commit": "commit"}
BY = ("cause", "host", *DIMENSIONS)
# Seconds, those times the devices, and money, of a table with `seconds` joined to `run`.
AMOUNT = "sum({0}) AS run_s, sum({0} * devices) AS device_s, sum({0} * devices * price) / 3600 AS money"


class Question(NamedTuple):
    """What a report is asked for."""

    store: str
    by: str = "cause"
    price: StatedPrice | None = None
    confidence: float = 0.9


def fleet_report(fleet: Fleet, question: Question) -> FleetReport:
    """The answer about a fleet."""
    total_row = fleet.rows(f"SELECT {AMOUNT.format('wall_s')} FROM run WHERE is_timed")[0]
    total = amount(fleet, total_row)
    whole_s = total.weighted_s
    causes = _causes(fleet, whole_s)
    hosts = find_hosts(fleet)
    lemons = [host.name for host in hosts if host.is_lemon]
    regressions = find_regressions(fleet, lemons, question.confidence)
    paused = fleet.rows(
        f"SELECT count(*) AS num, {AMOUNT.format('paused_s')} FROM run WHERE is_timed AND paused_s > 0"
    )[0]
    span = fleet.one("SELECT epoch(min(started_at)), epoch(max(ended_at)) FROM run")
    return FleetReport(
        store=question.store,
        counts=_counts(fleet),
        first_at=moment(span[0]),
        last_at=moment(span[1]),
        total=total,
        lost=added([cause.amount for cause in causes]) if causes else nothing(fleet),
        paused=amount(fleet, paused),
        num_paused=paused["num"],
        fixes=_fixes(causes, regressions, hosts),
        goodput=_goodput(fleet) if whole_s > 0 else None,
        training=_training(fleet),
        price=question.price,
        causes=causes,
        regressions=regressions,
        hosts=hosts,
        running=find_running(fleet, question.confidence),
        by=question.by,
        groups=_groups(fleet, question.by),
        runs=_costliest(fleet),
        unread=_unread(fleet),
    )


def amount(fleet: Fleet, row: Row) -> Amount:
    """The amount in a row of an answer; without devices there is no money either."""
    device_s = (row["device_s"] or 0.0) if fleet.has_devices else None
    return Amount(row["run_s"] or 0.0, device_s, row["money"] if fleet.has_devices else None)


def _fixes(causes: tuple[Cause, ...], regressions: tuple[Regression, ...], hosts: tuple[Host, ...]) -> tuple[Fix, ...]:
    """What would have saved anything, the most first."""
    found = [Fix("cause", one.code, one.saves) for one in causes if one.saves is not None]
    found += [Fix("regression", one.since, one.extra) for one in regressions]
    found += [Fix("host", one.name, one.extra) for one in hosts if one.is_lemon]
    found.sort(key=lambda one: -one.saves.weighted_s)
    return tuple(one for one in found if one.saves.weighted_s > 0)


def nothing(fleet: Fleet) -> Amount:
    """No time at all."""
    return Amount(0.0, 0.0 if fleet.has_devices else None)


def _counts(fleet: Fleet) -> Counts:
    facts = ("devices", "price", "hosts", "user", "project", "gpu", "commit", "config_hash")
    missing = ", ".join(f'count(*) FILTER (WHERE is_timed AND "{fact}" IS NULL)' for fact in facts)
    found, failed = fleet.one("SELECT count(*), count(*) FILTER (WHERE status = 'failed') FROM newest")
    copies = fleet.one("SELECT count(*) FROM copy")[0]
    timed, counted, early, restarted, *without = fleet.one(
        "SELECT count(*) FILTER (WHERE is_timed), count(*) FILTER (WHERE is_timed AND weight IS NOT NULL), "
        "count(*) FILTER (WHERE ended_early), "
        f"count(*) FILTER (WHERE num_restarts > 0), {missing} FROM run"
    )
    return Counts(
        found, found - failed, copies, timed, counted, early, restarted, dict(zip(facts, without, strict=True))
    )


def _goodput(fleet: Fleet) -> Goodput:
    """Productive seconds over all seconds. The interval is that of logs which are all off in the same direction."""
    value, low, high, unexplained, by_runs = fleet.one(
        """
        SELECT sum(productive_s * weight) / sum(wall_s * weight),
               sum(productive_low_s * weight) / sum(wall_s * weight),
               sum(productive_high_s * weight) / sum(wall_s * weight),
               sum(unexplained_s * weight) / sum(wall_s * weight),
               avg(productive_s / wall_s)
        FROM run WHERE is_timed AND weight IS NOT NULL
        """
    )
    return Goodput(Estimate(value, min(low, value), max(high, value)), by_runs, unexplained)


def _training(fleet: Fleet) -> Training | None:
    marks = ", ".join("?" for _ in INTERRUPTIONS)
    row = fleet.rows(
        f"""
        WITH cut AS (
            SELECT read_id, sum(seconds) AS seconds FROM finding WHERE code IN ({marks}) GROUP BY read_id
        )
        SELECT count(*) AS num, sum(wall_s * weight) AS whole, sum(coalesce(seconds, 0) * weight) AS lost,
               {AMOUNT.format("seconds")}
        FROM run LEFT JOIN cut USING (read_id)
        WHERE is_timed AND weight IS NOT NULL AND (num_restarts > 0 OR ended_early OR seconds > 0)
        """,
        INTERRUPTIONS,
    )[0]
    return Training(row["num"], 1 - row["lost"] / row["whole"], amount(fleet, row)) if row["num"] else None


def _causes(fleet: Fleet, whole_s: float) -> tuple[Cause, ...]:
    rows = fleet.rows(
        f"""
        SELECT code, {AMOUNT.format("seconds")}, sum(low_s * weight) AS low, sum(high_s * weight) AS high,
               count(DISTINCT read_id) FILTER (WHERE weight IS NOT NULL) AS num,
               coalesce(sum(seconds / wall_s) FILTER (WHERE weight IS NOT NULL) / any_value(timed), 0) AS by_runs,
               sum(least(evaluation_excess_s, seconds)) AS beyond_run_s,
               sum(least(evaluation_excess_s, seconds) * devices) AS beyond_device_s,
               sum(least(evaluation_excess_s, seconds) * devices * price) / 3600 AS beyond_money
        FROM finding JOIN run USING (read_id), (SELECT count(*) AS timed FROM run WHERE is_timed AND weight IS NOT NULL)
        WHERE is_timed AND seconds > 0 GROUP BY code
        """
    )
    found = [_cause(fleet, row, whole_s) for row in rows]
    return tuple(sorted(found, key=lambda cause: (-cause.amount.weighted_s, cause.code)))


def _cause(fleet: Fleet, row: Row, whole_s: float) -> Cause:
    own = amount(fleet, row)
    beyond = amount(fleet, {name: row[f"beyond_{name}"] for name in Amount._fields})
    remedies, saves = _remedies(fleet, row["code"])
    return Cause(
        code=row["code"],
        amount=own,
        low_s=row["low"] or 0.0,
        high_s=row["high"] or 0.0,
        share=own.weighted_s / whole_s if whole_s > 0 else 0.0,
        share_by_runs=row["by_runs"],
        num_runs=row["num"],
        beyond=beyond if row["code"] == "evaluation" and beyond.run_s > 0 else None,
        remedies=remedies,
        saves=saves,
        runs=_runs(fleet, row["code"]),
    )


def _remedies(fleet: Fleet, code: str) -> tuple[tuple[Remedy, ...], Amount | None]:
    """The changes that would have saved time of a phase. Several may hold of one run: its best one counts."""
    if code == "after_best":
        row = fleet.rows(
            f"SELECT count(*) AS num, {AMOUNT.format('seconds')} FROM finding JOIN run USING (read_id) WHERE code = ?",
            [code],
        )[0]
        return (), amount(fleet, row)
    if code not in _WITH_REMEDIES:
        return (), None
    rows = fleet.rows(
        f"""
        WITH best AS (
            SELECT advice.*, least(saves_logged_s, finding.seconds) AS saved
            FROM advice JOIN finding ON finding.read_id = advice.read_id AND finding.code = ?
            WHERE saves_logged_s > 0 AND phases[1] = ?
            QUALIFY row_number() OVER (PARTITION BY advice.read_id ORDER BY saves_logged_s DESC, advice.code) = 1
        )
        SELECT best.code AS rule, setting, count(*) AS num, {AMOUNT.format("saved")}
        FROM best JOIN run USING (read_id) WHERE is_timed GROUP BY ALL
        """,
        [code, code],
    )
    found = [Remedy(row["rule"], row["setting"], row["num"], amount(fleet, row)) for row in rows]
    found.sort(key=lambda one: (-one.saves.weighted_s, one.code))
    return tuple(found), added([one.saves for one in found]) if found else None


def _runs(fleet: Fleet, code: str) -> tuple[RunShare, ...]:
    rows = fleet.rows(
        f"""
        SELECT uri, read_id, {AMOUNT.format("seconds")} FROM finding JOIN run USING (read_id)
        WHERE code = ? AND is_timed GROUP BY uri, read_id
        ORDER BY coalesce(sum(seconds * weight), 0) DESC, uri LIMIT {_MOST_RUNS}
        """,
        [code],
    )
    return tuple(RunShare(row["uri"], amount(fleet, row), row["read_id"]) for row in rows)


def _groups(fleet: Fleet, by: str) -> tuple[Group, ...]:
    """The fleet by one of the dimensions. A run on several hosts counts with an equal part on each."""
    if by == "cause":
        return ()
    name = "unnest(coalesce(hosts, [NULL]))" if by == "host" else f'"{DIMENSIONS[by]}"'
    part = "greatest(1, coalesce(len(hosts), 1))" if by == "host" else "1"
    rows = fleet.rows(
        f"""
        WITH member AS (
            SELECT *, {name} AS name, wall_s / {part} AS wall, productive_s / {part} AS good FROM run WHERE is_timed
        ), lost AS (
            SELECT name, code, sum(seconds / {part}) AS run_s, sum(seconds / {part} * devices) AS device_s,
                   sum(seconds / {part} * devices * price) / 3600 AS money, sum(seconds / {part} * weight) AS weighted
            FROM finding JOIN member USING (read_id) GROUP BY name, code
        ), worst AS (
            SELECT name, arg_max(code, weighted) AS worst, sum(run_s) AS lost_run_s, sum(device_s) AS lost_device_s,
                   sum(money) AS lost_money FROM lost GROUP BY name
        )
        SELECT member.name AS name, count(*) AS num, {AMOUNT.format("wall")},
               coalesce(sum(good * weight) / sum(wall * weight), sum(good) / sum(wall)) AS goodput,
               any_value(worst) AS worst, any_value(lost_run_s) AS lost_run_s,
               any_value(lost_device_s) AS lost_device_s, any_value(lost_money) AS lost_money
        FROM member LEFT JOIN worst ON worst.name IS NOT DISTINCT FROM member.name GROUP BY member.name
        ORDER BY coalesce(sum(wall * weight), 0) DESC, member.name LIMIT {_MOST_GROUPS}
        """
    )
    return tuple(
        Group(
            name=row["name"],
            num_runs=row["num"],
            amount=amount(fleet, row),
            lost=amount(fleet, {field: row[f"lost_{field}"] for field in Amount._fields}),
            goodput=row["goodput"],
            worst=row["worst"],
        )
        for row in rows
    )


def _costliest(fleet: Fleet) -> tuple[Costly, ...]:
    """The runs that lost most."""
    rows = fleet.rows(
        f"""
        WITH spent AS (
            SELECT read_id, sum(seconds) AS seconds, arg_max(code, seconds) AS worst FROM finding GROUP BY read_id
        )
        SELECT uri, read_id, paths, wall_s AS run_s, wall_s * devices AS device_s,
               wall_s * devices * price / 3600 AS money, seconds AS lost_run_s, seconds * devices AS lost_device_s,
               seconds * devices * price / 3600 AS lost_money, productive_s / wall_s AS goodput, state, worst, "user",
               project, hosts, epoch(started_at) AS at
        FROM run JOIN spent USING (read_id) WHERE is_timed AND seconds > 0
        ORDER BY coalesce(seconds * weight, 0) DESC, uri LIMIT {_MOST_COSTLY}
        """
    )
    return tuple(
        Costly(
            uri=row["uri"],
            read_id=row["read_id"],
            paths=tuple(row["paths"] or ()),
            amount=amount(fleet, row),
            lost=amount(fleet, {field: row[f"lost_{field}"] for field in Amount._fields}),
            goodput=row["goodput"],
            state=row["state"],
            worst=row["worst"],
            user=row["user"],
            project=row["project"],
            hosts=tuple(row["hosts"] or ()),
            started_at=moment(row["at"]),
        )
        for row in rows
    )


def _unread(fleet: Fleet) -> tuple[Unread, ...]:
    rows = fleet.rows(
        """
        SELECT coalesce(error, '') AS error, count(*) AS num, min(error_text) AS text, min(uri) AS example
        FROM newest WHERE status = 'failed' GROUP BY ALL ORDER BY num DESC, error
        """
    )
    return tuple(Unread(row["error"], row["num"], row["text"] or "", row["example"]) for row in rows)
