"""Runs whose true phase seconds are known: every true value lies in the stated interval."""

from __future__ import annotations

import json

import pytest

from tests.corpus.conftest import SHARED
from tests.corpus.reports import report_of

RUNS = [
    "accum4_pty",
    "bigckpt",
    "blockbuf",
    "datastall",
    "evalheavy",
    "killresume",
    "log10_best",
    "plain50",
    "readme200",
    "slowdown",
    "zerodiv",
]
TRUE = {"step": "step_s", "evaluation": "eval_s", "checkpoint": "ckpt_s"}


def load(name, suffix):
    report = report_of(SHARED / "truth" / f"{name}.{suffix}")
    truth = json.loads((SHARED / "truth" / f"{name}.phases.json").read_text())
    return report, truth


def half_width(total):
    return (total.high_s - total.low_s) / 2 / total.seconds


@pytest.mark.parametrize("suffix", ["log", "arrivals.tsv"], ids=["plain", "stamped"])
@pytest.mark.parametrize("name", RUNS)
def test_every_true_phase_lies_in_its_interval(name, suffix):
    report, truth = load(name, suffix)
    stated = {total.phase: total for total in report.ledger.phases}
    for phase, key in TRUE.items():
        true = truth["totals"][key]
        if phase not in stated:
            assert true == 0, phase
            continue
        assert stated[phase].low_s <= true <= stated[phase].high_s, phase


@pytest.mark.parametrize("suffix", ["log", "arrivals.tsv"], ids=["plain", "stamped"])
@pytest.mark.parametrize("name", RUNS)
def test_a_narrow_interval_has_a_good_figure_in_it(name, suffix):
    """Narrower than a fifth either way: evaluation within 3 %, checkpoint within 10 %."""
    report, truth = load(name, suffix)
    for total in report.ledger.phases:
        if total.phase in {"evaluation", "checkpoint"} and half_width(total) < 0.2:
            tolerance = 0.03 if total.phase == "evaluation" else 0.10
            assert total.seconds == pytest.approx(truth["totals"][TRUE[total.phase]], rel=tolerance), total.phase


@pytest.mark.parametrize("name", [name for name in RUNS if name != "blockbuf"])
def test_stamps_separate_evaluation_within_a_percent(name):
    """However few steps are printed: the printed time of an evaluating one says when its evaluation began."""
    report, truth = load(name, "arrivals.tsv")
    evaluation = next(total for total in report.ledger.phases if total.phase == "evaluation")
    assert evaluation.seconds == pytest.approx(truth["totals"]["eval_s"], rel=0.01)
    assert half_width(evaluation) < 0.02
    assert report.ledger.split == "stamps"


def test_stamps_measure_a_save_that_is_as_long_as_a_step():
    """The end of a save prints nothing, so the step behind it is in the way: shorter saves drown in its jitter."""
    report, _ = load("bigckpt", "arrivals.tsv")
    checkpoint = next(total for total in report.ledger.phases if total.phase == "checkpoint")
    assert half_width(checkpoint) < 0.2


@pytest.mark.parametrize("name", [name for name in RUNS if name not in {"bigckpt", "accum4_pty"}])
def test_the_first_evaluation_tells_the_others_from_their_saves(name):
    """No compile on a CPU: iteration 0 evaluates and never saves. Narrow unless saves or steps are as long as it is."""
    report, _ = load(name, "log")
    evaluation = next(total for total in report.ledger.phases if total.phase == "evaluation")
    assert half_width(evaluation) < 0.1


@pytest.mark.parametrize("name", RUNS)
def test_the_wall_time(name):
    """Within 1 % where every step is printed; one in five or ten is a sample."""
    report, truth = load(name, "log")
    sampled = (report.run.settings.count("log_interval") or 1) > 2
    assert report.ledger.wall_s == pytest.approx(truth["totals"]["total_s"], rel=0.03 if sampled else 0.01)


@pytest.mark.parametrize("name", RUNS)
def test_the_wall_time_of_stamped_lines(name):
    """Between the first and the last line, start-up and gaps included; buffered arrival times are told as useless."""
    report, _ = load(name, "arrivals.tsv")
    lines = (SHARED / "truth" / f"{name}.arrivals.tsv").read_text().splitlines()
    if name == "blockbuf":
        assert report.ledger.stamps_unusable
        return
    true = float(lines[-1].split("\t")[0]) - float(lines[0].split("\t")[0])
    assert report.ledger.wall_s == pytest.approx(true, abs=0.01)


def test_the_injected_stall_is_found_and_not_explained_away():
    report, truth = load("datastall", "log")
    injected = truth["segments"][0]["injected"]
    stalls = [slow for slow in report.ledger.slow if slow.cause == "unexplained"]
    assert [slow.step for slow in stalls] == [injected["stall_iter"]]
    assert report.ledger.seconds("stall") == pytest.approx(injected["stall_s"], rel=0.05)


def test_the_injected_slowdown_raises_its_alarm():
    report, _ = load("slowdown", "log")
    assert "slowdown" in {alarm.code for alarm in report.alarms}


def test_a_killed_and_resumed_run_has_two_segments():
    report, truth = load("killresume", "log")
    assert len(report.run.segments) == len(truth["segments"]) == 2
    assert "restarted" in {alarm.code for alarm in report.alarms}
    stamped, _ = load("killresume", "arrivals.tsv")
    assert stamped.ledger.seconds("gap") > 3


def test_a_crash_is_an_alarm():
    report, _ = load("zerodiv", "log")
    codes = {alarm.code: alarm for alarm in report.alarms}
    assert "crash" in codes
    assert "ended_early" not in codes  # one death is one alarm
    assert report.has_ended


@pytest.mark.parametrize("name", ["readme200", "evalheavy", "plain50", "accum4_pty"])
def test_healthy_runs_raise_no_alarm_but_a_slowdown(name):
    """Their machine was shared: steps that really got slower may be told, nothing else."""
    report, _ = load(name, "log")
    assert {alarm.code for alarm in report.alarms} <= {"slowdown"}


HEALTHY = ["readme200", "evalheavy", "plain50", "accum4_pty", "log10_best"]


def true_costs(report, truth):
    """What each finding should cost, by the iterations themselves: those after the best one count there and once."""
    best = report.best if any(one.code == "after_best" for one in report.findings) else None
    rows = [(place, row) for place, row in enumerate(truth["iterations"])]
    firsts = [place for place, row in rows if place and row["segment"] != rows[place - 1][1]["segment"]]
    after = [place for place, row in rows if best is not None and row["iter"] > best.step]
    again = [
        place
        for first in firsts
        for place, row in rows[:first]
        if row["iter"] >= rows[first][1]["iter"] and place not in after
    ]
    before = [row for place, row in rows if place not in after]
    return {
        "after_best": sum(rows[place][1]["total_s"] for place in after),
        "evaluation": sum(row["eval_s"] for row in before),
        "checkpoint": sum(row["ckpt_s"] for row in before),
        "stall": sum(row["injected_s"] for row in before),
        "lost_work": sum(rows[place][1]["step_s"] for place in again),
    }


def true_extra(finding, truth):
    """What the iterations of a slower stretch took beyond the level that it names."""
    args = finding.message.args
    own = [row["step_s"] for row in truth["iterations"] if args["first"] <= row["iter"] <= args["last"]]
    return sum(own) - len(own) * args["normal"].value


@pytest.mark.parametrize("name", RUNS)
def test_a_finding_costs_what_it_says(name):
    """Its seconds lie in the ledger's interval for its phase, the true ones in its own; levels within a tenth."""
    report, truth = load(name, "log")
    true, stated = true_costs(report, truth), {total.phase: total for total in report.ledger.phases}
    assert report.findings
    for one in report.findings:
        if one.code in {"evaluation", "checkpoint"}:
            assert one.low_s <= true[one.code] <= one.high_s, one
            assert one.seconds <= stated[one.code].high_s, one
            if not true["after_best"]:
                assert stated[one.code].low_s <= one.seconds, one
        elif one.code == "slower":
            # Single slow steps inside are none of the stretch's level.
            assert one.seconds == pytest.approx(true_extra(one, truth), rel=0.15), one
        else:
            assert one.seconds == pytest.approx(true[one.code], rel=0.1), one


@pytest.mark.parametrize("name", HEALTHY)
def test_no_finding_of_a_healthy_run_costs_less_than_a_hundredth(name):
    """By the true seconds, not only by its own."""
    report, truth = load(name, "log")
    true, total_s = true_costs(report, truth), truth["totals"]["total_s"]
    for one in report.findings:
        seconds = true_extra(one, truth) if one.code == "slower" else true[one.code]
        assert seconds >= 0.01 * total_s, one


def test_work_done_twice_is_told_once():
    """The alarm of a restart and the finding give one number, which is that of the iterations alone."""
    report, truth = load("killresume", "log")
    lost = next(one for one in report.findings if one.code == "lost_work")
    alarm = next(one for one in report.alarms if one.code == "restarted")
    assert lost.seconds == pytest.approx(alarm.message.args["lost"].value)
    assert lost.seconds == pytest.approx(true_costs(report, truth)["lost_work"], rel=0.1)


def test_settings_come_from_the_header():
    report, _ = load("plain50", "log")
    settings = report.run.settings
    for name, value in {
        "max_steps": 200,
        "eval_interval": 50,
        "eval_iters": 20,
        "batch_size": 12,
        "compile": False,
    }.items():
        assert settings[name].value == value
        assert settings[name].origin == "log"
    assert settings.count("parameters") == 808_064
