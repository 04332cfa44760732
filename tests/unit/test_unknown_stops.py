"""Evaluations, checkpoints and ends of loops that nobody knows, and what a printed time of theirs covers."""

from __future__ import annotations

import datetime as dt

import pytest

from stepscope.i18n import Language
from stepscope.lines.closing import closing_words
from stepscope.lines.prefix import split_prefix
from stepscope.report.wording.summary import summary_lines
from tests.unit.logs import report_of
from tests.unit.test_infer_records import read_as
from tests.unit.test_stops_outside import Stamped, seconds

ENDS = (
    "2025-07-24 04:52:18.091 | INFO     | __main__:fit:88 - Done.",
    "[2025/05/21 07:13:10] runner INFO: Done.",
    "07/21 07:13:10 INFO >>> Finished!",
)


@pytest.mark.parametrize("line", ENDS)
def test_a_logger_before_the_words_does_not_hide_an_end(line):
    prefix = split_prefix(line)
    assert closing_words(line[prefix.length :]) == "closing"


def loop(*, windows=40, every=10, step_s=1.3, stop=("", ""), evaluation_s=26.0, per_stop=5, timer=True):
    """Windows of `every` steps with their seconds; a stop after every fifth, during which the timer stands still."""
    log = Stamped(after=" ")
    log.write("begin")
    for number in range(windows):
        took = every * step_s * (1 + 0.01 * (number % 3 - 1))
        text = f"Iteration {number * every}, nll: {5 - number / 20:.3f}"
        log.write(text + (f" ({took:.2f}s)" if timer else ""), after_s=took)
        if number % per_stop == per_stop - 1:
            for at, line in enumerate(stop):
                log.write(line.format(number * every), after_s=evaluation_s if at == len(stop) - 2 else 0.0)
    return log.lines


def test_what_passes_before_the_result_is_the_evaluations_and_not_the_checkpoints():
    """The steps of the next line come after the checkpoint, and its own line says how many seconds those are."""
    lines = loop(stop=("Evaluating...", "Eval results: loss 4.1", "=> saved out/model_{}.pt"))
    found = seconds(report_of(lines))
    assert found["evaluation"] == pytest.approx(8 * 26, rel=0.05)
    assert found.get("checkpoint", 0.0) < 10


def test_results_next_to_a_checkpoint_are_an_evaluation():
    """Two of them have no rhythm, but they come where a checkpoint does."""
    lines = loop(windows=14, stop=(" * Acc@1 65.1 Acc@5 85.3", "=> saved out/model_{}.pt"), timer=False)
    report = report_of(lines)
    assert seconds(report)["evaluation"] == pytest.approx(2 * 26, rel=0.1)


def test_a_share_of_a_test_set_is_no_step():
    lines = []
    for number in range(1, 31):
        lines.append(f"{number * 20}/600 | loss: {5 - number / 10:.3f} | elapsed: {number * 0.43:.2f} min")
        if number % 6 == 0:
            lines.append(f"Test set: Average loss: 4.9, Accuracy: {9000 + number}/10000 (90%)")
    run = read_as(lines)
    assert run.shown_stops
    assert max(stop.step for stop in run.shown_stops) <= 620
    assert report_of(lines).ledger.wall_s == pytest.approx(30 * 0.43 * 60, rel=0.03)


def undecided(count=30, *, end=(), after_stop=10.0):
    lines = []
    for number in range(count):
        took = after_stop if number % 6 == 0 and number else 26 + number % 3 / 10
        lines.append(f"Step: {(number + 1) * 20}/10000, nll: {5 - number / 10:.3f}, took {took:.2f} seconds")
        if number % 6 == 5:
            lines.append("Eval results: loss 4.1")
    return [*lines, *end]


def test_a_total_at_the_end_says_what_the_printed_seconds_cover():
    lines = [line for line in undecided(after_stop=26.0) if "Eval" not in line]
    together = report_of([*lines, "Total training time: 0:13:10"])
    assert together.ledger.step.typical_s == pytest.approx(26.1 / 20, rel=0.02)
    one_each = report_of([*lines, "Total training time: 4:20:40"])
    assert one_each.ledger.step.typical_s == pytest.approx(26.1, rel=0.02)
    neither = report_of([*lines, "Total training time: 1:01:10"])
    assert neither.ledger.step is None or neither.reading.confidence < 0.5


def test_a_sum_that_begins_again_after_a_stop_is_smaller_there():
    """No step is done faster after an evaluation: a figure that falls there is the time of fewer steps."""
    report = report_of(undecided())
    assert report.ledger.step.typical_s == pytest.approx(26.1 / 20, rel=0.02)


def test_a_printed_time_that_may_mean_two_things_is_not_called_missing():
    report = report_of([line for line in undecided(after_stop=26.0) if "Eval" not in line])
    for language, both in (("en", "1.31 s or 26.1 s"), ("de", "1,31 s oder 26,1 s")):
        assert both in summary_lines(report, Language.load(language))[1].replace("\u202f", " ").replace("\xa0", " ")


def test_an_evaluation_takes_what_it_prints_where_steps_are_done_beside_it():
    """The timer starts again after a stop in mid-window: steps before it are in no printed figure."""
    log = Stamped(after=" ")
    for number in range(1, 21):
        took = 65.0 if number % 5 else 32.5
        if number % 5 == 0:
            log.write(f"Validation took 26.0s, loss {5 - number / 10:.3f}", after_s=32.5 + 26)
        log.write(f"Step {number * 50} / 1000, loss {5 - number / 10:.3f}, took {took:.2f} seconds", after_s=took)
    assert seconds(report_of(log.lines))["evaluation"] == pytest.approx(4 * 26, rel=0.03)


def test_a_printed_time_of_an_epoch_is_taken_beside_what_comes_between():
    log = Stamped(after=" ", pattern="%Y-%m-%d %H:%M:%S.%f")
    for epoch in range(1, 15):
        log.write(f"Epoch [{epoch}/14]  Cost = {5 - epoch / 4:.4f}  (10.{epoch % 3}0s)", after_s=10 + epoch % 3 / 10)
        log.write(f"val loss {5 - epoch / 5:.3f} val acc 0.5{epoch % 10}", after_s=3.4)
        log.write(f"Saving checkpoint to out/model_{epoch}.pt")
        log.now += dt.timedelta(seconds=1.5)
    report = report_of(log.lines)
    assert report.ledger.step.typical_s == pytest.approx(10.1, rel=0.02)
    assert seconds(report)["evaluation"] == pytest.approx(14 * 3.4, rel=0.05)


def test_a_unit_that_names_the_next_number_is_not_this_ones():
    lines = [f">>> (epoch: 1, iters: {n}) ppl: {143 - n / 2:.2f} ms/batch {3700 + n % 5}.26" for n in range(1, 60)]
    assert report_of(lines).ledger.step.typical_s == pytest.approx(3.702, rel=0.01)


def test_a_unit_that_begins_the_next_words_is_read_with_them():
    lines = [
        f"train | epoch {1 + n // 100} | step {n % 100 + 1} loss={5 - n / 99:.3f} "
        f"(6{n % 7}8.0 rows/sec; 0.05{n % 3} sec/batch)"
        for n in range(150)
    ]
    run = read_as([*lines, "Validation: loss=2.4, time=0.99s", lines[-1].replace("step 50", "step 51")])
    assert (run.steps.dur_ns > 0).all()
