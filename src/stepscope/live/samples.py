"""Keeps what the card did beside a recording, while somebody looks anyway: `source/cards.py` reads it back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stepscope.clock import Clock
from stepscope.source.cards import NAME
from stepscope.source.nvidia_smi import Hardware

# Often enough to see a card warm up, a few hundred kilobytes a day.
_EVERY_S = 5.0
_MIB = 1 << 20
_HEAD = (
    "timestamp, index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W], "
    "temperature.gpu\n"
)


class Keeper:
    """Reads the card as often as asked, and writes down one reading in five seconds."""

    def __init__(self, read: Callable[[], Hardware | None], folder: Path, clock: Clock) -> None:
        self._read, self._path, self._clock = read, folder / NAME, clock
        self._next = clock.monotonic()

    def __call__(self) -> Hardware | None:
        """The card now."""
        card = self._read()
        if card is not None and self._clock.monotonic() >= self._next:
            self._next = self._clock.monotonic() + _EVERY_S
            self._keep(card)
        return card

    def _keep(self, card: Hardware) -> None:
        moment = self._clock.now().astimezone().strftime("%Y/%m/%d %H:%M:%S.%f")[:-3]
        figures = (
            None if card.utilisation is None else card.utilisation * 100,
            None if card.memory_used is None else card.memory_used / _MIB,
            None if card.memory_total is None else card.memory_total / _MIB,
            card.power,
            card.temperature,
        )
        shown = ", ".join("[N/A]" if figure is None else f"{figure:.1f}" for figure in figures)
        name = (card.gpu or "").replace(",", " ")
        try:
            is_new = not self._path.exists()
            with self._path.open("a", encoding="utf-8") as file:
                file.write((_HEAD if is_new else "") + f"{moment}, 0, {name}, {shown}\n")
        except OSError:
            pass  # a full disk must not end the view of a run
