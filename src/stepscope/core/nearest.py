"""Which known word was probably meant by one that is unknown."""

from __future__ import annotations

from collections.abc import Iterable

_ALIKE = 0.7


def nearest(word: str, known: Iterable[str], *, alike: float = _ALIKE) -> str | None:
    """The known word most like `word`; None where none is alike enough to suggest."""
    import difflib

    names = sorted(known)
    # Two letters changed places: the commonest slip, and in a short word too far off for a measure of likeness.
    swapped = [name for name in names if len(name) == len(word) and sorted(name) == sorted(word)]
    return next(iter(swapped or difflib.get_close_matches(word, names, n=1, cutoff=alike)), None)
