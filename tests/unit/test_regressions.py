"""Logs that once gave a wrong answer, each as small as it can be."""

from __future__ import annotations

import datetime as dt

import pytest

from stepscope.analysis.explain import explain
from stepscope.core.redact import redact
from tests.unit.logs import report_of, run_of, training


def stamped(lines, *, step_s=0.1, evaluation_s=2.0):
    """Every line with the moment at which nanoGPT would print it; unprinted steps pass in silence."""
    clock, found = 1_700_000_000.0, []
    for step, line in lines:
        clock += step_s if line.startswith("iter") else 0.0
        if line.startswith("step"):
            clock += evaluation_s
        found.append(f"{clock + step * step_s:.3f} {line}")
    return found


def test_when_every_printed_step_evaluates_the_stamps_give_the_level():
    """log_interval = eval_interval: no normal step is ever printed."""
    lines = [(int(line.split()[1].rstrip(":")), line) for line in training(5000, every=250, evaluate=250, saves=False)]
    report = report_of(stamped(lines), compile=False, device="cpu", max_steps=10_000)
    assert report.ledger.step.typical_s == pytest.approx(0.1, rel=0.05)
    assert report.ledger.wall_s == pytest.approx(5001 * 0.1 + 21 * 2, rel=0.02)
    assert report.forecast.remaining_s == pytest.approx(5000 * 0.1 + 20 * 2, rel=0.05)


def test_when_every_printed_step_evaluates_and_nothing_tells_the_level_the_total_is_unknown():
    from stepscope.report.json import document

    answer = document(report_of(training(5000, every=250, evaluate=250, saves=False)))
    assert answer["wall_s"] is None
    assert "reason" in answer["forecast"]


def test_when_every_printed_step_evaluates_the_settings_give_a_wide_interval():
    """40 batches of a third of a step each are 13.6 steps: 1.36 s of the 1.46 s."""
    lines = training(5000, every=250, evaluate=250, evaluation_ms=1360, saves=False)
    report = report_of(lines, eval_iters=20, gradient_accumulation_steps=1)
    assert report.ledger.wall_low_s < 5001 * 0.1 + 21 * 1.36 < report.ledger.wall_high_s
    assert report.ledger.wall_high_s > 1.5 * report.ledger.wall_low_s


def test_a_log_that_ends_with_an_evaluation_was_trained_up_to_it():
    lines = training(4000, every=1000, evaluate=300, saves=False)
    lines = [line for line in lines if not line.startswith("step 4200")]
    lines += ["step 4200: train loss 3.0, val loss 3.1", "step 4500: train loss 3.0, val loss 3.1"]
    report = report_of(lines, max_steps=6000)
    assert report.ledger.wall_s == pytest.approx(4500 * 0.1 + 16 * 2, rel=0.03)
    assert report.forecast.schedule.num_steps == 6000 - 4499


def test_evaluations_inside_a_hole_of_the_log_are_counted():
    lines = [
        "Overriding: eval_interval = 250",
        "Overriding: log_interval = 10",
        *training(2000, every=10, evaluate=250),
    ]
    kept = [line for line in lines if not any(f" {step}:" in line for step in range(410, 1210))]
    assert report_of(kept).ledger.wall_s == pytest.approx(report_of(lines).ledger.wall_s, rel=0.01)


def test_a_stamp_without_a_year_is_the_last_such_moment():
    run = run_of([f"Nov 15 01:{m:02d}:00 iter {m}: loss 3.0, time 60000.00ms" for m in range(10)])
    report = explain(run, fallback_now=dt.datetime(2026, 3, 1, tzinfo=dt.UTC))
    assert report.moment_from == "stamp"
    assert report.moment.astimezone(dt.UTC).replace(tzinfo=None) == dt.datetime(2025, 11, 15, 1, 9)


def test_a_time_of_day_is_the_last_such_moment():
    run = run_of([f"23:{m:02d}:00 iter {m}: loss 3.0, time 60000.00ms" for m in range(50, 60)])
    report = explain(run, fallback_now=dt.datetime(2026, 3, 1, 0, 5, tzinfo=dt.UTC))
    assert report.moment.astimezone(dt.UTC).replace(tzinfo=None) == dt.datetime(2026, 2, 28, 23, 59)


def test_only_a_bounded_piece_of_a_line_is_searched_for_secrets(monkeypatch):
    """Patterns for secrets are not linear in the worst case; a line of megabytes once took minutes."""
    seen = []
    monkeypatch.setattr("stepscope.core.redact.mask", lambda text: seen.append(len(text)) or text)
    assert len(redact("a" * 200_000)) <= 160
    assert max(seen) <= 1000


@pytest.mark.parametrize(
    "line",
    [
        "iter " + "9" * 5000 + ": loss 3.0, time 100.00ms",
        "iter 5: loss 3.0, time 1" + "0" * 400 + "ms",
        "iter 5: loss 3.0, time 100.00ms, mfu inf%",
        "max_iters = 10 ** 10 ** 10",
        "max_iters = 1e999",
        "9999-99-99 99:99:99 iter 5: loss 3.0, time 100.00ms",
    ],
)
def test_monstrous_numbers_are_passed_over(line):
    from stepscope.report.json import render

    report = report_of([line, *training(50)])
    assert render(report, None)
    assert report.ledger.step.typical_s == pytest.approx(0.1)


def test_the_number_of_saves_is_part_of_the_doubt():
    """Saves on improvement, dearer than everything else: how many there will be is anybody's guess."""
    lines = []
    for part in range(10):
        lines += training(100 * part + 99, first=100 * part, evaluate=100, save_ms=60_000, saves=part % 3 == 0)
    end = report_of(lines, max_steps=3000).forecast
    assert end.high_s / end.low_s > 1.5


def test_a_heading_of_the_last_epoch_that_comes_again_begins_another_training():
    """A loop that calls `fit(epochs=1)`: every time it is `Epoch 1/1`, and each took its own time."""
    lines = []
    for n in range(8):
        lines += [f"Iteration {n}", "Epoch 1/1"]
        lines.append(f"100/100 [==============================] - {140 + n}s 1s/step - loss: {8 - n / 9:.4f}")
    run = run_of(lines)
    assert (len(run), run.num_trainings) == (8, 8)
    assert run.steps.seconds.sum() == pytest.approx(sum(range(140, 148)))
