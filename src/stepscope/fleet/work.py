"""A chunk of candidates → rows: the one function that every engine runs, wherever its worker is."""

from __future__ import annotations

import datetime as dt
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from stepscope.core import clock
from stepscope.core.errors import InputError, StepscopeError
from stepscope.core.redact import redact
from stepscope.fleet import rows
from stepscope.fleet.at_hand import at_hand
from stepscope.fleet.header_facts import header_facts
from stepscope.fleet.tables import TABLES, Row, Rows
from stepscope.i18n import Language
from stepscope.i18n.plain import error_text
from stepscope.ledger.thinning import thinned
from stepscope.reading.folder_runs import FoundRun, runs_of
from stepscope.reading.reader import read_sources
from stepscope.source.candidates import Candidate
from stepscope.source.files import Source
from stepscope.source.listing import Listed

# An archive may hold a thousand times its size, and a log may be made to be slow to read: one file is not a fleet.
_MOST_EXPANDED = 16 << 30
_MOST_SECONDS = 1800.0  # of the processor's: a busy machine makes no log a slow one


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
        with at_hand(candidate) as (here, listed):
            for found in runs_of(here):
                files = tuple(listed[source.name] for source in found.sources if source.name in listed)
                yield _explained(files or candidate.files, found, now)
    except Exception as problem:  # a file that breaks us must not take the fleet with it
        yield _failed(candidate.files, *_reason(problem)), {}


def _explained(files: tuple[Listed, ...], found: FoundRun, now: dt.datetime) -> tuple[Row, Rows]:
    try:
        # Nothing keeps the rows as they were read: of a very long log they are most of what a worker needs.
        run = thinned(read_sources(found.sources, heads=found.heads, progress=_limit(files)))
        row, others = rows.of_run(run, files, now)
        return row | header_facts(_head(found.sources[0]), files[0].uri), others
    except Exception as problem:  # the same: a row with its reason
        return _failed(files, *_reason(problem)), {}


def _head(source: Source) -> bytes:
    return b"" if source.is_mlflow else next(source.chunks(), b"")


def _limit(files: tuple[Listed, ...]) -> Callable[[int], None]:
    most = max(_MOST_EXPANDED, sum(file.size for file in files))
    ends = time.thread_time() + _MOST_SECONDS

    def check(num_bytes: int) -> None:
        if num_bytes > most:
            raise InputError("too-large-inside", place=files[0].uri, size=f"{most >> 20} MiB")
        if time.thread_time() > ends:
            raise InputError("fleet-too-slow", place=files[0].uri, minutes=int(_MOST_SECONDS // 60))

    return check


def _reason(problem: Exception) -> tuple[str, str]:
    if isinstance(problem, StepscopeError):
        return problem.key, redact(error_text(problem, Language.load("en"))[0])
    return type(problem).__name__, redact(str(problem))


def _failed(files: tuple[Listed, ...], error: str, text: str) -> Row:
    return rows.about_files(files) | {"status": "failed", "error": error, "error_text": text}
