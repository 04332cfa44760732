"""Loops that nobody wrote are read as they ran: `python -m tests.loops 1000` holds more of them against their truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loops.score import judge_loop

_BLOCK, _BLOCKS = 20, 6
_LEAST_RIGHT = 0.85


@pytest.mark.parametrize("first", range(0, _BLOCK * _BLOCKS, _BLOCK))
def test_printed_loops_are_read_as_they_ran(first: int, tmp_path: Path) -> None:
    """Nearly all answers are right, and none is wrong and sure of itself."""
    judged = {seed: found for seed in range(first, first + _BLOCK) if (found := judge_loop(seed, tmp_path)) is not None}
    assert not [(seed, found) for seed, found in judged.items() if found.is_wrong_and_sure]
    short = {seed: found for seed, found in judged.items() if found.verdict != "right"}
    assert len(short) <= (1 - _LEAST_RIGHT) * len(judged), short
