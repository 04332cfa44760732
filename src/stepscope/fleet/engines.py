"""Where chunks are worked on: the processes of this machine, or somebody's cluster.

An engine yields the results of chunks in any order, never holds more of them than its workers need, and gives back a
chunk that its worker died of, so that it can be taken apart.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import NamedTuple, Protocol

from stepscope.fleet.work import Result, explain_chunk
from stepscope.source.candidates import Candidate

Chunk = tuple[Candidate, ...]
# Chunks in hand for each worker: one in work, one waiting.
AHEAD = 2


class Done(NamedTuple):
    """A chunk and its result; None where the worker died of it."""

    chunk: Chunk
    result: Result | None


class Engine(Protocol):
    """Works on chunks."""

    def map(self, chunks: Iterator[Chunk]) -> Iterator[Done]:
        """The results of chunks, as they come."""


class Inline:
    """In this process: for one processor, and as the measure of what the others cost."""

    def map(self, chunks: Iterator[Chunk]) -> Iterator[Done]:
        """The results of chunks, one after the other."""
        for chunk in chunks:
            yield Done(chunk, explain_chunk(chunk))


class Pool:
    """The processes of this machine."""

    def __init__(self, workers: int | None = None, work: Callable[[Chunk], Result] = explain_chunk) -> None:
        self.workers = workers or num_processors()
        self._work = work

    def map(self, chunks: Iterator[Chunk]) -> Iterator[Done]:
        """The results of chunks, as they come. Workers that died are replaced."""
        source = iter(chunks)
        again: list[Chunk] = []
        while True:
            lost: list[Chunk] = []
            with self._executor(self.workers) as executor:
                yield from self._until_broken(executor, _chain(again, source), lost)
            if not lost:
                return
            # Which of the chunks in work killed its worker is not known: each is tried in a pool of its own.
            again = []
            for chunk in lost:
                with self._executor(1) as executor:
                    guilty: list[Chunk] = []
                    yield from self._until_broken(executor, iter((chunk,)), guilty)
                    for bad in guilty:
                        yield Done(bad, None)

    def _executor(self, workers: int) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
        return ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)

    def _until_broken(
        self, executor: ProcessPoolExecutor, chunks: Iterator[Chunk], lost: list[Chunk]
    ) -> Iterator[Done]:
        """The results until a worker dies; the chunks that were in work then are added to `lost`."""
        waiting: dict[Future[Result], Chunk] = {}
        is_open = True
        while True:
            while is_open and not lost and len(waiting) < AHEAD * self.workers:
                chunk = next(chunks, None)
                if chunk is None:
                    is_open = False
                    break
                try:
                    waiting[executor.submit(self._work, chunk)] = chunk
                except BrokenProcessPool:
                    lost.append(chunk)
            if not waiting:
                return
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                chunk = waiting.pop(future)
                try:
                    yield Done(chunk, future.result())
                except BrokenProcessPool:
                    lost.append(chunk)


def num_processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _chain(first: list[Chunk], then: Iterator[Chunk]) -> Iterator[Chunk]:
    while first:
        yield first.pop(0)
    yield from then


def _end_with_parent() -> None:
    """Let a worker end when the scan does, however that ends: nobody would ever give it work again."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def leave() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()
