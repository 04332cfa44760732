"""What a long log says once in thousands of lines, and what the step of its timestamps is."""

from __future__ import annotations

import numpy as np

from stepscope.reading.row_times import _tick_of
from stepscope.run.model import NO_TIME
from stepscope.source.rare_lines import rare_lines


def log(count, every, text):
    lines = []
    for number in range(count):
        lines.append(f"it {number} loss {3 - number / count:.3f}")
        if number % every == every - 1:
            lines.append(text.format(number))
    return "\n".join(lines).encode() + b"\n"


def test_a_rare_line_comes_with_the_lines_around_it():
    pieces = rare_lines(log(5000, 1000, "Validation: {} loss 2.1"))
    assert len(pieces) == 3, "three of a kind show what it is"
    assert pieces[0] == b"it 999 loss 2.800\nValidation: 999 loss 2.1\nit 1000 loss 2.800\n"


def test_a_word_of_every_line_is_no_rare_one():
    assert rare_lines(log(5000, 1, "eval 0.5 of {}")) == []


def test_a_line_without_an_end_is_left_alone_where_it_is_too_long():
    assert rare_lines(b"it 1 loss 2\nSaved " + b"x" * 100_000) == []


def test_stamps_that_are_all_whole_seconds_tick_in_seconds():
    second = 1_000_000_000
    whole = np.array([5 * second, NO_TIME, 9 * second], dtype=np.int64)
    assert _tick_of(whole) == second
    assert _tick_of(whole + np.array([0, 0, second // 2])) < second
