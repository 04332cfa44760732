"""A chunk of candidates → rows: the one function that every engine runs, wherever its worker is."""

from __future__ import annotations

import datetime as dt
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from stepscope.core import clock
from stepscope.core.errors import InputError, StepscopeError
from stepscope.core.redact import redact
from stepscope.fleet import rows
from stepscope.fleet.candidates import Candidate
from stepscope.fleet.listing import Listed
from stepscope.fleet.tables import TABLES, Row, Rows
from stepscope.i18n import Language
from stepscope.i18n.plain import error_text
from stepscope.reading.files import Head, split_runs
from stepscope.reading.heads import read_heads
from stepscope.reading.reader import read_sources
from stepscope.source.files import Source
from stepscope.source.mlflow import last_written
from stepscope.source.recording import LOG

# An archive may hold a thousand times its size, and a log may be made to be slow to read: one file is not a fleet.
_MOST_EXPANDED = 16 << 30
_MOST_SECONDS = 1800.0


class Result(NamedTuple):
    """The rows of a chunk, and how many candidates and bytes they are of."""

    rows: Rows
    num: int
    num_bytes: int


def explain_chunk(chunk: Sequence[Candidate]) -> Result:
    """Read and explain the runs of some candidates."""
    found: Rows = {table: [] for table in TABLES}
    for candidate in chunk:
        for table, own in explain_candidate(candidate).items():
            found[table] += own
    return Result(found, len(chunk), sum(candidate.size for candidate in chunk))


def explain_candidate(candidate: Candidate) -> Rows:
    """The rows of one candidate. Nothing that is wrong with a file gets out of here but as a row."""
    found: Rows = {table: [] for table in TABLES}
    scanned_at = clock.now()
    for read, others in _readings(candidate, scanned_at):
        row = read | _identity(candidate, read, scanned_at)
        found["runs"].append(row)
        for table, own in others.items():
            found[table] += [{"read_id": row["read_id"], **each} for each in own]
    return found


def failed_rows(candidate: Candidate, error: str, text: str) -> Rows:
    """The row of a candidate that could not be explained where it was tried."""
    found: Rows = {table: [] for table in TABLES}
    row = _failed(candidate.files, error, text)
    found["runs"].append(row | _identity(candidate, row, clock.now()))
    return found


def _identity(candidate: Candidate, row: Row, scanned_at: dt.datetime) -> Row:
    text = f"{row['uri']}\0{candidate.digest}\0{scanned_at.timestamp()}"
    number = int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1
    return {"candidate": candidate.key, "digest": candidate.digest, "scanned_at": scanned_at, "read_id": number}


def _readings(candidate: Candidate, now: dt.datetime) -> Iterator[tuple[Row, Rows]]:
    try:
        by_name = {file.uri: file for file in candidate.files}
        for own in split(sources_of(candidate)):
            files = tuple(by_name[source.name] for source, _ in own if source.name in by_name) or candidate.files
            yield _explained(files, own, now)
    except Exception as problem:  # a file that breaks us must not take the fleet with it
        yield _failed(candidate.files, *_reason(problem)), {}


def _explained(files: tuple[Listed, ...], own: list[tuple[Source, Head | None]], now: dt.datetime) -> tuple[Row, Rows]:
    heads = [head for _, head in own if head is not None]
    try:
        sources = [source for source, _ in own]
        run = read_sources(sources, heads=heads if len(heads) == len(own) else None, progress=_limit(files))
        return rows.of_run(run, files, now)
    except Exception as problem:  # the same: a row with its reason
        return _failed(files, *_reason(problem)), {}


def split(
    sources: list[Source], look: Callable[[list[Source]], list[Head]] = read_heads
) -> Iterator[list[tuple[Source, Head | None]]]:
    """The sources of each run of a candidate, those of one that nobody can read last; `look` reads their heads."""
    if len(sources) == 1:
        yield [(sources[0], None)]
        return
    heads = look(sources)
    runs = split_runs(heads)
    claimed = {head.source.name for run in runs for head in run}
    for run in _without_side_tables(runs):
        yield [(head.source, head) for head in run]
    # A file that holds no run is worth a row where it could have been one: alone, or called like a log.
    for head in heads:
        if head.source.name not in claimed and (not runs or _is_called_log(head.source.name)):
            yield [(head.source, None)]


def _without_side_tables(runs: list[list[Head]]) -> list[list[Head]]:
    """The runs without those that are another one's figures again in another format: a table next to its log."""
    kept: list[list[Head]] = []
    for run in sorted(runs, key=lambda run: -sum(head.source.size or 0 for head in run)):
        if not any(_is_same_run(run[0], other[0]) for other in kept):
            kept.append(run)
    return kept


def _is_same_run(one: Head, other: Head) -> bool:
    """Whether files of two formats begin and end at the same steps or moments."""
    if one.format == other.format or one.last_step is None or other.last_step is None:
        return False
    stems = {Path(head.source.name).name.partition(".")[0] for head in (one, other)}
    spacing = max((head.steps[1] - head.steps[0] for head in (one, other) if len(head.rows) > 1), default=1)
    is_level = abs(one.last_step - other.last_step) <= 2 * max(1, spacing) and one.last_step > 0
    return is_level or len(stems) == 1


def _is_called_log(name: str) -> bool:
    return any(part in Path(name).name.lower() for part in ("log", "out", "train"))


def sources_of(candidate: Candidate) -> list[Source]:
    """What to read of a candidate."""
    pairs = [(file, Path(file.uri)) for file in candidate.files]
    if candidate.kind == "mlflow":
        folder = Path(candidate.folder)
        return [Source(name=candidate.folder, path=folder, mtime=last_written(folder), is_mlflow=True)]
    if candidate.kind == "recorded":
        file, path = next(pair for pair in pairs if pair[1].name == LOG)
        return [Source(name=file.uri, path=path, mtime=file.mtime, is_recorded=True)]
    return [Source(name=file.uri, path=path, mtime=file.mtime, size=file.size) for file, path in pairs]


def _limit(files: tuple[Listed, ...]) -> Callable[[int], None]:
    most = max(_MOST_EXPANDED, sum(file.size for file in files))
    ends = time.monotonic() + _MOST_SECONDS

    def check(num_bytes: int) -> None:
        if num_bytes > most:
            raise InputError("too-large-inside", place=files[0].uri, size=f"{most >> 20} MiB")
        if time.monotonic() > ends:
            raise InputError("fleet-too-slow", place=files[0].uri, minutes=int(_MOST_SECONDS // 60))

    return check


def _reason(problem: Exception) -> tuple[str, str]:
    if isinstance(problem, StepscopeError):
        return problem.key, redact(error_text(problem, Language.load("en"))[0])
    return type(problem).__name__, redact(str(problem))


def _failed(files: tuple[Listed, ...], error: str, text: str) -> Row:
    return rows.about_files(files) | {"status": "failed", "error": error, "error_text": text}
