"""Unknown periods: found where they are, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.ledger.attribute import attribute
from tests.synthetic.healthy import healthy
from tests.synthetic.text import nanogpt, run_of


def found(seconds, *, every=1):
    return attribute(run_of(nanogpt(seconds, every=every))).periods


def noisy(seed, num=2000, level=0.2, noise=0.015):
    rng = np.random.default_rng(seed)
    seconds = level * np.exp(noise * rng.standard_normal(num))
    hit = rng.random(num) < 0.003
    seconds[hit] *= 1 + rng.pareto(2.0, int(hit.sum()))
    return rng, seconds


@pytest.mark.parametrize("seed", range(12))
def test_a_whole_period_with_an_offset(seed):
    """A preconditioner every 10, 25 or 64 steps, not at their multiples."""
    rng, seconds = noisy(seed)
    every, offset = (10, 25, 64)[seed % 3], int(rng.integers(0, 10))
    seconds[offset::every] += 0.3 * (1 + 0.05 * rng.standard_normal(len(seconds[offset::every])))
    (period, *_) = found(seconds).found
    assert (period.every, period.offset) == (every, offset)
    assert period.each_s == pytest.approx(0.3, rel=0.05)


@pytest.mark.parametrize("seed", range(12))
def test_a_period_that_is_no_whole_number(seed):
    """Shards of 190.73 steps: the slow steps are 190 or 191 apart."""
    rng, seconds = noisy(seed, num=6000)
    every = rng.uniform(60, 300)
    teeth = np.ceil(np.arange(1, 6000 / every) * every).astype(int)
    teeth = teeth[teeth < len(seconds)]
    seconds[teeth] += 0.25
    (period, *_) = found(seconds).found
    assert period.every == pytest.approx(every, abs=0.3)
    assert period.num_hits >= 0.8 * len(teeth)


@pytest.mark.parametrize("seed", range(6))
def test_two_combs_that_drift_apart(seed):
    _, seconds = noisy(seed, num=5000)
    seconds[189::189] += 0.2
    seconds[190::190] += 0.2
    assert {period.every for period in found(seconds).found} == {189, 190}


def test_a_larger_cost_at_every_fifth_event():
    """Every 50 steps something, every 250 something more."""
    rng, seconds = noisy(3, num=5000)
    seconds[50::50] += 0.4 * (1 + 0.05 * rng.standard_normal(99))
    seconds[250::250] += 0.3
    first, second = found(seconds).found
    assert (first.every, second.every, second.nested_in) == (50, 250, 50)
    assert second.each_s == pytest.approx(0.3, rel=0.1)


def test_too_few_events_for_a_second_period_are_not_guessed_at():
    _, seconds = noisy(3, num=800)
    seconds[50::50] += 0.4
    seconds[250::250] += 0.3
    assert [period.every for period in found(seconds).found] == [50]


def test_windows_are_searched_by_the_steps_they_cover():
    """A window of ten steps is raised when the event falls anywhere in it."""
    _, seconds = noisy(1, num=9000, noise=0.01)
    seconds[45::90] += 2.0
    means = seconds.reshape(-1, 10).mean(axis=1)
    lines = ["using world size: 8"]
    lines += [
        f" iteration {10 * (row + 1):8d}/ 9000 | consumed samples: 1 | elapsed time per iteration (ms): "
        f"{1000 * mean:.1f} | learning rate: 1.0E-05 | lm loss: 2.0E+00 |"
        for row, mean in enumerate(means)
    ]
    (period, *_) = attribute(run_of(lines)).periods.found
    assert period.every == 90
    assert period.each_s == pytest.approx(2.0, rel=0.1)


def test_healthy_runs_have_no_period_and_one_level():
    """Noise of five kinds: fewer than one run in fifty may show a period or a second level."""
    periods = levels = 0
    seeds = range(200)
    for seed in seeds:
        _, seconds = healthy(seed, num=(150, 300, 800)[seed % 3])
        ledger = attribute(run_of(nanogpt(seconds)))
        periods += bool(ledger.periods.found)
        levels += len(ledger.step.regimes) > 1
    assert periods <= 0.02 * len(seeds)
    assert levels <= 0.02 * len(seeds)
