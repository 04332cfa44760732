"""How many trainings a program does one after the other, as its lines say it: `FOLD 2/5`, `n_splits=5`."""

from __future__ import annotations

from typing import NamedTuple

from stepscope.core.lazy_pattern import LazyPattern

# Of which a line about folds contains one.
WORDS = ("old", "OLD", "plit", "PLIT")
_MOST = 1000
_OF = r"(?P<of>\d{1,4})(?![\d.])"
_NUMBERED = LazyPattern(
    rf"(?i)(?<![a-z])(?:fold|split)s?[\s:#=_\[(-]{{0,4}}(?P<n>\d{{1,4}})\s{{0,2}}(?:/|of|out of)\s{{0,2}}{_OF}"
)
_COUNTED = LazyPattern(
    rf"(?i)(?<![a-z])(?:n_?splits|(?:k|n|num|number of)[_ -]?folds?|nfolds?)['\"]?\s{{0,2}}[=:]\s{{0,2}}{_OF}"
    r"|(?<![a-z\d])(?P<k>\d{1,3})[- ]fold (?:cross|cv)"
)


class FoldMark(NamedTuple):
    """The number of a fold, where a line says it, and how many there are."""

    number: int | None
    total: int


def parse_fold(text: str) -> FoldMark | None:
    """What a line says of folds; None when it says nothing."""
    if not any(map(text.__contains__, WORDS)):
        return None
    found = _NUMBERED.search(text)
    counted = _COUNTED.search(text) if found is None else None
    if found is not None:
        mark = FoldMark(int(found["n"]), int(found["of"]))
    elif counted is not None:
        mark = FoldMark(None, int(counted["of"] or counted["k"]))
    else:
        return None
    return mark if 1 < mark.total <= _MOST and (mark.number or 0) <= mark.total else None
