"""A few lines out of the middle of a log: what they say of a step, and what they do not."""

from __future__ import annotations

import pytest

from stepscope.reading.asides import with_asides
from tests.unit.logs import report_of, run_of


def typical_s(lines):
    return report_of(lines).ledger.step.typical_s


def test_the_first_of_two_sums_covers_as_many_steps_as_the_second():
    lines = [
        "DEEPMD INFO    batch 3000000 training time 410.00 s, testing time 0.00 s",
        "DEEPMD INFO    batch 3050000 training time 400.00 s, testing time 0.00 s",
    ]
    assert run_of(lines).steps.span.tolist() == [50_000, 50_000]
    assert typical_s(lines) == pytest.approx(0.0081, rel=0.02)


def test_the_wall_time_at_the_end_ends_the_run():
    lines = [f"DEEPMD INFO    batch {n:7d} training time 4.00 s, testing time 0.00 s" for n in range(1000, 9000, 1000)]
    run = run_of([*lines, "DEEPMD INFO    wall time: 44.125 s"])
    assert [(runtime.name, runtime.seconds) for runtime in run.runtimes] == [("wall time", 44.125)]


def test_a_result_of_tune_is_one_iteration():
    lines = []
    for index in range(1, 6):
        lines += [
            f"time_this_iter_s: {3 + index / 10}",
            f"time_total_s: {40.0 + 3 * index}",
            f"timesteps_total: {4000 * index}",
            f"training_iteration: {index}",
        ]
    run = run_of(lines)
    assert run.format.name == "ray_tune"
    assert run.steps.step.tolist() == [1, 2, 3, 4, 5]
    assert run.steps.seconds.tolist() == pytest.approx([3.1, 3.2, 3.3, 3.4, 3.5])


def test_timestamps_time_what_a_rounded_rate_does_not():
    lines = []
    for index in range(1, 5):
        line = f"train | step: {20 * index: 6d} | steps/sec:    0.1 | output:"
        lines += [f"I0304 10:{10 + 6 * index:02d}:00.000000 140146 controller.py:466] {line}", line]
    assert typical_s(lines) == pytest.approx(18.0)


def test_the_time_left_may_stand_below_a_row():
    lines = [
        "epoch       iteration   main/loss   main/acc    elapsed_time",
        "0           100         91.5        0.25        61.5",
        "     total [..................................................]  0.10%",
        "this epoch [#.................................................]  2.10%",
        "       100 iter, 0 epoch / 20 epochs",
        "    1.6260 iters/sec. Estimated time to finish: 16:12:13.500000.",
    ]
    run = run_of(lines)
    assert run.format.name == "chainer"
    assert run.steps.step.tolist() == [100]
    assert with_asides(run, "\n".join(lines).encode()).asides.left_s == pytest.approx(58_333, abs=1)


@pytest.mark.parametrize("before", ["", "2018-09-01 10:11:12 | INFO | "])
def test_words_a_batch_by_words_a_second_are_a_time(before):
    line = "{}| epoch 002  {:4d} / 9000 loss=3.1 (3.4), wps=1200, wpb=900, bsz=32, lr=0.1, clip=1%, gnorm=0.5"
    run = run_of([line.format(before, batch) for batch in range(100, 6000, 100)])
    assert run.format.name == "fairseq_old"
    assert run.steps.step[-1] == 14_900
    assert set(run.steps.dur_ns.tolist()) == {750_000_000}


def test_rates_alone_are_counted_once():
    lines = []
    for rate in (0.25, 0.2, 0.25, 0.5):
        for name, number in (("global_step", rate), ("examples", 8 * rate)):
            lines.append(f"INFO:tensorflow:{name}/sec: {number}")
            lines.append(f"I0304 10:11:12.000000 140146006726464 tpu_estimator.py:2307] {name}/sec: {number}")
    assert run_of(lines).steps.seconds.tolist() == pytest.approx([4.0, 5.0, 4.0, 2.0])
