"""How fast a log is read: all fields to columns, events found, beside tools that only count lines or only match.

    make bench        or:  python bench/read.py [MEGABYTES]

Makes a nanoGPT log of 200 MB (or as many as you say) in a temporary folder, reads it in interleaved rounds and prints
throughput and the ratio to each rival on the same bytes. `rg` is left out where it is not installed.
"""

from __future__ import annotations

import mmap
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from stepscope.reader import read

ROUNDS = 5
LINE = re.compile(rb"iter (\d+): loss ([\d.]+), time ([\d.]+)ms, mfu ([\d.-]+)%")


def make(path: Path, megabytes: float) -> None:
    """A log as nanoGPT prints it: every iteration, an evaluation and a save every thousand."""
    dice = random.Random(1)
    with path.open("w", encoding="ascii") as file:
        step = size = 0
        while size < megabytes * 1e6:
            text = ""
            if step % 1000 == 0:
                text = f"step {step}: train loss {3 + dice.random():.4f}, val loss {3 + dice.random():.4f}\n"
                text += "saving checkpoint to out\n"
            loss, took, mfu = 3 + dice.random(), dice.gauss(170, 3), 30 + dice.random()
            text += f"iter {step}: loss {loss:.4f}, time {took:.2f}ms, mfu {mfu:.2f}%\n"
            size += file.write(text)
            step += 1


def with_re(path: Path) -> None:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        rows = [(int(m[1]), float(m[2]), float(m[3]), float(m[4])) for m in LINE.finditer(data)]
    assert rows


def with_split(path: Path) -> None:
    rows = []
    with path.open(encoding="ascii") as file:
        for line in file:
            if line.startswith("iter"):
                words = line.split()
                rows.append((int(words[1][:-1]), float(words[3][:-1]), float(words[5][:-3]), float(words[7][:-1])))
    assert rows


def counted(*command: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        subprocess.run([*command, str(path)], check=True, capture_output=True)

    return run


def main() -> int:
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 200.0
    rivals: dict[str, Callable[[Path], object]] = {
        "stepscope.read": lambda path: read(str(path)),
        "re.finditer over mmap": with_re,
        "line.split": with_split,
        "grep -c iter": counted("grep", "-c", "iter"),
    }
    if shutil.which("rg"):
        rivals["rg -c iter"] = counted("rg", "-c", "iter")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.log"
        make(path, megabytes)
        size = path.stat().st_size / 1e6
        seconds: dict[str, list[float]] = {name: [] for name in rivals}
        for _ in range(ROUNDS):
            for name, rival in rivals.items():
                start = time.perf_counter()
                rival(path)
                seconds[name].append(time.perf_counter() - start)
    own = statistics.median(seconds["stepscope.read"])
    print(f"{size:.0f} MB of nanoGPT log, median of {ROUNDS} interleaved rounds")
    print(f"{'reader':<26}{'MB/s':>8}{'stepscope is':>16}")
    for name, values in seconds.items():
        median = statistics.median(values)
        print(f"{name:<26}{size / median:>8.0f}{median / own:>14.2f} x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
