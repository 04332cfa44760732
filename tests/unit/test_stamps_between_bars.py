"""Bars whose rows have no timestamps, and a logger that prints some between them."""

from __future__ import annotations

import datetime as dt

import pytest

from stepscope.lines.prefix import split_prefix
from tests.unit.logs import report_of

STEPS, EACH, VALIDATION, SAVE, START = 200, 0.5, 12, 5, 20


def clock(seconds):
    return f"{int(seconds) // 60:02}:{int(seconds) % 60:02}"


def stamped(at, text):
    moment = dt.datetime(2024, 2, 3, 4, 5, 6) + dt.timedelta(seconds=int(at))
    return f"[Voice I {moment:%Y-%m-%d %H:%M:%S} metrics:12] {text}"


def bars(epochs):
    """Lightning's bars, a validation with a bar of its own, and the logger's line right after it."""
    at, lines = 0.0, [stamped(0, "data is there"), "GPU available: True (cuda), used: True"]
    at += START
    for epoch in range(epochs):
        for done in range(10, STEPS + 1, 10):
            lines.append(
                f"Epoch {epoch}: {done // 2:3}%|###   | {done}/{STEPS} [{clock(done * EACH)}<00:10, 2.00it/s, v_num=1]"
            )
        at += STEPS * EACH
        for done in range(1, 9):
            now = clock(VALIDATION * done / 8)
            lines.append(f"Validation DataLoader 0: {done * 100 // 8:3}%|##| {done}/8 [{now}<00:01, 1.5it/s]")
        at += VALIDATION
        lines.append(stamped(at, "an example: 5 words"))
        lines.append(f"Epoch {epoch}, global step {(epoch + 1) * STEPS}: 'val' reached 0.5, saving model to 'a.ckpt'")
        at += SAVE
    return [*lines, f"`Trainer.fit` stopped: `max_epochs={epochs}` reached.", stamped(at, "done")], at


def test_a_logger_may_put_its_name_before_the_letter_of_its_level():
    found = split_prefix("[Voice I 2024-02-03 04:05:06 metrics:12] an example")
    assert found is not None
    assert found.dated
    assert found.length == len("[Voice I 2024-02-03 04:05:06 metrics:12] ")
    assert split_prefix("[Voice I am 2024 of them]") is None


def test_the_run_lasts_from_the_first_of_its_timestamps_to_the_last():
    lines, end = bars(6)
    assert report_of(lines).ledger.wall_s == pytest.approx(end, abs=1.5)


def test_evaluations_take_what_their_bars_say_and_the_rest_is_the_checkpoints():
    lines, _ = bars(6)
    found = {phase.phase: phase for phase in report_of(lines).ledger.phases}
    assert found["evaluation"].num == 6
    assert found["evaluation"].seconds == pytest.approx(6 * VALIDATION, abs=1)
    assert found["checkpoint"].seconds == pytest.approx(5 * SAVE, abs=3)
    assert found["step"].seconds == pytest.approx(6 * STEPS * EACH, rel=0.02)
