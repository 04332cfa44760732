"""Evaluations that draw several bars, each a part of it, and bars whose rate says more than their clock."""

from __future__ import annotations

import pytest

from tests.unit.logs import report_of, run_of

STEPS, EACH = 40, 0.5


def clock(seconds):
    return f"{int(seconds) // 60:02}:{int(seconds) % 60:02}"


def bar(label, total, seconds, *, shown):
    """A bar's states up to the full one, which is drawn twice: as it counts, and as it closes with the mean rate."""
    found = []
    for done in [*range(total // shown, total, total // shown), total]:
        now = clock(seconds * done / total)
        found.append(
            f"{label}: {done * 100 // total:3}%|###   | {done}/{total} [{now}<00:03, {total / seconds:.2f}it/s]"
        )
    return [*found, found[-1]]


def training(epochs, *, parts):
    lines = []
    for epoch in range(1, epochs + 1):
        lines += bar(f"Train epoch [{epoch}/50] Loss: 3.1{epoch}", STEPS, STEPS * EACH, shown=20)
        for label, total, seconds in parts:
            lines += bar(label.format(epoch=epoch), total, seconds, shown=4)
    return lines


PARTS = [("Extracting features", 64, 4.8), ("Test epoch [{epoch}/50] Acc: 41.2%", 20, 1.7)]


def test_what_is_prepared_for_each_evaluation_is_part_of_it():
    ledger = report_of(training(6, parts=PARTS)).ledger
    found = {phase.phase: phase for phase in ledger.phases}
    assert found["evaluation"].num == 6
    assert found["evaluation"].seconds == pytest.approx(6 * 6.5, rel=0.02)
    assert ledger.wall_s == pytest.approx(6 * (STEPS * EACH + 6.5), rel=0.02)


def test_what_is_prepared_once_is_not():
    lines = [*bar("Extracting features", 64, 9.0, shown=4), *training(6, parts=PARTS[1:])]
    found = {phase.phase: phase.seconds for phase in report_of(lines).ledger.phases}
    assert found["evaluation"] == pytest.approx(6 * 1.7, rel=0.02)


def test_a_full_bar_takes_what_its_rate_says_within_its_whole_seconds():
    events = run_of(training(4, parts=PARTS[1:])).events
    assert (events.took_ns / 1e9).tolist() == pytest.approx([1.7] * 4, abs=0.02)


def test_several_loaders_have_a_bar_each():
    lines = ["GPU available: True (cuda), used: True"]
    for epoch in range(4):
        for done in range(10, STEPS + 1, 10):
            now = clock(done * EACH)
            lines.append(f"Epoch {epoch}: {done * 2:3}%|##  | {done}/{STEPS} [{now}<00:09, 2.00it/s, v_num=3]")
        lines += bar("Validation DataLoader 0", 8, 6, shown=4) + bar("Validation DataLoader 1", 8, 9, shown=4)
    events = run_of(lines).events
    assert (events.took_ns / 1e9).tolist() == [15.0] * 4
