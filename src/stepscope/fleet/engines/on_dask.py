"""Chunks as tasks of a Dask cluster: somebody's (dask-jobqueue on Slurm), or one that is started here."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from stepscope.core.errors import InputError, UsageError
from stepscope.fleet.engines.base import Chunk, Done, Work, kept_ahead
from stepscope.fleet.work import Result, explain_chunk

_RETRIES = 1


class Dask:
    """Dask's workers. One thread each is best: explaining a log holds Python's lock.

    address
        `dask://scheduler:8786`; None starts workers here.
    """

    def __init__(self, address: str | None = None, workers: int | None = None, work: Work = explain_chunk) -> None:
        try:
            import distributed
        except ImportError:
            raise UsageError("needs-extra", place="--engine dask", extra="dask") from None
        self._dask: Any = distributed
        self._work = work
        self._cluster: Any = None
        target: Any = None if address is None else address.replace("dask://", "tcp://", 1)
        try:
            if target is None:
                target = self._cluster = self._started(workers)
            self._client: Any = distributed.Client(target)
        except (OSError, TimeoutError, ValueError) as problem:
            raise InputError("engine-unreachable", place=address or "dask", reason=str(problem)[:300]) from None

    def _started(self, workers: int | None) -> Any:
        import dask

        # A worker that is killed by chance is not killed twice; what is handed back is tried file by file.
        with dask.config.set({"distributed.scheduler.allowed-failures": _RETRIES}):
            return self._dask.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            )

    def map(self, chunks: Iterator[Chunk]) -> Iterator[Done]:
        """The results of chunks, as they come."""
        return kept_ahead(
            chunks,
            num_workers=lambda: sum(self._client.nthreads().values()),
            submit=lambda chunk: self._client.submit(self._work, chunk, pure=False),
            wait=lambda tickets: next(iter(self._dask.wait(tickets, return_when="FIRST_COMPLETED").done)),
            result=self._result,
        )

    def _result(self, ticket: Any) -> Result | None:
        try:
            found: Result = ticket.result()
        except self._dask.KilledWorker:
            return None
        except ImportError as problem:
            raise InputError("worker-without-us", place="dask", reason=str(problem)[:300]) from None
        return found

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()
