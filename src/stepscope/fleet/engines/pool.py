"""The processes of this machine. A pool that one of them broke is replaced."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from stepscope.fleet.engines.base import AHEAD, Chunk, Done, Work
from stepscope.fleet.work import Result, explain_chunk


class Pool:
    """The processes of this machine."""

    def __init__(self, workers: int | None = None, work: Work = explain_chunk) -> None:
        self.workers = workers or num_processors()
        self._work = work
        self._context = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
        if os.name == "posix":
            from multiprocessing import forkserver

            # Workers begin with everything imported, once for all of them, and while files are still being listed.
            self._context.set_forkserver_preload([explain_chunk.__module__])
            forkserver.ensure_running()

    def map(self, chunks: Iterator[Chunk]) -> Iterator[Done]:
        """The results of chunks, as they come. Workers that died are replaced."""
        while True:
            lost: list[Chunk] = []
            with self._executor(self.workers) as executor:
                yield from self._until_broken(executor, chunks, lost)
            if not lost:
                return
            # Which of the chunks in work killed its worker is not known: each is tried in a pool of its own.
            for chunk in lost:
                with self._executor(1) as executor:
                    guilty: list[Chunk] = []
                    yield from self._until_broken(executor, iter((chunk,)), guilty)
                    for bad in guilty:
                        yield Done(bad, None)

    def close(self) -> None:
        """Nothing to end: each `map` ends its own processes."""

    def _executor(self, workers: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(workers, mp_context=self._context, initializer=_end_with_parent)

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


def _end_with_parent() -> None:
    """Let a worker end when the scan does, however that ends: nobody would ever give it work again."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def leave() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()
