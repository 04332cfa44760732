"""Hosts against the fleet: whose iterations take longer than those of the same configuration, and where runs crash.

A run is held against runs of its configuration and commit, or those next to it in time, so that a regression makes no
host look slow. A host is a lemon where it is slow or crashes in three runs or more and chance does not explain it.
"""

from __future__ import annotations

import numpy as np

from stepscope.fleet.answer import Amount, Host
from stepscope.fleet.query import Fleet
from stepscope.fleet.tables import Row
from stepscope.run.model import Floats

# Equal GPUs differ by a few hundredths.
_SLOW = 1.1
# "Lemons" in Meta's and ByteDance's reports have caused trouble in several jobs, not in one.
_LEAST_BAD = 3
# The chance that a healthy fleet has a lemon at all.
_CHANCE = 0.01
# Runs that a configuration's own rate of crashes has to outweigh that of the fleet.
_PRIOR_RUNS = 5.0
# Fewer runs of the same kind are no measure of another one.
_LEAST_ALIKE = 5
_MOST_HOSTS = 100_000
# What may be the host's: out of memory and an interrupt are the user's.
_CRASHES = ("crashed", "killed")
# What interruptions take: the work that has to be done again, and the time until it goes on.
INTERRUPTIONS = ("lost_work", "gap", "died_after_checkpoint", "died_before_checkpoint")

_SPEED = f"""
CREATE OR REPLACE TEMP TABLE speed AS
SELECT read_id, usual_s, typical_s / usual_s AS ratio FROM (
    SELECT read_id, typical_s, coalesce(
        CASE WHEN "commit" IS NOT NULL AND count(*) OVER same >= {_LEAST_ALIKE}
             THEN median(typical_s) OVER same END,
        CASE WHEN count(*) OVER near >= {_LEAST_ALIKE} THEN median(typical_s) OVER near END
    ) AS usual_s
    FROM run WHERE typical_s > 0 AND config_hash IS NOT NULL
    WINDOW same AS (PARTITION BY format, config_hash, devices, gpu, "commit"),
           near AS (PARTITION BY format, config_hash, devices, gpu ORDER BY started_at
                    ROWS BETWEEN 15 PRECEDING AND 15 FOLLOWING)
)
"""
# A rank that prints its own steps says which of several hosts is the slow one.
_MEMBERS = f"""
CREATE OR REPLACE TEMP TABLE member AS
WITH own AS (SELECT read_id, host, max(ratio) AS ratio FROM rank WHERE host IS NOT NULL GROUP BY ALL),
cut AS (SELECT read_id, sum(seconds) AS cut_s FROM finding WHERE code IN {INTERRUPTIONS} GROUP BY read_id),
placed AS (SELECT *, unnest(list_distinct(hosts)) AS host FROM run WHERE len(hosts) > 0)
SELECT placed.host AS host, placed.read_id AS read_id, coalesce(own.ratio, speed.ratio) AS ratio, usual_s,
       num_steps, devices, price, len(hosts) AS num_hosts, coalesce(config_hash, uri) AS config,
       state IN {_CRASHES} AS is_crash, coalesce(cut_s, 0) AS cut_s
FROM placed LEFT JOIN own ON own.read_id = placed.read_id AND own.host = placed.host
     LEFT JOIN speed ON speed.read_id = placed.read_id LEFT JOIN cut ON cut.read_id = placed.read_id
"""
_HOSTS = f"""
SELECT host, count(*) AS num, median(ratio) AS ratio, count(ratio) AS num_timed,
       count(*) FILTER (WHERE ratio >= {_SLOW}) AS slow, count(*) FILTER (WHERE is_crash) AS crashed,
       sum(extra_s) AS run_s, sum(extra_s * devices) AS device_s, sum(extra_s * devices * price) / 3600 AS money
FROM (
    SELECT *, (CASE WHEN ratio >= {_SLOW} THEN (ratio - 1) * usual_s * num_steps ELSE 0 END
               + CASE WHEN is_crash THEN cut_s ELSE 0 END) / num_hosts AS extra_s FROM member
)
GROUP BY host ORDER BY host LIMIT {_MOST_HOSTS}
"""


def find_hosts(fleet: Fleet) -> tuple[Host, ...]:
    """The hosts that are known, lemons first, then the slowest."""
    fleet.rows(_SPEED)
    fleet.rows(_MEMBERS)
    rows = fleet.rows(_HOSTS)
    crashes = _unlikely_crashes(fleet, rows)
    total_slow, total_timed = sum(row["slow"] for row in rows), sum(row["num_timed"] for row in rows)
    found = []
    for row in rows:
        elsewhere = (total_slow - row["slow"] + 0.5) / (total_timed - row["num_timed"] + 1)
        slow = _at_least(np.full(row["num_timed"], min(1.0, elsewhere)), row["slow"]) * len(rows)
        device_s = (row["device_s"] or 0.0) if fleet.has_devices else None
        found.append(
            Host(
                name=row["host"],
                num_runs=row["num"],
                ratio=row["ratio"],
                num_slow=row["slow"],
                num_crashed=row["crashed"],
                is_slow_lemon=row["slow"] >= _LEAST_BAD and slow <= _CHANCE,
                is_crashing_lemon=row["host"] in crashes,
                extra=Amount(row["run_s"] or 0.0, device_s, row["money"] if fleet.has_devices else None),
            )
        )
    return tuple(sorted(found, key=lambda host: (not host.is_lemon, -(host.ratio or 0.0), host.name)))


def _unlikely_crashes(fleet: Fleet, hosts: list[Row]) -> set[str]:
    """The hosts where more runs crash than the same configurations do elsewhere."""
    suspects = [row["host"] for row in hosts if row["crashed"] >= _LEAST_BAD]
    if not suspects:
        return set()
    marks = ", ".join("?" for _ in suspects)
    rows = fleet.rows(
        f"""
        WITH whole AS (SELECT avg(is_crash::DOUBLE) AS rate FROM member),
        config AS (SELECT config, count(*) AS num, sum(is_crash::INT) AS crashed FROM member GROUP BY config),
        own AS (SELECT host, config, count(*) AS num, sum(is_crash::INT) AS crashed FROM member GROUP BY ALL)
        SELECT own.host AS host, own.num AS num, own.crashed AS crashed,
               (config.crashed - own.crashed + {_PRIOR_RUNS} * rate) / (config.num - own.num + {_PRIOR_RUNS}) AS rate
        FROM own JOIN config USING (config), whole WHERE own.host IN ({marks})
        """,
        suspects,
    )
    found = set()
    for host in suspects:
        own = [row for row in rows if row["host"] == host]
        rates = np.concatenate([np.full(row["num"], min(1.0, row["rate"])) for row in own])
        if _at_least(rates, sum(int(row["crashed"]) for row in own)) * len(hosts) <= _CHANCE:
            found.add(host)
    return found


def _at_least(rates: Floats, count: int) -> float:
    """The chance of `count` events or more where each happens with its own rate."""
    if count <= 0:
        return 1.0
    below = np.zeros(count)
    below[0] = 1.0
    for rate in rates:
        below[1:] = below[1:] * (1 - rate) + below[:-1] * rate
        below[0] *= 1 - rate
    return max(0.0, 1.0 - float(below.sum()))
