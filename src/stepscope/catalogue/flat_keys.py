"""The keys of a format file: flat, and each one a field of one of the records of a `Format`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from stepscope.lines.format import Format

# The record and its field; "" is the format itself.
_FIELDS: Mapping[str, tuple[str, str]] = {
    "is_timed": ("", "is_timed"),
    "clock_is_process": ("clock", "restarts_with"),
    "figure_is_total": ("clock", "is_sum"),
    "first_step": ("layout", "first_step"),
    "first_epoch": ("layout", "first_epoch"),
    "events_follow_step": ("layout", "events_follow_step"),
    "bars_nest": ("layout", "bars_nest"),
    "evaluates_first_step": ("habits", "evaluates_at_first_step"),
    "evaluates_last_step": ("habits", "evaluates_at_last_step"),
    "saves_first_step": ("habits", "saves_at_first_step"),
    "saves_only_after_evaluation": ("habits", "saves_only_after_evaluation"),
    "prints_checkpoints": ("habits", "prints_checkpoints"),
    "setting_names": ("controls", "names"),
    "defaults": ("controls", "defaults"),
}
FLAT_KEYS = frozenset(_FIELDS)


def flat_value(fmt: Format, key: str) -> Any:
    """What a format file that describes `fmt` says under `key`."""
    record, field = _FIELDS[key]
    value = getattr(getattr(fmt, record) if record else fmt, field)
    return value == "process" if key == "clock_is_process" else value


def with_flat_values(fmt: Format, values: Mapping[str, Any]) -> Format:
    """`fmt` with the values that a format file has under these keys."""
    changed: dict[str, Any] = {}
    for key, value in values.items():
        record, field = _FIELDS[key]
        own = ("process" if value else None) if key == "clock_is_process" else value
        if record:
            changed[record] = changed.get(record, getattr(fmt, record))._replace(**{field: own})
        else:
            changed[field] = own
    return dataclasses.replace(fmt, **changed)
