"""What lies next to a log and belongs to its run: read here, once, before anything is worked out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from stepscope.run.model import Run
from stepscope.source.gpu_series import read_gpu_log
from stepscope.source.hardware import Hardware
from stepscope.source.trace_file import Spans, Trace, read_suspends, read_trace
from stepscope.source.trainer_records import Records, read_records

FindPrevious = Callable[[Run], Sequence[Run]]
_T = TypeVar("_T")


class SideFiles(NamedTuple):
    """The files next to a log, and what is known of the GPU.

    hardware
        The GPU at one moment: a saved `nvidia-smi` table, or what the driver of this machine says.
    gpu_log
        Samples of the GPU over time as they were kept; `Report.gpu_series` makes sense of them when asked.
    trace
        What was timed from inside the process, where the run was recorded with a trace.
    suspends
        When the machine slept, where the run was recorded.
    records
        What the trainer wrote down about every second, where it was `stepscope train`.
    previous
        Complete runs of the same program.
    """

    hardware: Hardware | None = None
    gpu_log: bytes | None = None
    trace: Trace | None = None
    suspends: Spans = {}  # noqa: RUF012 (a mapping that nobody changes)
    records: Records | None = None
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
    has_gpu_log: bool = True,
) -> SideFiles:
    """Read what lies next to the files of `run`.

    hardware
        What the caller knows of the GPU already.
    previous
        How to find complete runs of the same program; None: do not look.
    has_gpu_log
        Whether to read the samples of the GPU.
    """
    # Text from a pipe or a form has a name, but no folder.
    paths = [path for path in map(Path, run.paths) if path.exists()]
    return SideFiles(
        hardware=hardware,
        gpu_log=_first(map(read_gpu_log, paths)) if has_gpu_log else None,
        trace=_first(map(read_trace, paths)),
        suspends=_first(read_suspends(path) or None for path in paths) or {},
        records=read_records(paths[0], run.num_lines) if len(paths) == 1 else None,
        previous=tuple(previous(run)) if previous is not None else (),
    )


def _first(found: Iterable[_T | None]) -> _T | None:
    return next((one for one in found if one is not None), None)
