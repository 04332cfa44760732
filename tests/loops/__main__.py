"""Hold printed loops against their truth: `python -m tests.loops NUM [FIRST]` lists and counts the verdicts."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.loops.printed_loops import print_loop
from tests.loops.score import judge_loop


def main(num: int, first: int = 0) -> None:
    """Print what does not come out right, then the counts."""
    verdicts: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        for seed in range(first, first + num):
            found = judge_loop(seed, Path(folder))
            if found is None:
                continue
            verdicts[found.verdict] += 1
            verdicts["wrong and sure"] += found.is_wrong_and_sure
            if found.verdict != "right":
                print(seed, found.verdict, found.confidence, "; ".join(found.faults), print_loop(seed)[1])
    print(", ".join(f"{what} {count}" for what, count in verdicts.most_common()))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
