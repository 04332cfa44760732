"""How the work grows with a log: counted, never timed."""

import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.causes import _trend
from stepscope.forecast import finish
from stepscope.ledger import attribute, done_again, first_window
from stepscope.lines.prefix import digits_may_be_prefix, split_prefix
from stepscope.reading import heads, reader
from stepscope.reading.assembler import RunAssembler
from stepscope.reading.bulk.sorter import Sorter
from stepscope.reading.line_claims import LineClaims
from stepscope.reading.recognition import Recognition
from stepscope.run import stops
from stepscope.source import files
from tests.unit.logs import report_of, run_of, training


@pytest.fixture
def count(monkeypatch):
    """How often a function is called, as a list that grows with each call."""

    def counted(owner, name):
        calls, original = [], getattr(owner, name)

        def called(*given, **named):
            calls.append(given)
            return original(*given, **named)

        monkeypatch.setattr(owner, name, called)
        return calls

    return counted


def restarts(num: int, first: str) -> str:
    """`num` processes that each print two iterations; where they go on, the numbers do."""
    lines = []
    for index in range(num):
        lines.append(first)
        for step in range(2):
            number = step if "new" in first else 2 * index + step
            lines.append(f"iter {number}: loss 3.3114, time {130 + (7 * index + 3 * step) % 11}.02ms, mfu 37.10%")
    return "\n".join(lines)


def lines_run(text: str, package: str, ask=run_of) -> int:
    """How many lines of a package's code are run to read a log, or to answer another question about it."""
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
        ask(text)
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


def test_stops_are_found_once_for_the_log_and_once_for_each_earlier_forecast(count):
    found = count(stops, "_printed")
    report = report_of(training(400, evaluate=20), max_steps=1000)
    _ = report.ledger, report.forecast, report.advice, report.alarms
    assert len(found) == 1
    assert len(report.backtests) == 4
    assert len(found) == 5


def test_the_timeline_is_laid_out_once_for_a_forecast(count):
    laid_out = count(finish, "lay_out")
    _ = report_of(training(400, evaluate=20)).forecast
    assert len(laid_out) == 1


def test_twice_the_slow_steps_are_twice_the_work_of_an_alarm():
    def descending(num):
        return "".join(f"iter {10**6 - at}: time {at * 7919 % 9973 + 1}00ms\n" for at in range(num))

    small, large = (
        lines_run(descending(num), "alarms/stall", lambda text: report_of(text).alarms) for num in (300, 600)
    )
    assert 300 < large < 2.5 * small


def test_lines_that_change_what_the_others_mean_are_not_sorted_again_each_time(monkeypatch):
    """Each training states another total, and everything behind that line was sorted again."""
    num_sorted, original = 0, Sorter.sort

    def sort(self, *given, **named):
        nonlocal num_sorted
        chunk = original(self, *given, **named)
        num_sorted += len(chunk.lengths)
        return chunk

    monkeypatch.setattr(Sorter, "sort", sort)
    lines = []
    for at in range(1500):
        lines += ["***** Running training *****", f"  Total optimization steps = {100 + at}"]
        lines += [f"  {step}%|#   | {step}/{100 + at} [00:{step:02}<1:00,  1.00s/it]" for step in (1, 2)]
        lines.append("{'loss': 2.5, 'learning_rate': 1e-05, 'epoch': 0.1}")
    assert run_of(lines).num_trainings > 1000
    assert 0 < num_sorted < 8 * len(lines)


def test_rows_of_restarts_and_their_headers_are_not_searched_again(count):
    claimed = count(LineClaims, "_find_claim")
    numbers = []
    for num in (3000, 6000):
        claimed.clear()
        assert run_of(restarts(num, "Initializing a new model from scratch")).num_trainings == num
        numbers.append(len(claimed))
    assert numbers[1] - numbers[0] < 100


def test_the_rows_of_a_long_table_are_read_in_bulk(count):
    table = "step,time,loss\n" + "".join(f"{at},{at * 2},{at % 7}\n" for at in range(12_000))
    added = count(RunAssembler, "add")
    run = run_of(table)
    assert len(run) == 12_000
    assert run.steps.step[[0, -1]].tolist() == [0, 11_999]
    assert len(added) < 200


def test_a_row_of_a_table_of_restarts_takes_few_lines_of_code():
    """It was 400: every row by itself through the bulk reader, the rules that ask for words, and the ledger."""

    def table(num):
        return "step,time,loss\n" + "".join(f"{at % 2},{at % 2},{at % 7}\n" for at in range(num))

    small, large = (lines_run(table(num), "stepscope/", lambda text: report_of(text).ledger) for num in (9_000, 12_000))
    assert (large - small) / 3_000 < 300


def test_the_files_of_a_folder_are_looked_at_once_and_formats_compete_for_a_few(tmp_path, count):
    for rank in range(60):
        lines = (f"iter {step}: loss 3.3, time {130 + (7 * step + rank) % 11}.{rank:02}ms\n" for step in range(20))
        (tmp_path / f"rank_{rank}.log").write_text("".join(lines))
    looked, competed = count(heads, "_read_piece"), count(Recognition, "verdict")
    run = reader.read(str(tmp_path))
    assert len(run.ranks) == 60
    assert len(looked) == 60
    assert len(competed) < 2 * 40


def test_epochs_of_many_lengths_are_found_without_looking_through_all():
    def epochs(num):
        lines = (
            f"Epoch: [{at}][{batch}/{10 + at % 3}]\tTime 0.100 (0.100)\tData 0.001 (0.001)\tLoss 2.0 (2.0)"
            for at in range(num)
            for batch in (0, 5)
        )
        return "\n".join(lines)

    small, large = (lines_run(epochs(num), "reading/totals") for num in (300, 600))
    assert 600 < large < 2.5 * small


def test_of_more_files_than_are_looked_at_the_best_are(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_MAX_FOLDER_FILES", 5)
    for number in range(20):
        (tmp_path / f"other{number}.txt").write_text("nothing\n")
    (tmp_path / "train.log").write_text("\n".join(training(40)))
    assert len(reader.read(str(tmp_path))) == 41


def test_a_log_of_some_hundred_lines_is_read_in_bulk(count):
    added = count(RunAssembler, "add")
    run = run_of("".join(f"iter {at}: loss 3.3114, time {130 + at * 7 % 11}.02ms\n" for at in range(500)))
    assert len(run) == 500
    assert len(added) < 50


def test_rows_that_go_back_are_taken_without_their_lines(count):
    """A row that begins a process is not read again as text once its numbers are known."""
    added = count(RunAssembler, "add")
    run = run_of("".join(f"iter {at % 2}: loss 3.{at}, time {130 + at * 7 % 11}.02ms\n" for at in range(4000)))
    assert len(run.segments) > 1000
    assert len(added) < 400


def test_unknown_lines_that_begin_with_a_number_are_counted_together(count):
    """The first of them are looked at, however many follow."""
    added = count(RunAssembler, "add")
    steps = "".join(f"iter {at}: loss 3.3, time 130.02ms\n" for at in range(20))
    numbers = []
    for num in (20_000, 40_000):
        added.clear()
        run = run_of(steps + "".join(f"{at} of {at % 977} kept\n" for at in range(num)) + steps.replace("r ", "r 1"))
        assert run.num_unread == num
        numbers.append(len(added))
    assert numbers[1] - numbers[0] < 1000


@given(st.text(alphabet="0123456789 /|,abz[]()%", min_size=1, max_size=40))
def test_a_line_that_no_digits_give_a_prefix_has_none(text):
    """What is decided for one line counts for all lines that differ from it in their digits."""
    if text[0].isdigit() and not digits_may_be_prefix(text):
        for digit in "0129":
            assert split_prefix(re.sub(r"\d", digit, text)) is None
        assert split_prefix(text) is None


@given(st.lists(st.floats(0.5, 2.0), min_size=6, max_size=40))
def test_a_window_is_the_best_of_all_that_there_are(values):
    """Most windows are ruled out by running sums, and the best one never is."""
    y = np.array(values)
    found = _trend._window(y)
    best = None
    for first in range(2, len(y) - 3):
        for last in range(first + 1, len(y) - 1):
            if abs(y[:first].mean() / y[last:].mean() - 1) <= 0.05:
                error = _trend._error([np.concatenate([y[:first], y[last:]]), y[first:last]])
                best = error if best is None else min(best, error)
    assert (found is None) == (best is None)
    assert found is None or found[0] == best


def test_what_restarts_threw_away_is_worked_out_for_all_of_them_at_once(count):
    """Rows of a running clock that go back, again and again, in one training: each restart lost an iteration."""
    passes = count(done_again, "silent_steps")
    lines = (f"step:{at % 2}/100 train_time:{1500 * (at % 2)}ms step_avg:150.00ms" for at in range(400))
    report = report_of("\n".join(lines))
    lost = next(one for one in report.findings if one.code == "lost_work")
    assert lost.message.args["count"] >= 190
    assert len(report.alarms) >= 10
    assert len(passes) <= 2
