"""What a scan of many runs costs: a run, two workers, the engines, a long listing, a second scan.

    python bench/fleet.py                    all parts, a few minutes
    python bench/fleet.py rate scaling       some of them
    python bench/fleet.py --files 1200       with more logs

Logs are nanoGPT's lines, some 6 kB each, made here. Figures are processor time, which other work on the machine hardly
changes; wall times are beside them, and are only worth reading on an idle machine. What is compared is interleaved.

rate      files a second of the bare function on one processor
scaling   one worker → two: the processor time of one over that of the busier of two, from the first import on; over
          the mean of the two: other work that takes a processor from one of them leaves it more to do than the other
engines   processor time of all processes per file, beyond that inside the function, at chunks of 64
listing   memory of a scan that has a million files listed (or --listed)
rescan    a scan of 100,000 unchanged runs (or --unchanged)
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from stepscope.core import clock
from stepscope.fleet.engines import Chunk, Done, Engine, Inline, Pool
from stepscope.fleet.scan import CHUNK, scan
from stepscope.fleet.store import Store
from stepscope.fleet.tables import Rows
from stepscope.fleet.work import Result, explain_candidate, explain_chunk, failed_rows
from stepscope.source.candidates import Candidate, candidates
from stepscope.source.listing import Listed, Listing, listings

USED = "STEPSCOPE_BENCH_USED"
LONG_AGO = 1_700_000_000
ROUNDS = 3


def noted_chunk(chunk: Chunk) -> Result:
    """The chunk function, which also notes what it used: process, its whole time, the time inside."""
    before = time.process_time()
    result = explain_chunk(chunk)
    after = time.process_time()
    with Path(os.environ[USED]).open("a") as file:
        file.write(f"{os.getpid()} {after} {after - before}\n")
    return result


def make_logs(folder: Path, num: int) -> list[Candidate]:
    for number in range(num):
        dice = random.Random(number)
        lines = ["tokens per iteration will be: 32,768", "number of parameters: 10.65M"]
        for step in range(0, 400 + number % 7 * 300, 10):
            if step % 100 == 0:
                lines.append(f"step {step}: train loss {3 + dice.random():.4f}, val loss {3 + dice.random():.4f}")
            duration = 100 * dice.uniform(0.97, 1.03) + 2000 * (step % 100 == 0)
            lines.append(f"iter {step}: loss {3 + dice.random():.4f}, time {duration:.2f}ms")
        path = folder / f"slurm-{number}.out"
        path.write_text("\n".join(lines) + "\n")
        os.utime(path, (LONG_AGO, LONG_AGO))
    return [one for listing in listings(str(folder), print) for one in candidates(listing)]


class Used:
    """What the workers of one measurement noted. One file for all: a process keeps the environment it began with."""

    def __init__(self) -> None:
        self.path = Path(os.environ[USED])
        self.path.write_text("")

    def read(self) -> tuple[dict[str, float], float]:
        """The processor seconds of each worker since it began, and the sum of those inside the function."""
        workers: dict[str, float] = {}
        inside = 0.0
        for line in self.path.read_text().splitlines():
            process, whole, own = line.split()
            workers[process] = max(workers.get(process, 0.0), float(whole))
            inside += float(own)
        return workers, inside


def rate(found: list[Candidate]) -> None:
    explain_chunk(found[:20])
    used = []
    for _ in range(ROUNDS):
        before = time.process_time()
        explain_chunk(found[20:220])
        used.append((time.process_time() - before) / len(found[20:220]))
    each = statistics.median(used)
    print(f"rate      {each * 1000:.1f} ms of processor time a file: {1 / each:.0f} a second and processor")


def scaling(folder: Path, logs: Path, num: int) -> None:
    ratios, halves, walls = [], [], []
    own = 0.0
    for number in range(ROUNDS):
        busiest, whole, wall = {}, {}, {}
        for workers in (1, 2):
            used, before, began = Used(), time.process_time(), time.monotonic()
            scan([str(logs)], Store(folder / f"store-{number}-{workers}"), Pool(workers, work=noted_chunk))
            wall[workers], own = time.monotonic() - began, time.process_time() - before
            own_s = used.read()[0].values()
            busiest[workers], whole[workers] = max(own_s), sum(own_s)
        ratios.append(busiest[1] / busiest[2])
        halves.append(2 * whole[1] / whole[2])
        walls.append(wall[1] / wall[2])
    print(
        f"scaling   {statistics.median(ratios):.2f} by the busier worker ({min(ratios):.2f} to {max(ratios):.2f}), "
        f"{statistics.median(halves):.2f} by the mean of both ({min(halves):.2f} to {max(halves):.2f}), "
        f"{statistics.median(walls):.2f} by wall time; the main process takes {own / num * 1000:.2f} ms a file"
    )


def engines(found: list[Candidate]) -> None:
    chunks = [tuple(found[start : start + CHUNK]) for start in range(0, len(found), CHUNK)]
    for name, make in MAKERS.items():
        try:
            began = _tree_s(), time.monotonic()
            engine = make()
        except ImportError:
            print(f"{name:9} not installed")
            continue
        used = Used()
        list(engine.map(iter([chunks[0][:1]] * 8)))  # workers start, and import what they need
        start, wall = _tree_s() - began[0], time.monotonic() - began[1]
        over = []
        for _ in range(ROUNDS):
            used = Used()
            before = _tree_s()
            for done in engine.map(iter(chunks)):
                assert done.result is not None
            over.append((_tree_s() - before - used.read()[1]) / len(found))
        engine.close()
        each = statistics.median(over) * 1000
        print(
            f"{name:9} {each:.2f} ms a file ({each / 30:.1%} of 30 ms); start {start:.1f} s, {wall:.1f} s by the clock"
        )


class Kept(Pool):
    """A pool whose processes stay between two questions, so that their start is not measured with each."""

    def map(self, chunks: Iterator[Chunk]) -> Iterator[Done]:
        if not hasattr(self, "_kept"):
            self._kept = self._executor(self.workers)
        yield from self._until_broken(self._kept, chunks, [])

    def close(self) -> None:
        self._kept.shutdown()


def _ray() -> Engine:
    from stepscope.fleet.engines.on_ray import Ray

    return Ray(None, 2, noted_chunk)


def _dask() -> Engine:
    from stepscope.fleet.engines.on_dask import Dask

    return Dask(None, 2, noted_chunk)


MAKERS: dict[str, Callable[[], Engine]] = {"pool": lambda: Kept(2, noted_chunk), "ray": _ray, "dask": _dask}


def _tree_s() -> float:
    """The processor seconds of this process and of all below it, those that have ended too."""
    total = 0.0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


class Nothing(Inline):
    """An engine that reads no file."""

    def map(self, chunks: Iterator[Chunk]) -> Iterator[Done]:
        for chunk in chunks:
            yield Done(chunk, Result(failed_rows(chunk[0], "not-read", ""), len(chunk), 0))


def listing(folder: Path, num: int) -> None:
    def listed(_: str, __: Callable[[str], None]) -> Iterator[Listing]:
        for number in range(num):
            name = f"/cluster/runs/{number // 1000}/{number}"
            yield Listing(name, (Listed(f"{name}/train.log", 5 << 30 if number == 7 else 6000, LONG_AGO, "1-2"),))

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    scan(["listed"], Store(folder / "listed"), Nothing(), list_place=listed)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"listing   {num:,} files: {grown:.0f} MB more memory, {time.process_time() - began:.0f} s of processor time")


def rescan(folder: Path, num: int) -> None:
    logs, store = folder / "unchanged", Store(folder / "rescan")
    text = (folder / "logs" / "slurm-0.out").read_bytes()
    for number in range(num):
        below = logs / str(number // 1000)
        if number % 1000 == 0:
            below.mkdir(parents=True)
        path = below / f"slurm-{number}.out"
        path.write_bytes(text)
        os.utime(path, (LONG_AGO, LONG_AGO))
    found = [one for listing in listings(str(logs), print) for one in candidates(listing)]
    one = explain_candidate(found[0])
    with store.opened():
        for start in range(0, num, 1000):
            store.write(_copied(one, found[start : start + 1000]))
    began, clocked = time.process_time(), time.monotonic()
    scanned = scan([str(logs)], store, Inline())
    assert (scanned.progress.num_known, scanned.progress.num_done) == (num, 0)
    print(
        f"rescan    {num:,} unchanged runs: {time.process_time() - began:.1f} s of processor time, "
        f"{time.monotonic() - clocked:.1f} s by the clock"
    )


def _copied(one: Rows, found: list[Candidate]) -> Rows:
    """The rows of one run, as if each of these candidates were it."""
    now = clock.now()
    copies: Rows = {table: [] for table in one}
    for candidate in found:
        own = {"candidate": candidate.key, "digest": candidate.digest, "scanned_at": now, "read_id": candidate.key}
        for table, kept in one.items():
            extra = own | {"uri": candidate.files[0].uri} if table == "runs" else {"read_id": candidate.key}
            copies[table] += [row | extra for row in kept]
    return copies


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="rate, scaling, engines, listing, rescan")
    parser.add_argument("--files", type=int, default=1024)
    parser.add_argument("--listed", type=int, default=1_000_000)
    parser.add_argument("--unchanged", type=int, default=100_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ[USED] = str(folder / "used")
        logs = folder / "logs"
        logs.mkdir()
        found = make_logs(logs, args.files)
        size_kb = sum(one.size for one in found) / len(found) / 1000
        print(f"{args.files} logs of {size_kb:.1f} kB; load {os.getloadavg()[0]:.0f}")
        parts: dict[str, Callable[[], None]] = {
            "listing": lambda: listing(folder, args.listed),
            "rate": lambda: rate(found),
            "scaling": lambda: scaling(folder, logs, args.files),
            "engines": lambda: engines(found),
            "rescan": lambda: rescan(folder, args.unchanged),
        }
        for part in args.parts or parts:
            parts[part]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
