"""Single lines of a log that was read, for quoting: from files that are as they were, else none."""

from __future__ import annotations

import gzip
import os

import pytest

from stepscope.analysis.explain import explain
from stepscope.reading.again import lines_again
from stepscope.reading.reader import read
from stepscope.report.log_lines import log_lines
from tests.unit.logs import training

LINES = training(400, every=10, evaluate=100)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_found_by_their_numbers(tmp_path, end):
    log = tmp_path / "train.log"
    log.write_bytes(end.join(LINES).encode())
    run = read(str(log))
    numbers = [1, 7, len(LINES)]
    assert lines_again(run, numbers) == {number: LINES[number - 1] for number in numbers}
    assert lines_again(run, [0, -3, len(LINES) + 5]) == {}


def test_slow_iterations_are_quoted_with_the_evaluation_before_them(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("\n".join(LINES) + "\n")
    report = explain(read(str(log)))
    slow = next(one for one in report.ledger.slow if one.step == 200)
    quoted = {one["line"]: one for one in log_lines(report)}
    assert quoted[slow.line]["kind"] == "step"
    assert quoted[slow.line]["text"].startswith("iter 200:")
    assert all(LINES[line - 1] == one["text"] for line, one in quoted.items())


def test_a_log_that_changed_is_not_quoted(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("\n".join(LINES) + "\n")
    run = read(str(log))
    before = log.stat()
    log.write_text("something else\n" * len(LINES))
    assert lines_again(run, [7]) == {}
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))  # as old as before, and another log all the same
    assert lines_again(run, [7]) == {}
    log.unlink()
    assert lines_again(run, [7]) == {}


def test_a_packed_log_is_quoted(tmp_path):
    packed = tmp_path / "packed.log.gz"
    packed.write_bytes(gzip.compress(("\n".join(LINES) + "\n").encode()))
    assert lines_again(read(str(packed)), [7]) == {7: LINES[6]}


@pytest.mark.parametrize("end", ["\n", ""])
def test_of_several_parts_the_lines_are_numbered_through(tmp_path, end):
    parts = [tmp_path / "a.log", tmp_path / "b.log"]
    for part, lines in zip(parts, (LINES[:20], LINES[20:]), strict=True):
        part.write_text("\n".join(lines) + end)
    run = read(*map(str, parts))
    wanted = [3, 20, 21, len(LINES)]
    assert lines_again(run, wanted) == {number: LINES[number - 1] for number in wanted}
    assert run.steps.line[-1] <= len(LINES)
