"""What watching costs: per new line however long the log, and per step when looking from inside.

    python bench/live.py [LINES]

1. A log of so many lines (10 million by default) is fed to the reader as `watch` does; the cost of the last thousand
   lines is compared with that of the first.
2. The hooks of `run --trace` are called as one training step calls them, timed alone, as a share of a 10 ms step.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from stepscope.reader import LogReader

_BLOCK = 1000


def feed(num_lines: int) -> tuple[float, float]:
    """Seconds for the first and the last thousand lines (each the best of ten neighbouring thousands)."""
    reader = LogReader(paths=["bench"])
    reader.begin_file()
    times = []
    for first in range(0, num_lines, _BLOCK):
        block = "".join(
            f"iter {step}: loss {3 + step % 97 / 100:.4f}, time {170 + step % 7}.25ms, mfu 31.20%\n"
            for step in range(first, first + _BLOCK)
        ).encode()
        began = time.perf_counter()
        reader.feed(block)
        times.append(time.perf_counter() - began)
    settled = times[100:]  # past detection
    return min(settled[:10]), min(settled[-10:])


def hooks() -> float:
    """Seconds that the hooks of one step take: a batch, an optimizer step, now and then a flush."""
    path = Path(__file__).parent.parent / "src" / "stepscope" / "live" / "inject" / "_stepscope_hooks.py"
    spec = importlib.util.spec_from_file_location("_stepscope_hooks", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    num = 20_000
    with tempfile.TemporaryDirectory() as folder:
        trace = module._Trace(str(Path(folder) / "trace.tsv"))
        batch = module._timed(trace, "data", lambda: None)
        began = time.perf_counter()
        for _ in range(num):
            batch()
            trace.add("optimizer", time.time(), time.perf_counter() - began)
        trace.flush()
        return (time.perf_counter() - began) / num


def main() -> None:
    num_lines = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    first, last = feed(num_lines)
    print(f"{num_lines:,} lines: last thousand {last / first:.2f} x the first ({last * 1e6 / _BLOCK:.2f} µs a line)")
    own = hooks()
    print(f"hooks of one step, timed alone: {own * 1e6:.1f} µs, {own / 0.010:.2%} of a 10 ms step")


if __name__ == "__main__":
    main()
