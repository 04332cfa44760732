"""On fleets whose causes, hosts, commits and prices are known: the report says what is true, and nothing else.

The same with 2,000 runs, by hand: STEPSCOPE_FLEET=2000 pytest tests/fleet/test_truth.py
"""

from __future__ import annotations

import json

import pytest

pytest.importorskip("duckdb")

HOUR = 3600


def document(cli, fleet, *flags) -> dict:
    status, out, err = cli("fleet", "report", "--store", fleet.store, *fleet.flags, *flags, "--format", "json")
    assert (status, err) == (0, "")
    return json.loads(out)


def test_all_hours_and_their_cost_are_counted(cli, scanned_fleet):
    found, truth = document(cli, scanned_fleet), scanned_fleet.truth
    assert found["runs"]["timed"] == len(truth.by_run)
    assert found["total"]["device_s"] == pytest.approx(truth.total_s, rel=1e-3)
    assert found["total"]["cost"] == pytest.approx(truth.money, rel=1e-3)
    assert found["goodput"]["value"] == pytest.approx(truth.device_s["step"] / truth.total_s, abs=0.01)
    assert found["goodput"]["low"] <= found["goodput"]["value"] <= found["goodput"]["high"]


def test_each_cause_has_its_hours_and_its_place(cli, scanned_fleet):
    """Within 5 %, or a tenth of an hour where a cause took hardly more."""
    truth = {code: seconds for code, seconds in scanned_fleet.truth.device_s.items() if code != "step"}
    found = {cause["code"]: cause["device_s"] for cause in document(cli, scanned_fleet)["causes"]}
    assert {code for code, seconds in found.items() if seconds > 0.1 * HOUR} == truth.keys()
    for code, seconds in truth.items():
        assert found[code] == pytest.approx(seconds, rel=0.05, abs=0.1 * HOUR), code
    order = sorted(truth, key=lambda code: -truth[code])
    assert [code for code in found if code in truth][:5] == order[:5]


def test_the_runs_behind_a_cause_are_those_that_it_took_most_from(cli, scanned_fleet):
    causes = {cause["code"]: cause for cause in document(cli, scanned_fleet)["causes"]}
    truth = {name: spent["stall"] for name, spent in scanned_fleet.truth.by_run.items() if spent["stall"]}
    assert causes["stall"]["runs"] == len(truth)
    for run in causes["stall"]["costliest"]:
        assert run["run_s"] == pytest.approx(truth[run["uri"].rpartition("/")[2]], rel=0.05)


def test_both_lemons_are_found_and_no_other_host(cli, scanned_fleet):
    hosts = document(cli, scanned_fleet)["hosts"]
    lemons = {host["host"] for host in hosts if host["is_slow_lemon"] or host["is_crashing_lemon"]}
    assert lemons == scanned_fleet.truth.lemons
    slow = next(host for host in hosts if host["is_slow_lemon"])
    assert slow["ratio"] == pytest.approx(1.3, rel=0.03)


def test_both_regressions_are_found_with_their_commits_phases_and_sizes(cli, scanned_fleet):
    found = document(cli, scanned_fleet)["regressions"]
    batches = {one["config"].partition("batch_size=")[2].partition(";")[0]: one for one in found}
    assert {batch: one["since"] for batch, one in batches.items()} == scanned_fleet.truth.regressions
    for batch, phase, times in (("128", "step", 1.12), ("192", "evaluation", None)):
        one = batches[batch]
        assert one["phase"] == phase
        assert one["ratio"]["low"] <= one["ratio"]["value"] <= one["ratio"]["high"]
        assert one["since_low"] == one["since"] == one["since_high"]
        # 5 s of an iteration became longer, 1.26 s of evaluations and checkpoints did not.
        assert times is None or one["ratio"]["value"] == pytest.approx(1 + (times - 1) * 5.0 / 6.26, abs=0.02)


def test_without_commits_a_regression_has_a_day_and_the_days_that_it_may_be(scanned_fleet):
    from stepscope.fleet.facts import read_facts
    from stepscope.fleet.query import Fleet
    from stepscope.fleet.regressions import find_regressions
    from stepscope.fleet.store import Store

    fleet = Fleet(Store(scanned_fleet.store), read_facts([scanned_fleet.flags[1]]))
    fleet.rows('UPDATE run SET "commit" = NULL')
    found = find_regressions(fleet, sorted(scanned_fleet.truth.lemons), 0.9)
    assert len(found) == 2
    for one in found:
        assert not one.is_by_commit
        assert one.since_low <= one.since <= one.since_high


def test_nothing_is_found_in_a_healthy_fleet(cli, healthy_fleet):
    found = document(cli, healthy_fleet)
    assert {cause["code"] for cause in found["causes"] if cause["device_s"] > 0.1 * HOUR} == {
        "evaluation",
        "checkpoint",
    }
    assert found["regressions"] == []
    assert [host for host in found["hosts"] if host["is_slow_lemon"] or host["is_crashing_lemon"]] == []
    assert found["effective_training"] is None
