"""Complete runs at the moments at which they are scored: the log read up to there, its ledger, what rivals showed.

Reading a log fifteen times over takes far longer than forecasting from it. So what does not depend on the forecast is
kept in a cache, if one is named: it holds as long as the log and the code that reads and sorts it are the same.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from replay import CUTS, Case, is_kept_apart, load, paths_below, printed_eta, program, without_repeats
from rivals import replay
from stepscope.forecast.previous import find_previous
from stepscope.ledger.attribute import attribute
from stepscope.ledger.phases import Ledger
from stepscope.reading.reader import read
from stepscope.run.intervals import with_settings
from stepscope.run.model import Run

_SAWTOOTH_ROWS = 6
# What a ledger does not depend on.
_BESIDE = ("forecast", "report", "cli", "i18n", "advice", "web", "trainer", "watch.py", "live")
_BENCH = ("replay.py", "rivals.py", "moments.py")


class Moment(NamedTuple):
    """A run when a row had just been printed; `run` is None where that is too little to be known for a training log."""

    cut: float | None  # None for a row that is there for the sawtooth only
    at_s: float
    left_s: float
    run: Run | None
    ledger: Ledger | None
    shown: dict[str, float | None]  # what the rivals said was left
    printed: float | None  # what the trainer itself said was left
    previous: tuple[Run, ...]  # runs of the same program found beside it


class Replayed(NamedTuple):
    """One complete run at all its moments."""

    path: str
    program: str
    family: str
    total: int
    wall_s: float
    moments: tuple[Moment, ...]
    sawtooth: tuple[Moment, ...]  # of the evaluation interval in the middle of the run


def find_replayed(
    folders: list[Path], *, cache: Path | None, kept_apart: bool | None, rivals: bool = True
) -> Iterator[Replayed]:
    """Every complete run below the folders; of one half of the programs only where `kept_apart` says which.

    `rivals` says whether the others' estimates are wanted: replaying them takes longest.
    """
    for root, path in without_repeats(paths_below(folders)):
        if kept_apart is not None and is_kept_apart(program(root, path)) != kept_apart:
            continue
        found = _cached(root, path, cache, rivals) if cache else _replay(root, path, rivals)
        if found is not None:
            yield found


def _cached(root: Path, path: Path, cache: Path, rivals: bool) -> Replayed | None:
    # What was kept with the others' estimates serves those who do not want them, too.
    places = [_place(path, cache, told) for told in ((True,) if rivals else (True, False))]
    for kept in places:
        if kept.exists():
            found: Replayed | None = pickle.loads(kept.read_bytes())
            return found
    found, kept = _replay(root, path, rivals), places[-1]
    cache.mkdir(parents=True, exist_ok=True)
    part = kept.with_suffix(f".{os.getpid()}")
    part.write_bytes(pickle.dumps(found, protocol=pickle.HIGHEST_PROTOCOL))
    part.replace(kept)
    return found


def _place(path: Path, cache: Path, rivals: bool) -> Path:
    stat = path.stat()
    key = f"{path}|{stat.st_size}|{stat.st_mtime_ns}|{rivals}|{_code()}"
    return cache / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.pickle"


def _code() -> str:
    """A hash of the code that reads and sorts."""
    if not _CODE:
        import stepscope

        digest = hashlib.sha256()
        source, bench = Path(stepscope.__file__).parent, Path(__file__).parent
        files = [path for path in source.rglob("*.py") if path.relative_to(source).parts[0] not in _BESIDE]
        for path in sorted([*files, *(bench / name for name in _BENCH)]):
            digest.update(path.read_bytes())
        _CODE.append(digest.hexdigest())
    return _CODE[0]


_CODE: list[str] = []
_read_once = functools.lru_cache(maxsize=16)(read)


def _replay(root: Path, path: Path, rivals: bool) -> Replayed | None:
    case = load(path)
    if case is None:
        return None
    rows = {cut: case.row_at(cut) for cut in CUTS}
    saw_rows = one_interval(case)
    wanted = sorted({row for row in (*rows.values(), *saw_rows) if row >= 0}) or [0]
    shown = replay(case, wanted) if rivals else {}
    at = {row: _moment(case, row, run, shown) for row, run in zip(wanted, case.prefixes(wanted), strict=True)}
    return Replayed(
        path=str(path),
        program=program(root, path),
        family=case.family,
        total=case.total,
        wall_s=float(case.seconds[-1]),
        moments=tuple(at[row]._replace(cut=cut) for cut, row in rows.items() if row >= 0 and at[row].left_s > 0),
        sawtooth=tuple(at[row] for row in saw_rows),
    )


def _moment(case: Case, row: int, run: Run | None, shown: dict[str, dict[int, float | None]]) -> Moment:
    ledger: Ledger | None = None
    previous: list[Run] = []
    if run is not None:
        run = with_settings(run, flags={"max_steps": case.total} if case.stated else {})
        ledger = attribute(run)
        previous = find_previous(run, reads=_read_once)
    return Moment(
        cut=None,
        at_s=float(case.seconds[row]),
        left_s=case.left(row),
        run=run,
        ledger=ledger,
        shown={name: told.get(row) for name, told in shown.items()},
        printed=printed_eta(case, row),
        previous=tuple(previous),
    )


def one_interval(case: Case) -> list[int]:
    """Rows of the evaluation interval in the middle of the run: after one evaluation, up to just before the next."""
    stops = np.flatnonzero(case.stop_num > 0)
    middle = case.row_at(0.5)
    after = stops[stops > middle]
    before = stops[stops <= middle]
    if not len(after) or not len(before) or after[0] - before[-1] < 4:
        return []
    rows = np.linspace(before[-1], after[0] - 1, min(_SAWTOOTH_ROWS, int(after[0] - before[-1])))
    return sorted({int(row) for row in rows})
