"""Logs of several trainings, one after the other, that say how many there will be."""

from __future__ import annotations

import datetime as dt

import pytest

from stepscope.lines.folds import parse_fold
from tests.unit.logs import report_of

EPOCHS, EACH, BETWEEN = 20, 12, 12


def folds(num, *, of=5, epochs=EPOCHS, last=None, head="--- fold {} of {} ---", first=1):
    """The epochs of each fold, their results, and what sums a fold up; of the last one only some."""
    at, lines = dt.datetime(2024, 5, 6, 7, 8, 9), ["settings: lr=0.1 bs=32"]
    for fold in range(num):
        at += dt.timedelta(seconds=BETWEEN)
        lines.append(head.format(fold + first, of))
        for epoch in range(1, (last or epochs) + 1 if fold == num - 1 else epochs + 1):
            at += dt.timedelta(seconds=EACH + epoch % 2)
            loss = 1.5 / (epoch + 2)
            lines.append(f"[{at}] epoch {epoch:02}/{epochs} | train loss {loss:.4f} | val loss {loss + 0.1:.4f}")
        if fold < num - 1:
            lines.append(f"fold {fold + first} took {epochs * EACH / 60:.1f} min, best val acc 0.71")
    return lines


@pytest.mark.parametrize(
    ("text", "number", "total"),
    [
        ("######## FOLD 2/5 ########", 2, 5),
        ("Fold: 3 of 10", 3, 10),
        ("[fold_0/4] begins", 0, 4),
        ("n_splits=5 epochs=25", None, 5),
        ("'num_folds': 10,", None, 10),
        ("5-fold cross-validation", None, 5),
    ],
)
def test_what_lines_say_of_folds(text, number, total):
    found = parse_fold(text)
    assert found is not None
    assert (found.number, found.total) == (number, total)


@pytest.mark.parametrize("text", ["fold 1 done in 9.9 min", "a tenfold 3/4", "unfold 2/3", "split: train", "fold 7/5"])
def test_what_says_nothing_of_their_number(text):
    assert parse_fold(text) is None


@pytest.mark.parametrize(("num", "last"), [(1, 12), (2, None), (3, 8), (3, None)])
@pytest.mark.parametrize("first", [0, 1])
def test_the_folds_to_come_are_in_the_time_left(num, last, first):
    report = report_of(folds(num, last=last, first=first))
    left = (5 - num) * (EPOCHS * (EACH + 0.5) + BETWEEN) + (EPOCHS - (last or EPOCHS)) * (EACH + 0.5)
    assert report.forecast.remaining_s == pytest.approx(left, rel=0.1)
    assert report.forecast.schedule.num_trainings == 5 - num
    assert report.state.value != "finished"


def test_the_last_fold_is_the_end():
    report = report_of(folds(5))
    assert report.forecast.is_finished
    assert report.state.value == "finished"


def test_a_program_that_does_one_of_them_is_over_with_it():
    report = report_of(folds(1, first=3))
    assert report.forecast.is_finished


def test_the_number_alone_is_enough_where_trainings_follow_each_other():
    lines = folds(2, head="next", last=None)
    lines[0] = "settings: lr=0.1 n_splits=4"
    assert report_of(lines).forecast.schedule.num_trainings == 2


def test_what_sums_up_a_training_is_no_evaluation_that_was_missed():
    assert report_of(folds(3)).reading.confidence > 0.5
