"""What the worst inputs cost: processor time and memory of `stepscope`, one process each.

    python bench/hostile.py [part of a name …] [--scale 0.1]
    python bench/hostile.py --small [part of a name …]          a megabyte of each shape in `small.py`

Each input is made in a temporary folder and read by a process of its own. `--scale` makes them smaller. The first row
is a log of a few lines: on a busy machine the processor's seconds are longer, and that one's with them.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import small


def _step(number: int, salt: int = 0) -> str:
    return f"iter {number}: loss 3.3114, time {130 + (7 * number + salt) % 11}.02ms, mfu 37.10%\n"


def _write(path: Path, lines: Iterator[str]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(lines)
    return path


def restarts(folder: Path, num: int) -> Path:
    """Trainings of two iterations, one after the other."""
    block = "Initializing a new model from scratch\n" + _step(0)
    return _write(folder / "a.log", (block + _step(1, salt) for salt in range(num)))


def resumptions(folder: Path, num: int) -> Path:
    """A training that is resumed after every second iteration."""
    lines = (f"Resuming training from out\n{_step(2 * index)}{_step(2 * index + 1)}" for index in range(num))
    return _write(folder / "a.log", lines)


def evaluations(folder: Path, num: int) -> Path:
    """An evaluation before every iteration."""
    lines = (f"step {index}: train loss 3.0192, val loss 3.{index % 9973:04d}\n{_step(index)}" for index in range(num))
    return _write(folder / "a.log", lines)


def unknown(folder: Path, num: int) -> Path:
    """Lines that nobody knows, all different, between a few iterations."""
    letters = random.Random(1)
    words = ("".join(letters.choices("abcdefghijklmnop ", k=25)) + "\n" for _ in range(num))
    return _write(
        folder / "a.log", (word + (_step(index // 20) if index % 20 == 0 else "") for index, word in enumerate(words))
    )


def nobodys(folder: Path, num: int) -> Path:
    """Nothing but lines that nobody knows."""
    letters = random.Random(1)
    return _write(folder / "a.log", ("".join(letters.choices("abcdefghijklmnop ", k=25)) + "\n" for _ in range(num)))


def ranks(folder: Path, num: int) -> Path:
    """One file per rank."""
    for rank in range(num):
        _write(folder / f"rank_{rank}.log", (_step(number, rank) for number in range(20)))
    return folder


def files(folder: Path, num: int) -> Path:
    """A log among many other files."""
    for number in range(num):
        (folder / f"other{number}.txt").write_text("nothing\n", encoding="utf-8")
    _write(folder / "train.log", (_step(number) for number in range(2000)))
    return folder


def bomb(folder: Path, num: int) -> Path:
    """Gigabytes of zeros in a few megabytes."""
    path = folder / "a.log.gz"
    with gzip.open(path, "wb") as file:
        file.write("".join(_step(number) for number in range(2000)).encode())
        for _ in range(num):
            file.write(bytes(1 << 20))
    return path


def spaces(folder: Path, num: int) -> Path:
    """Long lines of one character each, a megabyte of them."""
    lines = (
        f"Epoch {number}/9 epoch train_loss valid_loss {char * 8000}!\n" for number, char in enumerate(" -,.0[=_" * num)
    )
    return _write(folder / "a.log", lines)


CASES: dict[str, tuple[Callable[[Path, int], Path], int]] = {
    "restarts": (restarts, 200_000),
    "resumptions": (resumptions, 200_000),
    "evaluations": (evaluations, 1_000_000),
    "unknown": (unknown, 2_000_000),
    "nobodys": (nobodys, 2_000_000),
    "ranks": (ranks, 5_000),
    "files": (files, 20_000),
    "bomb": (bomb, 10_000),
    "spaces": (spaces, 16),
}


def measure(path: Path) -> tuple[int, float, int]:
    """The exit code, seconds of processor time and bytes of memory of one report."""
    command = [sys.executable, "-m", "stepscope", str(path), "--format", "json"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def few(folder: Path, num: int) -> Path:
    """A log of a few lines: what starting takes."""
    return _write(folder / "a.log", (_step(number) for number in range(num)))


def main() -> None:
    """Print a row per case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--small", action="store_true", help="inputs of a megabyte, all of one shape")
    args = parser.parse_args()
    cases: dict[str, tuple[Callable[[Path, int], Path], int]] = {"few": (few, 20)}
    if args.small:
        size = round(small.SIZE * args.scale)
        cases |= {name: (partial(small.make, name), size) for name in small.names()}
    else:
        cases |= {name: (make, max(1, round(num * args.scale))) for name, (make, num) in CASES.items()}
    print(f"{'input':26}{'number':>10}{'size':>10}{'code':>6}{'processor':>11}{'memory':>9}")
    for name, (make, number) in cases.items():
        if args.names and name != "few" and not any(part in name for part in args.names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = make(Path(folder), number)
            num_bytes = sum(file.stat().st_size for file in Path(folder).iterdir())
            code, seconds, memory = measure(path)
        size_mb, memory_mb = num_bytes / 1e6, memory / 1e6
        print(f"{name:26}{number:>10,}{size_mb:>7.1f} MB{code:>6}{seconds:>9.1f} s{memory_mb:>6.0f} MB", flush=True)


if __name__ == "__main__":
    main()
