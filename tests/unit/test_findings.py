"""What cost most time: each second once, most first, and nothing where nothing was lost."""

from __future__ import annotations

import datetime as dt

import pytest

import stepscope
from tests.consistency import breaches
from tests.unit.logs import full, report_of, training


def steps(first: int, last: int, step_ms: float) -> list[str]:
    return [f"iter {step}: loss 2.9, time {step_ms + step % 5:.2f}ms" for step in range(first, last + 1)]


def evaluated(losses: list[float], between: int = 100) -> list[str]:
    """A training that evaluates for two seconds every `between` iterations, with these validation losses."""
    lines = []
    for number, loss in enumerate(losses):
        first = number * between
        lines += [f"step {first}: train loss 2.0000, val loss {loss:.4f}", f"iter {first}: loss 2.9, time 2100.00ms"]
        lines += steps(first + 1, first + between - 1, 100)
    return lines


def codes(report):
    return [one.code for one in report.findings]


def test_a_healthy_run_has_no_finding():
    report = report_of(steps(0, 2000, 100))
    assert report.findings == ()
    assert report.best is None


def test_evaluations_that_cost_little_are_none():
    report = report_of(training(4000, evaluate=2000, evaluation_ms=500, saves=False))
    assert codes(report) == []
    assert report.ledger.seconds("evaluation") > 0


def test_what_came_after_the_best_validation_loss_leads():
    report = report_of(evaluated([3.0, 2.0, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0]))
    first = report.findings[0]
    assert (first.code, first.setting) == ("after_best", "max_steps")
    assert (report.best.step, report.best.val_loss) == (200, 1.5)
    # From the end of the evaluation at 200 on: 600 iterations of about 102 ms and five evaluations of 2 s.
    assert first.seconds == pytest.approx(600 * 0.102 + 5 * 2.0, rel=0.03)
    # Only the three evaluations up to the best are left for the other finding.
    assert report.ledger.seconds("evaluation") == pytest.approx(16.0, rel=0.05)
    assert next(one.seconds for one in report.findings if one.code == "evaluation") == pytest.approx(6.0, rel=0.1)
    assert not breaches(report)


@pytest.mark.parametrize("losses", [[3.0, 2.5, 2.0, 1.9, 1.8], [3.0, 2.0, 1.50, 1.51, 1.505, 1.502], [3.0, 1.5, 1.7]])
def test_a_loss_that_falls_wavers_or_was_measured_once_since_is_no_finding(losses):
    report = report_of(evaluated(losses))
    assert "after_best" not in codes(report)
    assert report.best.val_loss == min(losses)


def test_a_slower_stretch_counts_what_is_above_the_normal_level():
    report = report_of([*steps(0, 999, 100), *steps(1000, 1499, 250), *steps(1500, 2999, 100)])
    assert codes(report) == ["slower"]
    assert report.findings[0].seconds == pytest.approx(500 * 0.15, rel=0.05)
    assert "1,000 to 1,499" in str(report.findings[0].message)
    assert not breaches(report)


def test_a_slower_stretch_ends_where_its_process_does():
    """The steps of a run that was started again go back; no stretch goes from 100 to 50."""
    again = ["Resuming training from out", *steps(0, 60, 250), *steps(61, 2000, 100.5)]
    report = report_of([*steps(0, 99, 100), *steps(100, 800, 250), *again])
    slower = [one.message.args for one in report.findings if one.code == "slower"]
    assert slower
    assert all(one["first"] < one["last"] for one in slower)


def test_iterations_done_twice_are_lost_work():
    again = ["Resuming training from out", *steps(600, 2000, 100.5)]
    report = report_of([*steps(0, 1000, 100), *again])
    found = {one.code: one for one in report.findings}
    assert found["lost_work"].seconds == pytest.approx(401 * 0.102, rel=0.03)
    assert found["lost_work"].setting == "checkpoint_interval"
    restarted = next(alarm for alarm in report.alarms if alarm.code == "restarted")
    assert restarted.message.args["count"] == found["lost_work"].message.args["count"] == 401


def test_work_done_twice_counts_once_and_without_its_evaluations():
    """Slow iterations that were done again are lost work, and no slower stretch; alarm and finding say the same."""
    log = [*steps(0, 999, 100), *steps(1000, 1199, 300)]
    log += ["step 1200: train loss 2.0000, val loss 2.1000", "iter 1200: loss 2.9, time 9300.00ms"]
    report = report_of([*log, "Resuming training from out", *steps(1100, 3000, 100.5)])
    found = {one.code: one.seconds for one in report.findings}
    alarm = next(one for one in report.alarms if one.code == "restarted")
    assert found["lost_work"] == pytest.approx(101 * 0.302, rel=0.03)
    assert alarm.message.args["lost"].value == pytest.approx(found["lost_work"])
    assert found["slower"] == pytest.approx(100 * 0.2, rel=0.1)  # where a level begins is known to a few lines
    assert not breaches(report)


def test_of_unprinted_iterations_those_done_again_are_lost():
    """Every tenth is printed; the run goes on from 1,005: 6 of the 10 iterations up to 1,010 are done again."""
    log = [f"iter {step}: loss 2.9, time {100 + step % 7}.00ms" for step in range(0, 1051, 10)]
    again = [f"iter {step}: loss 2.9, time {100 + step % 7}.00ms" for step in range(1005, 3000, 10)]
    report = report_of([*log, "Resuming training from out", *again])
    alarm = next(one for one in report.alarms if one.code == "restarted")
    assert alarm.message.args["count"] == 46
    assert alarm.message.args["lost"].value == pytest.approx(46 * 0.103, rel=0.03)


def test_no_more_is_done_twice_than_was_done():
    """A process that was resumed itself at 500 and died at 1,000 loses its own 501 iterations, not 1,001."""
    again = ["Resuming training from out", *steps(0, 2000, 100.5)]
    report = report_of([*steps(500, 1000, 100), *again])
    counts = [one.message.args["count"] for one in report.findings if one.code == "lost_work"]
    counts += [alarm.message.args["count"] for alarm in report.alarms if alarm.code == "restarted"]
    assert counts == [501, 501]


def test_findings_are_in_the_document_and_the_terminal_says_what_no_phase_shows():
    report = report_of(evaluated([3.0, 2.0, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0]))
    document = report.to_dict()
    assert document["findings"][0]["code"] == "after_best"
    assert set(document["findings"][0]) == {
        *("code", "seconds", "low_s", "high_s", "share", "basis", "message", "setting", "money"),
    }
    assert document["best"]["step"] == 200
    assert document["findings"][0]["message"].split(".")[0] in full(report)


def megatron_past_its_best() -> str:
    """100 iterations of 10 s, every 20th evaluated (60 s) and saved (30 s) outside the rows' clock; best at 40."""
    at = dt.datetime(2026, 2, 3, 4, 0, 0)
    lines = []
    for step in range(1, 101):
        at += dt.timedelta(seconds=10)
        lines.append(
            f" [{at:%Y-%m-%d %H:%M:%S}.000000] iteration {step:8d}/     100 | consumed samples: 9 | "
            "elapsed time per iteration (ms): 10000.0 | learning rate: 1.0E-04 | lm loss: 3.0E+00 |"
        )
        if step % 20 == 0 and step < 100:
            at += dt.timedelta(seconds=90)
            loss = 3 + abs(step - 40) / 20
            lines += [
                f"    evaluate {'.' * 40}: (59999.00, 60000.00)",
                f" validation loss at iteration {step} | lm loss value: {loss:.6E} | lm loss PPL: 2.0E+01 | ",
                f"saving checkpoint at iteration {step:8d} to /ckpt in torch format",
                f"    save-checkpoint {'.' * 33}: (29999.00, 30000.00)",
            ]
    return "\n".join(lines) + "\n"


def test_what_a_stopped_clock_leaves_out_counts_before_or_after_the_best_evaluation_but_not_twice(tmp_path):
    """The evaluations lie between rows: two of four, and their checkpoints, come after the best one."""
    path = tmp_path / "train.log"
    path.write_text(megatron_past_its_best())
    found = {one.code: one.seconds for one in stepscope.explain(stepscope.read(str(path))).findings}
    assert found == pytest.approx({"after_best": 60 * 10 + 2 * 90, "evaluation": 120, "checkpoint": 60})
