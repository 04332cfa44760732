"""How many steps lie between two lines, where the lines have no number and are counted."""

from __future__ import annotations

from collections.abc import Mapping

from stepscope.core.settings import Settings, Value

_ENOUGH_LINES = 3


def steps_per_line(
    settings: Settings, stated: Mapping[str, Value], *, epochs_done: float | None, num_lines: int
) -> int:
    """The interval of logging: as a setting, by the epochs done so far, or by all steps once the training is over.

    1 where nothing says: the lines themselves are counted then.
    """
    interval = settings.count("log_interval")
    if interval:
        return interval
    steps = _by_epochs(settings, stated, epochs_done) or _by_rate(stated)
    if steps is None or num_lines < _ENOUGH_LINES:
        return 1
    return max(1, round(steps / num_lines))


def _by_epochs(settings: Settings, stated: Mapping[str, Value], epochs_done: float | None) -> float | None:
    """Steps up to the last line: its share of the epochs, and all steps of all epochs."""
    total, epochs = settings.count("max_steps"), stated.get("num_epochs")
    if not total or epochs_done is None or not isinstance(epochs, (int, float)) or not epochs:
        return None
    return epochs_done * total / epochs


def _by_rate(stated: Mapping[str, Value]) -> float | None:
    """All steps of a training that is over, by its time and its mean rate."""
    seconds, rate = stated.get("train_runtime_s"), stated.get("train_steps_per_s")
    if not isinstance(seconds, (int, float)) or not isinstance(rate, (int, float)):
        return None
    return seconds * rate or None
