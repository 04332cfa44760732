"""Reading in bulk is an optimisation and nothing else: the Run is the same to the last bit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.core.errors import InputError
from stepscope.reading.log_reader import LogReader
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


BARS = [
    "\r{pct:3d}%|\x1b[32m{bar}\x1b[0m| {n}/{total} [{elapsed}<{left}, {rate:5.2f}it/s]",
    "\r{pct:3d}%|{bar}| {n}/{total} [{elapsed}<{left}, {rate:5.2f}it/s]\n",
    "\r{pct:3d}%|{bar}| {n}/{total} [{elapsed}<{left}, {rate:5.2f}s/it]",
]


@st.composite
def bar_logs(draw: st.DrawFn) -> bytes:
    """Hugging Face's bars, its dicts between them, bars of evaluations with another total, restarts."""
    bar, total, every = draw(st.sampled_from(BARS)), draw(st.sampled_from([400, 900, 12_000])), draw(st.integers(3, 40))
    pieces = [f"***** Running training *****\n  Total optimization steps = {total}\n" if draw(st.booleans()) else ""]
    step = draw(st.sampled_from([0, 0, 350]))
    for index in range(draw(st.integers(100, 500))):
        step += 1
        drawn = "█" * (10 * step // total)
        clock = f"{step // 60:02d}:{step % 60:02d}"
        pieces.append(
            bar.format(
                pct=100 * step // total, bar=drawn.ljust(10), n=step, total=total, elapsed=clock, left=clock, rate=1.5
            )
        )
        if index % every == every - 1:
            pieces.append(f"\n{{'loss': {index % 9}.25, 'learning_rate': 1e-05, 'epoch': 0.{index % 7}}}\n")
        if index % 97 == 96:
            pieces += [
                bar.format(
                    pct=n, bar="", n=n, total=draw(st.sampled_from([40, total])), elapsed="00:01", left="?", rate=9
                )
                for n in range(1, 12)
            ]
            pieces.append("\n{'eval_loss': 2.5, 'eval_runtime': 12.5, 'epoch': 0.5}\n")
        if index % 211 == 210:
            step = max(0, step - draw(st.sampled_from([0, 7, 200])))
            pieces.append(
                draw(
                    st.sampled_from(["", "\n***** Running training *****\n", "\nTraceback (most recent call last):\n"])
                )
            )
    return "".join(pieces).encode()


@settings(max_examples=25)
@given(bar_logs(), st.sampled_from([1 << 20, 5000]))
def test_bars_give_the_same_run_in_bulk(data, size):
    assert read(data, 512, size) == read(data, 1 << 30, 1 << 20)


@st.composite
def stamped_logs(draw: st.DrawFn) -> bytes:
    """Megatron's lines: a stamp inside, exponents, tags of ranks, now and then something else."""
    tag, day = draw(st.sampled_from(["", "0: ", "[default0]:", "31: [default7]: "])), draw(st.integers(1, 27))
    zone, lines, step = draw(st.sampled_from(["", ".123456"])), [], draw(st.sampled_from([0, 95]))
    for index in range(draw(st.integers(60, 300))):
        step += 1
        seconds = 86_300 + 3 * index
        hour, minute = seconds // 3600 % 24, seconds // 60 % 60
        moment = f"2026-02-{day + seconds // 86_400:02d} {hour:02d}:{minute:02d}:{seconds % 60:02d}"
        total = draw(st.sampled_from([900, 900, 901])) if index % 50 == 0 else 900
        loss = (
            draw(st.sampled_from(["2.5E+00", "1.25E-01", "nan", "3.1E-30"]))
            if index % 29 == 0
            else f"{index % 9}.{index:03d}E+00"
        )
        lines.append(
            f"{tag}[{moment}{zone}] iteration {step:8d}/{total:8d} | "
            f"consumed samples: {step * 8:12d} | elapsed time per iteration (ms): {800 + index % 7}.{index % 10} | "
            f"learning rate: {index % 10}.000E-05 | lm loss: {loss} | loss scale: 1.0 |"
        )
        if index % 40 == 39:
            lines.append(f"validation loss at iteration {step} | lm loss value: 2.{index}E+00 | lm loss PPL: 9.0E+00 |")
        if index % 130 == 129:
            step = draw(st.sampled_from([0, step - 20, step]))
    return "\n".join(lines).encode() + b"\n"


@settings(max_examples=25)
@given(stamped_logs(), st.sampled_from([1 << 20, 5000]))
def test_stamped_lines_give_the_same_run_in_bulk(data, size):
    assert read(data, 512, size) == read(data, 1 << 30, 1 << 20)


@settings(max_examples=20)
@given(
    st.lists(st.sampled_from(range(6)), min_size=80, max_size=400),
    st.sampled_from([1 << 20, 3000]),
    st.sampled_from([1, 3, 150]),
)
def test_foreign_lines_are_counted_as_they_are_read(kinds, size, stayed):
    """Lines that nobody understands, of one shape or of many, with tracebacks among them."""
    foreign = ["worker {n} ready", "x = {n}", "Exception ignored in: <f {n}>", "Traceback (most recent call last):"]
    lines = []
    for index, kind in enumerate(kinds):
        lines.append(f"iter {index}: loss 3.1, time {100 + index % 9}.00ms")
        lines += [foreign[kind % 4].format(n=index + at) for at in range(8 if kind < 2 else 1)]
    data = ("\n".join(lines) + "\n").encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stepscope.reading.remarks._MAX_OF_ONE", 3)
        patch.setattr("stepscope.reading.unread.MAX_STAYED", stayed)
        patch.setattr("stepscope.reading.unread.MAX_BEGUN", 5 * stayed)
        assert read(data, 512, size) == read(data, 1 << 30, 1 << 20)


PROSE = ["the worker has gone", "Late tile: 5 of {n}", "step over it", "  indented {n}", "Done.", "x-{n} | tail"]
PROSE += ["[late] queue={n} lag=0.{n}", "one in {n} s", "Total time: {n} s", "iter of {n}", "# note {n}", "a  b   {n}"]
PROSE += [
    "Error: {n}",
    "ValueError: {n}",
    "2024-01-02 03:04:05 tick {n}",
    "Traceback (most recent call last):",
    "caf\u00e9 {n}",
    " one blank before, two  within {n}",
    "blanks at the end {n}  ",
    "ab  c",
    "Ended ",
    "      Worker.Gone: {n}",
    "\tlr = {n} ",
    "                    far to the right",
]


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from(PROSE), st.integers(0, 12)), min_size=60, max_size=400),
    st.sampled_from([1 << 20, 3000]),
    st.sampled_from([1, 4]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_lines_that_are_nobodys_are_counted_as_they_are_read(kinds, size, stayed, end):
    """Lines without any word of the format, each of which would be read by itself."""
    lines = []
    for index, (text, number) in enumerate(kinds):
        lines.append(f"iter {index}: loss 3.1, time {100 + index % 9}.00ms")
        lines.append(text.format(n=number))
        lines.append(f"{'ab cd ef gh'[: number % 11 + 1]} {text.format(n=index)}")
    data = (end.join(lines) + end).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stepscope.reading.remarks._MAX_OF_ONE", 3)
        patch.setattr("stepscope.reading.remarks._MAX_KINDS", 5)
        patch.setattr("stepscope.reading.unread.MAX_STAYED", stayed)
        patch.setattr("stepscope.reading.bulk.nobody._LEAST_LINES", 1)
        assert read(data, 512, size) == read(data, 1 << 30, 1 << 20)


@pytest.mark.parametrize("text", ["12:45", "1;345", "1e345", "12345"])
def test_what_looks_like_a_digit_is_none(text):
    """Lines of one length whose shapes differ in a single place must not be taken for each other."""
    good = [f"iter {10_000 + i}: loss 3.1000, time 123.45ms" for i in range(300)]
    lines = [*good[:150], f"iter {text}: loss 3.1000, time 123.45ms", *good[150:]]
    data = ("\n".join(lines) + "\n").encode()
    assert read(data, 512, 1 << 20) == read(data, 1 << 30, 1 << 20)
