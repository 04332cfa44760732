"""Times printed in whole ticks: what they leave open is in every interval."""

from __future__ import annotations

import pytest

from tests.unit.logs import report_of


def epochs(seconds, *, of=40, batches=120):
    """Keras before 2.0.7: an epoch's whole seconds, and no time of a step."""
    lines = [f"Train on {batches} batches"]
    for epoch, took in enumerate(seconds, 1):
        lines += [f"Epoch {epoch}/{of}", f"{batches}/{batches} [==============================] - {took}s - loss: 0.5"]
    return lines


def test_whole_seconds_that_never_change_may_all_be_cut():
    """Twenty epochs of "7s" may be 7.9 s each: the time left is 140 s to 158 s, whatever the middle says."""
    end = report_of(epochs([9, *[7] * 19])).forecast
    assert end.remaining_s == pytest.approx(140, rel=0.02)
    assert end.high_s > 1.1 * end.remaining_s
    assert end.low_s < 0.96 * end.remaining_s


def test_the_total_is_open_by_as_much():
    ledger = report_of(epochs([9, *[7] * 19])).ledger
    assert ledger.wall_s == pytest.approx(142)
    assert ledger.wall_high_s == pytest.approx(142 + 20, rel=0.02)


def test_seconds_that_change_by_ticks_are_off_by_less():
    steady = report_of(epochs([9, *[7] * 19])).forecast
    scattered = report_of(epochs([9, *[7, 8, 7, 8, 8, 7, 7, 8, 7, 8, 8, 7, 7, 8, 8, 7, 8, 7, 8]])).forecast
    assert scattered.high_s / scattered.remaining_s < steady.high_s / steady.remaining_s


def test_long_epochs_are_hardly_open():
    end = report_of(epochs([700 + 7 * (n % 3) for n in range(20)])).forecast
    assert end.high_s < 1.1 * end.remaining_s
