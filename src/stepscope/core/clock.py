"""The time of day and waiting, as something to hand over: only the outermost layer asks for it."""

from __future__ import annotations

import datetime as dt
import time
from typing import Protocol


def now() -> dt.datetime:
    """This moment, local, with its offset."""
    return dt.datetime.now().astimezone()


class ClockSource(Protocol):
    """The clock that time-dependent code is given; tests give one of their own."""

    def now(self) -> dt.datetime:
        """This moment, local."""

    def monotonic(self) -> float:
        """Seconds that only ever grow."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> dt.datetime:
        """This moment, local, with its offset."""
        return now()

    def monotonic(self) -> float:
        """Seconds that only ever grow."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
