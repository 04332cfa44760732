"""What a process does apart from computing: when it began, signals that stop it, the collection of garbage."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def process_start_ns() -> int:
    """When this process was started, on the clock of `perf_counter_ns`; now, where the system does not say."""
    now = time.perf_counter_ns()
    try:
        # Field 22: the start in clock ticks since boot. The name before it is in brackets and may hold anything.
        ticks = int(Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
        age_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - ticks * 10**9 // os.sysconf("SC_CLK_TCK")
        return now - max(0, age_ns)
    except (OSError, ValueError, IndexError, AttributeError):
        return now


@contextlib.contextmanager
def stop_signals(*, several: bool) -> Iterator[list[int]]:
    """A list that gets the first SIGINT or SIGTERM: the iteration is finished and saved. The second one interrupts.

    `several`: the run has other processes. When one dies, torchrun sends the others SIGTERM at about the moment at
    which they notice by themselves; they are to say why they end, so after an error that signal is not heeded.
    """
    caught: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return

    def note(number: int, _: object) -> None:
        if caught:
            raise KeyboardInterrupt
        caught.append(number)

    old: dict[int, Any] = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield caught
    except BaseException:
        if several:
            old[signal.SIGTERM] = signal.SIG_IGN
        raise
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def frozen_garbage() -> Iterator[None]:
    """No collection at a random moment of a step: what exists now is never looked at again, the rest when we say so."""
    was_on = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()
