"""Where chunks are worked on: the processes of this machine, or somebody's cluster.

An engine yields the results of chunks in any order, never holds more of them than its workers need, and gives back a
chunk that its worker died of, so that it can be taken apart. Each is a thin adapter over the same function.
"""

from __future__ import annotations

from stepscope.core.errors import UsageError
from stepscope.fleet.engines.base import AHEAD, Chunk, Done, Engine, Inline
from stepscope.fleet.engines.pool import Pool, num_processors

__all__ = ["AHEAD", "Chunk", "Done", "Engine", "Inline", "Pool", "engine_named", "num_processors"]


def engine_named(name: str, workers: int | None) -> Engine:
    """The engine that `--engine` names: `pool`, `ray[://address]` or `dask[://scheduler]`."""
    kind, _, address = name.partition("://")
    if name == "pool":
        return Inline() if workers == 1 else Pool(workers)
    if kind == "ray" and (address or name == kind):
        from stepscope.fleet.engines.on_ray import Ray

        return Ray(name if address else None, workers)
    if kind == "dask" and (address or name == kind):
        from stepscope.fleet.engines.on_dask import Dask

        return Dask(name if address else None, workers)
    raise UsageError("bad-engine", place=f"--engine {name}")
