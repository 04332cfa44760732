"""A thinned run has the ledger of the run: totals, counts, stops and slow steps; what is left out is ordinary rows."""

from __future__ import annotations

import datetime as dt
import random

import numpy as np
import pytest

from stepscope.analysis.explain import explain
from stepscope.forecast.finish import Forecast
from stepscope.ledger.attribute import attribute
from stepscope.ledger.thinning import thinned
from tests.unit.logs import run_of

NUM, MOST = 40_000, 6_000


def nanogpt(dice: random.Random) -> list[str]:
    """No timestamps; evaluations and checkpoints inside an iteration, stalls, a restart that repeats work."""
    lines, last = [], 0
    for first, end in ((0, 25_000), (24_001, NUM)):
        for step in range(first, end):
            took = 100 * dice.uniform(0.97, 1.04) + (900 if step == first else 0)
            if step % 500 == 0:
                took += 2000 * dice.uniform(0.95, 1.05)
                lines.append(f"step {step}: train loss {3 + dice.random():.4f}, val loss {3 + dice.random():.4f}")
                if step > first:
                    took += 700
                    lines.append("saving checkpoint to out")
            elif dice.random() < 5e-4:
                took *= dice.uniform(2, 20)
            lines.append(f"iter {step}: loss {3 + dice.random():.4f}, time {took:.2f}ms, mfu 38.12%")
            last = step
    return ["tokens per iteration will be: 32,768", *lines, f"step {last + 1}: train loss 2.9, val loss 3.0"]


def tenth(dice: random.Random) -> list[str]:
    """nanoGPT's usual log: every tenth iteration is printed, and stands for the nine before it."""
    lines = []
    for step in range(0, 10 * NUM, 10):
        took = 100 * dice.uniform(0.95, 1.08) + (900 if step == 0 else 0)
        if step % 5000 == 0:
            took += 2000 * dice.uniform(0.95, 1.05)
            lines.append(f"step {step}: train loss {3 + dice.random():.4f}, val loss {3 + dice.random():.4f}")
        elif dice.random() < 2e-3:
            took *= dice.uniform(2, 6)
        lines.append(f"iter {step}: loss {3 + dice.random():.4f}, time {took:.2f}ms, mfu 38.12%")
    return lines


def megatron(dice: random.Random) -> list[str]:
    """Timestamps; evaluations outside the clock of the iterations, one slower stretch, a cost that comes back."""
    at, lines = dt.datetime(2026, 1, 1), ["using world size: 64, data-parallel size: 64"]
    for step in range(1, NUM + 1):
        took = 0.5 * dice.uniform(0.97, 1.03) * (1.4 if 20_000 <= step < 28_000 else 1)
        took += 0.4 * (step % 750 == 10) + dice.uniform(1, 30) * (dice.random() < 2e-4)
        at += dt.timedelta(seconds=took)
        lines.append(
            f" [{at}] iteration {step:8d}/{NUM:8d} | consumed samples: {step * 256:12d} | elapsed time per iteration "
            f"(ms): {took * 1000:.1f} | learning rate: 1.000E-04 | global batch size:   256 | lm loss: "
            f"{3 + dice.random():.6E} | loss scale: 1.0 | grad norm: 0.800 |"
        )
        if step % 1000 == 0:
            at += dt.timedelta(seconds=5 * dice.uniform(0.98, 1.02))
            lines.append(f" validation loss at iteration {step} | lm loss value: 3.1E+00 | lm loss PPL: 2.0E+01 | ")
    return lines


def waiting(dice: random.Random) -> list[str]:
    """Each iteration with its wait for data, in timestamps of whole seconds and times of milliseconds."""
    at, lines = dt.datetime(2026, 1, 1), []
    for step in range(1, NUM + 1):
        wait = 0.02 * dice.uniform(0.8, 1.2) + dice.uniform(1, 4) * (step % 400 == 1)
        took = 0.3 * dice.uniform(0.97, 1.03) + wait
        at += dt.timedelta(seconds=took)
        lines.append(
            f"{at:%Y/%m/%d %H:%M:%S} - mmengine - INFO - Iter(train) [{step:6d}/{NUM}]  lr: 1.0000e-04  "
            f"eta: 1:00:00  time: {took:.4f}  data_time: {wait:.4f}  memory: 2000  loss: {3 + dice.random():.4f}"
        )
    return lines


@pytest.fixture(scope="module", params=[nanogpt, tenth, megatron, waiting], ids=lambda make: make.__name__)
def both(request):
    """A run, and the same thinned."""
    run = run_of(request.param(random.Random(7)))
    fewer = thinned(run, most=MOST)
    assert len(run) > NUM - 10
    # The ends, the highest rows and those next to them are most of so short a run.
    assert len(fewer) < 0.6 * len(run)
    return run, fewer


def test_all_seconds_and_steps_are_in_the_rows_that_are_left(both):
    run, fewer = both
    assert fewer.steps.num_printed == len(run)
    assert int(fewer.steps.span.sum()) == int(run.steps.span.sum())
    assert float(fewer.steps.seconds.sum()) == pytest.approx(float(run.steps.seconds.sum()), rel=1e-8)
    assert int(fewer.steps.step[-1]) == int(run.steps.step[-1])


def test_the_ledger_is_that_of_all_rows(both):
    whole, own = (attribute(run) for run in both)
    assert own.wall_s == pytest.approx(whole.wall_s, rel=1e-5)  # unprinted steps are inferred
    assert [total.phase for total in own.phases] == [total.phase for total in whole.phases]
    for total, expected in zip(own.phases, whole.phases, strict=True):
        assert total.num == expected.num, total.phase
        assert total.seconds == pytest.approx(expected.seconds, rel=2e-3, abs=0.05), total.phase
        assert total.low_s == pytest.approx(expected.low_s, rel=5e-3, abs=0.5), total.phase
        assert total.high_s == pytest.approx(expected.high_s, rel=5e-3, abs=0.5), total.phase


def test_each_slow_step_is_found_with_its_seconds(both):
    whole, own = (attribute(run) for run in both)
    assert len(whole.slow) > 20
    assert [slow.step for slow in own.slow] == [slow.step for slow in whole.slow]
    assert [slow.line for slow in own.slow] == [slow.line for slow in whole.slow]
    for slow, expected in zip(own.slow, whole.slow, strict=True):
        assert slow.seconds == pytest.approx(expected.seconds, rel=1e-9)
        for part, other in zip(slow.parts, expected.parts, strict=True):
            assert part.phase == other.phase
            assert part.seconds == pytest.approx(other.seconds, rel=0.02, abs=0.01)


def test_the_level_and_what_comes_back_are_near_those_of_all_rows(both):
    whole, own = (attribute(run) for run in both)
    assert own.step.typical_s == pytest.approx(whole.step.typical_s, rel=5e-3)
    assert own.step.low_s == pytest.approx(whole.step.low_s, rel=5e-3)
    assert own.step.high_s == pytest.approx(whole.step.high_s, rel=5e-3)
    assert len(own.step.regimes) == len(whole.step.regimes)
    assert [period.every for period in own.periods.found] == [period.every for period in whole.periods.found]


def test_the_report_says_the_same(both):
    whole, own = (explain(run) for run in both)
    assert own.state == whole.state
    assert [alarm.code for alarm in own.alarms] == [alarm.code for alarm in whole.alarms]
    assert [advice.code for advice in own.advice] == [advice.code for advice in whole.advice]
    assert [slow.cause for slow in own.ledger.slow] == [slow.cause for slow in whole.ledger.slow]
    assert isinstance(own.forecast, Forecast) == isinstance(whole.forecast, Forecast)
    if isinstance(own.forecast, Forecast):
        assert own.forecast.remaining_s == pytest.approx(whole.forecast.remaining_s, rel=0.01, abs=1)


def test_events_notices_and_remarks_keep_their_places(both):
    run, fewer = both
    rows = run.events.row
    own = fewer.events.row[rows < len(run)]
    assert np.array_equal(fewer.steps.step[own], run.steps.step[rows[rows < len(run)]])
    assert (fewer.events.row[rows == len(run)] == len(fewer)).all()
    assert [segment.training for segment in fewer.segments] == [segment.training for segment in run.segments]
    assert sum(segment.num_rows for segment in fewer.segments) == len(fewer)


def test_short_runs_and_runs_without_times_are_left_alone():
    run = run_of(nanogpt(random.Random(1))[:2000])
    assert thinned(run) is run
    untimed = run_of([f"iter {step}: loss {3 + step % 7 / 10:.4f}" for step in range(9000)])
    assert len(thinned(untimed, most=1000)) == len(untimed)
