"""The parts of a forecast: the level, the price of stops, a previous run, the interval, a deadline."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re

import numpy as np
import pytest

from stepscope.forecast.finish import Forecast, forecast, look_ahead
from stepscope.forecast.intervals import LEVELS, PARTS, SHARES, Signs, Spread, nearness, spread_of
from stepscope.forecast.level import estimate
from stepscope.forecast.pace import StopCost, Timeline, lay_out
from stepscope.forecast.previous import find_previous
from stepscope.forecast.stop_cost import cost_of
from stepscope.forecast.trials import look_back
from stepscope.ledger.attribute import attribute
from stepscope.run.intervals import with_settings
from tests.unit.logs import report_of, run_of, training


def scheduled(last, *, until=None, pace=1.0):
    """A run whose steps take 100 ms up to step 500 and 200 ms from there on."""
    until = last if until is None else until
    lines = training(min(until, 500), every=10, step_ms=100 * pace)
    return lines + (training(until, first=510, every=10, step_ms=200 * pace) if until > 500 else [])


def end_of(lines, *, previous=(), **flags):
    run = with_settings(run_of(lines), flags=flags)
    others = [with_settings(run_of(other), flags=flags) for other in previous]
    others = [dataclasses.replace(other, paths=(f"run{index}.log",)) for index, other in enumerate(others)]
    return forecast(run, attribute(run), previous=others)


def test_one_stall_does_not_become_the_level():
    calm = end_of(training(1000, every=10), max_steps=2000)
    lines = training(1000, every=10)
    lines[50] = lines[50].replace("time 100", "time 9100")
    assert end_of(lines, max_steps=2000).remaining_s == pytest.approx(calm.remaining_s, rel=0.02)


def test_stalls_that_keep_coming_are_counted():
    """A hundredth of the steps takes fifty times as long: the mean of the past knows, the level of a step does not."""
    lines = training(4000)
    for index in range(30, len(lines), 100):
        lines[index] = lines[index].replace("time 100", "time 5000")
    end = end_of(lines, max_steps=8000)
    assert end.remaining_s > 1.2 * 4000 * 0.1


def test_evaluations_are_averaged_not_taken_from_the_last():
    """Saves come at random: the last evaluation alone would swing the forecast."""
    lines = []
    for block in range(10):
        first = block * 100 + (0 if block == 0 else 1)
        lines += training((block + 1) * 100, first=first, every=10, evaluate=100, save_ms=3000, saves=block % 2 == 0)
    end = end_of(lines, max_steps=2000)
    spent = end.left["evaluation"].seconds + end.left["checkpoint"].seconds
    assert 10 * 2.0 < spent < 10 * 5.2


def test_a_new_slowdown_is_weighed_by_its_age():
    """It has lasted for a tenth of the steps done: it will hardly last for the nine tenths to come."""
    lines = training(900) + training(1000, first=901, step_ms=300)
    end = end_of(lines, max_steps=10_000)
    assert 9000 * 0.1 < end.remaining_s < 9000 * 0.25
    assert any(message.key == "assume-passes" for message in end.assumptions)


def test_a_previous_run_tells_what_the_schedule_does():
    """Half-way before the steps get dearer, only the other run knows; this one is a tenth slower throughout."""
    end = end_of(scheduled(1000, until=400, pace=1.1), previous=[scheduled(1000)], max_steps=1000)
    assert end.remaining_s == pytest.approx(1.1 * (100 * 0.1 + 500 * 0.2), rel=0.03)
    assert end.like == ("run0.log",)
    assert sum(left.seconds or 0 for left in end.left.values()) == pytest.approx(end.remaining_s)


def test_a_previous_run_with_other_settings_is_not_followed(tmp_path):
    head = ["batch_size = 12", "max_iters = 1000"]
    (tmp_path / "other.log").write_text("\n".join(["batch_size = 99", head[1], *scheduled(1000)]), encoding="utf-8")
    own = tmp_path / "own.log"
    own.write_text("\n".join([*head, *scheduled(1000, until=400)]), encoding="utf-8")
    from stepscope.reading.reader import read

    run = with_settings(read(str(own)))
    if run.settings.count("batch_size") == 12:
        assert find_previous(run) == []
    (tmp_path / "same.log").write_text("\n".join([*head, *scheduled(1000)]), encoding="utf-8")
    found = find_previous(with_settings(read(str(own)), flags={"max_steps": 1000}))
    assert [other.paths[0] for other in found if other.paths[0].endswith("same.log")] == [str(tmp_path / "same.log")]


def test_the_folder_is_asked_and_said(tmp_path, cli):
    (tmp_path / "first.log").write_text("\n".join(scheduled(1000)), encoding="utf-8")
    own = tmp_path / "second.log"
    own.write_text("\n".join(scheduled(1000, until=400)), encoding="utf-8")
    status, out, _ = cli("eta", str(own), "--max-steps", "1000", "--format", "json")
    assert status == 0
    assert json.loads(out)["forecast"]["like"] == [str(tmp_path / "first.log")]
    _, _, err = cli("eta", str(own), "--max-steps", "1000", "--lang", "en")
    assert "first.log" in err


def test_like_wants_a_complete_log_of_the_same_trainer(tmp_path, cli):
    own, short = tmp_path / "own.log", tmp_path / "short.log"
    own.write_text("\n".join(scheduled(1000, until=400)), encoding="utf-8")
    short.write_text("\n".join(scheduled(1000, until=600)), encoding="utf-8")
    status, _, err = cli("eta", str(own), "--max-steps", "1000", "--like", str(short), "--lang", "en")
    assert status == 1
    assert "600" in err


def test_the_chance_of_a_deadline():
    end = end_of(training(1000, every=10), max_steps=2000)
    assert isinstance(end, Forecast)
    chances = [end.probability(seconds) for seconds in (0, end.low_s, end.remaining_s, end.high_s, 10 * end.high_s)]
    assert chances == sorted(chances)
    assert chances[0] == 0
    assert 0.02 < chances[1] < 0.1
    assert 0.9 < chances[3] < 0.99 <= chances[4]


def test_deadline_of_a_bare_clock_time_is_the_next_one(tmp_path, cli):
    log = tmp_path / "train.log"
    log.write_text("\n".join(training(1000, every=10)), encoding="utf-8")
    status, out, _ = cli(
        "eta", str(log), "--max-steps", "2000", "--now", "2025-11-15T23:59", "--deadline", "00:30", "--format", "json"
    )
    assert status == 0
    deadline = json.loads(out)["forecast"]["deadline"]
    assert dt.datetime.fromisoformat(deadline["at"]).day == 16
    assert deadline["probability"] > 0.9
    assert cli("eta", str(log), "--max-steps", "2000", "--deadline", "soon")[0] == 2


def test_during_start_up_it_says_when_to_ask_again(tmp_path, cli):
    log = tmp_path / "train.log"
    log.write_text("\n".join(training(10, every=10)), encoding="utf-8")
    status, out, err = cli("eta", str(log), "--max-steps", "2000", "--lang", "en")
    assert status == 0
    assert "rough estimate" in out
    assert "Check again after iteration" in out + err


def test_a_spread_is_read_both_ways():
    spread = Spread(tuple(0.01 * index for index in range(len(LEVELS))))
    for level in LEVELS:
        assert spread.below(spread.at(level)) == pytest.approx(level)


def test_the_shipped_table_is_whole():
    """Rising quantiles around the forecast, a weight for every stretch and part."""
    from stepscope.forecast._learned import QUANTILES, WEIGHTS

    assert len(WEIGHTS) == 2 * len(SHARES) + len(PARTS)
    assert all(weight > 0 for weight in WEIGHTS)
    for quantiles in QUANTILES.values():
        assert len(quantiles) == len(LEVELS)
        assert list(quantiles) == sorted(quantiles)
        assert quantiles[0] < 0 < quantiles[-1]


@pytest.mark.parametrize("sign", ["drift", "noise", "dispute", "stops", "apart"])
def test_what_makes_a_run_harder_never_makes_its_interval_narrower(sign):
    calm = Signs(0.5, (0.01, -0.01), 0.01, 0.01, 0.01, 0.01, False, "own", "nanogpt")
    wild = calm._replace(**{sign: 0.2})
    widths = [spread_of(own).at(0.95) - spread_of(own).at(0.05) for own in (calm, wild)]
    assert widths[0] < widths[1]


def test_a_run_that_has_just_begun_is_less_sure():
    """After as many of its steps, one that has lasted for a day shows more than one that has lasted for a minute."""
    early, late = (
        spread_of(Signs(0.05, (0.01, -0.01), 0.01, 0.01, 0.01, 0.01, False, "own", "nanogpt", elapsed_s=elapsed_s))
        for elapsed_s in (60, 86_400)
    )
    assert late.at(0.95) - late.at(0.05) < early.at(0.95) - early.at(0.05)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.015, 0.07, 0.25, 0.6, 0.75, 0.9, 1.0])
def test_the_interval_does_not_jump_as_a_run_goes_on(share):
    near, next_to_it = nearness(share), nearness(share + 1e-6)
    assert sum(near) == pytest.approx(1)
    assert near == pytest.approx(next_to_it, abs=1e-3)
    assert all(part >= 0 for part in near)


def test_one_evaluation_tells_a_spacing():
    """Nothing says how often it evaluates, and one was seen at step 300 of 3,000: there are nine more to come."""
    lines = [line for line in training(400, every=10, evaluate=300) if not line.startswith("step 0")]
    end = end_of(lines, max_steps=3000)
    assert isinstance(end, Forecast)
    assert end.left["evaluation"].num == 9


def test_an_evaluation_after_the_first_step_tells_no_spacing():
    """It evaluated at step 1 and not again in 400 steps: so not at every step, as one spacing would have it."""
    lines = training(400, every=10, evaluate=100_000)
    lines[2:2] = ["step 1: train loss 4.1000, val loss 4.2000", "iter 1: loss 4.1000, time 400.00ms, mfu 30.00%"]
    end = end_of([line for line in lines if not line.startswith("step 0")], max_steps=4000)
    assert isinstance(end, Forecast)
    assert end.left["evaluation"].num is None
    assert end.remaining_s < 2 * end.left["step"].seconds


@pytest.mark.parametrize(
    ("every", "steps", "last", "told"),
    [
        (10, 5000, 200, 250),  # prints and lasts like the config for Shakespeare
        (10, 4990, 200, 250),  # of 5,000 every tenth is printed
        (10, 4000, 200, None),  # lasts otherwise
        (20, 5000, 200, None),  # prints otherwise
        (10, 5000, 400, None),  # should have evaluated by now
    ],
)
def test_a_run_like_a_shipped_config_is_taken_to_evaluate_like_it(every, steps, last, told):
    run = with_settings(run_of(training(last, every=every, evaluate=100_000)), flags={"max_steps": steps})
    found = run.settings.get("eval_interval")
    assert (found and found.value) == told
    assert found is None or found.origin == "default"


def test_what_happened_to_a_previous_run_once_is_not_forecast():
    """The previous run lay still for an hour at one step; otherwise it went as this one does."""
    earlier = scheduled(1000)
    hung = [re.sub(r"^(iter 700: .*time )[\d.]+", r"\g<1>3600000.00", line) for line in earlier]
    assert hung != earlier
    plain, after_hang = (
        end_of(scheduled(1000, until=400), previous=[other], max_steps=1000) for other in (earlier, hung)
    )
    assert after_hang.remaining_s == pytest.approx(plain.remaining_s, rel=0.1)


def test_before_the_second_evaluation_those_to_come_are_bounded_by_the_first_row():
    """No interval is known: the estimate is more than the steps alone, and none costs more than the first row did."""
    told = report_of(training(200, every=10, evaluate=1000), max_steps=4000)
    end = told.forecast
    assert isinstance(end, Forecast)
    steps_s, first_s = end.left["step"].seconds, float(told.run.steps.seconds[0])
    assert end.left["evaluation"].num is None
    assert 0 < end.left["evaluation"].seconds <= 4000 / 250 * first_s
    assert end.remaining_s == pytest.approx(steps_s + end.left["evaluation"].seconds)


def test_costs_that_counting_misses_are_in_the_mean_over_whole_cycles():
    """Where both are right both are kept; where counting was off in the trials, the mean over whole cycles is taken."""
    rows = np.arange(1, 401)
    is_stop = rows % 40 == 0
    seconds = np.where(is_stop, 5.0, 1.0)
    stops = tuple(
        StopCost(row=int(row), step=int(row), seconds=4.0, level_s=1.0, num=1, evaluated=True, saved=False)
        for row in rows[is_stop]
    )
    ones = np.ones(len(rows))
    plain = ~is_stop
    timeline = Timeline(
        rows[plain],
        ones[plain],
        seconds[plain],
        stops,
        (rows, ones, seconds),
        (rows.astype(float), np.cumsum(seconds)),
        False,
        0.0,
        False,
    )
    level = estimate(timeline, (), 100)
    tried = look_back(timeline, level)
    assert max(map(abs, tried.errors)) < 0.001
    assert tried.whole_s == pytest.approx(1.1)
    wrong = look_back(timeline, level._replace(trials=tuple((row, 2 * said) for row, said in level.trials)))
    assert wrong.whole_share > 0.9


def test_restarts_are_in_the_upper_tail():
    """Two so far: with a day of training to come the upper end reaches further than that of a run that had none."""
    slow = {"every": 10, "evaluate": 100, "step_ms": 100_000.0}
    whole = [*training(400, **slow), *training(700, first=300, **slow), *training(1000, first=600, **slow)]
    restarted, steady = end_of(whole, max_steps=2000), end_of(training(1000, **slow), max_steps=2000)
    assert restarted.lost_s > 2 * steady.lost_s > 0
    assert restarted.remaining_s == pytest.approx(steady.remaining_s, rel=0.02)
    assert restarted.high_s > steady.high_s
    assert end_of(whole, max_steps=1003).lost_s == 0  # minutes to come: another is less likely than what is left out


def test_of_two_previous_runs_the_shorter_is_followed():
    """Both were as fast until here; later one of them was held up by somebody, which is no schedule."""
    calm = training(1000, every=10)
    held_up = training(600, every=10) + training(1000, first=610, every=10, step_ms=140)
    own = training(300, every=10)
    end = end_of(own, previous=[calm, held_up], max_steps=1000)
    assert end.remaining_s == pytest.approx(70, rel=0.03)


def test_stamps_in_whole_seconds_are_known_to_be_coarse():
    """The trainer's own figure is fine, the stamps that give the level are not: a row is one tick or two."""
    lines, at = [], 0.0
    for step in range(0, 60_000, 100):
        at += 1.25
        clock = (dt.datetime(2024, 2, 16) + dt.timedelta(seconds=int(at))).strftime("%Y/%m/%d %H:%M:%S")
        lines.append(
            f"{clock} - mmengine - INFO - Epoch(train)   [1][{step + 100:5d}/100000]  lr: 1.0000e-04  eta: 0:10:00  "
            "time: 0.0125  data_time: 0.0002  memory: 189  loss: 2.1"
        )
    run = with_settings(run_of(lines), flags={"max_steps": 100_000})
    timeline = lay_out(run, attribute(run))
    assert timeline.on_wall
    assert timeline.tick == pytest.approx(1 / 1.25, rel=0.02)


def test_rows_of_many_steps_and_of_few_are_one_sample():
    """A clock that ticks makes rows of two steps and of five: as rates they scatter far more than their mean does."""
    num = np.array([2.0, 5.0, 3.0, 4.0] * 5)
    rows, seconds = np.arange(len(num)), np.ones(len(num))
    timeline = Timeline(rows, num, seconds, (), (rows, num, seconds), (np.cumsum(num), rows + 1.0), False, 1.0, False)
    assert estimate(timeline, (), 100).noise == pytest.approx(1 / 14)  # and not 0.079, as the mean of rates


@pytest.mark.parametrize("power", [-10.0, -3.0, -1.0, -0.06, 0.0, 2.0, 8.0])
def test_costs_that_follow_a_power_of_the_step_are_prolonged_by_their_mean(power):
    """Stops that lie close together may show any power: it is followed to a factor of three."""
    seen = np.arange(10_000, 10_901, 100)
    stops = [StopCost(step, step, (step / 10_000) ** power, 0.1, 1, True, False) for step in seen.tolist()]
    told = cost_of(stops, 0.1, 10_900, 20_000)
    to_come = (np.linspace(10_900, 20_000, 100_000) / 10_900) ** power
    mean = np.mean((seen[1:] / 10_900) ** power)
    assert told.seconds / np.mean((seen[1:] / 10_000) ** power) == pytest.approx(
        np.clip(to_come.mean() / mean, 1 / 3, 3), rel=0.02
    )


def test_costs_that_explode_lead_nowhere_far():
    stops = [StopCost(n, 1_000_000 + 10 * n, 1.2**n, 0.1, 1, True, False) for n in range(10)]
    told = cost_of(stops, 0.1, 1_900_000, 4_000_000)
    assert np.isfinite(told.seconds)
    assert np.isfinite(told.error)


def test_a_previous_run_that_knows_of_evaluations_to_come_is_not_in_dispute():
    """In its first epoch a run has seen none of them; that the other took longer by them is what it is asked for."""

    def log(epochs, last):
        lines = ["Namespace(data_path='/data/toy', epochs=8, lr=0.1)"]
        for epoch in range(epochs):
            lines += [
                f"Epoch: [{epoch}]  [{batch:4d}/400]  eta: 0:00:40  loss: 1.0 (1.0)  time: 0.1000  data: 0.0010"
                for batch in range(0, last if epoch == epochs - 1 else 400, 10)
            ]
            lines += ["Test: Total time: 0:00:10 (0.1000 s / it)"] if last == 400 else []
        return lines

    run, previous = (with_settings(run_of(lines)) for lines in (log(1, 300), log(8, 400)))
    alone = look_ahead(run, attribute(run))
    after = look_ahead(run, attribute(run), [previous])
    assert alone.signs.is_blind
    assert after.signs.kind == "profile"
    assert after.seconds > 1.15 * alone.seconds
    assert after.signs.apart == 0


def test_a_run_taken_up_again_is_as_young_as_its_process():
    """A card cools down between two processes: what counts is how long the last one has lasted."""
    lines = [*training(400, every=10, step_ms=1000.0), *training(410, first=390, every=10, step_ms=1000.0)]
    run = with_settings(run_of(lines), flags={"max_steps": 1000})
    assert len(run.segments) == 2
    assert look_ahead(run, attribute(run)).signs.elapsed_s == pytest.approx(20, abs=3)
