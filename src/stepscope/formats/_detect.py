"""The catalogue: which formats there are, in which order to ask them, and which one wrote a line.

The order is worked out from the samples: whoever also claims my samples is asked after me.
"""

from __future__ import annotations

import dataclasses
import graphlib
import importlib
import pkgutil
from functools import cache

from stepscope import formats
from stepscope.formats._base import Format, LineKind
from stepscope.formats._claim import claim

# A line of one of these kinds names its trainer; a setting or chatter could be anybody's.
_TELLING: frozenset[LineKind] = frozenset({"step", "evaluation", "checkpoint", "fact", "start", "resume"})


@cache
def catalogue() -> tuple[Format, ...]:
    """Every format, most particular first."""
    found = {}
    for module in pkgutil.iter_modules(formats.__path__):
        if not module.name.startswith("_"):
            fmt: Format = importlib.import_module(f"{formats.__name__}.{module.name}").FORMAT
            found[module.name] = dataclasses.replace(fmt, name=module.name)
    before: dict[str, set[str]] = {name: set() for name in found}
    for name, fmt in found.items():
        for other, rival in found.items():
            if other != name and any(s.kind in _TELLING and _claims(rival, s.text) for s in fmt.samples):
                before[other].add(name)
    return tuple(found[name] for name in graphlib.TopologicalSorter(before).static_order())


def _claims(fmt: Format, text: str) -> bool:
    return telling_line(fmt, text) is not None


def find_format(name: str) -> Format | None:
    """The format of that name, or None."""
    return next((fmt for fmt in catalogue() if fmt.name == name), None)


def telling_line(fmt: Format, text: str) -> int | None:
    """The index of the line under which `fmt` claims `text`, when that says something about the trainer."""
    index = claim(fmt, text).which
    return index if index is not None and fmt.lines[index].kind in _TELLING else None
