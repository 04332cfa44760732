"""What a reader states about a run, in the address of its page: what a log may not tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stepscope.core import units
from stepscope.core.errors import UsageError
from stepscope.core.settings import Value
from stepscope.core.unseen import visible

NAMES = ("max_steps", "parameters", "gpu")
_MOST_CHARACTERS = 60
_MOST = 10**15


class Facts(NamedTuple):
    """The fields as they were filled in; an empty one says nothing."""

    max_steps: str = ""
    parameters: str = ""
    gpu: str = ""

    @staticmethod
    def of(query: Mapping[str, str]) -> Facts:
        """The facts of an address; `UsageError` where a number is none."""
        found = Facts(**{name: query.get(name, "").strip()[:_MOST_CHARACTERS] for name in NAMES})
        found.settings()
        return found

    def settings(self) -> dict[str, Value]:
        """The numbers, as settings that the user states."""
        stated = {"max_steps": self.max_steps, "parameters": self.parameters}
        return {name: _count(text) for name, text in stated.items() if text}

    def query(self) -> list[tuple[str, str]]:
        """Those that are filled in, for an address."""
        return [(name, text) for name, text in zip(NAMES, self, strict=True) if text]


def _count(text: str) -> int:
    """`20000`, `20,000`, `20 000` or `124M` as a whole number of at least 1."""
    number = units.parse_count(text.replace(" ", "").replace("\u202f", "").replace("\xa0", "").upper())
    if number is None or not 1 <= number < _MOST or number != int(number):
        raise UsageError("bad-fact", text=visible(text))
    return int(number)
