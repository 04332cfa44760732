"""What a time figure of an unknown log means, held against the other figures of the log."""

from __future__ import annotations

import pytest

from stepscope.analysis.explain import explain
from tests.unit.test_infer_records import read_as, stamp, wave


def because(run):
    return run.format.inferred.assumptions[1].because.key


def test_a_clock_in_hours_is_known_by_the_counts_next_to_it():
    """In seconds, the actor would make half a million updates a second."""
    head = "Round      Wall_Time      Samples     Actor_Steps   Actor_Loss"
    rows = [
        f"{n * 40:<10} {0.001 + n * 0.07 + wave(n) / 100:<14.6f} {n * 90_000:<11} {n * 50_000:<13} {-2 + wave(n):.5f}"
        for n in range(90)
    ]
    run = read_as([head, *rows])
    assert explain(run).ledger.step.typical_s == pytest.approx(0.07 * 3600 / 40, rel=0.02)
    assert because(run) == "infer-because-amounts"
    assert run.format.inferred.confidence <= 0.6


def test_a_clock_in_minutes_is_known_by_the_timestamps():
    lines = [
        f"[{stamp(n * 30 + n % 2)}] it {n * 20} loss {2 - wave(n):.3f} elapsed {n * 0.5 + wave(n):.3f}"
        for n in range(80)
    ]
    run = read_as(lines)
    assert explain(run).ledger.step.typical_s == pytest.approx(1.5, rel=0.05)


def test_epochs_that_get_slower_are_no_running_clock():
    """Epochs of 12 to 49 s: a clock that grows like this would have begun long before its first line."""
    lines = [f"epoch {n}/38 loss {2 - n / 40:.3f} time {11 + n}.2" for n in range(1, 39)]
    run = read_as(lines)
    assert explain(run).ledger.wall_s == pytest.approx(sum(11.2 + n for n in range(1, 39)), rel=0.02)


def test_a_figure_with_its_mean_in_brackets_is_one_steps():
    lines = [
        f"Fold 0: [{epoch}][{n}/200]  Time {0.4 + wave(n):.3f} ({0.405:.3f})  Data {0.1 + wave(n):.3f} ({0.1:.3f})"
        f"  Loss {2 - wave(n):.4f} ({2.1:.4f})"
        for epoch in range(3)
        for n in range(0, 200, 20)
    ]
    run = read_as(lines)
    assert explain(run).ledger.step.typical_s == pytest.approx(0.405, rel=0.02)
    assert because(run) == "infer-because-meter"
    assert run.steps.data_s is not None


def test_an_evaluation_that_prints_the_mean_of_its_batches_has_its_seconds():
    lines = []
    for epoch in range(4):
        lines += [
            f"Epoch: [{epoch}][{n}/100] Time {0.5 + wave(n):.3f} ({0.505:.3f}) Loss {2 - wave(n):.4f} ({2.1:.4f})"
            for n in range(0, 100, 10)
        ]
        lines += [
            f"Test: [{n}/50] Time {0.2 + wave(n):.3f} ({0.2:.3f}) Loss {2.2:.4f} ({2.2:.4f})" for n in range(0, 50, 10)
        ]
    run = read_as(lines)
    assert run.events.kind.count("evaluation") == 4
    assert explain(run).ledger.wall_s == pytest.approx(4 * (50.5 + 10), rel=0.05)


def test_results_of_an_evaluation_on_a_step_line_are_its():
    lines = [
        f"epoch {n} train_loss {2 - n / 40:.3f} val_loss {2.2 - n / 40:.3f} took {31 + n % 3}.5 s"
        for n in range(1, 121)
    ]
    run = read_as(lines)
    assert run.events.kind.count("evaluation") == 120
    assert run.events.val_loss[-1] == pytest.approx(-0.8)


def test_a_rate_that_is_the_mean_since_the_start_is_a_clock():
    lines, now = [], 0.0
    for n in range(1, 201):
        now += 60 if n < 20 else 20
        lines += [f"global_step: {n * 2048} reward {n / 9:.2f}", f"SPS: {n * 2048 / now:.3f}"]
    run = read_as(lines)
    assert explain(run).ledger.wall_s == pytest.approx(now, rel=0.05)


@pytest.mark.parametrize(
    ("stated", "rate"),
    [
        ("Tokens / optimizer step : 32,768", "{:.1f}k tok/s"),
        ("tokens per iteration will be: 32768", "{:.4f}k tokens/s"),
        ("effective batch size: 32", "{:.3f} samples/s"),
    ],
)
def test_a_rate_of_work_is_a_time_where_the_work_of_a_step_is_stated(stated, rate):
    """A step of 0.8 s: 40.96 thousand tokens, or 40 samples, a second."""
    a_second = 40.0 if "samples" in rate else 40.96
    lines = [f"step {n * 10:>6} | loss {4 - wave(n):.4f} | {rate.format(a_second)} | lr 1e-4" for n in range(1, 60)]
    run = read_as(["device: cuda", stated, "max steps: 1,000", *lines])
    assert explain(run).ledger.step.typical_s == pytest.approx(0.8, rel=0.01)
    assert run.format.inferred.assumptions[1].message.key == "infer-time-work"


@pytest.mark.parametrize(
    ("stated", "rate"),
    [
        (["context: 1,024"], "41.0k tok/s"),
        (["tokens per step: 32,768", "tokens per update: 65,536"], "41.0k tok/s"),
        (["tokens per step: 32,768"], "41.0k tok/s/gpu"),
    ],
)
def test_a_rate_of_work_is_no_time_where_that_of_a_step_is_not_known(stated, rate):
    lines = [f"step {n * 10:>6} | loss {4 - wave(n):.4f} | {rate} | lr 1e-4" for n in range(1, 60)]
    assert not read_as([*stated, *lines]).format.is_timed


def test_a_time_of_one_digit_is_not_taken_where_the_timestamps_are_finer():
    """`Time: 0.004` of 3.2 ms: rounded, it is a quarter too much."""
    lines = [
        f"{stamp(n * 16)}.000 - Iter {n * 5000 + 1}/800000 Loss: {2 - n / 99:.4f} Time: 0.00{3 + n % 2}"
        for n in range(60)
    ]
    run = read_as(lines)
    assert explain(run).ledger.step.typical_s == pytest.approx(16 / 5000, rel=0.02)
