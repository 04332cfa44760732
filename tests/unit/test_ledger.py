"""The ledger weighs printed lines for what they are: a biased sample of the run."""

from __future__ import annotations

import pytest

from stepscope.i18n import Language
from stepscope.report.wording.slow import slow_remarks
from tests.unit.logs import report_of, run_of, training


def seconds(report):
    return {total.phase: total.seconds for total in report.ledger.phases}


def test_unprinted_steps_are_counted():
    """One line in ten, an evaluation every hundred: 1,001 steps of 0.1 s and 11 evaluations of 2 s."""
    report = report_of(training(1000, every=10, evaluate=100, saves=False))
    assert report.ledger.wall_s == pytest.approx(1001 * 0.1 + 11 * 2, rel=0.001)
    assert seconds(report)["step"] == pytest.approx(100.1, rel=0.002)


def test_an_evaluation_at_an_unprinted_step_is_priced_like_the_others():
    """Evaluations at multiples of 75, lines at multiples of 10: every other evaluation stands alone."""
    report = report_of(training(900, every=10, evaluate=75, saves=False))
    assert seconds(report)["evaluation"] + seconds(report).get("warmup", 0) == pytest.approx(13 * 2, rel=0.05)
    assert report.ledger.wall_s == pytest.approx(901 * 0.1 + 13 * 2, rel=0.01)


def test_contrast_separates_evaluation_and_save():
    """Half of the evaluations save, half do not: the difference is the save."""
    lines = training(1000, evaluate=100, save_ms=700)
    lines += training(2000, first=1001, evaluate=100, saves=False)
    report = report_of(lines)
    assert report.ledger.split == "contrast"
    assert report.ledger.checkpoint_price.seconds == pytest.approx(0.7, rel=0.1)
    assert report.ledger.evaluation_price.seconds == pytest.approx(2.0, rel=0.05)
    assert report.ledger.checkpoint_price.basis == "inferred"


def test_without_contrast_the_interval_is_wide_and_assumed():
    """30 batches of two splits at a third of a step are 2 s: what the evaluation takes here."""
    lines = training(1000, evaluate=100, save_ms=700, compile_ms=5000)
    report = report_of(lines, eval_iters=30, gradient_accumulation_steps=1)
    assert report.ledger.split == "model"
    price = report.ledger.checkpoint_price
    assert price.basis == "assumed"
    assert price.low_s < 0.7 < price.high_s
    assert price.high_s > 3 * price.low_s


def test_iteration_0_holds_warm_up_but_no_checkpoint():
    report = report_of(training(1000, evaluate=100, save_ms=300, compile_ms=9000))
    first = next(slow for slow in report.ledger.slow if slow.step == 0)
    parts = {part.phase: part.seconds for part in first.parts}
    assert "checkpoint" not in parts
    assert parts["warmup"] == pytest.approx(9.0, rel=0.06)


def test_a_single_stall_is_unexplained_and_not_multiplied():
    lines = training(400, every=10)
    lines[20] = "iter 200: loss 3.0, time 5100.00ms"
    report = report_of(lines)
    assert [slow.step for slow in report.ledger.slow] == [200]
    assert report.ledger.slow[0].cause == "unexplained"
    assert seconds(report)["stall"] == pytest.approx(5.0, rel=0.01)
    assert report.ledger.wall_s == pytest.approx(401 * 0.1 + 5, rel=0.01)


def test_a_level_shift_is_a_regime_and_not_a_row_of_slow_steps():
    lines = training(1000) + training(2000, first=1001, step_ms=170)
    report = report_of(lines)
    assert report.ledger.slow == ()
    assert [round(regime.typical_s, 3) for regime in report.ledger.step.regimes] == [0.1, 0.17]
    assert report.ledger.step.regimes[1].first_step == pytest.approx(1001, abs=15)


def test_a_slow_first_and_second_step_are_warm_up():
    lines = training(300)
    lines[0], lines[1] = "iter 0: loss 4.0, time 9000.00ms", "iter 1: loss 4.0, time 1200.00ms"
    report = report_of(lines)
    assert {slow.step: slow.cause for slow in report.ledger.slow} == {0: "warmup", 1: "warmup"}


def test_printed_stamps_measure_the_evaluation():
    """The same run with a stamp on every line: evaluation 2 s and save 0.5 s are told apart."""
    clock, lines = 1_700_000_000.0, ["1700000000.000000 tokens per iteration will be: 1,024"]
    for step in range(201):
        if step % 50 == 0:
            clock += 2.0
            lines.append(f"{clock:.6f} step {step}: train loss 3.0, val loss 3.1")
            if step:
                lines.append(f"{clock:.6f} saving checkpoint to out")
        took = 100 + (2000 + (500 if step else 0) if step % 50 == 0 else 0)
        clock += 0.1 + (0.5 if step and step % 50 == 0 else 0)
        lines.append(f"{clock:.6f} iter {step}: loss 3.0, time {took:.2f}ms")
    report = report_of(lines, compile=False, device="cpu")
    assert report.ledger.split == "stamps"
    totals = {total.phase: total for total in report.ledger.phases}
    assert totals["evaluation"].seconds == pytest.approx(10.0, rel=0.001)
    assert totals["evaluation"].basis == "measured"
    assert totals["checkpoint"].seconds == pytest.approx(2.0, rel=0.01)
    assert report.moment_from == "stamp"


def test_a_restart_begins_a_segment_and_is_told():
    lines = ["Initializing a new model from scratch", *training(107, evaluate=50), "Resuming training from out"]
    lines += training(200, first=100, evaluate=50, compile_ms=3000)
    report = report_of(lines)
    assert [segment.num_rows for segment in report.run.segments] == [108, 101]
    alarm = next(alarm for alarm in report.alarms if alarm.code == "restarted")
    assert alarm.message.args["count"] == 8
    resumed = next(slow for slow in report.ledger.slow if slow.row == 108)
    assert {part.phase for part in resumed.parts} >= {"warmup", "evaluation"}


def test_a_million_steps_stay_cheap():
    """Eight columns of eight bytes a step at most."""
    run = run_of("".join(f"iter {step}: loss 3.0000, time 100.00ms\n" for step in range(20_000)))
    steps = run.steps
    size = sum(
        column.nbytes
        for column in (steps.step, steps.dur_ns, steps.loss, steps.mfu, steps.line, steps.t_ns, steps.segment)
    )
    assert size / len(run) <= 8 * 7


def test_the_run_can_be_asked_for_while_it_grows():
    from stepscope.reading.log_reader import LogReader

    reader = LogReader(paths=["live.log"])
    reader.begin_file()
    lines = training(3000)
    reader.feed("\n".join(lines[:1500]).encode() + b"\n")
    assert 1400 <= len(reader.run()) <= 1500
    reader.feed("\n".join(lines[1500:]).encode() + b"\n")
    assert len(reader.run()) >= 2900
    reader.end_file()
    assert len(reader.run()) == 3001


def test_a_contrast_of_few_evaluations_says_how_many_it_needs():
    """Two evaluations with and three without a save, all different: the difference says little yet."""
    lines = []
    for step in range(0, 501):
        took = 100.0
        if step % 100 == 0:
            took += 2000 + 300 * ((step // 100) % 3)
            lines.append(f"step {step}: train loss 3.0, val loss 3.1")
            if step in {100, 200}:
                lines.append("saving checkpoint to out")
                took += 150
        lines.append(f"iter {step}: loss 3.0, time {took:.2f}ms")
    report = report_of(lines)
    assert report.ledger.split == "contrast"
    remarks = slow_remarks(report, Language.load("en"))
    assert any("about 20 evaluations" in remark and "has 6" in remark for remark in remarks)


NO_SAVE = "No checkpoint is saved at iteration 0"


def maxtext(*before):
    """MaxText, whose first step compiles and evaluates; `before` are the lines in front of it."""
    lines = list(before)
    for step in range(300):
        took = 60.0 if step == 0 else 2.2
        if step and step % 50 == 0:
            lines += [f"eval metrics after step: {step}, loss=3.1", f"saved a checkpoint at step {step}"]
            took += 11.0
        lines.append(f"completed step: {step}, seconds: {took:.3f}, TFLOP/s/device: 180.4, loss: 6.021")
    return lines


@pytest.mark.parametrize("before", [(), ("saved a checkpoint at step 0",)])
def test_a_trainer_that_may_save_at_step_0_is_not_said_to_save_nothing_there(before):
    report = report_of(maxtext("eval metrics after step: 0, loss=9.1", *before))
    assert {"warmup", "evaluation"} <= {part.phase for part in report.ledger.slow[0].parts}
    assert not any(NO_SAVE in remark for remark in slow_remarks(report, Language.load("en")))


@pytest.mark.parametrize("saves", [False, True])
def test_nanogpt_is_said_to_save_nothing_at_step_0_unless_a_fork_of_it_does(saves):
    lines = training(600, evaluate=100)
    first = next(index for index, line in enumerate(lines) if line.startswith("iter 0:"))
    lines[first] = "iter 0: loss 10.9, time 9000.00ms, mfu -100.00%"
    if saves:
        lines.insert(first, "saving checkpoint to out")
    report = report_of(lines)
    assert {"warmup", "evaluation"} <= {part.phase for part in report.ledger.slow[0].parts}
    assert any(NO_SAVE in remark for remark in slow_remarks(report, Language.load("en"))) is not saves


def epochs(num, *, every=50, batches=391, step_s=0.016, wait_s=0.14):
    """The ImageNet example: one line in `every`, and always the first of an epoch, which waits for its workers."""
    lines = []
    for epoch in range(num):
        for batch in range(0, batches, every):
            wait = wait_s if not batch else 0.0
            took = step_s - 0.001 + wait + 0.001 * ((epoch * 31 + batch) % 3)
            figures = f"Time {took:.3f} (0.016)\tData {wait:.3f} (0.000)\tLoss 1.2040 (1.3110)"
            lines.append(f"Epoch: [{epoch}][{batch}/{batches}]\t{figures}")
        lines.append(f" * Prec@1 {50 + epoch / 10:.3f}")
    return lines


@pytest.mark.parametrize(("step_s", "wait_s"), [(0.016, 0.14), (0.3, 0.16), (0.3, 0.12), (0.3, 0.05)])
def test_the_first_step_of_an_epoch_stands_for_no_other(step_s, wait_s):
    """It is always printed, so what it waits is not what the unprinted ones wait, be it slow or not yet slow."""
    report = report_of(epochs(20, step_s=step_s, wait_s=wait_s), max_steps=391 * 80)
    each_s = 391 * step_s + wait_s
    assert report.ledger.wall_s == pytest.approx(20 * each_s, rel=0.02)
    assert report.forecast.remaining_s == pytest.approx(60 * each_s, rel=0.03)


def test_a_printed_wait_for_data_is_no_evaluation():
    report = report_of(epochs(20))
    assert report.ledger.seconds("data") == pytest.approx(19 * 0.14, rel=0.1)
    assert report.ledger.seconds("evaluation") == 0  # the clock stands still, and the wait is printed
    assert {slow.code for slow in report.ledger.slow if slow.step} == {"C35"}


def test_the_typical_step_of_a_coarse_clock_is_that_of_its_main_level():
    """A bar in whole seconds: 1.7 s for most of the run, then 35 s; the mean of both never happened."""
    from tests.unit.logs import report_of

    at, lines = 0.0, []
    for step in range(1, 601):
        at += 1.7 if step <= 560 else 35.0
        clock = f"{int(at) // 3600}:{int(at) // 60 % 60:02d}:{int(at) % 60:02d}"
        lines.append(f"Training:  10%|#         | {step}/4000 [{clock}<2:00:00,  1.70s/it, loss=2.5]")
    step = report_of(lines).ledger.step
    assert 1.5 < step.typical_s < 1.9
    assert step.low_s <= step.typical_s <= step.high_s


def test_the_typical_step_is_inside_its_own_range():
    """Of a clock with whole seconds it is a mean: one step in 120 took two of them."""
    seconds = [i + (i > 60) for i in range(120)]
    lines = [f"2026-01-01 10:{at // 60:02d}:{at % 60:02d} step {i} loss 3.0" for i, at in enumerate(seconds)]
    step = report_of(lines).ledger.step
    assert step.typical_s > 1
    assert step.low_s <= step.typical_s <= step.high_s


def test_a_line_that_closes_an_epoch_tells_the_mean_of_all_its_batches():
    """Its first figure is that of the last batch alone."""
    lines = [f"Epoch: [{n}][20/20]\tTime 0.15{n} (0.24{n})\tLoss {8 - n / 9:.4f} (8.1)" for n in range(9)]
    report = report_of(lines)
    assert report.run.format.name == "imagenet_epochs"
    assert report.ledger.wall_s == pytest.approx(20 * sum(0.24 + n / 1000 for n in range(9)), rel=0.01)
    more = [
        f"Epoch: [{n}][{at}/20]\tTime 0.15{n} (0.24{n})\tLoss {8 - n / 9:.4f} (8.1)"
        for n in range(9)
        for at in (0, 10, 20)
    ]
    assert report_of(more).run.format.name == "imagenet"
