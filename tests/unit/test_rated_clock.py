"""Clocks worked out from a mean rate since the start that is printed as a whole number."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.reading.rated_clock import even_clock, mean_rate, rate_tick
from stepscope.run.model import NO_TIME
from tests.unit.logs import report_of


def clocks(step: np.ndarray, seconds: np.ndarray, tick: float = 1.0) -> np.ndarray:
    """The clock that the printed rates give, in seconds."""
    rates = [mean_rate(f"{np.floor(rate / tick) * tick:.0f}") or 0 for rate in step / seconds]
    raw = np.array([round(own / rate * 1e9) for own, rate in zip(step, rates, strict=True)], dtype=np.int64)
    return even_clock(step, raw, np.array([0]), tick) / 1e9


def test_a_rate_stands_for_all_numbers_that_are_printed_like_it() -> None:
    assert [rate_tick(text) for text in ("96", "96.5", "1.23e+03")] == pytest.approx([1, 0.1, 10])
    assert [mean_rate(text) for text in ("96", "96.5", "1.23e+03", "?")] == [96.5, 96.5, 1235.0, None]


def test_a_speed_that_changes_is_seen_through_the_rounding() -> None:
    step = np.arange(1000, 300_001, 1000)
    each = np.where(step <= 100_000, 0.010, np.where(step <= 200_000, 0.014, 0.008))
    truth = np.cumsum(each * 1000)
    found = clocks(step, truth)
    assert abs(found / truth - 1).mean() < 0.003  # each rate alone leaves 1.2 % open
    took = np.diff(found) / 1000
    for first, end, own in ((20, 90, 0.010), (120, 190, 0.014), (220, 290, 0.008)):
        assert np.median(took[first:end]) == pytest.approx(own, rel=0.04)


def test_the_clock_never_goes_back_and_stays_within_what_each_rate_allows() -> None:
    generator = np.random.default_rng(5)
    step = np.cumsum(generator.integers(1, 900, 400))
    truth = np.cumsum(np.diff(step, prepend=0) * generator.lognormal(-4, 0.8, 400))
    found, rate = clocks(step, truth), np.floor(step / truth)
    assert (np.diff(found) >= 0).all()
    assert (found >= step / (rate + 1) - 1e-6).all()
    assert (found <= step / np.maximum(rate, 1e-9) + 1e-6).all()


def test_rows_without_a_rate_and_a_clock_that_begins_again_are_left_alone() -> None:
    clock = np.array([NO_TIME, 10 * 10**9, NO_TIME, 30 * 10**9, 5 * 10**9])
    found = even_clock(np.array([100, 200, 300, 400, 500]), clock, np.array([0]), 1.0)
    assert list(found == NO_TIME) == [True, False, True, False, False]
    assert found[4] < found[1] < found[3]


def test_rates_that_contradict_each_other_give_a_clock_between_them() -> None:
    step = np.array([100, 200, 201, 300])
    raw = np.round(step / np.array([10.5, 15.5, 25.5, 20.5]) * 1e9).astype(np.int64)
    assert (np.diff(even_clock(step, raw, np.array([0]), 1.0)) >= 0).all()


def test_a_log_of_rates_since_the_start_has_steps_and_a_total_with_their_doubt() -> None:
    step = np.arange(500, 200_001, 500)
    truth = np.cumsum(np.where(step <= 80_000, 0.008, 0.012) * 500)
    lines = []
    for own, at in zip(step, truth, strict=True):
        lines += [f"SPS: {int(own / at)}", f"global_step={own}, episodic_return=[1.]"]
    report = report_of(lines)
    assert report.run.format.name == "cleanrl"
    assert report.ledger.wall_s == pytest.approx(truth[-1], rel=0.006)
    assert report.ledger.wall_low_s <= truth[-1] <= report.ledger.wall_high_s
    assert report.ledger.wall_high_s - report.ledger.wall_low_s > 0.005 * truth[-1]
    assert report.ledger.step is not None
    assert report.ledger.step.typical_s == pytest.approx(0.012, rel=0.03)
    assert [phase.phase for phase in report.ledger.phases if phase.seconds > 5] == ["step"]
