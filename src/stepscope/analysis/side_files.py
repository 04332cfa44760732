"""What lies next to a log and belongs to its run: read here, once, before anything is worked out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from stepscope.run.model import Run
from stepscope.source.hardware import Hardware
from stepscope.source.trace_file import Spans, Trace, read_suspends, read_trace

if TYPE_CHECKING:
    from stepscope.source.gpu_series import GpuSeries

FindPrevious = Callable[[Run], Sequence[Run]]
_T = TypeVar("_T")


class SideFiles(NamedTuple):
    """The files next to a log, and what is known of the GPU.

    hardware
        The GPU at one moment: a saved `nvidia-smi` table, or what the driver of this machine says.
    gpu_series
        Samples of the GPU over time, where somebody kept them.
    trace
        What was timed from inside the process, where the run was recorded with a trace.
    suspends
        When the machine slept, where the run was recorded.
    previous
        Complete runs of the same program.
    """

    hardware: Hardware | None = None
    gpu_series: GpuSeries | None = None
    trace: Trace | None = None
    suspends: Spans = {}  # noqa: RUF012 (a mapping that nobody changes)
    previous: tuple[Run, ...] = ()

    @property
    def spans(self) -> Spans:
        """Everything that was timed from inside or around the process, by kind."""
        return {**(self.trace.spans if self.trace is not None else {}), **self.suspends}


def read_side_files(
    run: Run,
    *,
    hardware: Hardware | None = None,
    previous: FindPrevious | None = None,
    has_gpu_series: bool = True,
) -> SideFiles:
    """Read what lies next to the files of `run`.

    hardware
        What the caller knows of the GPU already.
    previous
        How to find complete runs of the same program; None: do not look.
    has_gpu_series
        Whether to read the samples of the GPU: a day of them takes longer to read than most logs.
    """
    paths = [Path(path) for path in run.paths if path != "-"]
    return SideFiles(
        hardware=hardware,
        gpu_series=_gpu_series(paths) if has_gpu_series else None,
        trace=_first(map(read_trace, paths)),
        suspends=_first(read_suspends(path) or None for path in paths) or {},
        previous=tuple(previous(run)) if previous is not None else (),
    )


def _gpu_series(paths: list[Path]) -> GpuSeries | None:
    from stepscope.source.gpu_series import read_gpu_series

    return _first(map(read_gpu_series, paths))


def _first(found: Iterable[_T | None]) -> _T | None:
    return next((one for one in found if one is not None), None)
