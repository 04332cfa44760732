"""Whole minutes left of an epoch, by programs that cut the time left, and by those that cut two times apart."""

from __future__ import annotations

import pytest

from tests.unit.logs import report_of


def epoch(batches, each, *, every=20, cut_apart=False):
    """MiniMind's lines; `each` is what a batch takes, by its number."""
    lines, spent = [], 0.0
    for batch in range(0 if cut_apart else 1, batches + 1):
        spent += each(batch)
        if batch % every and batch != batches:
            continue
        done = batch + cut_apart
        left = spent / done * batches // 60 - spent // 60 if cut_apart else spent / done * (batches - batch) // 60
        lines.append(f"Epoch:[1/1]({batch}/{batches}), loss: 2.{batch:04}, lr: 0.0005, epoch_time: {left:.1f}min")
    return lines, spent


@pytest.mark.parametrize("cut_apart", [False, True])
@pytest.mark.parametrize("each", [0.09, 0.11, 0.128])
def test_the_total_of_a_short_epoch_is_within_its_interval(each, cut_apart):
    lines, spent = epoch(4300, lambda _: each, cut_apart=cut_apart)
    ledger = report_of(lines).ledger
    assert ledger.wall_low_s <= spent <= ledger.wall_high_s
    assert ledger.wall_high_s - ledger.wall_low_s < 0.5 * spent


def test_a_figure_that_is_cut_as_a_whole_tells_the_mean_when_it_falls():
    lines, spent = epoch(4300, lambda _: 0.11)
    ledger = report_of(lines).ledger
    assert ledger.wall_s == pytest.approx(spent, rel=0.02)
    assert ledger.wall_high_s - ledger.wall_low_s < 0.06 * spent


def test_steps_that_get_slower_open_the_interval():
    lines, spent = epoch(4300, lambda batch: 0.1 + 0.015 * batch / 4300)
    ledger = report_of(lines).ledger
    assert ledger.wall_low_s <= spent <= ledger.wall_high_s
    assert ledger.wall_s == pytest.approx(spent, rel=0.05)


def shares(until, *, total_s=3600.0):
    """fastText's one line, drawn over and over: tenths of a percent, and what is left of the hour."""
    drawn = []
    for tenths in range(until + 1):
        left = round(total_s * (1 - tenths / 1000))
        clock = f"{left // 3600:3}h{left // 60 % 60:2}m{left % 60:2}s"
        drawn.append(
            f"\rProgress: {tenths / 10:5.1f}% words/sec/thread:   15730 lr:  0.050000 avg.loss:  0.412345 ETA: {clock}"
        )
    return "".join(drawn) + "\n"


def test_a_share_and_what_is_left_make_the_time_of_a_percent():
    report = report_of(["Read 124M words", shares(400)])
    assert report.ledger.step.typical_s == pytest.approx(36, rel=0.02)
    assert report.forecast.remaining_s == pytest.approx(2160, rel=0.02)


def test_the_last_percent_is_the_end():
    report = report_of(["Read 124M words", shares(1000)])
    assert report.state.value == "finished"
    assert report.ledger.wall_s == pytest.approx(3600, rel=0.02)
