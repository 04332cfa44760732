"""Keeps the GPU's figures in the folder of a recording while a view is open: `source/gpu_series.py` reads them back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stepscope.core.clock import ClockSource
from stepscope.source.gpu_series import NAME
from stepscope.source.hardware import Hardware, mask_of

# Often enough to see a GPU warm up. At the most samples, every second one is dropped and the spacing doubles: a month
# takes as much room as an hour.
_EVERY_S = 5.0
_MOST_SAMPLES = 4096
_MIB = 1 << 20
_HEAD = (
    "timestamp, index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W], "
    "temperature.gpu, power.limit [W], clocks.current.sm [MHz], clocks.max.sm [MHz], clocks_event_reasons.active\n"
)


class Keeper:
    """Reads the GPU as often as it is called, and keeps one reading in five seconds, later fewer."""

    def __init__(
        self, read: Callable[[], Hardware | None], folder: Path, clock: ClockSource, *, most: int = _MOST_SAMPLES
    ) -> None:
        self._read, self._path, self._clock, self._most = read, folder / NAME, clock, most
        self._next = clock.monotonic()
        self._every_s, self._num, self._lead = _EVERY_S, 0, ""

    def __call__(self) -> Hardware | None:
        """The GPU now."""
        gpu = self._read()
        if gpu is not None and self._clock.monotonic() >= self._next:
            self._next = self._clock.monotonic() + self._every_s
            self._keep(gpu)
        return gpu

    def _keep(self, gpu: Hardware) -> None:
        moment = self._clock.now().astimezone().strftime("%Y/%m/%d %H:%M:%S.%f")[:-3]
        figures = (
            None if gpu.utilisation is None else gpu.utilisation * 100,
            None if gpu.memory_used is None else gpu.memory_used / _MIB,
            None if gpu.memory_total is None else gpu.memory_total / _MIB,
            gpu.power,
            gpu.temperature,
            gpu.power_limit,
            gpu.clock,
            gpu.clock_most,
        )
        shown = ", ".join("[N/A]" if figure is None else f"{figure:.1f}" for figure in figures)
        name = (gpu.gpu or "").replace(",", " ")
        reasons = "[N/A]" if gpu.throttle is None else f"0x{mask_of(gpu.throttle):016x}"
        try:
            is_new = not self._path.exists()
            line = (_HEAD if is_new else self._lead) + f"{moment}, 0, {name}, {shown}, {reasons}\n"
            with self._path.open("ab", buffering=0) as file:
                # After half a line, which a full disk may leave, a new one begins.
                self._lead = "" if file.write(line.encode()) == len(line.encode()) else "\n"
            self._num += 1
            if self._num >= self._most:
                self._thin()
        except OSError:
            pass  # a full disk must not end the view of a run

    def _thin(self) -> None:
        head, *lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True)
        aside = self._path.with_suffix(".tmp")
        try:
            aside.write_text("".join([head, *lines[::2]]), encoding="utf-8")
            aside.replace(self._path)
        except OSError:
            aside.unlink(missing_ok=True)
            raise
        self._num, self._every_s = len(lines[::2]), 2 * self._every_s
