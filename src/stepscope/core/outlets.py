"""How errors, messages, runs and reports look to a person, asked for by name.

`str(error)` needs a language and `str(report)` a renderer; both are later stages, which nothing here may import. So the
root of the package, which knows every stage, says where an outlet is found, and it is loaded when first used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Find = Callable[[str], Callable[..., Any]]
_find: Find | None = None


def install(find: Find) -> None:
    """State how an outlet is found by its name."""
    global _find  # noqa: PLW0603 (set once, by the root of the package)
    _find = find


def outlet(name: str) -> Callable[..., Any]:
    """The function of that name."""
    assert _find is not None, "the package's root installs this"
    return _find(name)
