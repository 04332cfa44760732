"""Other ways to get at the numbers of a log, each as somebody would write it who needs them once.

Run as a program it times one of them in a process of its own: `python bench/readers.py NAME KIND LOG`.
"""

from __future__ import annotations

import importlib
import json
import mmap
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# What each kind of log is searched for: a word to count, and the numbers of a step.
WORDS = {"nanogpt": "iter", "tqdm": "it/s", "megatron": "iteration", "foreign": "iter"}
PATTERNS = {
    "nanogpt": r"iter (?P<step>\d+): loss (?P<loss>[\d.]+), time (?P<ms>[\d.]+)ms, mfu (?P<mfu>[\d.-]+)%",
    "tqdm": r"(?P<step>\d+)/(?P<total>\d+) \[(?P<elapsed>[\d:]+)<[\d:?]+, +(?P<rate>[\d.]+)it/s\]",
    "megatron": r"\[(?P<stamp>[\d-]+ [\d:.]+)\] iteration +(?P<step>\d+)/ *(?P<total>\d+) \|.*?"
    r"elapsed time per iteration \(ms\): (?P<ms>[\d.]+) \|.*?lm loss: (?P<loss>[\dE.+-]+)",
}
PATTERNS["foreign"] = PATTERNS["nanogpt"]
_TEXTS = {"stamp", "elapsed"}


def _stepscope(_: str) -> Callable[[Path], Any]:
    from stepscope.reading.reader import read

    return lambda path: read(str(path))


def _re(kind: str) -> Callable[[Path], Any]:
    pattern = re.compile(PATTERNS[kind].encode())

    def convert(name: str, text: bytes) -> Any:
        if name == "elapsed":
            seconds = 0
            for part in text.split(b":"):
                seconds = 60 * seconds + int(part)
            return seconds
        return text.decode() if name == "stamp" else int(text) if text.isdigit() else float(text)

    def run(path: Path) -> Any:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            names = list(pattern.groupindex)
            return [tuple(map(convert, names, match.groups())) for match in pattern.finditer(data)]

    return run


def _polars(kind: str) -> Callable[[Path], Any]:
    import polars as pl

    def run(path: Path) -> Any:
        end = "\r" if kind == "tqdm" else "\n"
        lines = pl.read_csv(
            path, has_header=False, separator="\x01", quote_char=None, eol_char=end, new_columns=["line"]
        )
        rows = lines.select(pl.col("line").str.extract_groups(PATTERNS[kind])).unnest("line").drop_nulls()
        numbers = [name for name in rows.columns if name not in _TEXTS]
        return rows.with_columns(pl.col(name).cast(pl.Float64) for name in numbers)

    return run


def _pyarrow(kind: str) -> Callable[[Path], Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    def run(path: Path) -> Any:
        # One string column cannot hold more than 2 GB, so a part of the file at a time.
        with path.open(encoding="utf-8", newline="\r" if kind == "tqdm" else "\n") as file:
            while lines := file.readlines(1 << 26):
                found = pc.extract_regex(pa.array(lines), PATTERNS[kind]).drop_null()
                for field in found.type:
                    column = pc.struct_field(found, field.name)
                    assert field.name in _TEXTS or pc.cast(column, pa.float64())

    return run


def _counted(*command: str) -> Callable[[str], Callable[[Path], Any]]:
    return lambda kind: lambda path: subprocess.run([*command, WORDS[kind], str(path)], check=True, capture_output=True)


def _runmedic(_: str) -> Callable[[Path], Any]:
    command = shutil.which("runmedic", path=str(Path(sys.executable).parent)) or "runmedic"
    return lambda path: subprocess.run([command, "diagnose", str(path)], check=False, capture_output=True)


READERS: dict[str, Callable[[str], Callable[[Path], Any]]] = {
    "stepscope.read": _stepscope,
    "rg -c": _counted("rg", "-c"),
    "grep -c": _counted("grep", "-c"),
    "re over mmap": _re,
    "polars": _polars,
    "pyarrow": _pyarrow,
    "runmedic": _runmedic,
}
_NEEDS = {"rg -c": "rg", "grep -c": "grep", "runmedic": "runmedic"}


def missing(name: str) -> str | None:
    """Why a rival cannot take part; None when it can."""
    if name in {"polars", "pyarrow"}:
        try:
            importlib.import_module(name)
        except ImportError:
            return f"pip install {name}"
    command = _NEEDS.get(name)
    beside = Path(sys.executable).parent / (command or "")
    return f"{command} is not installed" if command and not shutil.which(command) and not beside.exists() else None


def main() -> int:
    """Time one rival on one log, warm: it has read a small one before."""
    name, kind, log = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    run = READERS[name](kind)
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.log"
        with log.open("rb") as file:
            small.write_bytes(file.read(1 << 20).rpartition(b"\n")[0])
        run(small)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    result = run(log)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN if name in _NEEDS else resource.RUSAGE_SELF).ru_maxrss
    if name == "stepscope.read":
        from stepscope.reading.bulk import helpers

        # What a helper has beyond what it shares with the reader; each of them counted as the largest.
        own = max(0, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - before)
        peak += own * min(helpers._num_cores(), helpers._MAX_HELPERS)
    told: dict[str, float] = {"seconds": seconds, "peak_mb": peak / 1024}
    if name == "stepscope.read":
        steps = result.steps
        columns = {field: getattr(steps, field) for field in ("kept_step", "kept_dur", "spans", "kept_line", "t_ns")}
        told["rows"], told["events"] = len(result), len(result.events)
        told["bytes_per_row"] = sum(_size(column) for column in columns.values()) / max(1, len(result))
        metrics = sum(_size(column) for column in (steps.kept_loss, steps.kept_mfu_pct, steps.data_s, steps.work))
        told["columns_mb"] = told["bytes_per_row"] * len(result) / 2**20 + metrics / 2**20
    print(json.dumps(told))
    return 0


def _size(column: Any) -> int:
    """The bytes of a column; one value that stands for all rows takes none."""
    if hasattr(column, "numbers"):
        column = column.numbers
    if hasattr(column, "starts"):
        return 3 * 40 * len(column.starts)  # three whole numbers a piece, each with its place in a tuple
    return 0 if column is None or (column.ndim and column.strides[0] == 0) else int(column.nbytes)


if __name__ == "__main__":
    sys.exit(main())
