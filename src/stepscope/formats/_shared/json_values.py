"""Values of a JSON document that anybody may have written: what is not as it should be is nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Beyond this no figure of a log means anything: 10^15 ms are 30,000 years.
_MOST = 1e15


def object_of(value: object) -> Mapping[str, object]:
    """An object; empty where there is none."""
    return value if isinstance(value, dict) else {}


def objects_of(value: object) -> Sequence[Mapping[str, object]]:
    """The objects of a list; none where there is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def figure_of(value: object) -> float | None:
    """A number that is not negative and not beyond reason; None for everything else, a truth value too."""
    is_figure = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _MOST
    return float(value) if is_figure else None  # type: ignore[arg-type]


def loss_of(value: object) -> float | None:
    """A number of any size, also one that is none (NaN); None for everything else."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return None
