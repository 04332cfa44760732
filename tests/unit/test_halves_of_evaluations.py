"""An evaluation that two lines report: one what came out, the other how long it took."""

from __future__ import annotations

import pytest

from stepscope.run.model import NO_TIME
from tests.unit.logs import report_of, run_of

RESULT = "eval loss: {loss:.4f}, acc: 0.91"


def loop(*reports, steps=40, every=5):
    lines = []
    for n in range(1, steps + 1):
        lines.append(f"step {n * 10}/{steps * 10}, loss: {3 - n / 20:.4f}, speed: 4.0000 step/s")
        if n % every == 0:
            lines += [report.format(loss=2.5 - n / 30, took=3 + n / 100) for report in reports]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "time",
    [
        "eval done total : {took:.4f} s",
        "Validation took {took:.2f}s",
        "evaluation finished, {took:.1f} seconds",
        "Eval time: {took:.3f} s",
    ],
)
@pytest.mark.parametrize("is_after", [True, False])
def test_the_time_of_an_evaluation_on_a_line_of_its_own(time, is_after):
    run = run_of(loop(*((RESULT, time) if is_after else (time, RESULT))))
    assert run.events.kind.count("evaluation") == 8
    took = run.events.took_ns[[kind == "evaluation" for kind in run.events.kind]]
    assert (took != NO_TIME).all()
    assert took.sum() / 1e9 == pytest.approx(sum(3 + n / 100 for n in range(5, 41, 5)), rel=0.02)
    assert run.events.val_loss[0] == pytest.approx(2.5 - 5 / 30, abs=1e-3)


def test_a_time_between_other_steps_is_not_the_evaluations():
    report = report_of(loop(RESULT).replace("step 70/", "eval dataset built in 40.0 s\nstep 70/"))
    assert report.ledger.seconds("evaluation") == 0
