"""Reading in bulk is an optimisation and nothing else: the Run is the same to the last bit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.errors import InputError
from stepscope.reader import LogReader
from tests.fuzz.strategies import nanogpt_logs
from tests.fuzz.test_laws import columns

PREFIXES = [
    "",
    "[rank0]: ",
    "2025-11-15 02:{m:02d}:{s:02d},123 ",
    "1763173{s:03d}.250000\t",
    "[11/18 15:{m:02d}:{s:02d}] ",
    "23:{m:02d}:{s:02d} ",
    "\x1b[3{d}m",
    "   ",
]
ENDS = ["\n", "\r\n", "\r"]


def read(data: bytes, settle: int, size: int):
    reader = LogReader(paths=["x"], settle_bytes=settle)
    reader.begin_file()
    for start in range(0, len(data), size):
        reader.feed(data[start : start + size])
    reader.end_file()
    try:
        return columns(reader.run())
    except InputError as problem:
        return problem.key


@st.composite
def long_logs(draw: st.DrawFn) -> bytes:
    """Long enough that most of it is read in bulk."""
    prefix, end = draw(st.sampled_from(PREFIXES)), draw(st.sampled_from(ENDS))
    lines = draw(nanogpt_logs()).split("\n")
    step = draw(st.sampled_from([0, 90, 99_990]))
    for index in range(draw(st.integers(150, 400))):
        loss = (
            draw(st.sampled_from(["3.1234", "2.5", "nan", "-0.25", "..."]))
            if index % 37 == 0
            else f"{index % 7}.1{index % 10}"
        )
        lines.append(
            f"iter {step + index}: loss {loss}, time {100 + index % 13}.{index % 100:02d}ms, mfu {index % 50}.25%"
        )
        if index % 50 == 0:
            lines.append(f"step {step + index}: train loss 3.0, val loss 3.1")
        if index % 91 == 90:
            lines += [
                "",
                "some chatter",
                "Traceback (most recent call last):",
                "  File",
                "ValueError: x",
                "iter 1: loss 2",
            ]
        if index % 123 == 122:
            step -= 60  # a restart
    lines.append("x" * draw(st.sampled_from([0, 10, 70_000])))
    stamped = [prefix.format(m=i // 60 % 60, s=i % 60, d=i % 8) + line for i, line in enumerate(lines)]
    return end.join(stamped).encode() + draw(st.sampled_from([b"", b"\n"]))


@settings(max_examples=25)
@given(long_logs(), st.sampled_from([1 << 20, 5000, 1777]))
def test_bulk_and_line_by_line_give_the_same_run(data, size):
    assert read(data, 512, size) == read(data, 1 << 30, 1 << 20)


@pytest.mark.parametrize("text", ["12:45", "1;345", "1e345", "12345"])
def test_what_looks_like_a_digit_is_none(text):
    """Lines of one length whose shapes differ in a single place must not be taken for each other."""
    good = [f"iter {10_000 + i}: loss 3.1000, time 123.45ms" for i in range(300)]
    lines = [*good[:150], f"iter {text}: loss 3.1000, time 123.45ms", *good[150:]]
    data = ("\n".join(lines) + "\n").encode()
    assert read(data, 512, 1 << 20) == read(data, 1 << 30, 1 << 20)
