"""Most questions are answered well, and no answer says what is wrong."""

from __future__ import annotations

import pytest

from tests.asked.cases import CASES
from tests.asked.judge import Verdict, judge

# The floor is raised with every case that is won; it never goes down.
_FLOOR = 0.92


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    return [judge(case) for case in CASES]


def table(verdicts: list[Verdict]) -> str:
    """One line per case: its grade and what falls short; the sums last."""
    lines = [
        f"{verdict.grade:6}  {verdict.case.name}  {verdict.case.asked}: " + "; ".join(verdict.wrong + verdict.missing)
        for verdict in verdicts
    ]
    grades = [verdict.grade for verdict in verdicts]
    sums = ", ".join(f"{grade} {grades.count(grade)}" for grade in ("well", "partly", "wrong", "none"))
    return "\n".join([*lines, f"of {len(verdicts)}: {sums}"])


def test_most_questions_are_answered_well(verdicts: list[Verdict]) -> None:
    """The share of questions answered well is at least the floor."""
    print(table(verdicts))
    share = sum(verdict.grade == "well" for verdict in verdicts) / len(verdicts)
    assert share >= _FLOOR, table(verdicts)


def test_no_answer_says_what_is_wrong(verdicts: list[Verdict]) -> None:
    """None of the sentences that would mislead the asker is in a report."""
    assert not [(verdict.case.name, text) for verdict in verdicts for text in verdict.wrong if text.startswith("says ")]
