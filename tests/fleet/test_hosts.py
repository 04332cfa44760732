"""Lemons: what ranks say of their hosts, what chance explains, and what is a configuration's own fault."""

from __future__ import annotations

import datetime as dt
import random

import pytest

pytest.importorskip("duckdb")

from stepscope.fleet.facts import read_facts
from stepscope.fleet.hosts import find_hosts
from stepscope.fleet.query import Fleet
from stepscope.fleet.store import Store
from stepscope.fleet.tables import TABLES

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def found(folder, runs, ranks=()):
    """The hosts of a store that holds just these rows."""
    rows = {table: [] for table in TABLES}
    for number, row in enumerate(runs):
        rows["runs"].append(
            {
                "read_id": number,
                "uri": f"/logs/{number}.out",
                "candidate": number,
                "scanned_at": START,
                "status": "read",
                "format": "megatron",
                "config_hash": "same",
                "state": "finished",
                "wall_s": 100.0,
                "num_steps": 100.0,
                "typical_s": 1.0,
                "devices": 8.0,
                "started_at": START + dt.timedelta(hours=number),
                **row,
            }
        )
    rows["ranks"] = list(ranks)
    store = Store(folder)
    with store.opened():
        store.write(rows)
    return {host.name: host for host in find_hosts(Fleet(store, read_facts()))}


def test_a_rank_that_prints_its_steps_says_which_of_two_hosts_is_slow(tmp_path):
    """Both hosts of a run wait for the slow one; only its own ranks take longer."""
    runs, ranks = [], []
    for number in range(40):
        pair = ["good", "bad"] if number % 4 == 0 else [f"h{number % 5}", f"i{number % 7}"]
        runs.append({"hosts": pair, "typical_s": 1.3 if "bad" in pair else 1.0})
        for rank, host in enumerate(pair):
            ratio = 1.3 if host == "bad" else 1.0
            ranks.append({"read_id": number, "rank": rank, "host": host, "typical_s": ratio, "ratio": ratio})
    hosts = found(tmp_path, runs, ranks)
    assert {name for name, host in hosts.items() if host.is_lemon} == {"bad"}
    assert hosts["bad"].ratio == pytest.approx(1.3)


def test_two_slow_runs_make_no_lemon(tmp_path):
    runs = [{"hosts": [f"h{number % 10}"], "typical_s": 1.5 if number in {3, 13} else 1.0} for number in range(100)]
    hosts = found(tmp_path, runs)
    assert hosts["h3"].num_slow == 2
    assert not any(host.is_lemon for host in hosts.values())


def test_a_configuration_that_crashes_everywhere_makes_no_host_a_lemon(tmp_path):
    """One host happens to run most of it."""
    dice = random.Random(1)
    runs = [{"hosts": [f"h{dice.randrange(10)}"]} for _ in range(100)]
    runs += [{"hosts": ["h3"], "config_hash": "broken", "state": "crashed"} for _ in range(6)]
    runs += [{"hosts": [f"h{number}"], "config_hash": "broken", "state": "crashed"} for number in range(10)]
    hosts = found(tmp_path, runs)
    assert hosts["h3"].num_crashed == 7
    assert not any(host.is_lemon for host in hosts.values())


def test_the_same_crashes_of_a_sound_configuration_do(tmp_path):
    dice = random.Random(1)
    runs = [{"hosts": [f"h{dice.randrange(10)}"]} for _ in range(100)]
    runs += [{"hosts": ["h3"], "state": "crashed"} for _ in range(6)]
    hosts = found(tmp_path, runs)
    assert {name for name, host in hosts.items() if host.is_crashing_lemon} == {"h3"}


def test_out_of_memory_is_not_the_hosts(tmp_path):
    runs = [{"hosts": [f"h{number % 10}"]} for number in range(100)]
    runs += [{"hosts": ["h3"], "state": "out_of_memory"} for _ in range(6)]
    assert not any(host.is_lemon for host in found(tmp_path, runs).values())
