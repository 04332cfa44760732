"""How the work grows with a log: counted, never timed."""

import sys

import pytest

from stepscope.ledger import attribute, first_window
from tests.unit.logs import report_of, run_of


def restarts(num: int, first: str) -> str:
    """`num` processes that each print two iterations; where they go on, the numbers do."""
    lines = []
    for index in range(num):
        lines.append(first)
        for step in range(2):
            number = step if "new" in first else 2 * index + step
            lines.append(f"iter {number}: loss 3.3114, time {130 + (7 * index + 3 * step) % 11}.02ms, mfu 37.10%")
    return "\n".join(lines)


def lines_run(text: str, package: str) -> int:
    """How many lines of a package's code are run to read a log."""
    count = 0

    def tick(frame, _event, _argument):
        nonlocal count
        if package not in frame.f_code.co_filename:
            return None
        count += 1
        return tick

    before = sys.gettrace()
    sys.settrace(tick)
    try:
        run_of(text)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("first", ["Initializing a new model from scratch", "Resuming training from out"])
def test_twice_the_restarts_are_twice_the_work_of_the_rules(first):
    small, large = (lines_run(restarts(num, first), "reading/rules") for num in (400, 800))
    assert large < 2.5 * small


def test_of_many_trainings_the_seconds_add_up_and_few_are_looked_at_alone(monkeypatch):
    num = 0
    original = attribute._attribute

    def counted(*given):
        nonlocal num
        num += 1
        return original(*given)

    monkeypatch.setattr(attribute, "_attribute", counted)
    report = report_of(restarts(1200, "Initializing a new model from scratch"))
    assert num <= 110
    assert report.run.num_trainings == 1200
    assert sum(total.ns for total in report.ledger.phases) == report.ledger.wall_ns
    printed_s = sum(0.13002 + (7 * index + 3 * step) % 11 / 1000 for index in range(1200) for step in range(2))
    assert report.ledger.wall_ns / 1e9 == pytest.approx(printed_s, abs=1e-6)
    assert len(report.to_dict()["source"]["trainings"]) == 1000


def test_the_spacing_of_rows_is_looked_at_once_however_often_a_run_was_resumed(monkeypatch):
    num = 0
    original = first_window.usual_spacing

    def counted(run):
        nonlocal num
        num += 1
        return original(run)

    monkeypatch.setattr(first_window, "usual_spacing", counted)
    _ = report_of(restarts(100, "Resuming training from out")).ledger
    assert num < 20
