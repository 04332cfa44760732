"""Rules that answers to pasted lines showed to be missing; the questions themselves are in `tests/asked`."""

from __future__ import annotations

import re

import pytest

from stepscope.analysis.state import _usual_gap
from stepscope.i18n import Language, languages
from stepscope.report import terminal
from stepscope.run.model import NO_TIME
from tests.unit.logs import report_of

EN = Language.load("en")


def at(seconds: int) -> str:
    return f"2025-03-04 {seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d},000"


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_a_pause_that_leads_is_not_said_twice():
    """The doubt about a long pause and the largest cost were the same seconds, one line apart."""
    moments = [10 * n for n in range(20)] + [60_000 + 10 * n for n in range(20)]
    lines = [f"{at(moment)} step {n} loss 3.{n:02d}" for n, moment in enumerate(moments)]
    report = report_of(lines)
    assert report.reading.is_doubtful
    text = flat(terminal.render(report, EN))
    top = text[: text.index("! ")]
    assert "The largest cost below may be a misread time" in top
    assert top.count("16 h") == 2  # what it ran, and what the pause cost


def test_a_pause_in_doubt_has_the_seconds_of_the_ledger():
    """The check weighs a pause at six tenths; what it says is all of it."""
    lines = [f"{at(10 * n)} step {n} loss 3.{n:02d}" for n in range(20)]
    lines += [f"{at(80_000 + 10 * n)} step {n} loss 3.{n:02d}" for n in range(20)]
    report = report_of(lines)
    gap = next((total.seconds for total in report.ledger.phases if total.phase == "gap"), 0.0)
    check = next(check for check in report.reading.checks if check.code == "R07")
    assert gap > 70_000
    assert check.message.key == "audit-total-gap"
    assert check.message.args["duration"].value == pytest.approx(gap)


@pytest.mark.parametrize("code", languages())
def test_how_long_ranks_waited_is_said_once(code):
    lines = [
        "[rank1]:[E ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=71, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=900000) "
        "ran for 900012 milliseconds before timing out."
    ]
    text = flat(terminal.render(report_of(lines), Language.load(code)))
    assert re.search(r"15\smin", text)
    assert text.count("ALLREDUCE") == 1


def test_lines_are_not_as_far_apart_as_those_with_a_timestamp():
    """One line of each epoch has a timestamp, and the nineteen between them have none."""
    rows = [f"iter {n}: loss 3.0000, time 10000.00ms" for n in range(80)]
    rows = [row if n % 20 else f"{at(10 * n)} {row}" for n, row in enumerate(rows)]
    run = report_of(rows).run
    assert int((run.steps.t_ns != NO_TIME).sum()) == 4
    assert _usual_gap(run, None) == pytest.approx(10.0)


def test_a_benchmark_that_reached_its_target_is_done():
    """MLPerf ends when the quality is reached: that is no end too early."""
    lines = [f"iter {n}: loss 3.0000, time 100.00ms" for n in range(0, 300, 10)]
    end = [':::MLL 1561427727.375 run_stop: {"value": null, "metadata": {"status": "success", "lineno": 3}}']
    report = report_of([*lines, *end, "| done training in 30.1 seconds"], max_steps=5000)
    assert not [alarm for alarm in report.alarms if alarm.code == "false_done"]
    failed = [end[0].replace("success", "aborted")]
    report = report_of([*lines, *failed, "| done training in 30.1 seconds"], max_steps=5000)
    assert [alarm for alarm in report.alarms if alarm.code == "false_done"]


@pytest.mark.parametrize(
    ("line", "total"),
    [
        ("5240 (17.47%)       1 s, 310.220 ms      9 h, 0 m, 44 s       188.20 K", 30_000),
        ("12 (0.03%)       1 s, 310.220 ms      9 h, 0 m, 44 s       188.20 K", None),  # of 34,000 or of 48,000
    ],
)
def test_a_share_of_two_decimals_says_the_total_where_only_one_would_do(line, total):
    assert report_of([line]).run.settings.count("max_steps") == total


@pytest.mark.parametrize("line", ["epoch 7 took 12.1 s", "7 epoch took 12.1 s", "begin 7 Epoch: done [12.1 seconds]"])
def test_an_epoch_is_named_before_or_behind_its_number(line):
    report = report_of([line.replace("7", str(n)).replace("12.1", f"12.{n}") for n in range(3, 8)])
    assert int(report.run.steps.step[-1]) == 7
    assert report.ledger.step.typical_s == pytest.approx(12.5)
    assert report.reading.confidence > 0.5


def test_several_epochs_are_an_amount():
    lines = [f"step {n} of 10 epochs took 1.{n} s" for n in range(1, 8)]
    assert int(report_of(lines).run.steps.step[-1]) == 7


def test_a_save_after_an_evaluation_takes_no_less_than_nothing():
    """Its line comes after the result: what an evaluation took had been taken from it."""
    lines, now = [f"{at(0)} Start training"], 0
    for epoch in range(1, 7):
        now += 1500
        lines.append(f"{at(now)} [Epoch {epoch}/38], train_loss: {5 - epoch / 10:.4f}, elapsed: {now / 60:.2f} min")
        lines.append(f"{at(now)} --- Running validation ---")
        lines.append(f"{at(now + 235)} mAP@0.5: 0.157 val_loss: {5.4 - epoch / 10:.3f}")
        lines.append(f"{at(now + 241)} Checkpoint saved to checkpoints/model_{epoch}.pt")
        now += 241
    price = report_of(lines).ledger.checkpoint_price
    assert price is None or price.low_s >= 0
