"""Laws of reading by structure: nothing makes it fail, and what was read stays read when the log goes on."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.core.errors import InputError
from stepscope.infer.infer import infer
from stepscope.infer.line_parts import take_apart
from stepscope.reading.assembler import RunAssembler
from stepscope.reading.log_reader import LogReader
from tests.fuzz.strategies import any_bytes
from tests.unit.invented import STYLES

# Lines that look enough like a log to get far: words of the trade, numbers of every form, in any order.
WORDS = """step iter epoch batch loss lr time dt took elapsed eta val_loss eval saved checkpoint / [ ] ( ) : = | , % ms
    s it/s s/it min of train nan inf -inf 1K 12M 0:01:02 1 day, 36m 2026-03-01 22:00:00 1772402400.5 1772402400123"""
pieces = st.one_of(
    st.sampled_from(re.split(r"\s+", WORDS)),
    st.integers(-10, 10**18).map(str),
    st.floats(allow_nan=True).map(str),
    st.text(max_size=6),
)
lines = st.lists(pieces, max_size=12).map(" ".join)


@st.composite
def repeated(draw):
    """A few kinds of line, printed many times with other numbers."""
    kinds = draw(st.lists(lines, min_size=1, max_size=3))
    numbers = draw(st.lists(st.integers(0, 10**6), min_size=5, max_size=40))
    return [f"{kind} {number} {index}" for index, number in enumerate(numbers) for kind in kinds]


@given(st.one_of(st.lists(lines, max_size=60), repeated()))
def test_any_lines_give_a_format_that_reads_them_or_none(log):
    fmt = infer(log)
    if fmt is not None:
        builder = RunAssembler(fmt)
        for line in log:
            builder.add(line)
        run = builder.run(paths=("a",), encoding="utf-8", mtime=None)
        assert 0 < fmt.inferred.confidence < 1
        assert (run.steps.span >= 0).all()


@given(st.text(max_size=300))
def test_the_pieces_of_a_line_are_in_the_line(line):
    shape = take_apart(line)
    assert len(shape.texts) == len(shape.fields) + 1
    assert all(line[field.start : field.end] == field.text for field in shape.fields)


@given(any_bytes)
def test_any_bytes_are_read_or_refused(data):
    reader = LogReader(paths=["a"])
    reader.begin_file()
    reader.feed(data)
    try:
        reader.end_file()
        reader.run()
    except InputError:
        pass


@cache
def whole(name):
    """Enough of a log for some evaluations, and what is read from it."""
    text_lines = STYLES[name]().text.replace("\r", "\n").splitlines()[:450]
    return text_lines, build(text_lines)


def build(text_lines):
    reader = LogReader(paths=["a"])
    reader.begin_file()
    reader.feed(("\n".join(text_lines) + "\n").encode())
    reader.end_file()
    return reader.run()


@settings(max_examples=4)
@pytest.mark.parametrize("name", STYLES)
@given(share=st.floats(0.3, 1.0))
def test_a_log_that_was_cut_gives_the_same_rows_up_to_the_cut(name, share):
    text_lines, run = whole(name)
    kept = max(40, round(share * len(text_lines)))
    part = build(text_lines[:kept])
    size = len(part)
    assert np.array_equal(part.steps.step, run.steps.step[:size])
    assert part.format.clock.covers == run.format.clock.covers
    assert np.array_equal(part.steps.dur_ns[1:], run.steps.dur_ns[1:size])
    assert run.steps.line[size - 1] <= kept
    assert size == len(run) or run.steps.line[size] > kept
