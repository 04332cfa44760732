"""What is left is counted, and each class of work has its own price."""

from __future__ import annotations

import pytest

from stepscope.forecast.finish import NoForecast, look_ahead
from tests.unit.logs import report_of, training


def test_evaluations_left_are_counted_and_priced():
    report = report_of(training(1300, every=10, evaluate=100), max_steps=2000)
    end = report.forecast
    assert end.schedule.num_steps == 700
    assert end.left["evaluation"].num == 7
    assert end.remaining_s == pytest.approx(700 * 0.1 + 7 * 2, rel=0.01)


def test_warm_up_is_not_multiplied_into_the_future():
    slow = report_of(training(1300, evaluate=100, compile_ms=60_000), max_steps=2000).forecast
    quick = report_of(training(1300, evaluate=100), max_steps=2000).forecast
    assert slow.remaining_s == pytest.approx(quick.remaining_s, rel=0.02)


def test_the_last_level_counts():
    report = report_of(training(1000) + training(2000, first=1001, step_ms=120), max_steps=3000)
    assert report.forecast.remaining_s == pytest.approx(1000 * 0.12, rel=0.02)


def test_saves_come_as_often_as_lately():
    """No evaluation has saved for a long time: few more saves are expected."""
    lines = training(500, evaluate=50, save_ms=500) + training(2000, first=501, evaluate=50, saves=False)
    end = report_of(lines, max_steps=4000).forecast
    assert end.schedule.num_evaluations == 40
    assert end.schedule.save_probability < 0.2


def test_an_evaluation_that_is_over_is_not_counted_again():
    """The log ends between `step 1000:` and its iteration."""
    lines = [*training(999, evaluate=100), "step 1000: train loss 3.0, val loss 3.1"]
    assert report_of(lines, max_steps=1500).forecast.schedule.num_evaluations == 5


def test_before_the_first_timed_evaluation_its_price_is_computed():
    lines = training(80, first=1)
    end = report_of(lines, max_steps=1000, eval_interval=100, eval_iters=50, gradient_accumulation_steps=1).forecast
    assert end.left["evaluation"].num == 10
    assert end.left["evaluation"].seconds == pytest.approx(10 * 2 * 50 * 0.034, rel=0.1)
    assert any(message.key == "assume-evaluation-prior" for message in end.assumptions)


def test_reasons_for_no_forecast():
    assert isinstance(report_of(training(100)).forecast, NoForecast)
    assert report_of(["iter 0: loss 4.0, time 9000.00ms"], max_steps=10).forecast.reason.key == "reason-no-steps"
    two = report_of(["iter 10: loss 4.0, time 100.00ms", "iter 20: loss 4.0, time 100.00ms"], max_steps=1000)
    assert two.forecast.reason.key == "reason-too-few"


def test_a_wider_confidence_is_a_wider_interval():
    from stepscope.analysis.explain import explain
    from tests.unit.logs import run_of

    run = run_of(training(1000, evaluate=100))
    narrow = explain(run, flags={"max_steps": 2000}, confidence=0.5).forecast
    wide = explain(run, flags={"max_steps": 2000}, confidence=0.99).forecast
    assert wide.low_s < narrow.low_s < narrow.high_s < wide.high_s
    assert wide.remaining_s == narrow.remaining_s


def test_a_streak_of_saves_ends_at_some_time():
    """It saves when the loss improves: four in a row say little about the sixteen to come, and the interval says so."""
    lines = training(1040, evaluate=250, save_ms=5000)
    certain = report_of(lines, max_steps=5000, always_save_checkpoint=True).forecast
    unsure = report_of(lines, max_steps=5000, always_save_checkpoint=False).forecast
    assert certain.schedule.num_checkpoints == 16
    assert 3 < unsure.schedule.num_checkpoints < 10
    assert unsure.high_s - unsure.low_s > certain.high_s - certain.low_s


def test_a_save_after_the_last_row_prices_those_to_come():
    """Also where nothing tells what the evaluations cost that come with them."""
    lines = [
        f"Training epoch 0, iteration {step}/499 | lr: 3.9e-06 | global_step: {step} | reduced_train_loss: 2.1 | "
        "train_step_timing in s: 4.1"
        for step in range(0, 60, 10)
    ]
    lines += ["Validation: iteration 32/32"]
    lines += [
        "[NeMo I 2026-02-03 04:05:06 nemo_logging:393] Global Checkpoint Save : Rank: 0 : Iteration: 50 : "
        "Start time: 1770000000.120s : Save duration: 6.250s"
    ]
    end = report_of(lines, max_steps=499, eval_interval=50).forecast
    assert end.left["evaluation"].seconds is None
    assert end.left["checkpoint"].seconds == pytest.approx(end.schedule.num_checkpoints * 6.25)
    assert end.remaining_s == pytest.approx(449 * 4.1 + end.left["checkpoint"].seconds)


def test_evaluations_that_get_cheaper_go_on_doing_so():
    """By the same share for each doubling of steps: what is to come is cheaper than any so far."""
    lines = []
    for number in range(1, 11):
        cost = 20_000 * number**-0.4
        first = 100 * (number - 1) + 1
        lines += training(100 * number, first=first, evaluate=100, evaluation_ms=cost, saves=False)
    end = report_of(lines, max_steps=10_000).forecast
    came = sum(20 * number**-0.4 for number in range(11, 101))
    assert end.left["evaluation"].seconds == pytest.approx(came, rel=0.1)


def test_an_evaluation_beside_the_clock_counts_with_the_time_it_prints():
    """torchvision's step times leave the evaluation out; its own line says how long it took."""
    lines = []
    for epoch in range(4):
        lines += [
            f"Epoch: [{epoch}]  [{batch:4d}/400]  eta: 0:00:40  loss: 1.0 (1.0)  time: 0.1000  data: 0.0010"
            for batch in range(0, 400, 20)
        ]
        lines.append("Test: Total time: 0:00:30 (0.3000 s / it)")
    end = report_of(lines, max_steps=4000).forecast
    assert end.left["evaluation"].seconds == pytest.approx(6 * 30, rel=0.02)
    assert end.remaining_s == pytest.approx(2400 * 0.1 + 6 * 30, rel=0.02)


def test_a_running_clock_in_whole_seconds_is_not_counted_twice():
    """Lines between two ticks have no time of their own: the next tick tells theirs."""
    bars, clock = [], 0.0
    for step in range(1, 601):
        clock += 8.0 if step % 100 == 0 else 0.3
        minutes, seconds = divmod(int(clock), 60)
        bars.append(f"Epoch 1/1: {step / 10:3.0f}%|###| {step}/1000 [{minutes:02d}:{seconds:02d}<09:59,  3.3it/s]")
    end = report_of(bars).forecast
    assert end.remaining_s == pytest.approx(396 * 0.3 + 4 * 8.0, rel=0.05)


def test_an_evaluation_beside_the_clock_counts_with_what_passed_between_two_stamps():
    """The line tells what its batches took, two events around it that gathering the results took as long again."""
    lines, now = ["Namespace(data_path='/data/toy', epochs=8, lr=0.1)"], 1_600_000_000.0

    def event(key):
        return f':::MLLOG {{"namespace": "", "time_ms": {int(now * 1000)}, "event_type": "POINT", "key": "{key}"}}'

    for epoch in range(4):
        lines.append(event("epoch_start"))
        for batch in range(0, 400, 20):
            now += 20 * 0.5
            figures = "loss: 0.7512 (0.9120)  time: 0.5000  data: 0.0010  max mem: 9522"
            lines.append(f"Epoch: [{epoch}]  [ {batch}/400]  eta: 0:14:25  lr: 0.000100  {figures}")
        lines += [event("epoch_stop"), event("eval_start")]
        now += 60
        lines += ["Test: Total time: 0:00:30 (0.3000 s / it)", event("eval_stop")]
    forecast = report_of(lines).forecast
    assert forecast.left["evaluation"].num == 4
    assert forecast.left["evaluation"].seconds == pytest.approx(4 * 60, rel=0.1)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("import torch\nws_schedule = (3, 7, 11)\n", "scheduled"),
        ("import torch\nlearning_rate = 0.1\n", "own"),
        ("", "scheduled"),
    ],
)
def test_a_program_printed_first_tells_whether_its_steps_change_by_plan(source, kind):
    head = source + "=" * 60 if source else "Running PyTorch 2.5.0 compiled for CUDA 12.4"
    steps = [f"step:{n}/2000 train_loss:4.2210 train_time:{n * 150}ms step_avg:150.00ms" for n in range(1, 400)]
    report = report_of([*head.splitlines(), *steps])
    outlook = look_ahead(report.run, report.ledger)
    assert outlook.signs.kind == kind


def test_the_last_step_evaluates_where_the_trainer_does_so():
    """build-nanogpt evaluates every 250th step and the last: 5 more multiples of 250 up to step 2,900, and that one."""
    lines = []
    for step in range(1501):
        stops = step % 250 == 0
        lines += ["validation loss: 4.8120"] if stops else []
        dur = 10_100.0 if stops else 100.0
        lines.append(
            f"step {step:5d} | loss: 5.1042 | lr 4.2979e-04 | norm: 0.7710 | dt: {dur:.2f}ms | tok/sec: 14115.73"
        )
    assert report_of(lines, max_steps=2901).forecast.left["evaluation"].num == 6
    assert report_of(lines, max_steps=2751).forecast.left["evaluation"].num == 5
    told = [line for line in lines if line.startswith("step") and int(line[5:10]) < 1400]
    assert report_of(told, max_steps=1401, eval_interval=250).forecast.left["evaluation"].num == 1
    told.append("validation loss: 4.8120")  # of step 1,400, whose own line is to come
    assert report_of(told, max_steps=1401, eval_interval=250).forecast.left["evaluation"].num == 0


def test_evaluations_that_generate_are_taken_to_get_cheaper_before_they_do():
    """An untrained translation model writes long sentences. Two evaluations show no trend, but other runs had one."""
    lines, now = [], 0

    def say(text):
        stamp = f"2024-05-01 {now // 3600:02d}:{now // 60 % 60:02d}:{now % 60:02d},000"
        lines.append(f"{stamp} - INFO - joeynmt.training - {text}")

    for step in range(100, 1101, 100):
        now += 30
        say(f"Epoch   1, Step: {step:8d}, Batch Loss:     3.9, Batch Acc: 0.3, Tokens per Sec:    4000, Lr: 0.000300")
        if step % 500 == 0:
            now += 60
            say(
                "Evaluation result (greedy) loss:   2.91, ppl:  18.31, acc:   0.31, generation: 38.2210[sec], "
                "evaluation: 0.0000[sec]"
            )
    end = report_of(lines, max_steps=40_000).forecast
    assert end.left["evaluation"].num == 78
    assert 0.6 * 78 * 60 < end.left["evaluation"].seconds < 0.9 * 78 * 60


@pytest.mark.parametrize(
    ("line", "is_blind"),
    [
        # torchvision's clock stands still for an evaluation, whose line says how long it took
        ("Epoch: [0]  [{batch:4d}/400]  eta: 0:00:40  loss: 1.0 (1.0)  time: 0.1000  data: 0.0010", True),
        # YOLOX's does so too, but nothing ever says how long: it is in no second that is counted
        ("epoch: 1/10, iter: {batch}/400, mem: 3810Mb, iter_time: 0.100s, data_time: 0.001s", False),
    ],
)
def test_a_run_is_blind_to_stops_that_will_count_and_have_not_come(line, is_blind):
    report = report_of([line.format(batch=batch) for batch in range(0, 300, 10)], max_steps=4000)
    assert look_ahead(report.run, report.ledger).signs.is_blind is is_blind


def test_stamps_make_a_run_blind_to_stops_outside_its_clock():
    lines = [
        f"2024-05-01 10:{batch // 60:02d}:{batch % 60:02d} Epoch: [0][{batch}/400]\tTime 1.000 (1.000)\tLoss 1.2 (1.3)"
        for batch in range(0, 300, 10)
    ]
    report = report_of(lines, max_steps=4000)
    assert look_ahead(report.run, report.ledger).signs.is_blind is True


def test_a_slow_first_row_is_no_level_to_come():
    """The first epoch builds caches; it is the run's first row, though not its first step."""
    line = (
        "1464/1464 [==============================] - {}s - loss: 3.9262 - acc: 0.0528 - val_loss: 3.3 - val_acc: 0.13"
    )
    lines = [text for n, s in enumerate((3943, 239, 240, 240), 1) for text in (f"Epoch {n}/50", line.format(s))]
    assert report_of(lines).forecast.remaining_s == pytest.approx(46 * 240, rel=0.02)
