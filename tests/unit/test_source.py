"""Bytes become lines: encodings, carriage returns, colours, monsters."""

from __future__ import annotations

import pytest

from stepscope.lines.prefix import split_prefix
from stepscope.source.lines import MAX_LINE_CHARS, LineSplitter


def lines(data, size=1 << 20):
    splitter = LineSplitter()
    found = []
    for start in range(0, len(data), size):
        found += splitter.feed(data[start : start + size])
    return found + list(splitter.close())


def test_a_progress_bar_is_a_line_per_state():
    assert lines(b"10%\r50%\r100%\ndone\r\n") == ["10%", "50%", "100%", "done"]


def test_colours_and_backspaces_go():
    assert lines(b"\x1b[1;32miter 5\x1b[0m\x1b[K abX\x08c\n") == ["iter 5 abc"]


def test_a_monstrous_line_is_cut_and_the_next_one_read():
    data = b"x" * (3 * MAX_LINE_CHARS) + b"\niter 1\n"
    for size in (1 << 20, 1 << 12, 997):
        found = lines(data, size)
        assert len(found[0]) == MAX_LINE_CHARS
        assert found[1:] == ["iter 1"]


def test_a_broken_archive_keeps_what_came_before(tmp_path):
    import gzip

    from stepscope.reading.reader import read

    whole = gzip.compress("".join(f"iter {i}: loss 3.0, time {100 + i % 7}.00ms\n" for i in range(200_000)).encode())
    path = tmp_path / "train.log.gz"
    path.write_bytes(whole[: len(whole) * 2 // 3])
    assert len(read(str(path))) > 50_000


@pytest.mark.parametrize(
    ("text", "rest", "dated"),
    [
        ("2025-11-15 02:30:07,123 iter 5", "iter 5", True),
        ("[2025-11-15T02:30:07.5Z] [rank3]: iter 5", "iter 5", True),
        ("02:30:07 iter 5", "iter 5", False),
        ("Nov 15 02:30:07 iter 5", "iter 5", False),
        ("1763173807.25\titer 5", "iter 5", True),
        ("11/15/2025 02:30:07 - INFO - __main__ - iter 5", "iter 5", True),
        ("0: iter 5", "iter 5", False),
        ("[rank0]:[2025/11/15 02:30:07] iter 5", "iter 5", True),
    ],
)
def test_prefixes(text, rest, dated):
    prefix = split_prefix(text)
    assert text[prefix.length :] == rest
    assert prefix.dated is dated
    if dated:
        assert prefix.t_ns // 10**9 == 1763173807


def test_a_clock_without_a_date_passes_midnight():
    from tests.unit.logs import run_of

    run = run_of(
        [
            f"{h:02d}:{m:02d}:00 iter {i}: loss 3.0, time 60000.00ms"
            for i, (h, m) in enumerate([(23, 58), (23, 59), (0, 0), (0, 1)])
        ]
    )
    assert run.stamps.last_ns - run.stamps.first_ns == 180 * 10**9
    assert not run.stamps.dated
