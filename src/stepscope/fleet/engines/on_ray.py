"""Chunks as tasks of a Ray cluster: somebody's, or one that is started here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stepscope.core.errors import InputError, UsageError
from stepscope.fleet.engines.base import Chunk, Done, Work, kept_ahead
from stepscope.fleet.work import Result, explain_chunk

# A worker that is killed by chance is not killed twice; what is handed back is tried file by file.
_RETRIES = 1
_THIS_NODE = "auto"


class Ray:
    """Ray's workers.

    address
        `ray://head:10001`, `ray://auto` on a node of a cluster; None starts workers here.
    """

    def __init__(self, address: str | None = None, workers: int | None = None, work: Work = explain_chunk) -> None:
        try:
            import ray
        except ImportError:
            raise UsageError("needs-extra", place="--engine ray", extra="ray") from None
        self._ray: Any = ray
        options: dict[str, Any] = {"include_dashboard": False, "num_cpus": workers}
        if address is not None:
            options = {"address": _THIS_NODE if address == f"ray://{_THIS_NODE}" else address}
        self._task = ray.remote(max_retries=_RETRIES)(work)
        try:
            ray.init(log_to_driver=False, logging_level="error", **options)
        except Exception as problem:  # of many kinds, and from gRPC
            raise InputError("engine-unreachable", place=address or "ray", reason=_first_line(problem)) from None

    def map(self, chunks: Iterator[Chunk]) -> Iterator[Done]:
        """The results of chunks, as they come."""
        return kept_ahead(
            chunks,
            num_workers=lambda: int(self._ray.cluster_resources().get("CPU", 1)),
            submit=self._task.remote,
            wait=lambda tickets: self._ray.wait(tickets, num_returns=1)[0][0],
            result=self._result,
        )

    def _result(self, ticket: Any) -> Result | None:
        problems = self._ray.exceptions
        try:
            found: Result = self._ray.get(ticket)
        except (problems.WorkerCrashedError, problems.NodeDiedError, problems.OutOfMemoryError):
            return None
        except ImportError as problem:
            raise InputError("worker-without-us", place="ray", reason=_first_line(problem)) from None
        return found

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        self._ray.shutdown()


def _first_line(problem: Exception) -> str:
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    # A failed task prints its traceback first.
    return (lines[-1] if lines else type(problem).__name__)[:300]
