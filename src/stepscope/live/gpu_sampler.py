"""Reads the GPU, not too often."""

from __future__ import annotations

from collections.abc import Callable

from stepscope.core.clock import ClockSource
from stepscope.live.gpu import read_gpu
from stepscope.source.hardware import Hardware

# A reading takes milliseconds, and utilisation is a mean over about a second.
_EVERY_S = 1.0


class Sampler:
    """The GPU of a process, or the busiest one; call it as often as needed."""

    def __init__(
        self,
        clock: ClockSource,
        *,
        pid: int | None = None,
        read: Callable[[int | None], Hardware | None] = read_gpu,
    ) -> None:
        self._clock, self._pid, self._read = clock, pid, read
        self._next = clock.monotonic()
        self._latest: Hardware | None = None

    def __call__(self) -> Hardware | None:
        """The latest figures; None where there is no GPU."""
        now_s = self._clock.monotonic()
        if now_s >= self._next:
            self._next = now_s + _EVERY_S
            self._latest = self._read(self._pid)
        return self._latest
