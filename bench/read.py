"""How fast a log is read: all fields to columns, events found, beside tools that only count lines or only match.

    make bench        or:  python bench/read.py [SHARE] [KIND…]

Makes a nanoGPT log of 1 GB, a tqdm/ANSI one and a Megatron one of 300 MB each, and one of 54 MB that is two million
lines of no trainer (or a SHARE of that, such as 0.1), in a temporary folder; a rival that would take half an hour
over it reads the first 10 MB, and its time is scaled. In each round every reader has its turn in a process of its
own, warm (it has read a small log before), so that a busy machine is busy for all. Prints throughput, how many times
as fast `stepscope.read` is as each (median and range over the rounds), and peak memory. A rival that is not installed
is left out, and said so.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from logs import write
from readers import READERS, missing

ROUNDS = 3
MEGABYTES = {"nanogpt": 1000.0, "tqdm": 300.0, "megatron": 300.0, "foreign": 54.0}
LONGEST_S = 120
PIECE_MB = {"runmedic": 10.0}


def time_one(name: str, kind: str, log: Path) -> dict[str, float] | None:
    """What a rival told of one reading; None when it took too long or failed."""
    size, piece = log.stat().st_size, int(PIECE_MB.get(name, 0) * 1e6)
    if 0 < piece < size:
        beginning = log.with_suffix(".piece")
        with log.open("rb") as file:
            beginning.write_bytes(file.read(piece))
        told = time_one(name, kind, beginning)
        return told if told is None else {**told, "seconds": told["seconds"] * size / piece}
    command = [sys.executable, str(Path(__file__).parent / "readers.py"), name, kind, str(log)]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        print(done.stderr.decode()[-400:], file=sys.stderr)
        return None
    readings: dict[str, float] = json.loads(done.stdout)
    return readings


def bench(kind: str, log: Path) -> None:
    size = log.stat().st_size / 1e6
    names = []
    for name in READERS:
        reason = missing(name)
        if reason is None:
            names.append(name)
        else:
            print(f"{name} left out: {reason}")
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(ROUNDS):
        for name in [name for name in names if name in rounds]:
            told = time_one(name, kind, log)
            if told is None:
                print(f"{name} left out: it failed, or took more than {LONGEST_S} s")
                del rounds[name]
            else:
                rounds[name].append(told)
    own = rounds["stepscope.read"]
    print(
        f"\n{size:.0f} MB of {kind} log, {own[0]['rows']:,.0f} steps, {own[0]['events']:,.0f} events, {ROUNDS} rounds"
    )
    print(f"{'reader':<18}{'MB/s':>8}{'peak MB':>10}   stepscope.read, times as fast")
    for name, readings in rounds.items():
        ratios = [other["seconds"] / mine["seconds"] for other, mine in zip(readings, own, strict=True)]
        speed = size / statistics.median([one["seconds"] for one in readings])
        peak = max(one["peak_mb"] for one in readings)
        ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
        print(f"{name:<18}{speed:>8.0f}{peak:>10.0f}   {ratio}")
    beyond = max(one["peak_mb"] - one["columns_mb"] for one in own)
    print(
        f"stepscope.read: {own[0]['bytes_per_row']:.1f} bytes a step beside its metrics; {beyond:.0f} MB beyond columns"
    )


def main() -> int:
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    with tempfile.TemporaryDirectory() as folder:
        for kind in sys.argv[2:] or MEGABYTES:
            log = Path(folder) / f"{kind}.log"
            write(log, kind, MEGABYTES[kind] * share)
            bench(kind, log)
            log.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
