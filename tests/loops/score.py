"""One printed loop, read and judged."""

from __future__ import annotations

from pathlib import Path

import stepscope
from tests.loops.judge import Judged, judge
from tests.loops.printed_loops import print_loop

LEAST_ROWS, MOST_CHARS = 8, 2_500_000


def judge_loop(seed: int, folder: Path) -> Judged | None:
    """The verdict on the loop of this number; None where it printed too little or very much."""
    text, style, truth = print_loop(seed)
    if truth.rows < LEAST_ROWS or len(text) > MOST_CHARS:
        return None
    path = folder / f"{seed}.log"
    path.write_text(text)
    try:
        return judge(stepscope.explain(stepscope.read(path)).to_dict(), style, truth)
    except stepscope.StepscopeError as refused:
        return Judged("refused", [str(refused)], 0.0)
