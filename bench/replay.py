"""Complete logs as a clock saw them: what a run's log would have said at any moment, and how long was really left.

The truth is the log's own: its timestamps where it has them, else its printed times with unprinted steps at their
neighbours' level, and what it says its evaluations and saves took. It shares the reader with Stepscope, and nothing of
the ledger or the forecast.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stepscope.core.errors import StepscopeError
from stepscope.core.units import NS
from stepscope.reading.log_reader import LogReader
from stepscope.run.intervals import with_settings
from stepscope.run.model import NO_TIME, Floats, Ints, Run
from stepscope.source.lines import LineSplitter

CUTS = (0.01, 0.02, 0.05, 0.10, 0.25, 0.50, 0.75)
_LEAST_ROWS = 40
_LEAST_SECONDS = 5.0
# A log that ends early, or tells no total, is a complete log up to its last step: the total is then said with a flag.
_LEAST_ROWS_CUT = 150
_COMPLETE = 0.98
_MAX_BYTES = 40_000_000
_SIDE = 5
# Lines with fewer digits are not told apart from those of another run.
_DIGIT, _LEAST_DIGITS = re.compile(rb"\d"), 8
_ETA = re.compile(r"\b(?:eta|remaining(?:_time)?)\W{1,4}((?:\d+ days?,? )?\d+:\d\d(?::\d\d)?|\d+h ?\d+m ?\d*s?)", re.I)


class Case(NamedTuple):
    """One complete run. `seconds` is the moment of each row, counted from the start of the first."""

    path: Path
    family: str
    text: list[str]
    run: Run
    total: int
    stated: bool  # whether the total has to be said with --max-steps
    step: Ints
    line: Ints
    seconds: Floats
    stop_s: Floats  # of the seconds up to each row since the last, those of an evaluation or a save
    stop_num: Ints

    @property
    def first(self) -> int:
        """The step before the first one timed."""
        return int(self.step[0]) - 1

    def row_at(self, share: float) -> int:
        """The last row printed before `share` of the steps was done."""
        target = self.first + share * (self.total - self.first)
        beyond = np.flatnonzero(self.step > target)
        return int(beyond[0]) - 1 if len(beyond) else len(self.step) - 1

    def left(self, row: int) -> float:
        """Seconds that were really left after a row."""
        return float(self.seconds[-1] - self.seconds[row])

    def prefixes(self, rows: list[int]) -> Iterator[Run | None]:
        """The log as it was when each of the rows (in rising order) had just been printed, read in one go.

        None where that is too little to be known for a training log.
        """
        reader = LogReader(paths=[str(self.path)])
        reader.begin_file()
        begin = 0
        for row in rows:
            end = int(self.line[row])
            reader.feed("\n".join([*self.text[begin:end], ""]).encode("utf-8", errors="replace"))
            begin = end
            try:
                yield reader.ended_here(with_half_line=True).run()
            except StepscopeError:
                yield None


def program(root: Path, path: Path) -> str:
    """The program that wrote a log: the folder below `root` that it lies in, one for each repository or program."""
    parts = path.relative_to(root).parts if path != root else ()
    return parts[0] if len(parts) > 1 else root.name


def is_kept_apart(name: str) -> bool:
    """Whether a program's runs are never used to learn from: half of all programs, by the hash of their name."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def paths_below(folders: list[Path]) -> Iterator[tuple[Path, Path]]:
    """Every file below the folders, with its folder, in the order of their paths."""
    for folder in folders:
        files = [folder] if folder.is_file() else sorted(path for path in folder.rglob("*") if path.is_file())
        yield from ((folder, path) for path in files)


def without_repeats(files: Iterable[tuple[Path, Path]]) -> list[tuple[Path, Path]]:
    """The files, each run once: the same log lies in several places, and must not be learned from and scored.

    Of two copies the one that is kept apart stays. Copies have the same lines at a quarter, half and three quarters of
    their lines with figures, whatever stands around them.
    """
    found: dict[tuple[bytes, ...], tuple[Path, Path]] = {}
    for root, path in files:
        blob = path.read_bytes() if path.stat().st_size <= _MAX_BYTES else b""
        lines = [line for line in re.split(rb"[\r\n]+", blob) if len(_DIGIT.findall(line)) >= _LEAST_DIGITS]
        own = tuple(lines[len(lines) * quarter // 4] for quarter in (1, 2, 3)) if lines else (str(path).encode(),)
        if own not in found or (is_kept_apart(program(root, path)) and not is_kept_apart(program(*found[own]))):
            found[own] = (root, path)
    return sorted(found.values(), key=lambda item: item[1])


def load(path: Path) -> Case | None:
    """A log as a case; None when it is no complete log of enough timed steps."""
    if path.suffix in {".py", ".md", ".tsv", ".npz"} or path.stat().st_size > _MAX_BYTES:
        return None
    blob = path.read_bytes()
    if b"\0" in blob[:4096] and not blob.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    splitter = LineSplitter()
    text = [*splitter.feed(blob), *splitter.close()]
    try:
        run = with_settings(read_lines(text, str(path)))
    except StepscopeError:
        return None
    if len(run) < _LEAST_ROWS or not (run.steps.span > 0).any() or len(run.segments) != 1:
        return None
    last, total = int(run.steps.step[-1]), run.settings.count("max_steps")
    if (total is None or last < _COMPLETE * total) and len(run) < _LEAST_ROWS_CUT:
        return None
    rows = np.concatenate([[True], np.diff(run.steps.step) > 0])
    if not rows.all():
        return None
    seconds, stop_s, stop_num = _timeline(run)
    if seconds[-1] < _LEAST_SECONDS or not np.isfinite(seconds).all():
        return None
    return Case(
        path=path,
        family=run.format.name,
        text=text,
        run=run,
        total=last,
        stated=total != last,
        step=run.steps.step,
        line=run.steps.line,
        seconds=seconds,
        stop_s=stop_s,
        stop_num=stop_num,
    )


def read_lines(text: list[str], name: str) -> Run:
    """Read lines as if they were a file."""
    reader = LogReader(paths=[name])
    reader.begin_file()
    reader.feed("\n".join([*text, ""]).encode("utf-8", errors="replace"))
    reader.end_file()
    return reader.run()


def _timeline(run: Run) -> tuple[Floats, Floats, Ints]:
    """Per row: its moment, and how much of the time since the row before was an evaluation or a save."""
    steps = run.steps
    num_stops = np.zeros(len(run), dtype=np.int64)
    outside_s = np.zeros(len(run))  # what the log says of stops that its step times leave out
    for stop in run.stops:
        row = stop.row if stop.row is not None else stop.next_row
        if stop.printed and row < len(run):
            num_stops[row] += 1
            outside_s[row] += stop.outside_s
    level = _local_level(run, num_stops == 0)
    since = np.concatenate([[max(1, int(steps.span[0]))], np.diff(steps.step)]).astype(np.float64)
    stamped = len(steps.t_ns) > 0 and bool((steps.t_ns != NO_TIME).all()) and bool((np.diff(steps.t_ns) >= 0).all())
    if stamped:
        took = np.concatenate([[float(steps.seconds[0])], np.diff(steps.t_ns) / NS])
    else:
        # A clock that runs on tells at the next tick what it did not before.
        runs_on = run.clock.is_running & (steps.span == 0)
        silent = np.where(runs_on, 0, np.maximum(since - steps.span, 0))
        took = _between_stamps(run, steps.seconds + silent * level + outside_s, num_stops > 0)
    stop_s = np.where(num_stops > 0, np.maximum(took - since * level, 0.0), 0.0)
    return np.cumsum(took), stop_s, num_stops


def _between_stamps(run: Run, took: Floats, stops: np.ndarray) -> Floats:
    """Where some rows have a stamp, the seconds between two of them; what the printed times leave is a stop's."""
    t_ns = run.steps.t_ns
    marks = np.flatnonzero(t_ns != NO_TIME) if len(t_ns) else np.zeros(0, dtype=np.int64)
    if len(marks) < 2 or (np.diff(t_ns[marks]) < 0).any():
        return took
    took = took.copy()
    for first, last in zip(marks[:-1].tolist(), marks[1:].tolist(), strict=True):
        rows = np.arange(first + 1, last + 1)
        left = float(t_ns[last] - t_ns[first]) / NS - float(took[rows].sum())
        inside = rows[stops[rows]]
        if left > 0 and len(inside):
            took[inside] += left / len(inside)
    return took


def _local_level(run: Run, usable: np.ndarray) -> Floats:
    """The mean of the nearest rows that hold no evaluation, no row counting for more than three.

    Printed rows are a sample of all steps: a median would leave out what a few slow ones cost.
    """
    seconds = run.steps.dur_ns / NS
    rows = np.flatnonzero(usable & (run.steps.span > 0))
    if not len(rows):
        return np.full(len(seconds), float(np.median(seconds)))
    values = seconds[rows]
    width = min(2 * _SIDE + 1, len(values))
    windows = np.lib.stride_tricks.sliding_window_view(values, width)
    means = np.minimum(windows, 3 * np.median(windows, axis=1, keepdims=True)).mean(axis=1)
    near = np.clip(np.searchsorted(rows, np.arange(len(seconds))) - width // 2, 0, len(means) - 1)
    return np.asarray(means[near], dtype=np.float64)


def printed_eta(case: Case, row: int) -> float | None:
    """What the trainer itself said was left, on the line of a row."""
    found = _ETA.search(case.text[int(case.line[row]) - 1])
    return _duration(found.group(1)) if found else None


def _duration(text: str) -> float | None:
    days, _, clock = text.rpartition("day")
    parts = re.findall(r"\d+", clock)
    total = 0.0
    for part in parts:
        total = 60 * total + float(part)
    if "h" in clock and len(parts) == 2:
        total *= 60
    elif ":" in clock and len(parts) == 2:
        pass  # minutes and seconds
    return total + 86400 * float(re.findall(r"\d+", days)[0]) if days else total
