"""Find, leave out what is known, explain the rest, keep it: from places to a store."""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import BinaryIO, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from stepscope.core import clock
from stepscope.fleet.bucket_listing import bucket_listings
from stepscope.fleet.buckets import is_bucket
from stepscope.fleet.engines import Chunk, Done, Engine
from stepscope.fleet.sources import remember_sources
from stepscope.fleet.store import Store
from stepscope.fleet.work import failed_rows
from stepscope.source.candidates import Candidate, candidates
from stepscope.source.listing import Listing, listings

# Candidates of a chunk: enough that handing it over does not show, few enough to lose.
CHUNK = 64
# How often a log is tried with nothing else at work before it is said to kill its worker.
_LAST_TRIES = 2
# The last chunks are handed over in eighths: nobody waits long for the last of them.
_LAST, _PARTS = 8, 8
# A chunk ends at these many bytes, too.
_MOST_BYTES = 64 << 20


class Progress(NamedTuple):
    """How far a scan is."""

    num_found: int
    num_known: int  # their rows are there already
    num_done: int
    num_bytes: int
    seconds: float
    is_listing: bool

    @property
    def num_left(self) -> int:
        """Candidates still to be explained."""
        return self.num_found - self.num_known - self.num_done

    @property
    def per_s(self) -> float | None:
        """Candidates a second; None before the first."""
        return self.num_done / self.seconds if self.num_done and self.seconds > 0 else None

    @property
    def left_s(self) -> float | None:
        """Seconds left at this rate; None while it is not known how many there are."""
        return self.num_left / self.per_s if self.per_s and not self.is_listing else None


class Scanned(NamedTuple):
    """What a scan did."""

    progress: Progress
    num_runs: int  # that were read now
    num_failed: int
    unreadable: tuple[str, ...]  # folders that could not be listed


def scan(
    places: Sequence[str],
    store: Store,
    engine: Engine,
    *,
    show: Callable[[Progress], None] = lambda _: None,
    chunk_size: int = CHUNK,
    list_place: Callable[[str, Callable[[str], None]], Iterator[Listing]] | None = None,
) -> Scanned:
    """Explain what is below the places and not in the store yet, and add it."""
    unreadable: list[str] = []
    num_runs = num_failed = 0
    with store.opened(), tempfile.TemporaryFile() as spool:
        todo = _Todo(cast(BinaryIO, spool), store.finished(clock.now()), show, chunk_size)
        lister = list_place or list_any
        for place in dict.fromkeys(places):
            todo.add(one for listing in lister(place, unreadable.append) for one in candidates(listing))
        remember_sources(store.folder, places)
        start = time.monotonic()
        num_done = num_bytes = 0
        for done in _rounds(engine, todo.chunks()):
            rows = failed_rows(done.chunk[0], "worker-died", "") if done.result is None else done.result.rows
            store.write(rows)
            failed = sum(row["status"] == "failed" for row in rows["runs"])
            num_failed, num_runs = num_failed + failed, num_runs + len(rows["runs"]) - failed
            num_done += len(done.chunk)
            num_bytes += sum(one.size for one in done.chunk)
            show(Progress(todo.num_found, todo.num_known, num_done, num_bytes, time.monotonic() - start, False))
        store.compact()
        progress = Progress(todo.num_found, todo.num_known, num_done, num_bytes, time.monotonic() - start, False)
    return Scanned(progress, num_runs, num_failed, tuple(unreadable))


def list_any(place: str, note: Callable[[str], None]) -> Iterator[Listing]:
    """The folders of a place, on this machine or in a bucket."""
    return bucket_listings(place, note) if is_bucket(place) else listings(place, note)


def is_known(known: npt.NDArray[np.int64], candidate: Candidate) -> bool:
    """Whether a candidate's digest is among those of a store, sorted."""
    at = int(np.searchsorted(known, candidate.digest))
    return at < len(known) and int(known[at]) == candidate.digest


def _rounds(engine: Engine, chunks: Iterator[Chunk]) -> Iterator[Done]:
    """The results of all chunks; of what a worker died of, every log by itself."""
    lost = yield from _living(engine, chunks)
    suspects = [part for chunk in lost for part in _parts(chunk)]
    if len(suspects) > 1:
        suspects = yield from _living(engine, iter(suspects))
    # A cluster also blames what only waited at a worker that died, or came to one that was just starting again: the
    # last word have rounds with nothing else at work.
    for chunk in suspects:
        yield next((done for done in _alone(engine, chunk) if done.result is not None), Done(chunk, None))


def _living(engine: Engine, chunks: Iterator[Chunk]) -> Generator[Done, None, list[Chunk]]:
    """The results that there are; returns the chunks that their workers died of."""
    lost: list[Chunk] = []
    for done in engine.map(chunks):
        if done.result is None:
            lost.append(done.chunk)
        else:
            yield done
    return lost


def _parts(chunk: Chunk) -> Iterator[Chunk]:
    return ((one,) for one in chunk)


def _alone(engine: Engine, chunk: Chunk) -> Iterator[Done]:
    for _ in range(_LAST_TRIES):
        yield from engine.map(iter((chunk,)))


class _Todo:
    """The chunks to work on, kept in a file: a million candidates do not fit into memory beside the rest."""

    def __init__(
        self, spool: BinaryIO, known: npt.NDArray[np.int64], show: Callable[[Progress], None], chunk_size: int
    ) -> None:
        self._spool, self._known, self._show, self._size = spool, known, show, chunk_size
        self.num_found = self.num_known = 0
        self._num_chunks = 0

    def add(self, found: Iterable[Candidate]) -> None:
        """Keep the candidates that are not known."""
        chunk: list[Candidate] = []
        num_bytes = 0
        for candidate in found:
            self.num_found += 1
            if is_known(self._known, candidate):
                self.num_known += 1
            else:
                size = candidate.size
                if chunk and (len(chunk) == self._size or num_bytes + size > _MOST_BYTES):
                    self._put(chunk)
                    chunk, num_bytes = [], 0
                chunk.append(candidate)
                num_bytes += size
            if self.num_found % 1000 == 0:
                self._show(Progress(self.num_found, self.num_known, 0, 0, 0.0, True))
        if chunk:
            self._put(chunk)

    def chunks(self) -> Iterator[Chunk]:
        """What was kept, in its order."""
        self._spool.seek(0)
        for number in range(self._num_chunks):
            chunk: Chunk = pickle.load(self._spool)  # a file without a name, written above
            is_last = self._num_chunks - number <= _LAST
            size = max(1, -(-self._size // _PARTS)) if is_last else self._size
            yield from (chunk[start : start + size] for start in range(0, len(chunk), size))

    def _put(self, chunk: list[Candidate]) -> None:
        pickle.dump(tuple(chunk), self._spool, protocol=pickle.HIGHEST_PROTOCOL)
        self._num_chunks += 1
