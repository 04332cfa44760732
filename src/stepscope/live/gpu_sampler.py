"""Asks the card how it is, not too often."""

from __future__ import annotations

from collections.abc import Callable

from stepscope.core.clock import ClockSource
from stepscope.live.gpu import read_gpu
from stepscope.source.hardware import Hardware

# Asking takes milliseconds, and utilisation is a mean over as long as this.
_EVERY_S = 1.0


class Sampler:
    """The card of a process, or the busiest one; called whenever somebody wants to know."""

    def __init__(
        self,
        clock: ClockSource,
        *,
        pid: int | None = None,
        read: Callable[[int | None], Hardware | None] = read_gpu,
    ) -> None:
        self._clock, self._pid, self._read = clock, pid, read
        self._next = clock.monotonic()
        self._card: Hardware | None = None

    def __call__(self) -> Hardware | None:
        """The latest figures; None where there is no card."""
        now_s = self._clock.monotonic()
        if now_s >= self._next:
            self._next = now_s + _EVERY_S
            self._card = self._read(self._pid)
        return self._card
