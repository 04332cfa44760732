"""What an engine is, and how any of them is kept busy without holding more than its workers need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from stepscope.fleet.work import Result, explain_chunk
from stepscope.source.candidates import Candidate

Chunk = tuple[Candidate, ...]
Work = Callable[[Chunk], Result]
T = TypeVar("T")
# Chunks in hand for each worker: one in work, one waiting.
AHEAD = 2


class Done(NamedTuple):
    """A chunk and its result; None where the worker died of it."""

    chunk: Chunk
    result: Result | None


class Engine(Protocol):
    """Works on chunks."""

    def map(self, chunks: Iterator[Chunk]) -> Iterator[Done]:
        """The results of chunks, as they come. May be asked again."""

    def close(self) -> None:
        """End what was started for it."""


class Inline:
    """In this process: for one processor, and as the measure of what the others cost."""

    def map(self, chunks: Iterator[Chunk]) -> Iterator[Done]:
        """The results of chunks, one after the other."""
        for chunk in chunks:
            yield Done(chunk, explain_chunk(chunk))

    def close(self) -> None:
        """Nothing to end."""


def kept_ahead(
    chunks: Iterator[Chunk],
    *,
    num_workers: Callable[[], int],
    submit: Callable[[Chunk], T],
    wait: Callable[[list[T]], T],
    result: Callable[[T], Result | None],
) -> Iterator[Done]:
    """The results of chunks on a cluster, which is asked for its workers again and again: it may grow.

    submit
        Hands a chunk over and gives a ticket for it.
    wait
        Waits until one of the tickets is done.
    result
        What came of it; None where its worker died.
    """
    waiting: dict[T, Chunk] = {}
    is_open = True
    while True:
        room = AHEAD * max(1, num_workers()) - len(waiting) if is_open else 0
        for _ in range(room):
            chunk = next(chunks, None)
            if chunk is None:
                is_open = False
                break
            waiting[submit(chunk)] = chunk
        if not waiting:
            return
        ticket = wait(list(waiting))
        chunk = waiting.pop(ticket)
        yield Done(chunk, result(ticket))
